//! Bounds of strings and sequences, dimensions of arrays.

use crate::diagnostic::{Code, Problem};

#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) of: Bounded,
    pub(crate) value: i128,
}

/// Construct that has a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bounded {
    Array,
    Map,
    Sequence,
    String,
}

impl Problem for Bound {
    fn code(&self) -> Code {
        Code(match self.of {
            Bounded::Sequence => "E0510",
            Bounded::String => "E0515",
            Bounded::Array => "E0516",
            Bounded::Map => "E0517",
        })
    }

    fn message(&self) -> String {
        let what = match self.of {
            Bounded::Array => "the dimension of an array",
            Bounded::Map => "the bound of a map",
            Bounded::Sequence => "the bound of a sequence",
            Bounded::String => "the bound of a string",
        };
        format!("{what} cannot be {}", self.value)
    }

    fn label(&self) -> String {
        "must be from 1 to 4294967295".into()
    }

    fn help(&self) -> Option<String> {
        (self.value == 0 && self.of != Bounded::Array)
            .then(|| "omit it for an unbounded type".into())
    }
}
