//! Executable and arguments of a process of a plan.

use std::path::{Path, PathBuf};

use oxorb_deploy::plan::{Instance, Plan};

use super::settings::{Artifacts, NodeSettings};
use super::trouble::Trouble;
use crate::process::ARGUMENTS;

/// Program that a process of a plan executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// Arguments before those that say which process it is: a shared library that the executable loads.
    pub(super) before: Vec<String>,
    /// Arguments of the plan's real-time resources, and then of the manager: the later of two settings wins.
    pub(super) arguments: Vec<String>,
}

impl Program {
    /// Finds the executable of all instances of a process.
    pub(super) fn of(part: &Plan, settings: &NodeSettings) -> Result<Program, Trouble> {
        let mut found: Option<(&Instance, &str)> = None;
        for instance in &part.instance {
            let location = location(part, instance)?;
            match found {
                Some((first, other)) if other != location => {
                    return Err(Trouble::new(
                        &instance.name,
                        format_args!(
                            "shares a process with {:?}, and their artifacts are two executables, {location:?} and {other:?}; \
                             separate them by a localityConstraint DifferentProcess",
                            first.name
                        ),
                    ));
                }
                _ => found = Some((instance, location)),
            }
        }
        let Some((instance, location)) = found else {
            return Err(Trouble::new("", "a process without instances"));
        };
        let path = settings
            .artifacts
            .find(location)
            .map_err(|reason| Trouble::new(&instance.name, reason))?;
        let mut arguments = command_line(part)?;
        arguments.extend(settings.arguments.iter().cloned());
        if path.extension().is_none_or(|extension| extension != "so") {
            let before = Vec::new();
            return Ok(Program { path, before, arguments });
        }
        let Some((host, before)) = settings.library_host.split_first() else {
            let reason = format!(
                "its artifact {} is a shared library, and this node has no program that loads one (NodeSettings::library_host)",
                path.display()
            );
            return Err(Trouble::new(&instance.name, reason));
        };
        let mut before = before.to_vec();
        before.extend([path.display().to_string(), "--".to_owned()]);
        Ok(Program { path: host.into(), before, arguments })
    }
}

/// Location of the first artifact of an instance's implementation.
fn location<'p>(part: &'p Plan, instance: &Instance) -> Result<&'p str, Trouble> {
    let trouble = |reason: String| Err(Trouble::new(&instance.name, reason));
    let at = part.implementation_at(&instance.implementation);
    let Some(implementation) = at.and_then(|at| part.implementation.get(at)) else {
        return trouble("its implementation is not in the plan".to_owned());
    };
    let Some(artifact) = implementation.artifact.first() else {
        return trouble(format!(
            "implementation {:?} has no artifact, so there is nothing to run; give it the executable that has it linked in",
            implementation.name
        ));
    };
    let at = part.artifact_at(artifact);
    let Some(artifact) = at.and_then(|at| part.artifact.get(at)) else {
        return trouble(format!("artifact {:?} is not in the plan", artifact.id));
    };
    let mut locations = artifact.location.iter().map(|location| location.trim());
    match locations.find(|location| !location.is_empty()) {
        Some(location) => Ok(location),
        None => trouble(format!("artifact {:?} has no location", artifact.name)),
    }
}

/// Arguments that the real-time resources of a plan have for its processes.
fn command_line(part: &Plan) -> Result<Vec<String>, Trouble> {
    let resources = crate::resources::resources_of(part)
        .map_err(|error| Trouble::new(part.label.clone().unwrap_or_default(), error.reason()))?;
    let line = resources.and_then(|resources| resources.cmdline);
    let line = line.map(|line| line.arg).unwrap_or_default();
    match check_arguments(&line) {
        Ok(()) => Ok(line),
        Err(reason) => Err(Trouble::new(part.label.clone().unwrap_or_default(), reason)),
    }
}

/// Refuses arguments of a plan that would change those of the manager, which stand around them.
fn check_arguments(line: &[String]) -> Result<(), String> {
    let own = |argument: &&String| {
        let name = argument.split_once('=').map_or(argument.as_str(), |(name, _)| name);
        ARGUMENTS.contains(&name)
    };
    if let Some(own) = line.iter().find(own) {
        return Err(format!(
            "its cmdline has {own:?}, which the node manager alone gives; take it out"
        ));
    }
    // TAO's form of it has two values.
    let lane = |name: &str| name.eq_ignore_ascii_case("-ORBLaneListenEndpoints");
    let is_open = match line {
        [.., name, lanes] if lane(name) => !lanes.contains(['=', ' ']),
        [.., last] => last.starts_with("-ORB") && !last.contains('='),
        [] => false,
    };
    match (is_open, line.last()) {
        (true, Some(last)) => Err(format!(
            "its cmdline ends with {last:?}, which would take the node manager's next argument as its value; write -ORBNAME=VALUE"
        )),
        _ => Ok(()),
    }
}

impl Artifacts {
    /// Finds the executable of a location of a plan.
    fn find(&self, location: &str) -> Result<PathBuf, String> {
        let location = location.strip_prefix("file://").unwrap_or(location);
        if location.contains("://") {
            return Err(format!(
                "its artifact is at {location:?}; a node runs files of its own: copy it there, and say the path"
            ));
        }
        let (Artifacts::Below(folder) | Artifacts::Anywhere(folder)) = self;
        let path = folder.join(location);
        let found = path
            .canonicalize()
            .map_err(|error| format!("its artifact {}: {error}", path.display()))?;
        if let Artifacts::Below(folder) = self {
            let within = folder.canonicalize();
            if !within.is_ok_and(|folder| found.starts_with(folder)) {
                return Err(format!(
                    "its artifact {} is not below {}, and this node runs no others (NodeSettings::artifacts, --artifacts)",
                    found.display(),
                    shown(folder)
                ));
            }
        }
        match found.is_file() {
            true => Ok(found),
            false => Err(format!("its artifact {} is no file", found.display())),
        }
    }
}

fn shown(folder: &Path) -> String {
    folder.canonicalize().as_deref().unwrap_or(folder).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::split::tests::{PLAN, plan};
    use crate::manager::split::{by_node, by_process};

    #[test]
    fn executables_outside_of_the_folder_are_refused() {
        let folder = std::env::temp_dir().join(format!("oxorb-program-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        std::fs::write(folder.join("bin/p"), "").unwrap();
        let below = Artifacts::Below(folder.clone());
        assert!(below.find("bin/p").unwrap().ends_with("bin/p"));
        let outside = below.find("/bin/sh").unwrap_err();
        assert!(outside.contains("--artifacts"), "{outside}");
        let up = below.find("bin/../../../bin/sh").unwrap_err();
        assert!(up.contains("--artifacts"), "{up}");
        assert!(below.find("bin").unwrap_err().contains("no file"));
        let remote = below.find("http://example/p").unwrap_err();
        assert!(remote.contains("copy it there"), "{remote}");
        let anywhere = Artifacts::Anywhere(folder.clone());
        assert!(anywhere.find("file:///bin/sh").is_ok());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn arguments_of_a_plan_do_not_change_those_of_the_manager() {
        let check = |line: &[&str]| {
            let line: Vec<String> = line.iter().map(|&one| one.to_owned()).collect();
            check_arguments(&line)
        };
        for line in [
            &[][..],
            &["-ORBAccess", "allow all"],
            &["-ORBAccess=allow all"],
            &["-ORBLaneListenEndpoints", "1:0", "iiop://h"],
            &["-ORBLaneListenEndpoints", "1:0=iiop://h"],
            &["--verbose"],
        ] {
            assert_eq!(check(line), Ok(()));
        }
        for line in [
            &["-ORBSchedPolicy=SCHED_FIFO", "-ORBInitRef"][..],
            &["-ORBLaneListenEndpoints", "1:0"],
            &["-ORBLaneListenEndpoints"],
        ] {
            let refused = check(line).unwrap_err();
            assert!(refused.contains("write -ORBNAME=VALUE"), "{refused}");
        }
        for line in [&["--activator", "IOR:00"][..], &["--plan=p", "x"], &["x", "--wait"]] {
            let refused = check(line).unwrap_err();
            assert!(refused.contains("the node manager alone gives"), "{refused}");
        }
    }

    #[test]
    fn instances_of_two_executables_share_no_process() {
        let text =
            PLAN.replace("constrainedInstance = [\"c1\"]", "constrainedInstance = [\"c1\", \"p\"]");
        let parts = by_node(&plan(&text));
        let (_, process) = &by_process(&parts[0].1)[0];
        let error = Program::of(process, &NodeSettings::default()).unwrap_err();
        assert_eq!(error.name, "c1");
        assert!(error.reason.contains("DifferentProcess"), "{error}");
    }
}
