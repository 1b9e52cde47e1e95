//! General behaviour of the command.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use oxorb::Interface as _;

use crate::common::Folder;

const ACCOUNT: &str = "corbaloc:iiop:1.2@127.0.0.1:1,iiop:1.2@[::1]:1/Account";

fn oxorb(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

fn text(octets: &[u8]) -> String {
    String::from_utf8(octets.to_vec()).expect("the command prints UTF-8")
}

/// Runs a command that must succeed. Only missing privileges may be reported on standard error.
fn good(args: &[&str]) -> String {
    let output = oxorb(args);
    let told = text(&output.stderr);
    let mut told = told.lines();
    let other = told.find(|line| !line.contains("this process may not "));
    assert_eq!(other, None, "{args:?}");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    text(&output.stdout)
}

/// Returns the only message of a failing command.
fn bad(args: &[&str]) -> String {
    let output = oxorb(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    text(&output.stderr)
}

fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&good(args)).expect("one JSON document")
}

#[test]
fn the_demo_compares_its_acts_and_ends() {
    let lines = good(&["demo", "--seconds", "1", "--clients", "3"]);
    for shown in [
        "corbaloc::1.2@127.0.0.1:",
        "Act 1 of 3, plain",
        "Act 2 of 3, a lane:",
        "Act 3 of 3, a lane at SCHED_FIFO",
        "calls/s, 3 others",
        "plain                  lane      lane, SCHED_FIFO",
        "server on CPU ",
        "\nNext: `oxorb demo sched`",
    ] {
        assert!(lines.contains(shown), "no {shown:?} in {lines}");
    }
    assert!(!lines.contains('\x1b'), "colours only on a terminal: {lines}");
}

#[test]
fn ior_show_explains_a_reference() {
    let shown = good(&["ior", "show", ACCOUNT]);
    assert!(shown.contains("address    127.0.0.1:1"), "{shown}");
    assert!(shown.contains("Account (7 octets)"), "{shown}");
    let explained = json(&["ior", "show", ACCOUNT, "--format", "json"]);
    assert_eq!(explained["profiles"][0]["key"]["text"], "Account");
}

#[test]
fn ior_show_reads_standard_input() {
    let ior = json(&["ior", "show", ACCOUNT, "--format", "json"])["ior"].clone();
    let mut child = Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .args(["ior", "show", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", ior.as_str().unwrap()).unwrap();
    drop(stdin);
    assert!(text(&child.wait_with_output().unwrap().stdout).contains("127.0.0.1:1"));
}

#[test]
fn what_is_no_reference_is_said_once() {
    let message = bad(&["ior", "show", "nonsense"]);
    assert_eq!(message.matches("nonsense").count(), 1, "{message}");
    assert!(message.contains("references start with IOR:"), "{message}");
}

#[test]
fn ping_says_what_failed_at_each_endpoint() {
    let output = oxorb(&["ping", ACCOUNT]);
    assert_eq!(output.status.code(), Some(1));
    let endpoints = text(&output.stdout);
    assert!(endpoints.contains("127.0.0.1:1: "), "{endpoints}");
    assert!(endpoints.contains("[::1]:1: "), "{endpoints}");
    assert!(endpoints.contains("refused"), "{endpoints}");
    assert!(endpoints.contains("(loopback: "), "{endpoints}");
}

/// Reference to an object at 127.0.0.1:1 and, by TAO_TAG_ENDPOINTS without priorities, at 127.0.0.2:1.
const TWO_ENDPOINTS: &str = "IOR:000000000000000100000000000000010000000000000056000102000000000a3132372e302e302e3100\
    0001000000016b0000000000000154414f020000002e00000000000000020000000a3132372e302e302e3100\
    0001ffff00000000000a3132372e302e302e32000001ffff";

#[test]
fn ping_tries_every_address_that_tao_lists() {
    let output = oxorb(&["ping", TWO_ENDPOINTS]);
    assert_eq!(output.status.code(), Some(1));
    let endpoints = text(&output.stdout);
    for address in ["failed  127.0.0.1:1: ", "failed  127.0.0.2:1: "] {
        assert_eq!(endpoints.matches(address).count(), 1, "{endpoints}");
    }
}

#[test]
fn ior_show_lists_in_json_what_is_said_more_than_once() {
    let shown = json(&["ior", "show", TWO_ENDPOINTS, "--format", "json"]);
    let fields = &shown["profiles"][0]["components"][0]["fields"];
    let expected = serde_json::json!({ "address": ["127.0.0.1:1", "127.0.0.2:1"] });
    assert_eq!(*fields, expected);
}

#[test]
fn ior_show_says_which_addresses_nobody_reaches() {
    let shown = good(&["ior", "show", "corbaloc::0.0.0.0:1,:10.0.0.1:1/Account"]);
    assert!(shown.contains("0.0.0.0:1  no address: "), "{shown}");
    assert!(shown.contains("10.0.0.1:1\n"), "{shown}");
}

#[test]
fn ping_and_call_offer_callbacks_if_asked() {
    let server = oxorb::Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let store = oxorb_naming::Store::in_memory().unwrap();
    let names = oxorb_naming::NameService::start(&server, store).unwrap();
    let (offer, ior) = (["-ORBOfferBiDirectionalGIOP", "1"], names.root().to_ior());
    good(&[&["ping", "-c", "1", &ior][..], &offer].concat());
    assert_eq!(good(&[&["call", &ior, "_non_existent"][..], &offer].concat()), "false\n");
    // If both settings were given, the error names both.
    let private = ["-ORBClientConnections", "private"];
    let refused = bad(&[&["ping", &ior][..], &offer, &private].concat());
    assert!(refused.contains("-ORBClientConnections private"), "{refused}");
    drop(names);
    server.shutdown(true).unwrap();
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let commands: [&[&str]; 8] = [
        &["--help"],
        &["--version"],
        &["help", "ping"],
        &["man"],
        &["completions", "bash"],
        &["explain", "TRANSIENT"],
        &["ior", "show", ACCOUNT],
        &["ior", "show", ACCOUNT, "--format", "json"],
    ];
    for args in commands {
        let run = |stdout: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
            command.args(args).stdin(Stdio::null()).stdout(stdout).output().unwrap()
        };
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = run(full.into());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
        assert!(told.contains("cannot write to standard output"), "{args:?}: {told}");
        // A reader that has enough, such as `head`, closes the pipe.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = run(writer.into());
        assert_eq!(text(&output.stderr), "", "{args:?}");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
    }
}

#[test]
fn ping_tells_a_server_from_its_object() {
    let orb = oxorb::Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let named = oxorb::poa::Policies {
        id_assignment: oxorb::poa::IdAssignment::User,
        ..oxorb::poa::Policies::default()
    };
    let poa = orb.root_poa().create_poa("named", named).unwrap();
    let object: oxorb::ObjectRef = poa.create_reference_with_id("here").unwrap();
    let url = object.to_corbaloc().unwrap();
    let output = oxorb(&["ping", &url]);
    let shown = text(&output.stdout);
    assert!(shown.contains("it has no such object"), "{shown}");
    assert_eq!(output.status.code(), Some(1));
    orb.shutdown(true).unwrap();
}

#[test]
fn ping_tries_every_protocol_and_ior_show_writes_the_url_of_all() {
    let orb = oxorb::Orb::builder().listen("iiop://127.0.0.1:0;uiop://").build().unwrap();
    let object: oxorb::ObjectRef = orb.root_poa().create_reference().unwrap();
    let output = oxorb(&["ping", &oxorb::Interface::to_ior(&object)]);
    let shown = text(&output.stdout);
    let tried: Vec<_> = shown.lines().filter(|line| line.contains("failed")).collect();
    // The socket occurs twice, because the IIOP profile also contains it, for omniORB's clients.
    assert_eq!(tried.len(), 3, "{shown}");
    assert!(tried[0].contains("unix:/"), "{shown}");
    assert!(tried[1].contains("127.0.0.1:"), "{shown}");
    assert!(tried[2].contains("unix:/"), "{shown}");
    assert!(shown.contains("host    not the server's: unix:/"), "no such object: {shown}");
    let url = object.to_corbaloc().unwrap();
    assert!(url.contains(",uiop:1.2@/"), "{url}");
    // A profile of an unknown protocol is listed and skipped.
    let mut ior = oxorb::Interface::reference(&object).ior().clone();
    ior.profiles[1].tag = 0x6e6f_6e65;
    let shown = text(&oxorb(&["ping", &ior.to_string()]).stdout);
    assert!(shown.contains("skipped"), "{shown}");
    assert!(shown.contains("tag 0x6e6f6e65: this ORB supports only iiop, shm, uiop"), "{shown}");
    assert!(good(&["ior", "show", &oxorb::Interface::to_ior(&object)]).contains(&url));
    orb.shutdown(true).unwrap();
}

/// Servant that answers the calls of `oxorb ping`.
struct Present;

impl oxorb::Servant for Present {
    fn repository_id(&self) -> &str {
        "IDL:Test/Present:1.0"
    }

    fn dispatch(&self, upcall: oxorb::Upcall<'_>) -> oxorb::Outcome {
        let no = oxorb::CompletionStatus::No;
        upcall.fail(oxorb::SystemException::unknown(0, no))
    }
}

#[test]
fn ping_says_that_memory_is_shared_and_ior_show_where() {
    let endpoints = "iiop://127.0.0.1:0;uiop://;shm://|ring=64K";
    let orb = oxorb::Orb::builder().listen(endpoints).build().unwrap();
    let servant = std::sync::Arc::new(Present);
    let object = orb.root_poa().activate_servant(servant).unwrap();
    let ior = object.ior().to_string();
    let said = json(&["ping", "-c", "1", &ior, "--format", "json"]);
    assert_eq!(said["chosen"]["protocol"], "shm", "{said}");
    let why = said["chosen"]["why"].as_str().unwrap();
    assert!(why.contains("shared memory has preference"), "{said}");
    let of = |field: &str| {
        let tried = said["endpoints"].as_array().unwrap().iter();
        let each = tried.map(|it| it[field].as_str().unwrap_or("-").to_owned());
        each.collect::<Vec<_>>()
    };
    assert_eq!(of("protocol"), ["shm", "uiop", "iiop", "uiop", "shm"], "{said}");
    let first = "shm has preference on the same host";
    let nearer = "shm on the same host has preference";
    assert_eq!(of("not_chosen"), ["-", first, nearer, nearer, nearer], "{said}");

    let shown = good(&["ior", "show", &ior]);
    assert!(shown.contains("OxORB SHM_SOCKET"), "{shown}");
    assert!(shown.contains("meeting at       /"), "{shown}");
    assert!(shown.contains("rings of 65536 octets, in each direction"), "{shown}");

    // Change the component so that its socket belongs to another host, and then to another user.
    let moved = |change: &dyn Fn(&mut oxorb_object::SocketIdentity)| {
        use oxorb_object::components::DecodedComponent;
        let mut ior = object.ior().clone();
        let mut profile = oxorb_object::IiopProfile::parse(&ior.profiles[0]).unwrap();
        for component in &mut profile.components {
            if let Ok(DecodedComponent::OxorbShmSocket { place, mut identity }) = component.decode()
            {
                change(&mut identity);
                *component = oxorb_object::TaggedComponent::oxorb_shm_socket(&place, &identity);
            }
        }
        ior.profiles = vec![profile.to_profile()];
        good(&["ping", "-c", "1", &ior.to_string()])
    };
    let shown = moved(&|it| it.host[0] ^= 1);
    assert!(shown.contains("is on another host"), "{shown}");
    assert!(shown.contains("calls go over uiop"), "{shown}");
    let shown = moved(&|it| it.uid += 1);
    assert!(shown.contains("servers of the same user and of root"), "{shown}");
    orb.shutdown(true).unwrap();
}

#[test]
fn ping_says_whether_hosts_are_one_and_why_each_address_was_not_chosen() {
    let orb = oxorb::Orb::builder()
        .listen("iiop://127.0.0.1:0;uiop://;giop-lite-rt+unix://")
        .build()
        .unwrap();
    let servant = std::sync::Arc::new(Present);
    let object = orb.root_poa().activate_servant(servant).unwrap();
    let ior = object.ior().to_string();
    let shown = good(&["ping", "-c", "1", &ior]);
    assert!(
        shown.contains("host    the server's: by the identity of the host, and unix:/"),
        "{shown}"
    );
    assert!(shown.contains("calls go over uiop to unix:/"), "{shown}");
    let said = json(&["ping", "-c", "1", &ior, "--format", "json"]);
    assert_eq!(said["hosts"][0]["same"], true, "{said}");
    let not: Vec<_> = said["endpoints"].as_array().unwrap().iter().collect();
    assert_eq!(not[0]["not_chosen"], serde_json::Value::Null, "{said}");
    assert_eq!(not[1]["not_chosen"], "uiop on the same host has preference", "{said}");
    let preferring =
        ["ping", "-c", "1", &ior, "--format", "json", "-ORBProtocols", "giop-lite-rt+unix"];
    let said = json(&preferring);
    assert_eq!(said["chosen"]["protocol"], "giop-lite-rt+unix", "{said}");
    assert_eq!(
        said["endpoints"][0]["not_chosen"], "-ORBProtocols prefers giop-lite-rt+unix",
        "{said}"
    );

    // Change the component so that its socket belongs to another host, and then to another user.
    let moved = |change: &dyn Fn(&mut oxorb_object::SocketIdentity)| {
        let mut ior = object.ior().clone();
        let mut profile = oxorb_object::IiopProfile::parse(&ior.profiles[0]).unwrap();
        for component in &mut profile.components {
            use oxorb_object::components::DecodedComponent;
            if let Ok(DecodedComponent::OxorbSocket { name, mut identity }) = component.decode() {
                change(&mut identity);
                *component = oxorb_object::TaggedComponent::oxorb_socket(&name, &identity);
            }
        }
        ior.profiles = vec![profile.to_profile()];
        ior.to_string()
    };
    let shown = good(&["ping", "-c", "1", &moved(&|it| it.host[0] ^= 1)]);
    assert!(shown.contains("host    not the server's: the server is on another host"), "{shown}");
    assert!(shown.contains("calls go over iiop"), "{shown}");
    let shown = good(&["ping", "-c", "1", &moved(&|it| it.uid += 1)]);
    assert!(shown.contains("listens there, but the server belongs to user"), "{shown}");
    assert!(shown.contains("calls go over iiop"), "{shown}");
    orb.shutdown(true).unwrap();
}

#[test]
fn ior_show_decodes_profiles_of_our_own() {
    let orb = oxorb::Orb::builder()
        .listen(
            "iiop://127.0.0.1:0;uiop://;giop-lite+tcp://127.0.0.1:0;giop-lite+unix://;\
            giop-lite-rt+tcp://127.0.0.1:0;giop-lite-rt+unix://@",
        )
        .build()
        .unwrap();
    let object: oxorb::ObjectRef = orb.root_poa().create_reference().unwrap();
    let ior = oxorb::Interface::to_ior(&object);
    let said = json(&["ior", "show", &ior, "--format", "json"]);
    let profiles = said["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 6, "{said}");
    for profile in profiles {
        assert_eq!(profile["giop"], "1.2", "{profile}");
        assert_eq!(profile["key"]["made_by"], "OxORB", "{profile}");
        assert_eq!(profile["components"][0]["fields"]["ORB"], "OxORB (0x4f584f00)", "{profile}");
        assert_eq!(profile["hex"], serde_json::Value::Null, "{profile}");
    }
    let beside = profiles[0]["components"].as_array().unwrap();
    let beside = beside.iter().find(|it| it["name"] == "OxORB SOCKET").unwrap();
    assert_eq!(beside["fields"]["socket"], profiles[1]["socket"]);
    assert!(profiles[1]["socket"].as_str().unwrap().starts_with('/'));
    assert!(profiles[2]["address"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(profiles[3]["identity"]["server"].as_str().unwrap().starts_with("uid "));
    assert!(profiles[5]["socket"].as_str().unwrap().starts_with('@'));
    let shown = good(&["ior", "show", &ior]);
    assert!(!shown.contains("octets     "), "{shown}");
    assert_eq!(shown.matches("\n  socket     ").count(), 3, "{shown}");
    assert!(shown.contains("    within   device 0x"), "{shown}");
    orb.shutdown(true).unwrap();
}

#[test]
fn settings_of_the_orb_are_taken_and_mistakes_in_them_told() {
    let url = format!("Account={ACCOUNT}");
    for args in [
        ["-ORBInitRef", &url, "ior", "show", "corbaloc:rir:/Account"],
        ["ior", "show", "-ORBInitRef", &url, "corbaloc:rir:/Account"],
    ] {
        assert!(good(&args).contains("Account (7 octets)"));
    }
    let output = oxorb(&["explain", "-ORBInitReff=x", "TRANSIENT"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("did you mean -ORBInitRef?"), "{message}");
    // Options that name files are evaluated by the ORB's builder, which reports errors for any command.
    good(&["ior", "show", ACCOUNT, "-ORBPersonality", "avionics"]);
    let output = oxorb(&["ior", "show", ACCOUNT, "-ORBConfigFile", "missing.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("missing.toml"), "{message}");
}

#[test]
fn idl_check_points_at_the_place() {
    let folder = std::env::temp_dir().join(format!("oxorb-command-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("wrong.idl");
    std::fs::write(&file, "interface Clock {\n  Tiem now();\n};\n").unwrap();
    let file = file.to_str().unwrap();
    let message = bad(&["idl", "check", file]);
    assert!(message.contains("wrong.idl:2:3"), "{message}");

    std::fs::write(file, "interface Clock {\n  long long now();\n};\n").unwrap();
    good(&["idl", "check", file]);
    let out = folder.to_str().unwrap();
    good(&["idl", "gen", file, "--out", out]);
    good(&["idl", "gen", file, "--out", out, "--check"]);
    std::fs::write(file, "interface Clock {\n  long long today();\n};\n").unwrap();
    let stale = bad(&["idl", "gen", file, "--out", out, "--check"]);
    assert!(stale.contains("wrong.rs"), "{stale}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn idl_gen_makes_executors_on_request() {
    let folder = std::env::temp_dir().join(format!("oxorb-executors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("plant.idl");
    let idl = "#include <Components.idl>\nmodule Plant { component Pump {}; };\n";
    std::fs::write(&file, idl).unwrap();
    let (file, out) = (file.to_str().unwrap(), folder.to_str().unwrap());
    let trait_of = "pub trait PumpExecutor";
    let generated = || std::fs::read_to_string(folder.join("plant.rs")).unwrap();

    let told = text(&oxorb(&["idl", "gen", file, "--out", out]).stderr);
    assert!(told.contains("W0991"), "{told}");
    assert!(!generated().contains(trait_of));
    good(&["idl", "gen", file, "--out", out, "--executors"]);
    assert!(generated().contains(trait_of));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn idl_diff_says_whom_a_change_breaks() {
    let folder = std::env::temp_dir().join(format!("oxorb-diff-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let old = file("old.idl", "interface Clock { long long now(); };");
    let more = file("more.idl", "interface Clock{long long now();void set(in long long t);};");
    let other = file("other.idl", "interface Clock { long now(); };");

    assert_eq!(good(&["idl", "diff", &old, &old]), "");
    let added = json(&["idl", "diff", &old, &more, "--format", "json"]);
    assert_ne!(added[0]["effect"], "wire", "{added}");
    let output = oxorb(&["idl", "diff", &old, &other]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("breaks wire"), "{}", text(&output.stdout));

    assert!(good(&["idl", "show", &old]).contains("interface Clock"));
    let wrong = bad(&["idl", "fmt", "--check", &more]);
    assert!(wrong.contains("more.idl: not in this style"), "{wrong}");
    assert!(wrong.contains("\n       -interface Clock"), "{wrong}");
    assert!(wrong.contains("\n       +"), "{wrong}");
    good(&["idl", "fmt", &more]);
    good(&["idl", "fmt", "--check", &more]);
    good(&["idl", "check", &more]);
    assert_eq!(json(&["idl", "show", &old, "--format", "json"])["version"], 1);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn idl_comes_from_standard_input_too() {
    let run = |args: &[&str], input: &[u8]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        command.stdin.take().unwrap().write_all(input).unwrap();
        command.wait_with_output().unwrap()
    };
    let formatted = run(&["idl", "fmt", "-"], b"struct  S{long a;};");
    assert_eq!(text(&formatted.stdout), "struct S { long a; };\n");
    let checked = run(&["idl", "check", "-", "--format", "json"], b"struct S { Foo a; };");
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stdout).ends_with("]\n"), "a line ends");
}

#[test]
fn fmt_keeps_the_encoding_of_a_file() {
    let file = std::env::temp_dir().join(format!("oxorb-latin-{}.idl", std::process::id()));
    std::fs::write(&file, b"struct  S{long a;};// caf\xe9\n").unwrap();
    good(&["idl", "fmt", file.to_str().unwrap()]);
    let formatted = std::fs::read(&file).unwrap();
    assert_eq!(formatted, b"struct S { long a; }; // caf\xe9\n");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn sizes_are_told_to_programs_too() {
    let file = std::env::temp_dir().join(format!("oxorb-sizes-{}.idl", std::process::id()));
    std::fs::write(&file, "interface I { string f(in long a); oneway void g(); };").unwrap();
    let sizes = json(&["idl", "show", "--sizes", "--format", "json", file.to_str().unwrap()]);
    let wanted = serde_json::json!([
        {"interface": "I", "operation": "f", "request": {"min": 4, "max": 7},
         "reply": {"min": 4, "max": null}, "exceptions": null},
        {"interface": "I", "operation": "g", "request": {"min": 0, "max": 0},
         "reply": null, "exceptions": null},
    ]);
    assert_eq!(sizes, wanted);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn explain_knows_the_minor_codes() {
    let row = good(&["explain", "object_not_exist", "0x4f4d0002"]);
    assert!(row.contains("What to do:"), "{row}");
    // `OMG 2` is the notation of messages.
    assert!(row.contains("OBJECT_NOT_EXIST OMG 2"), "{row}");
    assert!(row.contains("(0x4f4d0002)"), "{row}");
    for same in
        [&["2"][..], &["OMG", "2"], &["omg", "2"], &["1330446338"], &["4f4d0002"], &["0X4F4D0002"]]
    {
        let args = [&["explain", "object_not_exist"], same].concat();
        assert_eq!(good(&args), row, "{same:?}");
    }
    // Without an exception, a code is looked up among the codes of all exceptions.
    for code in [&["explain", "0x4f4d0002"][..], &["explain", "OMG", "2"]] {
        let all = good(code);
        assert!(all.contains(&row), "{all}");
        assert!(all.contains("BAD_PARAM OMG 2"), "{all}");
    }
    // Without arguments, every exception is listed.
    let all = good(&["explain"]);
    assert!(all.contains("OBJECT_NOT_EXIST\n"), "{all}");
    assert!(all.contains("OMG 2        (0x4f4d0002)"), "{all}");
    // The codes of an exception are in the order of their numbers.
    let codes = json(&["explain", "TRANSIENT", "--format", "json"]);
    let codes: Vec<u64> =
        codes.as_array().unwrap().iter().map(|row| row["minor"].as_u64().unwrap()).collect();
    assert!(codes.is_sorted() && codes.len() > 20, "{codes:?}");
    let number = bad(&["explain", "99999999999"]);
    assert!(number.contains("\"99999999999\" is not a minor code"), "{number}");
    let unknown = bad(&["explain", "NOT_AN_EXCEPTION"]);
    assert!(unknown.contains("`oxorb explain` lists them"), "{unknown}");
    let near = bad(&["explain", "COMM_FAIL"]);
    assert!(near.contains("did you mean COMM_FAILURE?"), "{near}");
    let many = bad(&["explain", "INV"]);
    assert_eq!(many.matches(" or ").count(), 2, "{many}");
    assert!(bad(&["explain", "TRANSIENT", "x"]).contains("is not a minor code"));
}

#[test]
fn each_command_has_a_manual_page() {
    let page = good(&["man"]);
    assert!(page.contains(".TH oxorb 1") && page.contains("oxorb\\-call(1)"), "{page}");
    let folder = Folder::new("man");
    let pages = folder.path("share/man1");
    assert_eq!(good(&["man", "--to", &pages]), "");
    for name in ["oxorb.1", "oxorb-call.1", "oxorb-event-pub.1"] {
        let page = std::fs::read_to_string(format!("{pages}/{name}")).unwrap();
        assert!(page.contains(".SH OPTIONS") || page.contains(".SH SUBCOMMANDS"), "{page}");
    }
    let file = folder.file("file", "");
    assert!(bad(&["man", "--to", &file]).contains(&file));
}

#[test]
fn completions_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let script = good(&["completions", shell]);
        assert!(script.contains("_oxorb") || script.contains("complete -c oxorb"), "{shell}");
        // Options and arguments whose values are a closed set list them.
        for value in ["drop-least-urgent", "non-preemptive", "RMS+MLF", "NPP", "worst", "lanes"] {
            assert!(script.contains(value), "{shell} does not complete {value}");
        }
    }
}

#[test]
fn names_of_a_closed_set_are_listed_and_read_in_other_spellings() {
    assert!(good(&["sched", "check", "--help"]).contains("MUF, MLF, EDF, RMS, DM, RMS+MLF"));
    let folder = Folder::new("closed-sets");
    let empty = folder.file("empty.toml", "");
    let wrong = oxorb(&["sched", "check", &empty, "--strategy", "FIFO"]);
    assert_eq!(wrong.status.code(), Some(2));
    let told = text(&wrong.stderr);
    assert!(told.contains("there is no strategy \"FIFO\"; expected one of MUF"), "{told}");
    let wrong = oxorb(&["sched", "check", &empty, "--strategy", "rms-mlf", "--locking", "pip"]);
    assert_ne!(wrong.status.code(), Some(2), "{}", text(&wrong.stderr));
}

/// Every command that lists is called both `ls` and `list`.
#[test]
fn lists_have_two_names() {
    for noun in [&["ifr"][..], &["name"], &["event"], &["sched"], &["deploy", "repository"]] {
        let help = |verb: &str| good(&[noun, &[verb, "--help"]].concat());
        assert_eq!(help("ls"), help("list"), "{noun:?}");
    }
}

#[test]
fn wrong_usage_is_status_2() {
    assert_eq!(oxorb(&["ping"]).status.code(), Some(2));
    assert_eq!(oxorb(&["frobnicate"]).status.code(), Some(2));
}

#[test]
#[cfg(not(feature = "tls"))]
fn a_command_without_tls_says_how_to_build_one() {
    for args in [&["cert", "new"][..], &["gateway", "gateway.toml"]] {
        let why = bad(args);
        assert!(why.contains("`cargo install --locked --path crates/cli --features tls`"), "{why}");
    }
    let listening = ["name", "serve", "--in-memory", "--listen", "iiops://127.0.0.1:0"];
    for args in [&["ping", "corbaloc:iiops:localhost/A"][..], &listening] {
        let why = bad(args);
        assert!(why.contains("needs the feature tls"), "{why}");
    }
}

#[test]
fn an_http_gateway_without_objects_warns() {
    const WARNING: &str = "warning: no object and no event channel is offered";
    // The address is in use, so that the command ends.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let start = |more: &[&str]| bad(&[&["gateway", "http", "--listen", &address], more].concat());
    assert!(start(&[]).contains(WARNING));
    for offer in [&["--any-reference"][..], &["--naming"], &["--object", "A=corbaloc::h/A"]] {
        let said = start(offer);
        assert!(!said.contains(WARNING) && said.contains("in use"), "{said}");
    }
}

#[test]
fn the_readme_is_in_the_style_that_fmt_gives() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README lies there");
    let blocks: Vec<&str> =
        readme.split("```idl\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let style = oxorb_idl::format::FormatOptions::default();
        let formatted = oxorb_idl::format::format(block, &style).expect("IDL");
        assert_eq!(formatted, block);
    }
}
