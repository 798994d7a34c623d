//! Rust types of arguments and results of programs, and signatures of functions.
//!
//! A struct of a program is passed as a `#[repr(C)]` struct with the same fields:
//!
//! ```
//! use nyala_driver::embed::{Compiler, signature::CType};
//! use nyala_driver::interface::Type;
//!
//! #[repr(C)]
//! struct Vec2 { x: f32, y: f32 }
//!
//! // SAFETY: the fields are those of the program's `Vec2`.
//! unsafe impl CType for Vec2 {
//!     fn describe() -> Type { Type::Named("Vec2".into()) }
//! }
//!
//! let program = "struct Vec2 { x: f32, y: f32 }
//!                extern fn turn(v: Vec2) -> Vec2 { Vec2 { x: -v.y, y: v.x } }";
//! let module = Compiler::new().text("turn.impala", program).compile()?;
//! // SAFETY: the program uses no memory but its own.
//! let turn = unsafe { module.function::<extern "C" fn(Vec2) -> Vec2>("turn") }?;
//! assert_eq!(turn(Vec2 { x: 1.0, y: 2.0 }).x, -2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ffi::c_void;

use nyala_interface::{Signature, Type};

/// A Rust type with a counterpart in programs.
///
/// # Safety
/// Values of the type have the layout of the described type, and the C calling convention for it.
pub unsafe trait CType {
    /// The counterpart of the type.
    fn describe() -> Type;
}

/// The type of a function with the C calling convention.
///
/// # Safety
/// The type is that of a function pointer with this signature.
pub unsafe trait CFunction: Copy {
    /// Its parameters and result.
    fn signature() -> Signature;

    /// The address of the function.
    fn address(self) -> *const c_void;

    /// The function at an address.
    ///
    /// # Safety
    /// The address is that of a function of this type.
    unsafe fn from_address(address: *const c_void) -> Self;
}

/// Whether a function of the type `offered` may be called as one of the type `wanted`.
/// A pointer to `c_void` is any pointer that may be written to as much.
pub(super) fn fits(offered: &Signature, wanted: &Signature) -> bool {
    // Contravariant in the parameters, covariant in the result.
    let same_params = offered.params.len() == wanted.params.len()
        && offered.params.iter().zip(&wanted.params).all(|(taken, given)| value_fits(given, taken));
    // A function that never returns has any result type; a function that returns must not be used as one that never
    // does.
    let result_fits = offered.result == Type::Never || value_fits(&offered.result, &wanted.result);
    same_params && result_fits
}

/// Whether a value of the type `given` may be used as one of the type `taken`.
fn value_fits(given: &Type, taken: &Type) -> bool {
    match (given, taken) {
        (Type::Ptr { is_mut, to }, Type::Ptr { is_mut: taken_is_mut, to: taken_to }) => {
            let is_any = **to == Type::Void || **taken_to == Type::Void;
            // Memory that both sides may read and write must have the same type.
            is_mut == taken_is_mut && (is_any || value_fits(to, taken_to) && value_fits(taken_to, to))
        }
        (Type::Function(given), Type::Function(taken)) => fits(given, taken),
        _ => given == taken,
    }
}

macro_rules! c_types {
    ($($ty:ty => $description:expr,)*) => {
        $(
            // SAFETY: both languages have this type.
            unsafe impl CType for $ty {
                fn describe() -> Type {
                    $description
                }
            }
        )*
    };
}

c_types! {
    () => Type::Void,
    c_void => Type::Void,
    bool => Type::Bool,
    i8 => Type::int(8, true),
    i16 => Type::int(16, true),
    i32 => Type::int(32, true),
    i64 => Type::int(64, true),
    u8 => Type::int(8, false),
    u16 => Type::int(16, false),
    u32 => Type::int(32, false),
    u64 => Type::int(64, false),
    f32 => Type::Float { bits: 32 },
    f64 => Type::Float { bits: 64 },
}

// SAFETY: pointers are addresses in both languages.
unsafe impl<T: CType> CType for *const T {
    fn describe() -> Type {
        Type::ptr(false, T::describe())
    }
}

// SAFETY: pointers are addresses in both languages.
unsafe impl<T: CType> CType for *mut T {
    fn describe() -> Type {
        Type::ptr(true, T::describe())
    }
}

macro_rules! c_functions {
    ($($params:ident)*) => {
        c_functions!(@function extern "C" fn, $($params)*);
        c_functions!(@function unsafe extern "C" fn, $($params)*);
    };
    (@function $($kind:tt)*) => { c_functions!(@impl [] $($kind)*); };
    (@impl [$($kind:tt)*] , $($params:ident)*) => {
        // SAFETY: all types are in common, and the calling convention is that of C.
        unsafe impl<Ret: CType, $($params: CType),*> CFunction for $($kind)* ($($params),*) -> Ret {
            fn signature() -> Signature {
                Signature { params: vec![$($params::describe()),*], result: Ret::describe() }
            }

            fn address(self) -> *const c_void {
                self as *const c_void
            }

            unsafe fn from_address(address: *const c_void) -> Self {
                // SAFETY: the caller's promise; a function pointer is an address.
                unsafe { std::mem::transmute::<*const c_void, Self>(address) }
            }
        }

        // SAFETY: a pointer to a function is its address in both languages.
        unsafe impl<Ret: CType, $($params: CType),*> CType for $($kind)* ($($params),*) -> Ret {
            fn describe() -> Type {
                Type::Function(Box::new(<Self as CFunction>::signature()))
            }
        }
    };
    (@impl [$($kind:tt)*] $next:tt $($rest:tt)*) => { c_functions!(@impl [$($kind)* $next] $($rest)*); };
}

macro_rules! endless_c_functions {
    ($($params:ident)*) => {
        endless_c_functions!(@function [extern "C"] $($params)*);
        endless_c_functions!(@function [unsafe extern "C"] $($params)*);
    };
    (@function $kind:tt $($params:ident)*) => {
        endless_c_functions!(@impl $kind [$($params)*]);
    };
    (@impl [$($kind:tt)*] [$($params:ident)*]) => {
        // SAFETY: all types are in common, and the calling convention is that of C.
        unsafe impl<$($params: CType),*> CFunction for $($kind)* fn($($params),*) -> ! {
            fn signature() -> Signature {
                Signature { params: vec![$($params::describe()),*], result: Type::Never }
            }

            fn address(self) -> *const c_void {
                self as *const c_void
            }

            unsafe fn from_address(address: *const c_void) -> Self {
                // SAFETY: the caller's promise; a function pointer is an address.
                unsafe { std::mem::transmute::<*const c_void, Self>(address) }
            }
        }
    };
}

c_functions!();
c_functions!(A);
c_functions!(A B);
c_functions!(A B C);
c_functions!(A B C D);
c_functions!(A B C D E);
c_functions!(A B C D E F);
c_functions!(A B C D E F G);
c_functions!(A B C D E F G H);
c_functions!(A B C D E F G H I);
c_functions!(A B C D E F G H I J);
c_functions!(A B C D E F G H I J K);
c_functions!(A B C D E F G H I J K L);

endless_c_functions!();
endless_c_functions!(A);
endless_c_functions!(A B);
endless_c_functions!(A B C);
endless_c_functions!(A B C D);
endless_c_functions!(A B C D E);
endless_c_functions!(A B C D E F);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn void_pointers_match_all_pointers() {
        type Asked = extern "C" fn(*const c_void, *mut f32) -> i32;
        let actual = |to| Signature {
            params: vec![Type::ptr(false, to), Type::ptr(true, Type::Float { bits: 32 })],
            result: Type::int(32, true),
        };
        assert!(fits(&actual(Type::Named("S".into())), &Asked::signature()));
        type Other = extern "C" fn(*mut c_void, *mut f32) -> i32;
        assert!(!fits(&actual(Type::Bool), &Other::signature()));
        assert_eq!(Asked::signature().to_string(), "extern \"C\" fn(*const c_void, *mut f32) -> i32");
    }
}
