//! Numbers as C and C++ print them.

use nyala_ir::Prim;
use nyala_ir::eval::float_value;

use crate::errors::{Checked, ErrorKind};

/// `%g` with `digits` significant digits, which is also what a C++ stream prints.
pub fn general(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan".into() } else { "nan".into() };
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    // The exponent is that of the rounded number.
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits as i32).contains(&exponent) {
        let places = (digits as i32 - 1 - exponent) as usize;
        return without_zeros(&format!("{value:.places$}")).into();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

/// Removes trailing zeros of the fraction.
fn without_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// One conversion of `printf`: `%-08.3ld`.
struct Conversion {
    left: bool,
    zeros: bool,
    /// The sign of numbers that are not negative.
    plus: Option<char>,
    width: usize,
    precision: Option<usize>,
    letter: u8,
}

/// The output of `printf`. Values have their types; `text` reads a C string.
pub(crate) fn printf(
    format: &[u8],
    values: &[(Prim, u64)],
    mut text: impl FnMut(u64) -> Checked<Vec<u8>>,
) -> Checked<Vec<u8>> {
    let bad = |why: String| Err(Box::new(ErrorKind::BadArgument { name: "printf".into(), why }));
    let (mut printed, mut values, mut rest) = (vec![], values.iter(), format);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            printed.push(byte);
            continue;
        }
        let Some(conversion) = Conversion::parse(&mut rest) else {
            return bad("the format ends in a conversion".into());
        };
        if conversion.letter == b'%' {
            printed.push(b'%');
            continue;
        }
        let Some(&(prim, bits)) = values.next() else {
            return bad("the format has more conversions than there are values".into());
        };
        match conversion.letter {
            b's' => {
                let text = text(bits)?;
                let shown = &text[..conversion.precision.unwrap_or(text.len()).min(text.len())];
                printed
                    .extend(conversion.padded(String::new(), String::from_utf8_lossy(shown).into()).bytes());
            }
            b'c' => printed.push(bits as u8),
            _ => match conversion.number(prim, bits) {
                Some(number) => printed.extend(number.bytes()),
                None => {
                    let letter = char::from(conversion.letter);
                    return bad(format!("no value of type `{}` can be printed by `%{letter}`", prim.name()));
                }
            },
        }
    }
    Ok(printed)
}

impl Conversion {
    /// Reads what follows a `%`.
    fn parse(rest: &mut &[u8]) -> Option<Conversion> {
        let take = |rest: &mut &[u8]| -> Option<u8> {
            let (&byte, after) = rest.split_first()?;
            *rest = after;
            Some(byte)
        };
        let mut found =
            Conversion { left: false, zeros: false, plus: None, width: 0, precision: None, letter: 0 };
        let mut byte = take(rest)?;
        loop {
            match byte {
                b'-' => found.left = true,
                b'0' => found.zeros = true,
                b'+' => found.plus = Some('+'),
                b' ' => found.plus = found.plus.or(Some(' ')),
                _ => break,
            }
            byte = take(rest)?;
        }
        let mut number = |byte: &mut u8| -> Option<usize> {
            let mut number: usize = 0;
            while byte.is_ascii_digit() {
                number = number.saturating_mul(10).saturating_add(usize::from(*byte - b'0')).min(MAX_WIDTH);
                *byte = take(rest)?;
            }
            Some(number)
        };
        found.width = number(&mut byte)?;
        if byte == b'.' {
            byte = b'0';
            found.precision = Some(number(&mut byte)?);
        }
        // The types of the values determine their width.
        while matches!(byte, b'h' | b'l' | b'z' | b'j' | b't') {
            byte = take(rest)?;
        }
        found.letter = byte;
        Some(found)
    }

    /// A number in the format of this conversion; none if the conversion does not support the type.
    fn number(&self, prim: Prim, bits: u64) -> Option<String> {
        let precision = self.precision.unwrap_or(6);
        let wide = match prim.is_signed() {
            true => prim.sign_extend(bits),
            false => bits as i64,
        };
        // C promotes arguments to `int`.
        let unsigned = if prim.bytes() < 8 { u64::from(wide as u32) } else { wide as u64 };
        let is_negative = |value: f64| value.is_sign_negative() && !value.is_nan();
        let (sign, digits) = match (self.letter, prim.is_float()) {
            (b'd' | b'i', false) => (wide < 0, wide.unsigned_abs().to_string()),
            (b'u', false) => (false, unsigned.to_string()),
            (b'x', false) => (false, format!("{unsigned:x}")),
            (b'X', false) => (false, format!("{unsigned:X}")),
            (b'o', false) => (false, format!("{unsigned:o}")),
            (b'p', false) => (false, format!("{bits:#x}")),
            (b'f' | b'F', true) => {
                let value = float_value(prim, bits);
                (is_negative(value), format!("{:.precision$}", value.abs()).to_lowercase())
            }
            (b'e', true) => {
                let value = float_value(prim, bits);
                (is_negative(value), exponential(value.abs(), precision))
            }
            (b'g', true) => {
                let value = float_value(prim, bits);
                (is_negative(value), general(value.abs(), precision.max(1)))
            }
            _ => return None,
        };
        let sign = if sign {
            Some('-')
        } else {
            self.plus.filter(|_| matches!(self.letter, b'd' | b'i' | b'f' | b'e' | b'g'))
        };
        let digits = match (self.precision, prim.is_float()) {
            (Some(precision), false) => format!("{digits:0>precision$}"),
            _ => digits,
        };
        Some(self.padded(sign.map(String::from).unwrap_or_default(), digits))
    }

    fn padded(&self, sign: String, text: String) -> String {
        let room = self.width.saturating_sub(sign.len() + text.len());
        let has_zeros = self.zeros && !self.left && self.letter != b's';
        match (self.left, has_zeros) {
            (true, _) => format!("{sign}{text}{}", " ".repeat(room)),
            (false, true) => format!("{sign}{}{text}", "0".repeat(room)),
            (false, false) => format!("{}{sign}{text}", " ".repeat(room)),
        }
    }
}

/// The maximum width and precision.
const MAX_WIDTH: usize = 4096;

/// `%e`
fn exponential(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return general(value, 6);
    }
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_format_matches_c() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.333333"),
            (100_000.0, "100000"),
            (999_999.5, "1e+06"),
            (1_234_567.0, "1.23457e+06"),
            (0.0001, "0.0001"),
            (0.000_012_345_678, "1.23457e-05"),
            (1e300, "1e+300"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(general(value, 6), expected);
        }
    }

    fn check(format: &str, values: &[(Prim, u64)], printed: &str) {
        let text = printf(format.as_bytes(), values, |_| Ok(b"text".to_vec())).expect("the format is right");
        assert_eq!(String::from_utf8_lossy(&text), printed);
    }

    #[test]
    fn printf_matches_c() {
        let minus_seven = (Prim::I32, 0xffff_fff9);
        let seven = (Prim::I32, 7);
        check("%d|%5d|%-5d|%05d", &[seven, seven, seven, minus_seven], "7|    7|7    |-0007");
        check(
            "%u %x %X %o %%",
            &[minus_seven, (Prim::U8, 255), (Prim::U64, 1 << 40), (Prim::I32, 8)],
            "4294967289 ff 10000000000 10 %",
        );
        check("%ld %+d % d %.3d", &[(Prim::I64, u64::MAX), seven, seven, seven], "-1 +7  7 007");
        let third = (Prim::F64, (1.0f64 / 3.0).to_bits());
        check("%f %.2f %8.1f %e %g", &[third; 5], "0.333333 0.33      0.3 3.333333e-01 0.333333");
        let text = (Prim::U64, 1);
        check("%s %6s %.2s %c", &[text, text, text, (Prim::U8, 65)], "text   text te A");
    }

    #[test]
    fn printf_rejects_wrong_values() {
        for (format, values) in [("%d", &[][..]), ("%", &[]), ("%f", &[(Prim::I32, 1)])] {
            assert!(printf(format.as_bytes(), values, |_| Ok(vec![])).is_err(), "{format}");
        }
    }
}
