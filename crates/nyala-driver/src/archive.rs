//! Static libraries: an object file with a table of its symbols, in the format of `ar`.

/// The contents of a library with one object file, which defines these symbols.
pub fn archive(object: &[u8], symbols: &[&str]) -> Vec<u8> {
    let mut table = vec![];
    let names: Vec<u8> = symbols.iter().flat_map(|name| name.bytes().chain([0])).collect();
    let table_len = 4 * (1 + symbols.len()) + names.len();
    let object_at = MAGIC.len() + HEADER_LEN + table_len.next_multiple_of(2);
    // The number of symbols, and for each where the object is that defines it.
    let numbers = [symbols.len()].into_iter().chain(symbols.iter().map(|_| object_at));
    table.extend(numbers.flat_map(|number| (number as u32).to_be_bytes()));
    table.extend(names);

    let mut archive = MAGIC.to_vec();
    member(&mut archive, "/", &table);
    member(&mut archive, "program.o/", object);
    archive
}

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER_LEN: usize = 60;

/// A member: name, time, owner, group, mode, size, and the contents at an even place.
fn member(archive: &mut Vec<u8>, name: &str, contents: &[u8]) {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, contents.len());
    archive.extend(header.bytes());
    archive.extend(contents);
    if contents.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_points_at_the_object() {
        let archive = archive(b"object", &["f", "twice"]);
        let table = MAGIC.len() + HEADER_LEN;
        let number =
            |at: usize| u32::from_be_bytes(archive[at..at + 4].try_into().expect("it is four bytes"));
        assert_eq!(number(table), 2);
        let object = number(table + 4) as usize;
        assert!(archive[object..].starts_with(b"program.o/"));
        assert!(archive[object + HEADER_LEN..].starts_with(b"object"));
        assert_eq!(&archive[table + 12..table + 20], b"f\0twice\0");
    }
}
