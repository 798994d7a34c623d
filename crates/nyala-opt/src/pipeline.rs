//! The passes, one after the other.
//!
//! Passes do not verify their result; this does, in debug builds.

use nyala_ir::World;
use nyala_span::{Diagnostic, SourceMap, Span};

use crate::merge_blocks::Merge;
use crate::outline::{Outlined, outline_kernels};
use crate::partial_eval::{Evaluated, Evaluation, Options, remove_annotations};
use crate::vectorize::{Options as VectorizeOptions, SiteFacts};
use crate::{
    convert_closures, eliminate_params, lower_to_cff, merge_blocks, merge_returns, promote_slots, remedy,
};

/// The most repetitions of the last clean-up. If the limit is reached, some redundant parameters and variables are
/// left.
const MAX_CLEAN_UPS: usize = 100;

/// Evaluates `world`, with a clean-up after each round: values of promoted variables are known to the next
/// round.
///
/// Before: any verified world. After: as after
/// [`partial_eval`](crate::partial_eval::partial_eval); all variables that can be values are promoted.
pub fn evaluate(world: &World, options: Options) -> Evaluated {
    let mut evaluated = resume(world, Options { explain: false, ..options });
    remedy::try_remedies(world, &mut evaluated);
    if !options.explain {
        return evaluated;
    }
    // Recording changes the order of passes, so the residual program may differ in the order of some operands. To
    // rule out any difference, the residual program comes from an evaluation without it.
    let explanation = resume(world, options).explanation;
    Evaluated { explanation, ..evaluated }
}

/// Evaluates `world`, and resumes evaluation after each clean-up until there is no change.
pub(crate) fn resume(world: &World, options: Options) -> Evaluated {
    let mut evaluation = Evaluation::new(world, options);
    // With `explain`, only the evaluator inlines functions, so that it can record it.
    let what = if options.explain { Merge::Blocks } else { Merge::Inlinable };
    let (mut current, mut is_changed) = evaluation.round(world);
    loop {
        let cleaned = clean_up(&mut current, what);
        is_changed |= cleaned.is_any();
        // Another round can record the source of a promoted variable, and may remove the reason of a pending report.
        let needs_round =
            options.explain && cleaned.slots || evaluation.has_pending_reports() && cleaned.is_any();
        if !is_changed || !needs_round && evaluation.is_fixed_point(&current) || !evaluation.allows_round() {
            break;
        }
        // A round takes time proportional to the program with its dead part.
        current.compact();
        (current, is_changed) = evaluation.round(&current);
    }
    remove_annotations(&mut current);
    check(&current, "remove_annotations");
    current.compact();
    // Without annotations, more nodes may be equal.
    for _ in 0..MAX_CLEAN_UPS {
        if !clean_up(&mut current, Merge::All).is_any() {
            break;
        }
        current.compact();
    }
    check(&current, "compact");
    evaluation.finish(current)
}

/// The result of a clean-up.
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

/// Removes redundant parameters, promotes slots, and merges blocks.
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
/// After: there is no obstacle to control-flow form, in the styles of
/// [`Functions::styled`](nyala_ir::analysis::Functions::styled).
pub fn control_flow_form(world: &mut World) {
    merge_returns(world);
    check(world, "merge_returns");
    lower_to_cff(world);
    check(world, "lower_to_cff");
    // Lambda lifting gives a function that returns from an enclosing one a second return continuation.
    merge_returns(world);
    check(world, "merge_returns");
    convert_closures(world);
    check(world, "convert_closures");
}

/// SIMD code for `vectorize`, where that is possible; warnings where it is not, or is expected to be slower than a
/// loop on this machine.
pub fn vectorize(world: &mut World, options: &VectorizeOptions) -> Vec<Diagnostic> {
    let warnings = crate::vectorize::vectorize(world, options);
    check(world, "vectorize");
    warnings
}

/// As [`vectorize`], with a record of each call.
pub fn explain_vectorize(world: &mut World, options: &VectorizeOptions) -> (Vec<Diagnostic>, Vec<SiteFacts>) {
    let result = crate::vectorize::explained(world, options);
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

/// In debug builds, the program that a pass has built must be well-formed.
fn check(world: &World, pass: &str) {
    if cfg!(debug_assertions)
        && let Err(errors) = nyala_ir::verify::verify(world)
    {
        panic!("{pass} built a malformed program: {errors}\n{}", nyala_ir::text::print(world));
    }
}
