//! `oxorb explain`: the table of minor codes, readable.

use std::fmt::Write as _;

use oxorb::{SystemExceptionKind, minor};

use crate::output::{Done, FAINT, Format, STRONG, because, print, print_json};

/// Arguments of `oxorb explain`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  oxorb explain TRANSIENT\n  oxorb explain OBJECT_NOT_EXIST 0x4f4d0002"
)]
pub(crate) struct Args {
    /// Name of the exception, as TRANSIENT; without a minor code all its codes are listed
    exception: String,
    /// Minor code, decimal or 0x...; a number below 4096 is looked for among those of all vendors
    minor: Option<String>,
    /// For whom the output is
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(serde::Serialize)]
struct Row {
    exception: &'static str,
    minor: u32,
    vendor: Option<&'static str>,
    name: &'static str,
    cause: &'static str,
    remedy: &'static str,
}

/// Prints the rows that match.
pub(crate) fn run(args: Args) -> Done {
    let name = args.exception.to_uppercase();
    let kind = SystemExceptionKind::from_name(&name).ok_or_else(|| {
        let all: Vec<_> = SystemExceptionKind::ALL
            .iter()
            .map(|kind| kind.name())
            .collect();
        because(format!(
            "no system exception {name:?}; there are {}",
            all.join(", ")
        ))
    })?;
    let wanted = args.minor.as_deref().map(code).transpose()?;
    let rows: Vec<Row> = minor::all()
        .filter(|row| row.kind == kind && wanted.is_none_or(|wanted| fits(row.code, wanted)))
        .map(|row| Row {
            exception: kind.name(),
            minor: row.code,
            vendor: minor::vendor(row.code),
            name: row.name,
            cause: row.cause,
            remedy: row.remedy,
        })
        .collect();
    if rows.is_empty() {
        let whose = wanted
            .and_then(minor::vendor)
            .map_or(String::new(), |vendor| format!(" of {vendor}"));
        let code = wanted.map_or(String::new(), |wanted| format!(" 0x{wanted:08x}"));
        return Err(because(format!(
            "{name}: the minor code{code}{whose} is not in the table"
        )));
    }
    match args.format {
        Format::Json => print_json(&rows),
        Format::Text => {
            let mut text = String::new();
            for row in rows {
                let _ = writeln!(
                    text,
                    "{STRONG}{} {} {}{STRONG:#} {FAINT}(minor 0x{:08x}){FAINT:#}\n  {}\n  What to do: {}",
                    row.exception,
                    row.vendor.unwrap_or("?"),
                    row.minor & NUMBER,
                    row.minor,
                    row.cause,
                    row.remedy
                );
            }
            print(text)
        }
    }
}

/// Messages print `OMG 2`, so the number alone must do, too.
fn fits(code: u32, wanted: u32) -> bool {
    code == wanted || code & NUMBER == wanted
}

/// The part of a minor code that is not the vendor.
const NUMBER: u32 = 0xfff;

fn code(text: &str) -> Result<u32, crate::Failed> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| {
        because(format!(
            "{text:?} is no minor code: expected a number, or 0x and hexadecimal digits"
        ))
    })
}
