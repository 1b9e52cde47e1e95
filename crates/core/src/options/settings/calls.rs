//! Settings of calls: time limits, connections, and serving threads.

use oxorb_transport::Pages;

use super::Setting;
use crate::options::value::{
    client_connections, microseconds, milliseconds, positive, some_milliseconds, yes_or_no,
};
use crate::options::{CONCURRENCY, Concurrency, ReactorChoice};

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: "RoundTripTimeout",
        value: "MS",
        help: "Time limit of a two-way call, in milliseconds; 0: no limit. Default 60000.",
        apply: |options, text| {
            let limit = milliseconds(text)?;
            options.round_trip_timeout = (!limit.is_zero()).then_some(limit);
            Ok(())
        },
    },
    Setting {
        name: "ConnectTimeout",
        value: "MS",
        help: "Time limit of connecting to one server, in milliseconds. Default 5000.",
        apply: |options, text| {
            options.connect_timeout = some_milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "BufferedOneways",
        value: "OCTETS",
        help: "Maximum memory of waiting oneways with SYNC_NONE for each server and priority. Default 1 MiB.",
        apply: |options, text| {
            options.buffered_oneways = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "SynchronizedClocks",
        value: "yes|no",
        help: "Whether relative time limits are also sent as end times. Default no.",
        apply: |options, text| {
            options.synchronized_clocks = yes_or_no(text)?;
            Ok(())
        },
    },
    Setting {
        name: "StallTimeout",
        value: "MS",
        help: "Time for which a client may pause within a message, in milliseconds. Default 30000.",
        apply: |options, text| {
            options.stall_timeout = some_milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ClientConnections",
        value: "private|cached|multiplexed|leader-followers",
        help: "Sharing of client connections: private (for one thread, without locks), cached (taken and returned by all threads), multiplexed (one that all calls share, read by a thread of the ORB) or leader-followers (one that all calls share, read by the callers in turn). Default cached.",
        apply: |options, text| {
            options.client_connections = client_connections(text)?;
            Ok(())
        },
    },
    Setting {
        name: "Concurrency",
        value: CONCURRENCY,
        help: "Threads that serve requests: one for each connection; one for all; N workers in turn; one for each request, at most N; N workers with a queue of QUEUE requests. Default thread-per-connection.",
        apply: |options, text| {
            options.concurrency = Concurrency::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "Reactor",
        value: "epoll|busy-poll:MICROSECONDS",
        help: "Waiting of threads that serve several connections: asleep, or polling the kernel for this time before \
               they sleep. Default epoll.",
        apply: |options, text| {
            options.reactor = ReactorChoice::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "WorkerStay",
        value: "MS",
        help: "Time for which a leader/followers worker stays with a silent connection, in milliseconds. Default 1.",
        apply: |options, text| {
            options.worker_stay = milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "Spin",
        value: "MICROSECONDS",
        help: "Time for which a thread polls a connection before it sleeps, in microseconds: in shared memory, at most 5000; over TCP in the device, if the system allows it (SO_BUSY_POLL). Polling occupies a processor. Default 0.",
        apply: |options, text| {
            options.spin = microseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "SharedPages",
        value: Pages::VALUES,
        help: "Pages of connections over shared memory: allocated when they are touched, or all at once, optionally also locked in RAM (mlock) or placed in huge pages of 2 MiB; or returned to the system after this number of milliseconds without a write. If the system refuses the pages, the connection ends. pages= of an endpoint overrides this setting. Default on-demand.",
        apply: |options, text| {
            options.shared_pages = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "TrustIdle",
        value: "MS",
        help: "Time for which a client connection may be idle before it is checked, in milliseconds. Default 5.",
        apply: |options, text| {
            options.trust_idle = milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ClassPacing",
        value: "CLASS=OCTETS ...",
        help: "Maximum number of octets of requests sent in a second over each connection of a communication class (isochronous, burst, message-stream), as in `burst=1000000`; over TCP. Default: any number.",
        apply: |options, text| {
            options.class_pacing = text.parse()?;
            Ok(())
        },
    },
];
