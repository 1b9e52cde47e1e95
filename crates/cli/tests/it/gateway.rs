//! `oxorb gateway` before a name server.

use crate::common::{run, text};

#[track_caller]
fn fails(args: &[&str], word: &str) {
    let failed = run(args);
    assert!(!failed.status.success());
    assert!(text(&failed.stderr).contains(word), "{args:?}: {failed:?}");
}

#[cfg(not(feature = "tls"))]
#[test]
fn without_tls_there_is_no_gateway() {
    fails(&["gateway", "gateway.toml"], "--features tls");
}

#[cfg(feature = "tls")]
mod with_tls {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use oxorb_testkit::net::free_port;
    use oxorb_testkit::process::Process;
    use serde_json::Value;

    use super::*;
    use crate::common::{Folder, LIMIT, command, started};

    /// Writes a key that only its owner can read.
    fn key(folder: &Folder, octets: &str) -> String {
        let key = folder.file("gateway.key", octets);
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        key
    }

    #[test]
    fn a_name_server_is_used_through_a_gateway() {
        let folder = Folder::new("gateway");
        let mut names = vec!["name", "serve", "--in-memory", "--format", "json"];
        names.extend(["--listen", "iiop://127.0.0.1:0"]);
        let (_server, said) = started(&names, "ior");
        let url = said["corbaloc"][0].as_str().expect("one URL");
        key(&folder, &"k".repeat(32));
        let idl = concat!(env!("CARGO_MANIFEST_DIR"), "/../../idl/omg/CosNaming.idl");
        let port = free_port();
        let file = folder.file(
            "gateway.toml",
            &format!(
                "key = \"gateway.key\"\nidl = {idl:?}\n\
                 [outside.orb]\nListenEndpoints = \"iiop://127.0.0.1:{port}\"\n\
                 [inside.orb]\nListenEndpoints = \"iiop://127.0.0.1:0\"\n\
                 [objects]\nNameService = {url:?}\n"
            ),
        );
        let (mut gateway, said) = started(&["gateway", "--format", "json", &file], "ior");
        assert_eq!(said["type_id"], "IDL:omg.org/CosNaming/NamingContextExt:1.0");
        let at = format!("corbaloc::127.0.0.1:{port}/NameService");
        for args in [["name", "mkdir", "plant"], ["name", "mkdir", "plant/pumps"]] {
            let done = run(&[&args[..], &["--at", &at]].concat());
            assert!(done.status.success(), "{args:?}: {done:?}");
        }
        let found = run(&["name", "resolve", "plant/pumps", "--at", &at]);
        let found = text(&found.stdout);
        let shown = run(&["ior", "show", found.trim()]);
        assert!(text(&shown.stdout).contains(&format!("127.0.0.1:{port}")), "{shown:?}");

        // The command verifies references of a running gateway.
        let check = |reference: &str| -> Value {
            let checked = run(&["gateway", "check", "--format", "json", &file, reference]);
            serde_json::from_slice(&checked.stdout).unwrap_or_else(|_| panic!("{checked:?}"))
        };
        let own = check(found.trim());
        assert_eq!(own["outside"]["fate"], "original", "{own}");
        assert_eq!(own["inside"]["fate"], "own", "{own}");
        assert_eq!(own["interface_known"], true, "{own}");
        let foreign = check("corbaloc::10.0.0.7/Account");
        assert_eq!(foreign["outside"]["fate"], "refused");
        assert!(foreign["outside"]["reason"].as_str().unwrap().contains("callbacks"), "{foreign}");
        assert_eq!(foreign["inside"]["fate"], "replaced");

        let kill = Command::new("kill").arg(gateway.id().to_string()).status();
        assert!(kill.expect("kill is there").success());
        let end = gateway.wait_for_line("answered", LIMIT);
        let end: Value = serde_json::from_str(&end).unwrap();
        assert!(end["references"].as_u64() > Some(0) && end["refused"] == 0, "{end}");
    }

    #[test]
    fn types_come_from_an_interface_repository() {
        let folder = Folder::new("gateway-ifr");
        let idl = folder.file(
            "bank.idl",
            "module bank { interface Account { string owner(in string greeting); }; };",
        );
        let store = folder.path("ifr.redb");
        let loaded = run(&["ifr", "load", &idl, "--store", &store]);
        assert!(loaded.status.success(), "{loaded:?}");
        let mut served = Process::spawn(command(&[
            "ifr",
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--store",
            &store,
        ]));
        let line = served.wait_for_line("corbaloc", LIMIT);
        let repository = line.rsplit(' ').next().expect("a URL");
        let script = folder.file("account.toml", "[operations.owner]\nreturns = \"Ada\"\n");
        let (_server, said) =
            started(&["serve", "--idl", &idl, "--script", &script, "--name", "Account"], "ior");
        let ior = said["ior"].as_str().expect("a reference");
        let call = |types: &str| {
            let file = folder.file(
                "gateway.toml",
                &format!(
                    "unknown = \"refuse\"\n{types}\n\
                     [outside.orb]\nListenEndpoints = \"iiop://127.0.0.1:0\"\n\
                     [inside.orb]\nListenEndpoints = \"iiop://127.0.0.1:0\"\n\
                     [objects]\nAccount = {ior:?}\n"
                ),
            );
            let (gateway, said) = started(&["gateway", "--format", "json", &file], "ior");
            let own = said["ior"].as_str().expect("a reference").to_owned();
            (gateway, run(&["call", "--idl", &idl, &own, "owner", "hello"]))
        };
        let (_gateway, called) = call(&format!("ifr = {repository:?}"));
        assert_eq!(text(&called.stdout), "\"Ada\"\n", "{called:?}");
        let (mut gateway, refused) = call("");
        assert!(text(&refused.stdout).contains("NO_PERMISSION"), "{refused:?}");
        let line = gateway.wait_for_line("the IDL does not declare its types", LIMIT);
        assert!(line.contains("owner") && line.contains("IDL:bank/Account:1.0"), "{line}");
    }

    #[test]
    fn a_repository_that_is_out_of_reach_is_an_error_at_the_start() {
        let folder = Folder::new("gateway-no-ifr");
        let nobody = format!("corbaloc::127.0.0.1:{}/InterfaceRepository", free_port());
        let file = folder.file("gateway.toml", &format!("ifr = {nobody:?}\n"));
        fails(&["gateway", &file], "the Interface Repository");
    }

    #[test]
    fn a_check_calls_no_target() {
        let folder = Folder::new("gateway-check");
        let nobody = format!("corbaname::127.0.0.1:{}#a", free_port());
        let file = folder.file("gateway.toml", &format!("[objects]\nA = {nobody:?}\n"));
        let foreign = "corbaloc::10.0.0.7/Account";
        let checked = run(&["gateway", "check", "--format", "json", &file, foreign]);
        assert!(checked.status.success(), "{checked:?}");
    }

    #[test]
    fn a_taken_port_is_reported_with_file_and_side() {
        let folder = Folder::new("gateway-taken");
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let inside = format!("[inside.orb]\nListenEndpoints = \"iiop://{address}\"\n");
        let file = folder.file("gateway.toml", &inside);
        fails(&["gateway", &file], "gateway.toml: the side inside of the gateway: ");
        fails(&["gateway", &file], &address);
    }

    #[test]
    fn an_interface_that_nobody_states_is_reported() {
        let folder = Folder::new("gateway-unstated");
        let nobody = format!("corbaloc::127.0.0.1:{}/A", free_port());
        let side = "ListenEndpoints = \"iiop://127.0.0.1:0\"\n";
        let text = format!("[outside.orb]\n{side}[inside.orb]\n{side}[objects]\nA = {nobody:?}\n");
        let file = folder.file("gateway.toml", &text);
        let mut gateway = Process::spawn(command(&["gateway", &file]));
        gateway.wait_for_line("gateway.toml:6: the interface of A is unknown", LIMIT);
        let checked = run(&["gateway", "check", &file, &nobody]);
        let told = super::text(&checked.stdout);
        assert!(told.contains("not stated in the reference"), "{checked:?}");
    }

    #[test]
    fn mistakes_are_reported_with_their_places() {
        let folder = Folder::new("gateway-mistakes");
        let file = |text: &str| folder.file("gateway.toml", text);
        fails(&["gateway", &file("\ncalback = 1")], "gateway.toml:2: there is no entry");
        let object = "\n[objects.A]\nreference = \"corbaloc::a/A\"\ninterface = \"a::A\"\n";
        fails(&["gateway", &file(object)], "gateway.toml:2: interface a::A: name the IDL file");
        let nowhere = "[objects]\nA = \"IOR:00\"\n";
        fails(&["gateway", &file(nowhere)], "gateway.toml:2: the target IOR:00");
        key(&folder, "short");
        let short = file("key = \"gateway.key\"\n");
        fails(&["gateway", &short], "at least 32 are needed");
        let key = key(&folder, &"k".repeat(32));
        for mode in [0o644, 0o620] {
            std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
            fails(&["gateway", &short], "chmod 600");
        }
        fails(&["gateway"], "FILE");
    }
}
