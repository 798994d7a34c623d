//! Parameters of blocks as variables: the way of targets that have assignments and no phis.

/// For each of the assignments `variable[i] = value[i]` of a jump, written in this order, whether its value must be
/// copied before the first of them: it reads a variable that is assigned earlier. `reads(i, j)` says whether value
/// `i` reads variable `j`.
pub(crate) fn needs_copy(n: usize, reads: impl Fn(usize, usize) -> bool) -> Vec<bool> {
    (0..n).map(|value| (0..value).any(|variable| reads(value, variable))).collect()
}

#[cfg(test)]
mod tests {
    use super::needs_copy;

    /// `(a, b) = (b, a)`: the second value reads what the first assignment overwrites.
    #[test]
    fn a_swap_copies_one_value() {
        assert_eq!(needs_copy(2, |value, variable| value != variable), [false, true]);
    }

    #[test]
    fn a_variable_that_keeps_its_value_is_not_copied() {
        assert_eq!(needs_copy(2, |value, variable| value == variable), [false, false]);
    }
}
