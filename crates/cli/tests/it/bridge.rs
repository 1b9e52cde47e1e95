//! `oxorb bridge` between other commands of `oxorb`.

use std::process::Command;

use serde_json::Value;

use crate::common::{Folder, LIMIT, run, started, text};

const IDL: &str = "interface Account { readonly attribute long long balance; \
                   exception Overdrawn { long long missing; }; \
                   long long withdraw(in long amount) raises (Overdrawn); };";

const SCRIPT: &str = "[attributes]\nbalance = 100\n[[operations.withdraw]]\nwhen = { amount = 1000 }\n\
                      raises = \"Overdrawn\"\nwith = { missing = 900 }\n[[operations.withdraw]]\nreturns = \"$amount\"\n";

#[test]
fn a_stand_in_is_called_through_a_bridge() {
    let folder = Folder::new("bridge");
    let (idl, script) = (folder.file("account.idl", IDL), folder.file("account.toml", SCRIPT));
    let serve = ["serve", "--idl", &idl, "--interface", "Account", "--script", &script];
    let (_server, said) = started(&serve, "ior");
    let target = format!("Account={}", said["ior"].as_str().unwrap());
    let socket = oxorb_testkit::net::socket_folder();
    let socket = socket.join(format!("oxorb-cli-bridge-{}", std::process::id()));
    let socket = format!("uiop://{}", socket.display());
    for with_types in [false, true] {
        let mut bridge = vec!["bridge", "--format", "json", "--listen", &socket, &target];
        if with_types {
            bridge.extend(["--idl", &idl]);
        }
        let (mut bridge, said) = started(&bridge, "ior");
        assert_eq!(said["name"], "Account");
        assert_eq!(said["type_id"], "IDL:Account:1.0");
        let ior = said["ior"].as_str().unwrap();
        let call = |args: &[&str]| {
            let mut all = vec!["call", "--idl", &idl, ior];
            all.extend(args);
            run(&all)
        };
        let taken = call(&["withdraw", "10"]);
        assert!(text(&taken.stdout).contains("10"), "{taken:?}");
        let refused = call(&["withdraw", "1000"]);
        let told = text(&refused.stdout) + &text(&refused.stderr);
        assert!(told.contains("Overdrawn") && told.contains("900"), "{refused:?}");
        let ping = run(&["ping", "--count", "3", ior]);
        assert!(ping.status.success(), "{ping:?}");
        let kill = Command::new("kill").arg(bridge.id().to_string()).status();
        assert!(kill.expect("kill is there").success());
        let end = bridge.wait_for_line("answered", LIMIT);
        let end: Value = serde_json::from_str(&end).unwrap();
        assert_eq!(end["answered"], 2, "{end}");
        assert_eq!(end["rewritten"], 0, "{end}");
    }
}

#[test]
fn references_of_a_name_server_lead_through_a_bridge_that_knows_naming() {
    let mut serve = vec!["name", "serve", "--in-memory", "--format", "json"];
    serve.extend(["--listen", "iiop://127.0.0.1:0"]);
    let (_server, said) = started(&serve, "ior");
    let url = said["corbaloc"][0].as_str().expect("one URL");
    let target = format!("NameService={url}");
    let idl = concat!(env!("CARGO_MANIFEST_DIR"), "/../../idl/omg/CosNaming.idl");
    let bridge = ["bridge", "--format", "json", "--listen", "iiop://127.0.0.1:0"];
    let bridge: Vec<&str> = bridge.into_iter().chain(["--idl", idl, &target]).collect();
    let (mut bridge, said) = started(&bridge, "ior");
    assert_eq!(said["type_id"], "IDL:omg.org/CosNaming/NamingContextExt:1.0");
    let at = ["--at", said["ior"].as_str().unwrap()];
    for (verb, args) in [("mkdir", &["plant"][..]), ("ls", &[])] {
        let mut all = vec!["name", verb];
        all.extend(args);
        all.extend(at);
        let done = run(&all);
        assert!(done.status.success(), "{verb}: {done:?}");
    }
    let kill = Command::new("kill").arg(bridge.id().to_string()).status();
    assert!(kill.expect("kill is there").success());
    let end = bridge.wait_for_line("answered", LIMIT);
    let end: Value = serde_json::from_str(&end).unwrap();
    assert!(end["references"].as_u64() > Some(0), "{end}");
}

#[test]
fn what_is_wrong_is_said_with_the_place() {
    for (args, word) in [
        (&["bridge"][..], "NAME=REF"),
        (&["bridge", "nothing"], "write NAME="),
        (&["bridge", "A=IOR:00"], "the target IOR:00"),
        (
            &["bridge", "A=corbaloc::127.0.0.1:1/A", "--interface", "B=IDL:B:1.0"],
            "no target is named B",
        ),
        (&["bridge", "A=corbaloc::127.0.0.1:1/A", "--interface", "A=bank::A"], "--idl"),
    ] {
        let failed = run(args);
        assert!(!failed.status.success());
        assert!(text(&failed.stderr).contains(word), "{args:?}: {failed:?}");
    }
}
