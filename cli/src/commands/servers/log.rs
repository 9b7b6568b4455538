//! `shelf servers log`: what a server wrote to its standard error. The files are there without a daemon, too.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use clap::Args;
use daemon::client::ANSWER;
use skills::problem::{Problem, ProblemKind};

use crate::environment::Environment;
use crate::error::CommandResult;
use crate::selection::Which;
use crate::ui::Ui;

/// How long to wait between two looks at a file that is followed.
const INTERVAL: Duration = Duration::from_millis(100);

/// Print what a server wrote to its standard error since its last start
///
/// Of several instances or places of one server, what was written last is printed. Lines of its standard output that are no messages of the
/// protocol are here too, as `stdout: …`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shelf servers log github -n 20\n  shelf servers log github -f")]
pub(super) struct Arguments {
    /// The server's name
    #[arg(value_name = "NAME")]
    server: String,

    /// Go on, and print what it writes as it writes it
    #[arg(short, long)]
    follow: bool,

    /// Print only the last N lines
    #[arg(short = 'n', long, value_name = "N")]
    lines: Option<usize>,

    #[command(flatten)]
    which: Which,
}

pub(super) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let path = newest(candidates(arguments, environment)?);
    let Some(path) = path else {
        let message = format!("server `{}` has written nothing yet", arguments.server);
        return Err(Problem::new(ProblemKind::NotFound, message)
            .hint("it is started by a call of one of its tools, or by shelf servers restart")
            .into());
    };
    let unreadable = |error: io::Error| {
        let message = format!("the server's log can't be read: {error}");
        Problem::new(ProblemKind::Unreadable, message).at_file(&path, None)
    };
    let mut log = Follower::open(&path).map_err(unreadable)?;
    let text = log.more().map_err(unreadable)?;
    ui.text(last_lines(&text, arguments.lines))?;
    if arguments.follow {
        loop {
            sleep(INTERVAL);
            let text = log.more().map_err(unreadable)?;
            if !text.is_empty() {
                ui.text(&text)?;
            }
        }
    }
    if text.is_empty() {
        ui.note(&format!("{} is empty", path.display()));
    }
    Ok(())
}

/// The files that may be meant. A daemon knows its own; without one they are looked for in every place.
fn candidates(arguments: &Arguments, environment: &Environment) -> Result<Vec<PathBuf>, Problem> {
    let wanted = arguments.server.as_str();
    let running = arguments
        .which
        .connect_if_running(environment, None, ANSWER)?;
    if let Some(mut client) = running {
        let reports = client.servers()?.servers;
        let of_it = reports.iter().filter(|report| report.name == wanted);
        let logs: Vec<_> = of_it
            .clone()
            .filter_map(|report| report.log.clone())
            .collect();
        if of_it.count() > 0 {
            return Ok(logs);
        }
        let mut names: Vec<_> = reports.into_iter().map(|report| report.name).collect();
        names.dedup();
        let problem = Problem::new(
            ProblemKind::NotFound,
            format!("there is no server `{wanted}`"),
        );
        return Err(problem.hint(match names.as_slice() {
            [] => "no server is configured".to_owned(),
            names => format!("the servers are {}", names.join(", ")),
        }));
    }
    Ok(kept(
        &environment.directories()?.state.join("servers"),
        wanted,
    ))
}

/// The logs that are kept of a server, whoever wrote them: its own and those of single sessions' instances.
fn kept(servers: &Path, wanted: &str) -> Vec<PathBuf> {
    let name = skills::names::encode(wanted);
    let is_its = |path: &Path| {
        let file = path.file_name().and_then(|name| name.to_str());
        let rest = file.and_then(|file| file.strip_prefix(&*name)?.strip_suffix(".log"));
        rest.is_some_and(|rest| match rest.strip_prefix('~') {
            Some(place) => !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit()),
            None => rest.is_empty(),
        })
    };
    let below = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten();
    let places = below(servers).map(|place| place.path());
    places
        .flat_map(|place| below(&place).map(|file| file.path()).collect::<Vec<_>>())
        .filter(|path| is_its(path))
        .collect()
}

/// The one that was written last. An empty one says nothing: it counts only where there is no other.
fn newest(paths: Vec<PathBuf>) -> Option<PathBuf> {
    let written = |path: &PathBuf| {
        let metadata = fs::metadata(path).ok()?;
        let time = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Some((metadata.len() > 0, time))
    };
    let known = paths
        .into_iter()
        .filter_map(|path| Some((written(&path)?, path)));
    known.max().map(|(_, path)| path)
}

fn last_lines(text: &str, count: Option<usize>) -> &str {
    let Some(count) = count else {
        return text;
    };
    let body = text.strip_suffix('\n').unwrap_or(text);
    let before = body.rmatch_indices('\n').nth(count.saturating_sub(1));
    match before {
        _ if count == 0 => "",
        Some((at, _)) => &text[at + 1..],
        None => text,
    }
}

/// A log that may grow, and that each start of the server begins anew.
struct Follower {
    file: File,
    offset: u64,
    /// The bytes of a character that was not written whole yet.
    rest: Vec<u8>,
}

impl Follower {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            offset: 0,
            rest: Vec::new(),
        })
    }

    /// What was written since the last look. Bytes that are no text are replaced.
    fn more(&mut self) -> io::Result<String> {
        if self.file.metadata()?.len() < self.offset {
            self.offset = 0;
            self.rest.clear();
        }
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = std::mem::take(&mut self.rest);
        self.offset += self.file.read_to_end(&mut bytes)? as u64;
        if let Err(error) = str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            self.rest = bytes.split_off(error.valid_up_to());
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;
    use std::time::{Duration, SystemTime};

    use super::{Follower, kept, last_lines, newest};

    #[test]
    fn the_last_lines_are_counted_from_the_end() {
        let text = "a\nb\nc\n";
        for (count, lines) in [(0, ""), (1, "c\n"), (2, "b\nc\n"), (3, text), (9, text)] {
            assert_eq!(last_lines(text, Some(count)), lines, "{count}");
        }
        assert_eq!(last_lines("a\nb", Some(1)), "b");
        assert_eq!(last_lines("", Some(3)), "");
        assert_eq!(last_lines(text, None), text);
    }

    #[test]
    fn a_log_that_began_anew_is_read_from_its_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.log");
        fs::write(&path, "first\nhalf of an \u{e9}".as_bytes()).unwrap();
        let mut file = File::options().write(true).open(&path).unwrap();
        let whole = file.metadata().unwrap().len();
        file.set_len(whole - 1).unwrap();
        let mut log = Follower::open(&path).unwrap();
        assert_eq!(log.more().unwrap(), "first\nhalf of an ");
        assert_eq!(log.more().unwrap(), "");
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).unwrap();
        file.write_all(&"\u{e9}".as_bytes()[1..]).unwrap();
        assert_eq!(log.more().unwrap(), "\u{e9}");
        fs::write(&path, "anew\n").unwrap();
        assert_eq!(log.more().unwrap(), "anew\n");
    }

    #[test]
    fn the_logs_of_one_server_are_found_wherever_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let write = |name: &str, text: &str, age: u64| {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
            path
        };
        let mine = write("one/a.log", "x", 30);
        let newer = write("two/a~12.log", "x", 20);
        let empty = write("two/a.log", "", 10);
        write("two/ab.log", "x", 0);
        write("two/a~abcdef.log", "x", 0);
        write("two/a~.log", "x", 0);
        let mut found = kept(directory.path(), "a");
        found.sort();
        assert_eq!(found, [mine, empty.clone(), newer.clone()]);
        assert_eq!(newest(found), Some(newer));
        assert_eq!(newest(vec![empty.clone()]), Some(empty));
        assert_eq!(newest(kept(directory.path(), "b")), None);
    }
}
