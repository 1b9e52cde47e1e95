//! For whom the result of a run is printed.

use std::fmt::Display;

use clap::ValueEnum;
use serde::Serialize;

use crate::Result;

/// What goes to standard output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For reading
    Table,
    /// For programs
    Json,
}

impl Format {
    /// Prints a whole report.
    pub(crate) fn print(self, report: &(impl Display + Serialize)) -> Result {
        match self {
            Format::Table => print!("{report}"),
            Format::Json => println!("{}", serde_json::to_string_pretty(report)?),
        }
        Ok(())
    }
}
