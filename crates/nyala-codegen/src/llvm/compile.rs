//! LLVM assembly to machine code.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use super::api::Ref;
use super::faults::Fault;
use super::lane_moves::{self, Instructions};
use super::{
    Llvm, LlvmError, accumulators, assumptions, c_string, gathers, kernel_levels, masked_bytes, masks,
    minima, overlapping_loads, pairs, single_lanes, versions, wide_masks,
};

/// The target and the optimization level.
#[derive(Clone, Debug)]
pub struct Options {
    /// 0 to 3.
    pub opt_level: u8,
    /// The machine, as LLVM names it; this one if not given.
    pub target: Option<String>,
    /// The processor; this machine's if neither it nor a target is given.
    pub cpu: Option<String>,
    /// Processors that get versions of their own in the same file. See the module `versions`.
    pub versions: Vec<String>,
    /// Further features of the processor, as LLVM writes them.
    pub features: String,
    /// LLVM assembly or bitcode with functions that the program uses.
    pub library: Option<Vec<u8>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            opt_level: 2,
            target: None,
            cpu: None,
            versions: vec![],
            features: String::new(),
            library: None,
        }
    }
}

/// What to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// An object file.
    Object,
    /// Assembly of the target.
    Assembly,
    /// LLVM assembly, optimized.
    Llvm,
}

/// Compiles LLVM assembly. Each phase is announced as it begins.
pub fn compile(
    llvm: &Llvm,
    text: &str,
    options: &Options,
    output: Output,
    mut on_phase: impl FnMut(&'static str),
) -> Result<Vec<u8>, LlvmError> {
    on_phase("LLVM: read");
    let (machine, module) = match options.versions.is_empty() {
        true => optimized(llvm, text, options, |_, _| on_phase("LLVM: optimize"))?,
        false => {
            on_phase("LLVM: optimize");
            versions::compile(llvm, text, options)?
        }
    };
    on_phase("LLVM: emit");
    module.emit(&machine, output)
}

/// The program for one processor, optimized. `prepare` gets it as it was read.
pub(super) fn optimized<'a>(
    llvm: &'a Llvm,
    text: &str,
    options: &Options,
    mut prepare: impl FnMut(&Module<'a>, &Machine<'a>),
) -> Result<(Machine<'a>, Module<'a>), LlvmError> {
    let machine = Machine::new(llvm, options)?;
    let mut module = Module::new(&machine, text, options)?;
    prepare(&module, &machine);
    module.optimize(&machine, options.opt_level)?;
    // SAFETY: the modules are ours, and of their contexts.
    unsafe {
        if assumptions::may_be_wrong(llvm, module.module) {
            module = Module::new(&machine, text, options)?;
            prepare(&module, &machine);
            let forbidden = assumptions::forbid_vectors(llvm, module.context, module.module);
            module.optimize(&machine, options.opt_level)?;
            forbidden.allow_again(llvm, module.module);
        }
        if options.opt_level > 1 && accumulators::introduce(llvm, module.context, module.module) {
            module.run_passes(&machine, accumulators::PASSES_AFTER)?;
        }
    }
    if machine.triple.starts_with("x86_64") && Fault::SingleLaneStores.matters_to(llvm) {
        // SAFETY: it is the module's context, and the module is ours.
        unsafe { single_lanes::store_as_scalars(llvm, module.context, module.module) };
    }
    if machine.triple.starts_with("x86_64") {
        masked_bytes::replace(llvm, &machine, &module)?;
        if options.opt_level > 1 {
            gathers::replace(llvm, &machine, &module)?;
        }
        // SAFETY: the module is ours.
        unsafe {
            masks::keep_short(llvm, &machine, &module);
            if options.opt_level > 0 {
                wide_masks::widen(llvm, &machine, &module);
            }
            if options.opt_level > 1 {
                pairs::keep(llvm, &module);
                overlapping_loads::permute(llvm, &machine, &module);
                minima::name_instructions(llvm, &machine, &module);
            }
        }
    }
    Ok((machine, module))
}

/// A target machine.
pub(super) struct Machine<'a> {
    llvm: &'a Llvm,
    machine: Ref,
    triple: String,
    pub(super) cpu: String,
    pub(super) features: String,
    /// Found out by compiling a program, so once.
    instructions: OnceCell<Instructions>,
}

impl<'a> Machine<'a> {
    fn new(llvm: &'a Llvm, options: &Options) -> Result<Machine<'a>, LlvmError> {
        let api = &llvm.api;
        // SAFETY: these three give strings that the caller owns.
        let host = unsafe {
            [api.LLVMGetDefaultTargetTriple, api.LLVMGetHostCPUName, api.LLVMGetHostCPUFeatures]
                .map(|ask| llvm.take_message(ask()))
        };
        let is_host = options.target.is_none();
        let [triple, host_cpu, host_features] = host;
        let (triple, baseline) = options.target.as_ref().map_or((triple, ""), |target| known_as(target));
        let (cpu, features) = match &options.cpu {
            Some(cpu) if cpu != "native" => {
                let features = [baseline, &options.features].map(str::to_owned);
                (
                    cpu.clone(),
                    features.into_iter().filter(|some| !some.is_empty()).collect::<Vec<_>>().join(","),
                )
            }
            _ if is_host => (host_cpu, host_features),
            _ => (String::new(), baseline.to_owned()),
        };
        let features = with_gathers(&triple, features);
        if options.cpu.is_some() && !cpu.is_empty() && !llvm.processors.has(&triple, &cpu) {
            return Err(LlvmError::Processor { name: cpu, target: triple });
        }
        let [c_triple, c_cpu, c_features] = [&triple, &cpu, &features].map(|text| c_string(text));
        let (mut target, mut message): (Ref, *mut c_char) = (null_mut(), null_mut());
        // SAFETY: the strings and the places for results are valid during the call,
        // and the message is ours when the call fails.
        unsafe {
            if (api.LLVMGetTargetFromTriple)(c_triple.as_ptr(), &mut target, &mut message) != 0 {
                return Err(LlvmError::Target(llvm.take_message(message)));
            }
        }
        // Without optimization, LLVM uses another instruction selector for AArch64. In it, functions with `tailcc` do
        // not remove their arguments from the stack.
        let is_aarch64 = triple.starts_with("aarch64") || triple.starts_with("arm64");
        let least = u8::from(is_aarch64 && Fault::UnoptimizedTailcc.matters_to(llvm));
        let level = c_int::from(options.opt_level.clamp(least, 3));
        // SAFETY: the target comes from LLVM; the strings are copied.
        let machine = unsafe {
            (api.LLVMCreateTargetMachine)(
                target,
                c_triple.as_ptr(),
                c_cpu.as_ptr(),
                c_features.as_ptr(),
                level,
                RELOC_PIC,
                CODE_MODEL_DEFAULT,
            )
        };
        if machine.is_null() {
            return Err(LlvmError::Target(format!("`{triple}`")));
        }
        Ok(Machine { llvm, machine, triple, cpu, features, instructions: OnceCell::new() })
    }

    /// A program with the functions that depend on the machine's instructions.
    fn adapted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let (moves_lanes, has_kernels) = (lane_moves::are_in(text), kernel_levels::are_in(text));
        if !moves_lanes && !has_kernels {
            return Cow::Borrowed(text);
        }
        let instructions = self.instructions();
        let text = if moves_lanes { lane_moves::defined(text, instructions) } else { Cow::Borrowed(text) };
        if has_kernels { kernel_levels::chosen(text, instructions) } else { text }
    }

    /// The instructions that the machine has.
    pub(super) fn instructions(&self) -> Instructions {
        let assembly = |text: &str| {
            let module = Module::parse(self.llvm, text).ok()?;
            module.set_target(module.module, self);
            String::from_utf8(module.emit(self, Output::Assembly).ok()?).ok()
        };
        *self.instructions.get_or_init(|| Instructions::of(&self.triple, assembly))
    }
}

/// The features, with gathers of AVX2 for lanes under a mask. Without them, LLVM makes a branch for each lane on
/// processors that it does not know as fast.
fn with_gathers(triple: &str, features: String) -> String {
    const GATHERS: &str = "+fast-gather";
    match (triple.starts_with("x86_64"), features.is_empty()) {
        (false, _) => features,
        (true, true) => GATHERS.to_owned(),
        (true, false) => format!("{features},{GATHERS}"),
    }
}

/// LLVM's name for a target, and the features that all of its processors have. In Rust's names for RISC-V they are
/// part of the name; Linux on RISC-V requires them.
fn known_as(target: &str) -> (String, &'static str) {
    match target.split_once('-') {
        Some(("riscv64gc" | "riscv64", rest)) => (format!("riscv64-{rest}"), "+m,+a,+f,+d,+c"),
        _ => (target.to_owned(), ""),
    }
}

/// `LLVMRelocPIC`: position-independent code, which reaches symbols at any distance.
const RELOC_PIC: c_int = 2;
/// `LLVMCodeModelDefault`.
const CODE_MODEL_DEFAULT: c_int = 0;
/// `LLVMExternalLinkage` and `LLVMLinkOnceODRLinkage`.
pub(super) const EXTERNAL: c_int = 0;
const LINK_ONCE: c_int = 3;
/// `LLVMReturnStatusAction`.
const RETURN_STATUS: c_int = 2;

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        // SAFETY: it is ours and not used any more.
        unsafe { (self.llvm.api.LLVMDisposeTargetMachine)(self.machine) }
    }
}

/// A module in a context of its own.
pub(super) struct Module<'a> {
    llvm: &'a Llvm,
    pub(super) context: Ref,
    pub(super) module: Ref,
    /// The errors that LLVM reported while it compiled, such as invalid assembly. The context has its address.
    errors: Box<Reports<'a>>,
}

/// The errors of a context.
struct Reports<'a> {
    llvm: &'a Llvm,
    errors: RefCell<Vec<String>>,
}

/// Takes a report; without it LLVM would print an error and end the process.
///
/// # Safety
/// `info` is LLVM's for the time of the call, and `reports` are `Reports` that are alive.
unsafe extern "C" fn gather(info: Ref, reports: *mut c_void) {
    /// `LLVMDSError`
    const ERROR: c_int = 0;
    // SAFETY: the caller's promise; the description is ours.
    unsafe {
        let reports = &*reports.cast::<Reports<'_>>();
        let api = &reports.llvm.api;
        if (api.LLVMGetDiagInfoSeverity)(info) == ERROR {
            let text = reports.llvm.take_message((api.LLVMGetDiagInfoDescription)(info));
            reports.errors.borrow_mut().push(text);
        }
    }
}

impl<'a> Module<'a> {
    /// The module for a machine, with its library.
    fn new(machine: &Machine<'a>, text: &str, options: &Options) -> Result<Module<'a>, LlvmError> {
        let module = Module::parse(machine.llvm, &machine.adapted(text))?;
        if let Some(library) = &options.library {
            module.link(library, machine)?;
        }
        module.set_target(module.module, machine);
        module.verify()?;
        Ok(module)
    }

    fn parse(llvm: &'a Llvm, text: &str) -> Result<Module<'a>, LlvmError> {
        let api = &llvm.api;
        // SAFETY: the module belongs to the context, and both to us.
        unsafe {
            let context = (api.LLVMContextCreate)();
            let module = match llvm.parse(context, text.as_bytes()) {
                Ok(module) => module,
                Err(error) => {
                    (api.LLVMContextDispose)(context);
                    return Err(error);
                }
            };
            let errors = Box::new(Reports { llvm, errors: RefCell::default() });
            let address: *const Reports<'_> = &*errors;
            (api.LLVMContextSetDiagnosticHandler)(context, gather, address.cast_mut().cast());
            Ok(Module { llvm, context, module, errors })
        }
    }

    /// Adds the functions of a library that are used.
    fn link(&self, library: &[u8], machine: &Machine<'_>) -> Result<(), LlvmError> {
        let api = &self.llvm.api;
        // SAFETY: both modules are of the same context; the second one is taken over.
        unsafe {
            let library = self.llvm.parse(self.context, library)?;
            self.set_target(library, machine);
            let functions = list((api.LLVMGetFirstFunction)(library), |it| (api.LLVMGetNextFunction)(it));
            for function in functions {
                // Unused functions are left out if their linkage is that of copies.
                if (api.LLVMIsDeclaration)(function) == 0 && (api.LLVMGetLinkage)(function) == EXTERNAL {
                    (api.LLVMSetLinkage)(function, LINK_ONCE);
                }
            }
            self.take_over(library)
        }
    }

    /// Adds all that a text defines.
    pub(super) fn link_text(&self, text: &[u8]) -> Result<(), LlvmError> {
        // SAFETY: both modules are of the same context; the second one is taken over.
        unsafe { self.take_over(self.llvm.parse(self.context, text)?) }
    }

    /// Adds all that another module defines.
    ///
    /// # Safety
    /// It is of the same context, and not used again.
    unsafe fn take_over(&self, other: Ref) -> Result<(), LlvmError> {
        // SAFETY: the caller's promise.
        match unsafe { (self.llvm.api.LLVMLinkModules2)(self.module, other) } {
            0 => Ok(()),
            _ => Err(LlvmError::Rejected(self.errors.errors.borrow().join("; "))),
        }
    }

    /// The functions, defined and declared.
    ///
    /// # Safety
    /// No other thread uses the module.
    pub(super) unsafe fn functions(&self) -> Vec<Ref> {
        let api = &self.llvm.api;
        // SAFETY: the module is alive, and each function is of it.
        unsafe {
            list((api.LLVMGetFirstFunction)(self.module), |function| (api.LLVMGetNextFunction)(function))
        }
    }

    /// The variables and constants, defined and declared.
    ///
    /// # Safety
    /// No other thread uses the module.
    pub(super) unsafe fn globals(&self) -> Vec<Ref> {
        let api = &self.llvm.api;
        // SAFETY: the module is alive, and each global is of it.
        unsafe { list((api.LLVMGetFirstGlobal)(self.module), |global| (api.LLVMGetNextGlobal)(global)) }
    }

    /// The module as LLVM assembly.
    pub(super) fn print(&self) -> String {
        // SAFETY: the module is alive, and the string is ours.
        unsafe { self.llvm.take_message((self.llvm.api.LLVMPrintModuleToString)(self.module)) }
    }

    fn set_target(&self, module: Ref, machine: &Machine<'_>) {
        let (api, triple) = (&self.llvm.api, c_string(&machine.triple));
        // SAFETY: module and machine are alive; both strings are copied.
        unsafe {
            let layout = (api.LLVMCreateTargetDataLayout)(machine.machine);
            (api.LLVMSetTarget)(module, triple.as_ptr());
            (api.LLVMSetModuleDataLayout)(module, layout);
            (api.LLVMDisposeTargetData)(layout);
        }
    }

    pub(super) fn verify(&self) -> Result<(), LlvmError> {
        let mut message = null_mut();
        // SAFETY: the module is alive, and the message is ours in any case.
        unsafe {
            let failed = (self.llvm.api.LLVMVerifyModule)(self.module, RETURN_STATUS, &mut message) != 0;
            let message = self.llvm.take_message(message);
            if failed { Err(LlvmError::Rejected(message)) } else { Ok(()) }
        }
    }

    fn optimize(&self, machine: &Machine<'_>, level: u8) -> Result<(), LlvmError> {
        self.run_passes(machine, &format!("default<O{}>", level.min(3)))
    }

    pub(super) fn run_passes(&self, machine: &Machine<'_>, passes: &str) -> Result<(), LlvmError> {
        let (api, passes) = (&self.llvm.api, c_string(passes));
        // SAFETY: all objects are alive, and the options are disposed of once.
        unsafe {
            let options = (api.LLVMCreatePassBuilderOptions)();
            let error = (api.LLVMRunPasses)(self.module, passes.as_ptr(), machine.machine, options);
            (api.LLVMDisposePassBuilderOptions)(options);
            self.llvm.check(error).map_err(LlvmError::Rejected)
        }
    }

    fn emit(&self, machine: &Machine<'_>, output: Output) -> Result<Vec<u8>, LlvmError> {
        let api = &self.llvm.api;
        let kind = match output {
            Output::Llvm => return Ok(self.print().into_bytes()),
            Output::Assembly => 0,
            Output::Object => 1,
        };
        let (mut buffer, mut message): (Ref, *mut c_char) = (null_mut(), null_mut());
        // SAFETY: all objects are alive; the buffer has as many bytes as it says
        // until it is disposed of.
        unsafe {
            let emit = api.LLVMTargetMachineEmitToMemoryBuffer;
            if emit(machine.machine, self.module, kind, &mut message, &mut buffer) != 0 {
                return Err(LlvmError::Target(self.llvm.take_message(message)));
            }
            let (start, len) = ((api.LLVMGetBufferStart)(buffer), (api.LLVMGetBufferSize)(buffer));
            let bytes = std::slice::from_raw_parts(start.cast::<u8>(), len).to_vec();
            (api.LLVMDisposeMemoryBuffer)(buffer);
            let errors = self.errors.errors.borrow();
            if errors.is_empty() { Ok(bytes) } else { Err(LlvmError::Rejected(errors.join("; "))) }
        }
    }
}

/// The members of one of LLVM's lists.
fn list(first: Ref, next: impl Fn(Ref) -> Ref) -> Vec<Ref> {
    let some = |member: Ref| (!member.is_null()).then_some(member);
    std::iter::successors(some(first), |&member| some(next(member))).collect()
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: both are ours and not used any more; the module goes first, as it
        // is in the context.
        unsafe {
            (self.llvm.api.LLVMDisposeModule)(self.module);
            (self.llvm.api.LLVMContextDispose)(self.context);
        }
    }
}

impl Llvm {
    /// A new module with the contents of a text or of bitcode.
    ///
    /// # Safety
    /// The context is alive; the module goes before it does.
    unsafe fn parse(&self, context: Ref, text: &[u8]) -> Result<Ref, LlvmError> {
        let api = &self.api;
        let (mut module, mut message): (Ref, *mut c_char) = (null_mut(), null_mut());
        // SAFETY: the text is copied into the buffer, which the parser takes over.
        unsafe {
            let (start, len) = (text.as_ptr().cast(), text.len());
            let buffer = (api.LLVMCreateMemoryBufferWithMemoryRangeCopy)(start, len, c"program".as_ptr());
            match (api.LLVMParseIRInContext)(context, buffer, &mut module, &mut message) {
                0 => Ok(module),
                _ => Err(LlvmError::Rejected(self.take_message(message))),
            }
        }
    }

    /// What an error says, if it is one.
    ///
    /// # Safety
    /// `error` comes from LLVM and was not looked at before.
    pub(super) unsafe fn check(&self, error: Ref) -> Result<(), String> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: asking for the message takes over the error, and the message is ours.
        unsafe {
            let message = (self.api.LLVMGetErrorMessage)(error);
            let text = std::ffi::CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.api.LLVMDisposeErrorMessage)(message);
            Err(text)
        }
    }
}
