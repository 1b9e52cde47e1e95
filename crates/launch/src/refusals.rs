//! Reasons to refuse a plan that are found before anything is started.

use std::collections::HashMap;

use oxorb_deploy::check::Lookup;
use oxorb_deploy::plan::{Implementation, Plan};
use oxorb_deploy::rtcad::ServerResources;
use oxorb_deploy::{Place, Source, processes};

use crate::locality::{
    enforceable_rates, file_references, has_entry, policies, reference_files, unconnectable,
    unsupported, users_elsewhere,
};
use crate::manager::{Locations, managed_arguments, missing, property_text};
use crate::part::stands_for_process;
use crate::{Artifacts, LaunchError, RestartPolicy, check_arguments, wire};

/// Means by which the processes of a plan are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartedBy {
    /// Node managers start the processes.
    #[default]
    Managers,
    /// A user, systemd or Kubernetes starts each process with the whole plan. Artifacts are not used, and files are
    /// permitted for references.
    Others,
}

/// Returns the errors with which a launch would refuse a plan, in addition to those of
/// [`check`](oxorb_deploy::check::check): instances without an artifact or an entry point, two executables in one
/// process, and unsupported arguments, settings and policies. Managers and processes make the same checks. Errors that
/// depend on the machine or the executable are found only during the launch. The references between elements of the
/// plan must be valid ([`Plan::check_references`]).
///
/// Takes time linear in the size of the documents, except that the policy sets of the real-time resources are searched
/// for each instance.
pub fn refusals(
    plan: &Plan,
    resources: Option<&ServerResources>,
    by: StartedBy,
) -> Vec<LaunchError> {
    let mut found: Vec<LaunchError> = Vec::new();
    let plain = |place: Place, what: String| LaunchError::new("", place, what);
    if let Some(line) = resources.and_then(|resources| resources.cmdline.as_ref()) {
        let checked = match by {
            StartedBy::Managers => managed_arguments(&line.arg),
            StartedBy::Others => check_arguments(&line.arg),
        };
        found.extend(checked.err().map(|why| plain(line.place, why).within(Source::Rtcad)));
    }
    if let Some(services) = resources.and_then(|resources| resources.svcconf.as_ref()) {
        found.push(service_configuration(&services.uri, services.place));
    }
    if plan.instance.is_empty() {
        found.push(plain(plan.place, "the plan has no instances".to_owned()));
    }
    let restart = property_text(plan, RestartPolicy::PROPERTY).map(str::parse::<RestartPolicy>);
    if let Some(Err(reason)) = restart {
        let what = format!("property {}: {reason}", RestartPolicy::PROPERTY);
        found.push(plain(plan.place, what));
    }
    let implementations: HashMap<&str, &Implementation> =
        plan.implementation.iter().map(|one| (&*one.id.0, one)).collect();
    let lookup = resources.map(Lookup::of);
    for instance in &plan.instance {
        let implementation = implementations.get(&*instance.implementation.id).copied();
        if implementation.is_some_and(stands_for_process) {
            continue;
        }
        let attachment = lookup.as_ref().and_then(|it| it.attachment(&instance.name));
        let checks = [
            unsupported(instance),
            has_entry(implementation, instance),
            policies(instance, attachment, resources),
            enforceable_rates(implementation, instance, attachment).map(drop),
        ];
        found.extend(checks.into_iter().filter_map(Result::err));
    }
    found.extend(users_elsewhere(plan));
    let names: HashMap<&str, &str> =
        plan.instance.iter().map(|one| (&*one.id.0, &*one.name)).collect();
    for connection in &plan.connection {
        let ends = connection.internal_endpoint.iter();
        found.extend(ends.filter(|end| end.kind.is_extended()).map(|end| {
            let instance = names.get(&*end.instance.id).copied().unwrap_or_default();
            let port = format!("{instance}.{}", end.port_name);
            unconnectable(&connection.name, &port, end.kind, end.place)
        }));
    }
    if by == StartedBy::Managers {
        found.extend(managed(plan));
    }
    found
}

/// Returns an error for each artifact of a plan that a node manager with these settings, on this machine, would not
/// find or would refuse to start. Artifacts with a location that nodes fetch from a server are skipped. The references
/// between elements of the plan must be valid ([`Plan::check_references`]). Takes time linear in the size of the plan.
pub fn missing_artifacts(plan: &Plan, artifacts: &Artifacts) -> Vec<LaunchError> {
    let missing = Locations::of(plan).used(plan).into_iter().filter_map(|used| {
        let why = missing(artifacts, &used.locations)?;
        let what = format!("artifact {:?} cannot be run: {why}", used.artifact.name);
        let error = LaunchError::new(&used.instance.name, used.artifact.place, what);
        Some(error.cure("put the file there, or specify another location or folder"))
    });
    missing.collect()
}

/// Returns the error for a service configuration, which only TAO supports.
pub(crate) fn service_configuration(uri: &str, place: Place) -> LaunchError {
    let what = format!(
        "svcconf {uri:?} is a file of TAO's service configurator, which OxORB does not support"
    );
    let error = LaunchError::new("", place, what).within(Source::Rtcad);
    error.cure("start the process with -ORBConfigFile and a configuration file of OxORB")
}

/// Returns the errors that apply only if managers start the processes.
fn managed(plan: &Plan) -> Vec<LaunchError> {
    let mut found: Vec<LaunchError> = Vec::new();
    let locations = Locations::of(plan);
    for process in processes(plan) {
        let mut common = None;
        for &at in &process.instances {
            found.extend(locations.share(&mut common, &plan.instance[at]).err());
        }
    }
    found.extend(file_references(plan));
    found.extend(reference_files(plan));
    let sent = wire::to_wire(plan).and_then(|plan| wire::from_wire(&plan).map(drop));
    found.extend(
        sent.err()
            .map(|error| LaunchError::new(&error.element, Place::default(), error.to_string())),
    );
    found
}
