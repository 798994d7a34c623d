//! The list of a program's functions that the runtime reads when it reports a call chain.

use nyala_ir::Cont;

use super::ModuleWriter;
use super::symbols::escaped;

/// A constructor that registers the list of functions with the runtime. It runs before `main`, whose frame may be
/// too large for the stack.
pub(super) fn start(list: &[u8]) -> String {
    let (len, text) = (list.len(), escaped(list));
    format!(
        "@nyala.functions = private unnamed_addr constant [{len} x i8] c\"{text}\", align 1\n\
         @llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] \
         [{{ i32, ptr, ptr }} {{ i32 65535, ptr @nyala.start, ptr null }}]\n\n\
         declare void @nyala_start_program(ptr)\n\n\
         define internal void @nyala.start() #0 {{\n  \
         call void @nyala_start_program(ptr @nyala.functions)\n  ret void\n}}\n"
    )
}

impl ModuleWriter<'_> {
    /// For each function its symbol, its name, and its file and line. See [`Module`](super::Module).
    pub(super) fn function_list(&self) -> Vec<u8> {
        let mut list = vec![];
        let functions = self.program.functions.all().iter().map(|function| function.entry);
        let functions = functions.filter_map(|cont| Some((self.function_symbols.get(cont)?, cont)));
        let wrappers = self.wrappers.iter().map(|(symbol, cont)| (symbol.as_str(), *cont));
        for (symbol, cont) in functions.chain(wrappers) {
            let data = self.world.cont(cont);
            for text in [symbol, data.name.as_str(), &self.file_and_line(cont)] {
                list.extend(text.bytes().filter(|&byte| byte != 0));
                list.push(0);
            }
        }
        list.push(0);
        list
    }

    fn file_and_line(&self, cont: Cont) -> String {
        let span = self.world.cont(cont).span;
        let file = self.options.sources.and_then(|sources| Some(sources.file(sources.file_of(span)?)));
        file.map_or(String::new(), |file| format!("{}:{}", file.shown_name(), file.line_col(span.lo).line))
    }
}
