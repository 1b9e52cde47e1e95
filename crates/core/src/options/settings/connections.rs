//! Settings of connections: number, peers, lifetime, and memory for each client.

use std::time::Duration;

use oxorb_transport::{AccessError, Multicast};

use super::Setting;
use crate::options::value::{number, or_none, positive, zero_or_one};

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: "MaxConnections",
        value: "N",
        help: "Maximum number of connections that a server accepts. Default 1000.",
        apply: |options, text| {
            options.max_connections = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxConnectionsPerClient",
        value: "N",
        help: "Maximum number of connections that a server accepts from one address; 0: no limit. Default 500.",
        apply: |options, text| {
            options.max_connections_per_client = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxRequestsPerClient",
        value: "N",
        help: "Maximum number of concurrently running requests of one address; 0: no limit. Default 0.",
        apply: |options, text| {
            options.max_requests_per_client = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxRequestsPerConnection",
        value: "N",
        help: "Maximum number of requests of one connection that run concurrently; 1: one after another, in order. \
               Default 64.",
        apply: |options, text| {
            options.max_requests_per_connection = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "OrderedReconnect",
        value: "0|1",
        help: "Whether a new shared connection (leader-followers) is opened only after the server has read the previous one to its end, if a request was cut off there; oneways then keep their order. Default 0.",
        apply: |options, text| {
            options.ordered_reconnect = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxOctetsPerClient",
        value: "OCTETS",
        help: "Maximum total memory of messages, values, large replies and kept buffers of one address; 0: no limit. \
               Default 240 MiB.",
        apply: |options, text| {
            options.max_octets_per_client = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxReplyOctetsPerClient",
        value: "OCTETS",
        help: "Maximum part of MaxOctetsPerClient for large replies that the client has not received yet; 0: no \
               separate limit. Default 180 MiB.",
        apply: |options, text| {
            options.max_reply_octets_per_client = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ReplyWait",
        value: "MS",
        help: "Time for which a request waits until its client has received earlier large replies, in milliseconds; 0: \
               no waiting. Default 20000.",
        apply: |options, text| {
            options.reply_wait = Duration::from_millis(number(text)?);
            Ok(())
        },
    },
    Setting {
        name: "IdleTimeout",
        value: "MS",
        help: "Time after which a server closes an idle connection, in milliseconds; 0: never. Default 0.",
        apply: |options, text| {
            options.idle_timeout = or_none(text)?.map(|ms| Duration::from_millis(ms as u64));
            Ok(())
        },
    },
    Setting {
        name: "KeepAlive",
        value: "MS",
        help: "Time without traffic after which the system checks whether a peer is alive (TCP keep-alive), in \
               milliseconds; 0: never. Default 60000.",
        apply: |options, text| {
            options.keep_alive = or_none(text)?.map(|ms| Duration::from_millis(ms as u64));
            Ok(())
        },
    },
    Setting {
        name: "Access",
        value: "RULES",
        help: "Clients that may connect: allow NETWORK and deny NETWORK, separated by commas; NETWORK can also be uid:NUMBER or gid:NUMBER, for processes of this host, or all.",
        apply: |options, text| {
            options.access = text.parse().map_err(|error: AccessError| error.to_string())?;
            Ok(())
        },
    },
    Setting {
        name: "OfferBiDirectionalGIOP",
        value: "0|1",
        help: "Whether servers may call back over the connections that this ORB opens to them. Default 0.",
        apply: |options, text| {
            options.offer_bidirectional = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "AcceptBiDirectionalGIOP",
        value: "0|1",
        help: "Whether this ORB calls clients back over their connections if they offer it. Default 0.",
        apply: |options, text| {
            options.accept_bidirectional = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxIdleConnections",
        value: "N",
        help: "Maximum number of idle connections that a client keeps for each server address. Default 16.",
        apply: |options, text| {
            options.max_idle_connections = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxClientConnections",
        value: "N",
        help: "Maximum number of cached connections to all servers; 0: no limit. Default 0.",
        apply: |options, text| {
            options.max_client_connections = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ClientIdleTimeout",
        value: "MS",
        help: "Time after which a client closes an idle connection, in milliseconds; 0: never. Default 600000.",
        apply: |options, text| {
            options.client_idle_timeout = or_none(text)?.map(|ms| Duration::from_millis(ms as u64));
            Ok(())
        },
    },
    Setting {
        name: "Multicast",
        value: "interface=NAME,ttl=N,loopback=yes|no,packet=OCTETS",
        help: "Sending of requests to groups (miop): the interface, the maximum number of networks to pass (ttl), \
               whether members on this host receive them, and the size of a packet in octets. Default \
               ttl=1,loopback=yes,packet=1452, and the interface of the system's routes.",
        apply: |options, text| {
            options.multicast = Multicast::parse(text)?;
            Ok(())
        },
    },
];
