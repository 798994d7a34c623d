//! Draws the program graph for Graphviz.
//!
//! Continuations are boxes with their parameters, operations are ellipses.
//! A solid edge leads from a user to an operand; the edge to a callee is bold, and
//! memory is dashed. Literals are part of the label of their user, so that the picture
//! shows the important dependences.

use std::fmt::Write;

use crate::analysis::references::References;
use crate::node::{Cont, Def, Node};
use crate::text::print_node;
use crate::types::TyKind;
use crate::world::World;

/// The graph of all that the outside can reach.
pub fn dot(world: &World) -> String {
    let refs = References::of_program(world);
    let mut drawing = Drawing { world, out: "digraph world {\n    node [fontname=\"monospace\"];\n".into() };
    for &def in refs.nodes() {
        match world.node(def) {
            Node::Cont(cont) => drawing.cont(cont),
            _ => drawing.operation(def),
        }
    }
    for (_, global) in world.globals() {
        drawing.line(&format!("{} [label=\"{}\"];", global.def, escape(global.name.as_str())));
    }
    drawing.out.push_str("}\n");
    drawing.out
}

struct Drawing<'a> {
    world: &'a World,
    out: String,
}

impl Drawing<'_> {
    fn cont(&mut self, cont: Cont) {
        let data = self.world.cont(cont);
        let params = data.params.iter().enumerate().map(|(index, &param)| {
            format!("|<p{index}>{}", escape(&self.world.types.display(self.world.ty(param)).to_string()))
        });
        let label = format!("{{{}{}}}", escape(data.name.as_str()), params.collect::<String>());
        self.line(&format!("{cont} [shape=record, label=\"{label}\"];"));
        let Some(body) = &data.body else { return };
        self.edge(&cont.to_string(), body.callee, "style=bold");
        for (index, &arg) in body.args.iter().enumerate() {
            self.edge(&cont.to_string(), arg, &format!("label=\"{index}\""));
        }
    }

    fn operation(&mut self, def: Def) {
        let operands = self.world.operands(def);
        let label = escape(&print_node(self.world, def));
        self.line(&format!("{def} [label=\"{label}\"];"));
        for operand in operands {
            self.edge(&def.to_string(), operand, "");
        }
    }

    /// An edge to the node of `to`; none to a literal.
    fn edge(&mut self, from: &str, to: Def, attributes: &str) {
        let target = match self.world.node(to) {
            Node::Lit(_) | Node::Undef | Node::SizeOf(_) | Node::AlignOf(_) => return,
            Node::Cont(cont) => cont.to_string(),
            Node::Param { cont, index } => format!("{cont}:p{index}"),
            Node::Aggregate(parts) if self.world.list(parts).is_empty() => return,
            _ => to.to_string(),
        };
        let is_mem = matches!(self.world.types.kind(self.world.ty(to)), TyKind::Mem);
        let style = if is_mem { "style=dashed" } else { attributes };
        self.line(&format!("{from} -> {target} [{style}];"));
    }

    fn line(&mut self, line: &str) {
        writeln!(self.out, "    {line}").expect("writing to a string does not fail");
    }
}

/// `text` inside a quoted record label.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '{' | '}' | '|' | '<' | '>') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
