//! Budgets and their owners, and their textual form.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use oxorb_cdr::Printable;
use oxorb_sched::time::{self, Show};

/// Budget: limits of its owner's use of a server, and the treatment of requests beyond them.
///
/// ```
/// use std::time::Duration;
/// use oxorb_core::{BeyondBudget, Budget};
///
/// let budget = Budget::default()
///     .requests(1_000, 50)
///     .time(Duration::from_millis(20), Duration::from_millis(100))
///     .longest(Duration::from_millis(5))
///     .beyond(BeyondBudget::Demote);
/// assert_eq!(budget.to_string(), "requests=1000 burst=50 time=20ms/100ms longest=5ms beyond=demote");
/// assert_eq!("requests=1000 burst=50 time=20ms/100ms longest=5ms beyond=demote".parse(), Ok(budget));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Budget {
    /// Rate of requests; `None` for no limit. A burst may have more requests than the rate permits: as many as the rate
    /// yields in 1 ms, and at most a sixteenth of the burst.
    pub rate: Option<RequestRate>,
    /// Processor time of the threads that read and run its requests; `None` for no limit.
    pub share: Option<ProcessorShare>,
    /// Longest processor time of one request; `None` for no limit. If a request exceeds it, the application is
    /// notified, and the thread is demoted until the request ends. An overrun is detected within one quantum
    /// ([`RealTime::budget_quantum`](crate::RealTime::budget_quantum)).
    pub longest: Option<Duration>,
    /// Treatment of requests that arrive while the budget is exhausted.
    pub beyond: BeyondBudget,
}

/// Rate of requests per second, and size of bursts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRate {
    /// Average number of requests per second, from 1 to 10^9.
    pub per_second: u32,
    /// Number of requests that may arrive at once after a pause; at least 1.
    pub burst: u32,
}

/// Processor time in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessorShare {
    /// Average processor time in each `period`, and the maximum that may be used at once after a pause; more than 0.
    /// May exceed `period` if several threads run at the same time.
    pub time: Duration,
    /// Period; more than 0, up to an hour.
    pub period: Duration,
}

/// Treatment of a request beyond its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum BeyondBudget {
    /// Raises TRANSIENT, COMPLETED_NO, with a minor code that names the limit, and does not run the request.
    #[default]
    Refuse,
    /// Runs the request in the lane of the lowest priority of its threadpool, if that lane has a queue; otherwise in
    /// the thread that read the request, which has SCHED_IDLE meanwhile and so runs only when the processor is
    /// otherwise idle.
    Demote,
    /// Limits the thread that read the request to its part of the budget's processor time (SCHED_DEADLINE) until a
    /// request within its budget arrives. The part is the time divided by the number of the lane's threads; a thread
    /// that serves only one connection has all of it. Acts as `Demote` if the budget limits no processor time, if this
    /// time is not shorter than its period, if the part is below 1,024 ns, if the time that other threads have not
    /// reserved is shorter than the part, or if the kernel refuses the reservation.
    Throttle,
    /// Refuses the request as `Refuse` does, and does not read the connection over which it arrived until the budget
    /// has refilled so far that the next request is within it. A connection whose request has just exhausted the budget
    /// is not read either. The flow control of the transport then stops the client: a client that waits for each answer
    /// is slowed down to its budget. Each pause lasts a second at most; if the budget has not refilled by then, the
    /// next request is refused, and the next pause begins. Acts as `Refuse` on bidirectional connections, which also
    /// carry replies, on links that may lose messages (UDP and groups), which have no flow control, and on requests
    /// that were read before the pause.
    Pause,
}

/// Owner of a budget.
///
/// ```
/// use oxorb_core::BudgetOf;
///
/// let track = BudgetOf::Operation("Radar::Track::update".into());
/// assert_eq!("operation Radar::Track::update".parse(), Ok(track));
/// assert_eq!("clients".parse(), Ok(BudgetOf::EachClient));
/// assert!("operation update".parse::<BudgetOf>().is_err(), "it names no interface");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BudgetOf {
    /// Operation, by its scoped name, for all objects of its interface and of derived interfaces together.
    Operation(String),
    /// Single object, by its key or its bound name.
    Object(String),
    /// All objects of a POA, by its path below the root, such as `sensors/radar`; empty for the root POA.
    Poa(String),
    /// Single client, as its transport identifies it: a network address; a process of this host as
    /// `uid 1000, gid 100, pid 7`, or all processes of a user as `uid 1000`; the subject of a certificate by any of its
    /// names.
    Client(String),
    /// Every client without an individual budget.
    EachClient,
}

/// Error in the text of a budget.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BudgetError(pub(crate) String);

impl Budget {
    /// Sets the rate per second and the size of bursts. 0 counts as 1.
    #[must_use]
    pub fn requests(self, per_second: u32, burst: u32) -> Budget {
        let rate =
            RequestRate { per_second: per_second.clamp(1, 1_000_000_000), burst: burst.max(1) };
        Budget { rate: Some(rate), ..self }
    }

    /// Sets the processor time per period. Both are at least 1 ns and at most an hour.
    #[must_use]
    pub fn time(self, time: Duration, period: Duration) -> Budget {
        let least = Duration::from_nanos(1);
        let share = ProcessorShare {
            time: time.clamp(least, LONGEST_PERIOD),
            period: period.clamp(least, LONGEST_PERIOD),
        };
        Budget { share: Some(share), ..self }
    }

    /// Sets the longest processor time of one request.
    #[must_use]
    pub fn longest(self, longest: Duration) -> Budget {
        Budget { longest: Some(longest.clamp(Duration::from_nanos(1), LONGEST_PERIOD)), ..self }
    }

    /// Sets the treatment of requests beyond the budget.
    #[must_use]
    pub fn beyond(self, beyond: BeyondBudget) -> Budget {
        Budget { beyond, ..self }
    }
}

/// Longest time and period of a budget: an hour.
pub(crate) const LONGEST_PERIOD: Duration = Duration::from_secs(3600);

/// Parses a rule: owner and budget.
///
/// # Errors
/// An error in either part.
pub(crate) fn parse_rule(text: &str) -> Result<(BudgetOf, Budget), BudgetError> {
    // An owner's name may contain blanks, and attributes such as CN=alice. The limits, such as requests=1, are
    // therefore taken from the end of the text.
    let words = || text.split_whitespace();
    let limits = words().rev().take_while(|word| is_limit(word)).count();
    let names = words().count() - limits;
    let joined = |words: Vec<&str>| words.join(" ");
    let of = joined(words().take(names).collect()).parse()?;
    let budget = joined(words().skip(names).collect()).parse()?;
    Ok((of, budget))
}

fn is_limit(word: &str) -> bool {
    let key = word.split_once('=').map(|(key, _)| key);
    key.is_some_and(|key| !key.is_empty() && key.bytes().all(|octet| octet.is_ascii_lowercase()))
}

impl FromStr for BudgetOf {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<BudgetOf, BudgetError> {
        let text = text.trim();
        let (kind, name) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let name = name.trim();
        match (kind, name.is_empty()) {
            ("operation", false) if name.contains("::") => Ok(BudgetOf::Operation(name.into())),
            ("operation", _) => Err(BudgetError(format!(
                "expected an operation with its interface, such as `operation Radar::Track::update`, instead of `{}`",
                Printable(text)
            ))),
            ("object", false) => Ok(BudgetOf::Object(name.into())),
            ("poa", _) => Ok(BudgetOf::Poa(name.into())),
            ("client", false) => Ok(BudgetOf::Client(name.into())),
            ("clients", true) => Ok(BudgetOf::EachClient),
            _ => Err(BudgetError(format!(
                "expected `operation NAME`, `object KEY`, `poa PATH`, `client ADDRESS` or `clients` instead of `{}`",
                Printable(text)
            ))),
        }
    }
}

impl fmt::Display for BudgetOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = match self {
            BudgetOf::Operation(name) => ("operation", name),
            BudgetOf::Object(name) => ("object", name),
            BudgetOf::Poa(name) if name.is_empty() => return f.write_str("poa"),
            BudgetOf::Poa(name) => ("poa", name),
            BudgetOf::Client(name) => ("client", name),
            BudgetOf::EachClient => return f.write_str("clients"),
        };
        write!(f, "{kind} {}", Printable(name))
    }
}

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Budget, BudgetError> {
        let mut budget = Budget::default();
        let (mut rate, mut burst) = (None, None);
        for word in text.split_whitespace() {
            let wrong =
                |what: &str| BudgetError(format!("{what} instead of `{}`", Printable(word)));
            let (key, value) = word.split_once('=').ok_or_else(|| wrong(FORM))?;
            let number = || match value.parse::<u32>() {
                Ok(number) if number > 0 => Ok(number),
                _ => Err(wrong("expected a number, 1 or greater")),
            };
            let moment = |text: &str| match time::parse(text) {
                Ok(0) => Err(wrong("expected a time of more than 0")),
                Ok(nanos) if Duration::from_nanos(nanos) > LONGEST_PERIOD => {
                    Err(wrong("expected a time of at most an hour"))
                }
                Ok(nanos) => Ok(Duration::from_nanos(nanos)),
                Err(error) => Err(wrong(&error.to_string())),
            };
            match key {
                "requests" => rate = Some(number()?),
                "burst" => burst = Some(number()?),
                "time" => {
                    let (each, period) = value
                        .split_once('/')
                        .ok_or_else(|| wrong("expected TIME/PERIOD, as in time=20ms/100ms,"))?;
                    budget = budget.time(moment(each)?, moment(period)?);
                }
                "longest" => budget.longest = Some(moment(value)?),
                "beyond" => {
                    budget.beyond = match value {
                        "refuse" => BeyondBudget::Refuse,
                        "demote" => BeyondBudget::Demote,
                        "throttle" => BeyondBudget::Throttle,
                        "pause" => BeyondBudget::Pause,
                        _ => {
                            return Err(wrong("expected beyond=refuse, demote, throttle or pause"));
                        }
                    }
                }
                _ => return Err(wrong(FORM)),
            }
        }
        match (rate, burst) {
            // The default burst is the number of requests in 10 ms.
            (Some(rate), burst) => Ok(budget.requests(rate, burst.unwrap_or(rate.div_ceil(100)))),
            (None, None) => Ok(budget),
            (None, Some(_)) => Err(BudgetError(
                "burst= sets how many requests may arrive at once, and needs requests=".into(),
            )),
        }
    }
}

const FORM: &str = "expected requests=N, burst=N, time=TIME/PERIOD, longest=TIME or beyond=refuse, demote, throttle or pause";

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |time: Duration| {
            let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            Show(nanos).to_string().replace(' ', "")
        };
        if let Some(RequestRate { per_second, burst }) = self.rate {
            write!(f, "requests={per_second} burst={burst} ")?;
        }
        if let Some(ProcessorShare { time, period }) = self.share {
            write!(f, "time={}/{} ", show(time), show(period))?;
        }
        if let Some(longest) = self.longest {
            write!(f, "longest={} ", show(longest))?;
        }
        write!(f, "beyond={}", self.beyond)
    }
}

impl fmt::Display for BeyondBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BeyondBudget::Refuse => "refuse",
            BeyondBudget::Demote => "demote",
            BeyondBudget::Throttle => "throttle",
            BeyondBudget::Pause => "pause",
        })
    }
}

impl fmt::Debug for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_as_it_is_shown() {
        for text in [
            "operation Radar::Track::update requests=10 burst=2 beyond=refuse",
            "client uid 1000, gid 0, pid 7 time=1.5ms/10ms beyond=throttle",
            "client CN=alice smith,O=Bank requests=1 burst=1 beyond=refuse",
            "clients requests=1000 burst=10 beyond=demote",
            "poa sensors/radar longest=5ms beyond=refuse",
            "poa longest=5ms beyond=refuse",
            "poa sensors time=2ms/100ms beyond=pause",
            "object Display requests=1 burst=1 time=1s/2s longest=3s beyond=demote",
        ] {
            let (of, budget) = parse_rule(text).unwrap();
            assert_eq!(format!("{of} {budget}"), text);
        }
        let (_, budget) = parse_rule("clients requests=1000").unwrap();
        assert_eq!(budget, Budget::default().requests(1_000, 10));
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_told() {
        for (text, part) in [
            ("", "expected `operation NAME`"),
            ("clients everybody", "instead of `clients everybody`"),
            ("operation update requests=1", "with its interface"),
            ("clients requests=0", "a number, 1 or greater"),
            ("clients requests=-1", "a number, 1 or greater"),
            ("clients burst=3", "needs requests="),
            ("clients time=20ms", "TIME/PERIOD"),
            ("clients time=0ms/1ms", "more than 0"),
            ("clients time=2h/1ms", "2h"),
            ("clients longest=3601s", "at most an hour"),
            ("clients beyond=ignore", "beyond=refuse"),
            ("clients speed=1", "requests=N"),
        ] {
            let error = parse_rule(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
