//! Expectations in the comments at the top of a program.
//!
//! ```text
//! // args: alpha beta       arguments, separated by spaces
//! // stdin: a line          its input; one line each
//! // out: a line            its output; one line each
//! // status: 3              its exit status, 0 if not given
//! // steps: 1000            the maximum number of steps
//! // leaks: forbidden       leaked memory is an error
//! // error: E0951           the expected error
//! // evaluated: undefined   its results after partial evaluation are undefined
//! // functions: main f      the functions in control-flow form
//! // warn: W0001            an expected warning
//! ```

/// How a program is run, and its expected results.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Expectations {
    /// Arguments after the program's name.
    pub args: Vec<String>,
    /// Its input.
    pub stdin: String,
    /// The lines it prints.
    pub out: Vec<String>,
    /// Its exit status.
    pub status: i32,
    /// The maximum number of steps, if it has its own limit.
    pub steps: Option<u64>,
    /// Whether leaked memory is an error.
    pub leaks: bool,
    /// Whether its results are undefined after partial evaluation, which may extend the lifetime of
    /// variables.
    pub undefined_evaluated: bool,
    /// The expected functions in control-flow form, if it lists them.
    pub functions: Option<Vec<String>>,
    /// The code of the expected error.
    pub error: Option<String>,
    /// The codes of the expected warnings, each once, sorted.
    pub warnings: Vec<String>,
}

impl Expectations {
    /// Parses the comments at the top of a program. An unknown word before a colon
    /// is an error, because it is probably misspelt.
    pub fn parse(source: &str) -> Result<Expectations, String> {
        let mut expectations = Expectations::default();
        for line in source.lines().map_while(|line| line.strip_prefix("//")) {
            let Some((key, value)) = line.split_once(':') else { continue };
            // One space belongs to the syntax, the others to the text.
            let value = value.strip_prefix(' ').unwrap_or(value);
            expectations.add(key.trim(), value)?;
        }
        expectations.warnings.sort();
        expectations.warnings.dedup();
        Ok(expectations)
    }

    fn add(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "args" => self.args = value.split_whitespace().map(str::to_owned).collect(),
            "stdin" => self.stdin += &format!("{value}\n"),
            "out" => self.out.push(value.to_owned()),
            "status" => self.status = value.trim().parse().map_err(|_| format!("bad status `{value}`"))?,
            "steps" => self.steps = Some(value.trim().parse().map_err(|_| format!("bad number `{value}`"))?),
            "evaluated" if value.trim() == "undefined" => self.undefined_evaluated = true,
            "leaks" if value.trim() == "forbidden" => self.leaks = true,
            "functions" => self.functions = Some(value.split_whitespace().map(str::to_owned).collect()),
            "error" => self.error = Some(value.trim().to_owned()),
            "warn" => self.warnings.push(value.trim().to_owned()),
            "dialect" | "edition" | "uses" => {}
            prose if prose.contains(' ') => {}
            _ => return Err(format!("unknown expectation `{key}:`")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_after_the_top_are_ignored() {
        let source = "// out: a\n// out:  b\n// status: 3\nfn f() -> () {}\n// out: c\n";
        let expectations = Expectations::parse(source).expect("it is well formed");
        assert_eq!(expectations.out, ["a", " b"]);
        assert_eq!(expectations.status, 3);
    }

    #[test]
    fn misspelt_expectation_is_an_error() {
        assert!(Expectations::parse("// output: a\n").is_err());
        assert!(Expectations::parse("// one thing to know: this is prose\n").is_ok());
    }
}
