//! Calls of the cubit.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::wire::{self, Lengths};

/// Operation of the cubit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    Void,
    Octet,
    Short,
    Long,
    Struct,
    Longs,
    Octets,
    /// Transfer of octets in one direction: the reply is empty.
    Sent,
}

const ALL: [Operation; 8] = [
    Operation::Void,
    Operation::Octet,
    Operation::Short,
    Operation::Long,
    Operation::Struct,
    Operation::Longs,
    Operation::Octets,
    Operation::Sent,
];

/// Operation and the size in octets of its argument, which only sequences use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Cube {
    pub(crate) operation: Operation,
    pub(crate) size: u32,
}

/// Calls of the paper, in the order of the report.
pub(crate) const CUBES: [Cube; 9] = [
    cube(Operation::Void, 0),
    cube(Operation::Octet, 1),
    cube(Operation::Short, 2),
    cube(Operation::Long, 4),
    cube(Operation::Struct, 10),
    cube(Operation::Longs, 4),
    cube(Operation::Longs, 4096),
    cube(Operation::Octets, 4),
    cube(Operation::Octets, 4096),
];

/// Sequences of octets from 4 B to 16 MiB, sent there and back, and one way.
pub(crate) const SIZES: [Cube; 24] = [
    cube(Operation::Octets, 4),
    cube(Operation::Octets, 16),
    cube(Operation::Octets, 64),
    cube(Operation::Octets, 256),
    cube(Operation::Octets, 1 << 10),
    cube(Operation::Octets, 4 << 10),
    cube(Operation::Octets, 16 << 10),
    cube(Operation::Octets, 64 << 10),
    cube(Operation::Octets, 256 << 10),
    cube(Operation::Octets, 1 << 20),
    cube(Operation::Octets, 4 << 20),
    cube(Operation::Octets, 16 << 20),
    cube(Operation::Sent, 4),
    cube(Operation::Sent, 16),
    cube(Operation::Sent, 64),
    cube(Operation::Sent, 256),
    cube(Operation::Sent, 1 << 10),
    cube(Operation::Sent, 4 << 10),
    cube(Operation::Sent, 16 << 10),
    cube(Operation::Sent, 64 << 10),
    cube(Operation::Sent, 256 << 10),
    cube(Operation::Sent, 1 << 20),
    cube(Operation::Sent, 4 << 20),
    cube(Operation::Sent, 16 << 20),
];

const fn cube(operation: Operation, size: u32) -> Cube {
    Cube { operation, size }
}

impl Cube {
    /// Returns the number of calls of this size out of `calls`: a large one takes as long as many small ones.
    pub(crate) fn share_of(self, calls: u32) -> u32 {
        let small = 4096;
        let times = (self.size / small).max(1);
        (calls / times).max(calls.min(20))
    }

    /// Returns the lengths of the GIOP messages of one call.
    pub(crate) fn lengths(self) -> Lengths {
        let size = self.size as usize;
        let (name, there, back) = match self.operation {
            Operation::Void => ("cube_void", 0, 0),
            Operation::Octet => ("cube_octet", 1, 1),
            Operation::Short => ("cube_short", 2, 2),
            Operation::Long => ("cube_long", 4, 4),
            Operation::Struct => ("cube_struct", 10, 10),
            Operation::Longs => ("cube_long_sequence", 4 + size, 4 + size),
            Operation::Octets => ("cube_octet_sequence", 4 + size, 4 + size),
            Operation::Sent => ("take_octets", 4 + size, 0),
        };
        wire::call(name, there, back)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Void => "void",
            Operation::Octet => "octet",
            Operation::Short => "short",
            Operation::Long => "long",
            Operation::Struct => "struct",
            Operation::Longs => "longs",
            Operation::Octets => "octets",
            Operation::Sent => "sent",
        })
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = |operation: &Operation| operation.to_string() == text;
        ALL.into_iter().find(named).ok_or_else(|| format!("no operation is called {text:?}"))
    }
}

impl fmt::Display for Cube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.operation {
            Operation::Longs | Operation::Octets | Operation::Sent => {
                format!("{}-{}", self.operation, size(self.size))
            }
            operation => operation.to_string(),
        };
        f.pad(&text)
    }
}

fn size(octets: u32) -> String {
    match octets {
        0x10_0000.. => format!("{}m", octets >> 20),
        0x4000.. => format!("{}k", octets >> 10),
        _ => octets.to_string(),
    }
}

impl FromStr for Cube {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut known = CUBES.into_iter().chain(SIZES);
        known.find(|cube| cube.to_string() == text).ok_or_else(|| {
            let names: Vec<_> = CUBES.iter().map(ToString::to_string).collect();
            format!("the cubes are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written() {
        for cube in CUBES.into_iter().chain(SIZES) {
            assert_eq!(cube.to_string().parse(), Ok(cube));
            assert_eq!(cube.operation.to_string().parse(), Ok(cube.operation));
        }
        assert!("octets-5".parse::<Cube>().is_err());
    }

    #[test]
    fn large_sequences_are_called_less_often() {
        assert_eq!(CUBES[8].share_of(100_000), 100_000);
        assert_eq!(SIZES[9].share_of(10_000), 39);
        assert_eq!(SIZES[10].share_of(10_000), 20);
        assert_eq!(SIZES[10].share_of(5), 5);
    }
}
