//! Parameters that `nyala tune` searches: statics with `#[tune(..)]`.
//!
//! The attribute lists values that the static may have instead of the written one. Which value is the initializer
//! was decided before; `nyala-driver` swaps it with the written one. All of them are checked here, so that a
//! program without errors has none with another choice.

use nyala_syntax::ast::{self, AttrValue};

use crate::checker::Checker;
use crate::errors::{Because, Error};
use crate::tree::StaticId;

/// How the attribute is written.
const TUNE: &str = "#[tune(value, value)] static name = value;";

/// The candidates among the attributes of a static.
pub(crate) fn candidates(attrs: &[ast::Attr]) -> &[ast::Expr] {
    match attrs.iter().find(|attr| attr.name.name.as_str() == "tune").map(|attr| &attr.value) {
        Some(AttrValue::Exprs(candidates)) => candidates,
        _ => &[],
    }
}

impl<'a> Checker<'a> {
    /// Reports an attribute without candidates, and one at a static that has no value to be replaced: a mutable one, or
    /// one without initializer. A static in a function has no path that a file could name.
    pub(crate) fn check_tune(&mut self, id: StaticId) {
        let info = &self.statics[id];
        let Some(attr) = info.attrs.iter().find(|attr| attr.name.name.as_str() == "tune") else { return };
        let is_parameter = info.init.is_some() && !info.home.in_block && !self.program.statics[id].is_mut;
        if !is_parameter || candidates(info.attrs).is_empty() {
            self.report_tune(attr);
        }
    }

    /// Reports an attribute that is written wrongly or in the wrong place.
    pub(crate) fn report_tune(&mut self, attr: &ast::Attr) {
        self.report(Error::BadAttribute { span: attr.span, expected: TUNE });
    }

    /// Checks that all candidates have the type of the static.
    pub(crate) fn check_candidates(&mut self, id: StaticId) {
        let info = &self.statics[id];
        let because = info.ty.map_or(Because::Nothing, |ty| Because::Written(ty.span));
        if candidates(info.attrs).is_empty() {
            return;
        }
        // Its own value decides about the type, not the candidates.
        let attrs = info.attrs;
        self.default_vars();
        let ty = self.zonk(self.program.statics[id].ty);
        let checked: Vec<_> =
            candidates(attrs).iter().map(|candidate| self.check_expr(candidate, ty, because)).collect();
        self.program.statics[id].candidates = checked;
    }
}
