//! The plan and its real-time resources, in files that a server process reads.

use std::path::PathBuf;

use oxorb_deploy::check::{Chain, Input, Report};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::value::Data;
use oxorb_deploy::{Document, Format, Limits};
use oxorb_example_avionics_display::plans;

use oxorb_terminal::output::{Failed, because};

/// Instance whose work is scaled.
const NAVIGATION: &str = "navigation";
const WARNING: &str = "warning";

/// Documents of both acts, in a folder that is removed when dropped.
pub(super) struct Documents {
    folder: PathBuf,
    /// Processor time of a picture of the navigation display according to the plan, in microseconds.
    pub(super) planned_work: u32,
    pub(super) navigation: Promise,
    pub(super) warning: Promise,
}

/// Deadline of a display, and the bound on its response time by the check of the plan.
#[derive(Clone, Copy)]
pub(super) struct Promise {
    pub(super) title: &'static str,
    pub(super) period_ns: u64,
    pub(super) deadline_ns: u64,
    /// Longest response by the check; `None` if unbounded.
    pub(super) bound_ns: Option<u64>,
}

impl Documents {
    /// Writes the plan with more work for the navigation display, and the unchanged real-time resources.
    pub(super) fn overloaded(load: u32) -> Result<Documents, Failed> {
        let read = |text| Document::read(text, Format::Toml, &Limits::default());
        let mut plan = read(plans::WITH_WARNING)?.into_plan()?;
        let resources = read(plans::WITH_WARNING_RT)?.into_resources()?;
        let planned_work = scale(&mut plan, load)?;
        let report = oxorb_deploy::check::check(&Input {
            plan: &plan,
            resources: Some(&resources),
            domain: None,
            components: None,
        });
        let documents = Documents {
            folder: new_folder()?,
            planned_work,
            navigation: promise(&report, NAVIGATION)?,
            warning: promise(&report, WARNING)?,
        };
        let plan = Document::from(plan).write(Format::Toml)?;
        std::fs::write(documents.plan(), plan)?;
        std::fs::write(documents.resources(), plans::WITH_WARNING_RT)?;
        Ok(documents)
    }

    pub(super) fn plan(&self) -> PathBuf {
        self.folder.join("with-warning.toml")
    }

    pub(super) fn resources(&self) -> PathBuf {
        self.folder.join("with-warning.rt.toml")
    }
}

impl Drop for Documents {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Multiplies the work of the navigation display, and returns the original value.
fn scale(plan: &mut Plan, load: u32) -> Result<u32, Failed> {
    let mut instances = plan.instance.iter_mut();
    let instance = instances.find(|instance| instance.name == NAVIGATION);
    let properties = instance.into_iter().flat_map(|one| &mut one.config_property);
    let mut works = properties.filter(|property| property.name == "work");
    match works.next().map(|property| &mut property.value.data) {
        Some(Data::Integer(work)) => {
            let planned = u32::try_from(*work).map_err(because)?;
            *work *= i64::from(load);
            Ok(planned)
        }
        _ => Err(because("the plan does not describe the work of the navigation display")),
    }
}

/// Returns the check's result for the chain that ends in a display's update.
fn promise(report: &Report, title: &'static str) -> Result<Promise, Failed> {
    let last = format!("{title}.update");
    let mut chains = report.timing.iter().flat_map(|timing| &timing.chains);
    let is_it = |chain: &&Chain| chain.steps.last() == Some(&last);
    let chain = chains
        .find(is_it)
        .ok_or_else(|| because(format!("the check of the plan found no chain to {last}")))?;
    Ok(Promise {
        title,
        period_ns: chain.period,
        deadline_ns: chain.deadline,
        bound_ns: chain.response,
    })
}

fn new_folder() -> Result<PathBuf, Failed> {
    let name = format!("oxorb-demo-avionics-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    // Fails if the folder exists, regardless of its creator.
    std::fs::create_dir(&folder)
        .map_err(|error| because(format!("{}: {error}; set TMPDIR", folder.display())))?;
    Ok(folder)
}
