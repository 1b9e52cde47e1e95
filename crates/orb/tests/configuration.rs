//! Files and personalities, from the builder and from arguments (A16.4, A16.5).

use std::path::PathBuf;

use oxorb::{ClientConnections, Orb};

/// A file that is gone with the test.
struct File(PathBuf);

impl File {
    fn with(name: &str, text: &str) -> File {
        let name = format!("oxorb-{}-{name}", std::process::id());
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
    let args = [
        "prog",
        "-ORBMaxHeld",
        "5",
        "-ORBConfigFile",
        &file.path(),
        "rest",
    ];
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
    for name in ["imaging", "general"] {
        let args = ["prog".to_owned(), format!("-ORBPersonality={name}")];
        let orb = Orb::builder().args(args).build().unwrap();
        assert_eq!(orb.options().client_connections, ClientConnections::Cached);
        orb.shutdown(true).unwrap();
    }
    // All of its memory would stay locked for the rest of this process.
    let file = File::with(
        "avionics.toml",
        "personality = \"avionics\"\n[orb]\nLockMemory = false\n",
    );
    let orb = Orb::builder()
        .personality(&file.path())
        .listen("iiop://127.0.0.1:0")
        .build()
        .unwrap();
    let rates = orb.threadpool_named("rates").unwrap();
    assert_eq!(orb.threadpool(rates).unwrap().priorities.len(), 4);
    assert_eq!(orb.options().client_connections, ClientConnections::Private);
    orb.shutdown(true).unwrap();
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
        "a threadpool with several lanes and -ORBSchedPolicy SCHED_OTHER do not go together: "
    ));
    assert!(
        said("[orb]\nClientConnections = \"private\"\nOfferBiDirectionalGIOP = true\n")
            .contains("do not go together")
    );
    assert_eq!(
        said("[orb]\nMaxHeld = \"x\"\n"),
        "FILE:2: MaxHeld = x: expected a number"
    );
    assert_eq!(
        Orb::builder()
            .args(["prog".to_owned(), "-ORBPersonality".to_owned()])
            .build()
            .unwrap_err()
            .to_string(),
        "-ORBPersonality: needs a value: NAME|FILE"
    );
}
