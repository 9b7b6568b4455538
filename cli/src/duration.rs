//! Lengths of time as a user writes them: `30s`, `500ms`, `1h 30m`, or plain seconds.

use std::time::Duration;

/// Reads a length of time.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string());
    }
    text.parse::<jiff::SignedDuration>()
        .ok()
        .and_then(|duration| Duration::try_from(duration).ok())
        .ok_or_else(|| "a length of time looks like 30s, 500ms, 2m or 1h".to_owned())
}

/// Reads a length of time that is not 0.
pub(crate) fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Duration::ZERO => Err("it has to be longer than 0".to_owned()),
        duration => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse;

    #[test]
    fn units_and_plain_seconds() {
        assert_eq!(parse("30"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("1h 30m"), Ok(Duration::from_secs(5_400)));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "-1", "-5s", "ten", "inf", "NaN", "5 parsecs"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
