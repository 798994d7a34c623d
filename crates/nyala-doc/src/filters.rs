//! Filters in words: `@(?n & n < 8)` is "Specialized when `n` is known and `n < 8`."

use nyala_span::{SourceFile, Span};
use nyala_syntax::ast::{BinaryOp, Expr, ExprKind, Filter, FilterKind, FnItem, LitKind, Param, UnaryOp};

/// When a function is specialized, in sentences with code between backquotes.
pub(crate) fn describe(function: &FnItem, source: &SourceFile) -> Vec<String> {
    let text = Text(source);
    let own = function.filter.iter().map(|filter| match text.when(filter, "") {
        Some(when) => format!("Specialized {when}."),
        None => "Never specialized by its filter.".to_owned(),
    });
    let of_params = function.params.iter().filter_map(|param| {
        let (filter, name) = (param.filter.as_ref()?, text.param(param)?);
        Some(match text.when(filter, &name) {
            Some(when) => format!("Specialized on {name} {when}."),
            None => format!("Never specialized on {name} by its filter."),
        })
    });
    own.chain(of_params).collect()
}

/// The text of a file, for what is shown as code.
struct Text<'a>(&'a SourceFile);

impl Text<'_> {
    /// When a filter holds; nothing if it never does. `subject` is the parameter with this filter.
    fn when(&self, filter: &Filter, subject: &str) -> Option<String> {
        match &filter.kind {
            FilterKind::Always => Some("at every call".into()),
            FilterKind::IfKnown => Some(format!("when {subject} is known")),
            FilterKind::If(condition) => match literal(condition) {
                Some(true) => Some("at every call".into()),
                Some(false) => None,
                None => Some(format!("when {}", self.condition(condition))),
            },
        }
    }

    fn param(&self, param: &Param) -> Option<String> {
        Some(self.code(param.pat.as_ref()?.span))
    }

    fn condition(&self, expr: &Expr) -> String {
        let expr = without_parens(expr);
        match &expr.kind {
            ExprKind::Unary { op: UnaryOp::Known, operand, .. } => {
                format!("{} is known", self.code(operand.span))
            }
            ExprKind::Unary { op: UnaryOp::Not, operand, .. } => match &without_parens(operand).kind {
                ExprKind::Unary { op: UnaryOp::Known, operand, .. } => {
                    format!("{} is not known", self.code(operand.span))
                }
                _ => format!("{} does not hold", self.code(operand.span)),
            },
            _ => match operands(expr) {
                Some((word, operands)) => self.joined(word, &operands),
                None if is_comparison(expr) => self.code(expr.span),
                None => format!("{} holds", self.code(expr.span)),
            },
        }
    }

    /// `a` is known and ..; what is only asked to be known shares its verb.
    fn joined(&self, word: &str, operands: &[&Expr]) -> String {
        let known: Option<Vec<String>> =
            operands.iter().map(|operand| known(operand).map(|name| self.code(name))).collect();
        if let (Some(known), "and") = (known, word) {
            let (last, others) = known.split_last().expect("a chain has two operands");
            return format!("{} and {last} are known", others.join(", "));
        }
        let parts = operands.iter().map(|operand| match self::operands(without_parens(operand)) {
            Some((inner, _)) if inner != word => format!("({})", self.condition(operand)),
            _ => self.condition(operand),
        });
        parts.collect::<Vec<_>>().join(&format!(" {word} "))
    }

    /// Source text as code, on one line.
    fn code(&self, span: Span) -> String {
        let text = self.0.text.get(self.0.local(span)).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        format!("`{}`", words.join(" ").replace('`', "'"))
    }
}

/// The operands of "and" or "or".
fn operands(expr: &Expr) -> Option<(&'static str, Vec<&Expr>)> {
    let ExprKind::Chain { first, rest } = &expr.kind else { return None };
    let all = |ops: [BinaryOp; 2]| rest.iter().all(|link| ops.contains(&link.op));
    let word = match () {
        () if all([BinaryOp::And, BinaryOp::AndAnd]) => "and",
        () if all([BinaryOp::Or, BinaryOp::OrOr]) => "or",
        () => return None,
    };
    Some((word, std::iter::once(&**first).chain(rest.iter().map(|link| &link.rhs)).collect()))
}

fn known(expr: &Expr) -> Option<Span> {
    match &without_parens(expr).kind {
        ExprKind::Unary { op: UnaryOp::Known, operand, .. } => Some(operand.span),
        _ => None,
    }
}

fn is_comparison(expr: &Expr) -> bool {
    use BinaryOp::*;
    let ExprKind::Chain { rest, .. } = &expr.kind else { return false };
    matches!(rest[..], [ref link] if [Eq, Ne, Lt, Le, Gt, Ge].contains(&link.op))
}

fn literal(expr: &Expr) -> Option<bool> {
    match &without_parens(expr).kind {
        ExprKind::Lit(lit) => match lit.kind {
            LitKind::Bool(value) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

fn without_parens(mut expr: &Expr) -> &Expr {
    while let ExprKind::Paren(inner) = &expr.kind {
        expr = inner;
    }
    expr
}

#[cfg(test)]
mod tests {
    use nyala_span::SourceMap;
    use nyala_syntax::ast::ItemKind;

    use super::describe;

    /// What is said about `fn {filter} f({params})`.
    fn words(filter: &str, params: &str) -> String {
        let mut sources = SourceMap::default();
        let text = format!("fn {filter} f({params}) -> () {{}}");
        let id = sources.add("f.impala", text).expect("it is small");
        let parse = nyala_syntax::parse(sources.file(id));
        assert!(parse.errors.is_empty(), "{filter}: {:?}", parse.errors);
        let ItemKind::Fn(function) = &parse.file.items[0].kind else { panic!("it is a function") };
        describe(function, sources.file(id)).join(" ")
    }

    fn filter(filter: &str) -> String {
        words(filter, "a: i32, b: i32, n: i32")
    }

    #[test]
    fn functions_without_a_filter_have_no_text() {
        assert_eq!(filter(""), "");
    }

    #[test]
    fn constant_filters_hold_at_every_call_or_none() {
        assert_eq!(filter("@"), "Specialized at every call.");
        assert_eq!(filter("@(true)"), "Specialized at every call.");
        assert_eq!(filter("@(false)"), "Never specialized by its filter.");
    }

    #[test]
    fn known_parameters_are_named() {
        assert_eq!(filter("@(?n)"), "Specialized when `n` is known.");
        assert_eq!(filter("@(?a & ?b)"), "Specialized when `a` and `b` are known.");
        assert_eq!(filter("@(?a && (?b) && ?n)"), "Specialized when `a`, `b` and `n` are known.");
        assert_eq!(filter("@(!?n)"), "Specialized when `n` is not known.");
    }

    #[test]
    fn combined_conditions_are_joined_by_words() {
        assert_eq!(filter("@(?a | ?b)"), "Specialized when `a` is known or `b` is known.");
        assert_eq!(filter("@(?n & (n < 8))"), "Specialized when `n` is known and `n < 8`.");
        assert_eq!(
            filter("@((?a | ?b) & small(n))"),
            "Specialized when (`a` is known or `b` is known) and `small(n)` holds."
        );
        assert_eq!(filter("@(!small(n))"), "Specialized when `small(n)` does not hold.");
    }

    #[test]
    fn filters_of_parameters() {
        assert_eq!(
            words("", "@a: i32, @?b: i32, @(?a) n: i32"),
            "Specialized on `a` at every call. Specialized on `b` when `b` is known. \
             Specialized on `n` when `a` is known."
        );
    }
}
