//! Who may depend on whom. Build time and run time never meet but in the command; octets and messages
//! only in `core`.
//!
//! ```text
//! build time   idl -> idlgen -> cli
//! wire side    cdr -> object -> giop ------+
//! OS side      sys -> rt -> transport -----+-> core -> poa -> orb -> cli
//! no stubs     core -> dynamic -> orb;  idl and dynamic -> idltypes -> cli
//! services     orb and idltypes -> ifr -> cli;  orb -> naming -> cli;  store -> ifr, naming;  orb -> otel
//! streams      orb and datagram -> stream;  core and dynamic -> bridge -> cli
//! events       dispatch -> delivery -> event, notify -> cli;  dynamic -> filter -> notify;  mcap -> cli
//! scheduling   orb -> rtscheduling -> oxbench
//! ```

use std::path::Path;

use cargo_metadata::{DependencyKind, Package};

use super::Finding;

/// A package and all that it may use, however far below.
struct Layer {
    package: &'static str,
    uses: &'static [&'static str],
    why: &'static str,
}

const LAYERS: [Layer; 58] = [
    Layer {
        package: "oxorb-lend",
        uses: &[],
        why: "what a transport lends and a codec reads is a word for both, which knows neither",
    },
    Layer {
        package: "oxorb-cdr",
        uses: &["oxorb-lend"],
        why: "the codec stands alone: no clock, socket, thread or lock",
    },
    Layer {
        package: "oxorb-object",
        uses: &["oxorb-cdr"],
        why: "references, exceptions and contexts name no message: any messaging may use them",
    },
    Layer {
        package: "oxorb-giop",
        uses: &["oxorb-cdr", "oxorb-lend", "oxorb-object"],
        why: "messages know nothing of the transport that moves them; only core joins the two",
    },
    Layer {
        package: "oxorb-lite",
        uses: &["oxorb-cdr", "oxorb-object", "oxorb-giop"],
        why: "another messaging writes GIOP's messages in its own octets, and knows no transport either",
    },
    Layer { package: "oxorb-sys", uses: &[], why: "the door to the operating system stands alone" },
    Layer {
        package: "oxorb-rt",
        uses: &["oxorb-sys"],
        why: "buffers and slots know the operating system and nothing above them",
    },
    Layer {
        package: "oxorb-transport",
        uses: &["oxorb-lend", "oxorb-sys", "oxorb-rt"],
        why: "a transport moves octets and never sees a message; only core joins the two",
    },
    Layer {
        package: "oxorb-core",
        uses: &[
            "oxorb-cdr",
            "oxorb-object",
            "oxorb-giop",
            "oxorb-sys",
            "oxorb-rt",
            "oxorb-transport",
            "oxorb-perfect",
            "oxorb-sched",
            "oxorb-dispatch",
        ],
        why: "core does not know the object adapter, which implements core's trait Adapter",
    },
    Layer {
        package: "oxorb-uiop",
        uses: &["oxorb-object", "oxorb-sys", "oxorb-transport", "oxorb-core"],
        why: "a protocol is a transport, messages and a profile: what core joins, and no application uses",
    },
    Layer {
        package: "oxorb-datagram",
        uses: &["oxorb-object", "oxorb-sys", "oxorb-transport", "oxorb-core"],
        why: "as oxorb-uiop",
    },
    Layer {
        package: "oxorb-shm",
        uses: &[
            "oxorb-lend",
            "oxorb-object",
            "oxorb-sys",
            "oxorb-transport",
            "oxorb-core",
            "oxorb-uiop",
        ],
        why: "as oxorb-uiop, at whose sockets both sides meet",
    },
    Layer {
        package: "oxorb-tls",
        uses: &["oxorb-object", "oxorb-sys", "oxorb-transport", "oxorb-core"],
        why: "as oxorb-uiop",
    },
    Layer {
        package: "oxorb-poa",
        uses: &["oxorb-cdr", "oxorb-object", "oxorb-rt", "oxorb-core", "oxorb-perfect"],
        why: "the object adapter serves requests and opens no connections",
    },
    Layer {
        package: "oxorb-component",
        uses: &["oxorb-cdr", "oxorb-object", "oxorb-sys", "oxorb-core", "oxorb-poa"],
        why: "containers sit on the object adapter, and the facade shows them",
    },
    Layer {
        package: "oxorb-launch",
        uses: &[
            "oxorb-cdr",
            "oxorb-object",
            "oxorb-sys",
            "oxorb-rt",
            "oxorb-core",
            "oxorb-poa",
            "oxorb-component",
            "oxorb-dynamic",
            "oxorb-deploy",
        ],
        why: "plans are launched over containers, and the facade shows it: executables of components are applications",
    },
    Layer {
        package: "oxorb",
        uses: &[
            "oxorb-cdr",
            "oxorb-object",
            "oxorb-lite",
            "oxorb-sys",
            "oxorb-rt",
            "oxorb-transport",
            "oxorb-core",
            "oxorb-config",
            "oxorb-perfect",
            "oxorb-poa",
            "oxorb-component",
            "oxorb-launch",
            "oxorb-dynamic",
            "oxorb-sched",
            "oxorb-dispatch",
            "oxorb-lite",
            "oxorb-datagram",
            "oxorb-uiop",
            "oxorb-shm",
            "oxorb-tls",
        ],
        why: "the facade shows the run-time crates and no compiler",
    },
    Layer {
        package: "oxorb-config",
        uses: &["oxorb-rt", "oxorb-core", "oxorb-sched", "oxorb-dispatch"],
        why: "files say what options say and know no adapter",
    },
    Layer {
        package: "oxorb-dynamic",
        uses: &["oxorb-cdr", "oxorb-object", "oxorb-giop", "oxorb-core"],
        why: "calls without stubs learn their types at run time, from wherever, and know no compiler",
    },
    Layer {
        package: "oxorb-idl",
        uses: &[],
        why: "the front end knows no back end and nothing of the run time",
    },
    Layer {
        package: "oxorb-perfect",
        uses: &[],
        why: "a hash function that build time and run time share depends on neither",
    },
    Layer {
        package: "oxorb-idlgen",
        uses: &["oxorb-idl", "oxorb-perfect"],
        why: "the generator writes text about the run time and never touches it",
    },
    Layer {
        package: "oxorb-idltypes",
        uses: &["oxorb-cdr", "oxorb-idl", "oxorb-dynamic"],
        why: "it turns IDL into types for tools, and nothing that only runs needs it",
    },
    Layer {
        package: "oxorb-store",
        uses: &[],
        why: "a database in a file knows nothing of what is kept in it",
    },
    Layer {
        package: "oxorb-ifr",
        uses: &["oxorb", "oxorb-idl", "oxorb-idltypes", "oxorb-store"],
        why: "a service is an application that also reads IDL",
    },
    Layer {
        package: "oxorb-naming",
        uses: &["oxorb", "oxorb-store"],
        why: "a service is an application",
    },
    Layer {
        package: "oxorb-sched",
        uses: &[],
        why: "schedules are computed from numbers alone: no ORB, no I/O, no clock",
    },
    Layer {
        package: "oxorb-deploy",
        uses: &["oxorb-sched"],
        why: "plans are data, which is checked before any ORB runs",
    },
    Layer {
        package: "oxorb-dispatch",
        uses: &["oxorb-sys", "oxorb-sched"],
        why: "threads over queues, for the core of an ORB and for event channels alike: it sees no request",
    },
    Layer {
        package: "oxorb-scheduler",
        uses: &["oxorb", "oxorb-sched", "oxorb-store"],
        why: "a service is an application",
    },
    Layer {
        package: "oxorb-delivery",
        uses: &["oxorb-sys", "oxorb-rt", "oxorb-sched", "oxorb-dispatch"],
        why: "queues and threads between suppliers and consumers: it sees neither ORB nor event",
    },
    Layer {
        package: "oxorb-filter",
        uses: &["oxorb-cdr", "oxorb-object", "oxorb-dynamic"],
        why: "a language of filters reads values; who asks and who answers is nothing to it",
    },
    Layer {
        package: "oxorb-mcap",
        uses: &[],
        why: "a file format knows nothing of what is recorded",
    },
    Layer {
        package: "oxorb-event",
        uses: &["oxorb", "oxorb-delivery", "oxorb-sched", "oxorb-scheduler"],
        why: "a service is an application",
    },
    Layer {
        package: "oxorb-notify",
        uses: &["oxorb", "oxorb-delivery", "oxorb-filter", "oxorb-store"],
        why: "a service is an application",
    },
    Layer {
        package: "oxorb-rtscheduling",
        uses: &["oxorb", "oxorb-scheduler"],
        why: "a scheduler is part of an application; its tests ask the scheduling service",
    },
    Layer {
        package: "oxorb-otel",
        uses: &["oxorb"],
        why: "interceptors are part of an application",
    },
    Layer {
        package: "oxorb-cli",
        uses: &[
            "oxorb",
            "oxorb-bridge",
            "oxorb-deploy",
            "oxorb-dynamic",
            "oxorb-event",
            "oxorb-example-avionics-display",
            "oxorb-idl",
            "oxorb-idlgen",
            "oxorb-idltypes",
            "oxorb-ifr",
            "oxorb-mcap",
            "oxorb-naming",
            "oxorb-notify",
            "oxorb-sched",
            "oxorb-scheduler",
            "oxorb-store",
            "oxorb-sys",
        ],
        why: "the command is a user of the facade, as an application is; its demo runs an example's components, its doctor asks the kernel",
    },
    Layer {
        package: "oxorb-testkit",
        uses: &["oxorb-sys", "oxorb-transport"],
        why: "what all tests share must not need what they test",
    },
    Layer {
        package: "oxorb-conformance",
        uses: &[
            "oxorb-cdr",
            "oxorb-giop",
            "oxorb-object",
            "oxorb-sys",
            "oxorb-transport",
            "oxorb-testkit",
        ],
        why: "suites need the traits that they test, and none of their implementations",
    },
    Layer {
        package: "oxorb-growth",
        uses: &[
            "oxorb-datagram",
            "oxorb-cdr",
            "oxorb-dynamic",
            "oxorb-filter",
            "oxorb-object",
            "oxorb-giop",
            "oxorb-idl",
        ],
        why: "entry points of fuzz targets are those of these crates",
    },
    Layer {
        package: "oxorb-faults",
        uses: &["oxorb", "oxorb-event", "oxorb-notify", "oxorb-testkit"],
        why: "processes that are killed are applications",
    },
    Layer {
        package: "oxorb-tls-tests",
        uses: &["oxorb", "oxorb-testkit"],
        why: "whole ORBs over TLS are applications that ask for it",
    },
    Layer {
        package: "oxbench",
        uses: &[
            "oxorb",
            "oxorb-deploy",
            "oxorb-event",
            "oxorb-naming",
            "oxorb-rtscheduling",
            "oxorb-sched",
            "oxorb-sys",
            "oxorb-testkit",
        ],
        why: "what is measured is what an application gets: the facade; the floor is threads and sockets of the system",
    },
    Layer {
        package: "oxorb-codegen-tests",
        uses: &["oxorb", "oxorb-idltypes"],
        why: "generated code names only oxorb::__gen; its tests compare it with calls without stubs",
    },
    Layer {
        package: "oxorb-assembly-tests",
        uses: &["oxorb"],
        why: "the program of a plan is an application",
    },
    Layer {
        package: "oxorb-component-tests",
        uses: &["oxorb", "oxorb-event", "oxorb-idl"],
        why: "generated code names only oxorb::__gen; peers get the equivalent IDL; channels carry events",
    },
    Layer {
        package: "oxorb-deployment-tests",
        uses: &["oxorb", "oxorb-deploy", "oxorb-naming"],
        why: "an artifact is an application; its tests read plans and names",
    },
    Layer {
        package: "oxorb-idl-corpus",
        uses: &["oxorb-idl", "oxorb-idlgen"],
        why: "it compiles IDL; the Rust that comes out is compiled by a cargo of its own",
    },
    Layer {
        package: "oxorb-interop",
        uses: &["oxorb", "oxorb-naming"],
        why: "generated code names only oxorb::__gen; the client of name servers is the service's",
    },
    Layer {
        package: "oxorb-bridge",
        uses: &["oxorb", "oxorb-cdr", "oxorb-core", "oxorb-dynamic", "oxorb-object"],
        why: "a bridge is a servant that passes octets on; it opens no connection and reads no message by itself",
    },
    Layer {
        package: "oxorb-bridge-tests",
        uses: &["oxorb", "oxorb-bridge", "oxorb-idl", "oxorb-idltypes"],
        why: "generated code names only oxorb::__gen; the bridge stands beside it",
    },
    Layer {
        package: "oxorb-stream",
        uses: &["oxorb", "oxorb-datagram"],
        why: "streams use what any application could, and the window of numbers that datagrams have",
    },
    Layer {
        package: "oxorb-example-video",
        uses: &["oxorb", "oxorb-stream"],
        why: "an example is an application",
    },
    Layer {
        package: "oxorb-example-protocol-from-scratch",
        uses: &["oxorb", "oxorb-cdr", "oxorb-giop", "oxorb-object"],
        why: "a messaging is written with the crates of messages; the rest of the example is an application",
    },
    Layer {
        package: "oxorb-example-microcontroller",
        uses: &["oxorb", "oxorb-cdr", "oxorb-giop", "oxorb-object"],
        why: "where there is no operating system there is no ORB, but there are messages",
    },
    Layer { package: EXAMPLE, uses: &["oxorb"], why: "an example is an application" },
    Layer { package: "xtask", uses: &[], why: "chores run when nothing else compiles" },
];

/// Packages whose names begin so share a row.
const EXAMPLE: &str = "oxorb-example-";

/// What applications use.
const FACADE: &str = "oxorb";

/// What the facade shows as it is, as a module.
const SHOWN_WHOLE: &[&str] = &["oxorb-component", "oxorb-dynamic", "oxorb-launch"];

/// What any package may use in its tests.
const TESTS: &[&str] = &["oxorb-testkit", "oxorb-conformance"];

/// Build scripts may compile IDL, and nothing else of ours.
const BUILD: &[&str] = &["oxorb-idlgen"];

/// Executors of asynchronous code. A run-time crate that needs one has an asynchronous request path.
const EXECUTORS: &[&str] = &[
    "async-executor",
    "async-global-executor",
    "async-io",
    "async-std",
    "embassy-executor",
    "futures-executor",
    "glommio",
    "monoio",
    "smol",
    "tokio",
];

/// Checks every edge between packages of the workspace.
pub(super) fn check(workspace: &Path, packages: &[Package]) -> Vec<Finding> {
    let ours: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in packages {
        let edges = package.dependencies.iter().filter(|edge| {
            ours.contains(&edge.name.as_str()) || EXECUTORS.contains(&edge.name.as_str())
        });
        for edge in edges {
            if let Err(why) = allowed(&package.name, &edge.name, edge.kind) {
                let manifest = package.manifest_path.as_std_path();
                let file = manifest.strip_prefix(workspace).unwrap_or(manifest);
                let file = file.display().to_string();
                let what = format!("{} must not depend on {}: {why}", package.name, edge.name);
                findings.push(Finding::error(&file, None, what));
            }
        }
    }
    findings
}

/// Whether `user` may depend on `used`; if not, the rule that it breaks.
fn allowed(user: &str, used: &str, kind: DependencyKind) -> Result<(), &'static str> {
    let Some(layer) = layer(user) else {
        return Err("it has no row in xtask/src/tidy/direction.rs yet");
    };
    if EXECUTORS.contains(&used) {
        return match kind {
            DependencyKind::Development => Ok(()),
            _ => Err("no executor anywhere on the request path; futures here are only wakers"),
        };
    }
    let fine = match kind {
        DependencyKind::Build => BUILD.contains(&used),
        // Tests may also use what lies below what they test, the testkit and the compiler. Where the facade lies beside,
        // or shows all of what they test, they are applications.
        DependencyKind::Development => {
            layer.uses.contains(&used)
                || TESTS.contains(&used)
                || BUILD.contains(&used)
                || used == FACADE && (SHOWN_WHOLE.contains(&user) || !reaches(FACADE, user))
                || layer.uses.iter().any(|next| reaches(next, used))
        }
        _ => layer.uses.contains(&used),
    };
    if fine { Ok(()) } else { Err(layer.why) }
}

fn reaches(user: &str, used: &str) -> bool {
    layer(user).is_some_and(|layer| {
        let mut uses = layer.uses.iter();
        uses.any(|&next| next == used || reaches(next, used))
    })
}

fn layer(package: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| {
        layer.package == package || (layer.package == EXAMPLE && package.starts_with(EXAMPLE))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_transport_never_see_each_other() {
        let normal = DependencyKind::Normal;
        assert!(allowed("oxorb-giop", "oxorb-transport", normal).is_err());
        assert!(allowed("oxorb-transport", "oxorb-giop", normal).is_err());
        assert_eq!(allowed("oxorb-core", "oxorb-giop", normal), Ok(()));
        assert_eq!(allowed("oxorb-core", "oxorb-transport", normal), Ok(()));
    }

    #[test]
    fn the_vocabulary_names_no_messages_and_the_object_adapter_and_the_facade_need_none() {
        let normal = DependencyKind::Normal;
        assert!(allowed("oxorb-object", "oxorb-giop", normal).is_err());
        assert!(allowed("oxorb-object", "oxorb-giop", DependencyKind::Development).is_err());
        assert_eq!(allowed("oxorb-giop", "oxorb-object", normal), Ok(()));
        assert!(allowed("oxorb-poa", "oxorb-giop", normal).is_err());
        assert!(allowed("oxorb", "oxorb-giop", normal).is_err());
    }

    #[test]
    fn core_does_not_know_the_object_adapter() {
        assert!(allowed("oxorb-core", "oxorb-poa", DependencyKind::Normal).is_err());
        assert!(allowed("oxorb-core", "oxorb-poa", DependencyKind::Development).is_err());
    }

    #[test]
    fn the_compiler_never_touches_the_run_time() {
        assert!(allowed("oxorb-idlgen", "oxorb-cdr", DependencyKind::Normal).is_err());
        assert!(allowed("oxorb", "oxorb-idl", DependencyKind::Normal).is_err());
        assert_eq!(allowed("oxbench", "oxorb-idlgen", DependencyKind::Build), Ok(()));
    }

    #[test]
    fn tests_reach_down_but_not_up() {
        let tests = DependencyKind::Development;
        assert_eq!(allowed("oxorb-cdr", "oxorb-testkit", tests), Ok(()));
        assert_eq!(allowed("oxorb-codegen-tests", "oxorb-cdr", tests), Ok(()));
        assert!(allowed("oxorb-cdr", "oxorb-giop", tests).is_err());
        assert!(allowed("oxorb-poa", "oxorb", tests).is_err());
        assert_eq!(allowed("oxorb-dynamic", "oxorb", tests), Ok(()));
    }

    #[test]
    fn a_new_package_needs_a_row() {
        let why = allowed("oxorb-new", "oxorb-cdr", DependencyKind::Normal).unwrap_err();
        assert!(why.contains("no row"));
    }

    #[test]
    fn an_example_is_an_application() {
        let normal = DependencyKind::Normal;
        assert_eq!(allowed("oxorb-example-bank", "oxorb", normal), Ok(()));
        assert!(allowed("oxorb-example-bank", "oxorb-core", normal).is_err());
    }

    #[test]
    fn no_executor_at_run_time() {
        assert!(allowed("oxorb-core", "tokio", DependencyKind::Normal).is_err());
        assert_eq!(allowed("oxorb-core", "tokio", DependencyKind::Development), Ok(()));
    }

    #[test]
    fn layers_have_no_cycle() {
        for layer in &LAYERS {
            assert!(!reaches(layer.package, layer.package), "{}", layer.package);
        }
    }
}
