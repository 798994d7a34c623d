//! Starting and ending blocks of the SIMD function.

use nyala_ir::{Cont, Def, Ty};

use super::{Emitter, Env, Incoming};

impl Emitter<'_> {
    /// Ends the current block with a branch; gives its two edges.
    pub(super) fn branch(&mut self, cond: Def) -> [Incoming; 2] {
        let mem_ty = self.world.types.mem();
        let name = self.world.cont(self.cont).name;
        let targets = [(); 2].map(|()| self.world.new_cont(name, &[mem_ty]));
        let [then, other] = targets.map(|target| self.world.cont_def(target));
        self.world.set_branch(self.cont, self.mem, cond, then, other);
        targets.map(|cont| Incoming {
            cont,
            mem: self.world.param(cont, 0),
            env: Env::new(),
            empty: None,
            active: None,
        })
    }

    /// A new block with parameters besides memory; it is not entered yet.
    pub fn start(&mut self, name: &str, tys: &[Ty]) -> (Cont, Vec<Def>) {
        let all: Vec<Ty> = std::iter::once(self.world.types.mem()).chain(tys.iter().copied()).collect();
        let cont = self.world.new_cont(name, &all);
        let params = self.world.cont(cont).params[1..].to_vec();
        (cont, params)
    }

    /// Continues in a block that was started.
    pub fn resume(&mut self, cont: Cont) {
        self.cont = cont;
        self.mem = self.world.param(cont, 0);
    }

    /// Ends the current block with a jump.
    pub fn jump(&mut self, target: Cont, args: &[Def]) {
        let all: Vec<Def> = std::iter::once(self.mem).chain(args.iter().copied()).collect();
        let callee = self.world.cont_def(target);
        self.world.set_body(self.cont, callee, all);
    }

    /// Ends the current block with a branch. Continues in the first of two new blocks and gives the
    /// second.
    pub fn split(&mut self, cond: Def) -> Cont {
        let [then, other] = self.branch(cond);
        self.resume(then.cont);
        other.cont
    }
}
