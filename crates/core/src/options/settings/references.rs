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
        help: "An initial reference; may be given several times.",
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
        help: "Where initial references not given by InitRef are looked up: URL/NAME.",
        apply: |options, text| {
            options.default_init_ref = Some(text.to_owned());
            Ok(())
        },
    },
    Setting {
        name: "Preconnect",
        value: "OBJECT[;OBJECT...]",
        help: "Objects, by name of an initial reference or by URL, to whose servers connections are opened when the ORB is made, one for each band or lane, so that no call has to connect; an object that cannot be reached is an error then. Private connections are those of the thread that makes the ORB: others call Orb::preconnect. May be given several times.",
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
        help: "Whether the connections that asynchronous calls share, and the threads that read them, are there ahead for the objects of Preconnect, too: one for each band or lane. Default 0.",
        apply: |options, text| {
            options.preconnect_asynchronous = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: ENDPOINTS,
        value: "ENDPOINTS",
        help: "Where to listen: iiop://HOST:PORT[/OPTION=VALUE&...][;...], or another protocol of the ORB, such as uiop:///PATH.",
        apply: |options, text| match options.keep_unread(ENDPOINTS, text) {
            true => Ok(()),
            false => options.listen_on(text).map_err(|error| error.to_string()),
        },
    },
    Setting {
        name: "Protocols",
        value: "NAME[,NAME...]",
        help: "Protocols in order of preference, by the names that endpoints begin with. Calls take the first that the reference offers and that answers, after these any other; an ORB that is told of no endpoint listens with each of them. Policies of threads, objects and calls go before it. Default: no preference, and iiop to listen with.",
        apply: |options, text| {
            options.preferred = names(text);
            Ok(())
        },
    },
    Setting {
        name: "Demultiplexing",
        value: DEMULTIPLEXING,
        help: "How POAs that name no lookup of their own find the object of a key: the key says where it is, by hashing, by a perfect hash where the ids are known when the POA is made, or one id after the other where servants are retained. Default active.",
        apply: |options, text| {
            options.demultiplexing = Demultiplexing::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "OperationSearch",
        value: OPERATION_SEARCH,
        help: "How skeletons find the operation of a request that does not say where it is, as those of other ORBs: as the IDL compiler was told, by a perfect hash, by binary search, or one name after the other. Default generated.",
        apply: |options, text| {
            options.operation_search = OperationSearch::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "EndPointPublish",
        value: "addr|ipv4|ipv6|hostname|HOST[:PORT],...",
        help: "What references say of where to connect, instead of all addresses of this host. PORT is that of the ORB itself; the ports of lanes follow it.",
        apply: |options, text| {
            options.publish.extend(Publish::parse_list(text)?);
            Ok(())
        },
    },
    Setting {
        name: "Collocation",
        value: COLLOCATION,
        help: "How calls to objects of the caller's own ORB run: the stub calls the servant, by a message in the caller's thread, or over a connection. Objects on lanes run in the caller's thread only where it is one of the lane. TAO's values global, per-orb and no are understood. Default direct.",
        apply: |options, text| {
            options.collocation = Collocation::parse(text)?;
            Ok(())
        },
    },
];
