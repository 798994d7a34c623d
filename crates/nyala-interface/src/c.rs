//! An interface as a C header, which C++ reads too.

use std::fmt::Write as _;

use rustc_hash::FxHashSet;

use crate::names::identifier;
use crate::{Function, Interface, Signature, Type, TypeDef, TypeDefKind};

/// The header of a program called `name`.
pub fn header(interface: &Interface, name: &str) -> String {
    let guard = guard(interface, name);
    let mut sections = vec![
        format!("/* The interface of `{}`, written by nyala. */", in_comment(name)),
        format!("#ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n#include <stdint.h>"),
        "#ifdef __cplusplus\nextern \"C\" {\n#endif".into(),
    ];
    sections.push(declarations(interface));
    sections.extend(interface.types.iter().filter_map(definition));
    sections.push(statics(interface));
    sections.push(
        interface
            .exports
            .iter()
            .map(|function| format!("{};", prototype(function)))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    sections.push(imports(interface));
    sections.push(format!("#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */"));
    sections.retain(|section| !section.is_empty());
    sections.join("\n\n") + "\n"
}

/// The include guard. No declaration of the header has this name.
fn guard(interface: &Interface, name: &str) -> String {
    let mut guard = format!("{}_H", identifier(name).to_ascii_uppercase());
    let functions = interface.exports.iter().chain(&interface.imports);
    let mut names: FxHashSet<&str> = functions.map(|function| function.name.as_str()).collect();
    names.extend(interface.statics.iter().map(|item| item.name.as_str()));
    names.extend(interface.types.iter().map(|def| def.name.as_str()));
    while names.contains(guard.as_str()) {
        guard.push('_');
    }
    guard
}

/// Text without the end of a comment.
fn in_comment(text: &str) -> String {
    text.replace("*/", "* /").escape_debug().to_string()
}

/// Forward declarations of all types, so that they may refer to each other; definitions of vectors.
fn declarations(interface: &Interface) -> String {
    let defined = interface.types.iter().map(|def| match &def.kind {
        TypeDefKind::Simd { elem, bytes, .. } => {
            format!("typedef {} {} __attribute__((vector_size({bytes})));", base(elem), def.name)
        }
        _ => format!("typedef struct {0} {0};", def.name),
    });
    let opaque = interface.opaque.iter().map(|name| format!("typedef struct {name} {name};"));
    defined.chain(opaque).collect::<Vec<_>>().join("\n")
}

fn definition(def: &TypeDef) -> Option<String> {
    let name = &def.name;
    match &def.kind {
        TypeDefKind::Struct(fields) => {
            let fields: String =
                fields.iter().map(|(field, ty)| format!("    {};\n", declare(ty, field))).collect();
            Some(format!("struct {name} {{\n{fields}}};"))
        }
        TypeDefKind::Enum { options, tag_bits } => {
            let mut payloads = String::new();
            for (option, payload) in options {
                if let Some(payload) = payload {
                    writeln!(payloads, "        {};", declare(payload, option))
                        .expect("strings take all text");
                }
            }
            let data = match payloads.is_empty() {
                true => String::new(),
                false => format!("    union {{\n{payloads}    }} data;\n"),
            };
            let tags =
                options.iter().enumerate().map(|(tag, (option, _))| format!("{name}_{option} = {tag}"));
            let tags = tags.collect::<Vec<_>>().join(", ");
            Some(format!("struct {name} {{\n{data}    uint{tag_bits}_t tag;\n}};\nenum {{ {tags} }};"))
        }
        TypeDefKind::Simd { .. } => None,
    }
}

fn statics(interface: &Interface) -> String {
    let one = |item: &crate::Static| {
        let name = &item.name;
        let constant = if item.is_mut { "" } else { "const " };
        format!("extern {constant}{}{};", declare(&item.ty, name), alias(&item.symbol, name))
    };
    interface.statics.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The imported functions, as a comment: other headers may declare them.
fn imports(interface: &Interface) -> String {
    if interface.imports.is_empty() {
        return String::new();
    }
    let lines = interface.imports.iter().map(|function| format!(" *     {};\n", prototype(function)));
    format!(
        "/* The program calls these functions, which the linking program defines:\n *\n{} */",
        lines.collect::<String>()
    )
}

fn prototype(function: &Function) -> String {
    let signature = &function.signature;
    let params = params(signature, function.params.iter().map(Option::as_deref));
    let name = &function.name;
    let no_return = if signature.result == Type::Never { "__attribute__((noreturn)) " } else { "" };
    format!(
        "{no_return}{}{}",
        declare(&signature.result, &format!("{name}({params})")),
        alias(&function.symbol, name)
    )
}

/// The parameters of a function; `void` for none.
fn params<'a>(signature: &Signature, names: impl Iterator<Item = Option<&'a str>>) -> String {
    let params = signature.params.iter().zip(names);
    match signature.params.is_empty() {
        true => "void".into(),
        false => params.map(|(ty, name)| declare(ty, name.unwrap_or(""))).collect::<Vec<_>>().join(", "),
    }
}

/// The asm label, for symbols that are not identifiers in C.
fn alias(symbol: &str, name: &str) -> String {
    let byte = |byte: u8| match byte {
        b' '..=b'~' if !matches!(byte, b'"' | b'\\' | b'?') => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    let text = || symbol.bytes().map(byte).collect::<String>();
    if symbol == name { String::new() } else { format!(" __asm__(\"{}\")", text()) }
}

/// The declaration of `name` with this type.
fn declare(ty: &Type, name: &str) -> String {
    if let Type::Function(signature) = ty {
        let params = params(signature, std::iter::repeat(None));
        return declare(&signature.result, &format!("(*{name})({params})"));
    }
    let (mut ty, mut dimensions) = (ty, String::new());
    while let Type::Array { elem, len } = ty {
        write!(dimensions, "[{len}]").expect("strings take all text");
        ty = elem;
    }
    let space = if name.is_empty() { "" } else { " " };
    format!("{}{space}{name}{dimensions}", base(ty))
}

/// A type other than an array.
fn base(ty: &Type) -> String {
    match ty {
        Type::Void | Type::Never => "void".into(),
        Type::Bool => "bool".into(),
        Type::Int { bits, is_signed: true } => format!("int{bits}_t"),
        Type::Int { bits, is_signed: false } => format!("uint{bits}_t"),
        Type::Float { bits: 16 } => "_Float16".into(),
        Type::Float { bits: 32 } => "float".into(),
        Type::Float { .. } => "double".into(),
        Type::Ptr { is_mut: true, to } => format!("{}*", base(to)),
        Type::Ptr { is_mut: false, to } => format!("{} const*", base(to)),
        Type::Array { elem, .. } => base(elem),
        Type::Named(name) => name.clone(),
        Type::Function(_) => declare(ty, ""),
    }
}
