//! Code of random programs for SIMD lanes and threads.
//!
//! Each instance of a body has its own location for its result, and reads captured variables without changing
//! them. Threads also share a number that atomic operations change; these commute, so their order has no
//! effect.

use super::types::Ty;
use super::{Exit, Generator, Region, Var};

/// The maximum number of instances.
const MAX_INSTANCES: usize = 16;

/// Operations of `atomic` that commute: add, subtract, and, or, exclusive or, and the unsigned
/// maximum and minimum.
const ATOMICS: [u32; 7] = [1, 2, 3, 5, 6, 9, 10];

impl Generator<'_> {
    /// A body for all lanes of a SIMD unit.
    pub fn lanes(&mut self, depth: usize) -> String {
        let length = *self.random.pick(&[2, 4, 8, 16]);
        let (generator, n) = match self.random.below(3) {
            0 => (format!("vectorize({length})"), length),
            _ => {
                let n = 1 + self.random.below(MAX_INSTANCES);
                (format!("vectorize_range({length}, 0, {n})"), n)
            }
        };
        self.instances(Region::Lanes, &generator, n, "", depth)
    }

    /// A body for several threads.
    pub fn threads(&mut self, depth: usize) -> String {
        let (n_threads, n) = (*self.random.pick(&[0, 2, 3]), 1 + self.random.below(MAX_INSTANCES));
        let (shared, operation) = (self.fresh("shared"), *self.random.pick(&ATOMICS));
        let value = self.fresh("own");
        let atomic = format!("atomic[u32]({operation}u, &mut {shared}, {value}, 7u, \"\");");
        let body = self.instances_of(
            Region::Threads,
            &format!("parallel({n_threads}, 0, {n})"),
            n,
            &value,
            &atomic,
            depth,
        );
        let start = self.line_start();
        format!("let mut {shared} = 0xF0F05u;\n{start}{body}\n{start}{}", self.note(&shared))
    }

    fn instances(&mut self, region: Region, generator: &str, n: usize, last: &str, depth: usize) -> String {
        let sink = self.fresh("own");
        self.instances_of(region, generator, n, &sink, last, depth)
    }

    /// A loop over instances that note their values in `sink`, and execute `last` at their end.
    fn instances_of(
        &mut self,
        region: Region,
        generator: &str,
        n: usize,
        sink: &str,
        last: &str,
        depth: usize,
    ) -> String {
        let results = self.fresh("results");
        let outside = self.enter(region, sink);
        let i = self.define(Ty::I32, false);
        self.vars.push(Var { name: sink.into(), ty: Ty::U32, is_mut: false });
        let body = self.indented(|g| {
            let numbers = g.unknown_numbers(&i);
            let statements = g.statements(depth.max(1));
            let value = g.expr(&Ty::U32, depth);
            format!(
                "{numbers}{statements}{0}{1}\n{0}{results}({i}) = {sink};\n{0}{last}",
                g.line_start(),
                g.note(&value)
            )
        });
        self.leave(outside);
        let k = self.fresh("n");
        let start = self.line_start();
        let note = self.note(&format!("{results}({k})"));
        format!(
            "let mut {results}: [u32 * {MAX_INSTANCES}] = [1u, .. {MAX_INSTANCES}];\n\
             {start}for {i} in {generator} {{\n{start}    let mut {sink} = {i} as u32;\n{body}\n{start}}}\n\
             {start}for {k} in count(0, {n}) {{ {note} }}"
        )
    }

    /// Enters a region: only immutable data is visible, and an instance ends only at its end.
    fn enter(&mut self, region: Region, sink: &str) -> Outside {
        let types = self.types;
        let vars = std::mem::take(&mut self.vars);
        let seen = vars.iter().filter(|var| types.is_data(&var.ty));
        self.vars =
            seen.map(|var| Var { name: var.name.clone(), ty: var.ty.clone(), is_mut: false }).collect();
        let exits = vec![Exit { name: "continue".into(), takes: None }];
        Outside {
            vars,
            exits: std::mem::replace(&mut self.exits, exits),
            sink: self.sink.replace(sink.into()),
            region: std::mem::replace(&mut self.region, region),
            fuel: self.fuel.replace("1"),
        }
    }

    fn leave(&mut self, outside: Outside) {
        let Outside { vars, exits, sink, region, fuel } = outside;
        (self.vars, self.exits, self.sink, self.region, self.fuel) = (vars, exits, sink, region, fuel);
    }
}

/// The state outside of a region.
struct Outside {
    vars: Vec<Var>,
    exits: Vec<Exit>,
    sink: Option<String>,
    region: Region,
    fuel: Option<&'static str>,
}
