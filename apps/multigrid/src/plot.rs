//! The convergence as a plot of text: a line for each cycle, with a bar on a logarithmic scale.

use std::fmt::Write;

/// Characters of the longest bar.
const WIDTH: f64 = 40.0;

pub fn convergence(norms: &[(u32, f64)]) -> String {
    let logs: Vec<f64> = norms.iter().map(|(_, norm)| norm.max(f64::MIN_POSITIVE).log10()).collect();
    let most = logs.iter().copied().fold(f64::MIN, f64::max);
    let least = logs.iter().copied().fold(f64::MAX, f64::min).min(most - 1.0);
    let mut text = "cycle  residual   factor\n".to_owned();
    let mut last: Option<f64> = None;
    for (&(cycle, norm), log) in norms.iter().zip(&logs) {
        let bar = "█".repeat(1 + ((log - least) / (most - least) * (WIDTH - 1.0)) as usize);
        let factor = last.map_or("     ".to_owned(), |last| format!("{:.3}", norm / last));
        let _ = writeln!(text, "{cycle:>5}  {norm:<9.2e}  {factor}  {bar}");
        last = Some(norm);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_the_logarithm() {
        let text = convergence(&[(0, 1.0), (1, 0.1), (2, 0.01)]);
        let bars: Vec<usize> = text.lines().skip(1).map(|line| line.matches('█').count()).collect();
        assert_eq!(bars, [40, 20, 1]);
        assert!(text.contains("0.100"));
    }
}
