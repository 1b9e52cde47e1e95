//! Recipes of docs/gateway.md, with servers and clients of omniORB.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};

use oxorb::ior::Ior;
use oxorb::{Any, Interface as _, ObjectRef, Orb};
use oxorb_notify::cos_event_channel_admin::EventChannelRef;
use oxorb_notify::cos_event_comm::push_consumer::PushError;
use oxorb_notify::cos_event_comm::{PushConsumer, PushConsumerRef};
use oxorb_testkit::net::free_port;
use oxorb_testkit::peers::{is_there, missing};
use oxorb_testkit::process::Process;
use oxorb_testkit::{until, watchdog};

use crate::common::{Folder, LIMIT, started, text};

const PAGE: &str = include_str!("../../../../docs/gateway.md");

/// Addresses of the gateway outside and inside, in place of those of the page. At them, both sides can use one port.
const OUTSIDE: &str = "127.0.0.2";
const INSIDE: &str = "127.0.1.1";

/// Folder of the IDL files.
const IDL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../idl/omg/");

/// Returns the configuration files in a section of the page.
fn recipes(section: &str) -> Vec<String> {
    let (_, rest) = PAGE.split_once(&format!("### {section}\n")).expect("the section");
    let section = rest.split("\n### ").next().expect("a first part");
    let blocks = section.split("```toml\n").skip(1);
    blocks.map(|block| block.split("```").next().expect("a first part").to_owned()).collect()
}

/// Replaces words of a recipe by those of the test.
fn with_words(recipe: &str, words: &[(&str, &str)]) -> String {
    let mut recipe = recipe.to_owned();
    for (word, other) in words {
        assert!(recipe.contains(word), "the recipe has no {word}: {recipe}");
        recipe = recipe.replace(word, other);
    }
    recipe
}

/// Starts a gateway by a recipe, which names the key `gateway.key`.
fn gateway(folder: &Folder, recipe: &str) -> Process {
    let key = folder.file("gateway.key", &"k".repeat(32));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let file = folder.file("gateway.toml", recipe);
    started(&["gateway", "--format", "json", &file], "ior").0
}

/// Runs omniORB's client of name servers through a gateway.
fn nameclt(port: u16, args: &[&str]) -> Output {
    let root = format!("NameService=corbaloc::1.2@{OUTSIDE}:{port}/NameService");
    let mut command = Command::new("nameclt");
    command.args(["-ORBInitRef", &root]).args(args).stdin(Stdio::null());
    command.output().expect("nameclt starts")
}

#[track_caller]
fn good(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout)
}

fn port(reference: &str) -> u16 {
    let ior: Ior = reference.trim().parse().unwrap();
    ior.iiop_profiles().next().unwrap().port
}

#[test]
fn the_recipe_of_a_name_service_is_right() {
    if !is_there("omniNames") || !is_there("nameclt") {
        return;
    }
    let _guard = watchdog(4 * LIMIT);
    let folder = Folder::new("gateway-recipe-names");
    let logs = folder.path("logs");
    fs::create_dir(&logs).unwrap();
    let (inside, outside) = (free_port(), free_port());
    let mut command = Command::new("omniNames");
    command
        .args(["-always", "-start", &inside.to_string(), "-logdir", &logs])
        .args(["-ORBendPoint", &format!("giop:tcp:127.0.0.1:{inside}")]);
    let mut names = Process::spawn(command);
    names.wait_for_line("Checkpointing Phase 2", LIMIT);

    let recipes = recipes("A name service");
    let [whole, rules] = &recipes[..] else {
        panic!("{recipes:?}");
    };
    let whole = with_words(
        whole,
        &[
            ("/usr/share/oxorb/idl/omg/", IDL),
            (", \"bank.idl\"", ""),
            ("10.0.0.7:2809", format!("127.0.0.1:{inside}").as_str()),
            ("192.0.2.0/24", "127.0.0.0/24"),
            ("192.0.2.1", OUTSIDE),
            ("10.0.0.1", INSIDE),
            (":2809", format!(":{outside}").as_str()),
        ],
    );
    let mut open = gateway(&folder, &whole);
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let object: ObjectRef = orb.root_poa().create_reference().unwrap();
    good(nameclt(outside, &["bind_new_context", "folder"]));
    good(nameclt(outside, &["bind", "folder/object", &object.to_ior()]));
    assert!(good(nameclt(outside, &["list", "folder"])).contains("object"));
    assert_eq!(port(&good(nameclt(outside, &["resolve", "folder"]))), outside);
    let found = good(nameclt(outside, &["resolve", "folder/object"]));
    assert_eq!(port(&found), port(&object.to_ior()));
    open.kill();

    let mut restricted = gateway(&folder, &format!("{whole}{rules}"));
    assert!(good(nameclt(outside, &["list"])).contains("folder"));
    assert_eq!(port(&good(nameclt(outside, &["resolve", "folder"]))), outside);
    for args in [&["bind_new_context", "other"][..], &["unbind", "folder/object"]] {
        let refused = nameclt(outside, args);
        assert!(!refused.status.success(), "{args:?}: {refused:?}");
    }
    assert!(good(nameclt(outside, &["list", "folder"])).contains("object"));
    restricted.kill();
    names.kill();
    orb.shutdown(true).unwrap();
}

/// Consumer that passes on the numbers that it receives.
struct Heard(Mutex<Sender<i32>>);

impl PushConsumer for Heard {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        let number = data.get::<i32>().ok().flatten().unwrap_or(-1);
        let _ = self.0.lock().unwrap().send(number);
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Connects a consumer to a channel.
fn listen(orb: &Orb, at: &EventChannelRef) -> Receiver<i32> {
    let (heard, hears) = mpsc::channel();
    let consumer = orb.root_poa().activate(Heard(Mutex::new(heard)));
    let consumer: PushConsumerRef = consumer.unwrap();
    let admin = at.for_consumers().unwrap().unwrap();
    let proxy = admin.obtain_push_supplier().unwrap().unwrap();
    proxy.connect_push_consumer(Some(&consumer)).unwrap();
    hears
}

/// Reports whether a channel exists.
fn has_channel(url: &str) -> bool {
    let orb = Orb::builder().build().unwrap();
    let is_there = orb.resolve::<EventChannelRef>(url).is_ok();
    orb.shutdown(true).unwrap();
    is_there
}

#[test]
fn the_recipe_of_an_event_channel_is_right() {
    const SERVER: &str = "/usr/sbin/omniEvents";
    if !Path::new(SERVER).is_file() || !Path::new("/usr/bin/eventc").is_file() {
        return missing("omniEvents", "apt install omnievents");
    }
    let _guard = watchdog(4 * LIMIT);
    let folder = Folder::new("gateway-recipe-events");
    let logs = folder.path("logs");
    fs::create_dir(&logs).unwrap();
    let (inside, outside) = (free_port(), free_port());
    let mut command = Command::new(SERVER);
    command.args(["-f", "-p", &inside.to_string(), "-l", &logs, "-t", "/dev/null"]);
    let mut events = Process::spawn(command);
    let url = format!("corbaloc::1.2@127.0.0.1:{inside}/EventChannel");
    let factory = format!("corbaloc::127.0.0.1:{inside}/omniEvents");
    // The tool creates the channel and then fails, because there is no name server to register it with.
    until("there is a channel", || {
        if !has_channel(&url) {
            let made = Command::new("eventc").args(["-i", "EventChannel", &factory]).output();
            made.expect("eventc starts");
        }
        has_channel(&url)
    });

    let recipes = recipes("An event channel");
    let [recipe] = &recipes[..] else {
        panic!("{recipes:?}");
    };
    let recipe = with_words(
        recipe,
        &[
            ("/usr/share/oxorb/idl/omg/", IDL),
            ("10.0.0.8:2811", format!("127.0.0.1:{inside}").as_str()),
            ("192.0.2.0/24", "127.0.0.0/24"),
            ("192.0.2.1", OUTSIDE),
            ("10.0.0.1", INSIDE),
            (":2811", format!(":{outside}").as_str()),
        ],
    );
    let mut gateway = gateway(&folder, &recipe);
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let url = format!("corbaloc::1.2@{OUTSIDE}:{outside}/EventChannel");
    let channel: EventChannelRef = orb.resolve(&url).unwrap();
    let hears = listen(&orb, &channel);
    let admin = channel.for_suppliers().unwrap().unwrap();
    let proxy = admin.obtain_push_consumer().unwrap().unwrap();
    assert_eq!(port(&proxy.to_ior()), outside);
    proxy.connect_push_supplier(None).unwrap();
    for number in 0..100 {
        proxy.push(&Any::new(number)).unwrap();
    }
    for number in 0..100 {
        assert_eq!(hears.recv_timeout(LIMIT), Ok(number));
    }
    gateway.kill();
    events.kill();
    orb.shutdown(true).unwrap();
}
