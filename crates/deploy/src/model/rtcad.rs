//! Real-time resources and who uses them: CIAO's `ServerResources`, and what the analysis needs beside it.

use oxorb_sched::level::{Criticality, Importance};
use oxorb_sched::time::{self, MICROSECOND, MILLISECOND, Nanos, SECOND};

use crate::described::{Id, Item, Ref, clip, described, plain, spelled};
use crate::element::Element;
use crate::finding::{Error, Place};
use crate::search::find;

/// A CORBA priority, 0 to 32767.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Priority(pub i16);

impl Item for Priority {
    fn read(element: &Element) -> Result<Priority, Error> {
        let priority = i64::read(element)?;
        match i16::try_from(priority) {
            Ok(priority) if priority >= 0 => Ok(Priority(priority)),
            _ => Err(Error::at(
                element.place,
                format!("{priority} is no CORBA priority, which is from 0 to 32767"),
            )),
        }
    }

    fn write(&self, name: &str) -> Element {
        let element = crate::described::bare(name, self.0);
        // The schema has it as an attribute.
        match name {
            "server_priority" => element.attribute(),
            _ => element,
        }
    }
}

/// Reference whose text is the id (`xs:IDREF`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextRef {
    /// The id.
    pub id: String,
    /// Position of the reference.
    pub place: Place,
}

impl TextRef {
    /// Refers to an id.
    pub fn to(id: impl Into<String>) -> TextRef {
        TextRef { id: id.into(), place: Place::default() }
    }
}

impl Item for TextRef {
    fn read(element: &Element) -> Result<TextRef, Error> {
        let Ref { id, place } = Ref::read(element)?;
        Ok(TextRef { id, place })
    }

    fn write(&self, name: &str) -> Element {
        Element::text(name, &self.id)
    }
}

/// A time in nanoseconds, written as `18 ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub Nanos);

impl Item for Time {
    fn read(element: &Element) -> Result<Time, Error> {
        let time = time::parse(plain(element)?);
        time.map(Time).map_err(|error| Error::at(element.place, error.to_string()))
    }

    fn write(&self, name: &str) -> Element {
        let units = [(SECOND, "s"), (MILLISECOND, "ms"), (MICROSECOND, "us")];
        let whole = units.iter().find(|(scale, _)| self.0 > 0 && self.0.is_multiple_of(*scale));
        let (scale, unit) = whole.copied().unwrap_or((1, "ns"));
        Element::text(name, format!("{} {unit}", self.0 / scale))
    }
}

/// A period in nanoseconds, more than 0; read as a time or as a rate (`20 Hz`), written as a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Period(pub Nanos);

impl Item for Period {
    fn read(element: &Element) -> Result<Period, Error> {
        let text = plain(element)?;
        match time::parse_period(text) {
            Ok(0) => Err(Error::at(element.place, format!("{:?} is no period", clip(text)))),
            Ok(period) => Ok(Period(period)),
            Err(error) => Err(Error::at(element.place, error.to_string())),
        }
    }

    fn write(&self, name: &str) -> Element {
        Time(self.0).write(name)
    }
}

spelled! {
    /// Level, one of five, of criticality or of importance.
    Level {
        /// Least.
        VeryLow = "VERY_LOW",
        /// Little.
        Low = "LOW",
        /// Middle level.
        Medium = "MEDIUM",
        /// Much.
        High = "HIGH",
        /// Most.
        VeryHigh = "VERY_HIGH",
    }
}

impl From<Level> for Criticality {
    fn from(level: Level) -> Criticality {
        Criticality::ALL[level as usize]
    }
}

impl From<Level> for Importance {
    fn from(level: Level) -> Importance {
        Importance::ALL[level as usize]
    }
}

described! {
    /// Arguments for the process of the instances.
    CommandLine {
        /// Arguments, in order.
        arg: Vec<String> = "arg",
    }
}

described! {
    /// Configuration of services.
    ServiceConfiguration {
        /// File.
        uri: String = "uri",
    }
}

described! {
    /// A thread pool without lanes (`RTCORBA::create_threadpool`).
    Threadpool {
        /// Name for policy sets.
        id: Id = "id",
        /// Octets of stack of each thread; 0: as the system likes.
        stacksize: u32 = "stacksize",
        /// Threads from the start.
        static_threads: u32 = "static_threads",
        /// Threads more that may be made.
        dynamic_threads: u32 = "dynamic_threads",
        /// Priority of waiting threads.
        default_priority: Priority = "default_priority",
        /// Whether requests wait where all threads are busy.
        allow_request_buffering: bool = "allow_request_buffering",
        /// Requests that may wait.
        max_buffered_requests: u32 = "max_buffered_requests",
        /// Octets of requests that may wait.
        max_request_buffered_size: u32 = "max_request_buffered_size",
    }
}

described! {
    /// Threads of one priority.
    Lane {
        /// Threads from the start.
        static_threads: u32 = "static_threads",
        /// Threads more that may be made.
        dynamic_threads: u32 = "dynamic_threads",
        /// Priority of all of them.
        priority: Priority = "priority",
    }
}

described! {
    /// A thread pool with lanes (`RTCORBA::create_threadpool_with_lanes`).
    ThreadpoolWithLanes {
        /// Name for policy sets.
        id: Id = "id",
        /// Lanes.
        lane: Vec<Lane> = "threadpoolLane",
        /// Octets of stack of each thread; 0: as the system likes.
        stacksize: u32 = "stacksize",
        /// Whether lanes lend threads to more urgent ones.
        allow_borrowing: bool = "allow_borrowing",
        /// Whether requests wait where all threads are busy.
        allow_request_buffering: bool = "allow_request_buffering",
        /// Requests that may wait.
        max_buffered_requests: u32 = "max_buffered_requests",
        /// Octets of requests that may wait.
        max_request_buffered_size: u32 = "max_request_buffered_size",
    }
}

described! {
    /// Priorities that share a connection.
    Band {
        /// Least.
        low: Priority = "low",
        /// Most.
        high: Priority = "high",
    }
}

described! {
    /// Bands of priorities with a connection each (`RTCORBA::PriorityBandedConnectionPolicy`).
    ConnectionBands {
        /// Name for policy sets.
        id: Id = "id",
        /// Bands.
        band: Vec<Band> = "band",
    }
}

described! {
    /// Resources of a server process.
    Resources {
        /// Pools without lanes.
        threadpool: Vec<Threadpool> = "threadpool",
        /// Pools with lanes.
        threadpool_with_lanes: Vec<ThreadpoolWithLanes> = "threadpoolWithLanes",
        /// Bands.
        connection_bands: Vec<ConnectionBands> = "connectionBands",
    }
}

spelled! {
    /// Party whose priority a request runs at (`RTCORBA::PriorityModel`).
    PriorityModelKind {
        /// The client's.
        ClientPropagated = "CLIENT_PROPAGATED",
        /// The server's.
        ServerDeclared = "SERVER_DECLARED",
    }
}

described! {
    /// A priority model (`RTCORBA::PriorityModelPolicy`).
    PriorityModel {
        /// Priority of the server's declaration, or of clients that have none.
        server_priority: Priority = "server_priority",
        /// Party whose priority counts.
        priority_model: PriorityModelKind = "priority_model",
    }
}

described! {
    /// Policies of a container or of references.
    PolicySet {
        /// Name for instances.
        id: Id = "id",
        /// Priority model.
        priority_model: Option<PriorityModel> = "priorityModel",
        /// Pool.
        threadpool: Option<TextRef> = "threadpool",
        /// Bands.
        priority_banded_connection: Option<TextRef> = "priorityBandedConnection",
    }
}

described! {
    /// Resources and policies of an ORB.
    OrbConfigs {
        /// Resources.
        resources: Option<Resources> = "resources",
        /// Policies.
        policy_set: Vec<PolicySet> = "policySet",
    }
}

described! {
    /// Work of an instance: what happens when a port of it is called, or when its own time has come.
    Work {
        /// Facet or sink that is called; none: the instance runs by itself.
        port: Option<String> = "port",
        /// The longest it takes, without what it calls.
        wcet: Time = "wcet",
        /// Time between two runs; only without a port.
        period: Option<Period> = "period",
        /// Attribute of the instance in the plan that holds the rate in Hz, in place of `period`.
        rate_from: Option<String> = "rateFrom",
        /// Time from the release of the first work of the chain to the end of this one; none: the period.
        deadline: Option<Time> = "deadline",
        /// Most that a run may begin late; only without a port.
        jitter: Option<Time> = "jitter",
        /// The longest that something less urgent keeps what it needs.
        blocking: Option<Time> = "blocking",
        /// Sources that it pushes to, once for each time they are listed. None listed: all, if the work is a sink's or its own.
        /// `none`: nothing.
        emits: Vec<String> = "emits",
        /// Receptacles that it calls, once for each time they are listed. None listed: all, if the work is a sink's or its own.
        /// `none`: nothing.
        calls: Vec<String> = "calls",
        /// Rate at which it has to be called at least.
        least_rate: Option<Period> = "leastRate",
        /// Rate at which it may be called at most.
        most_rate: Option<Period> = "mostRate",
    }
}

spelled! {
    /// Way of the events of an instance's sources to their consumers.
    Events {
        /// The thread that pushes an event waits for one consumer after the other.
        Direct = "direct",
        /// An event channel of the process takes the events, and its threads push them.
        Channel = "channel",
    }
}

described! {
    /// Quality of one instance of the plan.
    Attachment {
        /// Name of the instance in the plan.
        name: String = "name",
        /// Policies of its container (`CIAO:InstancePolicy`).
        policy_set: Option<TextRef> = "policySet",
        /// Policies of the references that its receptacles get (`CIAO:ReceptaclePolicy`).
        receptacle_policy: Option<TextRef> = "receptaclePolicy",
        /// Cost of being late.
        criticality: Option<Level> = "criticality",
        /// Decides between equals.
        importance: Option<Level> = "importance",
        /// Processors that it may run on, as `cpuset` writes them.
        cpus: Option<String> = "cpus",
        /// Delivery of events from its sources; none: directly.
        events: Option<Events> = "events",
        /// Work that the instance does, and the time that it takes.
        work: Vec<Work> = "work",
    }
}

described! {
    /// Quality of one connection of the plan.
    ConnectionTiming {
        /// Name of the connection in the plan.
        name: String = "name",
        /// The longest a message is under way.
        delay: Time = "delay",
    }
}

described! {
    /// Real-time resources (`CIAO:ServerResources`), and their attachment to the instances of a plan, which is OxORB's.
    ServerResources {
        /// Identity.
        id: Option<Id> = "id",
        /// Arguments of the process.
        cmdline: Option<CommandLine> = "cmdline",
        /// Configuration of services.
        svcconf: Option<ServiceConfiguration> = "svcconf",
        /// Resources and policies.
        orb_configs: Option<OrbConfigs> = "orbConfigs",
        /// Quality of instances.
        instance: Vec<Attachment> = "instance",
        /// Quality of connections.
        connection: Vec<ConnectionTiming> = "connection",
    }
}

impl ServerResources {
    /// Returns the policy set of an id. Linear in the number of sets; [`Lookup`](crate::check::Lookup) finds many.
    pub fn policy_set(&self, id: &str) -> Option<&PolicySet> {
        find(&self.orb_configs.as_ref()?.policy_set, |set| set.id.0 == id)
    }

    /// Returns the attachment of an instance. Linear in their number; [`Lookup`](crate::check::Lookup) finds many.
    pub fn attachment(&self, instance: &str) -> Option<&Attachment> {
        find(&self.instance, |attachment| attachment.name == instance)
    }
}
