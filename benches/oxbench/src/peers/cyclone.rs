//! Cyclone DDS: a C program, built if its headers are installed.

use std::path::PathBuf;
use std::process::Command;

use super::build::{build, run};
use crate::Result;

const SOURCES: [(&str, &str); 2] = [
    ("events.idl", include_str!("../../peers/cyclone/events.idl")),
    ("events-driver.c", include_str!("../../peers/cyclone/events-driver.c")),
];

const HINT: &str = "Cyclone DDS; on Debian: apt install gcc cyclonedds-dev cyclonedds-tools";

/// Settings that restrict Cyclone DDS to the loopback interface, without multicast.
const SETTINGS: &str = r#"<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces><AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>9</MaxAutoParticipantIndex><Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"#;

/// Builds the driver of `oxbench events` next to this program, unless these sources were built there before.
///
/// # Errors
/// It cannot be built; the message names the requirements.
pub(crate) fn events() -> Result<PathBuf> {
    let directory = build("cyclone-events", &SOURCES, |directory| {
        run(directory, "idlc", &["events.idl"], HINT)?;
        let arguments = [
            "-D_GNU_SOURCE",
            "-O2",
            "-o",
            "events-driver",
            "events-driver.c",
            "events.c",
            "-lddsc",
            "-lpthread",
        ];
        run(directory, "gcc", &arguments, HINT)
    })?;
    Ok(directory.join("events-driver"))
}

/// Returns the command of the driver.
pub(crate) fn command(driver: &PathBuf) -> Command {
    let mut command = Command::new(driver);
    command.env("CYCLONEDDS_URI", SETTINGS);
    command
}
