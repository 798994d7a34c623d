//! Functions by which instances meet: barriers, and what the lanes of a vector and the
//! threads of a warp ask each other.

use nyala_ir::functions::Collective;
use nyala_ir::{Cont, LaneFunction, Prim, Reduction, Ty};
use smallvec::{SmallVec, smallvec};

use crate::errors::{Checked, ErrorKind, malformed};
use crate::machine::{Machine, Results, Ret};
use crate::parallel::{Circle, RegionKind, WARP};
use crate::value::Value;

/// An instance that has come to a meeting.
pub(crate) struct Arrived {
    /// Its number among those who can meet.
    pub(crate) lane: u32,
    pub(crate) task: u32,
    pub(crate) args: SmallVec<[Value; 4]>,
}

/// Why instances meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meeting {
    Barrier,
    Any,
    All,
    Ballot,
    Count,
    Extract,
    Insert,
    /// Who votes for something, as a number of this type.
    Votes(Prim),
    /// Accesses to so many bytes.
    Load(u64),
    Store(u64),
    Shuffle,
    Compact,
    Expand,
    /// Who has the same value as a lane.
    Match,
    Reduce(Reduction, Prim),
    /// A warp's shuffle: from a lane, or from one that is before, behind or opposite.
    From,
    Up,
    Down,
    Xor,
    /// Who has the same value.
    MatchAny,
    /// All, if they have the same value.
    MatchAll,
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
        if let Some(answer) = self.lane_fact(function, args) {
            return self.deliver(ret, smallvec![answer]);
        }
        match self.lane_meeting(function, cont) {
            Some(meeting) => self.run_collective(meeting, Circle::Lanes, args, ret),
            None => self.unknown_function(cont),
        }
    }

    /// Calls a collective operation of the threads of a block or a warp.
    pub(crate) fn collective(&mut self, function: Collective, args: &[Value], ret: Ret) -> Checked<()> {
        let (meeting, circle) = meeting(function);
        let yes = [Value::bool(true)];
        let args = match (circle, args) {
            // The first argument says who must come; those who do not are left out.
            (Circle::Warp, [_, rest @ ..]) => rest,
            (Circle::Warp, []) => &yes,
            _ => args,
        };
        self.run_collective(meeting, circle, args, ret)
    }

    /// Waits for the other instances, if there are any.
    fn run_collective(&mut self, meeting: Meeting, circle: Circle, args: &[Value], ret: Ret) -> Checked<()> {
        if self.can_meet(circle) {
            return self.wait(meeting, circle, args, ret);
        }
        let alone = [Arrived { lane: 0, task: self.task, args: args.into() }];
        let results = self.meeting_results(meeting, 1, &alone)?.pop().unwrap_or_default();
        self.deliver(ret, results)
    }

    /// The meeting of a lane function, with the types that it is declared with.
    fn lane_meeting(&self, function: LaneFunction, cont: Cont) -> Option<Meeting> {
        let world = self.program.world;
        let first = self.param_types(cont).first().copied();
        let prim = |ty: Option<Ty>| ty.and_then(|ty| world.types.as_prim(ty));
        let size = || Some(world.layout(world.types.as_ptr(first?)?.0).size);
        Some(match function {
            LaneFunction::Any => Meeting::Any,
            LaneFunction::All => Meeting::All,
            LaneFunction::Ballot => Meeting::Votes(prim(self.result_types(cont).first().copied())?),
            LaneFunction::Extract => Meeting::Extract,
            LaneFunction::Insert => Meeting::Insert,
            LaneFunction::Load => Meeting::Load(size()?),
            LaneFunction::Store => Meeting::Store(size()?),
            LaneFunction::Shuffle => Meeting::Shuffle,
            LaneFunction::Compact => Meeting::Compact,
            LaneFunction::Expand => Meeting::Expand,
            LaneFunction::Match => Meeting::Match,
            LaneFunction::Reduce(reduction) => {
                Meeting::Reduce(reduction, prim(first).filter(|&prim| reduction.is_for(prim))?)
            }
            LaneFunction::Mask | LaneFunction::LaneId | LaneFunction::NumLanes | LaneFunction::Align => {
                return None;
            }
        })
    }

    /// What a lane can answer without the others.
    fn lane_fact(&self, function: LaneFunction, args: &[Value]) -> Option<Value> {
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

    /// What each of those that met gets.
    pub(crate) fn meeting_results(
        &mut self,
        meeting: Meeting,
        width: u32,
        arrived: &[Arrived],
    ) -> Checked<Vec<Results>> {
        let is_true = |instance: &Arrived| match instance.args.first() {
            Some(Value::Bits(bits)) => Ok(*bits != 0),
            _ => Err(Box::new(ErrorKind::UndefDecides { what: "a lane's condition" })),
        };
        let same = |value: Value| Ok(arrived.iter().map(|_| smallvec![value.clone()]).collect());
        match meeting {
            Meeting::Barrier => Ok(arrived.iter().map(|_| Results::new()).collect()),
            Meeting::Any | Meeting::All | Meeting::Ballot | Meeting::Votes(_) | Meeting::Count => {
                let votes: Vec<bool> = arrived.iter().map(is_true).collect::<Checked<_>>()?;
                let ayes = arrived.iter().zip(&votes).filter(|(_, vote)| **vote).map(|(lane, _)| lane);
                same(match meeting {
                    Meeting::Any => Value::bool(votes.contains(&true)),
                    Meeting::All => Value::bool(!votes.contains(&false)),
                    Meeting::Count => Value::Bits(ayes.count() as u64),
                    Meeting::Votes(prim) => {
                        let bit = |lane: u32| 1_u64.checked_shl(lane).unwrap_or(0);
                        Value::prim(prim, ayes.fold(0, |votes, instance| votes | bit(instance.lane)))
                    }
                    _ => mask(ayes),
                })
            }
            Meeting::From | Meeting::Up | Meeting::Down | Meeting::Xor => arrived
                .iter()
                .map(|Arrived { lane, args, .. }| {
                    let source = warp_source(meeting, *lane, number_arg(args, 1)?, segment(args)?);
                    Ok(smallvec![at_lane(arrived, if width == 1 { 0 } else { source }, 0)])
                })
                .collect(),
            Meeting::MatchAny => {
                let alike = |value: &Value| mask(arrived.iter().filter(|other| other.args[0].same(value)));
                Ok(arrived.iter().map(|instance| smallvec![alike(&instance.args[0])]).collect())
            }
            Meeting::MatchAll => {
                let is_same = arrived.iter().all(|other| other.args[0].same(&arrived[0].args[0]));
                for instance in arrived {
                    let addr = addr_arg(instance.args.get(1))?;
                    self.memory.races.switch_to(instance.task);
                    self.memory.store_scalar(addr, 4, u64::from(is_same))?;
                }
                same(if is_same { mask(arrived.iter()) } else { Value::Bits(0) })
            }
            Meeting::Extract => arrived
                .iter()
                .map(|Arrived { args, .. }| Ok(smallvec![at_lane(arrived, lane_arg(args, 1, width)?, 0)]))
                .collect(),
            Meeting::Insert => arrived
                .iter()
                .map(|Arrived { lane, args, .. }| {
                    let chosen = if lane_arg(args, 1, width)? == *lane { 2 } else { 0 };
                    Ok(smallvec![args.get(chosen).cloned().unwrap_or_default()])
                })
                .collect(),
            Meeting::Shuffle => arrived
                .iter()
                .map(|Arrived { lane, args, .. }| {
                    let by = number_arg(args, 1)?.rem_euclid(i64::from(width)) as u32;
                    Ok(smallvec![at_lane(arrived, (lane + by) % width, 0)])
                })
                .collect(),
            Meeting::Compact => compact(arrived),
            Meeting::Expand => expand(arrived),
            Meeting::Match => arrived
                .iter()
                .map(|Arrived { args, .. }| {
                    let other = at_lane(arrived, lane_arg(args, 1, width)?, 0);
                    Ok(smallvec![Value::bool(args[0].same(&other))])
                })
                .collect(),
            Meeting::Reduce(reduction, prim) => {
                let mut lanes = vec![reduction.neutral(prim); width as usize];
                for Arrived { lane, args, .. } in arrived {
                    let undefined = || ErrorKind::UndefDecides { what: "a value that lanes combine" };
                    lanes[*lane as usize] = args[0].as_bits().ok_or_else(undefined)?;
                }
                match reduction.eval(prim, &lanes) {
                    Ok(bits) => same(Value::Bits(bits)),
                    Err(_) => malformed(format!("`{}` of `{}`", reduction.name(), prim.name())),
                }
            }
            Meeting::Load(size) | Meeting::Store(size) => self.lane_access(meeting, size, width, arrived),
        }
    }

    /// `rv_load` and `rv_store`: through the pointer of a lane, or through one
    /// that all share to the element of that number.
    fn lane_access(
        &mut self,
        meeting: Meeting,
        size: u64,
        width: u32,
        arrived: &[Arrived],
    ) -> Checked<Vec<Results>> {
        let pointers = || arrived.iter().map(|instance| instance.args.first().cloned().unwrap_or_default());
        let first = pointers().next().unwrap_or_default();
        let is_uniform = pointers().all(|ptr| ptr.same(&first));
        let mut results = vec![];
        for Arrived { task, args, .. } in arrived {
            let lane = if width == 1 { number_arg(args, 1)? } else { i64::from(lane_arg(args, 1, width)?) };
            let addr = match is_uniform {
                true => addr_arg(Some(&first))?.wrapping_add((lane as u64).wrapping_mul(size)),
                false => addr_arg(Some(&at_lane(arrived, lane as u32, 0)))?,
            };
            self.memory.races.switch_to(*task);
            results.push(match (meeting, args.get(2)) {
                (Meeting::Store(_), Some(Value::Bits(value))) => {
                    self.memory.store_scalar(addr, size, *value)?;
                    Results::new()
                }
                (Meeting::Store(_), _) => return malformed("`rv_store` of an undefined value"),
                _ => smallvec![Value::Bits(self.memory.load_scalar(addr, size)?)],
            });
        }
        Ok(results)
    }
}

/// The meeting of a collective operation, and who comes.
fn meeting(function: Collective) -> (Meeting, Circle) {
    match function {
        Collective::Barrier => (Meeting::Barrier, Circle::Block),
        Collective::BarrierCount => (Meeting::Count, Circle::Block),
        Collective::BarrierAnd => (Meeting::All, Circle::Block),
        Collective::BarrierOr => (Meeting::Any, Circle::Block),
        Collective::WarpBarrier => (Meeting::Barrier, Circle::Warp),
        Collective::Any => (Meeting::Any, Circle::Warp),
        Collective::All => (Meeting::All, Circle::Warp),
        Collective::Ballot | Collective::ActiveMask => (Meeting::Ballot, Circle::Warp),
        Collective::Shuffle => (Meeting::From, Circle::Warp),
        Collective::ShuffleUp => (Meeting::Up, Circle::Warp),
        Collective::ShuffleDown => (Meeting::Down, Circle::Warp),
        Collective::ShuffleXor => (Meeting::Xor, Circle::Warp),
        Collective::MatchAny => (Meeting::MatchAny, Circle::Warp),
        Collective::MatchAll => (Meeting::MatchAll, Circle::Warp),
    }
}

/// A bit for each lane.
fn mask<'a>(lanes: impl Iterator<Item = &'a Arrived>) -> Value {
    Value::prim(Prim::U32, lanes.fold(0, |mask, instance| mask | 1 << (instance.lane % 32)))
}

/// How many lanes of a warp shuffle among themselves; all if nothing is said.
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

/// The lane that a warp's shuffle takes its value from: the own one if the one
/// that is asked for is not among the `size` lanes that shuffle with each other.
fn warp_source(meeting: Meeting, lane: u32, by: i64, size: u32) -> u32 {
    let first = i64::from(lane & !(size - 1));
    let (own, size) = (i64::from(lane), i64::from(size));
    let source = match meeting {
        Meeting::Up => own - by,
        Meeting::Down => own + by,
        Meeting::Xor => own ^ by,
        _ => first + by.rem_euclid(size),
    };
    // Lanes of earlier segments can be reached by exclusive or.
    let lowest = if meeting == Meeting::Xor { 0 } else { first };
    if (lowest..first + size).contains(&source) { source as u32 } else { lane }
}

/// Argument `at` of the instance in this lane; undefined if it is not there.
fn at_lane(arrived: &[Arrived], lane: u32, at: usize) -> Value {
    let found = arrived.iter().find(|instance| instance.lane == lane);
    found.and_then(|instance| instance.args.get(at).cloned()).unwrap_or_default()
}

fn addr_arg(arg: Option<&Value>) -> Checked<u64> {
    arg.and_then(Value::as_bits).ok_or_else(|| Box::new(ErrorKind::UndefDecides { what: "an address" }))
}

fn number_arg(args: &[Value], at: usize) -> Checked<i64> {
    match args.get(at) {
        Some(Value::Bits(bits)) => Ok(i64::from(*bits as i32)),
        _ => Err(Box::new(ErrorKind::UndefDecides { what: "a lane" })),
    }
}

/// A lane's number; alone there is only the own one.
fn lane_arg(args: &[Value], at: usize, width: u32) -> Checked<u32> {
    let lane = number_arg(args, at)?;
    match u32::try_from(lane) {
        _ if width == 1 => Ok(0),
        Ok(number) if number < width => Ok(number),
        _ => Err(Box::new(ErrorKind::IndexRange { index: lane, len: width as usize })),
    }
}

/// The values of lanes whose second argument is true, moved to the front.
fn compact(arrived: &[Arrived]) -> Checked<Vec<Results>> {
    let mut kept = vec![];
    for instance in arrived {
        if is_kept(instance)? {
            kept.push(instance.args[0].clone());
        }
    }
    let own = |instance: &Arrived| instance.args.first().cloned().unwrap_or_default();
    let mut kept = kept.into_iter();
    Ok(arrived.iter().map(|lane| smallvec![kept.next().unwrap_or_else(|| own(lane))]).collect())
}

/// The values of the first lanes, moved to those whose second argument is true.
fn expand(arrived: &[Arrived]) -> Checked<Vec<Results>> {
    let mut front = arrived.iter();
    let mut results = vec![];
    for instance in arrived {
        let source = if is_kept(instance)? { front.next() } else { Some(instance) };
        results.push(smallvec![source.and_then(|lane| lane.args.first().cloned()).unwrap_or_default()]);
    }
    Ok(results)
}

/// Whether the second argument is true.
fn is_kept(instance: &Arrived) -> Checked<bool> {
    match instance.args.get(1) {
        Some(Value::Bits(bits)) => Ok(*bits != 0),
        _ => Err(Box::new(ErrorKind::UndefDecides { what: "a lane's condition" })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_shuffle_within_segments() {
        assert_eq!(warp_source(Meeting::Down, 3, 4, 32), 7);
        assert_eq!(warp_source(Meeting::Down, 30, 4, 32), 30);
        assert_eq!(warp_source(Meeting::Up, 2, 4, 32), 2);
        assert_eq!(warp_source(Meeting::Up, 9, 1, 8), 8);
        assert_eq!(warp_source(Meeting::Up, 8, 1, 8), 8);
        assert_eq!(warp_source(Meeting::From, 13, 2, 8), 10);
        assert_eq!(warp_source(Meeting::Xor, 5, 1, 32), 4);
        assert_eq!(warp_source(Meeting::Xor, 5, 8, 8), 5);
    }
}
