//! Settings of references and addresses: where objects are found, and where this ORB listens.

use oxorb_transport::Publish;

use super::Setting;
use crate::options::ENDPOINTS;
use crate::options::collocation::{COLLOCATION, Collocation};
use crate::options::strategies::{
    DEMULTIPLEXING, Demultiplexing, OPERATION_SEARCH, OperationSearch, names,
};
use crate::options::value::zero_or_one;

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: "InitRef",
        value: "NAME=URL",
        help: "Initial reference; may be repeated.",
        apply: |options, text| {
            let (name, url) = text
                .split_once('=')
                .ok_or("expected NAME=URL, as in NameService=corbaloc::host:2809/NameService")?;
            options.init_refs.push((name.to_owned(), url.to_owned()));
            Ok(())
        },
    },
    Setting {
        name: "DefaultInitRef",
        value: "URL",
        help: "Prefix of the URL (URL/NAME) at which initial references are looked up that InitRef does not set.",
        apply: |options, text| {
            options.default_init_ref = Some(text.to_owned());
            Ok(())
        },
    },
    Setting {
        name: "Preconnect",
        value: "OBJECT[;OBJECT...]",
        help: "Object, by the name of an initial reference or by URL, to whose server connections are opened when the ORB is created, one for each band or lane, so that no call has to connect. If the object cannot be reached, creating the ORB fails. Private connections belong to the thread that creates the ORB; other threads call Orb::preconnect. May be repeated.",
        apply: |options, text| {
            let objects = text.split(';').map(str::trim);
            let objects = objects.filter(|object| !object.is_empty());
            options.preconnect.extend(objects.map(str::to_owned));
            Ok(())
        },
    },
    Setting {
        name: "PreconnectAsynchronous",
        value: "0|1",
        help: "Whether the connections that asynchronous calls share, and the threads that read them, are also created in advance for the objects of Preconnect: one for each band or lane. Default 0.",
        apply: |options, text| {
            options.preconnect_asynchronous = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: ENDPOINTS,
        value: "ENDPOINTS",
        help: "Endpoint to listen on: iiop://HOST:PORT[/OPTION=VALUE&...][;...], or an endpoint of another protocol of \
               the ORB, such as uiop:///PATH.",
        apply: |options, text| match options.keep_unread(ENDPOINTS, text) {
            true => Ok(()),
            false => options.listen_on(text).map_err(|error| error.to_string()),
        },
    },
    Setting {
        name: "Protocols",
        value: "NAME[,NAME...]",
        help: "Protocols in order of preference, by the names that endpoints begin with. Calls use the first one that the reference offers and that answers, and after these any other protocol. If no endpoint is set, the ORB listens with each of them. Policies of threads, objects and calls override this setting. Default: no preference for calls, and iiop for listening.",
        apply: |options, text| {
            options.preferred = names(text);
            Ok(())
        },
    },
    Setting {
        name: "Demultiplexing",
        value: DEMULTIPLEXING,
        help: "Method by which POAs without a lookup policy find the object of a key: by a position in the key (active), by hashing, by a perfect hash if the ids are known when the POA is created, or by linear search if servants are retained. Default active.",
        apply: |options, text| {
            options.demultiplexing = Demultiplexing::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "OperationSearch",
        value: OPERATION_SEARCH,
        help: "Method by which skeletons find the operation of a request that does not contain its position, such as a request of another ORB: as selected when the IDL was compiled (generated), by a perfect hash, by binary search, or by linear search. Default generated.",
        apply: |options, text| {
            options.operation_search = OperationSearch::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "EndPointPublish",
        value: "addr|ipv4|ipv6|hostname|HOST[:PORT],...",
        help: "Addresses in references, instead of all addresses of this host. PORT is the port of the ORB itself; the ports of lanes follow it.",
        apply: |options, text| {
            options.publish.extend(Publish::parse_list(text)?);
            Ok(())
        },
    },
    Setting {
        name: "Collocation",
        value: COLLOCATION,
        help: "Calls to objects of the caller's own ORB: the stub calls the servant (direct), by a message in the caller's thread (marshalled), or over a connection (none). Objects on lanes run in the caller's thread only if this is a thread of the lane. TAO's values global, per-orb and no are also accepted. Default direct.",
        apply: |options, text| {
            options.collocation = Collocation::parse(text)?;
            Ok(())
        },
    },
];
