//! Channels of JacORB and of OxORB, each with suppliers and consumers of both ORBs and of every kind. The tests cover
//! events, filters, properties, offers and subscriptions, and the end of connections. The results are in the section of
//! INTEROP.md about notification services, which `BLESS=1` writes.

mod checks;
mod java;
mod kinds;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::mpsc::Receiver;

use oxorb::{Interface as _, Orb};
use oxorb_notify::cos_notify_channel_admin::EventChannelRef;
use oxorb_notify::{NotifyService, Settings};
use oxorb_testkit::process::Process;

use java::{JacOrb, PATIENCE};
use kinds::{Heard, KINDS, consume, gather, is_any, is_filtered, supply};

/// Number of events that each supplier sends.
const EVENTS: i32 = 5;

/// Filters of all consumers. An event passes if one of them matches: every any that contains a number, and every
/// structured event except one.
const CONSTRAINTS: [&str; 2] = ["$ >= 0", "$number != 3"];
const FILTERED: i32 = 3;

/// First numbers of OxORB's and of JacORB's suppliers.
const OURS: i32 = 200;
const THEIRS: i32 = 100;

/// Checks that JacORB's service does not pass, with the reasons.
const MISSING: [(&str, &str); 8] = [
    ("modify_constraints", "JacORB's filter still applies the previous constraint"),
    ("delete_constraints", "JacORB raises UNKNOWN for a constraint that does not exist"),
    ("invalid_constraints", "JacORB raises UNKNOWN for an invalid constraint"),
    ("mapping_filters", "JacORB's mapping filter raises MARSHAL"),
    ("validate_qos", "JacORB raises UNKNOWN"),
    ("unsupported_qos", "JacORB accepts unknown properties, and properties of the wrong type"),
    ("validate_event_qos", "JacORB raises NO_IMPLEMENT"),
    ("unconnected", "JacORB raises OBJECT_NOT_EXIST, not Disconnected"),
];

/// Owner of a channel. JacORB's channel delivers with several threads, in no defined order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    JacOrb,
    OxOrb,
}

impl Owner {
    /// Checks which events each kind of consumer received from the suppliers of one ORB. Returns the number of pairs.
    fn check(self, whose: &str, base: i32, got: &[Vec<i32>; KINDS.len()]) -> usize {
        let mut pairs = 0;
        for (consumer, numbers) in got.iter().enumerate() {
            for (supplier, kind) in KINDS.iter().enumerate() {
                let first = base + 10 * supplier as i32;
                let of = numbers.iter().filter(|&&one| (first..first + 10).contains(&one));
                let mut of: Vec<i32> = of.copied().collect();
                if self == Owner::JacOrb {
                    of.sort();
                }
                let pair = (kind, KINDS[consumer]);
                assert_eq!(of, wanted(base, supplier, consumer), "{whose}: {pair:?}");
                pairs += 1;
            }
        }
        pairs
    }
}

/// Returns the numbers that one kind of consumer should get from one kind of supplier.
fn wanted(base: i32, supplier: usize, consumer: usize) -> Vec<i32> {
    let passes = |number: &i32| !is_filtered(consumer) || is_any(supplier) || *number != FILTERED;
    let passing = (0..EVENTS).filter(passes);
    passing.map(|number| base + 10 * supplier as i32 + number).collect()
}

/// Returns the number of events that one kind of consumer should get from the suppliers of one ORB.
fn each(consumer: usize) -> usize {
    (0..KINDS.len()).map(|supplier| wanted(0, supplier, consumer).len()).sum()
}

/// Reads the output of JacORB's consumers until each kind has the expected number of events.
fn gather_theirs(consumers: &mut Process) -> [Vec<i32>; KINDS.len()] {
    let mut got: [Vec<i32>; KINDS.len()] = Default::default();
    while (got.iter().enumerate()).any(|(kind, numbers)| numbers.len() < each(kind)) {
        let line = consumers.wait_for_line("GOT ", PATIENCE);
        let mut words = line.split(' ').skip(1);
        let kind = words.next().expect("a kind");
        let kind = KINDS.iter().position(|known| *known == kind);
        let number = words.next().and_then(|number| number.parse().ok());
        got[kind.expect("a known kind")].push(number.expect("a number"));
    }
    got
}

/// Results for one channel: the pairs of suppliers and consumers, and the checks.
struct Seen {
    pairs: Vec<(&'static str, usize)>,
    ended: usize,
    checks: BTreeMap<String, Option<String>>,
}

/// Checks that each supplier of a channel reaches each consumer, and that all consumers are notified when the channel
/// ends.
fn feed_each_other(owner: Owner, jacorb: &JacOrb, orb: &Orb, channel: &EventChannelRef) -> Seen {
    let url = channel.to_ior();
    let checks = match owner {
        Owner::JacOrb => checks::run(orb, channel),
        Owner::OxOrb => jacorb.checks(&url),
    };
    let ours = consume(orb, channel, &CONSTRAINTS);
    let mut theirs = jacorb.consumers(&url, &CONSTRAINTS);
    let mut pairs = Vec::new();
    supply(orb, channel, OURS, EVENTS);
    let got = gather(&ours, each);
    pairs.push(("OxORB → OxORB", owner.check("own to own", OURS, &got)));
    let got = gather_theirs(&mut theirs);
    pairs.push(("OxORB → JacORB", owner.check("own to JacORB's", OURS, &got)));
    jacorb.supply(&url, THEIRS, EVENTS);
    let got = gather(&ours, each);
    pairs.push(("JacORB → OxORB", owner.check("JacORB's to own", THEIRS, &got)));
    let got = gather_theirs(&mut theirs);
    pairs.push(("JacORB → JacORB", owner.check("JacORB's to its own", THEIRS, &got)));
    channel.destroy().unwrap();
    let mut ended = all_disconnected(&ours);
    for _ in KINDS {
        theirs.wait_for_line("DISCONNECTED", PATIENCE);
        ended += 1;
    }
    Seen { pairs, ended, checks: checks.into_iter().collect() }
}

/// Waits until every kind of consumer has been notified that it was disconnected.
fn all_disconnected(heard: &Receiver<Heard>) -> usize {
    let mut ended = [false; KINDS.len()];
    while ended.contains(&false) {
        match heard.recv_timeout(PATIENCE).expect("the end") {
            Heard::Disconnected(kind) => ended[kind] = true,
            other => panic!("{other:?} after the end"),
        }
    }
    ended.len()
}

fn at_jacorb(jacorb: &JacOrb) -> Seen {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let (_service, channel) = jacorb.channel(&orb);
    let seen = feed_each_other(Owner::JacOrb, jacorb, &orb, &channel);
    orb.shutdown(true).unwrap();
    seen
}

fn at_oxorb(jacorb: &JacOrb) -> Seen {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let settings = Settings {
        // A consumer in a Java VM that has just started is slow.
        call_timeout: PATIENCE,
        ..Settings::default()
    };
    let service = NotifyService::start_with(&server, settings).unwrap();
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let channel: EventChannelRef = orb.resolve(&service.event_channel().unwrap().to_ior()).unwrap();
    // OxORB's service must pass all checks as well.
    for (name, why) in checks::run(&orb, &channel) {
        assert_eq!(why, None, "{name}");
    }
    let seen = feed_each_other(Owner::OxOrb, jacorb, &orb, &channel);
    orb.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
    seen
}

#[test]
#[ignore = "needs JacORB: tests/interop/install-peers.sh"]
fn channels_of_both_serve_suppliers_and_consumers_of_both() {
    let jacorb = JacOrb::new("both");
    let theirs = at_jacorb(&jacorb);
    let ours = at_oxorb(&jacorb);
    for (name, why) in &ours.checks {
        assert_eq!(*why, None, "{name}, by JacORB's client");
    }
    for (name, why) in &theirs.checks {
        let known = MISSING.iter().any(|(missing, _)| missing == name);
        assert_eq!(why.is_some(), known, "{name}, of JacORB's service: {why:?}");
    }
    compare(&table(&theirs, &ours));
}

fn table(theirs: &Seen, ours: &Seen) -> String {
    let mut out = String::from(
        "\nThe services of OxORB (`oxorb-notify`) and JacORB. Each has a supplier and a consumer of both ORBs for each kind of\n\
         event: any, structured and sequence events and those of the Event Service, pushed and pulled. All consumers except \
         those\nof the Event Service have filters in extended TCL, created by the channel's factory. This table is \
         written and checked\nby `cargo test -p oxorb-notify --test it jacorb:: -- --include-ignored`.\n\n\
         | suppliers → consumers | at OxORB's channel | at JacORB's channel |\n|---|---|---|\n",
    );
    for ((pair, here), (_, there)) in ours.pairs.iter().zip(&theirs.pairs) {
        let _ = writeln!(out, "| {pair} | {here} pairs ok | {there} pairs ok |");
    }
    let _ = writeln!(
        out,
        "| consumers that were notified of the channel's end | {} of 16 | {} of 16 |",
        ours.ended, theirs.ended
    );
    out += "\n| check | JacORB's client, OxORB's channel | OxORB's client, JacORB's channel |\n|---|---|---|\n";
    for name in ours.checks.keys() {
        let reason = MISSING.iter().position(|(missing, _)| missing == name);
        let there = reason.map_or_else(|| "ok".to_owned(), |at| format!("({})", at + 1));
        let _ = writeln!(out, "| {name} | ok | {there} |");
    }
    out.push('\n');
    for (at, (_, why)) in MISSING.iter().enumerate() {
        let _ = writeln!(out, "- ({}) {why}", at + 1);
    }
    out
}

/// Compares the table with INTEROP.md. With `BLESS=1`, writes it.
fn compare(table: &str) {
    const HEADING: &str = "\n## Notification services\n";
    let path = java::root().join("INTEROP.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, written) = text.split_once(HEADING).unwrap_or((&text, ""));
    if written == table {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{before}{HEADING}{table}")).unwrap();
        return;
    }
    panic!("INTEROP.md says something else: run this test with BLESS=1\n{table}");
}
