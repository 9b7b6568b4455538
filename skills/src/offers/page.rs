//! RESOURCES.md and PROMPTS.md: one entry each on a line, the command that asks for it on the next.
//!
//! The texts are made from what the server listed and nothing else. What strangers wrote stands in them on one line, with nothing
//! that can't be seen.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Offered, Offers, Prompt, Resource, Said, Template};
use crate::definition::quote;
use crate::summary::{is_invisible, one_line};

/// The value of a required argument in the command line of a prompt.
const EXAMPLE: &str = "text";

/// RESOURCES.md of a server; `None` where it has neither a resource nor a template.
pub(crate) fn resources(server: &str, offers: &Offers) -> Option<String> {
    let resources = sorted(&offers.resources);
    let templates = sorted(&offers.templates);
    let counted = counted_resources(resources.len(), templates.len())?;
    let mut text = format!(
        "# Resources of {server}\n\n{counted}. Reading this file asks no server; the commands do.\n"
    );
    for resource in resources {
        text.push_str(&of_resource(server, resource));
    }
    for template in templates {
        text.push_str(&of_template(server, template));
    }
    Some(text)
}

/// PROMPTS.md of a server; `None` where it has no prompt.
pub(crate) fn prompts(server: &str, offers: &Offers) -> Option<String> {
    let prompts = sorted(&offers.prompts);
    let counted = counted_prompts(prompts.len())?;
    let mut text = format!(
        "# Prompts of {server}\n\n{counted}. Reading this file asks no server; the commands do.\n"
    );
    for prompt in prompts {
        text.push_str(&of_prompt(server, prompt));
    }
    Some(text)
}

/// What the server's INDEX.md says of the two files, with its line end; empty where there is neither.
pub(crate) fn index_line(offers: &Offers) -> String {
    let count = |list: Option<usize>| list.unwrap_or_default();
    let resources = count(offers.resources.as_ref().map(Vec::len));
    let templates = count(offers.templates.as_ref().map(Vec::len));
    let prompts = count(offers.prompts.as_ref().map(Vec::len));
    let of_resources =
        counted_resources(resources, templates).map(|n| format!("RESOURCES.md: {n}"));
    let of_prompts = counted_prompts(prompts).map(|n| format!("PROMPTS.md: {n}"));
    let said: Vec<String> = of_resources.into_iter().chain(of_prompts).collect();
    match &said[..] {
        [] => String::new(),
        said => format!("{}\n", said.join("; ")),
    }
}

/// The command line that reads a resource, quoted for a POSIX shell; `None` for what no command line can show.
pub fn read_command(server: &str, uri: &str) -> Option<String> {
    let shown = !server.contains(is_invisible) && !uri.contains(is_invisible);
    let words = positionals(server, uri);
    shown.then(|| format!("shelf read {words}"))
}

/// The command line that asks for a prompt, with an example value for each required argument, quoted for a POSIX shell.
pub fn prompt_command(server: &str, prompt: &Prompt) -> String {
    let required = prompt.arguments.iter().filter(|argument| argument.required);
    let options = required.fold(String::new(), |mut options, argument| {
        let _ = write!(options, "--arg {}={EXAMPLE} ", quote(&argument.name));
        options
    });
    format!(
        "shelf prompt {options}{}",
        positionals(server, &prompt.name)
    )
}

fn positionals(server: &str, key: &str) -> String {
    let end_of_options = if key.starts_with('-') { "-- " } else { "" };
    format!("{end_of_options}{} {}", quote(server), quote(key))
}

fn sorted<T: Offered>(list: &Option<Vec<Arc<T>>>) -> Vec<&T> {
    let mut all: Vec<&T> = list.iter().flatten().map(AsRef::as_ref).collect();
    all.sort_by(|one, other| one.key().cmp(other.key()));
    all
}

fn counted_resources(resources: usize, templates: usize) -> Option<String> {
    match (
        counted(resources, "resource"),
        counted(templates, "template"),
    ) {
        (None, None) => None,
        (Some(only), None) | (None, Some(only)) => Some(only),
        (Some(resources), Some(templates)) => Some(format!("{resources}, {templates}")),
    }
}

fn counted_prompts(prompts: usize) -> Option<String> {
    counted(prompts, "prompt")
}

fn counted(count: usize, one: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {one}s")),
    }
}

fn of_resource(server: &str, resource: &Resource) -> String {
    let size = resource.size.map(|bytes| match bytes {
        1 => "1 byte".to_owned(),
        _ => format!("{bytes} bytes"),
    });
    let mut text = entry(&resource.uri, &resource.said, size);
    command(&mut text, read_command(server, &resource.uri));
    text
}

fn of_template(server: &str, template: &Template) -> String {
    let mut text = entry(&template.template, &template.said, None);
    let variables = template.variables();
    if !variables.is_empty() {
        let _ = writeln!(
            text,
            "    a value goes in the place of: {}",
            variables.join(", ")
        );
    }
    command(&mut text, read_command(server, &template.template));
    text
}

fn of_prompt(server: &str, prompt: &Prompt) -> String {
    let mut text = entry(&prompt.name, &prompt.said, None);
    for argument in &prompt.arguments {
        let required = if argument.required { " (required)" } else { "" };
        let _ = write!(text, "    {}{required}", argument.name);
        let description = one_line(&argument.said.description);
        if !description.is_empty() {
            let _ = write!(text, ": {description}");
        }
        text.push('\n');
    }
    command(&mut text, Some(prompt_command(server, prompt)));
    text
}

/// `key — title (kind, size): description`.
fn entry(key: &str, said: &Said, size: Option<String>) -> String {
    let mut text = format!("\n{key}");
    let title = one_line(&said.title);
    let mime = said
        .mime
        .as_deref()
        .map(one_line)
        .filter(|mime| !mime.is_empty());
    let facts: Vec<String> = mime.into_iter().chain(size).collect();
    // A name that only repeats the key says nothing.
    let mut about = if title == key { String::new() } else { title };
    if !facts.is_empty() {
        let space = if about.is_empty() { "" } else { " " };
        let _ = write!(about, "{space}({})", facts.join(", "));
    }
    let description = one_line(&said.description);
    for (before, part) in [
        (" — ", &about),
        (if about.is_empty() { " — " } else { ": " }, &description),
    ] {
        if !part.is_empty() {
            text.push_str(before);
            text.push_str(part);
        }
    }
    text.push('\n');
    text
}

fn command(text: &mut String, command: Option<String>) {
    if let Some(command) = command {
        let _ = writeln!(text, "    {command}");
    }
}
