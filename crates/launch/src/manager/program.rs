//! Executable and arguments of the processes of a plan.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use oxorb_deploy::Place;
use oxorb_deploy::plan::{Artifact, Implementation, Instance, Plan};
use oxorb_object::{Url, parse_reference};

use super::fetch::{Fetched, Fetching, Remote};
use super::settings::{Artifacts, NodeSettings};
use super::trouble::Trouble;
use super::trusted::{self, leads_below, stays_within};
use crate::LaunchError;
use crate::process::ARGUMENTS;

/// Program of a process of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// Arguments that precede those of the locality: the shared library that the executable loads, if there is one.
    pub(super) before: Vec<String>,
    /// Arguments of the plan's real-time resources, followed by those of the manager. If a setting occurs twice, the
    /// later one takes precedence.
    pub(super) arguments: Vec<String>,
    /// File that was fetched for the program. It stays as long as this field.
    fetched: Option<Arc<Fetched>>,
}

impl Program {
    /// Finds or fetches the common executable of all instances of a process.
    pub(super) fn of(
        part: &Plan,
        settings: &NodeSettings,
        fetching: &mut Fetching,
    ) -> Result<Program, Trouble> {
        let locations = Locations::of(part);
        let mut common = None;
        for instance in &part.instance {
            locations.share(&mut common, instance)?;
        }
        let Some(Used { instance, locations, .. }) = common else {
            return Err(Trouble::new("", "a process without instances"));
        };
        let (path, fetched) = find(&locations, &settings.artifacts, fetching)
            .map_err(|reason| Trouble::new(&instance.name, reason))?;
        let mut arguments = command_line(part)?;
        arguments.extend(settings.arguments.iter().cloned());
        if path.extension().is_none_or(|extension| extension != "so") {
            let before = Vec::new();
            return Ok(Program { path, before, arguments, fetched });
        }
        let Some((host, before)) = settings.library_host.split_first() else {
            let reason = format!(
                "its artifact {} is a shared library, but this node has no program that loads libraries \
                 (NodeSettings::library_host)",
                path.display()
            );
            return Err(Trouble::new(&instance.name, reason));
        };
        let mut before = before.to_vec();
        before.extend([path.display().to_string(), "--".to_owned()]);
        Ok(Program { path: host.into(), before, arguments, fetched })
    }
}

/// Finds or fetches the file at the first usable location of an artifact.
fn find(
    locations: &[&str],
    artifacts: &Artifacts,
    fetching: &mut Fetching,
) -> Result<(PathBuf, Option<Arc<Fetched>>), String> {
    let mut reasons = Vec::new();
    for (at, &location) in locations.iter().enumerate() {
        let untried = locations.len() - at;
        let found = match Remote::parse(location) {
            None => artifacts.find(location).map(|path| (path, None)),
            Some(remote) => remote
                .and_then(|remote| fetching.file(location, &remote, untried))
                .map(|fetched| (fetched.path().to_owned(), Some(fetched)))
                .map_err(of_artifact),
        };
        match found {
            Ok(found) => return Ok(found),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(all_of(&reasons))
}

/// Returns why none of the locations of an artifact is a file that a node manager on this machine would start. Returns
/// `None` if one of them is, or if nodes fetch one of them.
pub(crate) fn missing(artifacts: &Artifacts, locations: &[&str]) -> Option<String> {
    let mut reasons = Vec::new();
    for location in locations {
        match Remote::parse(location) {
            Some(Ok(_)) => return None,
            Some(Err(why)) => reasons.push(of_artifact(why)),
            None => reasons.push(artifacts.find(location).err()?),
        }
    }
    Some(all_of(&reasons))
}

/// Returns an error for a location whose syntax no node manager accepts.
fn check(location: &str) -> Result<(), String> {
    match Remote::parse(location) {
        Some(remote) => remote.map(drop).map_err(of_artifact),
        None => on_this_machine(location).map(drop),
    }
}

/// Returns the sentence about a location of an artifact.
fn of_artifact(reason: String) -> String {
    format!("its artifact {reason}")
}

/// Returns one reason for all locations of an artifact, each of which failed.
fn all_of(reasons: &[String]) -> String {
    if let [reason] = reasons {
        return reason.clone();
    }
    let mut text = format!("none of the {} locations of its artifact can be used", reasons.len());
    for (at, reason) in reasons.iter().enumerate() {
        let separator = if at == 0 { ':' } else { ';' };
        let _ = write!(text, "{separator} ({}) {reason}", at + 1);
    }
    text
}

/// Maximum number of locations of an artifact. They are tried one after the other.
const MOST_LOCATIONS: usize = 16;

/// An artifact and an instance of it.
pub(crate) struct Used<'p> {
    pub(crate) artifact: &'p Artifact,
    pub(crate) instance: &'p Instance,
    /// Alternative locations in the order of the plan. At least one of them is valid.
    pub(crate) locations: Vec<&'p str>,
}

/// Locations of the artifacts of a plan, by implementation. Creating this table takes time linear in the size of the
/// plan.
pub(crate) struct Locations<'p> {
    implementations: HashMap<&'p str, &'p Implementation>,
    artifacts: HashMap<&'p str, &'p Artifact>,
}

impl<'p> Locations<'p> {
    pub(crate) fn of(plan: &'p Plan) -> Locations<'p> {
        Locations {
            implementations: plan.implementation.iter().map(|one| (&*one.id.0, one)).collect(),
            artifacts: plan.artifact.iter().map(|one| (&*one.id.0, one)).collect(),
        }
    }

    /// Returns the distinct artifacts of a plan's instances, each with an instance that uses it.
    pub(crate) fn used(&self, plan: &'p Plan) -> Vec<Used<'p>> {
        let mut seen = HashSet::new();
        let mut used = Vec::new();
        for instance in &plan.instance {
            let implementation = self.implementations.get(&*instance.implementation.id);
            let first = implementation.and_then(|one| one.artifact.first());
            let Some(artifact) = first.and_then(|to| self.artifacts.get(&*to.id)) else {
                continue;
            };
            // Skip an artifact without a valid location, which other checks report.
            if seen.insert(&*artifact.id.0) {
                used.extend(self.artifact(instance));
            }
        }
        used
    }

    /// Adds an instance to a process. `common` contains the locations that the artifacts of all instances of the
    /// process have in common.
    ///
    /// # Errors
    /// The instance has no artifact with a valid location, or its artifact has none of these locations. `common` is then
    /// unchanged.
    pub(crate) fn share(
        &self,
        common: &mut Option<Used<'p>>,
        instance: &'p Instance,
    ) -> Result<(), LaunchError> {
        let own = self.artifact(instance)?;
        let Some(known) = common else {
            *common = Some(own);
            return Ok(());
        };
        if std::ptr::eq(known.artifact, own.artifact) {
            return Ok(());
        }
        let shared = known.locations.iter().filter(|one| own.locations.contains(one));
        let shared: Vec<&str> = shared.copied().collect();
        if shared.is_empty() {
            let what = format!(
                "instance {:?} shares a process with {:?}, but their artifacts are two executables, {} and {}",
                instance.name,
                known.instance.name,
                listed(&own.locations),
                listed(&known.locations)
            );
            let error = LaunchError::new(&instance.name, instance.place, what);
            return Err(error.cure("separate them with a localityConstraint DifferentProcess"));
        }
        known.locations = shared;
        Ok(())
    }

    /// Returns the first artifact of an instance's implementation.
    fn artifact(&self, instance: &'p Instance) -> Result<Used<'p>, LaunchError> {
        let wrong = |place: Place, what: String| LaunchError::new(&instance.name, place, what);
        let Some(implementation) = self.implementations.get(&*instance.implementation.id) else {
            let what =
                format!("the implementation of instance {:?} is not in the plan", instance.name);
            return Err(wrong(instance.place, what));
        };
        let Some(artifact) = implementation.artifact.first() else {
            let what = format!(
                "implementation {:?}, of instance {:?}, has no artifact, so there is no program to run",
                implementation.name, instance.name
            );
            let error = wrong(implementation.place, what);
            return Err(error.cure("add the executable into which it is linked as an artifact"));
        };
        let Some(artifact) = self.artifacts.get(&*artifact.id).copied() else {
            let what = format!("artifact {:?} is not in the plan", artifact.id);
            return Err(wrong(implementation.place, what));
        };
        let locations = artifact.location.iter().map(|location| location.trim());
        let locations: Vec<&str> = locations.filter(|location| !location.is_empty()).collect();
        if locations.is_empty() {
            let what = format!("artifact {:?} has no location", artifact.name);
            return Err(wrong(artifact.place, what));
        }
        let count = locations.len();
        if count > MOST_LOCATIONS {
            let what = format!(
                "artifact {:?} has {count} locations, but the limit is {MOST_LOCATIONS}",
                artifact.name
            );
            return Err(wrong(artifact.place, what));
        }
        let reasons: Vec<String> =
            locations.iter().filter_map(|location| check(location).err()).collect();
        match reasons.len() < count {
            true => Ok(Used { artifact, instance, locations }),
            false => Err(wrong(artifact.place, all_of(&reasons))),
        }
    }
}

/// Returns locations as alternatives in a sentence.
fn listed(locations: &[&str]) -> String {
    let quoted: Vec<String> = locations.iter().map(|location| format!("{location:?}")).collect();
    quoted.join(" or ")
}

/// Returns the path that a location denotes on the node's machine; see [`Remote::parse`] for others.
fn on_this_machine(location: &str) -> Result<Cow<'_, str>, String> {
    let scheme = location.split_once(':').map(|(scheme, _)| scheme);
    match scheme {
        Some(scheme) if scheme.eq_ignore_ascii_case("file") => match parse_reference(location) {
            Ok(Url::File(path)) => Ok(path.into()),
            _ => Err(format!("its artifact is at {location:?}, which names no path")),
        },
        _ => Ok(location.into()),
    }
}

/// Returns the arguments for processes that the real-time resources of a plan contain.
fn command_line(part: &Plan) -> Result<Vec<String>, Trouble> {
    let resources = crate::resources::resources_of(part)
        .map_err(|error| Trouble::new(part.label.clone().unwrap_or_default(), error.reason()))?;
    let line = resources.and_then(|resources| resources.cmdline);
    let line = line.map(|line| line.arg).unwrap_or_default();
    match managed_arguments(&line) {
        Ok(()) => Ok(line),
        Err(reason) => Err(Trouble::new(part.label.clone().unwrap_or_default(), reason)),
    }
}

/// Returns an error if a plan may not set one of these arguments for processes under managers.
pub(crate) fn managed_arguments(line: &[String]) -> Result<(), String> {
    crate::check_arguments(line)?;
    check_places(line)
}

/// Returns an error for arguments that would interfere with those that the manager adds before and after them.
fn check_places(line: &[String]) -> Result<(), String> {
    let own = |argument: &&String| {
        let name = argument.split_once('=').map_or(argument.as_str(), |(name, _)| name);
        ARGUMENTS.contains(&name)
    };
    if let Some(own) = line.iter().find(own) {
        return Err(format!(
            "its cmdline has {own:?}, which only the node manager may set; remove it"
        ));
    }
    let is_open = line.last().is_some_and(|last| last.starts_with("-ORB") && !last.contains('='));
    match (is_open, line.last()) {
        (true, Some(last)) => Err(format!(
            "its cmdline ends with {last:?}, which would take the node manager's next argument as its value; write -ORBNAME=VALUE"
        )),
        _ => Ok(()),
    }
}

impl Artifacts {
    /// Checks that executables can be found: the folder exists, and only this user and root may change it.
    ///
    /// # Errors
    /// A description of the problem with the folder.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Artifacts::Refused => Ok(()),
            Artifacts::Below(folder) | Artifacts::Anywhere(folder) => {
                let found = trusted::resolve(folder)
                    .map_err(|reason| format!("the folder of executables: {reason}"))?;
                match found.is_dir() {
                    true => Ok(()),
                    false => Err(format!("{} is not a folder of executables", folder.display())),
                }
            }
        }
    }

    /// Returns the path of the executable for a location in a plan on this machine.
    pub(crate) fn find(&self, location: &str) -> Result<PathBuf, String> {
        let location = on_this_machine(location)?;
        let folder = match self {
            Artifacts::Refused => {
                return Err(
                    "this node starts no executables, because no folder is configured (NodeSettings::artifacts, \
                     --artifacts)"
                        .to_owned(),
                );
            }
            Artifacts::Below(folder) | Artifacts::Anywhere(folder) => folder,
        };
        let path = folder.join(&*location);
        let outside = || {
            format!(
                "its artifact {} is not below {}, and this node runs no other executables (NodeSettings::artifacts, \
                 --artifacts)",
                path.display(),
                folder.display()
            )
        };
        let below = match self {
            Artifacts::Below(folder) => Some(
                trusted::resolve(folder)
                    .map_err(|reason| format!("the folder of its artifact: {reason}"))?,
            ),
            _ => None,
        };
        // Refuse a path outside the folder without accessing it. Otherwise the error would reveal whether the file
        // exists.
        if let Some(below) = &below
            && !(stays_within(&location) || leads_below(&path, folder) || leads_below(&path, below))
        {
            return Err(outside());
        }
        let found = trusted::resolve(&path)
            .map_err(|reason| format!("its artifact {location:?}: {reason}"))?;
        if below.is_some_and(|below| !found.starts_with(below)) {
            return Err(outside());
        }
        match found.is_file() {
            true => Ok(found),
            false => Err(format!("its artifact {} is not a file", found.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use oxorb_deploy::{Document, Format, Limits};

    use super::*;
    use crate::manager::split::tests::{PLAN, plan};
    use crate::manager::split::{by_node, by_process};

    /// Returns the program of a process on a node, which fetches files if its settings permit it.
    fn program(process: &Plan, settings: &NodeSettings) -> Result<Program, Trouble> {
        let orb = oxorb::Orb::builder().listen_late().build().unwrap();
        Program::of(process, settings, &mut Fetching::new(settings, (*orb).clone()))
    }

    #[test]
    fn a_process_is_not_started_with_arguments_that_a_plan_may_not_give() {
        let with = |argument: &str| {
            let mut plan = plan(PLAN);
            let text = format!("document = \"ServerResources\"\n[cmdline]\narg = [{argument:?}]\n");
            let read = Document::read(&text, Format::Toml, &Limits::default());
            crate::attach_resources(&mut plan, &read.unwrap().into_resources().unwrap()).unwrap();
            let settings = NodeSettings {
                artifacts: Artifacts::Anywhere(".".into()),
                arguments: vec!["-ORBAccess=allow uid:7".to_owned()],
                ..NodeSettings::default()
            };
            let plan = {
                for artifact in &mut plan.artifact {
                    artifact.location = vec!["/bin/sh".to_owned()];
                }
                plan
            };
            let (_, process) = by_process(&by_node(&plan)[0].1).remove(0);
            program(&process, &settings)
        };
        let program = with("-ORBSchedPolicy=SCHED_FIFO").unwrap();
        assert_eq!(program.arguments, ["-ORBSchedPolicy=SCHED_FIFO", "-ORBAccess=allow uid:7"]);
        for argument in ["-ORBLogFile=@HOME@/x", "-ORBListenEndpoints=iiop://0.0.0.0:0"] {
            let refused = with(argument).unwrap_err().to_string();
            assert!(refused.contains("which a plan may not set"), "{refused}");
        }
    }

    #[test]
    fn executables_outside_of_the_folder_are_refused() {
        let folder = std::env::temp_dir().join(format!("oxorb-program-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        std::fs::write(folder.join("bin/p"), "").unwrap();
        for name in ["", "bin", "bin/p"] {
            let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(folder.join(name), readable).unwrap();
        }
        let below = Artifacts::Below(folder.clone());
        assert!(below.find("bin/p").unwrap().ends_with("bin/p"));
        let outside = below.find("/bin/sh").unwrap_err();
        assert!(outside.contains("--artifacts"), "{outside}");
        let up = below.find("bin/../../../bin/sh").unwrap_err();
        assert!(up.contains("--artifacts"), "{up}");
        assert!(below.find("bin").unwrap_err().contains("not a file"));
        let anywhere = Artifacts::Anywhere(folder.clone());
        for url in ["file:///bin/sh", "FILE://localhost/bin/sh", "file:///bin/%73h", "file:/bin/sh"]
        {
            assert_eq!(anywhere.find(url).unwrap(), anywhere.find("/bin/sh").unwrap(), "{url}");
        }
        assert!(anywhere.find("file:").unwrap_err().contains("names no path"));
        // The error for a missing file outside the folder equals that for an existing one, and thus reveals nothing.
        let missing = below.find("/nonexistent/p").unwrap_err();
        assert_eq!(missing.replace("/nonexistent/p", "/bin/sh"), outside);
        let whole = folder.canonicalize().unwrap().join("bin/p");
        assert!(below.find(whole.to_str().unwrap()).is_ok());
        let link = folder.join("bin/sh");
        std::os::unix::fs::symlink("/bin/sh", link).unwrap();
        let led_out = below.find("bin/sh").unwrap_err();
        assert!(led_out.contains("--artifacts"), "{led_out}");
        let none = Artifacts::default().find("bin/p").unwrap_err();
        assert!(none.contains("--artifacts"), "{none}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn arguments_of_a_plan_do_not_change_those_of_the_manager() {
        let check = |line: &[&str]| {
            let line: Vec<String> = line.iter().map(|&one| one.to_owned()).collect();
            check_places(&line)
        };
        for line in [&[][..], &["-ORBSpin", "5"], &["-ORBSpin=5"], &["--verbose"]] {
            assert_eq!(check(line), Ok(()));
        }
        for line in [&["-ORBSchedPolicy=SCHED_FIFO", "-ORBInitRef"][..], &["-ORBSpin"]] {
            let refused = check(line).unwrap_err();
            assert!(refused.contains("write -ORBNAME=VALUE"), "{refused}");
        }
        for line in [&["--activator", "IOR:00"][..], &["--plan=p", "x"], &["x", "--wait"]] {
            let refused = check(line).unwrap_err();
            assert!(refused.contains("only the node manager may set"), "{refused}");
        }
    }

    #[test]
    fn executables_that_others_may_change_are_refused() {
        let folder = std::env::temp_dir().join(format!("oxorb-writable-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let allow = |name: &str, mode| {
            let rights = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(folder.join(name), rights).unwrap();
        };
        std::fs::write(folder.join("p"), "").unwrap();
        let all = [Artifacts::Below(folder.clone()), Artifacts::Anywhere(folder.clone())];
        for artifacts in all {
            allow("", 0o755);
            allow("p", 0o757);
            let refused = artifacts.find("p").unwrap_err();
            assert!(refused.contains("chmod go-w"), "{refused}");
            allow("p", 0o755);
            artifacts.find("p").unwrap();
            artifacts.check().unwrap();
            allow("", 0o777);
            artifacts.find("p").unwrap_err();
            artifacts.check().unwrap_err();
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_of_other_machines_are_refused_unless_the_node_fetches_them() {
        let at = |location: &str| {
            let mut plan = plan(PLAN);
            for artifact in &mut plan.artifact {
                artifact.location = vec![location.to_owned()];
            }
            let (_, process) = by_process(&by_node(&plan)[0].1).remove(0);
            let settings = NodeSettings {
                artifacts: Artifacts::Anywhere(".".into()),
                ..NodeSettings::default()
            };
            program(&process, &settings).unwrap_err().to_string()
        };
        let told = at("http://127.0.0.1/p");
        assert!(told.contains("\"http://127.0.0.1/p\" is on another machine"), "{told}");
        assert!(told.contains("--fetch-from URL"), "{told}");
        let told = at("corbaloc::127.0.0.1/RepositoryManager#p");
        assert!(told.contains("is the archive of a package"), "{told}");
        let told = at("http://example/p");
        assert!(told.contains("needs a checksum"), "{told}");
        let told = at("https://example/p");
        assert!(told.contains("--fetch-from URL"), "{told}");
        let told = at("ftp://example/p");
        assert!(told.contains("no manager fetches files by ftp:"), "{told}");
    }

    /// Returns a plan whose two artifacts have these locations.
    fn plan_at(locations: [&[&str]; 2], text: &str) -> Plan {
        let mut plan = plan(text);
        assert_eq!(plan.artifact.len(), locations.len());
        for (artifact, locations) in plan.artifact.iter_mut().zip(locations) {
            artifact.location = locations.iter().map(|&location| location.to_owned()).collect();
        }
        plan
    }

    #[test]
    fn locations_of_an_artifact_are_tried_in_their_order() {
        let settings =
            NodeSettings { artifacts: Artifacts::Anywhere(".".into()), ..NodeSettings::default() };
        let found = |locations: &[&str]| {
            let plan = plan_at([locations; 2], PLAN);
            let (_, process) = by_process(&by_node(&plan)[0].1).remove(0);
            program(&process, &settings).map(|program| program.path)
        };
        let shell = std::fs::canonicalize("/bin/sh").unwrap();
        let other = std::fs::canonicalize("/bin/ls").unwrap();
        assert_eq!(found(&["/bin/sh", "/bin/ls"]).as_ref(), Ok(&shell));
        assert_eq!(found(&["/bin/ls", "/bin/sh"]).as_ref(), Ok(&other));
        let before = ["", "/nonexistent/p", "ftp://h/p", "http://127.0.0.1/p"];
        assert_eq!(found(&[&before[..], &["/bin/sh"]].concat()).as_ref(), Ok(&shell));
        let told = found(&before).unwrap_err().to_string();
        for wanted in [
            "none of the 3 locations of its artifact can be used: (1) ",
            "\"/nonexistent/p\"",
            "; (2) its artifact \"ftp://h/p\": no manager fetches files by ftp:",
            "; (3) its artifact \"http://127.0.0.1/p\" is on another machine",
        ] {
            assert!(told.contains(wanted), "{wanted}: {told}");
        }
        let told = found(&["file:", "ftp://h/p"]).unwrap_err().to_string();
        assert!(told.contains("(1) its artifact is at \"file:\""), "{told}");
        let many = vec!["/bin/sh"; MOST_LOCATIONS + 1];
        let told = found(&many).unwrap_err().to_string();
        assert!(told.contains("has 17 locations, but the limit is 16"), "{told}");
        assert_eq!(found(&many[1..]).as_ref(), Ok(&shell));
    }

    #[test]
    fn instances_of_a_process_are_run_by_a_location_that_all_have() {
        let text =
            PLAN.replace("constrainedInstance = [\"c1\"]", "constrainedInstance = [\"c1\", \"p\"]");
        let settings =
            NodeSettings { artifacts: Artifacts::Anywhere(".".into()), ..NodeSettings::default() };
        let found = |locations| {
            let parts = by_node(&plan_at(locations, &text));
            let (_, process) = &by_process(&parts[0].1)[0];
            program(process, &settings).map(|program| program.path)
        };
        let shell = std::fs::canonicalize("/bin/sh").unwrap();
        let common = found([&["/bin/ls", "/nonexistent/p", "/bin/sh"], &["/bin/sh", "/bin/true"]]);
        assert_eq!(common.as_ref(), Ok(&shell));
        let told = found([&["/bin/ls", "/bin/sh"], &["/bin/true"]]).unwrap_err().to_string();
        assert!(told.contains("\"/bin/ls\" or \"/bin/sh\""), "{told}");
        assert!(told.contains("DifferentProcess"), "{told}");
    }

    #[test]
    fn instances_of_two_executables_share_no_process() {
        let text =
            PLAN.replace("constrainedInstance = [\"c1\"]", "constrainedInstance = [\"c1\", \"p\"]");
        let parts = by_node(&plan(&text));
        let (_, process) = &by_process(&parts[0].1)[0];
        let error = program(process, &NodeSettings::default()).unwrap_err();
        assert_eq!(error.name, "c1");
        assert!(error.reason.contains("DifferentProcess"), "{error}");
    }
}
