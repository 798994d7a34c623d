//! Collective operations of SIMD lanes, as programs declare them: `rv_any`, for example.

use crate::reduction::Reduction;

macro_rules! lane_functions {
    ($($(#[$meta:meta])* $function:ident $name:literal $arity:literal,)*) => {
        /// A collective operation of SIMD lanes.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum LaneFunction {
            $($(#[$meta])* $function,)*
            /// One value from those of all participating lanes.
            Reduce(Reduction),
            /// One value from those of the participating lanes up to this one.
            Scan(Reduction),
            /// The same without this one; the first has the neutral element.
            ScanBefore(Reduction),
        }

        impl LaneFunction {
            /// The one with this name in object files.
            pub fn from_name(name: &str) -> Option<LaneFunction> {
                Some(match name.strip_prefix("rv_")? {
                    $($name => LaneFunction::$function,)*
                    name => {
                        let named = |of: fn(Reduction) -> LaneFunction| {
                            Reduction::ALL.into_iter().map(of).find(|function| function.name() == name)
                        };
                        named(LaneFunction::Reduce)
                            .or_else(|| named(LaneFunction::Scan))
                            .or_else(|| named(LaneFunction::ScanBefore))?
                    }
                })
            }

            /// Its name, without `rv_`.
            pub fn name(self) -> &'static str {
                match self {
                    $(LaneFunction::$function => $name,)*
                    LaneFunction::Reduce(reduction) => reduction.name(),
                    LaneFunction::Scan(reduction) => reduction.scan_names().0,
                    LaneFunction::ScanBefore(reduction) => reduction.scan_names().1,
                }
            }

            /// How many parameters it has.
            pub fn arity(self) -> usize {
                match self {
                    $(LaneFunction::$function => $arity,)*
                    LaneFunction::Reduce(_) | LaneFunction::Scan(_) | LaneFunction::ScanBefore(_) => 1,
                }
            }
        }
    };
}

lane_functions! {
    /// Whether this lane is active: always true.
    Mask "mask" 0,
    /// The number of this lane.
    LaneId "lane_id" 0,
    /// How many lanes there are.
    NumLanes "num_lanes" 0,
    /// Whether a condition holds in a participating lane.
    Any "any" 1,
    /// Whether a condition holds in all participating lanes.
    All "all" 1,
    /// The participating lanes for which a condition holds, as bits.
    Ballot "ballot" 1,
    /// The value of a lane.
    Extract "extract" 2,
    /// A value, and another one in the lane of a number.
    Insert "insert" 3,
    /// The value of the lane at this distance.
    Shuffle "shuffle" 2,
    /// Values for which a condition holds, moved to the first participating lanes.
    Compact "compact" 2,
    /// The values of the first participating lanes, moved to those for which a condition holds.
    Expand "expand" 2,
    /// Whether this lane has the same value as the lane of a number.
    Match "match" 2,
    /// Reads through the pointer of a lane.
    Load "load" 2,
    /// Writes through the pointer of a lane.
    Store "store" 3,
    /// Writes the values for which a condition holds one behind the other, from a pointer on; how many there are.
    Pack "pack" 3,
    /// Where a condition holds, reads one value behind the other, from a pointer on; elsewhere keeps a value.
    Unpack "unpack" 3,
    /// A pointer, which is aligned.
    Align "align" 2,
}
