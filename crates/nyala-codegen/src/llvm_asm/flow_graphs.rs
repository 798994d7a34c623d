//! Flow graphs. Their tasks are closures that the runtime stores. A graph or a task has a handle: a number, or a
//! struct of one.

use nyala_ir::{Def, Intrinsic, TyKind};

use super::function::FunctionWriter;
use super::regions::{Calls, Outlined};
use super::value::{Type, Value};
use crate::skeleton::program::Call;

impl FunctionWriter<'_, '_> {
    /// Writes a call of an intrinsic for flow graphs; gives its results.
    pub(crate) fn flow_graph(&mut self, intrinsic: Intrinsic, call: &Call) -> Vec<String> {
        let name = intrinsic.name();
        let number = match (intrinsic, &call.args[..]) {
            (Intrinsic::CreateGraph, []) => Some(self.call_library(name, &Type::I32, &[])),
            (Intrinsic::CreateTask, &[graph, body]) => {
                let graph = self.handle(graph);
                let Outlined { code, env } = self.outline(body, Calls::Once(&[]));
                // The pair of both is passed as they are, on all machines that we know.
                Some(self.call_library(name, &Type::I32, &[graph, Value::ptr(code), Value::ptr(env)]))
            }
            (Intrinsic::CreateEdge | Intrinsic::ExecuteGraph, &[first, second]) => {
                let handles = [first, second].map(|handle| self.handle(handle));
                self.call_runtime(name, &handles);
                None
            }
            _ => Some(self.module.unsupported(self.flow.span(), format!("this form of `{name}`"))),
        };
        call.results
            .iter()
            .map(|&ty| match &number {
                Some(number) if self.world.types.as_prim(ty).is_some() => number.clone(),
                Some(number) if !matches!(self.world.types.kind(ty), TyKind::Tuple(_)) => {
                    let text = self.module.ty(ty);
                    self.compute("handle", format!("insertvalue {text} poison, i32 {number}, 0"))
                }
                _ => "zeroinitializer".into(),
            })
            .collect()
    }

    /// The handle of a graph or task, as a number.
    fn handle(&mut self, handle: Def) -> Value {
        let number = match self.world.types.as_prim(self.world.ty(handle)) {
            Some(_) => self.value(handle),
            None => {
                let handle = self.typed(handle);
                self.compute("number", format!("extractvalue {handle}, 0"))
            }
        };
        Value::new(Type::I32, number)
    }
}
