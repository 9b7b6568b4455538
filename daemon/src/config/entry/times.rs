//! Reads how long things may take.

use std::time::Duration;

use crate::config::node::{Fault, Node};
use crate::config::{IDLE, duration};

pub(super) fn set_duration(
    target: &mut Duration,
    node: Node<'_>,
    what: &str,
    warnings: &mut Vec<Fault>,
) -> Result<(), Fault> {
    if let Some(number) = node.number() {
        // Cline means seconds, Gemini milliseconds: the server is used with our default instead.
        let warning = Fault::new(
            node.line(),
            format!("{what} has no unit and is passed over"),
        );
        warnings.push(warning.hint(format!("write \"{number}s\" or \"{number}ms\"")));
        return Ok(());
    }
    let text = node.text(what)?;
    *target = duration::parse(&text).ok_or_else(|| {
        Fault::new(node.line(), format!("{what} is no duration: `{text}`"))
            .hint("write a number with its unit, such as \"90s\" or \"10m\"")
    })?;
    Ok(())
}

/// A length of time after which what is idle ends, or `never`; and what is odd about it.
pub(in crate::config) fn idle(
    node: Node<'_>,
    what: &str,
) -> Result<(Option<Duration>, Option<Fault>), Fault> {
    if node.text(what).is_ok_and(|text| text == "never") {
        return Ok((None, None));
    }
    let (mut idle, mut warnings) = (IDLE, Vec::new());
    set_duration(&mut idle, node, what, &mut warnings)?;
    Ok((Some(idle), warnings.pop()))
}

/// As [`set_duration`], for what would let nothing pass if it were 0.
pub(super) fn set_limit(
    target: &mut Duration,
    node: Node<'_>,
    what: &str,
    warnings: &mut Vec<Fault>,
) -> Result<(), Fault> {
    set_duration(target, node, what, warnings)?;
    if target.is_zero() {
        return Err(
            Fault::new(node.line(), format!("{what} is 0")).hint("leave it out for the default")
        );
    }
    Ok(())
}
