//! Prints a value that no arm matches, as a pattern that matches it.

use super::decide::{Ctor, Occurrence, Witness};
use super::{Arms, Place};
use crate::tree::{Enum, Field, Struct};
use crate::types::{Prim, TyKind};

/// The witness as a pattern: `Shape::Box(_, _)`, `(_, false)`, `-1`.
pub(super) fn show(arms: &Arms<'_>, witness: &Witness) -> String {
    Printer { arms, witness }.at(Occurrence::ROOT)
}

struct Printer<'a> {
    arms: &'a Arms<'a>,
    witness: &'a Witness,
}

impl Printer<'_> {
    /// Recurses as deeply as the patterns of the match nest.
    fn at(&self, at: Occurrence) -> String {
        let Some(place) = self.arms.places[at] else { return "_".into() };
        let program = self.arms.program;
        let answer = self.witness.get(&at);
        match program.types.kind(place.ty) {
            TyKind::Prim(prim) => answer.map_or("_".into(), |ctor| show_number(*prim, ctor.tag)),
            TyKind::Enum(id, _) => self.option(at, &program.enums[*id], answer),
            TyKind::Struct(id, _) => self.record(at, &program.structs[*id]),
            TyKind::Tuple(_) => self.sequence(at, place, "(", ")"),
            TyKind::Array(..) => self.sequence(at, place, "[", "]"),
            TyKind::Simd(elem, _) if let TyKind::Struct(id, _) = program.types.kind(*elem) => {
                self.record(at, &program.structs[*id])
            }
            TyKind::Simd(..) => self.sequence(at, place, "simd[", "]"),
            _ => "_".into(),
        }
    }

    fn part(&self, at: Occurrence, tag: u64, index: u32) -> String {
        self.arms.matrix.known_part(at, tag, index).map_or("_".into(), |part| self.at(part))
    }

    fn sequence(&self, at: Occurrence, place: Place, open: &str, close: &str) -> String {
        let parts: Vec<String> = (0..place.n_parts).map(|i| self.part(at, 0, i)).collect();
        if parts.iter().all(|part| part == "_") {
            return "_".into();
        }
        format!("{open}{}{close}", parts.join(", "))
    }

    fn record(&self, at: Occurrence, item: &Struct) -> String {
        let parts: Vec<String> = (0..item.fields.len() as u32).map(|i| self.part(at, 0, i)).collect();
        if parts.iter().all(|part| part == "_") {
            return "_".into();
        }
        let name = item.name.as_str();
        if item.is_tuple_like {
            format!("{name}({})", parts.join(", "))
        } else {
            format!("{name} {}", braced(&item.fields, &parts))
        }
    }

    fn option(&self, at: Occurrence, item: &Enum, answer: Option<&Ctor>) -> String {
        // The only option of an enum is never tested.
        let tag = match answer {
            Some(ctor) => ctor.tag,
            None if item.options.len() == 1 => 0,
            None => return "_".into(),
        };
        let option = &item.options[tag as usize];
        let path = format!("{}::{}", item.name, option.name);
        let parts: Vec<String> = (0..option.fields.len() as u32).map(|i| self.part(at, tag, i)).collect();
        if option.is_record {
            format!("{path} {}", braced(&option.fields, &parts))
        } else if parts.is_empty() {
            path
        } else {
            format!("{path}({})", parts.join(", "))
        }
    }
}

/// `{ x = 1, ... }`: the fields other than `_`.
fn braced(fields: &[Field], parts: &[String]) -> String {
    let named = fields.iter().zip(parts).filter(|(_, part)| *part != "_");
    let mut shown: Vec<String> = named.map(|(field, part)| format!("{} = {part}", field.name)).collect();
    if shown.len() < fields.len() {
        shown.push("...".into());
    }
    format!("{{ {} }}", shown.join(", "))
}

fn show_number(prim: Prim, bits: u64) -> String {
    match prim {
        Prim::Bool => (bits != 0).to_string(),
        Prim::I8 => (bits as i8).to_string(),
        Prim::I16 => (bits as i16).to_string(),
        Prim::I32 => (bits as i32).to_string(),
        Prim::I64 => (bits as i64).to_string(),
        _ => bits.to_string(),
    }
}
