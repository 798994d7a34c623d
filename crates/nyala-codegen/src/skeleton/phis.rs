//! Parameters of blocks as phis: the way of targets in SSA form. Jumps add to them as they are written.
//!
//! Note [One latch]: a loop written as tail calls has many back edges. LLVM would take the values that some of them
//! leave unchanged for loops within the loop. So where a block has several back edges, they meet in a block of their
//! own, the latch. It is written behind the last of them, as at the end of a loop in C: LLVM lays loops out in
//! the order of the text.

/// A phi; `T` is what the target calls a type.
pub(crate) struct Phi<T> {
    pub(crate) name: String,
    pub(crate) ty: T,
    /// Values, and the labels of the blocks that pass them.
    pub(crate) incoming: Vec<(String, String)>,
}

/// A label and the phis behind it.
pub(crate) struct Join<T> {
    pub(crate) label: String,
    pub(crate) phis: Vec<Phi<T>>,
}

/// Where jumps to a block go.
pub(crate) struct Header<T> {
    pub(crate) join: Join<T>,
    latch: Option<Latch<T>>,
}

struct Latch<T> {
    join: Join<T>,
    /// The last block that jumps to it, once there is one.
    after: Option<usize>,
}

impl<T: Clone> Header<T> {
    /// A block without parameters.
    pub(crate) fn new(label: String) -> Header<T> {
        Header { join: Join { label, phis: vec![] }, latch: None }
    }

    /// Gives the block a latch. `name` makes a name for each of its phis.
    pub(crate) fn add_latch(&mut self, label: String, mut name: impl FnMut() -> String) {
        let phis = self.join.phis.iter();
        let phis = phis.map(|phi| Phi { name: name(), ty: phi.ty.clone(), incoming: vec![] }).collect();
        self.latch = Some(Latch { join: Join { label, phis }, after: None });
    }

    /// Passes values from a block, which ends under the label `from`; gives the label to jump to.
    pub(crate) fn jump(&mut self, block: usize, from: &str, is_back: bool, values: &[String]) -> &str {
        let join = match &mut self.latch {
            Some(latch) if is_back => {
                latch.after = Some(block);
                &mut latch.join
            }
            _ => &mut self.join,
        };
        for (phi, value) in join.phis.iter_mut().zip(values) {
            phi.incoming.push((value.clone(), from.to_owned()));
        }
        &join.label
    }

    /// The latch that jumps went to, and the block behind which it is written. The phis of the block take their values
    /// from it.
    pub(crate) fn close(&mut self) -> Option<(usize, Join<T>)> {
        let Latch { join, after } = self.latch.take()?;
        let after = after?;
        for (phi, again) in self.join.phis.iter_mut().zip(&join.phis) {
            phi.incoming.push((again.name.clone(), join.label.clone()));
        }
        Some((after, join))
    }
}
