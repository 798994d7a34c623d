//! Programs inside of this Rust program: compiled, called, and calling back.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use nyala_driver::embed::signature::CFunction;
use nyala_driver::embed::specialize::{Known, Specializer};
use nyala_driver::embed::{Compiler, Function, LookupError, Module};

fn compile(text: &str) -> Module {
    Compiler::new().text("test.impala", text).compile().unwrap_or_else(|error| panic!("{error}"))
}

/// A function of a program of these tests.
fn function<F: CFunction>(module: &Module, name: &str) -> Result<Function<F>, LookupError> {
    // SAFETY: the programs of these tests access memory as they may.
    unsafe { module.function(name) }
}

#[test]
fn functions_are_called_with_memory_of_the_host() {
    let module = compile(
        "extern fn scale(n: i32, factor: f32, data: &mut [f32]) -> () {
             for i in range(0, n) { data(i) = data(i) * factor }
         }
         extern fn sum(n: i64, data: &[u8]) -> u64 {
             let mut sum = 0u64;
             for i in range(0, n as i32) { sum += data(i) as u64 }
             sum
         }",
    );
    let scale = function::<extern "C" fn(i32, f32, *mut f32)>(&module, "scale").expect("it is exported");
    let mut data = [1.0, 2.0, 3.0];
    scale(3, 2.0, data.as_mut_ptr());
    assert_eq!(data, [2.0, 4.0, 6.0]);
    let sum = function::<extern "C" fn(i64, *const c_void) -> u64>(&module, "sum").expect("it is exported");
    assert_eq!(sum(4, [250u8, 1, 2, 3].as_ptr().cast()), 256);
}

#[test]
fn a_wrong_type_is_an_error_with_both_types() {
    let module = compile("extern fn twice(x: i32) -> i32 { x + x }");
    let error =
        function::<extern "C" fn(f32) -> i32>(&module, "twice").map(|_| ()).expect_err("it takes an i32");
    assert_eq!(
        error.to_string(),
        "the function `twice` is `extern \"C\" fn(i32) -> i32`, and not `extern \"C\" fn(f32) -> i32`"
    );
    let error = function::<extern "C" fn()>(&module, "thrice").map(|_| ()).expect_err("it is not there");
    assert_eq!(error.to_string(), "the program exports no function `thrice`; it exports twice");
}

#[test]
fn function_pointers_are_passed_both_ways() {
    extern "C" fn apply(f: extern "C" fn(i32, f64) -> f64, n: i32) -> f64 {
        (0..n).map(|i| f(i, 0.5)).sum()
    }
    extern "C" fn square(x: f64) -> f64 {
        x * x
    }
    extern "C" fn chosen(_: i32) -> extern "C" fn(f64) -> f64 {
        square
    }
    let text = "extern \"C\" {
                    fn apply(fn(i32, f64) -> f64, i32) -> f64;
                    fn chosen(i32) -> fn(f64) -> f64;
                }
                extern fn run(n: i32) -> f64 { chosen(n)(apply(|i, x| i as f64 + x, n)) }";
    let compiler = Compiler::new().text("test.impala", text);
    let module = compiler
        .clone()
        .define("apply", apply as extern "C" fn(extern "C" fn(i32, f64) -> f64, i32) -> f64)
        .define("chosen", chosen as extern "C" fn(i32) -> extern "C" fn(f64) -> f64)
        .compile()
        .unwrap_or_else(|error| panic!("{error}"));
    let run = function::<extern "C" fn(i32) -> f64>(&module, "run").expect("it is exported");
    assert_eq!(run(4), 64.0);

    extern "C" fn other(_: extern "C" fn(i64, f64) -> f64, _: i32) -> f64 {
        0.0
    }
    let error = compiler
        .define("apply", other as extern "C" fn(extern "C" fn(i64, f64) -> f64, i32) -> f64)
        .compile()
        .expect_err("the function that is taken has another type");
    assert!(
        error.to_string().contains("extern \"C\" fn(extern \"C\" fn(i64, f64) -> f64, i32) -> f64"),
        "{error}"
    );
}

#[test]
fn functions_are_specialized_to_arguments_known_at_run_time() {
    let text = "fn @(?n) go(x: f64, n: i32) -> f64 { if n == 0 { 1.0 } else { x * go(x, n - 1) } }
                extern fn power(x: f64, n: i32, negate: bool) -> f64 { if negate { -go(x, n) } else { go(x, n) } }
                extern fn other() -> () {}";
    let specializer = Compiler::new().text("power.impala", text).specializer().expect("it has no errors");
    type Power = extern "C" fn(f64) -> f64;
    let power = |n: i32| {
        // SAFETY: the program does nothing but arithmetic.
        unsafe { specializer.function::<Power>("power", &[None, Some(n.into()), Some(false.into())]) }
            .unwrap_or_else(|error| panic!("{error}"))
    };
    thread::scope(|scope| {
        for round in 0..4 {
            let power = &power;
            scope.spawn(move || assert_eq!(power(round % 2 + 2)(3.0), [9.0, 27.0][round as usize % 2]));
        }
    });
    assert_eq!(power(2).address(), power(2).address(), "it is made once");
    assert_ne!(power(2).address(), power(3).address());
    // SAFETY: as above.
    let all = unsafe { specializer.function::<extern "C" fn(f64, i32, bool) -> f64>("power", &[]) };
    assert_eq!(all.expect("nothing needs to be known")(2.0, 3, true), -8.0);
}

#[test]
fn structs_arrays_and_data_can_be_known() {
    let text = "struct Axis { scale: f64, offset: f64 }
                struct Plan { axes: [Axis * 2], swap: bool }
                extern fn place(plan: Plan, x: f64, y: f64) -> f64 {
                    let [a, b] = plan.axes;
                    if plan.swap { (y * a.scale + a.offset) - (x * b.scale + b.offset) }
                    else { (x * a.scale + a.offset) - (y * b.scale + b.offset) }
                }
                extern fn pair(p: (i32, f64), w: [i32 * 3], i: i32) -> f64 { (p(0) + w(i)) as f64 * p(1) }
                fn @(?at) next(script: &[u8], at: i32, acc: i64) -> i64 {
                    match script(at) {
                        0u8 => acc,
                        '+' => next(script, at + 1, acc + 1i64),
                        '*' => next(script, at + 1, acc * 10i64),
                        _ => next(script, at + 1, acc)
                    }
                }
                extern fn run(script: &[u8], start: i64) -> i64 { next(script, 0, start) }
                extern fn at(table: &[i32 * 4], one: &i32, i: i32) -> i32 { table(i) + *one }
                extern fn fill(out: &mut [i32], n: i32) -> () { out(0) = n }";
    let specializer = Compiler::new().text("known.impala", text).specializer().expect("it has no errors");
    fn made<F: CFunction>(specializer: &Specializer, name: &str, known: &[Option<Known>]) -> Function<F> {
        // SAFETY: the programs read only known data.
        unsafe { specializer.function(name, known) }.unwrap_or_else(|error| panic!("{error}"))
    }
    let axis = |scale: f64, offset: f64| Known::from([scale, offset]);
    let plan = Known::parts([Known::parts([axis(2.0, 1.0), axis(3.0, 0.5)]), true.into()]);
    let place = made::<extern "C" fn(f64, f64) -> f64>(&specializer, "place", &[Some(plan)]);
    assert_eq!(place(1.0, 10.0), 17.5);
    let known = [Some(Known::parts([7.into(), 0.5.into()])), Some([1, 2, 3].into())];
    let pair = made::<extern "C" fn(i32) -> f64>(&specializer, "pair", &known);
    assert_eq!(pair(2), 5.0);
    let run = made::<extern "C" fn(i64) -> i64>(&specializer, "run", &[Some(Known::text("+ * +"))]);
    assert_eq!(run(4), 51);
    let known = [Some(Known::slice(&[10, 20, 30, 40])), Some(Known::slice(&[5]))];
    let at = made::<extern "C" fn(i32) -> i32>(&specializer, "at", &known);
    assert_eq!((at(0), at(3)), (15, 45));

    let error = |name: &str, known: Known| {
        // SAFETY: nothing is made.
        let made = unsafe { specializer.function::<extern "C" fn()>(name, &[Some(known)]) };
        made.map(|_| ()).expect_err("it does not fit").to_string()
    };
    assert_eq!(
        error("place", Known::parts([true.into()])),
        "argument 1 of `place` is `(bool)`, and the parameter is `Plan`"
    );
    assert!(error("at", Known::slice(&[1, 2, 3])).contains("a pointer to 3 of `i32`"));
    assert!(error("fill", Known::slice(&[1])).contains("and the parameter is `*mut i32`"));
    assert!(error("run", 3.into()).contains("is `i32`, and the parameter is `*const u8`"));
}

#[test]
fn arguments_of_wrong_type_are_reported() {
    let text = "extern fn scale(x: f32, n: i32) -> f32 { x * n as f32 }";
    let specializer = Compiler::new().text("scale.impala", text).specializer().expect("it has no errors");
    let error = |name: &str, known: &[Option<Known>]| {
        // SAFETY: the program does nothing but arithmetic.
        let made = unsafe { specializer.function::<extern "C" fn(f32) -> f32>(name, known) };
        made.map(|_| ()).expect_err("something does not fit").to_string()
    };
    assert_eq!(
        error("scale", &[None, Some(3u64.into())]),
        "argument 2 of `scale` is `u64`, and the parameter is `i32`"
    );
    assert_eq!(
        error("scale", &[None, None, None]),
        "the function `scale` has 2 parameters, and more arguments are given"
    );
    assert_eq!(
        error("scale", &[Some(1f32.into())]),
        "the function `scale` is `extern \"C\" fn(i32) -> f32`, and not `extern \"C\" fn(f32) -> f32`"
    );
    assert_eq!(error("grow", &[]), "the program exports no function `grow`; it exports scale");
}

#[test]
fn programs_call_host_functions() {
    static SEEN: AtomicI32 = AtomicI32::new(0);
    extern "C" fn visit(value: i32) -> bool {
        SEEN.fetch_add(value, Ordering::Relaxed);
        value < 3
    }
    let text = "extern \"C\" { fn visit(i32) -> bool; }
                extern fn count() -> i32 { let mut i = 0; while visit(i) { i++; } i }";
    let compiler = Compiler::new().text("test.impala", text);
    let module = compiler
        .clone()
        .define("visit", visit as extern "C" fn(i32) -> bool)
        .compile()
        .expect("it has no errors");
    let count = function::<extern "C" fn() -> i32>(&module, "count").expect("it is exported");
    assert_eq!((count(), SEEN.load(Ordering::Relaxed)), (3, 6));

    extern "C" fn other(_: f64) {}
    let error =
        compiler.define("visit", other as extern "C" fn(f64)).compile().expect_err("the types differ");
    assert_eq!(error.diagnostics[0].code.0, "E0934");
    let text = error.to_string();
    assert!(text.contains("fn(f64)`") && text.contains("fn(i32) -> bool`"), "{text}");
}

/// The codes and messages for a program and its host functions.
fn refused(compiler: &Compiler) -> (Vec<&'static str>, String) {
    let error = compiler.compile().map(|_| ()).expect_err("it must be refused");
    let specialized = compiler.specializer().map(|_| ()).expect_err("it must be refused too");
    let codes = |diagnostics: &[nyala_span::Diagnostic]| -> Vec<&'static str> {
        diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.is_error())
            .map(|diagnostic| diagnostic.code.0)
            .collect()
    };
    assert_eq!(codes(&error.diagnostics), codes(&specialized.diagnostics));
    (codes(&error.diagnostics), error.to_string())
}

#[test]
fn a_returning_host_function_is_rejected_for_a_never_result() {
    extern "C" fn returns(_: i32) {}
    extern "C" fn returns_a_number(_: i32) -> i32 {
        0
    }
    extern "C" fn ends(_: i32) -> ! {
        std::process::abort()
    }
    let text = "extern \"C\" { fn die(i32) -> !; }
                extern fn go(x: i32) -> i32 { if x > 3 { die(x) } x + 1 }";
    let compiler = Compiler::new().text("a.impala", text);
    let (codes, text) = refused(&compiler.clone().define("die", returns as extern "C" fn(i32)));
    assert_eq!(codes, ["E0934"]);
    assert!(text.contains("a.impala:1:17"), "{text}");
    let (codes, _) = refused(&compiler.clone().define("die", returns_a_number as extern "C" fn(i32) -> i32));
    assert_eq!(codes, ["E0934"]);
    let module = compiler.define("die", ends as extern "C" fn(i32) -> !).compile().expect("it never returns");
    let go = function::<extern "C" fn(i32) -> i32>(&module, "go").expect("it is exported");
    assert_eq!(go(3), 4);
    // A function of the program that returns is not called as if it never did.
    assert!(function::<extern "C" fn(i32) -> !>(&module, "go").is_err());
}

#[test]
fn function_types_are_contravariant_in_parameters() {
    extern "C" fn calls_back(_: extern "C" fn(i32)) {}
    let text = |result: &str| {
        format!(
            "extern \"C\" {{ fn on_end(fn(i32) -> {result}) -> (); }}
                 fn quit(x: i32) -> {result} {{ {} }}
                 extern fn go() -> () {{ on_end(quit) }}",
            if result == "!" { "quit(x)" } else { "" }
        )
    };
    let compiler = |result| {
        Compiler::new()
            .text("a.impala", text(result))
            .define("on_end", calls_back as extern "C" fn(extern "C" fn(i32)))
    };
    compiler("()").compile().expect("the types are the same");
    // The host gets a function that never returns, and may call it as one that does.
    compiler("!").compile().expect("that it never returns is no harm");
}

#[test]
fn all_declarations_of_a_symbol_are_compared() {
    extern "C" fn f32_id(x: f32) -> f32 {
        x
    }
    let text = "extern \"C\" { fn \"h\" h1(f32) -> f32; fn \"h\" h2(i64, i64) -> i64; }
                extern fn go(x: i64) -> i64 { h2(x, x) + h1(1f) as i64 }";
    let host = f32_id as extern "C" fn(f32) -> f32;
    let (codes, text) = refused(&Compiler::new().text("a.impala", text).define("h", host));
    assert_eq!(codes, ["E0934"]);
    assert!(text.contains("fn(i64, i64) -> i64"), "{text}");

    // The prelude's declarations count.
    let text = "extern fn go(x: i32) -> () { print_i32(x) }";
    let print = Compiler::new().text("a.impala", text).define("anydsl_print_i32", host);
    assert_eq!(refused(&print).0, ["E0934"]);
}

#[test]
fn a_host_function_is_defined_once() {
    extern "C" fn one(x: i32) -> i32 {
        x
    }
    extern "C" fn other(x: f64) -> f64 {
        x
    }
    let (one, other) = (one as extern "C" fn(i32) -> i32, other as extern "C" fn(f64) -> f64);
    let text = "extern \"C\" { fn h(i32) -> i32; } extern fn go(x: i32) -> i32 { h(x) }";
    let compiler = Compiler::new().text("a.impala", text);
    let (codes, text) = refused(&compiler.clone().define("h", one).define("h", one));
    assert_eq!(codes, ["E0937"]);
    assert!(text.contains("twice"), "{text}");
    let (codes, _) = refused(&compiler.clone().define("h", one).define("h", other));
    assert_eq!(codes, ["E0937", "E0934"]);
    let (codes, _) = refused(&compiler.define("h", one).define("go", one));
    assert_eq!(codes, ["E0937"]);
}

#[test]
fn reserved_symbols_cannot_be_defined() {
    extern "C" fn wrong(_: f64) -> f64 {
        std::process::abort()
    }
    let wrong = wrong as extern "C" fn(f64) -> f64;
    let text = "extern \"C\" { fn anydsl_parallel_for(f64) -> f64; }
                extern fn go(out: &mut [i32]) -> () { for i in parallel(2, 0, 8) { out(i) = i } }";
    let compiler = Compiler::new().text("a.impala", text);
    for name in ["anydsl_parallel_for", "nyala_environment", "memcpy"] {
        assert_eq!(refused(&compiler.clone().define(name, wrong)).0, ["E0937"], "{name}");
    }
    // LLVM computes `llvm.exp2.f64` with C's `exp2`, whatever the host calls so.
    let text = "extern \"C\" { fn \"llvm.exp2.f64\" power(f64) -> f64; }
                extern fn two(x: f64) -> f64 { power(x) }";
    let module = Compiler::new().text("a.impala", text).define("exp2", wrong).compile();
    let module = module.unwrap_or_else(|error| panic!("{error}"));
    let two = function::<extern "C" fn(f64) -> f64>(&module, "two").expect("it is exported");
    assert_eq!(two(3.0), 8.0);
}

#[test]
fn errors_have_source_excerpts() {
    let error =
        Compiler::new().text("bad.impala", "extern fn f() -> i32 { 1.5 }").compile().expect_err("1.5");
    assert!(error.to_string().contains("--> bad.impala:1:24"), "{error}");
    let error = Compiler::new().file("/no/such/file.impala").compile().expect_err("file not found");
    assert!(error.to_string().contains("E0020"), "{error}");
}

#[test]
fn a_function_keeps_its_code_alive() {
    let seven = {
        let module = compile("extern fn seven() -> i32 { 7 }");
        function::<extern "C" fn() -> i32>(&module, "seven").expect("it is exported")
    };
    assert_eq!(seven(), 7);
}

#[test]
fn several_threads_compile_and_call_at_once() {
    let shared = compile("extern fn square(x: i32) -> i32 { x * x }");
    thread::scope(|scope| {
        for number in 0..8 {
            let shared = &shared;
            scope.spawn(move || {
                let own = compile(&format!("extern fn add(x: i32) -> i32 {{ x + {number} }}"));
                let add = function::<extern "C" fn(i32) -> i32>(&own, "add").expect("it is exported");
                let square = function::<extern "C" fn(i32) -> i32>(shared, "square").expect("it is exported");
                for x in 0..1000 {
                    assert_eq!(add(square(x)), x * x + number);
                }
            });
        }
    });
}

/// Runs itself, with less address space than the stack of the compiler takes.
#[cfg(target_os = "linux")]
#[test]
fn too_little_memory_is_an_error() {
    const LIMITED: &str = "NYALA_TEST_LIMITED";
    if std::env::var_os(LIMITED).is_some() {
        let result = Compiler::new().text("test.impala", "extern fn seven() -> i32 { 7 }").compile();
        let error = result.map(|_| ()).expect_err("there is too little memory");
        assert!(error.to_string().contains("out of memory"), "{error}");
        return;
    }
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -v 65536 && exec \"$0\" --exact too_little_memory_is_an_error"]);
    let tests = std::env::current_exe().expect("a test has a file");
    let result = shell.arg(tests).env(LIMITED, "1").output().expect("there is a shell");
    assert!(result.status.success(), "{result:?}");
}
