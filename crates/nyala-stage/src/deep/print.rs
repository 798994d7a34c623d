//! DeepCPS as text.

use std::fmt::Write as _;

use super::{Binder, Block, Expr, Lambda, Param, StageExpr, Step, StepKind, Value};
use crate::primitive::scalar_name;
use crate::print::{show_const, type_name};

/// A program as text, which [`parse`](super::parse) reads again.
pub fn print(block: &Block) -> String {
    let mut text = String::new();
    show_block(block, 0, &mut text);
    text
}

fn show_block(block: &Block, indent: usize, out: &mut String) {
    for Step { stage, kind, .. } in &block.0 {
        let _ = write!(out, "{:1$}", "", 2 * indent);
        if let Some(stage) = stage {
            let _ = write!(out, "@{}: ", show_stage(stage, 0));
        }
        match kind {
            StepKind::Call { callee, args, binder } => {
                match (callee, &args[..]) {
                    (Value::Primitive(operator), [left, right]) if operator.is_operator() => {
                        show_value(left, indent, out);
                        let _ = write!(out, " {} ", operator.name());
                        show_value(right, indent, out);
                    }
                    _ => {
                        show_value(callee, indent, out);
                        for arg in args {
                            out.push(' ');
                            show_value(arg, indent, out);
                        }
                    }
                }
                if let Some(binder) = binder {
                    let _ = write!(out, " {}", show_binder(binder));
                }
            }
            StepKind::Compute { expr, binder } => {
                show_expr(expr, true, indent, out);
                let _ = write!(out, " {}", show_binder(binder));
            }
            StepKind::Let { stage, param, value } => {
                out.push_str("let ");
                if let Some(stage) = stage {
                    let _ = write!(out, "[{}] ", stage.name);
                }
                let _ = write!(out, "{} ", show_param(param));
                show_value(value, indent, out);
            }
            StepKind::Fix { stage, name, function } => {
                out.push_str("fix ");
                if let Some(stage) = stage {
                    let _ = write!(out, "[{}] ", stage.name);
                }
                let _ = write!(out, "{} ", name.name);
                show_lambda(function, indent, out);
            }
        }
        out.push('\n');
    }
}

fn show_lambda(function: &Lambda, indent: usize, out: &mut String) {
    let _ = writeln!(out, "{} {{", show_binder(&function.binder));
    show_block(&function.body, indent + 1, out);
    let _ = write!(out, "{:1$}}}", "", 2 * indent);
}

fn show_value(value: &Value, indent: usize, out: &mut String) {
    let text = match value {
        Value::Int(value, _) => value.to_string(),
        Value::Float(value, _) => format!("{value:?}"),
        Value::Const(value) => show_const(*value),
        Value::Array(elem, elements) => format!("<{}*, {} elements>", scalar_name(*elem), elements.len()),
        Value::Always => "always".into(),
        Value::Never => "never".into(),
        Value::Name(ident) => ident.name.to_string(),
        Value::Primitive(primitive) => primitive.name(),
        Value::Lambda(function) => return show_lambda(function, indent, out),
        Value::Tuple(parts) => {
            out.push('[');
            for (at, part) in parts.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                show_value(part, indent, out);
            }
            "]".into()
        }
    };
    out.push_str(&text);
}

fn show_expr(expr: &Expr, is_outer: bool, indent: usize, out: &mut String) {
    match expr {
        Expr::Value(value) => show_value(value, indent, out),
        Expr::Binary(operator, left, right) => {
            out.push_str(if is_outer { "" } else { "(" });
            show_expr(left, false, indent, out);
            let _ = write!(out, " {} ", operator.name());
            show_expr(right, false, indent, out);
            out.push_str(if is_outer { "" } else { ")" });
        }
    }
}

fn show_param(param: &Param) -> String {
    match &param.ty {
        Some(ty) => format!("{} {}", type_name(ty), param.ident.name),
        None => param.ident.name.to_string(),
    }
}

fn show_binder(binder: &Binder) -> String {
    let params: Vec<String> = binder.params.iter().map(show_param).collect();
    let stage = binder.stage.map_or_else(String::new, |stage| format!("[{}]", stage.name));
    format!("({}){stage}", params.join(", "))
}

fn show_stage(stage: &StageExpr, level: usize) -> String {
    let (parts, sign, own) = match stage {
        StageExpr::Always => return "always".into(),
        StageExpr::Never => return "never".into(),
        StageExpr::Name(ident) => return ident.name.to_string(),
        StageExpr::Not(part) => return format!("!{}", show_stage(part, 2)),
        StageExpr::And(parts) => (parts, " & ", 1),
        StageExpr::Or(parts) => (parts, " | ", 0),
    };
    let parts: Vec<String> = parts.iter().map(|part| show_stage(part, own + 1)).collect();
    let text = parts.join(sign);
    if own < level { format!("({text})") } else { text }
}
