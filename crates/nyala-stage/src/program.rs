//! A program of either language, from its file to its result.

use nyala_span::{FileId, Name, SourceFile, SourceMap};

use crate::code::Code;
use crate::errors::Error;
use crate::machine::{Limits, Machine, Memory};
use crate::{deep, staged_c};

/// The two languages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// DeepCPS, in files `.deep`.
    Deep,
    /// Staged-C, in files `.sc`.
    StagedC,
}

impl Language {
    /// The language of a file with this name.
    pub fn of_file(name: &str) -> Option<Language> {
        match name.rsplit_once('.')?.1 {
            "deep" => Some(Language::Deep),
            "sc" => Some(Language::StagedC),
            _ => None,
        }
    }
}

/// A program before it is evaluated.
pub struct Program {
    /// The program as DeepCPS.
    pub block: deep::Block,
    /// The program as calculus.
    pub code: Code,
    /// Its constant arrays.
    pub memory: Memory,
    /// The functions that a library exports; a program that runs has none.
    pub exports: Vec<Name>,
}

impl Program {
    /// Reads a program.
    pub fn read(language: Language, file: &SourceFile) -> Result<Program, Vec<Error>> {
        let mut exports = vec![];
        let block = match language {
            Language::Deep => {
                let parsed = deep::parse(file);
                if !parsed.errors.is_empty() {
                    return Err(parsed.errors);
                }
                parsed.block
            }
            Language::StagedC => {
                let parsed = staged_c::parse(file);
                if !parsed.errors.is_empty() {
                    return Err(parsed.errors);
                }
                exports = staged_c::exports(&parsed.items);
                staged_c::translate(&parsed.items)?
            }
        };
        let mut memory = Memory::default();
        let code = deep::translate(&block, &mut memory)?;
        Ok(Program { block, code, memory, exports })
    }

    /// A machine with the program.
    pub fn machine(&self, limits: Limits) -> Machine {
        Machine::new(&self.code, self.memory.clone(), limits)
    }
}

/// A text as the only file of a map, for tests and tools.
pub fn source(name: &str, text: &str) -> Option<(SourceMap, FileId)> {
    let mut sources = SourceMap::default();
    let file = sources.add(name, text).ok()?;
    Some((sources, file))
}
