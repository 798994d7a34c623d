//! Text to a world.
//!
//! Items start in the first column and all other lines are indented, so the
//! parser finds every item before it reads any body: first the names of
//! structs and enums, then headers, then bodies. Bodies may so mention each
//! other freely; a line `d0 = ..` must precede its uses.

mod expr;
mod operator;
mod types;

use std::fmt;

use cranelift_entity::EntityRef;
use nyala_span::{Name, Span};
use rustc_hash::FxHashMap;

use super::lex::{Token, TokenKind, tokens};
use super::names::is_numbered;
use crate::node::{Cont, Def, Global, Intrinsic, Linkage, Node};
use crate::types::{EnumId, FieldData, OptionData, StructId, Ty};
use crate::world::World;

/// Brackets may nest this deep in types and expressions; deeper text is an error.
const MAX_DEPTH: u32 = 200;

/// Why a text is no world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The message.
    pub message: String,
}

impl ParseError {
    pub(super) fn new(text: &str, at: usize, message: String) -> ParseError {
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() as u32 + 1;
        let column = before[line_start..].chars().count() as u32 + 1;
        ParseError { line, column, message }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The world that `text` describes, node by node: nothing is folded. Folding is
/// on again in the world that is returned. Spans are places in `text`.
pub fn parse(text: &str) -> Result<World, ParseError> {
    let mut world = World::new();
    world.set_folding(false);
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
        world,
        types: FxHashMap::default(),
        top: FxHashMap::default(),
        locals: FxHashMap::default(),
        params: FxHashMap::default(),
        owner: None,
    };
    parser.declare_types()?;
    let pending = parser.headers()?;
    for item in pending {
        parser.at = item.at;
        parser.owner = Some(item.owner);
        match parser.world.node(item.owner) {
            Node::Global(global) => parser.global_value(global)?,
            Node::Cont(cont) => parser.cont_rest(cont)?,
            _ => unreachable!("items are globals and continuations"),
        }
    }
    parser.world.set_folding(true);
    parser.world.span = Span::NONE;
    Ok(parser.world)
}

/// A body, filter or value that is read after all headers.
struct Pending {
    owner: Def,
    at: usize,
}

#[derive(Clone, Copy)]
enum Nominal {
    Struct(StructId, Ty),
    Enum(EnumId, Ty),
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: u32,
    world: World,
    types: FxHashMap<&'a str, Nominal>,
    /// Continuations and globals.
    top: FxHashMap<&'a str, Def>,
    /// Parameters and lines, by owner.
    locals: FxHashMap<(Def, &'a str), Def>,
    /// Parameters by their names; `None` if several have the name.
    params: FxHashMap<&'a str, Option<Def>>,
    owner: Option<Def>,
}

type Parsed<T> = Result<T, ParseError>;

// ---- Tokens ----------------------------------------------------------------------

impl<'a> Parser<'a> {
    fn peek(&self) -> &TokenKind<'a> {
        self.look(0)
    }

    /// The token `ahead` of the current one; the end stays the end.
    fn look(&self, ahead: usize) -> &TokenKind<'a> {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + ahead).min(last)].kind
    }

    fn next(&mut self) -> TokenKind<'a> {
        let kind = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        kind
    }

    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        self.error_at(self.at, message)
    }

    fn error_at<T>(&self, token: usize, message: impl Into<String>) -> Parsed<T> {
        Err(ParseError::new(self.text, self.tokens[token].at, message.into()))
    }

    /// Sets the span of the next nodes. Lines are exact enough.
    fn mark_place(&mut self) {
        let at = self.tokens[self.at].at as u32;
        self.world.span = Span::new(at, at + 1);
    }

    fn is_punct(&self, byte: u8) -> bool {
        *self.peek() == TokenKind::Punct(byte)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.is_punct(byte);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Parsed<()> {
        if self.eat(byte) { Ok(()) } else { self.error(format!("expected `{}`", byte as char)) }
    }

    fn is_word(&self, word: &str) -> bool {
        *self.peek() == TokenKind::Ident(word, false)
    }

    fn ident(&mut self) -> Parsed<&'a str> {
        match *self.peek() {
            TokenKind::Ident(name, _) => {
                self.next();
                Ok(name)
            }
            _ => self.error("expected a name"),
        }
    }

    fn string(&mut self) -> Parsed<Vec<u8>> {
        match self.next() {
            TokenKind::Str(bytes) => Ok(bytes),
            _ => self.error_at(self.at.saturating_sub(1), "expected a string"),
        }
    }

    fn symbol(&mut self) -> Parsed<Name> {
        let at = self.at;
        let bytes = self.string()?;
        match std::str::from_utf8(&bytes) {
            Ok(symbol) => Ok(Name::new(symbol)),
            Err(_) => self.error_at(at, "a symbol that is not UTF-8"),
        }
    }

    fn int(&mut self) -> Parsed<u64> {
        match *self.peek() {
            TokenKind::Int(false, number, None) => {
                self.next();
                Ok(number)
            }
            _ => self.error("expected a number"),
        }
    }

    /// `x, y, z` up to `close`, which is taken too. A comma may end the list.
    fn list<T>(&mut self, close: u8, mut item: impl FnMut(&mut Self, usize) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![];
        while !self.eat(close) {
            items.push(item(self, items.len())?);
            if !self.eat(b',') && !self.is_punct(close) {
                return self.error(format!("expected `,` or `{}`", close as char));
            }
        }
        Ok(items)
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return self.error("nested too deeply");
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }
}

// ---- Items ------------------------------------------------------------------------

impl<'a> Parser<'a> {
    /// Whether an item may start here: in the first column.
    fn at_item(&self) -> bool {
        let at = self.tokens[self.at].at;
        *self.peek() == TokenKind::End || at == 0 || self.text.as_bytes()[at - 1] == b'\n'
    }

    fn skip_to_item(&mut self) {
        while !self.at_item() {
            self.next();
        }
    }

    fn declare_types(&mut self) -> Parsed<()> {
        while *self.peek() != TokenKind::End {
            if let (true, TokenKind::Ident(word @ ("struct" | "enum"), false), &TokenKind::Ident(name, _)) =
                (self.at_item(), self.peek(), self.look(1))
            {
                let nominal = if *word == "struct" {
                    let (id, ty) = self.world.types.declare_struct(Name::new(name));
                    Nominal::Struct(id, ty)
                } else {
                    let (id, ty) = self.world.types.declare_enum(Name::new(name));
                    Nominal::Enum(id, ty)
                };
                if self.types.insert(name, nominal).is_some() {
                    return self.error(format!("type `{name}` is there twice"));
                }
            }
            self.next();
        }
        self.at = 0;
        Ok(())
    }

    fn headers(&mut self) -> Parsed<Vec<Pending>> {
        let mut pending = vec![];
        while *self.peek() != TokenKind::End {
            if !self.at_item() {
                return self.error("expected an item, in the first column");
            }
            pending.extend(self.header()?);
        }
        Ok(pending)
    }

    fn header(&mut self) -> Parsed<Option<Pending>> {
        let named = matches!(self.look(1), TokenKind::Ident(..));
        let word = match *self.peek() {
            TokenKind::Ident(word, false) if named => word,
            _ => "",
        };
        match word {
            "struct" => self.struct_item().map(|()| None),
            "enum" => self.enum_item().map(|()| None),
            "const" | "global" => self.global_header("").map(Some),
            "export" | "import" | "device" | "intrinsic" | "debugger" => {
                self.next();
                let is_global = matches!(self.peek(), TokenKind::Ident("const" | "global", false));
                if is_global && matches!(self.look(1), TokenKind::Ident(..)) {
                    return self.global_header(word).map(Some);
                }
                match word {
                    "debugger" => self.error("only globals are for debuggers"),
                    _ => self.cont_header(word).map(Some),
                }
            }
            "" => self.cont_header("").map(Some),
            _ => self.error(format!("unknown kind of item `{word}`")),
        }
    }

    fn struct_item(&mut self) -> Parsed<()> {
        self.next();
        let name = self.ident()?;
        self.expect(b'{')?;
        let fields = self.list(b'}', |this, _| {
            let name = Name::new(this.ident()?);
            this.expect(b':')?;
            Ok(FieldData { name, ty: this.ty()? })
        })?;
        if let Some(Nominal::Struct(id, _)) = self.types.get(name) {
            self.world.types.structs[*id].fields = fields;
        }
        Ok(())
    }

    fn enum_item(&mut self) -> Parsed<()> {
        self.next();
        let name = self.ident()?;
        self.expect(b'{')?;
        let options = self.list(b'}', |this, _| {
            let name = Name::new(this.ident()?);
            let payload = if this.eat(b':') { this.ty()? } else { this.world.types.unit() };
            Ok(OptionData { name, payload })
        })?;
        if let Some(Nominal::Enum(id, _)) = self.types.get(name) {
            self.world.types.enums[*id].options = options;
        }
        Ok(())
    }

    fn declare(&mut self, at: usize, name: &'a str, def: Def) -> Parsed<()> {
        match self.top.insert(name, def) {
            None => Ok(()),
            Some(_) => self.error_at(at, format!("`{name}` is there twice")),
        }
    }

    fn declare_local(&mut self, at: usize, owner: Def, name: &'a str, def: Def) -> Parsed<()> {
        match self.locals.insert((owner, name), def) {
            None => Ok(()),
            Some(_) => self.error_at(at, format!("`{name}` is there twice")),
        }
    }

    fn linkage(&self, word: &str, symbol: Name) -> Linkage {
        match word {
            "export" => Linkage::Exported(symbol),
            "import" => Linkage::Imported(symbol),
            "device" => Linkage::Device(symbol),
            "debugger" => Linkage::Debugger,
            _ => Linkage::Internal,
        }
    }

    /// `const name: ty as "symbol"`; the value is read later.
    fn global_header(&mut self, linkage: &str) -> Parsed<Pending> {
        self.mark_place();
        let is_mut = self.is_word("global");
        self.next();
        let at = self.at;
        let name = self.ident()?;
        self.expect(b':')?;
        let ty = self.ty()?;
        let mut symbol = Name::new(name);
        if self.is_word("as") {
            self.next();
            symbol = self.symbol()?;
        }
        let owner = self.world.new_global(name, ty, is_mut, None);
        self.declare(at, name, owner)?;
        let linkage = self.linkage(linkage, symbol);
        self.world.set_global_linkage(Global::new(self.world.globals().count() - 1), linkage);
        let at = self.at;
        self.skip_to_item();
        Ok(Pending { owner, at })
    }

    /// `name(params) = "symbol"`; filter and body are read later.
    fn cont_header(&mut self, linkage: &str) -> Parsed<Pending> {
        self.mark_place();
        let at = self.at;
        let name = self.ident()?;
        self.expect(b'(')?;
        let params = self.list(b')', |this, _| {
            let at = this.at;
            let name = this.ident()?;
            this.expect(b':')?;
            Ok((at, name, this.ty()?))
        })?;
        let tys: Vec<Ty> = params.iter().map(|&(_, _, ty)| ty).collect();
        let cont = self.world.new_cont(name, &tys);
        let owner = self.world.cont_def(cont);
        self.declare(at, name, owner)?;
        for (i, &(at, name, _)) in params.iter().enumerate() {
            let param = self.world.param(cont, i);
            self.world.set_name(param, name);
            self.declare_local(at, owner, name, param)?;
            self.params.entry(name).and_modify(|known| *known = None).or_insert(Some(param));
        }
        let linkage = self.cont_linkage(linkage, name)?;
        self.world.set_linkage(cont, linkage);
        let at = self.at;
        self.skip_to_item();
        Ok(Pending { owner, at })
    }

    fn cont_linkage(&mut self, word: &str, name: &str) -> Parsed<Linkage> {
        let at = self.at;
        let given = self.eat(b'=');
        if word != "intrinsic" {
            let symbol = if given { self.symbol()? } else { Name::new(name) };
            return Ok(self.linkage(word, symbol));
        }
        let name = if given { self.ident()? } else { name };
        match Intrinsic::from_name(name) {
            Some(intrinsic) => Ok(Linkage::Intrinsic(intrinsic)),
            None => self.error_at(at, format!("unknown intrinsic `{name}`")),
        }
    }

    /// `= value`, or lines and a value after a colon, or nothing.
    fn global_value(&mut self, global: Global) -> Parsed<()> {
        if self.eat(b':') {
            self.lines()?;
        } else if !self.eat(b'=') {
            return self.end_of_item();
        }
        let ty = self.world.global(global).ty;
        let init = self.expr(Some(ty))?;
        self.world.set_global_init(global, init);
        self.end_of_item()
    }

    /// `@ filter: lines call`, each part optional.
    fn cont_rest(&mut self, cont: Cont) -> Parsed<()> {
        let filter_at = self.at;
        while !self.is_punct(b':') && !self.at_item() {
            self.next();
        }
        let has_body = self.eat(b':');
        if has_body {
            self.lines()?;
        }
        // The filter may use the lines, so it is read when they are known.
        let body_at = std::mem::replace(&mut self.at, filter_at);
        self.filter(cont)?;
        if has_body {
            self.expect(b':')?;
            self.at = body_at;
            self.mark_place();
            self.call(cont)?;
        }
        self.end_of_item()
    }

    fn filter(&mut self, cont: Cont) -> Parsed<()> {
        if !self.eat(b'@') {
            return Ok(());
        }
        let at = self.at;
        let n_params = self.world.cont(cont).params.len();
        let filter = if self.eat(b'[') {
            self.list(b']', |this, _| this.expr(None))?
        } else {
            vec![self.expr(None)?; n_params]
        };
        if filter.len() != n_params {
            return self.error_at(at, format!("expected {n_params} filters, found {}", filter.len()));
        }
        self.world.set_filter(cont, filter);
        Ok(())
    }

    fn end_of_item(&mut self) -> Parsed<()> {
        if self.at_item() { Ok(()) } else { self.error("expected the end of the item") }
    }

    /// `name = expr`, as often as there is one.
    fn lines(&mut self) -> Parsed<()> {
        let owner = self.owner.expect("lines are in an item");
        while let (&TokenKind::Ident(name, _), TokenKind::Punct(b'='), false) =
            (self.peek(), self.look(1), self.at_item())
        {
            let at = self.at;
            self.mark_place();
            self.at += 2;
            let def = self.expr(None)?;
            self.declare_local(at, owner, name, def)?;
            // Names of parameters stay, and literals are never called by a name.
            let is_nameable = self.world.name(def).is_none() && !self.world.operands(def).is_empty();
            if is_nameable && !is_numbered(name) {
                self.world.set_name(def, name);
            }
        }
        Ok(())
    }
}
