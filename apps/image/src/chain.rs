//! Parses chains of filters with parameters: `gauss:sigma=2,unsharp:amount=1.5:sigma=3`.

use std::fmt;

use crate::filters::{FILTERS, On, Param};
use crate::own::OwnFilter;

/// A filter with the values of all its parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub on: On,
    /// The filter in Impala.
    pub code: String,
}

/// An error in a chain.
#[derive(PartialEq, Debug)]
pub enum ChainError {
    NoFilter,
    UnknownFilter { name: String, near: Option<String> },
    UnknownParam { filter: String, name: String, known: Vec<String> },
    NotAssigned { filter: String, text: String },
    NotANumber { filter: String, name: String, text: String, is_whole: bool },
    OutOfRange { filter: String, name: String, value: f64, min: f64, max: f64 },
    Twice { filter: String, name: String },
    Missing { filter: String, name: String },
}

/// Reads filters that are separated by commas: those of the app, and those of the user.
pub fn parse(text: &str, own: &[OwnFilter]) -> Result<Vec<Step>, ChainError> {
    text.split(',').map(|part| step(part.trim(), own)).collect()
}

fn step(text: &str, own: &[OwnFilter]) -> Result<Step, ChainError> {
    let mut parts = text.split(':').map(str::trim);
    let name = parts.next().unwrap_or_default();
    if name.is_empty() {
        return Err(ChainError::NoFilter);
    }
    // A filter of the user replaces one of the app.
    if let Some(filter) = own.iter().find(|filter| filter.name == name) {
        let values = values(name, &filter.params(), parts)?;
        return Ok(Step { on: On::Channels, code: filter.code(&values) });
    }
    match FILTERS.iter().find(|filter| filter.name == name) {
        Some(filter) => {
            let values = values(name, filter.params, parts)?;
            Ok(Step { on: filter.on, code: (filter.code)(&values) })
        }
        None => Err(ChainError::UnknownFilter { name: name.to_owned(), near: near(name, own) }),
    }
}

/// The values of the parameters of a filter.
fn values<'t>(
    filter: &str,
    params: &[Param],
    assignments: impl Iterator<Item = &'t str>,
) -> Result<Vec<f64>, ChainError> {
    let mut values: Vec<Option<f64>> = vec![None; params.len()];
    for assignment in assignments {
        let (index, value) = assigned(filter, params, assignment)?;
        if values[index].replace(value).is_some() {
            let name = params[index].name.to_owned();
            return Err(ChainError::Twice { filter: filter.to_owned(), name });
        }
    }
    let missing =
        |param: &Param| ChainError::Missing { filter: filter.to_owned(), name: param.name.to_owned() };
    let value = |(value, param): (Option<f64>, &Param)| value.or(param.default).ok_or_else(|| missing(param));
    values.into_iter().zip(params).map(value).collect()
}

/// Reads `name=value`: the number of the parameter, and its value.
fn assigned(filter: &str, params: &[Param], text: &str) -> Result<(usize, f64), ChainError> {
    let filter = filter.to_owned();
    let Some((name, value)) = text.split_once('=') else {
        return Err(ChainError::NotAssigned { filter, text: text.to_owned() });
    };
    let (name, value) = (name.trim(), value.trim());
    let Some(index) = params.iter().position(|param| param.name == name) else {
        let known = params.iter().map(|param| param.name.to_owned()).collect();
        return Err(ChainError::UnknownParam { filter, name: name.to_owned(), known });
    };
    let Param { min, max, is_whole, .. } = params[index];
    let name = name.to_owned();
    let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
    match number.filter(|number| !is_whole || number.fract() == 0.0) {
        None => Err(ChainError::NotANumber { filter, name, text: value.to_owned(), is_whole }),
        Some(value) if value < min || value > max => {
            Err(ChainError::OutOfRange { filter, name, value, min, max })
        }
        Some(value) => Ok((index, value)),
    }
}

/// The filter with the most similar name.
fn near(name: &str, own: &[OwnFilter]) -> Option<String> {
    let names = FILTERS.iter().map(|filter| filter.name).chain(own.iter().map(|filter| &*filter.name));
    let (distance, nearest) = names.map(|candidate| (distance(name, candidate), candidate)).min()?;
    let starts_alike = name.len() > 2 && (nearest.starts_with(name) || name.starts_with(nearest));
    (starts_alike || distance <= nearest.len() / 3 + 1).then(|| nearest.to_owned())
}

/// The edit distance of two words: insertions, deletions and changes of letters.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChainError::NoFilter => f.write_str("a filter is missing between commas"),
            ChainError::UnknownFilter { name, near: Some(near) } => {
                write!(f, "there is no filter `{name}`; did you mean `{near}`? (`--list` shows all)")
            }
            ChainError::UnknownFilter { name, near: None } => {
                write!(f, "there is no filter `{name}` (`--list` shows all)")
            }
            ChainError::UnknownParam { filter, name, known } if known.is_empty() => {
                write!(f, "`{filter}` has no parameters: there is no `{name}`")
            }
            ChainError::UnknownParam { filter, name, known } => {
                write!(f, "`{filter}` has no parameter `{name}`; it has `{}`", known.join("`, `"))
            }
            ChainError::NotAssigned { filter, text } => {
                write!(f, "`{text}` says nothing about `{filter}`: parameters are written `name=value`")
            }
            ChainError::NotANumber { filter, name, text, is_whole } => {
                let kind = if *is_whole { "an integer" } else { "a number" };
                write!(f, "`{name}` of `{filter}` must be {kind}, not `{text}`")
            }
            ChainError::OutOfRange { filter, name, value, min, max } => {
                write!(f, "`{name}` of `{filter}` must be between {min} and {max}, not {value}")
            }
            ChainError::Missing { filter, name } => {
                write!(f, "`{filter}` needs a value of `{name}`: write `{filter}:{name}=..`")
            }
            ChainError::Twice { filter, name } => write!(f, "`{name}` of `{filter}` is given twice"),
        }
    }
}

impl std::error::Error for ChainError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text, &[]).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn parameters_have_given_or_default_values() {
        let steps = parse("box:radius=2, unsharp : sigma = 0.5", &[]).unwrap();
        assert_eq!(steps[0].code, "soft(2, @|_i| 0.2f)");
        assert_eq!(steps[1].code, "sharp(1.0f, soft(2, bell_weights(2, 0.5f)))");
    }

    #[test]
    fn errors_name_the_mistake() {
        assert_eq!(message("gaus"), "there is no filter `gaus`; did you mean `gauss`? (`--list` shows all)");
        assert_eq!(message("sharpen"), "there is no filter `sharpen` (`--list` shows all)");
        assert_eq!(
            message("laplacian"),
            "there is no filter `laplacian`; did you mean `laplace`? (`--list` shows all)"
        );
        assert_eq!(message("gauss,,box"), "a filter is missing between commas");
        assert_eq!(message("unsharp:sgma=2"), "`unsharp` has no parameter `sgma`; it has `amount`, `sigma`");
        assert_eq!(message("gray:x=2"), "`gray` has no parameters: there is no `x`");
        assert_eq!(message("gauss:2"), "`2` says nothing about `gauss`: parameters are written `name=value`");
        assert_eq!(message("gauss:sigma=wide"), "`sigma` of `gauss` must be a number, not `wide`");
        assert_eq!(message("gauss:sigma=nan"), "`sigma` of `gauss` must be a number, not `nan`");
        assert_eq!(message("median:radius=1.5"), "`radius` of `median` must be an integer, not `1.5`");
        assert_eq!(message("median:radius=9"), "`radius` of `median` must be between 1 and 3, not 9");
        assert_eq!(message("gauss:sigma=1:sigma=2"), "`sigma` of `gauss` is given twice");
    }
}
