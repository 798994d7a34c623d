//! The passes, one after the other.
//!
//! Passes do not verify what they build; this does, in debug builds.

use nyala_ir::World;
use nyala_span::{Diagnostic, SourceMap, Span};

use crate::merge_blocks::Merge;
use crate::outline::{Outlined, outline_kernels};
use crate::partial_eval::{Evaluated, Evaluation, Options, remove_questions};
use crate::vectorize::SiteFacts;
use crate::{convert_closures, eliminate_params, lower_to_cff, merge_blocks, merge_returns, promote_slots};

/// How often evaluation is resumed after a clean-up at most, and how often that is repeated at the
/// end. What needs more stays as it is.
const MAX_RESUMPTIONS: usize = 32;

/// Evaluates `world`; what is found out about local variables on the way
/// steers evaluation too.
///
/// Before: any verified world. After: as after
/// [`partial_eval`](crate::partial_eval::partial_eval); no variable is in memory that could be a value.
pub fn evaluate(world: &World, options: Options) -> Evaluated {
    let evaluated = resume(world, Options { explain: false, ..options });
    if !options.explain {
        return evaluated;
    }
    // To tell more, evaluation takes a longer way. What is left is the same, but for the order of some operands; so that
    // nobody can see a difference, it is taken from here.
    let explanation = resume(world, options).explanation;
    Evaluated { explanation, ..evaluated }
}

/// Evaluates `world`, and resumes that after each clean-up for as long as it does anything.
fn resume(world: &World, options: Options) -> Evaluated {
    let mut evaluation = Evaluation::new(world, options);
    // A function that has come to have one use is left to the evaluator only if that is to tell what became of it.
    let what = if options.explain { Merge::Blocks } else { Merge::Unasked };
    let (mut current, mut is_changed) = evaluation.round(world);
    for _ in 0..MAX_RESUMPTIONS {
        let cleaned = clean_up(&mut current, what);
        is_changed |= cleaned.is_any();
        // Where there was a variable there is a value now: one more round can say where that comes from. And
        // it may have another answer to what the program asks.
        let says_more = options.explain && cleaned.slots || evaluation.is_asked() && cleaned.is_any();
        if !is_changed || !says_more && evaluation.is_settled(&current) {
            break;
        }
        // What follows takes as long as the program is large, the dead part included.
        current.compact();
        (current, is_changed) = evaluation.round(&current);
    }
    remove_questions(&mut current);
    check(&current, "remove_questions");
    current.compact();
    // Without what speaks to the evaluator, more may be the same.
    for _ in 0..MAX_RESUMPTIONS {
        if !clean_up(&mut current, Merge::All).is_any() {
            break;
        }
        current.compact();
    }
    check(&current, "compact");
    evaluation.done(current)
}

/// What a clean-up has made fewer.
struct Cleaned {
    params: bool,
    slots: bool,
    blocks: bool,
}

impl Cleaned {
    fn is_any(&self) -> bool {
        self.params || self.slots || self.blocks
    }
}

/// Removes parameters and slots that are not needed, and joins blocks.
fn clean_up(world: &mut World, what: Merge) -> Cleaned {
    let params = eliminate_params(world);
    check(world, "eliminate_params");
    let slots = promote_slots(world);
    check(world, "promote_slots");
    let blocks = merge_blocks(world, what);
    check(world, "merge_blocks");
    Cleaned { params, slots, blocks }
}

/// From an evaluated program to functions and basic blocks.
///
/// After: nothing stands against control-flow form, in the styles of
/// [`Functions::styled`](nyala_ir::analysis::Functions::styled).
pub fn control_flow_form(world: &mut World) {
    merge_returns(world);
    check(world, "merge_returns");
    lower_to_cff(world);
    check(world, "lower_to_cff");
    // A function that makes the one around it return has got that place as a parameter.
    merge_returns(world);
    check(world, "merge_returns");
    convert_closures(world);
    check(world, "convert_closures");
}

/// SIMD code for `vectorize`, where that is possible; warnings where it is not.
pub fn vectorize(world: &mut World) -> Vec<Diagnostic> {
    let warnings = crate::vectorize::vectorize(world);
    check(world, "vectorize");
    warnings
}

/// As [`vectorize`], and says what became of each call.
pub fn explain_vectorize(world: &mut World) -> (Vec<Diagnostic>, Vec<SiteFacts>) {
    let result = crate::vectorize::explained(world);
    check(world, "vectorize");
    result
}

/// Kernels as programs of their own, one program for each platform; errors where a device cannot run them.
pub fn outline(
    world: World,
    sources: Option<&SourceMap>,
    is_own: impl Fn(Span) -> bool,
) -> Result<Outlined, Vec<Diagnostic>> {
    let outlined = outline_kernels(world, sources, is_own)?;
    check(&outlined.host, "outline");
    for device in &outlined.devices {
        check(&device.world, "outline");
    }
    Ok(outlined)
}

/// In debug builds, what a pass has built must be well-formed.
fn check(world: &World, pass: &str) {
    if cfg!(debug_assertions)
        && let Err(errors) = nyala_ir::verify::verify(world)
    {
        panic!("{pass} built a malformed program: {errors}\n{}", nyala_ir::text::print(world));
    }
}
