//! What samples of a measurement say.

/// A measurement, in nanoseconds for one call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// Half of the samples are smaller.
    pub median: f64,
    /// A quarter of the samples is smaller.
    pub lower_quartile: f64,
    /// A quarter of the samples is larger.
    pub upper_quartile: f64,
    /// The smallest sample.
    pub min: f64,
}

impl Summary {
    /// Of at least one sample.
    pub fn of(samples: &[f64]) -> Summary {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| quantile(&sorted, part);
        Summary { median: at(0.5), lower_quartile: at(0.25), upper_quartile: at(0.75), min: at(0.0) }
    }

    /// The distance of the quartiles from each other, as a part of the median.
    pub fn spread(&self) -> f64 {
        (self.upper_quartile - self.lower_quartile) / self.median.max(f64::MIN_POSITIVE)
    }
}

/// The time of undisturbed samples: only few are smaller. Whatever else the machine does makes samples longer, and
/// may hit most of them.
pub fn undisturbed(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.05)
}

/// Between samples, linearly.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = part * (sorted.len().saturating_sub(1)) as f64;
    let value = |index: f64| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
    let (lower, upper) = (value(at.floor()), value(at.ceil()));
    lower + (upper - lower) * at.fract()
}

/// How a measurement differs from an older one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// The new median as a multiple of the old one.
    pub ratio: f64,
    /// How probable a difference as large as this is if nothing has changed.
    pub p: f64,
    /// What that means.
    pub verdict: Verdict,
}

/// What a change means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// The difference may be chance, or is too small to matter.
    Same,
}

/// A change is told only if it is less probable than this by chance.
const SIGNIFICANT: f64 = 0.001;

/// Smaller changes come from the machine: where code and data lie in memory.
const NOISE: f64 = 0.02;

/// Compares two lists of samples.
pub fn compare(old: &[f64], new: &[f64]) -> Change {
    let ratio = Summary::of(new).median / Summary::of(old).median;
    let p = rank_sum_test(old, new);
    let verdict = match () {
        () if p >= SIGNIFICANT || (ratio - 1.0).abs() < NOISE || ratio.is_nan() => Verdict::Same,
        () if ratio < 1.0 => Verdict::Faster,
        () => Verdict::Slower,
    };
    Change { ratio, p, verdict }
}

/// The test of Mann, Whitney and Wilcoxon: assumes nothing about the distribution of samples. The sum of ranks is
/// taken to be normally distributed, which is close from eight samples on.
fn rank_sum_test(old: &[f64], new: &[f64]) -> f64 {
    let (n_old, n_new) = (old.len() as f64, new.len() as f64);
    if old.is_empty() || new.is_empty() {
        return 1.0;
    }
    // How many pairs have the larger sample on the new side; equal ones count half.
    let mut above = 0.0;
    for &new in new {
        for &old in old {
            above += if new > old {
                1.0
            } else if new == old {
                0.5
            } else {
                0.0
            };
        }
    }
    let mean = n_old * n_new / 2.0;
    let deviation = (n_old * n_new * (n_old + n_new + 1.0) / 12.0).sqrt();
    let z: f64 = (above - mean) / deviation;
    two_sided(z.abs())
}

/// The probability that a normally distributed number is at least `z` deviations away from the mean.
fn two_sided(z: f64) -> f64 {
    // A rational approximation of the tail, good to 1e-7 (Abramowitz and Stegun, 26.2.17).
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let coefficients = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53];
    let polynomial = coefficients.iter().fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    (2.0 * density * polynomial).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_samples() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0, 5.0]);
        assert_eq!((summary.min, summary.lower_quartile, summary.median), (1.0, 2.0, 3.0));
        assert_eq!(Summary::of(&[1.0, 2.0]).median, 1.5);
        assert_eq!(Summary::of(&[7.0]).spread(), 0.0);
    }

    #[test]
    fn tails_of_the_normal_distribution() {
        for (z, expected) in [(0.0, 1.0), (1.0, 0.317_31), (1.959_964, 0.05), (3.290_527, 0.001)] {
            assert!((two_sided(z) - expected).abs() < 1e-5, "{z}: {}", two_sided(z));
        }
    }

    /// Samples around a value, as a machine gives them.
    fn samples(around: f64) -> Vec<f64> {
        (0..30).map(|index| around * (1.0 + f64::from(index % 7) * 0.004)).collect()
    }

    #[test]
    fn only_significant_changes_are_reported() {
        assert_eq!(compare(&samples(100.0), &samples(110.0)).verdict, Verdict::Slower);
        assert_eq!(compare(&samples(100.0), &samples(90.0)).verdict, Verdict::Faster);
        assert_eq!(compare(&samples(100.0), &samples(100.0)).verdict, Verdict::Same);
        assert_eq!(compare(&samples(100.0), &samples(101.0)).verdict, Verdict::Same);
        assert_eq!(compare(&[100.0, 110.0], &[120.0, 105.0]).verdict, Verdict::Same);
    }
}
