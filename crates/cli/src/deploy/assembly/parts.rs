//! Parts of the program of one process, taken from the plan.

use std::collections::{BTreeSet, HashMap};

use oxorb::deployment::check_arguments;
use oxorb_deploy::basic::PortKind;
use oxorb_deploy::check::{Input, set_of, type_of};
use oxorb_deploy::plan::{Connection, Endpoint, Implementation, Instance, Plan};
use oxorb_deploy::rtcad::{
    Attachment, Beyond, ConnectionBands, Events, PolicySet, ServerResources, Threadpool,
    ThreadpoolWithLanes, Work,
};
use oxorb_deploy::{Finding, Place, Process, Source};

use super::{names, value};

/// Execution parameter that names the entry point of an implementation.
const FACTORY: &str = "component factory";
/// Execution parameter that names the component type, for entry points that do not name it.
const TYPE: &str = "component type";
/// Execution parameter with the Rust path of a function that returns the executor; replaces the entry point.
const EXECUTOR: &str = "rust executor";
/// Execution parameter with the Rust path of the component's reference type; replaces the component type.
const REFERENCE: &str = "rust reference";
/// Execution parameter that names the crate of the executors; replaces the artifact's name.
const CRATE: &str = "rust crate";

/// Property of a deployed resource that names the policies of an instance.
const INSTANCE_POLICY: &str = "CIAO:InstancePolicy";
/// Property of a deployed resource that names the policies of the references in an instance's receptacles.
const RECEPTACLE_POLICY: &str = "CIAO:ReceptaclePolicy";

/// Properties of instances that name a file for the instance's reference.
const IOR_FILES: [&str; 2] = ["edu.vanderbilt.dre.DAnCE.InstanceIOR", "ComponentIOR"];

/// Contents of the program that `oxorb deploy static` generates for one process of a plan: threadpools, containers,
/// component instances and connections.
pub(super) struct Assembly<'p> {
    pub(super) label: &'p str,
    pub(super) process: &'p Process,
    /// Packages that contain executors.
    pub(super) packages: BTreeSet<String>,
    /// Arguments required by the real-time resources.
    pub(super) arguments: &'p [String],
    pub(super) pools: Vec<Pool<'p>>,
    pub(super) containers: Vec<Container<'p>>,
    pub(super) instances: Vec<Part>,
    pub(super) links: Vec<Link<'p>>,
    /// Instances in order of activation: consumers of events before their suppliers.
    pub(super) order: Vec<usize>,
}

/// Threadpool of the program.
pub(super) enum Pool<'p> {
    Plain(&'p Threadpool),
    Lanes(&'p ThreadpoolWithLanes),
}

impl Pool<'_> {
    pub(super) fn id(&self) -> &str {
        match self {
            Pool::Plain(pool) => &pool.id.0,
            Pool::Lanes(pool) => &pool.id.0,
        }
    }
}

/// Container: one for each policy set, and one for instances without a policy set; another one of each kind for
/// instances whose events pass through a channel.
pub(super) struct Container<'p> {
    pub(super) name: String,
    /// Whether the events of the container's instances pass through the channel of the process.
    pub(super) has_channel: bool,
    pub(super) set: Option<&'p PolicySet>,
    /// Index of the pool.
    pub(super) pool: Option<usize>,
    pub(super) bands: Option<&'p ConnectionBands>,
}

/// Instance of the process.
pub(super) struct Part {
    pub(super) name: String,
    /// Index of the container.
    pub(super) container: usize,
    /// Path of the component's reference type.
    pub(super) reference: String,
    /// Path of the function that returns the instance's executor.
    pub(super) executor: String,
    /// Attributes to set: name in the plan, set method, and argument.
    pub(super) attributes: Vec<(String, String, String)>,
    /// Files to which the instance's reference is written.
    pub(super) ior_files: Vec<String>,
}

/// Method by which the using end of a connection is connected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Receptacle,
    Emitter,
    Publisher,
}

/// Origin of a connection's reference.
pub(super) enum Origin<'p> {
    /// Facet or event sink of an instance.
    Port(usize, &'p str),
    /// Reference from outside the process.
    Url(&'p str),
}

/// Connection of one port.
pub(super) struct Link<'p> {
    pub(super) name: &'p str,
    pub(super) how: How,
    pub(super) user: usize,
    pub(super) port: &'p str,
    pub(super) from: Origin<'p>,
    /// Priority bands for the reference in the receptacle.
    pub(super) bands: Option<&'p ConnectionBands>,
}

impl<'p> Assembly<'p> {
    /// Takes the instances of a process from a checked plan.
    ///
    /// # Errors
    /// A finding with its place for everything that cannot be written as Rust.
    pub(super) fn of(
        input: &Input<'p>,
        process: &'p Process,
    ) -> Result<Assembly<'p>, Vec<Finding>> {
        let mut assembly = Assembly {
            label: input.plan.label.as_deref().unwrap_or_default(),
            process,
            packages: BTreeSet::new(),
            arguments: &[],
            pools: Vec::new(),
            containers: Vec::new(),
            instances: Vec::new(),
            links: Vec::new(),
            order: Vec::new(),
        };
        let mut findings = Vec::new();
        if let Some(resources) = input.resources {
            if let Some(configuration) = &resources.svcconf {
                let what =
                    "svcconf is a configuration file of TAO, which this command does not read";
                let cure = "pass its settings to the program, as -ORBNAME VALUE";
                let finding = Finding::error(configuration.place, what).cure(cure);
                findings.push(finding.within(Source::Rtcad));
            }
            if let Some(line) = &resources.cmdline {
                if let Err(reason) = check_arguments(&line.arg) {
                    findings.push(Finding::error(line.place, reason).within(Source::Rtcad));
                }
                assembly.arguments = &line.arg;
            }
        }
        for &at in &process.instances {
            let instance = &input.plan.instance[at];
            let attachment = (input.resources).and_then(|it| it.attachment(&instance.name));
            let is_carried = |it: &&Attachment| it.events == Some(Events::Executable);
            if let Some(carried) = attachment.filter(is_carried) {
                let what = format!(
                    "a carrier of the executable shall carry the events of instance {:?}, but this command generates \
                     the executable",
                    instance.name
                );
                let cure = "set events = \"channel\" for a channel of the process, or run the plan with an executable \
                            that has a carrier (Implementations::events_by)";
                findings.push(Finding::error(carried.place, what).cure(cure).within(Source::Rtcad));
            }
            let works = attachment.iter().flat_map(|attachment| &attachment.work);
            findings.extend(works.filter(|work| work.beyond == Some(Beyond::Refuse)).map(enforced));
            findings.extend(unknown_policies(instance, input.resources));
            let has_channel = attachment.is_some_and(|it| it.events == Some(Events::Channel));
            let container = assembly.container(instance, input.resources, has_channel);
            match assembly.part(instance, input, container) {
                Ok(part) => assembly.instances.push(part),
                Err(wrong) => findings.extend(wrong),
            }
        }
        if !findings.is_empty() {
            return Err(findings);
        }
        let places = process.instances.iter().enumerate();
        let places = places.map(|(part, &at)| (&*input.plan.instance[at].id.0, part));
        let linking =
            Linking { plan: input.plan, resources: input.resources, places: places.collect() };
        for connection in &input.plan.connection {
            match linking.links(connection) {
                Ok(links) => assembly.links.extend(links),
                Err(finding) => findings.push(finding),
            }
        }
        if !findings.is_empty() {
            return Err(findings);
        }
        assembly.order = order(assembly.instances.len(), &assembly.links);
        Ok(assembly)
    }

    /// Returns the index of an instance's container; makes the container if missing.
    fn container(
        &mut self,
        instance: &Instance,
        resources: Option<&'p ServerResources>,
        has_channel: bool,
    ) -> usize {
        let set = resources.and_then(|resources| set_of(instance, resources));
        let is_it = |one: &Container<'_>| {
            one.set.map(|set| &set.id) == set.map(|set| &set.id) && one.has_channel == has_channel
        };
        if let Some(at) = self.containers.iter().position(is_it) {
            return at;
        }
        let configs = resources.and_then(|resources| resources.orb_configs.as_ref());
        let known = configs.and_then(|configs| configs.resources.as_ref());
        let pool = set.and_then(|set| set.threadpool.as_ref());
        let pool = known.zip(pool).and_then(|(known, to)| {
            let plain = known.threadpool.iter().map(Pool::Plain);
            let laned = known.threadpool_with_lanes.iter().map(Pool::Lanes);
            plain.chain(laned).find(|pool| pool.id() == to.id)
        });
        let pool = pool.map(|pool| {
            let known = self.pools.iter().position(|one| one.id() == pool.id());
            known.unwrap_or_else(|| {
                self.pools.push(pool);
                self.pools.len() - 1
            })
        });
        let name = set.map_or("ordinary".to_owned(), |set| format!("policies {}", set.id.0));
        self.containers.push(Container {
            name: if has_channel { format!("channel, {name}") } else { name },
            has_channel,
            set,
            pool,
            bands: bands(set, resources),
        });
        self.containers.len() - 1
    }

    fn part(
        &mut self,
        instance: &Instance,
        input: &Input<'p>,
        container: usize,
    ) -> Result<Part, Vec<Finding>> {
        let plan = input.plan;
        let at = plan.implementation_at(&instance.implementation);
        let implementation = at.map(|at| &plan.implementation[at]);
        let Some(implementation) = implementation else {
            let what = format!("instance {:?} has no implementation", instance.name);
            return Err(vec![Finding::error(instance.place, what)]);
        };
        let package = package(implementation, plan).map_err(|finding| vec![finding])?;
        let library = package.replace('-', "_");
        let executor = executor(implementation, &library);
        let reference = reference(implementation, &library, input);
        let mut findings = Vec::new();
        let mut attributes = Vec::new();
        let mut ior_files = Vec::new();
        for property in &instance.config_property {
            if IOR_FILES.contains(&&*property.name) {
                match property.value.as_text() {
                    Some(file) => ior_files.push(file.to_owned()),
                    None => findings.push(Finding::error(
                        property.place,
                        "the value of a file property must be a string",
                    )),
                }
                continue;
            }
            if property.name.contains('.') {
                let what = format!("the setting {:?} requires node managers", property.name);
                let cure = "remove it from this plan, or launch the plan instead";
                findings.push(Finding::error(property.place, what).cure(cure));
                continue;
            }
            let Some(setter) = names::setter(&property.name) else {
                let what = format!("{:?} is not the name of an attribute", property.name);
                findings.push(Finding::error(property.place, what));
                continue;
            };
            match value::argument(&property.value, &library) {
                Ok(argument) => attributes.push((property.name.clone(), setter, argument)),
                Err(finding) => findings.push(finding),
            }
        }
        match (executor, reference) {
            (Ok(executor), Ok(reference)) if findings.is_empty() => {
                self.packages.insert(package);
                Ok(Part {
                    name: instance.name.clone(),
                    container,
                    reference,
                    executor,
                    attributes,
                    ior_files,
                })
            }
            (executor, reference) => {
                findings.extend(executor.err().into_iter().chain(reference.err()));
                Err(findings)
            }
        }
    }
}

/// Returns a text property of an implementation.
fn said<'i>(implementation: &'i Implementation, name: &str) -> Option<(&'i str, Place)> {
    let mut all = implementation.exec_parameter.iter().rev();
    let found = all.find(|property| property.name == name)?;
    Some((found.value.as_text()?, found.place))
}

/// Returns the package of the executors of an implementation.
fn package(implementation: &Implementation, plan: &Plan) -> Result<String, Finding> {
    let cure = format!("add the execParameter {CRATE:?} to the implementation");
    let (name, place) = match said(implementation, CRATE) {
        Some(said) => said,
        None => {
            let first = implementation.artifact.first();
            let at = first.and_then(|to| plan.artifact_at(to));
            let Some(at) = at else {
                let what = format!(
                    "implementation {:?} has no artifact, whose name would be the name of the crate",
                    implementation.name
                );
                return Err(Finding::error(implementation.place, what).cure(cure));
            };
            (&*plan.artifact[at].name, implementation.place)
        }
    };
    match names::is_package(name) {
        true => Ok(name.to_owned()),
        false => {
            let what = format!("{name:?} cannot be the name of a crate");
            Err(Finding::error(place, what).cure(cure))
        }
    }
}

/// Returns the path of the function that returns an executor.
fn executor(implementation: &Implementation, library: &str) -> Result<String, Finding> {
    if let Some((path, place)) = said(implementation, EXECUTOR) {
        let what = || format!("{path:?} is not a Rust path such as display::Gps::new");
        return names::path(path).ok_or_else(|| Finding::error(place, what()));
    }
    let Some((factory, place)) = said(implementation, FACTORY) else {
        let what = format!("implementation {:?} has no entry point", implementation.name);
        let cure = format!("add the execParameter {FACTORY:?} or {EXECUTOR:?}");
        return Err(Finding::error(implementation.place, what).cure(cure));
    };
    let function = names::method(factory);
    let function = function.ok_or_else(|| {
        let cure = format!("add the execParameter {EXECUTOR:?}, a Rust path");
        Finding::error(place, format!("{factory:?} is not the name of a function")).cure(cure)
    })?;
    Ok(format!("{library}::{function}"))
}

/// Returns the path of the reference type of a component.
fn reference(
    implementation: &Implementation,
    library: &str,
    input: &Input<'_>,
) -> Result<String, Finding> {
    if let Some((path, place)) = said(implementation, REFERENCE) {
        let what = || format!("{path:?} is not a Rust path such as display::avionics::GpsRef");
        return names::path(path).ok_or_else(|| Finding::error(place, what()));
    }
    let of_idl = match input.components {
        Some(components) => type_of(implementation, components)?,
        None => None,
    };
    let written = said(implementation, TYPE).map(|(text, _)| {
        let id = names::scoped_name(text);
        id.unwrap_or_else(|| text.trim_start_matches("::").to_owned())
    });
    // Without IDL, an underscore within a name cannot be told from a separator, so every underscore is taken as a
    // separator.
    let flat = said(implementation, FACTORY).and_then(|(factory, _)| {
        let flat = factory.strip_prefix("create_")?.strip_suffix("_Impl")?;
        Some(flat.replace('_', "::"))
    });
    let name = of_idl.map(|(name, _)| name.to_owned()).or(written).or(flat);
    let cure = format!("add the execParameter {TYPE:?}, such as Avionics::Gps, or {REFERENCE:?}");
    let Some(name) = name else {
        let what =
            format!("the component type of implementation {:?} is unknown", implementation.name);
        return Err(Finding::error(implementation.place, what).cure(cure));
    };
    names::item(library, &name, "Ref").ok_or_else(|| {
        let what = format!("{name:?} is not a component in an IDL module");
        Finding::error(implementation.place, what).cure(cure)
    })
}

fn bands<'p>(
    set: Option<&PolicySet>,
    resources: Option<&'p ServerResources>,
) -> Option<&'p ConnectionBands> {
    let to = set?.priority_banded_connection.as_ref()?;
    let known = resources?.orb_configs.as_ref()?.resources.as_ref()?;
    known.connection_bands.iter().find(|one| one.id.0 == to.id)
}

/// Returns the policy set that a plan itself names for an instance, as CIAO's plans do.
fn deployed_policy<'i>(instance: &'i Instance, name: &str) -> Option<(&'i str, Place)> {
    let resources = instance.deployed_resource.iter();
    let mut properties = resources.flat_map(|resource| &resource.property);
    let found = properties.find(|property| property.name == name)?;
    Some((found.value.as_text()?, found.place))
}

/// Returns the error for a rate that a container would have to enforce, which generated programs do not do.
fn enforced(work: &Work) -> Finding {
    let what = "the rate of a work entry is enforced (beyond = \"refuse\"), which this command cannot generate";
    let cure = "remove beyond, or run the plan with an executable";
    Finding::error(work.place, what).cure(cure).within(Source::Rtcad)
}

/// Returns an error for each policy set that the plan names for an instance and that no resource describes.
fn unknown_policies(instance: &Instance, resources: Option<&ServerResources>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for property in [INSTANCE_POLICY, RECEPTACLE_POLICY] {
        let Some((id, place)) = deployed_policy(instance, property) else {
            continue;
        };
        let (what, cure) = match resources {
            None => (
                "no real-time resources are given",
                "specify the document of real-time resources with --rt",
            ),
            Some(resources) if resources.policy_set(id).is_none() => {
                ("the resources do not declare it", "declare it in orbConfigs")
            }
            Some(_) => continue,
        };
        let what = format!("instance {:?} uses policy set {id:?}, but {what}", instance.name);
        findings.push(Finding::error(place, what).cure(cure));
    }
    findings
}

/// Lookup tables for connections.
struct Linking<'p> {
    plan: &'p Plan,
    resources: Option<&'p ServerResources>,
    /// Instances of this process by id.
    places: HashMap<&'p str, usize>,
}

impl<'p> Linking<'p> {
    /// Returns the links of a connection; none if all its instances are in other processes.
    fn links(&self, connection: &'p Connection) -> Result<Vec<Link<'p>>, Finding> {
        let wrong = |place: Place, what: String, cure: &str| {
            let what = format!("connection {:?} {what}", connection.name);
            Finding::error(place, what).cure(cure)
        };
        let inner = &connection.internal_endpoint;
        let here = |end: &Endpoint| self.places.get(&*end.instance.id).copied();
        if inner.iter().all(|end| here(end).is_none()) {
            return Ok(Vec::new());
        }
        let elsewhere = inner.iter().find(|end| here(end).is_none());
        if let Some(end) = elsewhere {
            return Err(wrong(
                end.place,
                format!("leads to another process, at {:?}", end.port_name),
                "put both instances into one process, or launch the plan instead",
            ));
        }
        if let Some(end) = connection.external_endpoint.first() {
            return Err(wrong(
                end.place,
                format!("is a port of the whole plan, {:?}", end.port_name),
                "remove it: clients find the port at the instance",
            ));
        }
        let mut sources: Vec<Origin<'p>> = Vec::new();
        for end in inner.iter().filter(|end| end.kind.provides()) {
            if let (Some(at), PortKind::Facet | PortKind::EventConsumer) = (here(end), end.kind) {
                sources.push(Origin::Port(at, &end.port_name));
            }
        }
        for reference in &connection.external_reference {
            if reference.provider == Some(false) {
                return Err(wrong(
                    reference.place,
                    "passes a reference of this process to an external object".to_owned(),
                    "let the external object ask the instance for its port",
                ));
            }
            sources.push(Origin::Url(&reference.location));
        }
        let mut links = Vec::new();
        for end in inner.iter().filter(|end| !end.kind.provides()) {
            let how = match end.kind {
                PortKind::SimplexReceptacle | PortKind::MultiplexReceptacle => How::Receptacle,
                PortKind::EventEmitter => How::Emitter,
                PortKind::EventPublisher => How::Publisher,
                _ => {
                    return Err(wrong(
                        end.place,
                        "joins extended ports".to_owned(),
                        "specify the IDL of the components (--idl), or connect each of the basic ports that the \
                         extended ports contain",
                    ));
                }
            };
            let Some(user) = here(end) else { continue };
            let instance = &self.plan.instance[self.plan.instance_at(&end.instance).unwrap_or(0)];
            links.extend(sources.iter().map(|from| Link {
                name: &connection.name,
                how,
                user,
                port: &end.port_name,
                from: match from {
                    Origin::Port(at, port) => Origin::Port(*at, port),
                    Origin::Url(url) => Origin::Url(url),
                },
                bands: match how {
                    How::Receptacle => self.receptacle_bands(instance),
                    _ => None,
                },
            }));
        }
        Ok(links)
    }

    /// Returns the bands of the references in the receptacles of an instance.
    fn receptacle_bands(&self, instance: &Instance) -> Option<&'p ConnectionBands> {
        let resources = self.resources?;
        let attachment = resources.attachment(&instance.name);
        let attached = attachment.and_then(|attachment| attachment.receptacle_policy.as_ref());
        let id = match attached {
            Some(to) => &to.id,
            None => deployed_policy(instance, RECEPTACLE_POLICY)?.0,
        };
        bands(resources.policy_set(id), self.resources)
    }
}

/// Returns the order of activation, with consumers of events before their suppliers. Within a cycle, the order is that
/// of the plan.
fn order(instances: usize, links: &[Link<'_>]) -> Vec<usize> {
    let mut takers: Vec<Vec<usize>> = vec![Vec::new(); instances];
    for link in links.iter().filter(|link| link.how != How::Receptacle) {
        if let Origin::Port(at, _) = link.from {
            takers[link.user].push(at);
        }
    }
    let mut order = Vec::with_capacity(instances);
    let mut is_seen = vec![false; instances];
    for first in 0..instances {
        // Instances on the current path, each with the number of its consumers that were visited already.
        let mut way = vec![(first, 0)];
        if std::mem::replace(&mut is_seen[first], true) {
            continue;
        }
        while let Some((at, looked)) = way.last_mut() {
            match takers[*at].get(*looked) {
                Some(&next) => {
                    *looked += 1;
                    if !std::mem::replace(&mut is_seen[next], true) {
                        way.push((next, 0));
                    }
                }
                None => {
                    order.push(*at);
                    way.pop();
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_events_is_activated_first() {
        let link = |user, to| Link {
            name: "",
            how: How::Publisher,
            user,
            port: "",
            from: Origin::Port(to, ""),
            bands: None,
        };
        assert_eq!(order(3, &[link(0, 1), link(1, 2)]), [2, 1, 0]);
        assert_eq!(order(3, &[link(0, 1), link(1, 0)]), [1, 0, 2]);
        let calls = Link { how: How::Receptacle, ..link(0, 1) };
        assert_eq!(order(2, &[calls]), [0, 1]);
    }
}
