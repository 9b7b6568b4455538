//! Numbers that come out as they were written, or not at all.

use serde_json::{Number, Value};

/// Why a text is no number that can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NumberFault {
    /// Not the JSON form of a number.
    #[error("is not written as a number")]
    Form,
    /// The JSON form of a number, but not of an integer.
    #[error("is not written as an integer")]
    NotInteger,
    /// An integer beyond 64 bits.
    #[error("is an integer too large to be sent as it is written")]
    TooLarge,
    /// More digits than a number of JSON keeps in practice.
    #[error("has more digits than can be sent as they are written")]
    Inexact,
}

/// The parts of a number in JSON's form, with neither leading nor trailing zeros in the digits.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    /// The power of ten of the last digit.
    exponent: i64,
}

/// Reads an integer: digits with perhaps a minus sign.
pub(super) fn integer(text: &str) -> Result<Value, NumberFault> {
    decimal(text).ok_or(NumberFault::Form)?;
    if text.contains(['.', 'e', 'E']) {
        return Err(NumberFault::NotInteger);
    }
    whole(text).ok_or(NumberFault::TooLarge)
}

/// Reads a number in JSON's form.
pub(super) fn number(text: &str) -> Result<Value, NumberFault> {
    let written = decimal(text).ok_or(NumberFault::Form)?;
    if let Some(value) = whole(text) {
        return Ok(value);
    }
    let value: f64 = text.parse().map_err(|_| NumberFault::Form)?;
    // The shortest form that leads back to the same number is what goes over the wire.
    let sent = Number::from_f64(value).ok_or(NumberFault::Inexact)?;
    if decimal(&sent.to_string()) == Some(written) {
        Ok(Value::Number(sent))
    } else {
        Err(NumberFault::Inexact)
    }
}

fn whole(text: &str) -> Option<Value> {
    let signed = text.parse::<i64>().ok().map(Value::from);
    signed.or_else(|| text.parse::<u64>().ok().map(Value::from))
}

/// Takes a number apart by JSON's grammar.
fn decimal(text: &str) -> Option<Decimal> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            is_digits(digits).then_some(())?;
            (mantissa, exponent.parse::<i32>().ok()?)
        }
        None => (unsigned, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => {
            is_digits(fraction).then_some(())?;
            (whole, fraction)
        }
        None => (mantissa, ""),
    };
    (is_digits(whole) && (whole == "0" || !whole.starts_with('0'))).then_some(())?;
    let all = format!("{whole}{fraction}");
    let kept = all.trim_end_matches('0');
    let cut = i64::try_from(all.len() - kept.len()).ok()?;
    let digits = kept.trim_start_matches('0').to_owned();
    let exponent = if digits.is_empty() {
        0
    } else {
        i64::from(exponent) - i64::try_from(fraction.len()).ok()? + cut
    };
    Some(Decimal {
        negative,
        digits,
        exponent,
    })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, proptest};
    use serde_json::json;

    use super::{NumberFault, integer, number};

    #[test]
    fn integers_are_exact_or_refused() {
        for (text, value) in [
            ("0", json!(0)),
            ("-7", json!(-7)),
            ("9007199254740993", json!(9_007_199_254_740_993_u64)),
            ("18446744073709551615", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
        ] {
            assert_eq!(integer(text), Ok(value.clone()), "{text}");
            assert_eq!(number(text), Ok(value), "{text}");
        }
        assert_eq!(integer("18446744073709551616"), Err(NumberFault::TooLarge));
        assert_eq!(integer("-9223372036854775809"), Err(NumberFault::TooLarge));
        for text in ["1.0", "1e3", "2.5"] {
            assert_eq!(integer(text), Err(NumberFault::NotInteger), "{text}");
        }
    }

    #[test]
    fn decimals_are_exact_or_refused() {
        for (text, value) in [
            ("0.1", json!(0.1)),
            ("0.1000", json!(0.1)),
            ("1e3", json!(1000.0)),
            ("1.5E-3", json!(0.0015)),
            ("-0.0", json!(-0.0)),
            ("0e99", json!(0.0)),
            ("100000000000000000000000", json!(1e23)),
            ("1.7976931348623157e308", json!(f64::MAX)),
            ("0.30000000000000004", json!(0.300_000_000_000_000_04)),
        ] {
            assert_eq!(number(text), Ok(value), "{text}");
        }
        for text in [
            "0.1234567890123456789",
            "123456789012345678901234567890",
            "1e400",
            "1e-400",
            "9007199254740993.0",
        ] {
            assert_eq!(number(text), Err(NumberFault::Inexact), "{text}");
        }
    }

    #[test]
    fn only_the_form_of_json_is_a_number() {
        for text in [
            "", "-", "+1", ".5", "5.", "007", "-01", "0x10", "1_000", "1,5", " 1", "1 ", "NaN",
            "Infinity", "1e", "1e+", "--1", "١",
        ] {
            assert_eq!(integer(text), Err(NumberFault::Form), "{text}");
            assert_eq!(number(text), Err(NumberFault::Form), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_number_survives_its_own_text(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            let text = json!(value).to_string();
            assert_eq!(number(&text), Ok(json!(value)));
        }
    }
}
