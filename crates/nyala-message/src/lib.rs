//! Messages with values of the program, which the interpreter and the runtime share.
//!
//! Lowering writes a message as a template: text with a placeholder for each value, such as `left: %f32`. When the
//! program runs, the values are 64 bits each, in the order of the placeholders, and [`fill`] writes them.
//!
//! | placeholder | bits | shown as |
//! |---|---|---|
//! | `%i8` .. `%i64` | sign-extended | decimal number |
//! | `%u8` .. `%u64` | zero-extended | decimal number |
//! | `%f32`, `%f64` | its own, zero-extended | the shortest decimal number that is read back as this value |
//! | `%bool` | 0 or 1 | `true`, `false` |
//! | `%ptr` | the address | hexadecimal number |
//! | `%<A\|B>` | a number | the word of this number |
//! | `%%` | none | `%` |
//!
//! ```
//! let bits = [3, 1.5f32.to_bits().into()];
//! assert_eq!(nyala_message::fill("P { n: %i32, x: %f32 }", &bits), "P { n: 3, x: 1.5 }");
//! ```

/// A piece of a template.
enum Piece<'t> {
    Text(&'t str),
    Value(&'t str),
    Choice(&'t str),
}

/// The names of placeholders. None begins with another.
const VALUES: [&str; 12] =
    ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "ptr"];

/// How many values a template takes.
pub fn count(template: &str) -> usize {
    pieces(template).filter(|piece| !matches!(piece, Piece::Text(_))).count()
}

/// The kinds of the values that a template takes: names as in the table, and empty for a choice.
pub fn kinds(template: &str) -> Vec<&str> {
    let kind = |piece| match piece {
        Piece::Text(_) => None,
        Piece::Value(name) => Some(name),
        Piece::Choice(_) => Some(""),
    };
    pieces(template).filter_map(kind).collect()
}

/// The template with its placeholders replaced. Where a value is missing, the placeholder shows `?`.
pub fn fill(template: &str, values: &[u64]) -> String {
    let mut values = values.iter().copied();
    let show = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Value(name) => values.next().map_or("?".into(), |bits| shown(name, bits)),
        Piece::Choice(words) => {
            let word = values.next().and_then(|bits| words.split('|').nth(bits as usize));
            word.unwrap_or("?").to_owned()
        }
    };
    pieces(template).map(show).collect()
}

/// Text as a part of a template that shows it as it is.
pub fn escaped(text: &str) -> String {
    text.replace('%', "%%")
}

fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        let (piece, after) = first_piece(rest)?;
        rest = after;
        Some(piece)
    })
}

/// The first piece of a template, and what follows it.
fn first_piece(text: &str) -> Option<(Piece<'_>, &str)> {
    let Some(behind) = text.strip_prefix('%') else {
        let (plain, rest) = text.split_at(text.find('%').unwrap_or(text.len()));
        return (!plain.is_empty()).then_some((Piece::Text(plain), rest));
    };
    if let Some((words, rest)) = behind.strip_prefix('<').and_then(|choice| choice.split_once('>')) {
        return Some((Piece::Choice(words), rest));
    }
    if let Some(name) = VALUES.into_iter().find(|name| behind.starts_with(name)) {
        return Some((Piece::Value(name), &behind[name.len()..]));
    }
    Some((Piece::Text("%"), behind.strip_prefix('%').unwrap_or(behind)))
}

/// A value as people write it.
fn shown(name: &str, bits: u64) -> String {
    match name {
        "bool" => (bits & 1 == 1).to_string(),
        "ptr" => format!("{bits:#x}"),
        "f32" => format!("{:?}", f32::from_bits(bits as u32)),
        "f64" => format!("{:?}", f64::from_bits(bits)),
        _ if name.starts_with('i') => bits.cast_signed().to_string(),
        _ => bits.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_its_form() {
        let template = "%bool %i8 %u64 %f32 %f64 %ptr %<No|Yes>";
        let minus_one = u64::MAX;
        let bits = [1, minus_one, minus_one, 0.1f32.to_bits().into(), 1e300f64.to_bits(), 4096, 1];
        assert_eq!(count(template), bits.len());
        assert_eq!(fill(template, &bits), "true -1 18446744073709551615 0.1 1e300 0x1000 Yes");
    }

    #[test]
    fn escaped_text_has_no_placeholders() {
        let text = "100 % of %i32 and %<a|b>";
        assert_eq!(count(&escaped(text)), 0);
        assert_eq!(fill(&escaped(text), &[]), text);
    }

    #[test]
    fn missing_values_are_question_marks() {
        assert_eq!(fill("%i32, %<A|B>, %i32", &[1, 7]), "1, ?, ?");
        assert_eq!(fill("%", &[]), "%");
    }
}
