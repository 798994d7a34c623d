//! Which combinations are measured.
//!
//! If there are few, all of them are. Otherwise some at random, and from the fastest of these one parameter after the
//! other is changed until no change helps; then, while there is time, two at once. Either way the fastest ones race
//! again in the end, against the values in the source: what was fast once by chance is slow then.

use std::collections::BTreeMap;
use std::io;

use nyala_random::MersenneTwister;

use super::space::Combination;

/// Measures combinations side by side.
pub trait Track {
    /// The time of each combination; none if it is excluded, or there is no time left.
    fn race(&mut self, combinations: &[Combination]) -> io::Result<Vec<Option<f64>>>;

    /// The time of the source.
    fn source(&self) -> f64;

    /// The time of each of the fastest ones as a part of that of the source; also if there is no time left.
    fn finals(&mut self, combinations: &[Combination]) -> io::Result<Vec<Option<f64>>>;

    /// The part of the time that is left, from 1 to 0.
    fn left(&self) -> f64;
}

/// How combinations are selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// All of them.
    All,
    /// Some at random, then one parameter after the other, then two at once.
    Descent,
}

/// So many combinations are all measured.
const FEW: u64 = 64;

/// So many combinations race at once: each is a process.
const AT_ONCE: usize = 8;

/// So many are chosen at random.
const AT_RANDOM: usize = 24;

/// The part of the time that is kept for changes of single parameters.
const FOR_DESCENT: f64 = 0.7;

/// The part of the time from which on two parameters are no longer changed at once.
const FOR_FINALS: f64 = 0.25;

/// So many race again in the end.
const FINALISTS: usize = 5;

/// A combination is faster than another one if it takes at most this part of its time.
const FASTER: f64 = 0.99;

impl Plan {
    /// The plan for parameters with so many values.
    pub fn of(sizes: &[usize]) -> Plan {
        if number_of(sizes) <= FEW { Plan::All } else { Plan::Descent }
    }
}

/// How many combinations there are.
pub fn number_of(sizes: &[usize]) -> u64 {
    sizes.iter().fold(1, |product: u64, &size| product.saturating_mul(size as u64))
}

/// The fastest combination; that of the source, which is all zeros, if none is faster.
pub fn search(sizes: &[usize], plan: Plan, seed: u32, track: &mut impl Track) -> io::Result<Combination> {
    let source = vec![0; sizes.len()];
    let every: Vec<usize> = (0..sizes.len()).collect();
    let mut search = Search { track, source: source.clone(), known: BTreeMap::new() };
    match plan {
        Plan::All => search.measure(&changed(&source, sizes, &every))?,
        Plan::Descent => {
            for some in random(sizes, seed).chunks(AT_ONCE) {
                if search.track.left() >= FOR_DESCENT {
                    search.measure(some)?;
                }
            }
            search.descend(sizes)?;
        }
    }
    let mut finalists = search.fastest();
    finalists.retain(|combination| *combination != source);
    finalists.truncate(FINALISTS);
    let times = search.track.finals(&finalists)?;
    let timed = finalists.into_iter().zip(times).filter_map(|(combination, time)| Some((combination, time?)));
    let best = timed.min_by(|(_, a), (_, b)| a.total_cmp(b));
    Ok(best.filter(|(_, time)| *time <= FASTER).map_or(source, |(combination, _)| combination))
}

struct Search<'t, T> {
    track: &'t mut T,
    /// The values in the source, which take part in every race.
    source: Combination,
    /// What else was measured; none for what is excluded.
    known: BTreeMap<Combination, Option<f64>>,
}

impl<T: Track> Search<'_, T> {
    /// Measures what is not known.
    fn measure(&mut self, combinations: &[Combination]) -> io::Result<()> {
        let is_new = |combination: &&Combination| {
            **combination != self.source && !self.known.contains_key(*combination)
        };
        let new: Vec<Combination> = combinations.iter().filter(is_new).cloned().collect();
        for some in new.chunks(AT_ONCE) {
            let times = self.track.race(some)?;
            self.known.extend(some.iter().cloned().zip(times));
        }
        Ok(())
    }

    /// All that was measured, and the source, the fastest first.
    fn fastest(&self) -> Vec<Combination> {
        let mut timed: Vec<(&Combination, f64)> =
            self.known.iter().filter_map(|(combination, time)| Some((combination, (*time)?))).collect();
        timed.push((&self.source, self.track.source()));
        timed.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        timed.into_iter().map(|(combination, _)| combination.clone()).collect()
    }

    /// Changes one parameter after the other until no change helps, and then two at once while there is time.
    fn descend(&mut self, sizes: &[usize]) -> io::Result<()> {
        loop {
            let before = self.best();
            for parameter in 0..sizes.len() {
                let best = self.best();
                self.measure(&changed(&best, sizes, &[parameter]))?;
            }
            if self.best() == before && !self.change_two(sizes)? {
                return Ok(());
            }
        }
    }

    /// Changes two parameters at once; whether that helps.
    fn change_two(&mut self, sizes: &[usize]) -> io::Result<bool> {
        let before = self.best();
        for second in 0..sizes.len() {
            for first in 0..second {
                for some in changed(&before, sizes, &[first, second]).chunks(AT_ONCE) {
                    if self.track.left() < FOR_FINALS {
                        return Ok(false);
                    }
                    self.measure(some)?;
                }
                if self.best() != before {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn best(&self) -> Combination {
        self.fastest().swap_remove(0)
    }
}

/// A combination with all values of some parameters.
fn changed(combination: &[usize], sizes: &[usize], parameters: &[usize]) -> Vec<Combination> {
    let mut combinations = vec![combination.to_vec()];
    for &parameter in parameters {
        let with = |start: &Combination, value: usize| {
            let mut other = start.clone();
            other[parameter] = value;
            other
        };
        let values =
            |start: &Combination| (0..sizes[parameter]).map(|value| with(start, value)).collect::<Vec<_>>();
        combinations = combinations.iter().flat_map(values).collect();
    }
    combinations
}

/// Some combinations.
fn random(sizes: &[usize], seed: u32) -> Vec<Combination> {
    let mut random = MersenneTwister::new(seed);
    let mut value = |size: &usize| random.next_u32() as usize % size;
    (0..AT_RANDOM).map(|_| sizes.iter().map(&mut value).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which the time of a combination is known.
    struct Model<F> {
        time: F,
        measured: Vec<Combination>,
        all: usize,
        left: usize,
    }

    impl<F: Fn(&[usize]) -> Option<f64>> Track for Model<F> {
        fn race(&mut self, combinations: &[Combination]) -> io::Result<Vec<Option<f64>>> {
            let mut times = vec![];
            for combination in combinations {
                times.push((self.left > 0).then(|| (self.time)(combination)).flatten());
                self.left = self.left.saturating_sub(1);
                self.measured.push(combination.clone());
            }
            Ok(times)
        }

        fn source(&self) -> f64 {
            1.0
        }

        fn finals(&mut self, combinations: &[Combination]) -> io::Result<Vec<Option<f64>>> {
            self.left = usize::MAX;
            self.race(combinations)
        }

        fn left(&self) -> f64 {
            self.left as f64 / self.all as f64
        }
    }

    fn found(sizes: &[usize], all: usize, time: impl Fn(&[usize]) -> Option<f64>) -> (Combination, usize) {
        let mut model = Model { time, measured: vec![], all, left: all };
        let best = search(sizes, Plan::of(sizes), 1, &mut model).expect("models do not fail");
        (best, model.measured.len())
    }

    #[test]
    fn all_of_a_few_combinations_are_measured() {
        let (best, measured) =
            found(&[4, 5], usize::MAX, |at| Some(1.0 - 0.1 * (at[0] == 3 && at[1] == 2) as u8 as f64));
        // All but the source, and the finalists again.
        assert_eq!((best, measured), (vec![3, 2], 19 + FINALISTS));
    }

    #[test]
    fn changing_one_parameter_at_a_time_finds_the_fastest_of_many() {
        let sizes = [8, 8, 8, 8];
        let (best, measured) = found(&sizes, 150, |at| {
            Some(at.iter().map(|&value| (1.0 + (value as f64 - 5.0).abs()) / 6.0).product())
        });
        assert_eq!(best, [5, 5, 5, 5]);
        assert!(measured <= 150, "{measured} of 4096");
    }

    #[test]
    fn two_parameters_are_changed_together_if_that_alone_helps() {
        let on_the_ridge = |at: &[usize]| if at[0] == at[1] { 1.0 - 0.05 * at[0] as f64 } else { 2.0 };
        assert_eq!(found(&[12, 12, 2], 1000, |at| Some(on_the_ridge(at))).0[..2], [11, 11]);
    }

    #[test]
    fn excluded_combinations_are_not_chosen() {
        let (best, _) = found(&[3, 3], usize::MAX, |at| (at[0] != 2).then_some(0.5 - 0.1 * at[0] as f64));
        assert_eq!(best[0], 1);
    }

    #[test]
    fn the_initializers_are_kept_if_nothing_is_measurably_faster() {
        assert_eq!(found(&[4, 4], usize::MAX, |_| Some(0.995)).0, [0, 0]);
        assert_eq!(found(&[4, 4], 1, |at| Some(if at == [0, 1] { 1.0 } else { 0.5 })).0, [0, 0]);
    }

    #[test]
    fn a_combination_with_a_lucky_sample_is_measured_again() {
        use std::cell::Cell;
        let calls = Cell::new(0);
        let (best, _) = found(&[4, 4], usize::MAX, |at| {
            calls.set(calls.get() + 1);
            let is_lucky = at == [1, 1] && calls.get() < 16;
            Some(if is_lucky {
                0.2
            } else if at == [2, 2] {
                0.8
            } else {
                1.1
            })
        });
        assert_eq!(best, [2, 2]);
    }

    #[test]
    fn the_seed_decides_about_random_combinations() {
        assert_eq!(random(&[9, 9], 7), random(&[9, 9], 7));
        assert_ne!(random(&[9, 9], 7), random(&[9, 9], 8));
    }
}
