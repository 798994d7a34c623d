//! Code for several processors in one object file.
//!
//! The program is compiled once for each processor: a *version*. Each exported function gets a version per
//! processor, and its symbol becomes an indirect function (`ifunc`): when the loader resolves it, a function of the
//! object file asks the processor what it can do and chooses the last version that it can execute. So a call costs
//! what any call of a library costs.
//!
//! # What always holds
//!
//! * Variables exist once: the first version defines them, the others refer to them. Constants exist in each version.
//! * The first version runs on every processor that the program is for. The others are for the levels of x86-64, which
//!   the processor can be asked about.

use std::fmt::Write as _;

use super::api::Ref;
use super::compile::{EXTERNAL, Machine, Module, Options};
use super::{Llvm, LlvmError};

/// `LLVMInternalLinkage` and `LLVMAppendingLinkage`.
const INTERNAL: i32 = 8;
const APPENDING: i32 = 7;
/// `LLVMAttributeFunctionIndex`.
const FUNCTION: u32 = u32::MAX;

/// The levels of x86-64 that a processor can be asked about, in order. The first is any processor.
const LEVELS: [&str; 4] = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"];

/// Compiles the program for `options.cpu` and for each of `options.versions`, to one module with the first one's
/// machine.
pub(super) fn compile<'a>(
    llvm: &'a Llvm,
    text: &str,
    options: &Options,
) -> Result<(Machine<'a>, Module<'a>), LlvmError> {
    check(llvm, options)?;
    let prepare = |module: &Module<'_>, machine: &Machine<'_>, index| {
        // SAFETY: the module is alive and used by this thread only.
        unsafe { prepare(llvm, module, machine, index) }
    };
    let (machine, module) = super::compile::optimized(llvm, text, options, |module, machine| {
        prepare(module, machine, 0);
    })?;
    let mut levels = vec![];
    for (index, cpu) in options.versions.iter().enumerate() {
        let options = Options { cpu: Some(cpu.clone()), ..options.clone() };
        let (_machine, version) = super::compile::optimized(llvm, text, &options, |module, machine| {
            prepare(module, machine, index + 1);
        })?;
        module.link_text(version.print().as_bytes())?;
        levels.push(level(cpu).unwrap_or_default());
    }
    // SAFETY: the module is alive and used by this thread only.
    let exported = unsafe { versions(llvm, &module) };
    module.link_text(dispatch(&exported, &levels).as_bytes())?;
    // SAFETY: as above.
    unsafe { hide(llvm, &module) };
    module.verify()?;
    Ok((machine, module))
}

fn level(cpu: &str) -> Option<usize> {
    LEVELS.iter().position(|&level| level == cpu)
}

/// Whether the target has indirect functions, and processors that can be asked about the versions.
fn check(llvm: &Llvm, options: &Options) -> Result<(), LlvmError> {
    // SAFETY: it gives a string that the caller owns.
    let host = || unsafe { llvm.take_message((llvm.api.LLVMGetDefaultTargetTriple)()) };
    let target = options.target.clone().unwrap_or_else(host);
    if !(target.starts_with("x86_64") && target.contains("linux")) {
        return Err(LlvmError::Versions(format!(
            "there are versions for x86-64 Linux only, and not for `{target}`"
        )));
    }
    let mut last = options.cpu.as_deref().and_then(level);
    for cpu in &options.versions {
        let Some(level) = level(cpu) else {
            let levels = LEVELS[1..].join("`, `");
            return Err(LlvmError::Versions(format!(
                "no program can find out whether the processor is a `{cpu}`; versions are for `{levels}`"
            )));
        };
        if last.is_some_and(|last| last >= level) {
            return Err(LlvmError::Versions(format!(
                "`{cpu}` must stand before processors that can do more"
            )));
        }
        last = Some(level);
    }
    Ok(())
}

/// Gives a function an attribute, or another value of it.
///
/// # Safety
/// The function is of the module, and no other thread uses it.
pub(super) unsafe fn set_attribute(llvm: &Llvm, module: &Module<'_>, function: Ref, key: &str, value: &str) {
    let api = &llvm.api;
    let (key_len, len) = (key.len() as u32, value.len() as u32);
    // SAFETY: the caller's promise; both strings are copied.
    unsafe {
        let (key, value) = (key.as_ptr().cast(), value.as_ptr().cast());
        let attribute = (api.LLVMCreateStringAttribute)(module.context, key, key_len, value, len);
        (api.LLVMAddAttributeAtIndex)(function, FUNCTION, attribute);
    }
}

/// The symbol of a version of an exported function.
fn symbol(name: &str, index: usize) -> String {
    format!("{name}.version.{index}")
}

/// The name of a function or global.
///
/// # Safety
/// It belongs to a module that is alive, and no other thread uses it.
pub(super) unsafe fn name_of(llvm: &Llvm, value: Ref) -> String {
    let mut len = 0;
    // SAFETY: the caller's promise; the name has so many bytes.
    unsafe {
        let name = (llvm.api.LLVMGetValueName2)(value, &mut len);
        String::from_utf8_lossy(std::slice::from_raw_parts(name.cast(), len)).into_owned()
    }
}

/// Makes a module the version with this index, before it is optimized.
///
/// # Safety
/// The module is alive, and no other thread uses it.
unsafe fn prepare(llvm: &Llvm, module: &Module<'_>, machine: &Machine<'_>, index: usize) {
    let api = &llvm.api;
    // SAFETY: all values are of the module; a global is deleted after its successor is known.
    unsafe {
        let attributes = [("target-cpu", &machine.cpu), ("target-features", &machine.features)];
        for function in module.functions() {
            if (api.LLVMIsDeclaration)(function) != 0 {
                continue;
            }
            for (key, value) in attributes {
                set_attribute(llvm, module, function, key, value);
            }
            if (api.LLVMGetLinkage)(function) == EXTERNAL {
                let name = symbol(&name_of(llvm, function), index);
                (api.LLVMSetValueName2)(function, name.as_ptr().cast(), name.len());
            }
        }
        for global in module.globals() {
            match (api.LLVMGetLinkage)(global) {
                APPENDING if index > 0 => (api.LLVMDeleteGlobal)(global),
                INTERNAL if (api.LLVMIsGlobalConstant)(global) == 0 => share(llvm, global, index),
                EXTERNAL if index > 0 => (api.LLVMSetInitializer)(global, std::ptr::null_mut()),
                _ => {}
            }
        }
    }
}

/// What the names of shared variables end with until all versions are linked.
const SHARED: &str = ".shared";

/// Makes a variable the same one in all versions.
///
/// # Safety
/// The global belongs to a module that is alive, and no other thread uses it.
unsafe fn share(llvm: &Llvm, global: Ref, index: usize) {
    // SAFETY: the caller's promise; the name is copied.
    unsafe {
        let name = name_of(llvm, global) + SHARED;
        (llvm.api.LLVMSetValueName2)(global, name.as_ptr().cast(), name.len());
        (llvm.api.LLVMSetLinkage)(global, EXTERNAL);
        if index > 0 {
            (llvm.api.LLVMSetInitializer)(global, std::ptr::null_mut());
        }
    }
}

/// The names of the exported functions.
///
/// # Safety
/// The module is alive, and no other thread uses it.
unsafe fn versions(llvm: &Llvm, module: &Module<'_>) -> Vec<String> {
    // SAFETY: the caller's promise.
    let names: Vec<String> =
        unsafe { module.functions().into_iter().map(|function| name_of(llvm, function)).collect() };
    let first = symbol("", 0);
    names.iter().filter_map(|name| name.strip_suffix(&first).map(str::to_owned)).collect()
}

/// Makes all versions and shared variables internal: the dispatch is linked.
///
/// # Safety
/// The module is alive, and no other thread uses it.
unsafe fn hide(llvm: &Llvm, module: &Module<'_>) {
    let api = &llvm.api;
    // SAFETY: all values are of the module.
    unsafe {
        for function in module.functions() {
            if (api.LLVMIsDeclaration)(function) == 0 && (api.LLVMGetLinkage)(function) == EXTERNAL {
                (api.LLVMSetLinkage)(function, INTERNAL);
            }
        }
        for global in module.globals().into_iter().filter(|&global| name_of(llvm, global).ends_with(SHARED)) {
            (api.LLVMSetLinkage)(global, INTERNAL);
        }
    }
}

/// The indirect functions, as LLVM assembly: for each exported function one that chooses among its versions. The first
/// version is for all processors, the others are for these levels.
fn dispatch(exported: &[String], levels: &[usize]) -> String {
    let mut text = PROCESSOR_LEVEL.to_owned();
    for name in exported {
        let version = |index| format!("@\"{}\"", symbol(name, index));
        for index in 0..=levels.len() {
            writeln!(text, "declare void {}()", version(index)).expect("strings take all text");
        }
        let mut chosen = version(0);
        let mut lines = String::new();
        for (index, level) in levels.iter().enumerate() {
            let next = version(index + 1);
            lines += &format!(
                "  %can.{index} = icmp uge i32 %level, {level}\n  \
                 %version.{index} = select i1 %can.{index}, ptr {next}, ptr {chosen}\n"
            );
            chosen = format!("%version.{index}");
        }
        write!(
            text,
            "define internal ptr @\"{name}.choose\"() {{\n  %level = call i32 @nyala.processor_level()\n{lines}  ret ptr {chosen}\n}}\n\
             @\"{name}\" = ifunc void (), ptr @\"{name}.choose\"\n"
        )
        .expect("strings take all text");
    }
    text
}

/// Asks the processor for its level, an index into [`LEVELS`], by the bits that the levels' definition lists. The
/// system must save the registers too, as the control register tells. Nothing is called: the loader may not have
/// linked it yet.
const PROCESSOR_LEVEL: &str = r#"
define internal i32 @nyala.processor_level() noinline {
  %cpuid.1 = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 1, i32 0)
  %ecx.1 = extractvalue { i32, i32, i32, i32 } %cpuid.1, 2
  %cpuid.7 = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 7, i32 0)
  %ebx.7 = extractvalue { i32, i32, i32, i32 } %cpuid.7, 1
  %cpuid.e = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 -2147483647, i32 0)
  %ecx.e = extractvalue { i32, i32, i32, i32 } %cpuid.e, 2
  ; SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF
  %v2.1 = and i32 %ecx.1, 9970177
  %has.v2.1 = icmp eq i32 %v2.1, 9970177
  %v2.e = and i32 %ecx.e, 1
  %has.v2.e = icmp eq i32 %v2.e, 1
  %has.v2 = and i1 %has.v2.1, %has.v2.e
  br i1 %has.v2, label %v2, label %v1
v1:
  ret i32 0
v2:
  ; FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT
  %v3.1 = and i32 %ecx.1, 943722496
  %has.v3.1 = icmp eq i32 %v3.1, 943722496
  %v3.7 = and i32 %ebx.7, 296
  %has.v3.7 = icmp eq i32 %v3.7, 296
  %v3.e = and i32 %ecx.e, 32
  %has.v3.e = icmp eq i32 %v3.e, 32
  %has.v3.a = and i1 %has.v3.1, %has.v3.7
  %has.v3 = and i1 %has.v3.a, %has.v3.e
  br i1 %has.v3, label %saved, label %only.v2
only.v2:
  ret i32 1
saved:
  %xcr0.pair = call { i32, i32 } asm "xgetbv", "={ax},={dx},{cx}"(i32 0)
  %xcr0 = extractvalue { i32, i32 } %xcr0.pair, 0
  %avx = and i32 %xcr0, 6
  %saves.avx = icmp eq i32 %avx, 6
  br i1 %saves.avx, label %v3, label %only.v2
v3:
  ; AVX512F, AVX512DQ, AVX512CD, AVX512BW, AVX512VL
  %v4.7 = and i32 %ebx.7, -805109760
  %has.v4.7 = icmp eq i32 %v4.7, -805109760
  %avx512 = and i32 %xcr0, 230
  %saves.avx512 = icmp eq i32 %avx512, 230
  %has.v4 = and i1 %has.v4.7, %saves.avx512
  %level = select i1 %has.v4, i32 3, i32 2
  ret i32 %level
}
"#;
