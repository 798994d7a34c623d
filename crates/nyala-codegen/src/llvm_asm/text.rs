//! The text of a function: its blocks, and the names in it.
//!
//! A block of the program may become several of LLVM: parts, where an operation branches, and detours, which are
//! entered from one part only and are written behind all blocks.

use std::fmt::Write as _;

use super::value::{Scalar, Type};
use crate::skeleton::flow::Flow;
use crate::skeleton::names::Names;
use crate::skeleton::phis::{Header, Join, Phi};

/// The label of the first block.
const ENTRY: &str = "entry";

/// A function that is being written.
pub(super) struct FunctionText {
    /// Labels and values share their names.
    names: Names,
    /// What comes before the first block of the program: local variables.
    entry: String,
    blocks: Vec<Block>,
    detours: String,
    /// Where text goes: to this block, or to the detours.
    current: usize,
    in_detour: bool,
    /// The label of the part that is being written.
    label: String,
}

struct Block {
    header: Header<Type>,
    lines: String,
}

impl FunctionText {
    pub(super) fn new() -> FunctionText {
        FunctionText {
            names: Names::new('.'),
            entry: String::new(),
            blocks: vec![],
            detours: String::new(),
            current: 0,
            in_detour: false,
            label: String::new(),
        }
    }

    // ---- Names --------------------------------------------------------------------

    /// A new name of a value.
    pub(super) fn value_name(&mut self, wanted: &str) -> String {
        format!("%{}", self.names.unique(wanted))
    }

    /// A new label.
    pub(super) fn new_label(&mut self, wanted: &str) -> String {
        self.names.unique(wanted)
    }

    // ---- Lines --------------------------------------------------------------------

    /// Adds a line where text goes.
    pub(super) fn line(&mut self, line: &str) {
        writeln!(self.target(), "  {line}").expect("strings take all text");
    }

    /// Adds a line before the first block of the program.
    pub(super) fn entry_line(&mut self, line: &str) {
        writeln!(self.entry, "  {line}").expect("strings take all text");
    }

    /// A variable of the whole call of the function, in an address space; gives a generic pointer to it.
    pub(super) fn local(&mut self, wanted: &str, ty: &Type, align: u64, space: u32) -> String {
        let name = self.value_name(wanted);
        match space {
            0 => self.entry_line(&format!("{name} = alloca {ty}, align {align}")),
            space => {
                let own = self.value_name(&format!("{wanted}_private"));
                self.entry_line(&format!("{own} = alloca {ty}, align {align}, addrspace({space})"));
                self.entry_line(&format!("{name} = addrspacecast {} {own} to ptr", Scalar::Ptr(space)));
            }
        }
        name
    }

    fn target(&mut self) -> &mut String {
        if self.in_detour { &mut self.detours } else { &mut self.blocks[self.current].lines }
    }

    // ---- Blocks -------------------------------------------------------------------

    /// Reserves the label of the first block, which has no other one unless it is jumped to.
    pub(super) fn reserve_entry(&mut self) {
        self.names.reserve(ENTRY);
    }

    /// Adds the next block of the program.
    pub(super) fn add_block(&mut self, wanted: Option<&str>) {
        let label = wanted.map_or(ENTRY.to_owned(), |wanted| self.names.unique(wanted));
        self.blocks.push(Block { header: Header::new(label), lines: String::new() });
    }

    /// Gives the last block a parameter; `initial` is what the function was called with.
    pub(super) fn add_phi(&mut self, name: String, ty: Type, initial: Option<String>) {
        let incoming = initial.into_iter().map(|value| (value, ENTRY.to_owned())).collect();
        if let Some(block) = self.blocks.last_mut() {
            block.header.join.phis.push(Phi { name, ty, incoming });
        }
    }

    /// Gives the last block a latch, if that helps; see Note [One latch].
    pub(super) fn add_latch(&mut self, flow: &Flow<'_>) {
        let Some((block, header)) = self.blocks.iter_mut().map(|block| &mut block.header).enumerate().last()
        else {
            return;
        };
        if flow.n_back_edges(block) >= 2 && !header.join.phis.is_empty() {
            let label = self.names.unique(&format!("{}_again", header.join.label));
            header.add_latch(label, || format!("%{}", self.names.unique("again")));
        }
    }

    /// Begins to write a block of the program.
    pub(super) fn begin_block(&mut self, block: usize) {
        self.current = block;
        self.label.clone_from(&self.blocks[block].header.join.label);
    }

    /// Begins the next part of the current block.
    pub(super) fn begin_part(&mut self, label: &str) {
        writeln!(self.target(), "\n{label}:").expect("strings take all text");
        label.clone_into(&mut self.label);
    }

    /// Begins a block that is entered from the current part only; gives its label, and what ends it.
    pub(super) fn begin_detour(&mut self) -> (String, Outer) {
        let label = self.names.unique("leave");
        let outer = Outer {
            label: std::mem::replace(&mut self.label, label.clone()),
            in_detour: std::mem::replace(&mut self.in_detour, true),
        };
        writeln!(self.detours, "\n{label}:").expect("strings take all text");
        (label, outer)
    }

    /// Goes back to what was written before a detour.
    pub(super) fn end_detour(&mut self, outer: Outer) {
        self.label = outer.label;
        self.in_detour = outer.in_detour;
    }

    /// Passes values to a block; gives the label to jump to.
    pub(super) fn jump(&mut self, block: usize, is_back: bool, values: &[String]) -> String {
        self.blocks[block].header.jump(self.current, &self.label, is_back, values).to_owned()
    }

    /// The label of a block that takes no values.
    pub(super) fn label_without_phis(&self, block: usize) -> Option<&str> {
        let Join { label, phis } = &self.blocks[block].header.join;
        phis.is_empty().then_some(label.as_str())
    }

    /// The text of all blocks.
    pub(super) fn finish(self) -> String {
        let mut text = format!("{ENTRY}:\n{}", self.entry);
        if let Some(label) = self.blocks.first().map(|first| &first.header.join.label)
            && label != ENTRY
        {
            writeln!(text, "  br label %{label}").expect("strings take all text");
        }
        let mut latches: Vec<String> = vec![String::new(); self.blocks.len()];
        for (index, Block { mut header, lines }) in self.blocks.into_iter().enumerate() {
            if let Some((after, latch)) = header.close() {
                let label = &header.join.label;
                // Inner loops come later than outer ones, and end before them.
                latches[after].insert_str(0, &format!("{}  br label %{label}\n", start_of(&latch)));
            }
            match header.join.label == ENTRY {
                true => text += &phis(&header.join.phis),
                false => text += &start_of(&header.join),
            }
            text += &lines;
            text += &latches[index];
        }
        text + &self.detours
    }
}

/// What was written before a detour.
pub(super) struct Outer {
    label: String,
    in_detour: bool,
}

fn start_of(join: &Join<Type>) -> String {
    format!("\n{}:\n{}", join.label, phis(&join.phis))
}

fn phis(phis: &[Phi<Type>]) -> String {
    let phi = |Phi { name, ty, incoming }: &Phi<Type>| {
        let incoming: Vec<String> =
            incoming.iter().map(|(value, label)| format!("[ {value}, %{label} ]")).collect();
        format!("  {name} = phi {ty} {}\n", incoming.join(", "))
    };
    phis.iter().map(phi).collect()
}
