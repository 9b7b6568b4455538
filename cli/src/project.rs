//! The project that the user works in: whether it counts, and what is said of one that does not.
//!
//! Of a project that is not trusted no more is read than that it is there.

use std::path::{Path, PathBuf};

use daemon::project::Project;
use daemon::project::trust::{Trust, Trusts};
use skills::definition::quote;
use skills::problem::Problem;
use skills::summary::spelt_out;

use crate::environment::Environment;
use crate::ui::Ui;

/// The project that is in use: the one that the working directory lies in, if it is trusted. A list of trusted projects that can't
/// be used trusts none.
pub(crate) fn in_use(environment: &Environment) -> Option<PathBuf> {
    let project = here(environment)?;
    trust_in(&project, environment).ok().flatten()?;
    Some(project.directory)
}

/// Says in a line what lies in the project and is not trusted, and how that is done.
pub(crate) fn tell(environment: &Environment, ui: &Ui) {
    let Some(project) = here(environment) else {
        return;
    };
    match trust_in(&project, environment) {
        Ok(trust) => {
            if let Some(notice) = notice(&project, trust.as_ref()) {
                ui.note(&notice);
            }
        }
        Err(problem) => {
            ui.warning(&problem.to_string());
            if let Some(hint) = &problem.hint {
                ui.hint(hint);
            }
        }
    }
}

/// What is trusted, by the user whose command this is.
pub(crate) fn trusts(environment: &Environment) -> Result<Trusts, Problem> {
    Ok(Trusts::below(&environment.directories()?.state))
}

/// A path as it can be typed and read: a stranger may have named it.
pub(crate) fn shown(path: &Path) -> String {
    spelt_out(&quote(&path.to_string_lossy()))
}

fn here(environment: &Environment) -> Option<Project> {
    let home = environment.home_directory();
    Project::find(&environment.working_directory()?, home.as_deref())
}

fn trust_in(project: &Project, environment: &Environment) -> Result<Option<Trust>, Problem> {
    trusts(environment)?.find(&project.directory)
}

fn notice(project: &Project, trust: Option<&Trust>) -> Option<String> {
    let untrusted = project.untrusted(trust);
    let (last, others) = untrusted.split_last()?;
    let parts = match others {
        [] => (*last).to_owned(),
        others => format!("{} and {last}", others.join(", ")),
    };
    let standing = match trust {
        Some(_) => "not as it was trusted",
        None => "not trusted",
    };
    let directory = shown(&project.directory);
    Some(format!(
        "this project has {parts}, {standing}: see shelf trust {directory}"
    ))
}

#[cfg(test)]
mod tests {
    use daemon::project::trust::Trust;
    use daemon::project::{Project, Skills};

    use super::notice;

    #[test]
    fn the_notice_names_what_is_not_trusted_and_nothing_else() {
        let skills = |name| Skills {
            name,
            real: format!("/a b/{name}").into(),
        };
        let mut project = Project {
            directory: "/a b".into(),
            has_servers: true,
            skills: vec![skills(".agents/skills"), skills(".claude/skills")],
        };
        assert_eq!(
            notice(&project, None).unwrap(),
            "this project has .mcp.json, .agents/skills and .claude/skills, not trusted: see shelf trust '/a b'"
        );
        project.has_servers = false;
        let mut trust = Trust::of(&project, None);
        assert_eq!(notice(&project, Some(&trust)), None);
        trust.skills.pop();
        assert_eq!(
            notice(&project, Some(&trust)).unwrap(),
            "this project has .claude/skills, not as it was trusted: see shelf trust '/a b'"
        );
    }
}
