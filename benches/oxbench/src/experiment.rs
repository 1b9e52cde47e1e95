//! Experiments: one operation with one size of argument.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// Operation of `idl/probe.idl`, by its name between the two sides of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    /// Eight octets in, eight octets out.
    Ping,
    /// `sequence<octet>`, returned unchanged.
    Octets,
    /// `sequence<Sample>`, returned unchanged.
    Samples,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Ping => "ping",
            Operation::Octets => "octets",
            Operation::Samples => "samples",
        })
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ping" => Ok(Operation::Ping),
            "octets" => Ok(Operation::Octets),
            "samples" => Ok(Operation::Samples),
            _ => Err(format!("no operation is called {text:?}")),
        }
    }
}

/// Row of the report.
#[derive(Debug, Serialize)]
pub(crate) struct Experiment {
    /// Name in the report and for `--only`.
    pub(crate) name: &'static str,
    /// Operation to call.
    pub(crate) operation: Operation,
    /// Size in octets of a ping or of an octet sequence; number of elements of a sequence of samples.
    pub(crate) size: u32,
    /// Number of calls of one round: enough for a p99.9, few enough that drift of the machine appears between rounds
    /// and not inside one.
    pub(crate) calls: u32,
}

/// All experiments, in the order of the report.
pub(crate) const EXPERIMENTS: [Experiment; 4] = [
    Experiment { name: "ping", operation: Operation::Ping, size: 8, calls: 20_000 },
    Experiment { name: "octets-64k", operation: Operation::Octets, size: 64 << 10, calls: 4_000 },
    Experiment { name: "octets-1m", operation: Operation::Octets, size: 1 << 20, calls: 400 },
    Experiment { name: "samples-1024", operation: Operation::Samples, size: 1024, calls: 5_000 },
];
