//! A tree as an s-expression, without positions. Two files have the same meaning exactly if
//! their dumps are equal.
//!
//! Details without meaning are omitted: positions, comments, and parentheses
//! around or below `$`, which the formatter adds.

use crate::ast::{
    Asm, Attr, AttrValue, Block, Cond, Dialect, Expr, ExprKind, FieldDef, FieldInit, FieldName, Fields, File,
    Filter, FilterKind, FnBody, FnItem, ForExpr, GenericParam, Ident, Item, ItemKind, Lambda, Lit, LitKind,
    Param, Pat, PatKind, Path, Ret, Stmt, StrLit, TypeExpr, TypeKind, UnaryOp, UseKind, UseTree,
};

/// The structure of `file`, one item per line.
pub fn dump(file: &File) -> String {
    let mut dump = Dump { out: String::new() };
    dump.word(if file.dialect == Dialect::Artic { "artic" } else { "impala" });
    for item in &file.items {
        dump.out.push('\n');
        dump.item(item);
    }
    dump.out.push('\n');
    dump.out
}

struct Dump {
    out: String,
}

impl Dump {
    // ---- Writing ------------------------------------------------------------------

    fn word(&mut self, word: &str) {
        if !self.out.is_empty() && !self.out.ends_with(['(', '\n']) {
            self.out.push(' ');
        }
        self.out.push_str(word);
    }

    /// `(head ..)`
    fn node(&mut self, head: &str, parts: impl FnOnce(&mut Self)) {
        self.word("(");
        self.out.push_str(head);
        parts(self);
        self.out.push(')');
    }

    fn list<T>(&mut self, head: &str, elements: &[T], print: impl FnMut(&mut Self, &T)) {
        let mut print = print;
        self.node(head, |dump| elements.iter().for_each(|element| print(dump, element)));
    }

    /// An optional part.
    fn opt<T>(&mut self, head: &str, part: Option<T>, print: impl FnOnce(&mut Self, T)) {
        if let Some(part) = part {
            self.node(head, |dump| print(dump, part));
        }
    }

    fn flag(&mut self, is_set: bool, word: &str) {
        if is_set {
            self.word(word);
        }
    }

    fn ident(&mut self, ident: &Ident) {
        self.word(ident.name.as_str());
    }

    fn generic_params(&mut self, params: &[GenericParam]) {
        if !params.is_empty() {
            self.list("tparams", params, Self::generic_param);
        }
    }

    fn path(&mut self, path: &Path) {
        let names: Vec<_> = path.segments.iter().map(|segment| segment.name.as_str()).collect();
        self.word(&names.join("::"));
    }

    fn string(&mut self, string: &StrLit) {
        self.word(&format!("\"{}\"", string.bytes.escape_ascii()));
    }

    fn lit(&mut self, lit: &Lit) {
        match &lit.kind {
            LitKind::Str(string) => self.string(string),
            LitKind::Bool(value) => self.word(&value.to_string()),
            LitKind::Char(byte) => self.word(&format!("'{}'", byte.escape_ascii())),
            LitKind::Int { value, suffix } => {
                let value = value.map_or("?".into(), |value| value.to_string());
                self.word(&format!(
                    "{value}{}",
                    suffix.map_or(String::new(), |suffix| format!("{suffix:?}"))
                ));
            }
            LitKind::Float { digits, suffix } => {
                self.word(&format!(
                    "{digits}{}",
                    suffix.map_or(String::new(), |suffix| format!("{suffix:?}"))
                ));
            }
            LitKind::Error => self.word("error"),
        }
    }

    // ---- Items --------------------------------------------------------------------

    fn item(&mut self, item: &Item) {
        self.node("item", |dump| {
            item.attrs.iter().for_each(|attr| dump.attr(attr));
            if let Some(vis) = item.vis {
                dump.word(&format!("{vis:?}"));
            }
            dump.item_kind(&item.kind);
        });
    }

    fn item_kind(&mut self, kind: &ItemKind) {
        match kind {
            ItemKind::Fn(item) => self.fn_item(item),
            ItemKind::ExternBlock { abi, fns } => self.node("extern", |dump| {
                dump.string(abi);
                fns.iter().for_each(|item| dump.fn_item(item));
            }),
            ItemKind::Struct(item) => self.node("struct", |dump| {
                dump.ident(&item.name);
                dump.generic_params(&item.tparams);
                dump.fields(&item.fields);
            }),
            ItemKind::Enum(item) => self.node("enum", |dump| {
                dump.ident(&item.name);
                dump.generic_params(&item.tparams);
                for option in &item.options {
                    dump.node("option", |dump| {
                        dump.ident(&option.name);
                        dump.fields(&option.fields);
                    });
                }
            }),
            ItemKind::Alias { name, tparams, ty } => self.node("type", |dump| {
                dump.ident(name);
                dump.generic_params(tparams);
                dump.ty(ty);
            }),
            ItemKind::Static { is_mut, name, ty, init } => self.node("static", |dump| {
                dump.flag(*is_mut, "mut");
                dump.ident(name);
                dump.opt("type", ty.as_ref(), Self::ty);
                dump.opt("init", init.as_ref(), Self::expr);
            }),
            ItemKind::Mod { name, items } => self.node("mod", |dump| {
                dump.ident(name);
                dump.flag(items.is_none(), "file");
                items.iter().flatten().for_each(|item| dump.item(item));
            }),
            ItemKind::Use(tree) => self.use_tree("use", tree),
            ItemKind::Implicit { ty, value } => self.node("implicit", |dump| {
                dump.opt("type", ty.as_ref(), Self::ty);
                dump.expr(value);
            }),
            ItemKind::Error => self.word("error"),
        }
    }

    fn use_tree(&mut self, word: &str, tree: &UseTree) {
        self.node(word, |dump| {
            dump.path(&tree.path);
            match &tree.kind {
                UseKind::Name { rename } => dump.opt("as", rename.as_ref(), Self::ident),
                UseKind::Glob => dump.word("*"),
                UseKind::List(trees) => dump.list("list", trees, |dump, tree| dump.use_tree("from", tree)),
            }
        });
    }

    fn attr(&mut self, attr: &Attr) {
        self.node("attr", |dump| {
            dump.ident(&attr.name);
            match &attr.value {
                AttrValue::None => {}
                AttrValue::Lit(lit) => dump.lit(lit),
                AttrValue::Path(path) => dump.path(path),
                AttrValue::Array(lits) => dump.list("array", lits, Self::lit),
                AttrValue::List(attrs) => dump.list("list", attrs, Self::attr),
                AttrValue::Exprs(exprs) => dump.list("exprs", exprs, Self::expr),
            }
        });
    }

    fn fields(&mut self, fields: &Fields) {
        match fields {
            Fields::Unit => {}
            Fields::Tuple(types) => self.list("tuple", types, Self::ty),
            Fields::Record(fields) => self.list("record", fields, Self::field_def),
        }
    }

    fn field_def(&mut self, field: &FieldDef) {
        self.node("field", |dump| {
            dump.ident(&field.name);
            dump.flag(field.is_uniform, "uniform");
            dump.ty(&field.ty);
            dump.opt("default", field.default.as_ref(), Self::expr);
        });
    }

    fn fn_item(&mut self, item: &FnItem) {
        self.node("fn", |dump| {
            dump.flag(item.is_extern, "extern");
            dump.opt("link", item.link_name.as_ref(), Self::string);
            dump.opt_filter(item.filter.as_ref());
            dump.ident(&item.name);
            dump.generic_params(&item.tparams);
            dump.list("params", &item.params, Self::param);
            dump.opt("ret", item.ret.as_ref(), Self::ret);
            match &item.body {
                Some(FnBody::Block(block)) => dump.block(block),
                Some(FnBody::Expr(expr)) => dump.node("=", |dump| dump.expr(expr)),
                None => {}
            }
        });
    }

    fn opt_filter(&mut self, filter: Option<&Filter>) {
        match filter.map(|filter| &filter.kind) {
            Some(FilterKind::Always) => self.word("@"),
            Some(FilterKind::IfKnown) => self.word("@?"),
            Some(FilterKind::If(condition)) => self.node("@", |dump| dump.expr(condition)),
            None => {}
        }
    }

    fn param(&mut self, param: &Param) {
        self.node("param", |dump| {
            dump.flag(param.is_implicit, "implicit");
            dump.opt_filter(param.filter.as_ref());
            if let Some(pat) = &param.pat {
                dump.pat(pat);
            }
            dump.opt("type", param.ty.as_ref(), Self::ty);
        });
    }

    // ---- Types and patterns ---------------------------------------------------------

    fn ret(&mut self, ret: &Ret) {
        match ret {
            Ret::Type(ty) => self.ty(ty),
            Ret::Never(_) => self.word("!"),
        }
    }

    fn generic_param(&mut self, param: &GenericParam) {
        match &param.ty {
            None => self.ident(&param.name),
            Some(ty) => self.node("number", |dump| {
                dump.ident(&param.name);
                dump.ty(ty);
            }),
        }
    }

    fn ty(&mut self, ty: &TypeExpr) {
        match &ty.kind {
            TypeKind::Path { path, args } if args.is_empty() => self.path(path),
            TypeKind::Path { path, args } => self.node("apply", |dump| {
                dump.path(path);
                args.iter().for_each(|arg| dump.ty(arg));
            }),
            TypeKind::Tuple(types) => self.list("tuple", types, Self::ty),
            TypeKind::Paren(inner) => self.node("paren", |dump| dump.ty(inner)),
            TypeKind::Array { elem, len } => self.sized("array", elem, len),
            TypeKind::Simd { elem, len } => self.sized("simd", elem, len),
            TypeKind::Slice(elem) => self.node("slice", |dump| dump.ty(elem)),
            TypeKind::Ptr { kind, space, pointee } => self.node(&format!("{kind:?}"), |dump| {
                dump.opt("space", space.as_ref(), |dump, space| dump.word(&format!("{:?}", space.number)));
                dump.ty(pointee);
            }),
            TypeKind::Fn { tparams, params, ret } => self.node("fn", |dump| {
                dump.generic_params(tparams);
                dump.list("params", params, Self::ty);
                dump.opt("ret", ret.as_deref(), Self::ret);
            }),
            TypeKind::Cn(params) => self.list("cn", params, Self::ty),
            TypeKind::Typeof(expr) => self.node("typeof", |dump| dump.expr(expr)),
            TypeKind::Number(expr) => self.node("number", |dump| dump.expr(expr)),
            TypeKind::Error => self.word("error"),
        }
    }

    fn sized(&mut self, head: &str, elem: &TypeExpr, len: &Expr) {
        self.node(head, |dump| {
            dump.ty(elem);
            dump.expr(len);
        });
    }

    fn pat(&mut self, pat: &Pat) {
        match &pat.kind {
            PatKind::Bind { is_mut: false, name, sub: None } => self.ident(name),
            PatKind::Bind { is_mut, name, sub } => self.node("bind", |dump| {
                dump.flag(*is_mut, "mut");
                dump.ident(name);
                dump.opt("as", sub.as_deref(), Self::pat);
            }),
            PatKind::Typed { pat, ty } => self.node("typed", |dump| {
                dump.pat(pat);
                dump.ty(ty);
            }),
            PatKind::Tuple(pats) => self.list("tuple", pats, Self::pat),
            PatKind::Paren(inner) => self.node("paren", |dump| dump.pat(inner)),
            PatKind::Lit { neg, lit } => self.node("lit", |dump| {
                dump.flag(*neg, "-");
                dump.lit(lit);
            }),
            PatKind::Option { path, args } => self.node("option", |dump| {
                dump.path(path);
                dump.opt("args", args.as_deref(), |dump, args| args.iter().for_each(|arg| dump.pat(arg)));
            }),
            PatKind::Record { path, fields, rest } => self.node("record", |dump| {
                dump.path(path);
                for field in fields {
                    dump.node(field.name.name.as_str(), |dump| dump.pat(&field.pat));
                }
                dump.flag(*rest, "...");
            }),
            PatKind::Array(pats) => self.list("array", pats, Self::pat),
            PatKind::Simd(pats) => self.list("simd", pats, Self::pat),
            PatKind::Error => self.word("error"),
        }
    }

    // ---- Expressions ----------------------------------------------------------------

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Lit(lit) => self.lit(lit),
            ExprKind::Path(path) => self.path(path),
            ExprKind::Paren(inner) if is_hide(inner) => self.expr(inner),
            ExprKind::Paren(inner) => self.node("paren", |dump| dump.expr(inner)),
            ExprKind::Tuple(exprs) => self.list("tuple", exprs, Self::expr),
            ExprKind::Unary { op: UnaryOp::Hide, operand, .. } => {
                self.node("Hide", |dump| dump.expr(without_parens(operand)));
            }
            ExprKind::Unary { op, operand, .. } => self.node(&format!("{op:?}"), |dump| dump.expr(operand)),
            ExprKind::Chain { first, rest } => self.node("chain", |dump| {
                dump.expr(first);
                for link in rest {
                    dump.word(&format!("{:?}", link.op));
                    dump.expr(&link.rhs);
                }
            }),
            ExprKind::Assign { op, place, value, .. } => self.node("assign", |dump| {
                dump.opt("op", *op, |dump, op| dump.word(&format!("{op:?}")));
                dump.expr(place);
                dump.expr(value);
            }),
            ExprKind::Cast { expr, ty } => self.typed("cast", expr, ty),
            ExprKind::Ascribe { expr, ty } => self.typed("ascribe", expr, ty),
            ExprKind::HeapArray { len, elem } => self.typed("heap", len, elem),
            ExprKind::Error => self.word("error"),
            _ => self.enclosed(expr),
        }
    }

    fn typed(&mut self, head: &str, expr: &Expr, ty: &TypeExpr) {
        self.node(head, |dump| {
            dump.expr(expr);
            dump.ty(ty);
        });
    }

    fn enclosed(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Array { is_simd, elems } => {
                self.list(if *is_simd { "simd" } else { "array" }, elems, Self::expr);
            }
            ExprKind::Repeat { is_simd, value, len } => self.node("repeat", |dump| {
                dump.flag(*is_simd, "simd");
                dump.expr(value);
                dump.expr(len);
            }),
            ExprKind::Struct { path, args, fields } => self.node("struct", |dump| {
                dump.path(path);
                dump.list("args", args, Self::ty);
                fields.iter().for_each(|field| dump.field_init(field));
            }),
            ExprKind::Update { base, fields } => self.node("update", |dump| {
                dump.expr(base);
                fields.iter().for_each(|field| dump.field_init(field));
            }),
            ExprKind::Call { callee, args, mark } => self.node("call", |dump| {
                dump.opt("mark", *mark, |dump, mark| dump.word(mark.text));
                dump.expr(callee);
                args.iter().for_each(|arg| dump.expr(arg));
            }),
            ExprKind::TypeArgs { expr, args } => self.node("targs", |dump| {
                dump.expr(expr);
                args.iter().for_each(|arg| dump.ty(arg));
            }),
            ExprKind::Field { base, field } => self.node("field", |dump| {
                dump.expr(base);
                match field {
                    FieldName::Named(name) => dump.ident(name),
                    FieldName::Index { index, .. } => dump.word(&index.to_string()),
                }
            }),
            ExprKind::Lambda(lambda) => self.lambda(lambda),
            ExprKind::Asm(asm) => self.asm(asm),
            _ => self.control(expr),
        }
    }

    fn field_init(&mut self, field: &FieldInit) {
        self.node(if field.with_eq { "=" } else { ":" }, |dump| {
            dump.ident(&field.name);
            dump.expr(&field.value);
        });
    }

    fn lambda(&mut self, lambda: &Lambda) {
        self.node("lambda", |dump| {
            dump.opt_filter(lambda.filter.as_ref());
            dump.list("params", &lambda.params, Self::param);
            dump.opt("ret", lambda.ret.as_ref(), Self::ret);
            dump.opt("body", lambda.body.as_ref(), Self::expr);
        });
    }

    fn asm(&mut self, asm: &Asm) {
        let operand = |dump: &mut Dump, (constraint, expr): &(StrLit, Expr)| {
            dump.string(constraint);
            dump.expr(expr);
        };
        self.node("asm", |dump| {
            dump.string(&asm.template);
            dump.list("out", &asm.outputs, operand);
            dump.list("in", &asm.inputs, operand);
            dump.list("clobbers", &asm.clobbers, Self::string);
            dump.list("options", &asm.options, Self::string);
        });
    }

    fn control(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Block(block) => self.block(block),
            ExprKind::If { arms, else_block } => self.node("if", |dump| {
                for arm in arms {
                    dump.cond(&arm.cond);
                    dump.block(&arm.block);
                }
                dump.opt("else", else_block.as_ref(), Self::block);
            }),
            ExprKind::Match { scrutinee, arms } => self.node("match", |dump| {
                dump.expr(scrutinee);
                for arm in arms {
                    dump.node("=>", |dump| {
                        dump.pat(&arm.pat);
                        dump.expr(&arm.value);
                    });
                }
            }),
            ExprKind::While { cond, body } => self.node("while", |dump| {
                dump.cond(cond);
                dump.block(body);
            }),
            ExprKind::For(for_expr) => self.for_expr("for", for_expr),
            ExprKind::With(for_expr) => self.for_expr("with", for_expr),
            _ => unreachable!("`expr` and `enclosed` handle the other kinds"),
        }
    }

    fn cond(&mut self, cond: &Cond) {
        match cond {
            Cond::Expr(expr) => self.expr(expr),
            Cond::Let(pat, expr) => self.node("let", |dump| {
                dump.pat(pat);
                dump.expr(expr);
            }),
        }
    }

    fn for_expr(&mut self, head: &str, for_expr: &ForExpr) {
        self.node(head, |dump| {
            dump.list("pats", &for_expr.pats, Self::pat);
            dump.expr(&for_expr.call);
            dump.opt_filter(for_expr.filter.as_ref());
            dump.block(&for_expr.body);
        });
    }

    fn block(&mut self, block: &Block) {
        self.node("block", |dump| {
            for stmt in &block.stmts {
                match stmt {
                    Stmt::Let { pat, init, .. } => dump.node("let", |dump| {
                        dump.pat(pat);
                        dump.opt("init", init.as_ref(), Self::expr);
                    }),
                    Stmt::Item(item) => dump.item(item),
                    Stmt::Expr { expr, semi } => {
                        dump.node(if *semi { ";" } else { "stmt" }, |dump| dump.expr(expr))
                    }
                }
            }
            dump.opt("value", block.value.as_deref(), Self::expr);
        });
    }
}

fn is_hide(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Unary { op: UnaryOp::Hide, .. })
}

fn without_parens(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Paren(inner) => without_parens(inner),
        _ => expr,
    }
}
