//! The interpreter has each function of `nyala_ir::functions` that has a signature.

use nyala_interp::{Io, Options};
use nyala_ir::functions::{DeviceFn, Domain, Shape};
use nyala_ir::{External, Function};

/// It ends the program.
const TRAP: Function = Function::Device(DeviceFn::Trap);

#[test]
fn every_function_with_a_signature_is_interpreted() {
    let mut names: Vec<(&str, External)> = External::all().collect();
    names.sort_by_key(|(name, _)| *name);
    for (name, external) in names {
        let Some(signature) = external.signature.filter(|_| external.function != TRAP) else { continue };
        let number = match external.function {
            Function::Number(function) if function.info().domain == Domain::Float => "f64",
            Function::Device(DeviceFn::Expect) => "bool",
            _ => "u32",
        };
        let type_of = |shape: Shape| match shape {
            Shape::Unit => unreachable!("only results are"),
            Shape::T => number.to_owned(),
            Shape::Ptr => format!("&{number}"),
            Shape::I32 => "i32".into(),
            Shape::Mask => "u32".into(),
            Shape::PtrI32 => "&i32".into(),
            Shape::Text => "&[u8]".into(),
            Shape::Constants => "&[4][u8]".into(),
        };
        let params = signature.params.iter().zip(0..);
        let params: String = params.map(|(&shape, at)| format!("a{at}: {}, ", type_of(shape))).collect();
        let one = if number == "bool" { "true" } else { "1" };
        let args = signature.params.iter().map(|&shape| match shape {
            Shape::Unit | Shape::Constants => unreachable!("only results are"),
            Shape::T => format!("{one}, "),
            Shape::I32 | Shape::Mask => "1, ".into(),
            Shape::Ptr => "number, ".into(),
            Shape::PtrI32 => "same, ".into(),
            Shape::Text => "bitcast[&[u8]](text), ".into(),
        });
        let args: String = args.collect();
        let result = match signature.result {
            Shape::Unit => String::new(),
            shape => format!(", {}", type_of(shape)),
        };
        let spelled = name.replace('*', "T");
        let text = format!(
            "const text: [u8 * 2] = \"x\\0\"
global number: {number} = {one}
global same: i32 = 0
device d(mem: mem, {params}ret: cn(mem{result})) = \"{spelled}\"
export f(mem: mem, ret: cn(mem{result})):
    d(mem, {args}f.ret)"
        );
        let world = nyala_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let entry = nyala_interp::exported(&world, "f").expect("it is exported");
        let io = Io { output: &mut std::io::sink(), input: &mut std::io::empty(), nanos: &mut || 0 };
        let run = nyala_interp::call(&world, entry, &[], &Options::default(), io);
        assert!(run.is_ok(), "`{spelled}`: {}", run.expect_err("just found"));
    }
}
