//! Options for the output of an experiment's result.

use std::fmt::Display;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::Result;
use crate::format::Format;
use crate::plot::Drawing;

/// Format of the result, and a drawing of it.
#[derive(Args)]
pub(crate) struct Output {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Draw the result into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Output of an experiment with bounds.
#[derive(Args)]
pub(crate) struct CheckedOutput {
    /// Report for each of the project's bounds whether it held in this run
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    output: Output,
}

impl Output {
    /// Prints and draws a report.
    pub(crate) fn show<R: Display + Serialize>(
        &self,
        report: &R,
        drawing: impl FnOnce(&R) -> Drawing,
    ) -> Result {
        self.format.print(report)?;
        if let Some(file) = &self.plot {
            drawing(report).save(file)?;
            eprintln!("drawn into {}", file.display());
        }
        Ok(())
    }
}

impl CheckedOutput {
    /// Reports whether verdicts are wanted.
    pub(crate) fn is_checked(&self) -> bool {
        self.check
    }

    /// Prints and draws a report, and prints the verdicts on its bounds.
    pub(crate) fn show<R: Display + Serialize, V: Display>(
        &self,
        report: &R,
        verdicts: impl FnOnce(&R) -> V,
        drawing: impl FnOnce(&R) -> Drawing,
    ) -> Result {
        self.output.show(report, drawing)?;
        if self.check {
            let verdicts = verdicts(report);
            match self.output.format {
                Format::Table => print!("\n{verdicts}"),
                Format::Json => eprint!("{verdicts}"),
            }
        }
        Ok(())
    }
}
