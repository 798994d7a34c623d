//! The state of one lowering, and its main loop.

use std::rc::Rc;

use nyala_ir::{Def, Ty, World};
use nyala_sema::tree::{Linkage, Program};
use nyala_sema::types as sema;
use nyala_span::{Diagnostic, Name, SourceMap, Span};
use rustc_hash::FxHashMap;

use crate::LowerOptions;
use crate::Lowered;
use crate::computed::Statics;
use crate::entries::{Entry, Interface};
use crate::errors::LowerError;
use crate::facts::Facts;
use crate::frame::Frame;
use crate::instance::{InstanceId, Instances, Subst};
use crate::statics::{Expansion, StaticStates};
use crate::types::TypeTable;

/// One lowering.
pub(crate) struct Lowerer<'p> {
    pub(crate) program: &'p Program,
    /// The source, for messages of the program.
    pub(crate) sources: &'p SourceMap,
    pub(crate) options: LowerOptions,
    /// The program's types, and those that instantiation makes.
    pub(crate) types: sema::Types,
    pub(crate) facts: Rc<Facts>,
    /// The statics that were computed by execution.
    pub(crate) computed: &'p Statics<'p>,
    pub(crate) world: World,
    pub(crate) errors: Vec<LowerError>,
    pub(crate) lowered_types: TypeTable,
    /// The variables with debug information, by name and type.
    pub(crate) for_debuggers: FxHashMap<(Name, Ty), Def>,
    pub(crate) instances: Instances,
    pub(crate) statics: StaticStates,
    pub(crate) expansion: Expansion,
    pub(crate) helpers: Helpers,
    /// The function that is being lowered.
    pub(crate) frame: Frame,
}

/// Functions that lowering adds to the program, each once.
#[derive(Default)]
pub(crate) struct Helpers {
    /// Constructors as functions, by type and option.
    pub(crate) constructors: FxHashMap<Ty, FxHashMap<u32, Def>>,
    /// Comparisons of the targets of two pointers, by type.
    pub(crate) comparers: FxHashMap<Ty, Def>,
    /// Functions of the runtime that no program declares.
    pub(crate) runtime: FxHashMap<&'static str, Def>,
}

impl<'p> Lowerer<'p> {
    pub(crate) fn new(
        program: &'p Program,
        sources: &'p SourceMap,
        options: LowerOptions,
        computed: &'p Statics<'p>,
    ) -> Lowerer<'p> {
        Lowerer::with_facts(program, sources, options, computed, Rc::new(Facts::of(program)))
    }

    /// A lowering of the same program into a separate graph, which is executed at compile time.
    pub(crate) fn within(outer: &Lowerer<'p>) -> Lowerer<'p> {
        let options = LowerOptions { tell_debuggers: false, ..outer.options };
        Lowerer::with_facts(outer.program, outer.sources, options, outer.computed, Rc::clone(&outer.facts))
    }

    fn with_facts(
        program: &'p Program,
        sources: &'p SourceMap,
        options: LowerOptions,
        computed: &'p Statics<'p>,
        facts: Rc<Facts>,
    ) -> Lowerer<'p> {
        let mut world = World::new();
        let frame = Frame::idle(&mut world, InstanceId::NOWHERE);
        Lowerer {
            program,
            sources,
            options,
            types: program.types.clone(),
            facts,
            computed,
            world,
            errors: vec![],
            lowered_types: TypeTable::default(),
            for_debuggers: FxHashMap::default(),
            instances: Instances::new(),
            statics: StaticStates::default(),
            expansion: Expansion::default(),
            helpers: Helpers::default(),
            frame,
        }
    }

    /// Lowers the roots and everything they reach.
    pub(crate) fn run(mut self) -> Result<Lowered, Vec<Diagnostic>> {
        for (id, function) in &self.program.fns {
            let is_root = matches!(function.linkage, Linkage::Export(_)) || self.program.main == Some(id);
            if is_root && function.tparams.is_empty() {
                self.fn_value(id, &[], function.span);
            }
        }
        for (id, item) in &self.program.statics {
            if matches!(item.linkage, Linkage::Export(_)) {
                self.static_address(id);
            }
        }
        self.finish(vec![])
    }

    /// Lowers the entries and everything they reach.
    pub(crate) fn run_entries(mut self, entries: &[Entry]) -> Result<Lowered, Vec<Diagnostic>> {
        let entries = entries.iter().map(|entry| self.entry(entry)).collect();
        self.finish(entries)
    }

    fn finish(mut self, entries: Vec<Interface>) -> Result<Lowered, Vec<Diagnostic>> {
        self.lower_pending();
        let reports: Vec<Diagnostic> = self.errors.into_iter().map(LowerError::diagnostic).collect();
        if reports.iter().any(Diagnostic::is_error) {
            return Err(reports);
        }
        debug_assert_eq!(nyala_ir::verify::verify(&self.world).map_err(|errors| errors.to_string()), Ok(()));
        self.world.span = Span::NONE;
        Ok(Lowered { world: self.world, warnings: reports, entries })
    }

    /// Lowers the pending instances, and those they use.
    pub(crate) fn lower_pending(&mut self) {
        while let Some(instance) = self.instances.next_pending() {
            self.instance_body(instance);
            if self.errors.len() >= MAX_ERRORS {
                break;
            }
        }
    }

    /// Sets the span of the next nodes.
    pub(crate) fn at(&mut self, span: Span) {
        self.world.span = span;
    }

    /// Whether the initializer of a static is being lowered.
    pub(crate) fn is_in_static(&self) -> bool {
        self.frame.instance == InstanceId::NOWHERE
    }

    /// The type arguments of the current instance.
    pub(crate) fn subst(&self) -> Rc<Subst> {
        Rc::clone(&self.instances[self.frame.instance].subst)
    }
}

/// The maximum number of errors.
const MAX_ERRORS: usize = 50;
