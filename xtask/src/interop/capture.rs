//! Independent decoding of OxORB's messages by tshark's GIOP dissector.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::apart;
use super::matrix::{Cell, Column};
use super::orb::{Orb, PORTS};
use super::process::{Running, tool};

/// Names of the GIOP message types, by number.
const TYPES: [&str; 8] = [
    "Request",
    "Reply",
    "CancelRequest",
    "LocateRequest",
    "LocateReply",
    "CloseConnection",
    "MessageError",
    "Fragment",
];

/// Names of TLS's record types, numbered from the first one's number.
const RECORDS: [&str; 4] = ["change_cipher_spec", "alert", "handshake", "application_data"];
const FIRST_RECORD: u32 = 20;

/// Wireshark's number for severity "error" of expert information.
const SEVERITY_ERROR: u32 = 0x0080_0000;

/// Result of dissecting the messages that OxORB sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Decoded {
    /// Messages by type; over TLS, records.
    pub(super) messages: BTreeMap<&'static str, u64>,
    /// Frames marked malformed, or with an expert error.
    pub(super) malformed: Vec<String>,
}

impl Decoded {
    pub(super) fn total(&self) -> u64 {
        self.messages.values().sum()
    }
}

/// Running capture on loopback.
pub(super) struct Capture {
    dumpcap: Running,
    file: PathBuf,
}

impl Capture {
    /// Starts to capture packets to and from the ports of two programs, given their first ports.
    pub(super) fn start(log: &Path, server: u16, client: u16) -> Result<Self, String> {
        let file = log.with_extension("pcap");
        let args: Vec<OsString> = vec![
            "-i".into(),
            "lo".into(),
            "-q".into(),
            "-P".into(), // pcap, which `apart` reads
            "-p".into(), // not promiscuous: that would take one more privilege
            "-B".into(),
            "64".into(),
            "-f".into(),
            format!(
                "tcp portrange {server}-{} or tcp portrange {client}-{}",
                server + PORTS - 1,
                client + PORTS - 1
            )
            .into(),
            "-w".into(),
            file.clone().into(),
        ];
        let mut dumpcap = Running::start(&"dumpcap".into(), &args, &log.with_extension("dumpcap"))?;
        dumpcap.wait_until(Duration::from_secs(10), |it| it.errors().contains("File:")).map_err(
            |e| {
                format!(
                    "dumpcap cannot capture on loopback (root can; --no-capture does without): {e}"
                )
            },
        )?;
        Ok(Self { dumpcap, file })
    }

    /// Ends the capture and decodes the messages that OxORB sent.
    pub(super) fn finish(
        mut self,
        cell: &Cell,
        server: u16,
        client: u16,
    ) -> Result<Decoded, String> {
        // Lets the kernel deliver the contents of its buffer.
        std::thread::sleep(Duration::from_millis(300));
        self.dumpcap.interrupt();
        self.dumpcap.wait(Duration::from_secs(10)).ok_or("dumpcap does not end")?;
        let errors = self.dumpcap.errors();
        // "Packets received/dropped on interface 'Loopback: lo': 8123/0 (pcap: ..."
        if errors.lines().any(|line| line.contains("received/dropped") && !line.contains("/0 (")) {
            eprintln!("warning: the capture is not complete: {errors}");
        }
        let broken = |e: std::io::Error| format!("{}: {e}", self.file.display());
        let mut octets = std::fs::read(&self.file).map_err(broken)?;
        let all = [ports(server), ports(client)].map(Vec::from_iter).concat();
        let decoded = if cell.column == Column::Tls {
            let mut decoded = decode(&dissect_tls(&self.file, &all)?, cell, server, client);
            let clear = octets.windows(4).filter(|it| it == b"GIOP").count();
            if clear > 0 {
                let what = format!("{clear} messages of GIOP in the clear");
                decoded.malformed.push(what);
            }
            decoded
        } else {
            apart::by_port(&mut octets)?;
            std::fs::write(&self.file, octets).map_err(broken)?;
            // GIOP 1.1 fragments carry no id.
            let reassemble = cell.column != Column::Giop11;
            let text = dissect(&self.file, &all, reassemble)?;
            decode(&text, cell, server, client)
        };
        // Captures with malformed messages are kept for inspection.
        if decoded.malformed.is_empty() {
            let _ = std::fs::remove_file(&self.file);
        }
        Ok(decoded)
    }
}

/// Returns one line for each frame with GIOP in a capture of these ports: see [`decode`].
pub(super) fn dissect(file: &Path, ports: &[u16], reassemble: bool) -> Result<String, String> {
    let reassembling: &[&str] = match reassemble {
        true => &[],
        false => &["-o", "giop.reassemble:FALSE"],
    };
    fields(file, ports, "giop", "giop.type", reassembling)
}

/// Returns one line for each frame with TLS in a capture of these ports.
fn dissect_tls(file: &Path, ports: &[u16]) -> Result<String, String> {
    fields(file, ports, "tls", "tls.record.content_type", &[])
}

/// Returns one line for each frame with this protocol, which is assumed at these ports.
fn fields(
    file: &Path,
    ports: &[u16],
    protocol: &str,
    kind: &str,
    options: &[&str],
) -> Result<String, String> {
    let mut args: Vec<OsString> = ["-n", "-r"].map(OsString::from).into();
    args.push(file.into());
    args.extend(["-Y", protocol].map(OsString::from));
    for port in ports {
        args.extend(["-d".into(), format!("tcp.port=={port},{protocol}").into()]);
    }
    args.extend(options.iter().map(OsString::from));
    args.extend(["-T", "fields", "-E", "separator=|"].map(OsString::from));
    for field in [
        "frame.number",
        "tcp.srcport",
        "tcp.dstport",
        kind,
        "_ws.malformed",
        "_ws.expert.severity",
        "_ws.expert.message",
    ] {
        args.extend(["-e".into(), field.into()]);
    }
    tool("tshark", &args, Path::new("/"))
}

/// Returns the ports of the program with this first port.
fn ports(first: u16) -> Range<u16> {
    first..first + PORTS
}

fn decode(text: &str, cell: &Cell, server: u16, client: u16) -> Decoded {
    let (server, client) = (ports(server), ports(client));
    let mut decoded = Decoded::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.splitn(7, '|').collect();
        let [_, source, target, types, malformed, severities, expert] = fields[..] else {
            continue;
        };
        let (source, target) = (source.parse().unwrap_or(0_u16), target.parse().unwrap_or(0_u16));
        // A listener sends from its port; the other end of the connection is the other side.
        let by_server =
            server.contains(&source) || (!client.contains(&source) && client.contains(&target));
        let sender = if by_server { cell.server } else { cell.client };
        if sender != Orb::Ox {
            continue;
        }
        let (names, first) = match cell.column {
            Column::Tls => (&RECORDS[..], FIRST_RECORD),
            _ => (&TYPES[..], 0),
        };
        let kinds = types.split(',').filter_map(number);
        for kind in kinds.filter_map(|kind| kind.checked_sub(first)) {
            if let Some(name) = names.get(kind as usize) {
                *decoded.messages.entry(name).or_default() += 1;
            }
        }
        if !malformed.is_empty()
            || severities.split(',').filter_map(number).any(|severity| severity >= SEVERITY_ERROR)
        {
            decoded.malformed.push(format!("{line} ({expert})"));
        }
    }
    decoded
}

/// Parses a number as tshark prints it, decimal or with 0x.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_oxorb_sent_counts() {
        let cell = Cell { client: Orb::Ox, server: Orb::Omni, column: Column::Giop12 };
        let text = "1|40000|21000|0,0x07|||\n2|21000|40000|1|||\n3|21003|40001|1|||\n4|40001|21003|0|Malformed|8388608|bad\n\
                    5|40000|21000|0|_ws.malformed|8388608|Malformed Packet\n6|40000|21000|3||0x00600000|a warning\n\
                    7|40002|21002|0|||\n8|21005|40003|1|||\n";
        let decoded = decode(text, &cell, 21000, 21003);
        assert_eq!(
            decoded.messages,
            BTreeMap::from([("Request", 3), ("Reply", 2), ("Fragment", 1), ("LocateRequest", 1)])
        );
        assert_eq!(decoded.malformed.len(), 1);
        assert_eq!(decoded.total(), 7);
    }
}
