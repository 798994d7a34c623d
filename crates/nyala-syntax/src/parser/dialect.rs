//! Detects the dialect of a file from the forms it uses.

use crate::ast::Dialect;

/// The number of forms that only one dialect has.
///
/// The formatter keeps all of these forms as they are written, so formatting
/// never changes the detected dialect.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Evidence {
    /// `extern`, suffixes, `S { f: e }`, `@@`, `~`, `[v, .. n]`, `with`
    pub impala: u32,
    /// Attributes, `S { f = e }`, `addrspace`, ascriptions, `fn .. = e;`, `implicit`
    pub artic: u32,
}

impl Evidence {
    /// The dialect with more of its forms; Impala if there are none.
    pub fn dialect(self) -> Dialect {
        if self.artic > self.impala { Dialect::Artic } else { Dialect::Impala }
    }
}
