//! Validates templates of inline assembly.
//!
//! LLVM ends the process at a template with unknown operands, so invalid templates are rejected here. `$0` and
//! `${0:modifier}` are operands, `${:uid}` and others are keywords of LLVM, `$$` is a dollar sign, and `$(`, `$|` and
//! `$)` choose between dialects.

/// What is wrong with a template for this number of operands, if anything is.
pub(super) fn mistake(template: &[u8], n_operands: usize) -> Option<String> {
    let text = String::from_utf8_lossy(template);
    let mut rest = &*text;
    let mut is_choice = false;
    while let Some((_, behind)) = rest.split_once('$') {
        let first = behind.chars().next();
        rest = match first {
            Some('$' | '|') => &behind[1..],
            Some('(') if is_choice => return Some("`$(` inside of another one".into()),
            Some('(' | ')') => {
                is_choice = first == Some('(');
                &behind[1..]
            }
            Some('{') => {
                let Some((word, behind)) = behind[1..].split_once('}') else {
                    return Some("`${` without `}`".into());
                };
                if let Some(mistake) = word_mistake(word, n_operands) {
                    return Some(mistake);
                }
                behind
            }
            _ => {
                let (number, behind) = leading_number(behind);
                if let Some(mistake) = number_mistake(number, n_operands) {
                    return Some(mistake);
                }
                behind
            }
        };
    }
    is_choice.then(|| "`$(` without `$)`".into())
}

/// What is wrong with the text between `${` and `}`.
fn word_mistake(word: &str, n_operands: usize) -> Option<String> {
    const WORDS: [&str; 3] = ["private", "comment", "uid"];
    let (number, modifier) = word.split_once(':').map_or((word, None), |(number, rest)| (number, Some(rest)));
    match (number, modifier) {
        ("", Some(word)) if WORDS.contains(&word) => None,
        (_, Some("")) => Some(format!("`${{{word}}}`, which has no modifier")),
        _ => number_mistake(number, n_operands),
    }
}

fn number_mistake(number: &str, n_operands: usize) -> Option<String> {
    match number.parse::<usize>() {
        Ok(number) if number < n_operands => None,
        Ok(number) => Some(format!("operand `${number}`, but there are {n_operands}, numbered from 0")),
        Err(_) => Some("`$` without the number of an operand; `$$` is a dollar sign".into()),
    }
}

/// The digits that a text begins with, and what follows them.
fn leading_number(text: &str) -> (&str, &str) {
    text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_dollars_and_dialects_are_accepted() {
        for template in
            ["nop", "add $1, $0", "mov $$7, ${1:k}", ".L${:uid}: $(a $0$|b$)", "é $0", "movl $$$$, $0"]
        {
            assert_eq!(mistake(template.as_bytes(), 2), None, "{template}");
        }
    }

    #[test]
    fn templates_that_llvm_rejects_are_found() {
        for (template, what) in [
            ("mov $2, $0", "operand `$2`, but there are 2"),
            ("mov ${17:k}", "operand `$17`"),
            ("mov $99999999999999999999", "without the number"),
            ("mov $eax", "`$$` is a dollar sign"),
            ("mov $", "`$$` is a dollar sign"),
            ("${0", "`${` without `}`"),
            ("${:nonsense}", "without the number"),
            ("${0:}", "no modifier"),
            ("$(a$(b$)", "inside of another"),
            ("$(a", "without `$)`"),
        ] {
            let found = mistake(template.as_bytes(), 2).unwrap_or_default();
            assert!(found.contains(what), "{template}: {found}");
        }
    }
}
