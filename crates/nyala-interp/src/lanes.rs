//! Collective operations: barriers, and operations in which the lanes of a vector or the threads of a warp exchange
//! values.
//!
//! [`parallel`](crate::parallel) suspends instances until all participants have participants; this module computes
//! the results.

use nyala_ir::functions::Collective;
use nyala_ir::{Cont, LaneFunction, Prim, Reduction, Ty};
use smallvec::{SmallVec, smallvec};

use crate::errors::{Checked, ErrorKind, malformed};
use crate::machine::{Machine, Results, Ret};
use crate::parallel::{Participants, RegionKind, WARP};
use crate::value::Value;

/// An instance that takes part in a collective operation.
pub(crate) struct Participant {
    /// Its lane: its number in the vector, the warp or the work group.
    pub(crate) lane: u32,
    pub(crate) task: u32,
    pub(crate) args: SmallVec<[Value; 4]>,
}

/// A collective operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CollectiveOp {
    Barrier,
    Vote(Vote),
    Extract,
    Insert,
    /// Loads and stores of this size in bytes.
    Load(u64),
    Store(u64),
    /// Reads the value of lane `(lane + n) % width`.
    Rotate,
    Compress,
    Expand,
    /// Whether the value equals that of a given lane.
    Match,
    Reduce(Reduction, Prim),
    /// Combines the values up to each lane; without its own if the last is false.
    Scan(Reduction, Prim, bool),
    /// Stores and loads of adjacent values of this size in bytes.
    Pack(u64),
    Unpack(u64),
    /// A shuffle of a warp.
    Shuffle(Shuffle),
    /// The lanes that have the same value.
    MatchAny,
    /// All participating lanes, if all have the same value; otherwise none.
    MatchAll,
}

/// What participants learn from a vote on a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Vote {
    Any,
    All,
    Count,
    /// The mask of the lanes of a warp in which it holds.
    Ballot,
    /// The same of a vector, as a number of this type.
    LaneBallot(Prim),
}

/// Which lane a warp's shuffle reads from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shuffle {
    Index,
    Up,
    Down,
    Xor,
}

impl Machine<'_, '_> {
    /// Calls a collective operation of SIMD lanes.
    pub(crate) fn lane_function(
        &mut self,
        function: LaneFunction,
        cont: Cont,
        args: &[Value],
        ret: Ret,
    ) -> Checked<()> {
        if let Some(result) = self.lane_query(function, args) {
            return self.deliver(ret, smallvec![result]);
        }
        match self.lane_collective(function, cont) {
            Some(op) => self.run_collective(op, Participants::Lanes, args, ret),
            None => self.unknown_function(cont),
        }
    }

    /// Calls a collective operation of the threads of a work group or a warp.
    pub(crate) fn collective(&mut self, function: Collective, args: &[Value], ret: Ret) -> Checked<()> {
        let (op, participants) = collective_op(function);
        let yes = [Value::bool(true)];
        let args = match (participants, args) {
            // The first argument is the mask of participating threads. The threads that arrive are the participants.
            (Participants::Warp, [_, rest @ ..]) => rest,
            (Participants::Warp, []) => &yes,
            _ => args,
        };
        self.run_collective(op, participants, args, ret)
    }

    /// Waits for the other participants. Outside of a group the current instance is the only one.
    fn run_collective(
        &mut self,
        op: CollectiveOp,
        participants: Participants,
        args: &[Value],
        ret: Ret,
    ) -> Checked<()> {
        if self.can_synchronize(participants) {
            return self.wait(op, participants, args, ret);
        }
        let alone = [Participant { lane: 0, task: self.task, args: args.into() }];
        let results = self.collective_results(op, 1, &alone)?.pop().unwrap_or_default();
        self.deliver(ret, results)
    }

    /// The collective operation of a lane function, with the types of its declaration.
    fn lane_collective(&self, function: LaneFunction, cont: Cont) -> Option<CollectiveOp> {
        let world = self.program.world;
        let first = self.param_types(cont).first().copied();
        let prim = |ty: Option<Ty>| ty.and_then(|ty| world.types.as_prim(ty));
        let size = || Some(world.layout(world.types.as_ptr(first?)?.0).size);
        Some(match function {
            LaneFunction::Any => CollectiveOp::Vote(Vote::Any),
            LaneFunction::All => CollectiveOp::Vote(Vote::All),
            LaneFunction::Ballot => {
                CollectiveOp::Vote(Vote::LaneBallot(prim(self.result_types(cont).first().copied())?))
            }
            LaneFunction::Extract => CollectiveOp::Extract,
            LaneFunction::Insert => CollectiveOp::Insert,
            LaneFunction::Load => CollectiveOp::Load(size()?),
            LaneFunction::Store => CollectiveOp::Store(size()?),
            LaneFunction::Shuffle => CollectiveOp::Rotate,
            LaneFunction::Compact => CollectiveOp::Compress,
            LaneFunction::Expand => CollectiveOp::Expand,
            LaneFunction::Match => CollectiveOp::Match,
            LaneFunction::Reduce(reduction) => {
                CollectiveOp::Reduce(reduction, prim(first).filter(|&prim| reduction.is_for(prim))?)
            }
            LaneFunction::Scan(reduction) | LaneFunction::ScanBefore(reduction) => {
                let prim = prim(first).filter(|&prim| reduction.is_for(prim))?;
                CollectiveOp::Scan(reduction, prim, matches!(function, LaneFunction::Scan(_)))
            }
            LaneFunction::Pack => CollectiveOp::Pack(size()?),
            LaneFunction::Unpack => CollectiveOp::Unpack(size()?),
            LaneFunction::Mask | LaneFunction::LaneId | LaneFunction::NumLanes | LaneFunction::Align => {
                return None;
            }
        })
    }

    /// The result of a lane function that needs no other lanes.
    fn lane_query(&self, function: LaneFunction, args: &[Value]) -> Option<Value> {
        let lanes = self.regions.last().and_then(|region| match region.kind {
            RegionKind::Lanes { width, .. } => Some((region.instances[region.current].number, width)),
            _ => None,
        });
        let (lane, width) = lanes.unwrap_or((0, 1));
        match (function, args) {
            (LaneFunction::Mask, _) => Some(Value::bool(true)),
            (LaneFunction::LaneId, _) => Some(Value::Bits(u64::from(lane))),
            (LaneFunction::NumLanes, _) => Some(Value::Bits(u64::from(width))),
            (LaneFunction::Align, [ptr, _]) => Some(ptr.clone()),
            _ => None,
        }
    }

    /// The results of a collective operation, one list per participant.
    pub(crate) fn collective_results(
        &mut self,
        op: CollectiveOp,
        width: u32,
        participants: &[Participant],
    ) -> Checked<Vec<Results>> {
        let each = |result: &dyn Fn(&Participant) -> Checked<Value>| {
            participants.iter().map(|participant| Ok(smallvec![result(participant)?])).collect()
        };
        match op {
            CollectiveOp::Barrier => Ok(vec![Results::new(); participants.len()]),
            CollectiveOp::Vote(vote) => {
                vote_result(vote, participants).map(|value| same(value, participants))
            }
            CollectiveOp::Shuffle(shuffle) => each(&|Participant { lane, args, .. }| {
                let source = warp_source(shuffle, *lane, number_arg(args, 1)?, segment(args)?);
                Ok(at_lane(participants, if width == 1 { 0 } else { source }, 0))
            }),
            CollectiveOp::MatchAny => each(&|Participant { args, .. }| {
                Ok(mask(participants.iter().filter(|other| other.args[0].same(&args[0]))))
            }),
            CollectiveOp::MatchAll => self.match_all(participants),
            CollectiveOp::Extract => {
                each(&|Participant { args, .. }| Ok(at_lane(participants, lane_arg(args, 1, width)?, 0)))
            }
            CollectiveOp::Insert => each(&|Participant { lane, args, .. }| {
                let chosen = if lane_arg(args, 1, width)? == *lane { 2 } else { 0 };
                Ok(args.get(chosen).cloned().unwrap_or_default())
            }),
            CollectiveOp::Rotate => each(&|Participant { lane, args, .. }| {
                let by = number_arg(args, 1)?.rem_euclid(i64::from(width)) as u32;
                Ok(at_lane(participants, (lane + by) % width, 0))
            }),
            CollectiveOp::Compress => compress(participants),
            CollectiveOp::Expand => expand(participants),
            CollectiveOp::Match => each(&|Participant { args, .. }| {
                let other = at_lane(participants, lane_arg(args, 1, width)?, 0);
                Ok(Value::bool(args[0].same(&other)))
            }),
            CollectiveOp::Reduce(reduction, prim) => {
                reduce(reduction, prim, width, participants).map(|value| same(value, participants))
            }
            CollectiveOp::Scan(reduction, prim, is_inclusive) => {
                scan(reduction, prim, is_inclusive, width, participants)
            }
            CollectiveOp::Pack(size) | CollectiveOp::Unpack(size) => {
                self.packed_access(op, size, participants)
            }
            CollectiveOp::Load(size) | CollectiveOp::Store(size) => {
                self.lane_access(op, size, width, participants)
            }
        }
    }

    /// `match_all`: each participant also stores whether all values are the same.
    fn match_all(&mut self, participants: &[Participant]) -> Checked<Vec<Results>> {
        let is_same = participants.iter().all(|other| other.args[0].same(&participants[0].args[0]));
        for participant in participants {
            let addr = addr_arg(participant.args.get(1))?;
            self.memory.races.switch_to(participant.task);
            self.memory.store_scalar(addr, 4, u64::from(is_same))?;
        }
        let lanes = if is_same { mask(participants.iter()) } else { Value::Bits(0) };
        Ok(same(lanes, participants))
    }

    /// `rv_load` and `rv_store`. A varying pointer: the access uses that of the given lane. A uniform pointer: the
    /// lane is the index of the element.
    fn lane_access(
        &mut self,
        op: CollectiveOp,
        size: u64,
        width: u32,
        participants: &[Participant],
    ) -> Checked<Vec<Results>> {
        let pointers =
            || participants.iter().map(|participant| participant.args.first().cloned().unwrap_or_default());
        let first = pointers().next().unwrap_or_default();
        let is_uniform = pointers().all(|ptr| ptr.same(&first));
        let mut results = vec![];
        for Participant { task, args, .. } in participants {
            let lane = if width == 1 { number_arg(args, 1)? } else { i64::from(lane_arg(args, 1, width)?) };
            let addr = match is_uniform {
                true => addr_arg(Some(&first))?.wrapping_add((lane as u64).wrapping_mul(size)),
                false => addr_arg(Some(&at_lane(participants, lane as u32, 0)))?,
            };
            self.memory.races.switch_to(*task);
            results.push(match (op, args.get(2)) {
                (CollectiveOp::Store(_), Some(Value::Bits(value))) => {
                    self.memory.store_scalar(addr, size, *value)?;
                    Results::new()
                }
                (CollectiveOp::Store(_), _) => return malformed("`rv_store` of an undefined value"),
                _ => smallvec![Value::Bits(self.memory.load_scalar(addr, size)?)],
            });
        }
        Ok(results)
    }
}

impl Machine<'_, '_> {
    /// `rv_pack` and `rv_unpack`: the lanes for which the condition holds access one scalar behind the other.
    fn packed_access(
        &mut self,
        op: CollectiveOp,
        size: u64,
        participants: &[Participant],
    ) -> Checked<Vec<Results>> {
        let mut addr = addr_arg(participants.first().and_then(|first| first.args.first()))?;
        let mut results = vec![];
        let mut n_accesses = 0;
        for participant in participants {
            let Participant { task, args, .. } = participant;
            let own = args.get(1).cloned().unwrap_or_default();
            let mut result = own.clone();
            if condition(participant, 2)? {
                self.memory.races.switch_to(*task);
                match (op, own) {
                    (CollectiveOp::Pack(_), Value::Bits(value)) => {
                        self.memory.store_scalar(addr, size, value)?
                    }
                    (CollectiveOp::Pack(_), _) => return malformed("`rv_pack` of an undefined value"),
                    _ => result = Value::Bits(self.memory.load_scalar(addr, size)?),
                }
                addr = addr.wrapping_add(size);
                n_accesses += 1;
            }
            results.push(smallvec![result]);
        }
        Ok(match op {
            CollectiveOp::Pack(_) => same(Value::Bits(n_accesses), participants),
            _ => results,
        })
    }
}

/// The collective operation of a device function, and its participants.
fn collective_op(function: Collective) -> (CollectiveOp, Participants) {
    use Participants::{Warp, WorkGroup};
    match function {
        Collective::Barrier => (CollectiveOp::Barrier, WorkGroup),
        Collective::BarrierCount => (CollectiveOp::Vote(Vote::Count), WorkGroup),
        Collective::BarrierAnd => (CollectiveOp::Vote(Vote::All), WorkGroup),
        Collective::BarrierOr => (CollectiveOp::Vote(Vote::Any), WorkGroup),
        Collective::WarpBarrier => (CollectiveOp::Barrier, Warp),
        Collective::Any => (CollectiveOp::Vote(Vote::Any), Warp),
        Collective::All => (CollectiveOp::Vote(Vote::All), Warp),
        Collective::Ballot | Collective::ActiveMask => (CollectiveOp::Vote(Vote::Ballot), Warp),
        Collective::Shuffle => (CollectiveOp::Shuffle(Shuffle::Index), Warp),
        Collective::ShuffleUp => (CollectiveOp::Shuffle(Shuffle::Up), Warp),
        Collective::ShuffleDown => (CollectiveOp::Shuffle(Shuffle::Down), Warp),
        Collective::ShuffleXor => (CollectiveOp::Shuffle(Shuffle::Xor), Warp),
        Collective::MatchAny => (CollectiveOp::MatchAny, Warp),
        Collective::MatchAll => (CollectiveOp::MatchAll, Warp),
    }
}

/// The same result for each participant.
fn same(value: Value, participants: &[Participant]) -> Vec<Results> {
    participants.iter().map(|_| smallvec![value.clone()]).collect()
}

/// The result of a vote; the condition is the first argument.
fn vote_result(vote: Vote, participants: &[Participant]) -> Checked<Value> {
    let votes: Vec<bool> =
        participants.iter().map(|participant| condition(participant, 0)).collect::<Checked<_>>()?;
    let holding =
        participants.iter().zip(&votes).filter(|(_, vote)| **vote).map(|(participant, _)| participant);
    Ok(match vote {
        Vote::Any => Value::bool(votes.contains(&true)),
        Vote::All => Value::bool(!votes.contains(&false)),
        Vote::Count => Value::Bits(holding.count() as u64),
        Vote::Ballot => mask(holding),
        Vote::LaneBallot(prim) => {
            let bit = |lane: u32| 1_u64.checked_shl(lane).unwrap_or(0);
            Value::prim(prim, holding.fold(0, |bits, participant| bits | bit(participant.lane)))
        }
    })
}

/// One value from those of all participants; other lanes have the neutral element.
fn reduce(reduction: Reduction, prim: Prim, width: u32, participants: &[Participant]) -> Checked<Value> {
    let mut lanes = vec![reduction.neutral(prim); width as usize];
    for Participant { lane, args, .. } in participants {
        let undefined = || ErrorKind::UndefinedUse { what: "a value that lanes combine" };
        lanes[*lane as usize] = args[0].as_bits().ok_or_else(undefined)?;
    }
    match reduction.eval(prim, &lanes) {
        Ok(bits) => Ok(Value::Bits(bits)),
        Err(_) => malformed(format!("`{}` of `{}`", reduction.name(), prim.name())),
    }
}

/// The values of all participants up to each of them; other lanes have the neutral element.
fn scan(
    reduction: Reduction,
    prim: Prim,
    is_inclusive: bool,
    width: u32,
    participants: &[Participant],
) -> Checked<Vec<Results>> {
    let mut lanes = vec![reduction.neutral(prim); width as usize];
    for Participant { lane, args, .. } in participants {
        let undefined = || ErrorKind::UndefinedUse { what: "a value that lanes combine" };
        lanes[*lane as usize] = args[0].as_bits().ok_or_else(undefined)?;
    }
    let Ok(mut scanned) = reduction.eval_scan(prim, &lanes) else {
        return malformed(format!("`{}` of `{}`", reduction.name(), prim.name()));
    };
    if !is_inclusive {
        scanned.insert(0, reduction.neutral(prim));
    }
    Ok(participants.iter().map(|it| smallvec![Value::Bits(scanned[it.lane as usize])]).collect())
}

/// The mask with a bit for each of these lanes.
fn mask<'a>(lanes: impl Iterator<Item = &'a Participant>) -> Value {
    Value::prim(Prim::U32, lanes.fold(0, |mask, participant| mask | 1 << (participant.lane % 32)))
}

/// The size of the segments in which the lanes of a warp shuffle; the whole warp by default.
fn segment(args: &[Value]) -> Checked<u32> {
    if args.len() < 3 {
        return Ok(WARP);
    }
    let size = number_arg(args, 2)?;
    match u32::try_from(size) {
        Ok(size) if size.is_power_of_two() && size <= WARP => Ok(size),
        _ => Err(Box::new(ErrorKind::Unsupported { what: format!("a shuffle among {size} lanes") })),
    }
}

/// The lane that a warp's shuffle reads from. It is `lane` itself if the requested lane is outside of the segment
/// of `size` lanes.
fn warp_source(shuffle: Shuffle, lane: u32, by: i64, size: u32) -> u32 {
    let first = i64::from(lane & !(size - 1));
    let (own, size) = (i64::from(lane), i64::from(size));
    let source = match shuffle {
        Shuffle::Up => own - by,
        Shuffle::Down => own + by,
        Shuffle::Xor => own ^ by,
        Shuffle::Index => first + by.rem_euclid(size),
    };
    // An exclusive or can reach lanes of earlier segments.
    let lowest = if shuffle == Shuffle::Xor { 0 } else { first };
    if (lowest..first + size).contains(&source) { source as u32 } else { lane }
}

/// Argument `at` of the participant in this lane; undefined if the lane does not participate.
fn at_lane(participants: &[Participant], lane: u32, at: usize) -> Value {
    let found = participants.iter().find(|participant| participant.lane == lane);
    found.and_then(|participant| participant.args.get(at).cloned()).unwrap_or_default()
}

fn addr_arg(arg: Option<&Value>) -> Checked<u64> {
    arg.and_then(Value::as_bits).ok_or_else(|| Box::new(ErrorKind::UndefinedUse { what: "an address" }))
}

fn number_arg(args: &[Value], at: usize) -> Checked<i64> {
    match args.get(at) {
        Some(Value::Bits(bits)) => Ok(i64::from(*bits as i32)),
        _ => Err(Box::new(ErrorKind::UndefinedUse { what: "a lane" })),
    }
}

/// The number of a lane. A single instance has lane 0 only.
fn lane_arg(args: &[Value], at: usize, width: u32) -> Checked<u32> {
    let lane = number_arg(args, at)?;
    match u32::try_from(lane) {
        _ if width == 1 => Ok(0),
        Ok(number) if number < width => Ok(number),
        _ => Err(Box::new(ErrorKind::IndexRange { index: lane, len: width as usize })),
    }
}

/// The values of lanes whose second argument is true, moved to the front.
fn compress(participants: &[Participant]) -> Checked<Vec<Results>> {
    let mut kept = vec![];
    for participant in participants {
        if condition(participant, 1)? {
            kept.push(participant.args[0].clone());
        }
    }
    let own = |participant: &Participant| participant.args.first().cloned().unwrap_or_default();
    let mut kept = kept.into_iter();
    Ok(participants.iter().map(|lane| smallvec![kept.next().unwrap_or_else(|| own(lane))]).collect())
}

/// The values of the first lanes, moved to those whose second argument is true.
fn expand(participants: &[Participant]) -> Checked<Vec<Results>> {
    let mut front = participants.iter();
    let mut results = vec![];
    for participant in participants {
        let source = if condition(participant, 1)? { front.next() } else { Some(participant) };
        results.push(smallvec![source.and_then(|lane| lane.args.first().cloned()).unwrap_or_default()]);
    }
    Ok(results)
}

/// An argument that is a condition.
fn condition(participant: &Participant, at: usize) -> Checked<bool> {
    match participant.args.get(at) {
        Some(Value::Bits(bits)) => Ok(*bits != 0),
        _ => Err(Box::new(ErrorKind::UndefinedUse { what: "a lane's condition" })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_shuffle_within_segments() {
        assert_eq!(warp_source(Shuffle::Down, 3, 4, 32), 7);
        assert_eq!(warp_source(Shuffle::Down, 30, 4, 32), 30);
        assert_eq!(warp_source(Shuffle::Up, 2, 4, 32), 2);
        assert_eq!(warp_source(Shuffle::Up, 9, 1, 8), 8);
        assert_eq!(warp_source(Shuffle::Up, 8, 1, 8), 8);
        assert_eq!(warp_source(Shuffle::Index, 13, 2, 8), 10);
        assert_eq!(warp_source(Shuffle::Xor, 5, 1, 32), 4);
        assert_eq!(warp_source(Shuffle::Xor, 5, 8, 8), 5);
    }
}
