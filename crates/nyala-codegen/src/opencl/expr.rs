//! Values as expressions of C.

use std::fmt;

use nyala_ir::Def;

/// An expression. It is printed as an operand: with parentheses where it needs them.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    text: String,
    form: Form,
    /// The parameters of blocks whose variables it reads.
    reads: Vec<Def>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// A name or a number, which costs nothing to repeat.
    Atom,
    /// An operand as it is.
    Operand,
    /// An operand in parentheses only.
    Operation,
}

impl Expr {
    /// A variable that is assigned once, or a number.
    pub(super) fn atom(text: impl Into<String>) -> Expr {
        Expr { text: text.into(), form: Form::Atom, reads: vec![] }
    }

    /// The variable of a parameter, which jumps assign.
    pub(super) fn param(param: Def, name: String) -> Expr {
        Expr { text: name, form: Form::Atom, reads: vec![param] }
    }

    /// A constant that is no number.
    pub(super) fn constant(text: String) -> Expr {
        Expr { text, form: Form::Operand, reads: vec![] }
    }

    /// An operation, with the parameters that its operands read.
    pub(super) fn operation(text: String, reads: Vec<Def>) -> Expr {
        Expr { text, form: Form::Operation, reads }
    }

    /// Whether it is a name or a number.
    pub(super) fn is_atom(&self) -> bool {
        self.form == Form::Atom
    }

    /// The parameters of blocks whose variables it reads.
    pub(super) fn reads(&self) -> &[Def] {
        &self.reads
    }

    /// Its text where parentheses are already, or where none are needed.
    pub(super) fn bare(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Atom | Form::Operand => f.write_str(&self.text),
            Form::Operation => write!(f, "({})", self.text),
        }
    }
}

/// Arguments with commas between them.
pub(super) fn list(args: &[Expr]) -> String {
    let args: Vec<String> = args.iter().map(Expr::to_string).collect();
    args.join(", ")
}
