//! Annotations of functions for the partial evaluator, stored beside the graph.

use nyala_ir::origin::{Origin, OriginLimits, OriginParam};
use nyala_sema::tree::{AttrArg, Function, Lambda, Param, PatKind, Program};
use nyala_sema::types::Ty;
use nyala_span::{Name, Span};

use crate::instance::is_on;
use crate::lowerer::Lowerer;

impl Lowerer<'_> {
    /// Stores the annotations of a function; its continuation is called `name`.
    pub(crate) fn function_origin(&mut self, function: &Function, name: Name) {
        let params = self.origin_params(&function.params);
        let arity = self.arity(&function.params, function.ret);
        let limit = |wanted: &str| {
            let attr = function.attrs.iter().find(|(name, _)| name.as_str() == wanted);
            attr.and_then(|(_, arg)| match arg {
                Some(AttrArg::Int(value)) => Some(*value),
                _ => None,
            })
        };
        let limits = OriginLimits {
            specializations: limit("pe_specializations").or_else(|| limit("pe_specialisations")),
            growth: limit("pe_growth"),
            depth: limit("pe_depth"),
        };
        let must_specialize =
            function.attrs.iter().any(|(name, arg)| is_on(*name, arg.as_ref(), "must_specialize"));
        let is_foreign = self.program.is_foreign(function.span);
        let keeps_frame = self.options.tell_debuggers && is_frame(self.program, function);
        self.world.origins.add(function.span, name, || Origin {
            name: function.name,
            span: function.span,
            body: function.body.as_ref().map_or(Span::NONE, |body| body.span),
            params,
            arity,
            filter: function.filter.as_ref().map(|filter| filter.span),
            limits,
            must_specialize,
            is_foreign,
            keeps_frame,
        });
    }

    /// Stores the annotations of a lambda at the current span.
    pub(crate) fn lambda_origin(&mut self, lambda: &Lambda, name: Name) {
        let params = self.origin_params(&lambda.params);
        let arity = self.arity(&lambda.params, lambda.ret);
        let span = self.world.span;
        let is_foreign = self.program.is_foreign(span);
        self.world.origins.add(span, name, || Origin {
            name,
            span,
            body: lambda.body.span,
            params,
            arity,
            filter: lambda.filter.as_ref().map(|filter| filter.span),
            limits: OriginLimits::default(),
            must_specialize: false,
            is_foreign,
            keeps_frame: false,
        });
    }

    /// The memory, the parameters, the return continuation.
    fn arity(&mut self, params: &[Param], ret: Ty) -> usize {
        1 + params.len() + usize::from(self.ret_ty(ret).is_some())
    }

    fn origin_params(&self, params: &[Param]) -> Vec<OriginParam> {
        let name = |param: &Param| match &param.pat.kind {
            PatKind::Bind(local, _) => Some(self.program.locals[*local].name),
            _ => None,
        };
        params
            .iter()
            .map(|param| OriginParam {
                name: name(param),
                filter: param.filter.as_ref().map(|filter| filter.span),
            })
            .collect()
    }
}

/// Whether a debugger should show a frame for a function: one of the user that no filter asks to specialize.
fn is_frame(program: &Program, function: &Function) -> bool {
    let has_filter = function.filter.is_some() || function.params.iter().any(|param| param.filter.is_some());
    function.parent.is_none() && !has_filter && !program.is_foreign(function.span)
}
