//! The functions in an object file, with their sections and sizes.

use std::ffi::CStr;
use std::ptr::null_mut;

use super::api::Ref;
use super::{Llvm, LlvmError};

/// A function in an object file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionInObject {
    /// The symbol.
    pub name: String,
    /// The section that it is in; sections may be loaded far from each other.
    pub section: String,
    /// The offset in the section.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
}

/// The functions that an object file defines, local ones too.
pub fn functions(llvm: &Llvm, object: &[u8]) -> Result<Vec<FunctionInObject>, LlvmError> {
    let api = &llvm.api;
    let mut functions = vec![];
    // SAFETY: the buffer is a copy of the bytes and outlives the binary, which outlives the iterators; these are
    // asked only while they are not at the end. Names end with a zero and belong to the binary.
    unsafe {
        let (start, len) = (object.as_ptr().cast(), object.len());
        let buffer = (api.LLVMCreateMemoryBufferWithMemoryRangeCopy)(start, len, c"program".as_ptr());
        let mut message = null_mut();
        let binary = (api.LLVMCreateBinary)(buffer, null_mut(), &mut message);
        if binary.is_null() {
            (api.LLVMDisposeMemoryBuffer)(buffer);
            return Err(LlvmError::Link(llvm.take_message(message)));
        }
        let symbol = (api.LLVMObjectFileCopySymbolIterator)(binary);
        while (api.LLVMObjectFileIsSymbolIteratorAtEnd)(binary, symbol) == 0 {
            functions.extend(function(llvm, binary, symbol));
            (api.LLVMMoveToNextSymbol)(symbol);
        }
        (api.LLVMDisposeSymbolIterator)(symbol);
        (api.LLVMDisposeBinary)(binary);
        (api.LLVMDisposeMemoryBuffer)(buffer);
    }
    Ok(functions)
}

/// The function that a symbol stands for.
///
/// # Safety
/// The iterator is one of the binary's, and not at the end.
unsafe fn function(llvm: &Llvm, binary: Ref, symbol: Ref) -> Option<FunctionInObject> {
    let api = &llvm.api;
    // SAFETY: the caller's promise. Every symbol with a size is in a section.
    unsafe {
        let size = (api.LLVMGetSymbolSize)(symbol);
        if size == 0 {
            return None;
        }
        let section = (api.LLVMObjectFileCopySectionIterator)(binary);
        (api.LLVMMoveToContainingSection)(section, symbol);
        let text = |text| CStr::from_ptr(text).to_string_lossy().into_owned();
        let in_section = text((api.LLVMGetSectionName)(section));
        (api.LLVMDisposeSectionIterator)(section);
        let (name, offset) = (text((api.LLVMGetSymbolName)(symbol)), (api.LLVMGetSymbolAddress)(symbol));
        in_section.starts_with(".text").then_some(FunctionInObject {
            name,
            section: in_section,
            offset,
            size,
        })
    }
}
