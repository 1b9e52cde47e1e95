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
        help: "How long a two-way call may take, in milliseconds; 0: for ever. Default 60000.",
        apply: |options, text| {
            let limit = milliseconds(text)?;
            options.round_trip_timeout = (!limit.is_zero()).then_some(limit);
            Ok(())
        },
    },
    Setting {
        name: "ConnectTimeout",
        value: "MS",
        help: "How long connecting to one server may take, in milliseconds. Default 5000.",
        apply: |options, text| {
            options.connect_timeout = some_milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "BufferedOneways",
        value: "OCTETS",
        help: "Most that oneways with SYNC_NONE may hold for each server and priority. Default 1 MiB.",
        apply: |options, text| {
            options.buffered_oneways = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "SynchronizedClocks",
        value: "yes|no",
        help: "Whether relative time limits travel as end times, too. Default no.",
        apply: |options, text| {
            options.synchronized_clocks = yes_or_no(text)?;
            Ok(())
        },
    },
    Setting {
        name: "StallTimeout",
        value: "MS",
        help: "How long a client may stall in mid-message, in milliseconds. Default 30000.",
        apply: |options, text| {
            options.stall_timeout = some_milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ClientConnections",
        value: "private|cached|multiplexed|leader-followers",
        help: "Connections per thread without locks, or taken and put back by all threads; or one that all calls share, read by a thread of the ORB or by the callers in turn. Default cached.",
        apply: |options, text| {
            options.client_connections = client_connections(text)?;
            Ok(())
        },
    },
    Setting {
        name: "Concurrency",
        value: CONCURRENCY,
        help: "Which threads serve requests: one for each connection; one for all; N workers in turn; one for each request, at most N; N workers from a queue of QUEUE requests. Default thread-per-connection.",
        apply: |options, text| {
            options.concurrency = Concurrency::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "Reactor",
        value: "epoll|busy-poll:MICROSECONDS",
        help: "How threads that serve several connections wait: asleep, or asking the kernel again and again for so long. Default epoll.",
        apply: |options, text| {
            options.reactor = ReactorChoice::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "WorkerStay",
        value: "MS",
        help: "How long a leader/followers worker stays with a silent connection. Default 1.",
        apply: |options, text| {
            options.worker_stay = milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "Spin",
        value: "MICROSECONDS",
        help: "How long a thread looks for the next octets of a connection before it sleeps: in shared memory, at most 5000; over TCP in the device, where the system allows it (SO_BUSY_POLL). Takes a processor meanwhile. Default 0.",
        apply: |options, text| {
            options.spin = microseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "SharedPages",
        value: Pages::VALUES,
        help: "Pages of connections over shared memory: taken when they are touched, or all at once, also kept in RAM (mlock) or put into huge pages of 2 MiB; or given back after so many milliseconds without a write. What the system refuses ends the connection. pages= of an endpoint goes before it. Default on-demand.",
        apply: |options, text| {
            options.shared_pages = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "TrustIdle",
        value: "MS",
        help: "How long a client connection may idle before it is checked. Default 5.",
        apply: |options, text| {
            options.trust_idle = milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ClassPacing",
        value: "CLASS=OCTETS ...",
        help: "Octets of requests that leave in a second, at most, over each connection of a communication class (isochronous, burst, message-stream), as in `burst=1000000`; over TCP. Default: any number.",
        apply: |options, text| {
            options.class_pacing = text.parse()?;
            Ok(())
        },
    },
];
