//! Functions of the position: expressions in Impala, of `x`, `y` and `z`.
//!
//! An expression is a function of the program. Errors point to the file of the problem, where it was written.

use std::fmt;

use nyala_driver::embed::Compiler;
use nyala_driver::excerpts::Excerpt;
use toml_edit::Item;

pub struct Expression {
    code: String,
    /// Where it was written; without it, it is a default.
    excerpt: Option<Excerpt>,
}

impl Expression {
    pub fn constant(code: &str) -> Expression {
        Expression { code: code.to_owned(), excerpt: None }
    }

    /// The value of a key in a file with this name and text.
    pub fn read(file: &str, text: &str, item: &Item) -> Option<Expression> {
        let code = item.as_str()?;
        let span = item.span()?;
        // Without quotation marks, if there are no escapes.
        let start = text[span.clone()].find(code).map(|offset| span.start + offset);
        let range = start.map_or(span, |start| start..start + code.len());
        let (file, text, code) = (file.to_owned(), text.to_owned(), code.to_owned());
        Some(Expression { code: code.clone(), excerpt: Some(Excerpt { file, text, range, code }) })
    }

    /// Adds it to a program, as a function with this name.
    pub fn define(&self, name: &str, compiler: Compiler) -> Compiler {
        let (before, after) = around(name);
        match &self.excerpt {
            Some(excerpt) => compiler.excerpt(excerpt.clone(), before, after),
            None => compiler.text(name, self.definition(name)),
        }
    }

    /// The function with this name, as text.
    pub fn definition(&self, name: &str) -> String {
        let (before, after) = around(name);
        before + &self.code + after
    }
}

/// Where it was written: `problem.toml:7`.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.excerpt {
            Some(Excerpt { file, text, range, .. }) => {
                write!(f, "{file}:{}", 1 + text[..range.start].matches('\n').count())
            }
            None => f.write_str(&self.code),
        }
    }
}

/// The text around the function's result.
fn around(name: &str) -> (String, &'static str) {
    (format!("fn @{name}(x: f64, y: f64, z: f64) -> f64 {{\n    "), "\n}\n")
}
