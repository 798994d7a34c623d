//! Inline assembly.
//!
//! Template and constraints have LLVM's syntax and are passed through, if `asm_template` accepts them. An indirect
//! output (`"=*m"`) is written to a new variable and loaded from there. As with C compilers, assembly without
//! outputs is volatile, and on x86 the flags are always clobbered.

use nyala_ir::{AsmData, Def, Ty, TyKind};

use super::abi::Abi;
use super::asm_template;
use super::function::FunctionWriter;
use super::symbols::escaped;
use super::value::Type;
use crate::errors::CodegenError;

impl FunctionWriter<'_, '_> {
    /// Writes inline assembly; its value is its output, or a struct of its outputs.
    pub(crate) fn asm(&mut self, def: Def, asm: &AsmData, inputs: &[Def]) -> Option<String> {
        if let Some(what) = asm_template::mistake(&asm.template, asm.outputs.len() + asm.inputs.len()) {
            self.module.errors.push(CodegenError::AsmTemplate { at: self.world.span_of(def), what });
        }
        let types = self.asm_outputs(def);
        let outputs: Vec<AsmOutput> =
            types.iter().zip(&asm.outputs).map(|(&ty, constraint)| self.asm_output(ty, constraint)).collect();
        let mut args: Vec<String> = outputs.iter().filter_map(AsmOutput::arg).collect();
        for (&input, constraint) in inputs.iter().zip(&asm.inputs) {
            let arg = self.asm_input(input, is_indirect(constraint));
            args.push(arg);
        }
        let direct: Vec<Ty> =
            outputs.iter().filter(|output| output.address.is_none()).map(|o| o.ty).collect();
        let result = self.module.types.results(&direct);
        let text = format!("asm {}({})", self.asm_text(asm), args.join(", "));
        let mut values =
            self.finish_call(&format!("call {result} {text}"), &result, direct.len()).into_iter();
        let values: Vec<String> = outputs
            .iter()
            .map(|output| match &output.address {
                Some(address) => self.load_from(address, output.ty),
                None => values.next().expect("there is a result for every direct output"),
            })
            .collect();
        match &values[..] {
            [] => None,
            [one] => Some(one.clone()),
            several => {
                let all = self.module.types.results(&types);
                Some(self.build_struct(&all, &types, several))
            }
        }
    }

    /// Output `index` of inline assembly.
    pub(crate) fn asm_part(&mut self, asm: Def, index: u64) -> String {
        let types = self.asm_outputs(asm);
        let (all, ty) = (self.value(asm), self.module.types.results(&types));
        match types.len() {
            1 => all,
            _ => self.compute("output", format!("extractvalue {ty} {all}, {}", index - 1)),
        }
    }

    /// The types of the outputs: all results but the memory token.
    fn asm_outputs(&self, asm: Def) -> Vec<Ty> {
        match self.world.types.kind(self.world.ty(asm)) {
            TyKind::Tuple(parts) => parts[1..].to_vec(),
            _ => vec![],
        }
    }

    fn asm_output(&mut self, ty: Ty, constraint: &[u8]) -> AsmOutput {
        let address = is_indirect(constraint).then(|| self.local_of(ty));
        AsmOutput { ty, text: self.module.ty(ty), address }
    }

    fn asm_input(&mut self, input: Def, is_indirect: bool) -> String {
        let pointee = self.world.types.as_ptr(self.world.ty(input)).map(|(pointee, _)| pointee);
        match pointee.filter(|_| is_indirect) {
            Some(pointee) => {
                let (ty, value) = (self.module.ty(pointee), self.value(input));
                format!("ptr elementtype({ty}) {value}")
            }
            None => self.typed(input).to_string(),
        }
    }

    /// Options, template and constraints.
    fn asm_text(&self, asm: &AsmData) -> String {
        let has = |option: &str| asm.options.iter().any(|given| given == option.as_bytes());
        let mut text = String::new();
        if has("volatile") || asm.outputs.is_empty() {
            text += "sideeffect ";
        }
        if has("alignstack") {
            text += "alignstack ";
        }
        if has("intel") {
            text += "inteldialect ";
        }
        let mut constraints: Vec<String> =
            asm.outputs.iter().chain(&asm.inputs).map(|constraint| escaped(constraint)).collect();
        constraints.extend(asm.clobbers.iter().map(|clobber| clobbered(clobber)));
        if self.module.options.abi == Abi::SysV {
            constraints.extend(["dirflag", "fpsr", "flags"].map(|register| format!("~{{{register}}}")));
        }
        text + &format!("\"{}\", \"{}\"", escaped(&asm.template), constraints.join(","))
    }
}

/// An output, with its address if it is indirect.
struct AsmOutput {
    ty: Ty,
    text: Type,
    address: Option<String>,
}

impl AsmOutput {
    fn arg(&self) -> Option<String> {
        self.address.as_ref().map(|address| format!("ptr elementtype({}) {address}", self.text))
    }
}

fn is_indirect(constraint: &[u8]) -> bool {
    constraint.contains(&b'*')
}

/// `"{eax}"` and `"memory"` as LLVM writes clobbers.
fn clobbered(clobber: &[u8]) -> String {
    let name = escaped(clobber);
    match name.strip_prefix('{') {
        Some(_) => format!("~{name}"),
        None => format!("~{{{name}}}"),
    }
}
