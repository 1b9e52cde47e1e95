//! `oxorb deploy launch` and `oxorb deploy redeploy`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxorb::deployment::idl::deployment::NodeManagerRef;
use oxorb::deployment::{
    Artifacts, Changes, EXECUTION_MANAGER, Launched, NodeManager, Plans, RestartPolicy, StartedBy,
    Trouble, attach_resources,
};
use oxorb::values::Printable;
use oxorb::{Interface as _, Orb};
use oxorb_deploy::basic::Property;
use oxorb_deploy::check::Input;
use oxorb_deploy::plan::Plan;
use oxorb_deploy::value::Any;
use oxorb_deploy::{Severity, expand_extended_ports};
use serde_json::json;

use super::execution::{ManagerArgs, Nodes, Serving, end_with_last_plan, warn};
use super::{changes, components, files};
use crate::idl::Reading;
use crate::listening::{Callers, urls};
use crate::node::Starting;
use oxorb_terminal::orb::heed_signals;
use oxorb_terminal::output::{Done, Failed, Format, because, print, print_json, print_line};

/// Plan, and its accompanying documents.
#[derive(clap::Args)]
struct What {
    /// Deployment plan: .cdp or .toml
    #[arg(value_name = "PLAN", value_hint = clap::ValueHint::FilePath)]
    plan: PathBuf,
    /// Real-time resources of the plan's instances: .csr or .toml
    #[arg(long, value_name = "RTCAD", value_hint = clap::ValueHint::FilePath)]
    rt: Option<PathBuf>,
    /// Domain that lists the existing nodes: .cdd or .toml
    #[arg(long, value_name = "DOMAIN", value_hint = clap::ValueHint::FilePath)]
    domain: Option<PathBuf>,
    /// IDL file of the components, with which ports and attributes are checked, and extended ports connected; may be
    /// repeated
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    idl: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Launch even if `oxorb deploy check` finds errors in policies, rates or deadlines
    #[arg(long)]
    unchecked: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Arguments of `oxorb deploy launch`.
#[derive(clap::Args)]
pub(crate) struct LaunchArgs {
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    at: ManagerArgs,
    /// Manage all nodes of the plan in this process
    #[arg(long, conflicts_with = "at")]
    local: bool,
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    serving: Serving,
    #[command(flatten)]
    starting: Starting,
}

/// Arguments of `oxorb deploy redeploy`.
#[derive(clap::Args)]
pub(crate) struct RedeployArgs {
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    at: ManagerArgs,
    /// Restart policy for processes that end unexpectedly: never, or on-failure[:LIMIT[:MILLISECONDS]]
    #[arg(long, value_name = "POLICY")]
    restart: Option<RestartPolicy>,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl LaunchArgs {
    /// Reports whether this process is the execution manager.
    fn is_own(&self) -> bool {
        self.local || !self.nodes.known.is_empty() || self.nodes.naming
    }

    /// Refuses options that would be ignored.
    fn check(&self) -> Done {
        self.nodes.check()?;
        if self.is_own() && self.at.at.is_some() {
            return Err(because(
                "--at names an execution manager, and with --node or --naming this command is the execution manager: \
                 leave out one of them",
            ));
        }
        if let Some(option) = self.serving.given().filter(|_| !self.is_own()) {
            return Err(because(format!(
                "{option} is for an execution manager in this process: add --local, --node or --naming, or omit it"
            )));
        }
        match self.starting.given().filter(|_| !self.local) {
            Some(option) => Err(because(format!(
                "{option} is for node managers in this process: add --local, or pass it to `oxorb node serve`"
            ))),
            None => Ok(()),
        }
    }
}

impl What {
    /// Reads the documents, checks them, and puts the resources into the plan.
    fn load(&self) -> Result<Plan, Failed> {
        let located = |file: &Path| {
            let file = file.to_owned();
            move |error| files::located(&file, &error)
        };
        let mut plan = files::read(&self.plan)?.into_plan().map_err(located(&self.plan))?;
        let resources = match &self.rt {
            Some(file) => Some(files::read(file)?.into_resources().map_err(located(file))?),
            None => None,
        };
        let domain = match &self.domain {
            Some(file) => Some(files::read(file)?.into_domain().map_err(located(file))?),
            None => None,
        };
        let components = components::read(&self.idl, &self.reading)?;
        if let Some(components) = &components {
            let expanded = expand_extended_ports(&mut plan, components);
            expanded.map_err(located(&self.plan))?;
        }
        if !self.unchecked {
            let input = Input {
                plan: &plan,
                resources: resources.as_ref(),
                domain: domain.as_ref(),
                components: components.as_ref(),
            };
            let report = super::check::all(&input, StartedBy::Managers);
            let files = files::Files {
                plan: &self.plan,
                rt: self.rt.as_deref(),
                domain: self.domain.as_deref(),
            };
            let errors = report.findings.iter();
            let errors: Vec<String> = errors
                .filter(|finding| finding.severity == Severity::Error)
                .map(|finding| files.line(finding))
                .collect();
            let more = match report.more_errors {
                0 => String::new(),
                more => format!("\nand {more} more errors"),
            };
            if !errors.is_empty() {
                let hint = "the plan was not launched; `oxorb deploy check` reports all errors, and --unchecked \
                            launches the plan nevertheless";
                return Err(because(format!("{}{more}\n{hint}", errors.join("\n"))));
            }
        }
        if plan.label.as_deref().unwrap_or_default().is_empty()
            && plan.uuid.as_deref().unwrap_or_default().is_empty()
        {
            // A plan needs a label or a UUID as its name. The default label is the name of the plan's file.
            let stem = self.plan.file_stem().unwrap_or_default();
            plan.label = Some(stem.to_string_lossy().into_owned());
        }
        if let Some(resources) = &resources {
            let attached = attach_resources(&mut plan, resources);
            let file = self.rt.as_deref().unwrap_or(&self.plan);
            attached.map_err(|error| files::located(file, &error))?;
        }
        Ok(plan)
    }
}

/// Sets the restart policy of a plan's processes.
fn restart(plan: &mut Plan, policy: RestartPolicy) {
    let name = RestartPolicy::PROPERTY;
    plan.info_property.retain(|property| property.name != name);
    let value = Any::string(policy.to_string());
    plan.info_property.push(Property::of(name, value));
}

/// Launches a plan through an execution manager: a running one, or one in this process.
pub(super) fn launch(mut args: LaunchArgs) -> Done {
    args.check()?;
    files::take_rt(&args.what.plan, &mut args.what.rt)?;
    let args = &args;
    let mut plan = args.what.load()?;
    if args.serving.restart != RestartPolicy::Never {
        restart(&mut plan, args.serving.restart);
    }
    if !args.is_own() {
        let (orb, plans) = args.at.plans()?;
        let launched = plans.launch(&plan).map_err(failed)?;
        told(&args.what, &plan, &launched, &[], None)?;
        orb.shutdown(true)?;
        return Ok(());
    }
    let orb = args.serving.orb()?;
    let artifacts = match args.local {
        // If only this user can call the manager, plans may start executables below the current folder, as the user
        // could in a shell.
        true => {
            let is_own = Callers::of(&orb) == Callers::User;
            Some(args.starting.executables(is_own.then_some("."))?)
        }
        false => None,
    };
    let done = run(args, &plan, &orb, artifacts);
    if done.is_err() {
        // The shutdown ends the processes that were started before the error.
        orb.shutdown(true)?;
    }
    done
}

/// Launches a plan, and runs until the execution manager has no plan any more.
fn run(args: &LaunchArgs, plan: &Plan, orb: &Orb, artifacts: Option<Artifacts>) -> Done {
    let may = match &artifacts {
        Some(artifacts) => args.starting.may(artifacts),
        None => args.serving.may().to_owned(),
    };
    let mut local: BTreeMap<String, NodeManagerRef> = BTreeMap::new();
    let mut managers: Vec<Arc<NodeManager>> = Vec::new();
    let elsewhere: BTreeSet<&str> = args.nodes.known.iter().map(|(name, _)| &**name).collect();
    if let Some(artifacts) = artifacts {
        let settings = args.starting.settings(orb, artifacts, args.what.format)?;
        for node in plan.nodes() {
            if elsewhere.contains(node) {
                continue;
            }
            let manager = NodeManager::start(orb.root_poa(), node, settings.clone())?;
            local.insert(node.to_owned(), manager.reference().clone());
            managers.push(Arc::new(manager));
        }
    }
    let nodes = args.nodes.lookup(orb, local);
    let manager = args.serving.start(orb, nodes, args.what.format)?;
    heed_signals(orb)?;
    let plans = Plans::of(manager.reference().clone());
    let launched = plans.launch(plan).map_err(failed)?;
    let urls = urls(manager.reference().reference(), EXECUTION_MANAGER);
    told(&args.what, plan, &launched, &urls, None)?;
    warn(orb, &may);
    end_with_last_plan(orb, &manager)?;
    orb.run();
    drop(managers);
    Ok(())
}

/// Replaces the running plan.
pub(super) fn redeploy(mut args: RedeployArgs) -> Done {
    files::take_rt(&args.what.plan, &mut args.what.rt)?;
    let mut plan = args.what.load()?;
    if let Some(policy) = args.restart {
        restart(&mut plan, policy);
    }
    let (orb, plans) = args.at.plans()?;
    let (running, changes) = plans.compare(&plan).map_err(failed)?;
    if args.dry_run {
        match args.what.format {
            Format::Text => print(changes::text(&running.name, &changes, "would change"))?,
            Format::Json => print_json(&json!({
                "event": "would-change",
                "plan": running.name,
                "changes": changes::json(&changes),
            }))?,
        }
    } else {
        let launched = plans.redeploy(&plan).map_err(failed)?;
        if args.what.format == Format::Text {
            print(changes::text(&launched.name, &changes, "changed"))?;
        }
        told(&args.what, &plan, &launched, &[], Some(&changes))?;
    }
    orb.shutdown(true)?;
    Ok(())
}

pub(super) fn failed(trouble: Trouble) -> Failed {
    because(trouble)
}

/// Prints the running processes.
fn told(
    what: &What,
    plan: &Plan,
    launched: &Launched,
    urls: &[String],
    changes: Option<&Changes>,
) -> Done {
    let status = launched.manager.status()?;
    let many = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    match what.format {
        Format::Text => {
            let place = match urls {
                [] => String::new(),
                urls => format!("; execution manager at {}", urls.join(" ")),
            };
            print(format_args!(
                "running {}: {} in {} on {}{place}\n",
                Printable(&launched.name),
                many(plan.instance.len(), "instance"),
                match status.len() {
                    1 => "1 process".to_owned(),
                    count => format!("{count} processes"),
                },
                many(plan.nodes().len(), "node"),
            ))
        }
        Format::Json => {
            let mut line = json!({
                "event": "running",
                "plan": launched.name,
                "instances": plan.instance.len(),
                "manager": launched.manager.to_ior(),
                "corbaloc": urls,
                "processes": status.iter().map(super::status::process_json).collect::<Vec<_>>(),
            });
            if let Some(changes) = changes {
                line["changes"] = changes::json(changes);
            }
            match urls {
                [] => print_json(&line),
                // If there are URLs, incidents follow later, each in a line of JSON.
                _ => print_line(&line),
            }
        }
    }
}
