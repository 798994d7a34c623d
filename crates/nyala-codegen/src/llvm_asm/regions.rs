//! Bodies that are executed many times or on other threads: those of `parallel`, `fibers`, `spawn`, tasks of flow
//! graphs, and `vectorize` where lanes may be executed one after the other. The body of `hls` is executed once, on
//! the same thread.
//!
//! The body is a closure. The runtime gets its environment and a C function that calls it: for each index of a
//! range, or once.

use nyala_ir::{Cont, Def, Intrinsic};

use super::ModuleWriter;
use super::closures::ENVIRONMENT;
use super::function::FunctionWriter;
use super::types::FUNCTION;
use super::value::{Type, Value, list};
use crate::skeleton::program::Call;

/// A body as a C function.
pub(crate) struct Outlined {
    /// The function.
    pub(crate) code: String,
    /// Its first argument.
    pub(crate) env: String,
}

impl FunctionWriter<'_, '_> {
    /// Writes a call of an intrinsic that runs a body, or waits for one; gives its results.
    pub(crate) fn region(&mut self, intrinsic: Intrinsic, call: &Call) -> Vec<String> {
        let results = match (intrinsic, &call.args[..]) {
            (Intrinsic::Sync, &[id]) => {
                let id = self.as_i32(id);
                self.call_runtime("anydsl_sync_thread", &[id]);
                vec![]
            }
            (Intrinsic::Spawn, &[body]) => {
                let Outlined { code, env } = self.outline(body, Calls::Once(&[]));
                vec![self.call_library(
                    "anydsl_spawn_thread",
                    &Type::I32,
                    &[Value::ptr(env), Value::ptr(code)],
                )]
            }
            // A circuit computes the same as code.
            (Intrinsic::Hls, &[body] | &[_, body]) => {
                let Outlined { code, env } = self.outline(body, Calls::Once(&[]));
                self.line(format!("call void {code}(ptr {env})"));
                vec![]
            }
            (Intrinsic::Parallel, &[threads, lower, upper, body]) => {
                let numbers = [threads, lower, upper].map(|number| self.as_i32(number));
                let Outlined { code, env } = self.outline(body, Calls::ForEach);
                let args: Vec<Value> =
                    numbers.into_iter().chain([Value::ptr(env), Value::ptr(code)]).collect();
                self.call_runtime("anydsl_parallel_for", &args);
                vec![]
            }
            (Intrinsic::Fibers, &[threads, blocks, warps, body]) => {
                let numbers = [threads, blocks, warps].map(|number| self.as_i32(number));
                let Outlined { code, env } = self.outline(body, Calls::Once(&["block", "warp"]));
                let args: Vec<Value> =
                    numbers.into_iter().chain([Value::ptr(env), Value::ptr(code)]).collect();
                self.call_runtime("anydsl_fibers_spawn", &args);
                vec![]
            }
            (Intrinsic::Vectorize, &[width, body]) => {
                let width = self.value(width);
                self.plain_loop(body, "0".into(), width);
                vec![]
            }
            (_, &[_, lower, upper, body] | &[_, _, lower, upper, body]) => {
                let (lower, upper) = (self.value(lower), self.value(upper));
                self.plain_loop(body, lower, upper);
                vec![]
            }
            _ => {
                let what = format!("this form of `{}`", intrinsic.name());
                vec![self.module.unsupported(self.flow.span(), what)]
            }
        };
        let n_units = call.results.len().saturating_sub(results.len());
        let units = std::iter::repeat_n("zeroinitializer".to_owned(), n_units);
        results.into_iter().chain(units).collect()
    }

    /// Calls a body for each index, in order.
    fn plain_loop(&mut self, body: Def, lower: String, upper: String) {
        let Outlined { code, env } = self.outline(body, Calls::ForEach);
        self.line(format!("call void {code}(ptr {env}, i32 {lower}, i32 {upper})"));
    }

    /// Calls a function of the runtime that has no result.
    pub(crate) fn call_runtime(&mut self, name: &str, args: &[Value]) {
        let symbol = self.module.declare_for(name, &Type::Void, args, self.flow.span());
        self.line(format!("call void {symbol}({})", list(args)));
    }

    /// The value of `def` for a parameter that is an `i32`, whatever the program declares.
    pub(crate) fn as_i32(&mut self, def: Def) -> Value {
        Value::new(Type::I32, self.value(def))
    }

    /// A body as a C function that takes an environment, and then the arguments of `calls`.
    pub(crate) fn outline(&mut self, body: Def, calls: Calls) -> Outlined {
        let is_passing = self.module.program.functions.styles().passes(self.world, body);
        if let Some(cont) = self.world.as_cont(body) {
            let has_env = !self.module.program.functions.captures(cont).is_empty();
            let env = match has_env {
                true => {
                    let pair = self.typed(body);
                    self.compute("env", format!("extractvalue {pair}, 1"))
                }
                false => "null".into(),
            };
            let callee = Callee::Known { cont, has_env };
            return Outlined { code: self.module.outlined(callee, calls, is_passing), env };
        }
        // The environment holds the function value.
        let pair = self.typed(body);
        let args = ["16", "8"].map(|number| Value::new(Type::I64, number));
        let env = self.call_library("nyala_environment", &Type::PTR, &args);
        self.line(format!("store {pair}, ptr {env}, align 8"));
        Outlined { code: self.module.outlined(Callee::Unknown, calls, is_passing), env }
    }
}

/// How often an outlined body is called, and its arguments.
#[derive(Clone, Copy)]
pub(crate) enum Calls {
    /// Once, with parameters of these names.
    Once(&'static [&'static str]),
    /// With each index of a range.
    ForEach,
}

/// What an outlined body calls.
enum Callee {
    Known { cont: Cont, has_env: bool },
    Unknown,
}

impl ModuleWriter<'_> {
    /// A C function that calls a body.
    fn outlined(&mut self, callee: Callee, calls: Calls, is_passing: bool) -> String {
        let (wanted, code, env, open) = match callee {
            Callee::Known { cont, has_env } => {
                let name = self.world.cont(cont).name.to_string();
                (name, self.function_name(cont), has_env.then_some("ptr %env"), String::new())
            }
            Callee::Unknown => {
                let open = format!(
                    "  %pair = load {FUNCTION}, ptr %env, align 8\n  \
                     %code = extractvalue {FUNCTION} %pair, 0\n  \
                     %own = extractvalue {FUNCTION} %pair, 1\n"
                );
                ("value".into(), "%code".into(), Some("ptr %own"), open)
            }
        };
        let mut args: Vec<String> = env.into_iter().map(str::to_owned).collect();
        let (params, numbers): (&[&str], &[&str]) = match calls {
            Calls::Once(numbers) => (numbers, numbers),
            Calls::ForEach => (&["lower", "upper"], &["i"]),
        };
        args.extend(numbers.iter().map(|number| format!("i32 %{number}")));
        if is_passing {
            args.push(format!(
                "{FUNCTION} {{ ptr {}, ptr null }}",
                self.storing_continuation(&[], &Type::Void, 1)
            ));
        }
        let call = format!("call {}void {code}({})", self.convention(), args.join(", "));
        let name = self.names.unique(&format!("{wanted}_body"));
        if let Callee::Known { cont, .. } = callee {
            self.wrappers.push((name.clone(), cont));
        }
        let name = format!("@{name}");
        let params: String = params.iter().map(|param| format!(", i32 %{param}")).collect();
        let body = match calls {
            Calls::Once(_) => format!("{open}  {call}\n  ret void\n"),
            Calls::ForEach => format!(
                "{open}  %some = icmp slt i32 %lower, %upper\n  \
                 br i1 %some, label %again, label %end\n\n\
                 again:\n  \
                 %i = phi i32 [ %lower, %start ], [ %next, %again ]\n  \
                 {call}\n  \
                 %next = add nsw i32 %i, 1\n  \
                 %more = icmp slt i32 %next, %upper\n  \
                 br i1 %more, label %again, label %end\n\n\
                 end:\n  ret void\n"
            ),
        };
        self.functions.push(format!(
            "define internal void {name}({ENVIRONMENT} %env{params}) #0 {{\nstart:\n{body}}}\n"
        ));
        name
    }
}
