//! What `nyala_ir::functions` says that a device has, the back ends have: each function becomes code that the device's
//! compiler accepts.

use std::fmt::Write as _;

use nyala_codegen::llvm::{self, Llvm, Output};
use nyala_codegen::llvm_asm::{self, Gpu, GpuKind};
use nyala_codegen::{CodegenError, KernelShape, opencl};
use nyala_ir::functions::{AtomicFn, Domain, Family, NumberFn, Shape, Targets};
use nyala_ir::{External, Function, World};

/// A function to call, and the type that it is called with.
struct Case {
    name: &'static str,
    external: External,
    number: &'static str,
}

/// The functions that a target has, in order. LLVM's functions of numbers are left out: lowering makes
/// operations of them.
fn cases(is_there: impl Fn(Targets) -> bool) -> Vec<Case> {
    let is_listed = |&(_, external): &(&str, External)| {
        let is_op = external.family == Family::Llvm && matches!(external.function, Function::Number(_));
        is_there(external.targets) && external.signature.is_some() && !is_op
    };
    let mut all: Vec<Case> = External::all()
        .filter(is_listed)
        .map(|(name, external)| Case { name, external, number: number_type(external) })
        .collect();
    all.sort_by_key(|case| case.name);
    all
}

/// The type that a function of numbers is called with here.
fn number_type(external: External) -> &'static str {
    match external.function {
        Function::Number(function) if function.info().domain == Domain::Float => {
            external.written.map_or("f64", |prim| prim.name())
        }
        Function::Atomic(AtomicFn::Increment | AtomicFn::Decrement) => "u32",
        _ => "i32",
    }
}

/// A kernel for each function, which calls it and writes what it gives.
fn kernels(cases: &[Case]) -> (World, Vec<String>) {
    let (mut text, mut names) = (String::new(), vec![]);
    for (case, index) in cases.iter().zip(0..) {
        let signature = case.external.signature.expect("cases have one");
        let ty = |shape: Shape| match shape {
            Shape::Unit => unreachable!("only results are"),
            Shape::T => case.number.to_owned(),
            Shape::Ptr => format!("&[1]{}", case.number),
            Shape::I32 => "i32".into(),
            Shape::Mask => "u32".into(),
            Shape::PtrI32 => "&[1]i32".into(),
            Shape::Text => "&[1][u8]".into(),
            Shape::Constants => "&[4][u8]".into(),
        };
        let params = || signature.params.iter().zip(0..);
        let typed: String = params().map(|(&shape, at)| format!("a{at}: {}, ", ty(shape))).collect();
        let given: String = params().map(|(_, at)| format!("k{index}.a{at}, ")).collect();
        let (result, out) = match signature.result {
            Shape::Unit => (String::new(), String::new()),
            shape => (format!(", {}", ty(shape)), format!("out: &[1]{}, ", ty(shape))),
        };
        let name = case.name;
        writeln!(text, "device d{index}(mem: mem, {typed}ret: cn(mem{result})) = \"{name}\"").unwrap();
        writeln!(text, "export k{index}(mem: mem, {typed}{out}ret: cn(mem)):").unwrap();
        match signature.result {
            Shape::Unit => writeln!(text, "    d{index}(mem, {given}k{index}.ret)").unwrap(),
            shape => {
                writeln!(text, "    d{index}(mem, {given}n{index})").unwrap();
                writeln!(text, "n{index}(mem: mem, value: {}):", ty(shape)).unwrap();
                writeln!(text, "    k{index}.ret(store(mem, k{index}.out, value))").unwrap();
            }
        }
        names.push(format!("k{index}"));
    }
    let world = nyala_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    nyala_ir::verify(&world).expect("the program keeps the rules");
    (world, names)
}

fn shapes(names: &[String]) -> Vec<KernelShape<'_>> {
    names.iter().map(|name| KernelShape { name, block: None, apart: &[] }).collect()
}

fn reports(errors: &[CodegenError]) -> String {
    errors.iter().map(|error| error.to_diagnostic().message + "\n").collect()
}

/// Compiles kernels that call all functions of a GPU to assembly.
fn check_gpu(kind: GpuKind, has_libdevice: bool, cases: &[Case]) {
    assert!(!cases.is_empty());
    let (target, cpu, features) = match kind {
        GpuKind::Nvptx => ("nvptx64-nvidia-cuda", "sm_70", "+ptx74"),
        GpuKind::Amdgpu => ("amdgcn-amd-amdhsa", "gfx900", ""),
    };
    let (world, names) = kernels(cases);
    let kernels = shapes(&names);
    let gpu = Some(Gpu { kind, kernels: &kernels, has_libdevice, is_fast: false });
    let module = llvm_asm::write(&world, &llvm_asm::Options { gpu, ..llvm_asm::Options::default() });
    let module = module.unwrap_or_else(|errors| panic!("{}", reports(&errors)));
    let is_complete = module.imports.iter().all(|import| import.name == "vprintf");
    assert!(has_libdevice || is_complete, "a library is missing: {:?}", module.imports);
    let options = llvm::Options {
        opt_level: 1,
        target: Some(target.into()),
        cpu: Some(cpu.into()),
        features: features.into(),
        ..llvm::Options::default()
    };
    let llvm = Llvm::get().expect("LLVM comes with the Rust toolchain");
    let assembly = llvm::compile(llvm, &module.text, &options, Output::Assembly, |_| {});
    let assembly = String::from_utf8(assembly.unwrap_or_else(|error| panic!("{error}"))).expect("text");
    for (name, case) in names.iter().zip(cases) {
        assert!(assembly.contains(name.as_str()), "no code for `{}`", case.name);
    }
}

#[test]
fn nvptx_implements_each_of_its_functions() {
    check_gpu(GpuKind::Nvptx, true, &cases(|targets| targets.ptx));
}

#[test]
fn nvptx_needs_libdevice_for_gamma_functions_only() {
    let mut cases = cases(|targets| targets.ptx);
    cases.retain(|case| {
        !matches!(case.external.function, Function::Number(NumberFn::Tgamma | NumberFn::Lgamma))
    });
    check_gpu(GpuKind::Nvptx, false, &cases);
}

#[test]
fn amdgpu_implements_each_of_its_functions() {
    check_gpu(GpuKind::Amdgpu, false, &cases(|targets| targets.amdgpu));
}

#[test]
fn opencl_implements_each_of_its_functions() {
    let cases = cases(|targets| targets.opencl);
    assert!(!cases.is_empty());
    let (world, names) = kernels(&cases);
    let code = opencl::write(&world, &shapes(&names)).unwrap_or_else(|errors| panic!("{}", reports(&errors)));
    for case in &cases {
        let name = match case.external.function {
            Function::Number(function) => function.info().opencl.expect("its targets say so"),
            _ => case.name,
        };
        assert!(code.contains(&format!("{name}(")), "`{name}` is not called");
    }
}

/// What a name says about its type must be what it is declared with.
#[test]
fn f32_function_rejects_f64_arguments() {
    let text = "device d(mem: mem, x: f64, ret: cn(mem, f64)) = \"__nv_sinf\"
export k(mem: mem, x: f64, out: &[1]f64, ret: cn(mem)):
    d(mem, k.x, n)
n(mem: mem, value: f64):
    k.ret(store(mem, k.out, value))";
    let world = nyala_ir::text::parse(text).expect("the program is well formed");
    let kernels = [KernelShape { name: "k", block: None, apart: &[] }];
    let gpu = Some(Gpu { kind: GpuKind::Nvptx, kernels: &kernels, has_libdevice: true, is_fast: false });
    let written = llvm_asm::write(&world, &llvm_asm::Options { gpu, ..llvm_asm::Options::default() });
    assert!(written.is_err());
}
