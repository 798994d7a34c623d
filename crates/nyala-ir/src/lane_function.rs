//! The functions by which the lanes of SIMD code meet, as programs declare them: `rv_any`,
//! for example. Everyone who has to know them knows them from here.

use crate::reduction::Reduction;

/// A function by which lanes meet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaneFunction {
    /// Whether this lane is there; it is, or else it could not ask.
    Mask,
    /// The number of this lane.
    LaneId,
    /// How many lanes there are.
    NumLanes,
    /// Whether a condition holds in a lane that is there.
    Any,
    /// Whether a condition holds in all lanes that are there.
    All,
    /// The lanes that are there and for which a condition holds, as bits.
    Ballot,
    /// The value of a lane.
    Extract,
    /// A value, and another one in the lane of a number.
    Insert,
    /// The value of the lane that is so many further.
    Shuffle,
    /// Values for which a condition holds, moved to the first lanes that are there.
    Compact,
    /// The values of the first lanes that are there, moved to those for which a condition
    /// holds.
    Expand,
    /// Whether this lane has the same value as the lane of a number.
    Match,
    /// Reads through the pointer of a lane.
    Load,
    /// Writes through the pointer of a lane.
    Store,
    /// A pointer, which is aligned.
    Align,
    /// One value from those of all lanes that are there.
    Reduce(Reduction),
}

impl LaneFunction {
    /// The one with this name in object files.
    pub fn from_name(name: &str) -> Option<LaneFunction> {
        Some(match name.strip_prefix("rv_")? {
            "mask" => LaneFunction::Mask,
            "lane_id" => LaneFunction::LaneId,
            "num_lanes" => LaneFunction::NumLanes,
            "any" => LaneFunction::Any,
            "all" => LaneFunction::All,
            "ballot" => LaneFunction::Ballot,
            "extract" => LaneFunction::Extract,
            "insert" => LaneFunction::Insert,
            "shuffle" => LaneFunction::Shuffle,
            "compact" => LaneFunction::Compact,
            "expand" => LaneFunction::Expand,
            "match" => LaneFunction::Match,
            "load" => LaneFunction::Load,
            "store" => LaneFunction::Store,
            "align" => LaneFunction::Align,
            name => LaneFunction::Reduce(Reduction::from_name(name)?),
        })
    }

    /// Its name, without `rv_`.
    pub fn name(self) -> &'static str {
        match self {
            LaneFunction::Mask => "mask",
            LaneFunction::LaneId => "lane_id",
            LaneFunction::NumLanes => "num_lanes",
            LaneFunction::Any => "any",
            LaneFunction::All => "all",
            LaneFunction::Ballot => "ballot",
            LaneFunction::Extract => "extract",
            LaneFunction::Insert => "insert",
            LaneFunction::Shuffle => "shuffle",
            LaneFunction::Compact => "compact",
            LaneFunction::Expand => "expand",
            LaneFunction::Match => "match",
            LaneFunction::Load => "load",
            LaneFunction::Store => "store",
            LaneFunction::Align => "align",
            LaneFunction::Reduce(reduction) => reduction.name(),
        }
    }

    /// How many parameters it has.
    pub fn arity(self) -> usize {
        match self {
            LaneFunction::Mask | LaneFunction::LaneId | LaneFunction::NumLanes => 0,
            LaneFunction::Any | LaneFunction::All | LaneFunction::Ballot | LaneFunction::Reduce(_) => 1,
            LaneFunction::Insert | LaneFunction::Store => 3,
            _ => 2,
        }
    }
}
