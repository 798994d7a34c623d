//! Functions that tools call: `#[test]` and `#[bench]`.
//!
//! The attribute says how often and for what the function is called, and the function's type has to fit: first a
//! parameter for the number of lanes if there is one, then one for the device, then those whose arguments
//! are generated.

use nyala_syntax::ast::{self, AttrValue, LitKind};
use rustc_hash::FxHashSet;

use crate::checker::Checker;
use crate::containment::Nominal;
use crate::errors::Error;
use crate::tree::{FnId, Role, RoleKind, Throughput};
use crate::types::{Prim, Ty, TyKind};

/// How the attributes are written.
const TEST: &str = "test(lanes = [1, 4, 8], device, fails)";
const BENCH: &str = "bench(lanes = [1, 4, 8], device, bytes = 1024, tolerance = 0.001)";

/// The numbers of lanes if the attribute has none: one, and the lengths of common vectors.
const LANES: [u32; 4] = [1, 4, 8, 16];

/// The largest number of lanes that a test may ask for.
const MAX_LANES: u64 = 1024;

impl<'a> Checker<'a> {
    /// Finds what the attributes of a function say about tools that call it.
    pub(crate) fn declare_role(&mut self, id: FnId) {
        for attr in self.fns[id].attrs {
            let (kind, expected) = match attr.name.name.as_str() {
                "test" => (RoleKind::Test { fails: false }, TEST),
                "bench" => (RoleKind::Bench { throughput: None, tolerance: 0.0 }, BENCH),
                _ => continue,
            };
            let mut role = Role { kind, lanes: vec![], device: false };
            let is_well_formed = match &attr.value {
                AttrValue::None => true,
                AttrValue::List(args) => args.iter().all(|arg| set_argument(&mut role, arg).is_some()),
                _ => false,
            };
            if !is_well_formed {
                self.report(Error::BadAttribute { span: attr.span, expected });
            }
            self.program.fns[id].role = Some(role);
        }
    }

    /// Checks that a tool can call a function that asks for it.
    pub(crate) fn check_role(&mut self, id: FnId) {
        let function = &self.program.fns[id];
        let Some(role) = &function.role else { return };
        if self.program.types.info(function.ty).has_error {
            return;
        }
        let (is_test, name, span) =
            (matches!(role.kind, RoleKind::Test { .. }), function.name, function.span);
        if let Err(why) = self.role_fits(id, role) {
            let attribute = if is_test { "test" } else { "bench" };
            self.report(Error::RoleType { attribute, name, span, why });
        }
    }

    fn role_fits(&self, id: FnId, role: &Role) -> Result<(), String> {
        let (function, types) = (&self.program.fns[id], &self.program.types);
        if function.body.is_none() {
            return Err("it has no body".into());
        }
        if function.parent.is_some() {
            return Err("it is inside of another function".into());
        }
        if !function.tparams.is_empty() {
            return Err("it has type parameters".into());
        }
        let mut params = function.params.iter().map(|param| param.ty);
        let i32 = |ty: Ty| matches!(types.kind(ty), TyKind::Prim(Prim::I32));
        if !role.lanes.is_empty() && !params.next().is_some_and(i32) {
            return Err("its first parameter, the number of lanes, is not an `i32`".into());
        }
        let is_device = |ty: Ty| match types.kind(ty) {
            TyKind::Struct(id, _) => self.program.structs[*id].name.as_str() == "Accelerator",
            _ => false,
        };
        if role.device && !params.next().is_some_and(is_device) {
            return Err("its parameter for the device is not an `Accelerator`".into());
        }
        match role.kind {
            RoleKind::Test { .. } => {
                if let Some(ty) = params.find(|&ty| !self.is_data(ty)) {
                    return Err(format!("there are no generated values of type `{}`", types.display(ty)));
                }
                match types.kind(function.ret) {
                    TyKind::Tuple(parts) if parts.is_empty() => Ok(()),
                    _ => Err(format!("it returns `{}`", types.display(function.ret))),
                }
            }
            RoleKind::Bench { .. } if params.next().is_some() => Err("it has parameters".into()),
            RoleKind::Bench { .. } if function.ret == types.never() => Err("it never returns".into()),
            RoleKind::Bench { .. } => Ok(()),
        }
    }

    /// Whether a type consists of numbers only, so that its values can be made up.
    fn is_data(&self, ty: Ty) -> bool {
        let mut seen = FxHashSet::default();
        let mut stack = vec![ty];
        while let Some(ty) = stack.pop() {
            if !seen.insert(ty) {
                continue;
            }
            match self.program.types.kind(ty) {
                TyKind::Prim(_) | TyKind::Param(_) => {}
                TyKind::Tuple(parts) => stack.extend(parts),
                TyKind::Array(elem, _) | TyKind::Simd(elem, _) => stack.push(*elem),
                TyKind::Struct(id, args) => {
                    stack.extend(args);
                    stack.extend(self.field_types(Nominal::Struct(*id)));
                }
                _ => return false,
            }
        }
        true
    }
}

/// Adds an argument of the attribute to the role; none if it has no meaning.
fn set_argument(role: &mut Role, arg: &ast::Attr) -> Option<()> {
    match (arg.name.name.as_str(), &arg.value, &mut role.kind) {
        ("lanes", AttrValue::None, _) => role.lanes = LANES.to_vec(),
        ("lanes", AttrValue::Lit(lit), _) => role.lanes = vec![lanes(lit)?],
        ("lanes", AttrValue::Array(lits), _) if !lits.is_empty() => {
            role.lanes = lits.iter().map(lanes).collect::<Option<_>>()?;
        }
        ("device", AttrValue::None, _) => role.device = true,
        ("fails", AttrValue::None, RoleKind::Test { fails }) => *fails = true,
        ("bytes", AttrValue::Lit(lit), RoleKind::Bench { throughput, .. }) => {
            *throughput = Some(Throughput::Bytes(integer(lit)?));
        }
        ("items", AttrValue::Lit(lit), RoleKind::Bench { throughput, .. }) => {
            *throughput = Some(Throughput::Items(integer(lit)?));
        }
        ("tolerance", AttrValue::Lit(lit), RoleKind::Bench { tolerance, .. }) => *tolerance = number(lit)?,
        _ => return None,
    }
    Some(())
}

fn lanes(lit: &ast::Lit) -> Option<u32> {
    integer(lit).filter(|n| (1..=MAX_LANES).contains(n)).map(|n| n as u32)
}

fn number(lit: &ast::Lit) -> Option<f64> {
    match &lit.kind {
        LitKind::Float { digits, .. } => digits.as_str().parse().ok(),
        _ => integer(lit).map(|value| value as f64),
    }
}

fn integer(lit: &ast::Lit) -> Option<u64> {
    match lit.kind {
        LitKind::Int { value, .. } => value,
        _ => None,
    }
}
