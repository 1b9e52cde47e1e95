//! Text of `main.rs`. Text from a plan occurs in it only as a literal, or if it was checked to be an identifier.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use oxorb_deploy::rtcad::{ConnectionBands, PriorityModelKind, Threadpool};

use super::parts::{Assembly, Container, How, Origin, Pool};

/// Helpers of the program, each written only where used.
const FAILED: &str = r#"
/// Says what failed, and at what.
fn failed<E: Display>(what: &'static str, at: &'static str) -> impl FnOnce(E) -> String {
    move |error| format!("{what} {at:?}: {error}")
}
"#;

const INSTALLED: &str = r#"
/// Returns an instance by its name.
fn installed(container: &Container, name: &'static str) -> Result<Arc<Component>, String> {
    let found = container.component(name);
    found.ok_or_else(|| format!("instance {name:?} no longer exists"))
}
"#;

const RESOLVE: &str = r#"
/// Returns the object of a reference or URL.
fn resolve<R: oxorb::Interface>(orb: &oxorb::Orb, url: &'static str) -> Result<R, String> {
    orb.resolve(url).map_err(failed("resolve", url))
}
"#;

const LANE: &str = r#"
/// Returns a lane of a threadpool.
fn lane(priority: i16, threads: usize, dynamic: usize) -> Result<ThreadpoolLane, String> {
    let priority = Priority::new(priority).map_err(failed("lane", "priority"))?;
    Ok(ThreadpoolLane::new(priority, threads).dynamic_threads(dynamic))
}
"#;

const REMOVE: &str = r#"
/// Removes an instance, unless a client has.
fn remove(component: &Component, at: &'static str) -> Result<(), String> {
    match component.remove() {
        Err(LifeCycleError::Order { from: Phase::Removed, .. }) => Ok(()),
        removed => removed.map_err(failed("remove instance", at)),
    }
}
"#;

const ACTIVATE_AT: &str = r#"
/// Activates an instance at the priority of its container, which threads that its executor starts inherit.
fn activate_at(
    orb: &oxorb::Orb,
    priority: i16,
    component: &Component,
    at: &'static str,
) -> Result<(), String> {
    let priority = Priority::new(priority).map_err(failed("activate, at its priority,", at))?;
    let raised = orb.raise_thread(priority);
    let _raised = raised.map_err(failed("activate, at its priority,", at))?;
    component.activate().map_err(failed("activate instance", at))
}
"#;

/// Returns the source of an assembly's program.
pub(super) fn main(assembly: &Assembly<'_>) -> String {
    let mut body = Body::default();
    body.orb(assembly);
    for (at, pool) in assembly.pools.iter().enumerate() {
        body.pool(at, pool);
    }
    if assembly.containers.iter().any(|container| container.has_channel) {
        body.channel();
    }
    for (at, container) in assembly.containers.iter().enumerate() {
        body.container(at, container, assembly);
    }
    body.instances(assembly);
    body.links(assembly);
    body.life(assembly);
    let mut out = format!(
        "//! Process {:?} on node {:?} of the plan {:?}, by `oxorb deploy static`.\n\
         //!\n\
         //! Change the plan and write it again: changes in this file are lost.\n\
         #![forbid(unsafe_code)]\n\n",
        assembly.process.name, assembly.process.node, assembly.label
    );
    out.push_str(&body.imports());
    out.push_str(
        "\n/// Runs until a signal ends the process.\n\
         pub fn main() -> ExitCode {\n\
         \x20   match serve() {\n\
         \x20       Ok(()) => ExitCode::SUCCESS,\n\
         \x20       Err(error) => {\n\
         \x20           eprintln!(\"{error}\");\n\
         \x20           ExitCode::FAILURE\n\
         \x20       }\n\
         \x20   }\n\
         }\n\n\
         fn serve() -> Result<(), String> {\n",
    );
    out.push_str(&body.text);
    out.push_str("}\n");
    out.push_str(FAILED);
    out.push_str(INSTALLED);
    for (name, helper) in
        [("activate_at", ACTIVATE_AT), ("remove", REMOVE), ("resolve", RESOLVE), ("lane", LANE)]
    {
        if body.used.contains(name) {
            out.push_str(helper);
        }
    }
    out
}

/// Statements of the function that runs the assembly.
#[derive(Default)]
struct Body {
    text: String,
    /// Names in use, of helpers and of imports.
    used: BTreeSet<&'static str>,
}

/// Names from `oxorb::components` that not every assembly uses.
const OF_COMPONENTS: [&str; 6] =
    ["EventLanes", "Events", "LifeCycleError", "Navigation", "Phase", "Receptacles"];

/// Names from `oxorb::poa` that not every assembly uses.
const OF_POA: [&str; 1] = ["RtPolicies"];

/// Names from `oxorb::rt` that not every assembly uses.
const OF_RT: [&str; 8] = [
    "Priority",
    "PriorityBand",
    "PriorityBands",
    "PriorityModel",
    "PriorityModelPolicy",
    "RequestBuffering",
    "Threadpool",
    "ThreadpoolLane",
];

impl Body {
    fn imports(&self) -> String {
        let used = |names: &[&'static str]| -> Vec<&'static str> {
            let names = names.iter().filter(|name| self.used.contains(*name));
            names.copied().collect()
        };
        let components = [vec!["Component", "Container"], used(&OF_COMPONENTS)].concat();
        let mut out = format!(
            "use std::fmt::Display;\nuse std::process::ExitCode;\nuse std::sync::Arc;\n\n\
             use oxorb::components::{{{}}};\n",
            components.join(", ")
        );
        if self.used.contains("PriorityBandedConnection") {
            out.push_str(
                "use oxorb::Interface as _;\nuse oxorb::policy::PriorityBandedConnection;\n",
            );
        }
        for (module, names) in [("poa", used(&OF_POA)), ("rt", used(&OF_RT))] {
            match names.as_slice() {
                [] => {}
                [name] => {
                    let _ = writeln!(out, "use oxorb::{module}::{name};");
                }
                names => {
                    let _ = writeln!(out, "use oxorb::{module}::{{{}}};", names.join(", "));
                }
            }
        }
        out
    }

    fn uses(&mut self, names: &[&'static str]) {
        self.used.extend(names);
    }

    fn line(&mut self, depth: usize, text: impl AsRef<str>) {
        let _ = writeln!(self.text, "{}{}", "    ".repeat(depth), text.as_ref());
    }

    fn orb(&mut self, assembly: &Assembly<'_>) {
        if assembly.arguments.is_empty() {
            self.line(1, "let arguments = std::env::args();");
        } else {
            self.line(1, "// Arguments of the command line take precedence.");
            self.line(1, "let mut given = std::env::args();");
            self.line(1, "let arguments = given.next().into_iter();");
            let all: Vec<String> =
                assembly.arguments.iter().map(|one| format!("{one:?}")).collect();
            let all = format!("[{}]", all.join(", "));
            self.line(1, format!("let arguments = arguments.chain({all}.map(String::from));"));
            self.line(1, "let arguments = arguments.chain(given);");
        }
        self.line(1, "let orb = oxorb::Orb::builder().args(arguments).build();");
        self.line(1, "let orb = orb.map_err(failed(\"start\", \"the ORB\"))?;");
        self.line(1, "let ends = orb.shutdown_on_signal();");
        self.line(1, "ends.map_err(failed(\"wait for\", \"signals\"))?;");
    }

    fn pool(&mut self, at: usize, pool: &Pool<'_>) {
        self.uses(&["Threadpool", "Priority"]);
        self.text.push('\n');
        let (stack, buffering) = match pool {
            Pool::Plain(pool) => {
                self.plain(pool);
                let limits = (pool.max_buffered_requests, pool.max_request_buffered_size);
                (pool.stacksize, pool.allow_request_buffering.then_some(limits))
            }
            Pool::Lanes(pool) => {
                self.uses(&["ThreadpoolLane", "lane"]);
                self.line(1, "let pool = Threadpool::with_lanes([");
                for lane in &pool.lane {
                    let (priority, threads) = (lane.priority.0, lane.static_threads);
                    let dynamic = lane.dynamic_threads;
                    self.line(2, format!("lane({priority}, {threads}, {dynamic})?,"));
                }
                self.line(1, "]);");
                if pool.allow_borrowing {
                    self.line(1, "let pool = pool.allow_borrowing();");
                }
                let limits = (pool.max_buffered_requests, pool.max_request_buffered_size);
                (pool.stacksize, pool.allow_request_buffering.then_some(limits))
            }
        };
        if stack > 0 {
            self.line(1, format!("let pool = pool.stack_size({stack});"));
        }
        if let Some((requests, octets)) = buffering {
            self.uses(&["RequestBuffering"]);
            self.line(1, "let pool = pool.buffering(RequestBuffering {");
            self.line(2, format!("max_requests: {requests},"));
            self.line(2, format!("max_octets: {octets},"));
            self.line(2, "..RequestBuffering::default()");
            self.line(1, "});");
        }
        self.line(1, format!("let pool_{at} = orb.create_threadpool(pool);"));
        let id = pool.id();
        self.line(
            1,
            format!("let pool_{at} = pool_{at}.map_err(failed(\"make threadpool\", {id:?}))?;"),
        );
    }

    fn plain(&mut self, pool: &Threadpool) {
        let (threads, dynamic) = (pool.static_threads, pool.dynamic_threads);
        let (id, priority) = (&pool.id.0, pool.default_priority.0);
        self.line(1, format!("let priority = Priority::new({priority});"));
        self.line(
            1,
            format!("let priority = priority.map_err(failed(\"make threadpool\", {id:?}))?;"),
        );
        self.line(1, format!("let pool = Threadpool::new({threads}).dynamic_threads({dynamic});"));
        self.line(1, "let pool = pool.default_priority(priority);");
    }

    /// Makes the channel of the process, which the containers that pass events through it share.
    fn channel(&mut self) {
        self.uses(&["EventLanes"]);
        self.text.push('\n');
        self.line(1, "let channel = Arc::new(EventLanes::new(&orb));");
    }

    fn container(&mut self, at: usize, container: &Container<'_>, assembly: &Assembly<'_>) {
        self.text.push('\n');
        let name = &container.name;
        if let Some(bands) = container.bands {
            self.uses(&["PriorityBand", "PriorityBands"]);
            self.line(1, format!("let bands = PriorityBands::new({});", list(bands)));
            self.line(
                1,
                format!("let bands = bands.map_err(failed(\"set bands of\", {name:?}))?;"),
            );
        }
        self.line(1, format!("let container = Container::builder(orb.root_poa(), {name:?});"));
        if container.has_channel {
            self.line(1, "let container = container.events_by(channel.clone());");
        }
        let model = container.set.and_then(|set| set.priority_model.as_ref());
        if model.is_some() || container.pool.is_some() || container.bands.is_some() {
            self.uses(&["RtPolicies"]);
            self.line(1, "let container = container.realtime(RtPolicies {");
            if let Some(model) = model {
                self.uses(&["PriorityModel", "PriorityModelPolicy"]);
                let kind = match model.priority_model {
                    PriorityModelKind::ClientPropagated => "ClientPropagated",
                    PriorityModelKind::ServerDeclared => "ServerDeclared",
                };
                self.line(2, "priority_model: Some(PriorityModelPolicy {");
                self.line(3, format!("model: PriorityModel::{kind},"));
                self.line(3, format!("server_priority: {},", model.server_priority.0));
                self.line(2, "}),");
            }
            if let Some(pool) = container.pool {
                self.line(2, format!("threadpool: Some(pool_{pool}),"));
            }
            if container.bands.is_some() {
                self.line(2, "priority_bands: Some(bands),");
            }
            self.line(2, "..RtPolicies::default()");
            self.line(1, "});");
        }
        let count = assembly.instances.iter().filter(|part| part.container == at).count();
        // The default maximum suffices for up to 512 instances. For more, allow twice their number, because homes may
        // create further components.
        if count > 512 {
            self.line(1, format!("let container = container.max_components({});", count * 2));
        }
        self.line(1, "let container = container.explicit_activation(true).create();");
        self.line(
            1,
            format!(
                "let container_{at} = container.map_err(failed(\"make container\", {name:?}))?;"
            ),
        );
    }

    fn instances(&mut self, assembly: &Assembly<'_>) {
        for (at, part) in assembly.instances.iter().enumerate() {
            self.text.push('\n');
            let (container, name) = (part.container, &part.name);
            self.line(1, format!("let executor = {}();", part.executor));
            let is_named = !part.attributes.is_empty() || !part.ior_files.is_empty();
            let bound = if is_named { "instance" } else { "_" };
            self.line(1, format!("let {bound}: {} = container_{container}", part.reference));
            self.line(2, format!(".install({name:?}, executor)"));
            self.line(2, format!(".map_err(failed(\"install instance\", {name:?}))?;"));
            for (attribute, setter, argument) in &part.attributes {
                if argument.starts_with("Some(") {
                    self.uses(&["resolve"]);
                }
                let full = format!("{name}.{attribute}");
                self.line(1, format!("let is_set = instance.{setter}({argument});"));
                self.line(1, format!("is_set.map_err(failed(\"set attribute\", {full:?}))?;"));
            }
            for file in &part.ior_files {
                self.line(
                    1,
                    format!("std::fs::write({file:?}, oxorb::Interface::to_ior(&instance))"),
                );
                self.line(2, format!(".map_err(failed(\"write the reference to\", {file:?}))?;"));
            }
            self.line(
                1,
                format!("let component_{at} = installed(&container_{container}, {name:?})?;"),
            );
        }
    }

    fn links(&mut self, assembly: &Assembly<'_>) {
        for link in &assembly.links {
            self.text.push('\n');
            let (name, user, port) = (link.name, link.user, link.port);
            let fails = |what: &str| format!(".map_err(failed({what:?}, {name:?}))?;");
            let is_facet = link.how == How::Receptacle;
            match (&link.from, is_facet) {
                (Origin::Port(at, facet), true) => {
                    self.uses(&["Navigation"]);
                    self.line(
                        1,
                        format!(
                            "let object = Navigation::provide_facet(&*component_{at}, {facet:?})"
                        ),
                    );
                    self.line(2, fails("connect, asking for the facet,"));
                }
                (Origin::Port(at, sink), false) => {
                    self.uses(&["Events"]);
                    self.line(
                        1,
                        format!("let object = Events::get_consumer(&*component_{at}, {sink:?})"),
                    );
                    self.line(2, fails("connect, asking for the sink,"));
                }
                (Origin::Url(url), _) => {
                    self.uses(&["resolve"]);
                    self.line(1, format!("let object = Some(resolve(&orb, {url:?})?);"));
                }
            }
            if let Some(bands) = link.bands {
                self.uses(&["PriorityBandedConnection"]);
                let bands = list(bands).replace("PriorityBand {", "oxorb::policy::PriorityBand {");
                self.line(1, format!("let bands = PriorityBandedConnection::new({bands})"));
                self.line(2, fails("connect, with bands,"));
                self.line(1, "let object = object.map(|object| object.with(bands));");
            }
            let (interface, operation) = match link.how {
                How::Receptacle => ("Receptacles", "connect"),
                How::Emitter => ("Events", "connect_consumer"),
                How::Publisher => ("Events", "subscribe"),
            };
            self.uses(&[interface]);
            self.line(
                1,
                format!("{interface}::{operation}(&*component_{user}, {port:?}, object.as_ref())"),
            );
            self.line(2, fails("connect"));
        }
    }

    fn life(&mut self, assembly: &Assembly<'_>) {
        self.text.push('\n');
        for &at in &assembly.order {
            let name = &assembly.instances[at].name;
            self.line(1, format!("let done = component_{at}.configuration_complete();"));
            self.line(1, format!("done.map_err(failed(\"configure instance\", {name:?}))?;"));
        }
        self.text.push('\n');
        for &at in &assembly.order {
            self.activate(at, assembly);
        }
        self.text.push('\n');
        self.line(1, "orb.run();");
        if assembly.order.is_empty() {
            self.line(1, "Ok(())");
            return;
        }
        self.uses(&["remove", "LifeCycleError", "Phase"]);
        self.line(1, "// Sources of events end before those who take them.");
        self.line(1, "let mut ended = Ok(());");
        for &at in assembly.order.iter().rev() {
            let name = &assembly.instances[at].name;
            self.line(1, format!("ended = ended.and(remove(&component_{at}, {name:?}));"));
        }
        self.line(1, "ended");
    }

    fn activate(&mut self, at: usize, assembly: &Assembly<'_>) {
        let part = &assembly.instances[at];
        let name = &part.name;
        let set = assembly.containers[part.container].set;
        match set.and_then(|set| set.priority_model.as_ref()) {
            Some(model) => {
                self.uses(&["activate_at", "Priority"]);
                let priority = model.server_priority.0;
                self.line(1, format!("activate_at(&orb, {priority}, &component_{at}, {name:?})?;"));
            }
            None => {
                self.line(1, format!("let done = component_{at}.activate();"));
                self.line(1, format!("done.map_err(failed(\"activate instance\", {name:?}))?;"));
            }
        }
    }
}

/// Returns bands as a list expression.
fn list(bands: &ConnectionBands) -> String {
    let bands = bands.band.iter().map(|band| {
        let (low, high) = (band.low.0, band.high.0);
        format!("PriorityBand {{ low: {low}, high: {high} }}")
    });
    format!("&[{}]", bands.collect::<Vec<_>>().join(", "))
}
