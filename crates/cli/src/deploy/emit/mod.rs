//! `oxorb deploy emit`: writes a plan for other engines.

mod kubernetes;
mod systemd;

use std::path::PathBuf;

use oxorb_deploy::check::Lookup;
use oxorb_deploy::plan::Plan;
use oxorb_deploy::rtcad::ServerResources;
use oxorb_deploy::{Process, Severity, processes};

use super::files;
use oxorb_terminal::output::{Done, Failed, because, warning};

/// Engines for which plans can be written.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Write systemd units, in a folder for each node
    #[command(
        after_help = "Each process of the plan becomes a service, and one target starts all services. With --rt, \
        processes whose instances have priorities may use real-time scheduling and lock memory, and run on the \
        specified processors. Programs and users are those of the target machines; they need not exist on this \
        machine. With --verify, systemd-analyze checks the units as if this were one of the target machines.\n\n\
        Example:\n  oxorb deploy emit systemd plan.toml --rt rt.toml --out units \\\n    \
        --command '/usr/local/bin/display --plan {plan} --rt {rt} --node {node} --process {process}'"
    )]
    Systemd(systemd::Args),
    /// Write Kubernetes manifests
    #[command(
        after_help = "Each process of the plan becomes a Deployment of one replica on its node. The plan and the \
        real-time resources become a ConfigMap, mounted at /etc/oxorb. With --rt, processes whose instances have \
        priorities get SYS_NICE, IPC_LOCK and whole processors. The static policy of the kubelet's CPU manager makes \
        these processors exclusive.\n\nExample:\n  \
        oxorb deploy emit kubernetes plan.toml --rt rt.toml --image registry.example/display:1 \\\n    \
        --command '/display --plan {plan} --rt {rt} --node {node} --process {process}' > display.json"
    )]
    Kubernetes(kubernetes::Args),
}

/// Plan, and the command that starts its processes.
#[derive(clap::Args)]
pub(super) struct What {
    /// Deployment plan: .cdp or .toml
    #[arg(value_name = "PLAN", value_hint = clap::ValueHint::FilePath)]
    plan: PathBuf,
    /// Real-time resources of the plan's instances: .csr or .toml
    #[arg(long, value_name = "RTCAD", value_hint = clap::ValueHint::FilePath)]
    rt: Option<PathBuf>,
    /// Command that starts each process; {plan}, {rt}, {node} and {process} in it are replaced, and words are separated
    /// by spaces
    #[arg(long, value_name = "COMMAND")]
    command: String,
}

/// Plan with a valid structure.
struct Loaded {
    plan: Plan,
    resources: Option<ServerResources>,
    /// File of the real-time resources; empty if there are none.
    rt: PathBuf,
    processes: Vec<Process>,
    /// Name of the plan: its label, or the name of its file.
    label: String,
    /// Short name for objects.
    name: String,
}

/// Writes a plan for one engine.
pub(super) fn run(command: Command) -> Done {
    match command {
        Command::Systemd(mut args) => {
            files::take_rt(&args.what.plan, &mut args.what.rt)?;
            systemd::run(&args)
        }
        Command::Kubernetes(mut args) => {
            files::take_rt(&args.what.plan, &mut args.what.rt)?;
            kubernetes::run(&args)
        }
    }
}

impl What {
    fn load(&self) -> Result<Loaded, Failed> {
        let located = |file: &PathBuf| {
            let file = file.clone();
            move |error| files::located(&file, &error)
        };
        let plan = files::read(&self.plan)?.into_plan().map_err(located(&self.plan))?;
        let resources = match &self.rt {
            Some(file) => Some(files::read(file)?.into_resources().map_err(located(file))?),
            None => None,
        };
        let input = oxorb_deploy::check::Input {
            plan: &plan,
            resources: resources.as_ref(),
            domain: None,
            components: None,
        };
        let report = oxorb_deploy::check::check(&input);
        let mut errors = report.findings.iter();
        if let Some(first) = errors.find(|finding| finding.severity == Severity::Error) {
            let files = files::Files { plan: &self.plan, rt: self.rt.as_deref(), domain: None };
            return Err(because(format!(
                "{}\nnothing was written, because the plan has errors; `oxorb deploy check` reports all errors",
                files.line(first)
            )));
        }
        self.check_command()?;
        let mut ends = plan.connection.iter().flat_map(|connection| &connection.internal_endpoint);
        if let Some(end) = ends.find(|end| end.kind.is_extended()) {
            return Err(because(format!(
                "{}:{}: processes cannot connect extended ports: `oxorb deploy convert --idl` writes a plan that \
                 connects the basic ports instead",
                self.plan.display(),
                end.place
            )));
        }
        let name = plan.label.clone().filter(|label| !label.trim().is_empty());
        let stem = || self.plan.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let label = name.unwrap_or_else(stem);
        let name = slug(&label);
        let processes = processes(&plan);
        let mut seen = std::collections::HashSet::new();
        for process in &processes {
            if !seen.insert((slug(&process.node), slug(&process.name))) {
                let first = process.instances.first().map(|&at| plan.instance[at].place);
                return Err(because(format!(
                    "{}: process {:?} on node {:?} has the same name as another process when the name is reduced to \
                     lower-case letters, digits and hyphens: rename an instance",
                    files::at(&self.plan, first.unwrap_or_default()),
                    process.name,
                    process.node
                )));
            }
        }
        if joins(&plan, &processes)
            && self.command.contains("{plan}")
            && !self.command.contains("--references")
        {
            warning(&format!(
                "the plan has {} processes, which find each other only through a shared folder: add --references \
                 FOLDER to --command",
                processes.len()
            ));
        }
        let rt = self.rt.clone().unwrap_or_default();
        Ok(Loaded { plan, resources, rt, processes, label, name })
    }

    /// Refuses a command with an unknown name in braces, which would be passed to the program as it is.
    fn check_command(&self) -> Done {
        let is_word = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|octet| octet.is_ascii_lowercase() || octet == b'_')
        };
        let mut before = "";
        for part in self.command.split_inclusive('{') {
            let name = part.split_once('}').map(|(name, _)| name);
            // `${NAME}` is a variable of the engine.
            let opens = before.ends_with('{') && !before.ends_with("${");
            if let Some(name) = name.filter(|name| opens && is_word(name))
                && !["plan", "rt", "node", "process"].contains(&name)
            {
                return Err(because(format!(
                    "--command {:?} contains {{{name}}}, but only {{plan}}, {{rt}}, {{node}} and {{process}} are \
                     replaced",
                    self.command
                )));
            }
            before = part;
        }
        Ok(())
    }

    /// Returns the command line of a process that reads these files; `rt` is used only if there are real-time
    /// resources. `quote` protects names from the engine, which would replace parts of them.
    fn words(
        &self,
        plan: &str,
        rt: &str,
        process: &Process,
        quote: fn(&str) -> String,
    ) -> Result<Vec<String>, Failed> {
        let (has_plan, has_rt) = (self.command.contains("{plan}"), self.command.contains("{rt}"));
        match &self.rt {
            None if has_rt => {
                return Err(because(format!(
                    "--command {:?} contains {{rt}}, but no real-time resources are specified: add --rt FILE",
                    self.command
                )));
            }
            Some(_) if has_plan && !has_rt && !self.command.contains("--rt") => {
                return Err(because(format!(
                    "processes of --command {:?} would run without the real-time resources: add --rt {{rt}} to it",
                    self.command
                )));
            }
            _ => {}
        }
        let values = [
            ("plan", quote(plan)),
            ("rt", quote(rt)),
            ("node", quote(&process.node)),
            ("process", quote(&process.name)),
        ];
        let words = self.command.split_whitespace();
        let words: Vec<String> = words.map(|word| filled(word, &values)).collect();
        match words.first() {
            Some(program) if program.starts_with('/') => Ok(words),
            _ => Err(because(format!(
                "--command {:?} must begin with the absolute path of a program",
                self.command
            ))),
        }
    }
}

impl Loaded {
    /// Returns the real-time resources by name.
    fn lookup(&self) -> Option<Lookup<'_>> {
        self.resources.as_ref().map(Lookup::of)
    }

    /// Reports whether instances of a process have priorities.
    fn is_real_time(&self, process: &Process, resources: Option<&Lookup<'_>>) -> bool {
        let Some(resources) = resources else {
            return false;
        };
        let has_policy = |&at: &usize| resources.set_of(&self.plan.instance[at]).is_some();
        process.instances.iter().any(has_policy)
    }

    /// Returns the processors of a process; empty for all.
    fn processors(
        &self,
        process: &Process,
        resources: Option<&Lookup<'_>>,
    ) -> Result<Vec<u16>, Failed> {
        let mut all = std::collections::BTreeSet::new();
        let Some(resources) = resources else {
            return Ok(Vec::new());
        };
        for &at in &process.instances {
            let instance = &self.plan.instance[at].name;
            let attachment = resources.attachment(instance);
            let said = attachment.and_then(|attachment| attachment.cpus.as_deref());
            let place = attachment.map(|attachment| attachment.place).unwrap_or_default();
            for part in said.into_iter().flat_map(|said| said.split(',')) {
                let wrong = || {
                    because(format!(
                        "{}: {part:?} of instance {instance:?} is not a processor; write for example cpus = \"0,2-3\"",
                        files::at(&self.rt, place)
                    ))
                };
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let read =
                    |text: &str| text.trim().parse::<u16>().ok().filter(|&number| number < 1024);
                let (first, last) = (read(first).ok_or_else(wrong)?, read(last).ok_or_else(wrong)?);
                if first > last {
                    return Err(wrong());
                }
                all.extend(first..=last);
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Returns the names of the instances of a process.
    fn instances(&self, process: &Process) -> String {
        let names = process.instances.iter().map(|&at| &*self.plan.instance[at].name);
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Reports whether a connection of a plan joins two of its processes.
fn joins(plan: &Plan, processes: &[Process]) -> bool {
    let process_of = |instance: &oxorb_deploy::Ref| {
        let at = plan.instance_at(instance);
        processes.iter().position(|process| at.is_some_and(|at| process.instances.contains(&at)))
    };
    plan.connection.iter().any(|connection| {
        let mut ends = connection.internal_endpoint.iter().map(|end| process_of(&end.instance));
        let first = ends.next();
        ends.any(|end| Some(end) != first)
    })
}

/// Replaces the names in braces of a word by their values, in which nothing is replaced.
fn filled(word: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::new();
    let mut rest = word;
    while let Some((plain, behind)) = rest.split_once('{') {
        filled.push_str(plain);
        let mut found = values.iter().filter_map(|(name, value)| {
            let behind = behind.strip_prefix(name)?.strip_prefix('}')?;
            Some((value.as_str(), behind))
        });
        let (text, behind) = found.next().unwrap_or(("{", behind));
        filled.push_str(text);
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

/// Returns a name of 1 to 40 lower-case letters, digits and single hyphens, valid for files and objects.
pub(super) fn slug(name: &str) -> String {
    let mut out = String::new();
    for character in name.chars().take(40) {
        match character.to_ascii_lowercase() {
            plain @ ('a'..='z' | '0'..='9') => out.push(plain),
            _ if out.ends_with('-') || out.is_empty() => {}
            _ => out.push('-'),
        }
    }
    let out = out.trim_matches('-').to_owned();
    if out.is_empty() { "plan".to_owned() } else { out }
}

/// Returns a hash of a name that is too long for its engine (FNV-1a).
fn hash(name: &str) -> u32 {
    let next = |hash: u32, octet: u8| (hash ^ u32::from(octet)).wrapping_mul(0x0100_0193);
    name.bytes().fold(0x811c_9dc5, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_replaced_in_a_value() {
        let values = [("node", "{process}".to_owned()), ("process", "{node}$".to_owned())];
        for (word, wanted) in [
            ("--node={node}", "--node={process}"),
            ("{process}{node}", "{node}${process}"),
            ("{{node}}", "{{process}}"),
            ("${HOME}/{other}{", "${HOME}/{other}{"),
            ("plain", "plain"),
        ] {
            assert_eq!(filled(word, &values), wanted, "{word}");
        }
    }
}
