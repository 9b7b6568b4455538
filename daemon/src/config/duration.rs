//! Durations as the configuration writes them: `500ms`, `90s`, `10m`, `1h30m`.

use std::time::Duration;

/// Reads a duration; `None` when it is none, or has a number without a unit, which other clients read as seconds *or* as
/// milliseconds.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let letters = after
            .find(|character: char| !character.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let number: u64 = number.parse().ok()?;
        let part = match unit {
            "ms" => Duration::from_millis(number),
            "s" => Duration::from_secs(number),
            "m" | "min" => Duration::from_secs(number.checked_mul(60)?),
            "h" => Duration::from_secs(number.checked_mul(3_600)?),
            "d" => Duration::from_secs(number.checked_mul(86_400)?),
            _ => return None,
        };
        total = total.checked_add(part)?;
        rest = after.trim_start();
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_and_added() {
        assert_eq!(parse("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse(" 90s "), Some(Duration::from_secs(90)));
        assert_eq!(parse("10min"), parse("10m"));
        assert_eq!(parse("1h 30m"), Some(Duration::from_secs(5_400)));
        assert_eq!(parse("1d"), Some(Duration::from_secs(86_400)));
    }

    #[test]
    fn what_is_ambiguous_or_senseless_is_refused() {
        for text in [
            "",
            "60",
            "s",
            "1x",
            "-1s",
            "1.5s",
            "1h30",
            "99999999999999999999s",
            "9999999999999999999d",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
