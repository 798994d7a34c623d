//! Tokens, the output of the lexer.
//!
//! A token is sixteen bytes. Names are interned; the values of literals are in a
//! separate table ([`Lexed::lits`](crate::lexer::Lexed)). Words that only one
//! dialect reserves are ordinary identifiers here: the parser knows where their
//! constructs can start (see [`Words`]).

use nyala_span::{Name, Span};

/// One token with its span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// Declares [`TokenKind`] together with the text of every token that has only one.
macro_rules! token_kinds {
    (keywords { $($kw:ident $kw_text:literal,)* } punctuation { $($p:ident $p_text:literal,)* }) => {
        /// The kinds of tokens.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum TokenKind {
            /// A name; words that one dialect reserves are included.
            Ident(Name),
            /// A number or character; the index of its value.
            Lit(u32),
            /// A string; the index of its value.
            Str(u32),
            /// Malformed text that the lexer has reported.
            Unknown,
            /// The end of the text.
            Eof,
            $($kw,)*
            $($p,)*
        }

        impl TokenKind {
            /// The keyword that `text` is, if any.
            pub fn keyword(text: &str) -> Option<TokenKind> {
                match text {
                    $($kw_text => Some(TokenKind::$kw),)*
                    _ => None,
                }
            }

            /// The text of the token, if it has only one.
            pub fn text(self) -> Option<&'static str> {
                match self {
                    $(TokenKind::$kw => Some($kw_text),)*
                    $(TokenKind::$p => Some($p_text),)*
                    _ => None,
                }
            }

            /// Whether this is a reserved word.
            pub fn is_keyword(self) -> bool {
                matches!(self, $(TokenKind::$kw)|*)
            }

            /// Whether this consists of other characters than letters and digits.
            pub fn is_punctuation(self) -> bool {
                matches!(self, $(TokenKind::$p)|*)
            }
        }
    };
}

token_kinds! {
    keywords {
        As "as",
        Asm "asm",
        Else "else",
        Enum "enum",
        False "false",
        Fn "fn",
        For "for",
        If "if",
        In "in",
        Let "let",
        Match "match",
        Mod "mod",
        Mut "mut",
        Simd "simd",
        Static "static",
        Struct "struct",
        True "true",
        Type "type",
        While "while",
    }
    punctuation {
        LParen "(",
        RParen ")",
        LBracket "[",
        RBracket "]",
        LBrace "{",
        RBrace "}",
        Comma ",",
        Semi ";",
        Colon ":",
        ColonColon "::",
        Dot ".",
        DotDot "..",
        DotDotDot "...",
        Arrow "->",
        FatArrow "=>",
        Hash "#",
        At "@",
        AtAt "@@",
        AtQuestion "@?",
        Dollar "$",
        Question "?",
        Tilde "~",
        Not "!",
        Ne "!=",
        Assign "=",
        EqEq "==",
        Plus "+",
        PlusPlus "++",
        PlusAssign "+=",
        Minus "-",
        MinusMinus "--",
        MinusAssign "-=",
        Star "*",
        StarAssign "*=",
        Slash "/",
        SlashAssign "/=",
        Percent "%",
        PercentAssign "%=",
        And "&",
        AndAnd "&&",
        AndAssign "&=",
        Or "|",
        OrOr "||",
        OrAssign "|=",
        Caret "^",
        CaretAssign "^=",
        Lt "<",
        Le "<=",
        Shl "<<",
        ShlAssign "<<=",
        Gt ">",
        Ge ">=",
        Shr ">>",
        ShrAssign ">>=",
    }
}

impl TokenKind {
    /// The closing bracket that belongs to this opening one.
    pub fn closer(self) -> Option<TokenKind> {
        match self {
            TokenKind::LParen => Some(TokenKind::RParen),
            TokenKind::LBracket => Some(TokenKind::RBracket),
            TokenKind::LBrace => Some(TokenKind::RBrace),
            _ => None,
        }
    }

    /// Whether this is a closing bracket.
    pub fn is_closer(self) -> bool {
        matches!(self, TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace)
    }

    /// Whether an operand can end here, so that a following `.5` selects an element.
    pub fn ends_operand(self) -> bool {
        use TokenKind::*;
        matches!(self, Ident(_) | Lit(_) | Str(_) | True | False | PlusPlus | MinusMinus) || self.is_closer()
    }

    /// The token in messages.
    pub fn describe(self) -> String {
        match self {
            TokenKind::Ident(name) => format!("`{name}`"),
            TokenKind::Lit(_) => "a literal".into(),
            TokenKind::Str(_) => "a string".into(),
            TokenKind::Unknown => "an unknown character".into(),
            TokenKind::Eof => "the end of the file".into(),
            kind if kind.is_keyword() => format!("keyword `{}`", kind.text().unwrap_or_default()),
            kind => format!("`{}`", kind.text().unwrap_or_default()),
        }
    }
}

/// Declares [`Words`] from the words themselves.
macro_rules! words {
    ($($field:ident $text:literal,)*) => {
        /// The words that are keywords only where their construct can start,
        /// interned once, so that a test compares two numbers.
        pub(crate) struct Words {
            $(pub $field: Name,)*
        }

        impl Words {
            /// Interns them.
            pub fn new() -> Words {
                Words { $($field: Name::new($text),)* }
            }
        }
    };
}

words! {
    addrspace "addrspace",
    cn "cn",
    constant "constant",
    extern_ "extern",
    global "global",
    halt "halt",
    impl_ "impl",
    implicit "implicit",
    import "import",
    operator "operator",
    priv_ "priv",
    pub_ "pub",
    run "run",
    shared "shared",
    texture "texture",
    trait_ "trait",
    typeof_ "typeof",
    tune "tune",
    underscore "_",
    uniform "uniform",
    use_ "use",
    with "with",
}
