//! Many simultaneous connections of clients to one gateway.

use std::fs;
use std::time::Duration;

use serde::Serialize;

use super::sides::Types;
use crate::Result;
use crate::peers::own_side;
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::record::Record;

/// Least number of calls over the connections. There is at least one over each connection.
const CALLS: u32 = 10_000;

/// Time limit of a wait for a process, which opens all connections meanwhile.
const LIMIT: Duration = Duration::from_secs(300);

/// Results of many connections. Times are in nanoseconds.
#[derive(Serialize)]
pub(super) struct ConnectionsReport {
    pub(super) connections: u32,
    /// Number of connections over which the gateway has answered a call.
    pub(super) served: u32,
    /// Connections that were opened each second, each with one call.
    pub(super) opened_each_second: f64,
    /// Memory of the gateway for a connection, in octets.
    pub(super) memory: u64,
    /// Number of threads of the gateway while all connections are open.
    pub(super) threads: u64,
    pub(super) rows: [ConnectionsRow; 2],
}

/// Calls over a number of open connections.
#[derive(Clone, Copy, Serialize)]
pub(super) struct ConnectionsRow {
    pub(super) open: u32,
    pub(super) p50: u64,
    pub(super) p99: u64,
    pub(super) p999: u64,
    pub(super) max: u64,
}

impl ConnectionsRow {
    fn nothing(open: u32) -> ConnectionsRow {
        ConnectionsRow { open, p50: 0, p99: 0, p999: 0, max: 0 }
    }
}

/// Opens the connections, at least two, and calls over all of them in turns.
pub(super) fn measure(placement: Placement, connections: u32) -> Result<ConnectionsReport> {
    eprintln!("{connections} connections ...");
    let start = |name: &str, role, side: &str, arguments: &[&str]| -> Result<(Process, String)> {
        let mut command = own_side(side)?;
        command.args(arguments);
        let mut process = Process::start(name.to_owned(), placement, role, &mut command)?;
        process.set_limit(LIMIT);
        let first = process.hear()?;
        Ok((process, first))
    };
    let (server, target) = start("the server", Role::Server, "oxorb-server", &[])?;
    let (types, number) = (Types::Known.to_string(), connections.to_string());
    let arguments = [types.as_str(), target.as_str(), "--connections", number.as_str()];
    let (gateway, reference) = start("the gateway", Role::Server, "gateway", &arguments)?;
    let (mut client, ready) =
        start("the client", Role::Client, "gateway-client", &[reference.as_str()])?;
    if ready != "ready" {
        return Err(format!("the client said {ready:?}").into());
    }
    let mut rows = [1, connections].map(ConnectionsRow::nothing);
    let (mut opened, mut served, mut memory) = (Duration::ZERO, 0, [0; 2]);
    for (row, memory) in rows.iter_mut().zip(&mut memory) {
        client.tell(&format!("open {}", row.open))?;
        opened = Duration::from_nanos(client.hear()?.parse()?);
        client.tell("count")?;
        served = client.hear()?.parse()?;
        let calls = CALLS.max(row.open);
        client.tell(&format!("call {calls}"))?;
        client.hear()?;
        *memory = field(gateway.id(), "RssAnon:")? * 1024;
        let mut record = Record::empty();
        record.add(client.samples(calls)?);
        [row.p50, row.p99, row.p999, row.max] = record.quantiles();
    }
    let threads = field(gateway.id(), "Threads:")?;
    client.finish()?;
    gateway.finish()?;
    server.finish()?;
    let further = f64::from(connections - 1);
    Ok(ConnectionsReport {
        connections,
        served,
        opened_each_second: further / opened.as_secs_f64().max(1e-9),
        memory: memory[1].saturating_sub(memory[0]) / further as u64,
        threads,
        rows,
    })
}

/// Returns a number of `/proc/<pid>/status`.
fn field(process: u32, name: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or_else(|| format!("the kernel reports no {name}"))?.parse()?)
}
