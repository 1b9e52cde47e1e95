//! Files and personalities, from the builder and from arguments.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: settings are read, and no calls are made.

use std::path::PathBuf;

use oxorb::poa::{IdAssignment, Lookup, Policies};
use oxorb::settings::{ClientConnections, Demultiplexing};
use oxorb::{Interface as _, Orb};

/// A file that is removed when the value is dropped.
struct File(PathBuf);

impl File {
    fn with(name: &str, text: &str) -> File {
        let name = format!("oxorb-configuration-{}-{name}", oxorb_testkit::unique());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        File(path)
    }

    fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn arguments_win_over_the_file_they_name_wherever_they_stand() {
    let file = File::with("order.toml", "[orb]\nMaxHeld = 3\nMaxConnections = 4\n");
    let args = ["prog", "-ORBMaxHeld", "5", "-ORBConfigFile", &file.path(), "rest"];
    let orb = Orb::builder().args(args.map(String::from)).build().unwrap();
    assert_eq!(orb.options().max_held, 5);
    assert_eq!(orb.options().max_connections, 4);
    assert_eq!(orb.args(), ["prog", "rest"]);
    orb.shutdown(true).unwrap();
}

#[test]
fn threadpools_of_a_file_are_there_under_their_names() {
    let text = "[orb]\nListenEndpoints = \"iiop://127.0.0.1:0\"\n[threadpool.small]\nthreads = 2\n";
    let file = File::with("pool.toml", text);
    let orb = Orb::builder().config_file(&file.0).build().unwrap();
    let id = orb.threadpool_named("small").unwrap();
    assert!(!orb.threadpool(id).unwrap().has_lanes);
    assert_eq!(orb.threadpool_named("large"), None);
    orb.shutdown(true).unwrap();
}

#[test]
fn personalities_build_an_orb() {
    use ClientConnections::{Cached, LeaderFollowers};
    for (name, connections) in [("imaging", Cached), ("general", Cached), ("tao", LeaderFollowers)]
    {
        let args = ["prog".to_owned(), format!("-ORBPersonality={name}")];
        let orb = Orb::builder().args(args).build().unwrap();
        assert_eq!(orb.options().client_connections, connections);
        orb.shutdown(true).unwrap();
    }
    // Turn off `LockMemory`, with which all memory would stay locked for the rest of this process.
    let file =
        File::with("avionics.toml", "personality = \"avionics\"\n[orb]\nLockMemory = false\n");
    let orb =
        Orb::builder().personality(&file.path()).listen("iiop://127.0.0.1:0").build().unwrap();
    assert_eq!(orb.options().demultiplexing, Demultiplexing::Perfect);
    assert_eq!(orb.options().preferred, ["uiop", "iiop"]);
    // The ORB's perfect hashing applies only to POAs whose ids are known in advance.
    let user = || Policies { id_assignment: IdAssignment::User, ..Policies::default() };
    let known = orb.root_poa().new_poa("known").policies(user());
    let known = known.known_ids(["pump", "valve"]).create().unwrap();
    assert_eq!(known.policies().lookup, Lookup::Perfect);
    let dynamic = orb.root_poa().create_poa("dynamic", user()).unwrap();
    assert_eq!(dynamic.policies().lookup, Lookup::Active);
    let perfect = Policies { lookup: Lookup::Perfect, ..user() };
    let refused = orb.root_poa().create_poa("refused", perfect).map(drop);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("needs all ids before"), "{refused}");
    let rates = orb.threadpool_named("rates").unwrap();
    assert_eq!(orb.threadpool(rates).unwrap().priorities.len(), 4);
    assert_eq!(orb.options().client_connections, ClientConnections::Private);
    orb.shutdown(true).unwrap();
}

#[test]
fn protocols_are_chosen_by_configuration() {
    let build = |protocols: &str| {
        let args = ["prog".to_owned(), format!("-ORBProtocols={protocols}")];
        Orb::builder().args(args).build()
    };
    let orb = build("iiop, uiop").unwrap();
    let object: oxorb::ObjectRef = orb.root_poa().create_reference().unwrap();
    let tags: Vec<_> = object.reference().ior().profiles.iter().map(|one| one.tag).collect();
    assert_eq!(tags, [0, 0x5441_4f00]);
    orb.shutdown(true).unwrap();
    let refused = build("iiop,vme").unwrap_err().to_string();
    assert!(refused.contains("no protocol \"vme\", only iiop"), "{refused}");
}

#[test]
fn what_does_not_go_together_is_refused_with_the_reason() {
    let said = |text: &str| {
        let file = File::with("refused.toml", text);
        let refused = Orb::builder().config_file(&file.0).build().unwrap_err();
        refused.to_string().replace(&file.path(), "FILE")
    };
    let lanes = "[[threadpool.a.lane]]\npriority = 1\n[[threadpool.a.lane]]\npriority = 2\n";
    assert!(said(lanes).starts_with(
        "a threadpool with several lanes and -ORBSchedPolicy SCHED_OTHER cannot be combined: "
    ));
    assert!(
        said("[orb]\nClientConnections = \"private\"\nOfferBiDirectionalGIOP = true\n")
            .contains("cannot be combined")
    );
    assert_eq!(said("[orb]\nMaxHeld = \"x\"\n"), "FILE:2: MaxHeld = x: expected a number");
    assert_eq!(
        Orb::builder()
            .args(["prog".to_owned(), "-ORBPersonality".to_owned()])
            .build()
            .unwrap_err()
            .to_string(),
        "-ORBPersonality: needs a value: NAME|FILE"
    );
}

#[test]
fn a_configuration_file_of_omniorbs_is_read() {
    let text = "\u{feff}# omniORB configuration file\nInitRef = NameService=corbaname::h\n\
                endPoint = giop:tcp:127.0.0.1:0\ntraceLevel = 25\nmaxServerThreadPoolSize = 9\n";
    let file = File::with("omniORB.cfg", text);
    let args = ["prog", "-ORBconfigFile", &file.path()];
    let orb = Orb::builder().args(args.map(String::from)).build().unwrap();
    assert_eq!(orb.options().init_refs.len(), 1);
    assert_eq!(orb.options().log_level, oxorb::settings::LogLevel::Debug);
    orb.shutdown(true).unwrap();
    let file = File::with("omniORB-wrong.cfg", "traceLevel = 25\nsupportBootstrapAgent = 1\n");
    let args = ["prog", "-ORBconfigFile", &file.path()];
    let refused = Orb::builder().args(args.map(String::from)).build();
    let said = refused.unwrap_err().to_string().replace(&file.path(), "FILE");
    assert_eq!(
        said,
        "-ORBConfigFile FILE: FILE:2: -ORBsupportBootstrapAgent 1: use -ORBInitRef \
         NameService=corbaloc::HOST:PORT/NameService"
    );
}

#[test]
fn options_of_other_orbs_that_are_ignored_are_logged() {
    let log = File::with("ignored.log", "");
    let args = ["prog", "-ORBId", "one", "-ORBLogFile", &log.path(), "rest"];
    let orb = Orb::builder().args(args.map(String::from)).build().unwrap();
    assert_eq!(orb.args(), ["prog", "rest"]);
    orb.shutdown(true).unwrap();
    let said = std::fs::read_to_string(&log.0).unwrap();
    assert!(
        said.ends_with(
            "Z warn: -ORBId one is ignored: an ORB has no name; a process can have several ORBs\n"
        ),
        "{said}"
    );
}

#[test]
fn lanes_whose_priorities_do_not_reach_the_scheduler_are_said_once() {
    let log = File::with("lanes.log", "");
    let args = ["prog", "-ORBLogFile", &log.path(), "-ORBListenEndpoints", "iiop://127.0.0.1:0"];
    let orb = Orb::builder().args(args.map(String::from)).build().unwrap();
    for _ in 0..2 {
        let lane = |n| oxorb::rt::ThreadpoolLane::new(oxorb::rt::Priority::new(n).unwrap(), 1);
        let plan = oxorb::rt::Threadpool::with_lanes([lane(1), lane(2)]);
        orb.create_threadpool(plan).unwrap();
    }
    orb.shutdown(true).unwrap();
    let said = std::fs::read_to_string(&log.0).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("warn: threadpool 1: lanes have priorities"), "{said}");
}
