//! Log lines for operators: their subject, urgency and destination.
//!
//! Nothing here is on the path of a usual request: incidents are rare, and the number of their lines is bounded.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use oxorb_cdr::Printable;

use super::incident::{ConnectionEvent, Incident};
use crate::threads::clock;
use crate::threads::lock::Mutex;

/// Urgency of a log line; as a setting, the least urgent level that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Level at which nothing is logged.
    Off,
    /// Impaired service: connections cannot be accepted, a reply is lost.
    Error,
    /// A limit was hit, a peer was refused, a setting has no effect. The default.
    Warn,
    /// Information for operators: idle connections were closed for new ones, only loopback is published.
    Info,
    /// Ordinary events of connections.
    Debug,
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogLevel::Off => "off",
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        })
    }
}

impl FromStr for LogLevel {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let levels = [Self::Off, Self::Error, Self::Warn, Self::Info, Self::Debug];
        let found = levels.iter().find(|level| level.to_string() == text);
        found.copied().ok_or("expected off, error, warn, info or debug")
    }
}

/// Maximum number of lines of one kind of incident in one [`SPAN`]; further incidents are counted.
const LINES: u32 = 10;

/// Time span of the limit [`LINES`].
const SPAN: Duration = Duration::from_secs(1);

/// Maximum number of lines of one kind of incident in one [`CLIENT_SPAN`] for each client, so that a persistent client
/// does not hide others.
const CLIENT_LINES: u32 = 3;

/// Time span of the limit [`CLIENT_LINES`].
const CLIENT_SPAN: Duration = Duration::from_secs(10);

/// Maximum number of pairs of kind and client that are distinguished at a time.
const CLIENTS: usize = 256;

/// Sink and quotas of one ORB.
pub(crate) struct Log {
    level: LogLevel,
    file: Option<Arc<File>>,
    sink: OnceLock<Box<LogSink>>,
    quotas: [Mutex<Quota>; Incident::ALL.len()],
    clients: Mutex<HashMap<(Incident, String), Quota>>,
}

type LogSink = dyn Fn(LogLevel, &str) + Send + Sync;

impl Log {
    pub(crate) fn new(level: LogLevel, file: Option<Arc<File>>) -> Log {
        Log {
            level,
            file,
            sink: OnceLock::new(),
            quotas: std::array::from_fn(|_| Mutex::default()),
            clients: Mutex::default(),
        }
    }

    pub(crate) fn wants(&self, level: LogLevel) -> bool {
        level <= self.level
    }

    /// Logs one incident, within the quotas of its kind and of its client.
    pub(crate) fn incident(&self, event: &ConnectionEvent) {
        let now = clock::now();
        let Some(of_client) = self.admit_client(event, now) else {
            return;
        };
        let dropped = self.quotas[event.incident as usize].lock().admit(now, LINES, SPAN);
        let level = event.incident.level();
        match (dropped, of_client) {
            (None, _) => {}
            (Some(0), 0) => self.write(level, &event.to_string()),
            (Some(0), more) => self.write(
                level,
                &format!("{event} ({more} more of this kind from this client were not logged)"),
            ),
            (Some(dropped), more) => self.write(
                level,
                &format!("{event} ({} more of this kind were not logged)", dropped + more),
            ),
        }
    }

    /// Applies the quota of the client to which an incident refers; returns as [`Quota::admit`] does.
    fn admit_client(&self, event: &ConnectionEvent, now: Instant) -> Option<u64> {
        let host = match event.peer.rsplit_once(':') {
            Some((host, _port)) => host,
            None => &event.peer,
        };
        let mut clients = self.clients.lock();
        if clients.len() >= CLIENTS {
            clients.retain(|_, quota| !quota.is_over(now, CLIENT_SPAN));
        }
        let full = clients.len() >= CLIENTS;
        let key = (event.incident, host.to_owned());
        if full && !clients.contains_key(&key) {
            return Some(0);
        }
        let quota = clients.entry(key).or_default();
        quota.admit(now, CLIENT_LINES, CLIENT_SPAN)
    }

    /// Registers the sink for lines; returns false if there is one already.
    pub(crate) fn hand_to(&self, sink: Box<LogSink>) -> bool {
        self.sink.set(sink).is_ok()
    }

    /// Writes a line, if its level is logged.
    pub(crate) fn write(&self, level: LogLevel, line: &str) {
        if !self.wants(level) {
            return;
        }
        if let Some(sink) = self.sink.get() {
            // A panic of the application must not end the thread that logs, and cannot be reported anywhere.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| sink(level, line)));
            return;
        }
        let line = Printable(line);
        // A failure to write to the log is ignored, because it cannot be reported anywhere.
        let _ = match &self.file {
            Some(file) => {
                let line = format!("{} {level}: {line}\n", Utc(clock::time_of_day()));
                (&**file).write_all(line.as_bytes())
            }
            None => std::io::stderr().write_all(format!("oxorb: {level}: {line}\n").as_bytes()),
        };
    }
}

/// Quota of lines of one kind in the current span.
#[derive(Default)]
struct Quota {
    since: Option<Instant>,
    written: u32,
    dropped: u64,
}

impl Quota {
    /// Returns the number of lines dropped before this one if this one may be written, `None` otherwise.
    fn admit(&mut self, now: Instant, lines: u32, span: Duration) -> Option<u64> {
        if self.is_over(now, span) {
            (self.since, self.written) = (Some(now), 0);
        }
        if self.written == lines {
            self.dropped += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.dropped))
    }

    /// Reports whether the quota's span is over, or has not begun.
    fn is_over(&self, now: Instant, span: Duration) -> bool {
        self.since.is_none_or(|since| now.duration_since(since) >= span)
    }
}

/// Time in the form of RFC 3339, to the millisecond.
struct Utc(SystemTime);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.0.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
        // Years begin in March in this calculation, so that a leap day is the last day of its year.
        let days = days + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let year = era * 400 + year + u64::from(month >= 10);
        let month = if month < 10 { month + 3 } else { month - 9 };
        let (hour, minute) = (second / 3600, second / 60 % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}.{:03}Z",
            second % 60,
            since.subsec_millis()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let at =
            |seconds: u64| Utc(UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7)).to_string();
        assert_eq!(at(0), "1970-01-01T00:00:00.007Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.007Z");
        assert_eq!(at(1_709_251_199), "2024-02-29T23:59:59.007Z");
        assert_eq!(at(1_796_083_200), "2026-12-01T00:00:00.007Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00.007Z");
    }

    #[test]
    fn a_kind_of_incident_has_so_many_lines_in_a_span_and_the_rest_is_counted() {
        let mut quota = Quota::default();
        let start = clock::now();
        let admit = |quota: &mut Quota, at| quota.admit(at, LINES, SPAN);
        for _ in 0..LINES {
            assert_eq!(admit(&mut quota, start), Some(0));
        }
        assert_eq!(admit(&mut quota, start), None);
        assert_eq!(admit(&mut quota, start + SPAN / 2), None);
        assert_eq!(admit(&mut quota, start + SPAN), Some(2));
        assert_eq!(admit(&mut quota, start + SPAN), Some(0));
    }

    #[test]
    fn a_client_that_never_ends_costs_few_lines_and_hides_no_other() {
        let log = Log::new(LogLevel::Warn, None);
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&lines);
        let keep = move |_, line: &str| seen.lock().push(line.to_owned());
        assert!(log.sink.set(Box::new(keep)).is_ok());
        let violation = |peer: &str| ConnectionEvent {
            incident: Incident::Violation,
            peer: peer.to_owned(),
            detail: String::new(),
        };
        for port in 0..1000 {
            log.incident(&violation(&format!("10.0.0.1:{port}")));
        }
        log.incident(&violation("10.0.0.2:1"));
        log.incident(&violation("[::1]:1"));
        let of = |host: &str| {
            let lines = lines.lock();
            lines.iter().filter(|line| line.starts_with(host)).count()
        };
        let counts = ["10.0.0.1:", "10.0.0.2:", "[::1]:"].map(of);
        assert_eq!(counts, [CLIENT_LINES as usize, 1, 1]);
        let key = (Incident::Violation, "10.0.0.1".to_owned());
        let later = clock::now() + CLIENT_SPAN;
        let mut clients = log.clients.lock();
        let more = clients.get_mut(&key).unwrap();
        assert_eq!(
            more.admit(later, CLIENT_LINES, CLIENT_SPAN),
            Some(1000 - u64::from(CLIENT_LINES))
        );
    }

    #[test]
    fn so_many_clients_are_told_apart_and_no_more() {
        let log = Log::new(LogLevel::Off, None);
        for host in 0..2 * CLIENTS {
            log.incident(&ConnectionEvent {
                incident: Incident::Violation,
                peer: format!("host-{host}:1"),
                detail: String::new(),
            });
        }
        assert_eq!(log.clients.lock().len(), CLIENTS);
    }

    #[test]
    fn levels_are_what_they_are_called() {
        assert_eq!("warn".parse(), Ok(LogLevel::Warn));
        assert!("loud".parse::<LogLevel>().is_err());
        let log = Log::new(LogLevel::Warn, None);
        assert!(log.wants(LogLevel::Error) && !log.wants(LogLevel::Info));
        assert!(!Log::new(LogLevel::Off, None).wants(LogLevel::Error));
    }
}
