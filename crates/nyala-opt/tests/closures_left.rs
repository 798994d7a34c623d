//! The warnings about closures, each with the reason.

use nyala_ir::text::parse;
use nyala_opt::closures_left;
use nyala_opt::pipeline::control_flow_form;

/// The warnings about a program: messages and labels, in order.
fn warnings(program: &str) -> Vec<String> {
    let mut world = parse(program).expect("the program is well formed");
    control_flow_form(&mut world);
    let warnings = closures_left(&world).into_iter();
    warnings.map(|warning| format!("{}: {}", warning.message, warning.primary.message)).collect()
}

#[test]
fn each_closure_has_its_reason() {
    let reasons = warnings(
        "\
struct Pair { f: cn(mem, cn(mem)), n: i32 }
import keep(mem: mem, p: &Pair, ret: cn(mem)) = \"keep\"
export main(mem: mem, c: bool, at: &cn(mem, cn(mem)), p: &Pair, ret: cn(mem)):
    m = store(mem, at, one)
    n = store(m, p, Pair { two, 1 })
    call(n, select(c, three, one), four, ret)
call(mem: mem, f: cn(mem, cn(mem)), g: cn(mem, cn(mem)), ret: cn(mem)):
    f(mem, again)
again(mem: mem):
    call.g(mem, call.ret)
one(mem: mem, ret: cn(mem)):
    ret(mem)
two(mem: mem, ret: cn(mem)):
    ret(mem)
three(mem: mem, ret: cn(mem)):
    ret(mem)
four(mem: mem, ret: cn(mem)):
    ret(mem)
",
    );
    let expected = [
        "`four` is a closure at run time: it is an argument of `call`, which is not specialized on it",
        "`one` is a closure at run time: it is written to memory",
        "`two` is a closure at run time: it is part of an aggregate that is not split at compile time",
        "`three` is a closure at run time: the called function is chosen at run time",
        "`one` is a closure at run time: the called function is chosen at run time",
    ];
    assert_eq!(reasons, expected);
}
