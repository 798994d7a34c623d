//! The functions of LLVM's C interface that are used, as the headers declare them.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::iter;
use std::path::Path;

use libloading::Library;

use super::faults::{SUPPORTED, Version};
use super::processors::Processors;

/// A pointer to an object of LLVM, or null.
pub(super) type Ref = *mut c_void;

/// The members of one of LLVM's lists.
pub(super) fn list(first: Ref, next: impl Fn(Ref) -> Ref) -> Vec<Ref> {
    let some = |member: Ref| (!member.is_null()).then_some(member);
    iter::successors(some(first), |&member| some(next(member))).collect()
}

/// A name to look up, and whether it must exist (0).
#[repr(C)]
pub(super) struct Lookup {
    pub(super) name: Ref,
    pub(super) flags: c_int,
}

/// A library to search, and whether only its exported symbols match (0).
#[repr(C)]
pub(super) struct SearchIn {
    pub(super) library: Ref,
    pub(super) flags: c_int,
}

/// Owns the error, if there is one; LLVM owns the symbols.
pub(super) type OnFound = unsafe extern "C" fn(Ref, *const SymbolAddress, usize, *mut c_void);

/// A symbol that is defined at an address.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SymbolAddress {
    pub(super) name: Ref,
    pub(super) address: u64,
    pub(super) generic_flags: u8,
    pub(super) target_flags: u8,
}

macro_rules! api {
    ($($name:ident: fn($($param:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions, by their names in LLVM.
        #[allow(non_snake_case)]
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($param),*) $(-> $result)?,)*
        }

        impl Api {
            /// Loads the library and finds all functions, or says which one is missing.
            pub(super) fn load(path: &Path) -> Result<(Api, Processors, Version), LoadError> {
                // SAFETY: LLVM's initializers only set up its own tables. It is never
                // unloaded, so the functions stay where they are.
                let library: &'static Library = Box::leak(Box::new(unsafe { Library::new(path) }?));
                // Other versions may lack functions, or declare them differently.
                let Some(version) = version(library).filter(|version| SUPPORTED.contains(&version.major)) else {
                    return Err(LoadError::Version(version(library)));
                };
                // SAFETY: the types are those of the C headers.
                let api = Api { $($name: *unsafe { library.get(stringify!($name)) }?,)* };
                initialize_targets(library);
                Ok((api, Processors::of(library), version))
            }
        }
    };
}

/// Why a library is not used.
#[derive(Debug)]
pub(super) enum LoadError {
    /// It cannot be loaded, or lacks a function.
    Library(libloading::Error),
    /// Its version is not supported; libraries before LLVM 16 cannot be asked for theirs.
    Version(Option<Version>),
}

impl From<libloading::Error> for LoadError {
    fn from(error: libloading::Error) -> LoadError {
        LoadError::Library(error)
    }
}

/// The version that a library says it has.
fn version(library: &Library) -> Option<Version> {
    let mut version = Version { major: 0, minor: 0, patch: 0 };
    // SAFETY: the type is that of the C header; the function writes three numbers.
    unsafe {
        type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);
        let get = library.get::<GetVersion>("LLVMGetVersion").ok()?;
        get(&mut version.major, &mut version.minor, &mut version.patch);
    }
    Some(version)
}

/// Initializes all targets of the library.
fn initialize_targets(library: &Library) {
    const TARGETS: [&str; 8] =
        ["X86", "AArch64", "RISCV", "PowerPC", "LoongArch", "WebAssembly", "NVPTX", "AMDGPU"];
    const PARTS: [&str; 5] = ["TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"];
    for target in TARGETS {
        for part in PARTS {
            let name = format!("LLVMInitialize{target}{part}");
            // SAFETY: all of these take and return nothing.
            if let Ok(initialize) = unsafe { library.get::<unsafe extern "C" fn()>(name.as_str()) } {
                // SAFETY: they may be called in any order.
                unsafe { initialize() };
            }
        }
    }
}

api! {
    LLVMDisposeMessage: fn(*mut c_char);
    LLVMInstallFatalErrorHandler: fn(extern "C" fn(*const c_char));
    LLVMParseCommandLineOptions: fn(c_int, *const *const c_char, *const c_char);
    LLVMContextCreate: fn() -> Ref;
    LLVMContextDispose: fn(Ref);
    LLVMContextSetDiagnosticHandler: fn(Ref, unsafe extern "C" fn(Ref, *mut c_void), *mut c_void);
    LLVMGetDiagInfoDescription: fn(Ref) -> *mut c_char;
    LLVMGetDiagInfoSeverity: fn(Ref) -> c_int;
    LLVMCreateMemoryBufferWithMemoryRangeCopy: fn(*const c_char, usize, *const c_char) -> Ref;
    LLVMDisposeMemoryBuffer: fn(Ref);
    LLVMGetBufferStart: fn(Ref) -> *const c_char;
    LLVMGetBufferSize: fn(Ref) -> usize;
    LLVMParseIRInContext: fn(Ref, Ref, *mut Ref, *mut *mut c_char) -> c_int;
    LLVMDisposeModule: fn(Ref);
    LLVMLinkModules2: fn(Ref, Ref) -> c_int;
    LLVMGetFirstFunction: fn(Ref) -> Ref;
    LLVMGetNextFunction: fn(Ref) -> Ref;
    LLVMIsDeclaration: fn(Ref) -> c_int;
    LLVMGetFirstBasicBlock: fn(Ref) -> Ref;
    LLVMGetNextBasicBlock: fn(Ref) -> Ref;
    LLVMBasicBlockAsValue: fn(Ref) -> Ref;
    LLVMGetFirstInstruction: fn(Ref) -> Ref;
    LLVMGetNextInstruction: fn(Ref) -> Ref;
    LLVMIsAInstruction: fn(Ref) -> Ref;
    LLVMGetInstructionOpcode: fn(Ref) -> c_int;
    LLVMGetFCmpPredicate: fn(Ref) -> c_int;
    LLVMGetNumOperands: fn(Ref) -> c_int;
    LLVMGetTypeKind: fn(Ref) -> c_int;
    LLVMGetIntTypeWidth: fn(Ref) -> c_uint;
    LLVMGetElementType: fn(Ref) -> Ref;
    LLVMGetReturnType: fn(Ref) -> Ref;
    LLVMGetFirstParam: fn(Ref) -> Ref;
    LLVMGetNextParam: fn(Ref) -> Ref;
    LLVMGetEnumAttributeKindForName: fn(*const c_char, usize) -> c_uint;
    LLVMCreateEnumAttribute: fn(Ref, c_uint, u64) -> Ref;
    LLVMCreateStringAttribute: fn(Ref, *const c_char, c_uint, *const c_char, c_uint) -> Ref;
    LLVMGetFirstGlobal: fn(Ref) -> Ref;
    LLVMGetNextGlobal: fn(Ref) -> Ref;
    LLVMIsGlobalConstant: fn(Ref) -> c_int;
    LLVMSetInitializer: fn(Ref, Ref);
    LLVMDeleteGlobal: fn(Ref);
    LLVMSetValueName2: fn(Ref, *const c_char, usize);
    LLVMAddAttributeAtIndex: fn(Ref, c_uint, Ref);
    LLVMRemoveEnumAttributeAtIndex: fn(Ref, c_uint, c_uint);
    LLVMGetLinkage: fn(Ref) -> c_int;
    LLVMSetLinkage: fn(Ref, c_int);
    LLVMVerifyModule: fn(Ref, c_int, *mut *mut c_char) -> c_int;
    LLVMPrintModuleToString: fn(Ref) -> *mut c_char;
    LLVMSetTarget: fn(Ref, *const c_char);
    LLVMSetModuleDataLayout: fn(Ref, Ref);
    LLVMLookupIntrinsicID: fn(*const c_char, usize) -> c_uint;

    LLVMGetMDKindIDInContext: fn(Ref, *const c_char, c_uint) -> c_uint;
    LLVMGetMetadata: fn(Ref, c_uint) -> Ref;
    LLVMGetGEPSourceElementType: fn(Ref) -> Ref;
    LLVMGetVolatile: fn(Ref) -> c_int;
    LLVMGetAlignment: fn(Ref) -> c_uint;
    LLVMConstIntGetSExtValue: fn(Ref) -> i64;
    LLVMGetValueName2: fn(Ref, *mut usize) -> *const c_char;
    LLVMGetFirstUse: fn(Ref) -> Ref;
    LLVMGetNextUse: fn(Ref) -> Ref;
    LLVMGetUser: fn(Ref) -> Ref;
    LLVMGetOperand: fn(Ref, c_uint) -> Ref;
    LLVMGetNumArgOperands: fn(Ref) -> c_uint;
    LLVMTypeOf: fn(Ref) -> Ref;
    LLVMGetVectorSize: fn(Ref) -> c_uint;
    LLVMInt64TypeInContext: fn(Ref) -> Ref;
    LLVMConstInt: fn(Ref, u64, c_int) -> Ref;
    LLVMIsConstant: fn(Ref) -> c_int;
    LLVMIsUndef: fn(Ref) -> c_int;
    LLVMIsAConstantInt: fn(Ref) -> Ref;
    LLVMConstIntGetZExtValue: fn(Ref) -> u64;
    LLVMGetAggregateElement: fn(Ref, c_uint) -> Ref;
    LLVMSetOperand: fn(Ref, c_uint, Ref);
    LLVMReplaceAllUsesWith: fn(Ref, Ref);
    LLVMGetInstructionParent: fn(Ref) -> Ref;
    LLVMGetBasicBlockTerminator: fn(Ref) -> Ref;
    LLVMGetNumSuccessors: fn(Ref) -> c_uint;
    LLVMGetSuccessor: fn(Ref, c_uint) -> Ref;
    LLVMGetCalledValue: fn(Ref) -> Ref;
    LLVMGetFastMathFlags: fn(Ref) -> c_uint;
    LLVMSetFastMathFlags: fn(Ref, c_uint);
    LLVMGetNumMaskElements: fn(Ref) -> c_uint;
    LLVMGetMaskValue: fn(Ref, c_uint) -> c_int;
    LLVMCountIncoming: fn(Ref) -> c_uint;
    LLVMGetIncomingValue: fn(Ref, c_uint) -> Ref;
    LLVMGetIncomingBlock: fn(Ref, c_uint) -> Ref;
    LLVMAddIncoming: fn(Ref, *mut Ref, *mut Ref, c_uint);
    LLVMInt32TypeInContext: fn(Ref) -> Ref;
    LLVMConstNull: fn(Ref) -> Ref;
    LLVMIsNull: fn(Ref) -> c_int;
    LLVMIntTypeInContext: fn(Ref, c_uint) -> Ref;
    LLVMVectorType: fn(Ref, c_uint) -> Ref;
    LLVMConstVector: fn(*mut Ref, c_uint) -> Ref;
    LLVMGetPoison: fn(Ref) -> Ref;
    LLVMGetIntrinsicDeclaration: fn(Ref, c_uint, *mut Ref, usize) -> Ref;
    LLVMGlobalGetValueType: fn(Ref) -> Ref;
    LLVMCreateBuilderInContext: fn(Ref) -> Ref;
    LLVMDisposeBuilder: fn(Ref);
    LLVMPositionBuilderBefore: fn(Ref, Ref);
    LLVMBuildExtractElement: fn(Ref, Ref, Ref, *const c_char) -> Ref;
    LLVMBuildSExt: fn(Ref, Ref, Ref, *const c_char) -> Ref;
    LLVMBuildICmp: fn(Ref, c_int, Ref, Ref, *const c_char) -> Ref;
    LLVMBuildFreeze: fn(Ref, Ref, *const c_char) -> Ref;
    LLVMBuildSelect: fn(Ref, Ref, Ref, Ref, *const c_char) -> Ref;
    LLVMBuildPhi: fn(Ref, Ref, *const c_char) -> Ref;
    LLVMBuildBinOp: fn(Ref, c_int, Ref, Ref, *const c_char) -> Ref;
    LLVMBuildCall2: fn(Ref, Ref, Ref, *mut Ref, c_uint, *const c_char) -> Ref;
    LLVMBuildInsertElement: fn(Ref, Ref, Ref, Ref, *const c_char) -> Ref;
    LLVMBuildShuffleVector: fn(Ref, Ref, Ref, Ref, *const c_char) -> Ref;
    LLVMBuildGEP2: fn(Ref, Ref, Ref, *mut Ref, c_uint, *const c_char) -> Ref;
    LLVMBuildLoad2: fn(Ref, Ref, Ref, *const c_char) -> Ref;
    LLVMBuildStore: fn(Ref, Ref, Ref) -> Ref;
    LLVMSetAlignment: fn(Ref, c_uint);
    LLVMInstructionEraseFromParent: fn(Ref);

    LLVMGetDefaultTargetTriple: fn() -> *mut c_char;
    LLVMGetHostCPUName: fn() -> *mut c_char;
    LLVMGetHostCPUFeatures: fn() -> *mut c_char;
    LLVMGetTargetFromTriple: fn(*const c_char, *mut Ref, *mut *mut c_char) -> c_int;
    LLVMCreateTargetMachine: fn(Ref, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Ref;
    LLVMDisposeTargetMachine: fn(Ref);
    LLVMCreateTargetDataLayout: fn(Ref) -> Ref;
    LLVMDisposeTargetData: fn(Ref);
    LLVMTargetMachineEmitToMemoryBuffer: fn(Ref, Ref, c_int, *mut *mut c_char, *mut Ref) -> c_int;

    LLVMCreatePassBuilderOptions: fn() -> Ref;
    LLVMDisposePassBuilderOptions: fn(Ref);
    LLVMRunPasses: fn(Ref, *const c_char, Ref, Ref) -> Ref;
    LLVMGetErrorMessage: fn(Ref) -> *mut c_char;
    LLVMConsumeError: fn(Ref);
    LLVMDisposeErrorMessage: fn(*mut c_char);

    LLVMCreateBinary: fn(Ref, Ref, *mut *mut c_char) -> Ref;
    LLVMDisposeBinary: fn(Ref);
    LLVMObjectFileCopySymbolIterator: fn(Ref) -> Ref;
    LLVMObjectFileIsSymbolIteratorAtEnd: fn(Ref, Ref) -> c_int;
    LLVMDisposeSymbolIterator: fn(Ref);
    LLVMMoveToNextSymbol: fn(Ref);
    LLVMGetSymbolName: fn(Ref) -> *const c_char;
    LLVMGetSymbolAddress: fn(Ref) -> u64;
    LLVMGetSymbolSize: fn(Ref) -> u64;
    LLVMObjectFileCopySectionIterator: fn(Ref) -> Ref;
    LLVMDisposeSectionIterator: fn(Ref);
    LLVMMoveToContainingSection: fn(Ref, Ref);
    LLVMGetSectionName: fn(Ref) -> *const c_char;

    LLVMOrcCreateLLJIT: fn(*mut Ref, Ref) -> Ref;
    LLVMOrcDisposeLLJIT: fn(Ref) -> Ref;
    LLVMOrcLLJITGetExecutionSession: fn(Ref) -> Ref;
    LLVMOrcExecutionSessionSetErrorReporter: fn(Ref, unsafe extern "C" fn(*mut c_void, Ref), *mut c_void);
    LLVMOrcLLJITGetGlobalPrefix: fn(Ref) -> c_char;
    LLVMOrcLLJITMangleAndIntern: fn(Ref, *const c_char) -> Ref;
    LLVMOrcLLJITAddObjectFile: fn(Ref, Ref, Ref) -> Ref;
    LLVMOrcLLJITEnableDebugSupport: fn(Ref) -> Ref;
    LLVMOrcExecutionSessionCreateBareJITDylib: fn(Ref, *const c_char) -> Ref;
    LLVMOrcExecutionSessionLookup: fn(Ref, c_int, *const SearchIn, usize, *const Lookup, usize, OnFound, *mut c_void);
    LLVMOrcAbsoluteSymbols: fn(*mut SymbolAddress, usize) -> Ref;
    LLVMOrcJITDylibDefine: fn(Ref, Ref) -> Ref;
    LLVMOrcJITDylibAddGenerator: fn(Ref, Ref);
    LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess: fn(*mut Ref, c_char, *const c_void, *const c_void) -> Ref;
    LLVMOrcCreateDynamicLibrarySearchGeneratorForPath: fn(*mut Ref, *const c_char, c_char, *const c_void, *const c_void) -> Ref;
}
