//! The plans of `examples/avionics-display` under `oxorb deploy`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use oxorb_deploy::{Document, Format, Limits};

use crate::common::{Folder, text};

const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/avionics-display/plans");

/// Documents in TOML, each with its XML form.
const FORMS: [(&str, &str); 4] = [
    ("navigation.toml", "navigation.cdp"),
    ("navigation.rt.toml", "navigation.rt.csr"),
    ("with-warning.toml", "with-warning.cdp"),
    ("with-warning.rt.toml", "with-warning.rt.csr"),
];

fn oxorb(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(args).current_dir(PLANS).stdin(Stdio::null());
    command.output().expect("the command starts")
}

fn good(args: &[&str]) -> String {
    let output = oxorb(args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{args:?}: {out}{err}");
    out
}

/// The XML files equal the converted TOML files; `BLESS=1` rewrites the XML.
#[test]
fn the_xml_forms_are_those_that_convert_makes_and_say_the_same() {
    for (toml, xml) in FORMS {
        let made = good(&["deploy", "convert", "--to", "xml", toml, "-"]);
        let file = Path::new(PLANS).join(xml);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&file, &made).unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), made, "{xml}");
        let read = |name: &str, format| {
            let text = fs::read_to_string(Path::new(PLANS).join(name)).unwrap();
            Document::read(&text, format, &Limits::default()).unwrap()
        };
        assert_eq!(read(xml, Format::Xml), read(toml, Format::Toml), "{xml}");
    }
}

#[test]
fn every_plan_is_proved_with_the_bounds_of_its_chains() {
    let navigation = "10000  rate -> gps.refresh -> navigation.update: 21.15 ms of 50 ms";
    let beside = "10000  rate -> gps.refresh -> navigation.update: 41.3 ms of 50 ms";
    let warning = "20000  slow rate -> radar.refresh -> warning.update: 20.15 ms of 25 ms";
    for (plan, resources, bounds) in [
        ("navigation.toml", "navigation.rt.toml", &[navigation][..]),
        ("navigation.cdp", "navigation.rt.csr", &[navigation]),
        ("with-warning.toml", "with-warning.rt.toml", &[beside, warning]),
        ("with-warning.cdp", "with-warning.rt.csr", &[beside, warning]),
    ] {
        let idl = "../idl/avionics.idl";
        let told = good(&["deploy", "check", plan, "--idl", idl, "--rt", resources]);
        for bound in bounds {
            assert!(told.contains(bound), "{plan}: no {bound:?} in\n{told}");
        }
        assert!(told.ends_with("; every critical deadline is proved\n"), "{told}");
    }
}

#[test]
fn a_plan_is_proved_if_its_channel_is_that_of_its_process() {
    let file = |name: &str| format!("{}/tests/plans/{name}", env!("CARGO_MANIFEST_DIR"));
    let idl = "../idl/avionics.idl";
    let told = |resources: &str| {
        good(&["deploy", "check", &file("channel.toml"), "--idl", idl, "--rt", resources])
    };
    let by_channel = told(&file("channel.rt.toml"));
    let warning = "ok   20000  rate -> radar.refresh -> warning.update: 20.15 ms of 25 ms\n";
    assert!(by_channel.contains(warning), "{by_channel}");
    assert!(by_channel.ends_with("; every critical deadline is proved\n"), "{by_channel}");
    let folder = Folder::new("carrier");
    let resources = fs::read_to_string(file("channel.rt.toml")).unwrap();
    let of_executable = resources.replace("events = \"channel\"", "events = \"executable\"");
    let by_carrier = told(&folder.file("executable.rt.toml", &of_executable));
    let warning = "open 20000  rate -> radar.refresh -> warning.update: 20.15 ms of 25 ms\n";
    assert!(by_carrier.contains(warning), "{by_carrier}");
    let end = "; not every critical deadline is proved, see the warnings\n";
    assert!(by_carrier.ends_with(end), "{by_carrier}");
}
