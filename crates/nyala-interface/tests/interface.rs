//! Interfaces of small programs, as C and as Rust.

use expect_test::{Expect, expect};
use nyala_interface::{Interface, c, collect, rust};
use nyala_sema::package::Package;
use nyala_span::SourceMap;

fn interface(text: &str) -> Interface {
    let mut sources = SourceMap::default();
    let id = sources.add("shapes.impala", text).expect("it is small");
    let parsed = nyala_syntax::parse(sources.file(id));
    let checked = nyala_sema::check(&[Package::program([&parsed.file])]);
    let messages: Vec<_> =
        parsed.errors.iter().chain(&checked.diagnostics).filter(|found| found.is_error()).collect();
    assert!(messages.is_empty(), "{:?}", messages[0]);
    collect(&checked.program, |_| true)
}

/// Checks a header without the lines that all headers have.
fn check_header(text: &str, expected: Expect) {
    let header = c::header(&interface(text), "shapes");
    let (_, body) = header.split_once("extern \"C\" {\n#endif\n\n").expect("every header has this");
    let (body, _) = body.split_once("\n\n#ifdef __cplusplus\n}").expect("every header has this");
    expected.assert_eq(body);
}

fn check_bindings(text: &str, expected: Expect) {
    let bindings = rust::bindings(&interface(text));
    let without_lints = bindings.lines().filter(|line| !line.starts_with("#[allow"));
    expected.assert_eq(&without_lints.skip(2).collect::<Vec<_>>().join("\n"));
}

#[test]
fn scalars_and_pointers() {
    check_header(
        "extern fn f(a: i8, b: u16, c: f32, d: f64, e: bool) -> u64 { 0u64 }
         extern fn g(a: &[f32], b: &mut [i32], c: &&mut i8, d: ~i64, e: &[[f32 * 2] * 3]) -> () {}
         extern fn h() -> &i32 { bitcast_null() }
         fn bitcast_null() -> &i32 { 0u64 as &i32 }",
        expect![[r#"
            typedef struct array_f32_2 array_f32_2;

            struct array_f32_2 {
                float e[2];
            };

            uint64_t f(int8_t a, uint16_t b, float c, double d, bool e);
            void g(float const* a, int32_t* b, int8_t* const* c, int64_t* d, array_f32_2 const* e);
            int32_t const* h(void);"#]],
    );
}

#[test]
fn types_come_after_the_types_they_contain() {
    check_header(
        "struct Outer { inner: Inner, list: &Node, names: [u8 * 4] }
         struct Inner { at: (f32, f32), unit: () }
         struct Node { value: i32, next: &Node, owner: &Outer }
         extern fn f(outer: Outer) -> (i32, bool) { (0, true) }",
        expect![[r#"
            typedef struct tuple_f32_f32 tuple_f32_f32;
            typedef struct Inner Inner;
            typedef struct Outer Outer;
            typedef struct tuple_i32_bool tuple_i32_bool;
            typedef struct Node Node;

            struct tuple_f32_f32 {
                float e0;
                float e1;
            };

            struct Inner {
                tuple_f32_f32 at;
            };

            struct Outer {
                Inner inner;
                Node const* list;
                uint8_t names[4];
            };

            struct tuple_i32_bool {
                int32_t e0;
                bool e1;
            };

            struct Node {
                int32_t value;
                Node const* next;
                Outer const* owner;
            };

            tuple_i32_bool f(Outer outer);"#]],
    );
}

#[test]
fn tag_of_an_enum_comes_after_the_payload() {
    check_header(
        "enum Shape { Point, Circle(f32), Box(f32, f32) }
         enum Color { Red, Green }
         extern fn area(shape: Shape, color: Color) -> f32 { 0f }",
        expect![[r#"
            typedef struct Shape_Box_payload Shape_Box_payload;
            typedef struct Shape Shape;
            typedef struct Color Color;

            struct Shape_Box_payload {
                float e0;
                float e1;
            };

            struct Shape {
                union {
                    float Circle;
                    Shape_Box_payload Box;
                } data;
                uint8_t tag;
            };
            enum { Shape_Point = 0, Shape_Circle = 1, Shape_Box = 2 };

            struct Color {
                uint8_t tag;
            };
            enum { Color_Red = 0, Color_Green = 1 };

            float area(Shape shape, Color color);"#]],
    );
}

#[test]
fn arrays_by_value_are_structs_and_simd_values_are_vectors() {
    check_header(
        "extern fn f(a: [i32 * 3], v: simd[f32 * 4]) -> [i32 * 3] { a }",
        expect![[r#"
        typedef struct array_i32_3 array_i32_3;
        typedef float simd_f32_4 __attribute__((vector_size(16)));

        struct array_i32_3 {
            int32_t e[3];
        };

        array_i32_3 f(array_i32_3 a, simd_f32_4 v);"#]],
    );
}

#[test]
fn instances_of_generic_lengths_have_names_of_their_own() {
    check_header(
        "struct Matrix[T, r: i32, c: i32] { data: [[T * c] * (r + 1)] }
         extern fn f(m: Matrix[f32, 2, 3]) -> f32 { m.data(0)(0) }",
        expect![[r#"
            typedef struct Matrix_f32_2_3 Matrix_f32_2_3;

            struct Matrix_f32_2_3 {
                float data[3][3];
            };

            float f(Matrix_f32_2_3 m);"#]],
    );
}

#[test]
fn keywords_of_c_are_renamed() {
    check_header(
        "struct double { int: i32 }
         extern fn \"my.symbol\" f(class: double) -> i32 { class.int }
         extern fn register(x: i32) -> i32 { x }",
        expect![[r#"
            typedef struct double_ double_;

            struct double_ {
                int32_t int_;
            };

            int32_t my_symbol(double_ class_) __asm__("my.symbol");
            int32_t register_(int32_t x) __asm__("register");"#]],
    );
}

#[test]
fn imports_are_listed_and_their_types_declared() {
    check_header(
        "struct Event { time: i64 }
         extern \"C\" { fn handle(&Event, i32) -> (); }
         extern fn fire() -> () { handle(&Event { time: 1i64 }, 2) }",
        expect![[r#"
            typedef struct Event Event;

            struct Event {
                int64_t time;
            };

            void fire(void);

            /* The program calls these functions, which the linking program defines:
             *
             *     void handle(Event const*, int32_t);
             */"#]],
    );
}

#[test]
fn types_with_functions_are_opaque() {
    check_header(
        "struct Accessor { get: fn(i32) -> f32 }
         struct Pair { first: Accessor, second: i32 }
         extern fn f(a: &Accessor, b: &Pair) -> () {}",
        expect![[r#"
            typedef struct Accessor Accessor;
            typedef struct Pair Pair;

            void f(Accessor const* a, Pair const* b);"#]],
    );
}

#[test]
fn long_chain_of_pointers_is_truncated() {
    let n = 20_000;
    let mut text = "struct S0 { x: i32 }\n".to_owned();
    for index in 1..n {
        text += &format!("struct S{index} {{ inner: &S{} }}\n", index - 1);
    }
    text += &format!("extern fn f(s: &S{}) -> () {{}}\n", n - 1);
    let interface = interface(&text);
    assert_eq!((interface.types.len(), interface.opaque.len()), (10_000, 1));
}

#[test]
fn rust_declarations_match_the_header() {
    check_bindings(
        "struct Vec2 { x: f32, dyn: f32 }
         enum Shape { Point, Circle(f32), Box(f32, f32) }
         struct Accessor { get: fn(i32) -> f32 }
         extern fn area(shape: Shape, at: Vec2) -> f32 { 0f }
         extern fn sum(n: i32, data: &[f32], of: &Accessor) -> (f32, i32) { (0f, 0) }
         extern fn lanes(v: simd[f32 * 4]) -> () {}
         extern fn store(v: &mut simd[f32 * 4]) -> () {}
         extern fn \"a.b\" f(i32) -> () {}",
        expect![[r##"
            #[derive(Clone, Copy)]
            #[repr(C)]
            pub struct Shape_Box_payload {
                pub e0: f32,
                pub e1: f32,
            }

            #[derive(Clone, Copy)]
            #[repr(C)]
            pub union Shape_data {
                pub Circle: f32,
                pub Box: Shape_Box_payload,
            }

            #[derive(Clone, Copy)]
            #[repr(C)]
            pub struct Shape {
                pub data: Shape_data,
                pub tag: u8,
            }

            impl Shape {
                pub const Point: u8 = 0;
                pub const Circle: u8 = 1;
                pub const Box: u8 = 2;
            }

            #[derive(Clone, Copy)]
            #[repr(C)]
            pub struct Vec2 {
                pub x: f32,
                pub dyn_: f32,
            }

            #[derive(Clone, Copy)]
            #[repr(C)]
            pub struct tuple_f32_i32 {
                pub e0: f32,
                pub e1: i32,
            }

            #[derive(Clone, Copy)]
            #[repr(C, align(16))]
            pub struct simd_f32_4(pub [f32; 4]);

            #[repr(C)]
            pub struct Accessor { _private: [u8; 0] }

            unsafe extern "C" {
                pub fn area(shape: Shape, at: Vec2) -> f32;
                pub fn sum(n: i32, data: *const f32, of: *const Accessor) -> tuple_f32_i32;
                // `lanes` passes values that Rust has no types for.
                pub fn store(v: *mut simd_f32_4);
                #[link_name = "a.b"]
                pub fn a_b(arg0: i32);
            }"##]],
    );
}

#[test]
fn imported_functions_have_function_pointers() {
    let text = "struct S { x: f32 }
                extern \"C\" {
                    fn sort(&mut [S], u64, compare: fn(&S, &S) -> i32) -> ();
                    fn handler(i32) -> fn() -> ();
                }";
    check_header(
        text,
        expect![[r#"
        typedef struct S S;

        struct S {
            float x;
        };

        /* The program calls these functions, which the linking program defines:
         *
         *     void sort(S*, uint64_t, int32_t (*compare)(S const*, S const*));
         *     void (*handler(int32_t))(void);
         */"#]],
    );
    check_bindings(
        text,
        expect![[r##"
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct S {
            pub x: f32,
        }

        // The program calls these functions, which the linking program defines:
        //
        //     pub extern "C" fn sort(arg0: *mut S, arg1: u64, compare: extern "C" fn(*const S, *const S) -> i32)
        //     pub extern "C" fn handler(arg0: i32) -> extern "C" fn()"##]],
    );
}
