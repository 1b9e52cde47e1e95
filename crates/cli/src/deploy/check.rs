//! `oxorb deploy check`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use oxorb::deployment::{Artifacts, StartedBy, missing_artifacts, refusals};
use oxorb_deploy::check::{Chain, Components, Input, Report, Timing};
use oxorb_deploy::domain::Domain;
use oxorb_deploy::plan::Plan;
use oxorb_deploy::rtcad::ServerResources;
use oxorb_deploy::{Document, Finding, Severity, Source, expand_extended_ports};
use oxorb_sched::time::Show;
use serde_json::{Value, json};

use super::{components, files};
use crate::idl::Reading;
use oxorb_terminal::output::{
    BAD, Done, FAINT, Failed, Format, GOOD, STRONG, because, counted, print, print_json,
};

/// Arguments of `oxorb deploy check`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Deployment plan: .cdp or .toml
    #[arg(value_name = "PLAN", value_hint = clap::ValueHint::FilePath)]
    plan: PathBuf,
    /// Real-time resources of the plan's instances: .csr or .toml
    #[arg(long, value_name = "RTCAD", value_hint = clap::ValueHint::FilePath)]
    rt: Option<PathBuf>,
    /// Domain that lists the existing nodes: .cdd or .toml
    #[arg(long, value_name = "DOMAIN", value_hint = clap::ValueHint::FilePath)]
    domain: Option<PathBuf>,
    /// IDL of the components; may be repeated
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    idl: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Check the plan for processes that are started by hand, systemd or Kubernetes instead of node managers: artifacts
    /// are not required, and references may be written to files
    #[arg(long)]
    without_managers: bool,
    /// Look for the artifacts of the plan below DIR on this machine, as a node manager with this option would
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with = "without_managers")]
    artifacts: Option<PathBuf>,
    /// Choose the priorities, and write the real-time resources with these priorities to FILE, without comments; FILE
    /// may be the one given by --rt
    #[arg(long, value_name = "FILE", requires = "rt", value_hint = clap::ValueHint::FilePath)]
    assign: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Documents of the checked files.
struct Loaded {
    plan: Plan,
    resources: Option<ServerResources>,
    domain: Option<Domain>,
    components: Option<Components>,
}

/// Checks one plan.
pub(super) fn run(mut args: Args) -> Done {
    files::take_rt(&args.plan, &mut args.rt)?;
    let args = &args;
    let mut loaded = load(args)?;
    // If the connections of extended ports are wrong, the plan is checked as it is. The check itself reports dangling
    // references.
    let wrong = match &loaded.components {
        Some(components) if loaded.plan.check_references().is_ok() => {
            expand_extended_ports(&mut loaded.plan, components).err()
        }
        _ => None,
    };
    let order = match &args.assign {
        Some(file) => Some(assign(args, file, &mut loaded)?),
        None => None,
    };
    let by = match args.without_managers {
        true => StartedBy::Others,
        false => StartedBy::Managers,
    };
    let input = Input {
        plan: &loaded.plan,
        resources: loaded.resources.as_ref(),
        domain: loaded.domain.as_ref(),
        components: loaded.components.as_ref(),
    };
    let mut report = match wrong {
        None => all(&input, by),
        Some(wrong) => {
            let mut report = oxorb_deploy::check::check(&input);
            extend(&mut report, wrong.findings.into_iter());
            report
        }
    };
    if let Some(folder) = &args.artifacts {
        let artifacts = Artifacts::Below(folder.clone());
        artifacts.check().map_err(because)?;
        // Artifacts are checked for each process, and with dangling references, the process of an instance is unknown.
        if loaded.plan.check_references().is_ok() {
            let missing = missing_artifacts(&loaded.plan, &artifacts);
            extend(&mut report, missing.into_iter().map(|error| error.finding));
        }
    }
    let told = Told { args, loaded: &loaded, report: &report, order: order.as_deref() };
    match args.format {
        Format::Json => print_json(&told.json())?,
        Format::Text => print(told.text())?,
    }
    if report.is_good() { Ok(()) } else { Err(Failed::Told) }
}

/// Checks documents, including errors that otherwise only a launch of the plan would report.
pub(super) fn all(input: &Input<'_>, by: StartedBy) -> Report {
    let mut report = oxorb_deploy::check::check(input);
    // The check has reported dangling references already, and a launch would only report them again in other words.
    if input.plan.check_references().is_err() {
        return report;
    }
    let refused = refusals(input.plan, input.resources, by).into_iter().map(|error| error.finding);
    extend(&mut report, refused);
    report
}

/// Adds errors to a report, at most one for each place.
fn extend(report: &mut Report, more: impl Iterator<Item = Finding>) {
    let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let known: HashSet<(Source, u32, u32)> = errors
        .clone()
        .filter(|finding| finding.place.line > 0)
        .map(|finding| (finding.source, finding.place.line, finding.place.column))
        .collect();
    let errors = errors.count();
    let is_new = |finding: &Finding| {
        !known.contains(&(finding.source, finding.place.line, finding.place.column))
    };
    let mut new: Vec<Finding> = more.filter(is_new).collect();
    let beyond = new.split_off(new.len().min(oxorb_deploy::Error::MOST.saturating_sub(errors)));
    report.findings.extend(new);
    report.more_errors += beyond.len();
    report.findings.sort_by_key(|finding| finding.severity);
}

fn load(args: &Args) -> Result<Loaded, Failed> {
    let located = |file: &Path| {
        let file = file.to_owned();
        move |error| files::located(&file, &error)
    };
    let plan = files::read(&args.plan)?.into_plan().map_err(located(&args.plan))?;
    let resources =
        args.rt.as_deref().map(|file| files::read(file)?.into_resources().map_err(located(file)));
    let domain =
        args.domain.as_deref().map(|file| files::read(file)?.into_domain().map_err(located(file)));
    let components = components::read(&args.idl, &args.reading)?;
    Ok(Loaded { plan, resources: resources.transpose()?, domain: domain.transpose()?, components })
}

/// Lets the analysis choose priorities, and writes them. Returns the order that was chosen.
fn assign(args: &Args, file: &Path, loaded: &mut Loaded) -> Result<String, Failed> {
    let Some(resources) = &loaded.resources else {
        return Err(because(
            "--assign needs --rt, which states the execution times of the instances",
        ));
    };
    let inputs = args.idl.iter().chain(&args.domain).chain([&args.plan]);
    if let Some(input) = inputs.into_iter().find(|input| files::is_same(input, file)) {
        return Err(because(format!(
            "--assign {} would overwrite {}, which is not a document of real-time resources: specify another file",
            file.display(),
            input.display()
        )));
    }
    let format = files::format(file, None, None)?;
    let assigned = oxorb_deploy::check::assign(&loaded.plan, resources).map_err(|error| {
        // The findings refer to the resources that were read.
        let files = files::Files { rt: args.rt.as_deref(), ..files_of(args) };
        let lines = error.findings.iter().map(|finding| files.line(finding));
        because(lines.collect::<Vec<_>>().join("\n"))
    })?;
    let document = Document::from(assigned.resources.clone());
    let text = document.write(format).map_err(|error| files::located(file, &error))?;
    // Read the written text back, so that findings refer to places in the written file.
    let limits = oxorb_deploy::Limits::default();
    let written = Document::read(&text, format, &limits).and_then(Document::into_resources);
    loaded.resources = Some(written.map_err(|error| files::located(file, &error))?);
    files::write(file, &text)?;
    Ok(assigned.order)
}

/// Returns the files to which the findings of a check refer.
fn files_of(args: &Args) -> files::Files<'_> {
    files::Files {
        plan: &args.plan,
        rt: args.assign.as_deref().or(args.rt.as_deref()),
        domain: args.domain.as_deref(),
    }
}

/// Result of a check, as printed.
struct Told<'a> {
    args: &'a Args,
    loaded: &'a Loaded,
    report: &'a Report,
    order: Option<&'a str>,
}

impl Told<'_> {
    fn text(&self) -> String {
        let mut out = String::new();
        for finding in &self.report.findings {
            let line = files_of(self.args).line(finding);
            let _ = writeln!(out, "{}", oxorb::values::Printable(&line));
        }
        if self.report.more_errors > 0 {
            let _ = writeln!(out, "and {}", counted(self.report.more_errors, "more error"));
        }
        if let Some(timing) = &self.report.timing {
            out.push_str(&table(timing));
        }
        if let (Some(order), Some(file)) = (self.order, &self.args.assign) {
            let _ = writeln!(out, "priorities {order}, written to {}", file.display());
        }
        let plan = &self.loaded.plan;
        let errors = self
            .report
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count()
            + self.report.more_errors;
        let (style, word) = if errors == 0 { (GOOD, "good") } else { (BAD, "wrong") };
        let _ = write!(
            out,
            "{style}{word}{style:#}: {} on {}, {}",
            counted(plan.instance.len(), "instance"),
            counted(plan.nodes().len(), "node"),
            counted(plan.connection.len(), "connection")
        );
        let _ = match (&self.report.timing, errors) {
            (_, 1..) => writeln!(out, "; {}", counted(errors, "error")),
            (Some(timing), 0) if timing.is_safe() => {
                writeln!(out, "; every critical deadline is proved")
            }
            (Some(_), 0) => {
                writeln!(out, "; not every critical deadline is proved, see the warnings")
            }
            (None, 0) => {
                writeln!(out, "; deadlines were not checked {FAINT}(--rt with work){FAINT:#}")
            }
        };
        out
    }

    fn json(&self) -> Value {
        let findings = self.report.findings.iter().map(|finding| {
            json!({
                "severity": finding.severity.to_string(),
                "file": files_of(self.args).of(finding.source).display().to_string(),
                "line": finding.place.line,
                "column": finding.place.column,
                "what": finding.what,
                "cure": finding.cure,
            })
        });
        let timing = self.report.timing.as_ref();
        let chains = timing.map(|timing| timing.chains.iter().map(chain_json).collect::<Vec<_>>());
        let nodes = timing.map(|timing| {
            let nodes = timing
                .nodes
                .iter()
                .map(|(name, share)| json!({"name": name, "utilization": share}));
            nodes.collect::<Vec<_>>()
        });
        json!({
            "good": self.report.is_good(),
            "safe": timing.map(Timing::is_safe),
            "instances": self.loaded.plan.instance.len(),
            "connections": self.loaded.plan.connection.len(),
            "priorities": self.order,
            "findings": findings.collect::<Vec<_>>(),
            "more_errors": self.report.more_errors,
            "nodes": nodes,
            "chains": chains,
        })
    }
}

fn table(timing: &Timing) -> String {
    let mut out = String::new();
    for (name, share) in &timing.nodes {
        let _ = writeln!(
            out,
            "{STRONG}{}{STRONG:#}: {:.2} % of one processor",
            oxorb::values::Printable(name),
            share * 100.0
        );
        for chain in timing.chains.iter().filter(|chain| chain.node == *name) {
            let (style, mark) = match (chain.meets(), chain.fits(), chain.is_critical) {
                (true, ..) => (GOOD, "ok  "),
                (false, true, _) => (BAD, "open"),
                (false, false, true) => (BAD, "miss"),
                (false, false, false) => (BAD, "late"),
            };
            let priority = chain.priority.map_or("-".to_owned(), |priority| priority.to_string());
            let response =
                chain.response.map_or("no bound".to_owned(), |response| Show(response).to_string());
            let path = chain.steps.join(" -> ");
            let _ = writeln!(
                out,
                "  {style}{mark}{style:#} {priority:>5}  {}: {response} of {}",
                oxorb::values::Printable(&path),
                Show(chain.deadline)
            );
        }
    }
    out
}

fn chain_json(chain: &Chain) -> Value {
    json!({
        "steps": chain.steps,
        "node": chain.node,
        "priority": chain.priority,
        "period_ns": chain.period,
        "deadline_ns": chain.deadline,
        "response_ns": chain.response,
        "critical": chain.is_critical,
        "meets": chain.meets(),
        "because": chain.because,
        "unproved": chain.unproved,
    })
}
