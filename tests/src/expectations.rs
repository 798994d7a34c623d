//! What a program says about itself in the comments at its top.
//!
//! ```text
//! // args: alpha beta       arguments, separated by spaces
//! // stdin: a line          what the program reads; one line each
//! // out: a line            what it prints; one line each
//! // status: 3              its exit status, 0 if not given
//! // steps: 1000            the most steps it may take
//! // leaks: forbidden       memory that is never freed is an error
//! // error: E0951           the error that ends it
//! // evaluated: undefined   what it does after partial evaluation is left open
//! // functions: main f      the functions that are left in control-flow form
//! // warn: W0001            a warning that checking reports
//! ```

/// How a program is run and what it does.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Expectations {
    /// Arguments after the program's name.
    pub args: Vec<String>,
    /// What the program reads.
    pub stdin: String,
    /// The lines it prints.
    pub out: Vec<String>,
    /// Its exit status.
    pub status: i32,
    /// The most steps it may take, if it has a limit of its own.
    pub steps: Option<u64>,
    /// Whether memory that is never freed is an error.
    pub leaks: bool,
    /// Whether it may do anything after partial evaluation, which lets variables live
    /// longer than the functions that made them.
    pub undefined_evaluated: bool,
    /// The functions that are left in control-flow form, if it says so.
    pub functions: Option<Vec<String>>,
    /// The code of the error that ends it.
    pub error: Option<String>,
    /// The codes of the warnings that checking reports, each once, sorted.
    pub warnings: Vec<String>,
}

impl Expectations {
    /// Reads the comments at the top of a program. A word before a colon that
    /// means nothing is an error, because it is probably misspelt.
    pub fn parse(source: &str) -> Result<Expectations, String> {
        let mut expectations = Expectations::default();
        for line in source.lines().map_while(|line| line.strip_prefix("//")) {
            let Some((key, value)) = line.split_once(':') else { continue };
            // One space belongs to the form, the others to the text.
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
    fn only_comments_at_the_top_count() {
        let source = "// out: a\n// out:  b\n// status: 3\nfn f() -> () {}\n// out: c\n";
        let expectations = Expectations::parse(source).expect("it is well formed");
        assert_eq!(expectations.out, ["a", " b"]);
        assert_eq!(expectations.status, 3);
    }

    #[test]
    fn a_misspelt_expectation_is_an_error() {
        assert!(Expectations::parse("// output: a\n").is_err());
        assert!(Expectations::parse("// one thing to know: this is prose\n").is_ok());
    }
}
