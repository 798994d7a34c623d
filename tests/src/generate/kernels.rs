//! Random programs with a kernel.
//!
//! Its body has no function values and calls no recursive functions, except loops: devices have neither closures nor
//! recursion. It captures unknown numbers and data.

use super::types::{Ty, Types};
use super::{Exit, FUNCTION_SIZE, Generator, LIBRARY, Region, Var};
use crate::random::Random;

/// The library of programs with a kernel.
const KERNEL_LIBRARY: &str = include_str!("kernels.impala");

/// The size of a work group, and the maximum number of groups.
const BLOCK: usize = 4;
const MAX_BLOCKS: usize = 4;

/// A random program that runs a kernel with OpenCL.
pub fn kernel_program(random: &mut Random) -> String {
    let types = Types::of_data(random);
    let mut generator = Generator::new(random, &types, vec![]);
    let text = [LIBRARY, KERNEL_LIBRARY, &types.declarations()].concat();
    text + &generator.main_with_kernel()
}

impl Generator<'_> {
    fn main_with_kernel(&mut self) -> String {
        self.left = FUNCTION_SIZE;
        self.indent = 1;
        let numbers = self.unknown_numbers("argc");
        let captured: String = (0..2).map(|_| self.captured()).collect();
        let n = BLOCK * (1 + self.random.below(MAX_BLOCKS));
        let body = self.kernel();
        format!(
            "fn main(argc: i32) -> i32 {{\n{numbers}{captured}    let memory = allocate(2, {}i64);\n    \
             let results = bitcast[&mut [u32]](memory);\n    for k in count(0, {n}) {{ results(k) = 1u; }}\n    \
             for opencl(0, ({n}, 1, 1), ({BLOCK}, 1, 1)) {{\n        let i = global_id(0u) as i32;\n        \
             let mut own = i as u32;\n{body}    }}\n    synchronize(2);\n    \
             for k in count(0, {n}) {{ note(results(k)); }}\n    release(2, memory);\n    hash as i32\n}}\n",
            4 * n
        )
    }

    /// A variable that the kernel may capture.
    fn captured(&mut self) -> String {
        let ty = self.types.data(self.random);
        let value = self.expr(&ty, 2);
        let name = self.define(ty.clone(), false);
        format!("    let {name}: {} = {value};\n", self.types.show(&ty))
    }

    fn kernel(&mut self) -> String {
        self.left = 2 * FUNCTION_SIZE;
        (self.region, self.sink) = (Region::Kernel, Some("own".into()));
        self.exits.push(Exit { name: "continue".into(), takes: None });
        self.vars.push(Var { name: "i".into(), ty: Ty::I32, is_mut: false });
        self.vars.push(Var { name: "own".into(), ty: Ty::U32, is_mut: false });
        self.indented(|g| {
            let numbers = g.unknown_numbers("i");
            let statements: String = (0..3).map(|_| g.statements(3)).collect();
            let value = g.expr(&Ty::U32, 3);
            format!("{numbers}{statements}{0}{1}\n{0}results(i) = own;\n", g.line_start(), g.note(&value))
        })
    }
}
