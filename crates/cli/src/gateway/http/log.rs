//! Log of requests on standard error, a line of JSON for each.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use oxorb_terminal::output::{Escaping, Failed};

/// Maximum number of lines that wait to be written; further lines are dropped.
const QUEUE: usize = 1024;

/// Writer of the log on a separate thread, so that a slow reader delays no request.
pub(super) struct Log(SyncSender<Value>);

/// Request in the log.
pub(super) struct Entry<'e> {
    pub(super) peer: SocketAddr,
    /// Name of the token.
    pub(super) client: Option<&'e str>,
    pub(super) method: &'e Method,
    pub(super) path: &'e str,
    pub(super) status: StatusCode,
    /// Time from the headers of the request to those of the answer.
    pub(super) time: Duration,
}

impl Log {
    /// Starts the thread.
    pub(super) fn start() -> Result<Log, Failed> {
        let (to, lines) = sync_channel::<Value>(QUEUE);
        std::thread::Builder::new().name("oxorb-http-log".to_owned()).spawn(move || {
            for line in lines {
                let mut text = Vec::new();
                if serde_json::to_writer(Escaping(&mut text), &line).is_ok() {
                    text.push(b'\n');
                    let _ = std::io::stderr().lock().write_all(&text);
                }
            }
        })?;
        Ok(Log(to))
    }

    /// Appends a line, unless too many wait.
    pub(super) fn request(&self, entry: &Entry<'_>) {
        let _ = self.0.try_send(json!({
            "peer": entry.peer.to_string(),
            "client": entry.client,
            "method": entry.method.as_str(),
            "path": entry.path,
            "status": entry.status.as_u16(),
            "ms": entry.time.as_millis() as u64,
        }));
    }
}
