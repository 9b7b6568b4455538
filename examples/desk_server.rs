//! A small MCP server over stdio: three tools that a desk worker wants, with nothing behind them.
//!
//! `examples/run` mounts it. It speaks the `initialize` era of the protocol by hand, one JSON message a line, so
//! that it shows what a server has to do and needs no SDK.

use std::io::{self, BufRead, Write};

use jiff::civil::Date;
use serde_json::{Map, Value, json};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        // A message without an id is a notification and gets no answer.
        let Some(id) = message.get("id") else {
            continue;
        };
        let body = answer(
            message["method"].as_str().unwrap_or_default(),
            &message["params"],
        );
        let mut reply = json!({ "jsonrpc": "2.0", "id": id });
        match body {
            Ok(result) => reply["result"] = result,
            Err((code, text)) => reply["error"] = json!({ "code": code, "message": text }),
        }
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(method: &str, params: &Value) -> Result<Value, (i64, String)> {
    match method {
        "initialize" => Ok(json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "desk", "title": "Desk", "version": "1.0.0" },
            "instructions": "Small sums of the working day: dates, units and texts. No tool changes anything.",
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": tools() })),
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            let arguments = params["arguments"].as_object().cloned().unwrap_or_default();
            let outcome = match name {
                "days_between" => days_between(&arguments),
                "convert_unit" => convert_unit(&arguments),
                "count_text" => count_text(&arguments),
                other => return Err((-32602, format!("unknown tool: {other}"))),
            };
            Ok(outcome.unwrap_or_else(|message| {
                json!({ "isError": true, "content": [{ "type": "text", "text": message }] })
            }))
        }
        other => Err((-32601, format!("method not found: {other}"))),
    }
}

fn tools() -> Value {
    let hints = json!({ "readOnlyHint": true, "openWorldHint": false });
    json!([
        {
            "name": "days_between",
            "title": "Days between two dates",
            "description": "Counts the days from one date to another. A negative number means that the second date is earlier.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "from": { "type": "string", "format": "date", "description": "First date", "examples": ["2026-01-31"] },
                    "to": { "type": "string", "format": "date", "description": "Second date", "examples": ["2026-03-01"] },
                    "workdays": { "type": "boolean", "default": false, "description": "Count Monday to Friday only" },
                },
                "required": ["from", "to"],
                "additionalProperties": false,
            },
            "annotations": hints,
        },
        {
            "name": "convert_unit",
            "title": "Convert a unit",
            "description": "Converts a length or a weight between metric and imperial units.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "value": { "type": "number", "description": "How much" },
                    "from": { "enum": ["m", "km", "ft", "mi", "kg", "lb"], "description": "Unit of the value" },
                    "to": { "enum": ["m", "km", "ft", "mi", "kg", "lb"], "description": "Unit of the answer" },
                },
                "required": ["value", "from", "to"],
                "additionalProperties": false,
            },
            "annotations": hints,
        },
        {
            "name": "count_text",
            "title": "Count a text",
            "description": "Counts the lines, words and characters of a text.",
            "inputSchema": {
                "type": "object",
                "properties": { "text": { "type": "string", "description": "The text" } },
                "required": ["text"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "lines": { "type": "integer" },
                    "words": { "type": "integer" },
                    "characters": { "type": "integer" },
                },
                "required": ["lines", "words", "characters"],
            },
            "annotations": hints,
        },
    ])
}

fn text(arguments: &Map<String, Value>, name: &str) -> Result<String, String> {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or(format!("{name}: a string is needed"))
}

fn days_between(arguments: &Map<String, Value>) -> Result<Value, String> {
    let date = |name: &str| -> Result<Date, String> {
        text(arguments, name)?
            .parse()
            .map_err(|error| format!("{name}: {error}"))
    };
    let (from, to) = (date("from")?, date("to")?);
    let all = from
        .until(to)
        .map_err(|error| error.to_string())?
        .get_days();
    let days = if arguments
        .get("workdays")
        .and_then(Value::as_bool)
        .unwrap_or(false)
    {
        let (first, last) = (from.min(to), from.max(to));
        let workdays = first
            .series(jiff::Span::new().days(1))
            .take_while(|day| *day < last)
            .filter(|day| {
                !matches!(
                    day.weekday(),
                    jiff::civil::Weekday::Saturday | jiff::civil::Weekday::Sunday
                )
            })
            .count();
        i64::try_from(workdays).map_err(|error| error.to_string())? * i64::from(all.signum())
    } else {
        i64::from(all)
    };
    Ok(json!({ "content": [{ "type": "text", "text": days.to_string() }] }))
}

fn convert_unit(arguments: &Map<String, Value>) -> Result<Value, String> {
    // Everything through metres or kilograms; the factors are exact by definition (1959 agreement).
    let unit = |name: &str| -> Result<(char, f64), String> {
        Ok(match text(arguments, name)?.as_str() {
            "m" => ('l', 1.0),
            "km" => ('l', 1000.0),
            "ft" => ('l', 0.3048),
            "mi" => ('l', 1609.344),
            "kg" => ('w', 1.0),
            "lb" => ('w', 0.453_592_37),
            other => return Err(format!("{name}: no such unit: {other}")),
        })
    };
    let value = arguments
        .get("value")
        .and_then(Value::as_f64)
        .ok_or("value: a number is needed")?;
    let ((kind, from), (other, to)) = (unit("from")?, unit("to")?);
    if kind != other {
        return Err("a length can't be converted to a weight".to_owned());
    }
    Ok(json!({ "content": [{ "type": "text", "text": format!("{:.6}", value * from / to) }] }))
}

fn count_text(arguments: &Map<String, Value>) -> Result<Value, String> {
    let text = text(arguments, "text")?;
    let counts = json!({
        "lines": text.lines().count(),
        "words": text.split_whitespace().count(),
        "characters": text.chars().count(),
    });
    Ok(
        json!({ "content": [{ "type": "text", "text": counts.to_string() }], "structuredContent": counts }),
    )
}
