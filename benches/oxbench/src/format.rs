//! Output formats of results.

use std::fmt::Display;

use clap::ValueEnum;
use serde::Serialize;

use crate::Result;

/// Displays values of enumerations by their names on the command line.
macro_rules! display_by_name {
    ($name:ty) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let value = clap::ValueEnum::to_possible_value(self).expect("none is skipped");
                f.pad(value.get_name())
            }
        }
    };
}
pub(crate) use display_by_name;

/// Format of standard output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text
    Table,
    /// JSON
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
