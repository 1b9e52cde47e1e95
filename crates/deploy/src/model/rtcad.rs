//! Real-time resources and their users: CIAO's `ServerResources`, and additional data for the analysis.

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
                format!("{priority} is not a CORBA priority; expected 0 to 32767"),
            )),
        }
    }

    fn write(&self, name: &str) -> Element {
        let element = crate::described::bare(name, self.0);
        // In the schema, `server_priority` is an attribute and every other priority an element.
        match name {
            "server_priority" => element.attribute(),
            _ => element,
        }
    }
}

/// Reference whose text is the id (`xs:IDREF`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextRef {
    /// Id of the element.
    pub id: String,
    /// Position of the reference.
    pub place: Place,
}

impl TextRef {
    /// Creates a reference to an id.
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

/// A period in nanoseconds, greater than 0; read as a time or as a rate (`20 Hz`), written as a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Period(pub Nanos);

impl Item for Period {
    fn read(element: &Element) -> Result<Period, Error> {
        let text = plain(element)?;
        match time::parse_period(text) {
            Ok(0) => Err(Error::at(element.place, format!("{:?} is not a period", clip(text)))),
            Ok(period) => Ok(Period(period)),
            Err(error) => Err(Error::at(element.place, error.to_string())),
        }
    }

    fn write(&self, name: &str) -> Element {
        Time(self.0).write(name)
    }
}

spelled! {
    /// Level of criticality or of importance, one of five.
    Level {
        /// Lowest level.
        VeryLow = "VERY_LOW",
        /// Second lowest level.
        Low = "LOW",
        /// Middle level.
        Medium = "MEDIUM",
        /// Second highest level.
        High = "HIGH",
        /// Highest level.
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
        /// URI of a file.
        uri: String = "uri",
    }
}

described! {
    /// A thread pool without lanes (`RTCORBA::create_threadpool`).
    Threadpool {
        /// Id, as used in policy sets.
        id: Id = "id",
        /// Stack size per thread in octets; 0: the system's default.
        stacksize: u32 = "stacksize",
        /// Number of initial threads.
        static_threads: u32 = "static_threads",
        /// Maximum number of additional threads.
        dynamic_threads: u32 = "dynamic_threads",
        /// Priority of waiting threads.
        default_priority: Priority = "default_priority",
        /// Whether requests wait while all threads are busy.
        allow_request_buffering: bool = "allow_request_buffering",
        /// Maximum number of waiting requests.
        max_buffered_requests: u32 = "max_buffered_requests",
        /// Maximum size in octets of the waiting requests.
        max_request_buffered_size: u32 = "max_request_buffered_size",
    }
}

described! {
    /// Threads of one priority.
    Lane {
        /// Number of initial threads.
        static_threads: u32 = "static_threads",
        /// Maximum number of additional threads.
        dynamic_threads: u32 = "dynamic_threads",
        /// Priority of all threads.
        priority: Priority = "priority",
    }
}

described! {
    /// A thread pool with lanes (`RTCORBA::create_threadpool_with_lanes`).
    ThreadpoolWithLanes {
        /// Id, as used in policy sets.
        id: Id = "id",
        /// Lanes.
        lane: Vec<Lane> = "threadpoolLane",
        /// Stack size per thread in octets; 0: the system's default.
        stacksize: u32 = "stacksize",
        /// Whether lanes lend threads to more urgent ones.
        allow_borrowing: bool = "allow_borrowing",
        /// Whether requests wait while all threads are busy.
        allow_request_buffering: bool = "allow_request_buffering",
        /// Maximum number of waiting requests.
        max_buffered_requests: u32 = "max_buffered_requests",
        /// Maximum size in octets of the waiting requests.
        max_request_buffered_size: u32 = "max_request_buffered_size",
    }
}

described! {
    /// Range of priorities that share a connection.
    Band {
        /// Lowest priority.
        low: Priority = "low",
        /// Highest priority.
        high: Priority = "high",
    }
}

described! {
    /// Bands of priorities with a connection each (`RTCORBA::PriorityBandedConnectionPolicy`).
    ConnectionBands {
        /// Id, as used in policy sets.
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
    /// Origin of the priority of a request (`RTCORBA::PriorityModel`).
    PriorityModelKind {
        /// The client's priority.
        ClientPropagated = "CLIENT_PROPAGATED",
        /// The server's priority.
        ServerDeclared = "SERVER_DECLARED",
    }
}

described! {
    /// A priority model (`RTCORBA::PriorityModelPolicy`).
    PriorityModel {
        /// Priority declared by the server, or of clients without one.
        server_priority: Priority = "server_priority",
        /// Origin of the priority.
        priority_model: PriorityModelKind = "priority_model",
    }
}

described! {
    /// Policies of a container or of references.
    PolicySet {
        /// Id, as used in attachments.
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

spelled! {
    /// Treatment of calls and events beyond the rate of a work.
    Beyond {
        /// Calls and events beyond the rate are accepted. The rate is an assumption of the analysis.
        Allow = "allow",
        /// The container refuses calls and events beyond the rate.
        Refuse = "refuse",
    }
}

described! {
    /// Work of an instance, released by a call of one of its ports or by time.
    Work {
        /// Facet or sink that is called; `None`: released by time.
        port: Option<String> = "port",
        /// Worst-case execution time, without calls.
        wcet: Time = "wcet",
        /// Time between two releases; only without a port.
        period: Option<Period> = "period",
        /// Attribute of the instance in the plan that holds the rate in Hz, instead of `period`.
        rate_from: Option<String> = "rateFrom",
        /// Deadline of this work, relative to the release of the first work of the chain; `None`: the period.
        deadline: Option<Time> = "deadline",
        /// Longest delay of a release; only without a port.
        jitter: Option<Time> = "jitter",
        /// Longest time for which less urgent work holds a resource that this work needs; of several, the sum.
        blocking: Option<Time> = "blocking",
        /// Sources to which the work pushes, once for each time that a source is listed. If empty: all sources, for the
        /// work of a sink or without a port. `none`: no source.
        emits: Vec<String> = "emits",
        /// Receptacles that the work calls, once for each time that a receptacle is listed. If empty: all receptacles,
        /// for the work of a sink or without a port. `none`: no receptacle.
        calls: Vec<String> = "calls",
        /// Minimum rate of calls.
        least_rate: Option<Period> = "leastRate",
        /// Maximum rate of calls.
        most_rate: Option<Period> = "mostRate",
        /// Treatment of calls beyond `most_rate`, or of events beyond the period; none: they are accepted.
        beyond: Option<Beyond> = "beyond",
        /// Number of calls that may come at once at a port whose rate is enforced; none: 2.
        burst: Option<u32> = "burst",
    }
}

spelled! {
    /// Delivery of events from an instance's sources to their consumers.
    Events {
        /// The publishing thread pushes to one consumer after the other.
        Direct = "direct",
        /// A channel of the process accepts the events, and pushes them to each consumer in a thread of the consumer's
        /// priority.
        Channel = "channel",
        /// The carrier that the executable provides accepts the events.
        Executable = "executable",
    }
}

described! {
    /// Quality of service of one instance of the plan.
    Attachment {
        /// Name of the instance in the plan.
        name: String = "name",
        /// Policies of the instance's container (`CIAO:InstancePolicy`).
        policy_set: Option<TextRef> = "policySet",
        /// Policies of the references in the instance's receptacles (`CIAO:ReceptaclePolicy`).
        receptacle_policy: Option<TextRef> = "receptaclePolicy",
        /// Severity of a missed deadline.
        criticality: Option<Level> = "criticality",
        /// Tie-breaker between equals.
        importance: Option<Level> = "importance",
        /// Processors on which the instance may run, in the notation of `cpuset`.
        cpus: Option<String> = "cpus",
        /// Delivery of events from the instance's sources; `None`: direct.
        events: Option<Events> = "events",
        /// Works of the instance, with their times.
        work: Vec<Work> = "work",
    }
}

described! {
    /// Quality of service of one connection of the plan.
    ConnectionTiming {
        /// Name of the connection in the plan.
        name: String = "name",
        /// Maximum delay of a message.
        delay: Time = "delay",
    }
}

described! {
    /// Real-time resources (`CIAO:ServerResources`), and their attachment to the instances of a plan, an extension of
    /// OxORB.
    ServerResources {
        /// Identity.
        id: Option<Id> = "id",
        /// Arguments of the process.
        cmdline: Option<CommandLine> = "cmdline",
        /// Configuration of services.
        svcconf: Option<ServiceConfiguration> = "svcconf",
        /// Resources and policies.
        orb_configs: Option<OrbConfigs> = "orbConfigs",
        /// Quality of service of instances.
        instance: Vec<Attachment> = "instance",
        /// Quality of service of connections.
        connection: Vec<ConnectionTiming> = "connection",
    }
}

impl ServerResources {
    /// Returns the policy set with an id. Linear in the number of sets; use [`Lookup`](crate::check::Lookup) for many.
    pub fn policy_set(&self, id: &str) -> Option<&PolicySet> {
        find(&self.orb_configs.as_ref()?.policy_set, |set| set.id.0 == id)
    }

    /// Returns the attachment of an instance. Linear in their number; use [`Lookup`](crate::check::Lookup) for many.
    pub fn attachment(&self, instance: &str) -> Option<&Attachment> {
        find(&self.instance, |attachment| attachment.name == instance)
    }
}
