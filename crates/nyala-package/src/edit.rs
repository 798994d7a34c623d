//! New packages, and dependencies that are added to manifests and removed from them. Comments and order of a
//! manifest stay as they are.

use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

/// What a new package is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A program.
    Program,
    /// A library.
    Library,
}

/// Where a new dependency comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NewOrigin {
    /// A folder, relative to the manifest's.
    Path(String),
    /// A revision of a git repository.
    Git {
        /// The repository.
        url: String,
        /// The revision.
        rev: String,
    },
    /// The library path.
    Library,
}

/// The files of a new package: paths and texts.
pub fn new_package(name: &str, kind: Kind) -> Vec<(String, String)> {
    let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n\n[dependencies]\n");
    let mut files = vec![(crate::MANIFEST.to_owned(), manifest), (".gitignore".into(), "/build\n".into())];
    match kind {
        Kind::Program => files.push(("src/main.impala".into(), MAIN.into())),
        Kind::Library => {
            files.push((format!("src/{name}.impala"), LIBRARY.into()));
            files.push(("examples/hello.impala".into(), EXAMPLE.replace("NAME", name)));
        }
    }
    files
}

const MAIN: &str = "fn main() -> i32 {
    print_string(\"Hello!\\n\");
    0
}
";

const LIBRARY: &str = "//! Powers of numbers.

/// `x` to the power of `n`. Where `n` is known, no call is left.
///
/// ```
/// print_f32(power(2.0, 10));
/// ```
fn @(?n) power(x: f32, n: i32) -> f32 {
    if n == 0 { 1.0 } else { x * power(x, n - 1) }
}

#[test]
fn squares_are_products(x: i16) -> () { assert_equal(power(x as f32, 2), x as f32 * x as f32) }
";

const EXAMPLE: &str = "use NAME::power;

fn main() -> i32 {
    print_f32(power(2.0, 10));
    print_char('\\n');
    0
}
";

/// Adds a dependency to the text of a manifest, or changes the one of this name. The error is one of TOML.
pub fn add_dependency(manifest: &str, name: &str, origin: &NewOrigin) -> Result<String, String> {
    let mut document: DocumentMut =
        manifest.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let item = document.entry("dependencies").or_insert_with(|| Item::Table(Table::new()));
    let table = item.as_table_like_mut().ok_or("`dependencies` is not a table")?;
    table.insert(name, Item::Value(value(origin)));
    Ok(document.to_string())
}

/// Removes a dependency from the text of a manifest; whether it was there. The error is one of TOML.
pub fn remove_dependency(manifest: &str, name: &str) -> Result<Option<String>, String> {
    let mut document: DocumentMut =
        manifest.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let table = document.get_mut("dependencies").and_then(Item::as_table_like_mut);
    let removed = table.and_then(|table| table.remove(name));
    Ok(removed.map(|_| document.to_string()))
}

fn value(origin: &NewOrigin) -> Value {
    let mut table = InlineTable::new();
    match origin {
        NewOrigin::Library => return Value::from("*"),
        NewOrigin::Path(path) => {
            table.insert("path", path.as_str().into());
        }
        NewOrigin::Git { url, rev } => {
            table.insert("git", url.as_str().into());
            table.insert("rev", rev.as_str().into());
        }
    }
    Value::InlineTable(table)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn adding_keeps_comments() {
        let manifest = "# About this package.\n[package]\nname = \"a\" # short\nversion = \"0.1.0\"\n\n[dependencies]\n# The best one.\nb = { path = \"../b\" }\n";
        let text = add_dependency(manifest, "c", &NewOrigin::Path("../c".into())).expect("it is TOML");
        let git = NewOrigin::Git { url: "https://example.org/d".into(), rev: "v1".into() };
        let text = add_dependency(&text, "d", &git).expect("it is TOML");
        let text = add_dependency(&text, "stencil", &NewOrigin::Library).expect("it is TOML");
        expect![[r##"
            # About this package.
            [package]
            name = "a" # short
            version = "0.1.0"

            [dependencies]
            # The best one.
            b = { path = "../b" }
            c = { path = "../c" }
            d = { git = "https://example.org/d", rev = "v1" }
            stencil = "*"
        "##]]
        .assert_eq(&text);
    }

    #[test]
    fn a_manifest_without_dependencies_gets_a_table() {
        let text = add_dependency("[package]\nname = \"a\"\n", "c", &NewOrigin::Library).expect("it is TOML");
        assert_eq!(text, "[package]\nname = \"a\"\n\n[dependencies]\nc = \"*\"\n");
        assert!(add_dependency("dependencies = 1", "c", &NewOrigin::Library).is_err());
        assert!(add_dependency("[", "c", &NewOrigin::Library).is_err());
    }

    #[test]
    fn removing_keeps_the_rest() {
        let manifest = "[dependencies]\n# Fast.\na = \"*\"\n# Good.\nb = \"*\" # very\n";
        let removed = remove_dependency(manifest, "a").expect("it is TOML");
        assert_eq!(removed.as_deref(), Some("[dependencies]\n# Good.\nb = \"*\" # very\n"));
        assert_eq!(remove_dependency(manifest, "c"), Ok(None));
        assert_eq!(remove_dependency("", "c"), Ok(None));
        assert!(remove_dependency("[", "c").is_err());
    }
}
