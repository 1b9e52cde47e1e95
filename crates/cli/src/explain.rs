//! `oxorb explain`: explains exceptions and their minor codes.

use std::fmt::{self, Write as _};

use oxorb::{SystemExceptionKind, minor};

use oxorb_terminal::output::{Done, FAINT, Format, STRONG, because, print, print_json};

/// Arguments of `oxorb explain`.
#[derive(clap::Args)]
#[command(
    after_help = "Write a minor code as in error messages (OMG 2), or as a hexadecimal (0x4f4d0002) or decimal number \
    (1330446338).\n\nExamples:\n  oxorb explain\n  oxorb explain TRANSIENT\n  oxorb explain OBJECT_NOT_EXIST OMG 2\n  \
    oxorb explain 0x4f4d0002"
)]
pub(crate) struct Args {
    /// Exception such as TRANSIENT, minor code, or both; if omitted, all exceptions and codes are listed
    #[arg(value_name = "EXCEPTION|CODE", num_args = 0..=3)]
    wanted: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(serde::Serialize)]
struct Row {
    exception: &'static str,
    minor: u32,
    /// Code in the notation of messages: `OMG 2`.
    code: String,
    vendor: Option<&'static str>,
    name: &'static str,
    cause: &'static str,
    remedy: &'static str,
}

/// Codes to search for.
#[derive(Clone, Copy)]
enum Code {
    Whole(u32),
    /// Number as printed in messages, of one vendor or of any.
    Number(Option<&'static str>, u32),
}

impl Code {
    fn fits(self, code: u32) -> bool {
        match self {
            Code::Whole(whole) => code == whole,
            Code::Number(vendor, number) => {
                code & NUMBER == number && (vendor.is_none() || minor::vendor(code) == vendor)
            }
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Code::Whole(whole) => f.write_str(&spelled(whole)),
            Code::Number(Some(vendor), number) => write!(f, "{vendor} {number}"),
            Code::Number(None, number) => write!(f, "{number}"),
        }
    }
}

/// Prints the rows that match.
pub(crate) fn run(args: Args) -> Done {
    let words: Vec<&str> = args.wanted.iter().map(String::as_str).collect();
    let (kind, code) = wanted(&words)?;
    let mut rows: Vec<Row> = minor::all()
        .filter(|row| kind.is_none_or(|kind| row.kind == kind))
        .filter(|row| code.is_none_or(|code| code.fits(row.code)))
        .map(|row| Row {
            exception: row.kind.name(),
            minor: row.code,
            code: spelled(row.code),
            vendor: minor::vendor(row.code),
            name: row.name,
            cause: row.cause,
            remedy: row.remedy,
        })
        .collect();
    // The order of the standard's exceptions is kept; a minor code begins with its vendor.
    rows.sort_by_key(|row| (place(row.exception), row.minor));
    if words.is_empty() && args.format == Format::Text {
        return print(list(&rows));
    }
    if rows.is_empty() {
        let what = kind.map_or(String::new(), |kind| format!("{kind}: "));
        return Err(because(match code {
            Some(code) => format!("{what}the minor code {code} is not in the table"),
            None => format!("{what}the table contains no minor codes of this exception"),
        }));
    }
    match args.format {
        Format::Json => print_json(&rows),
        Format::Text => {
            let mut text = String::new();
            for row in rows {
                let _ = writeln!(
                    text,
                    "{STRONG}{} {}{STRONG:#} {FAINT}(0x{:08x}){FAINT:#}\n  {}\n  What to do: {}",
                    row.exception, row.code, row.minor, row.cause, row.remedy
                );
            }
            print(text)
        }
    }
}

/// Returns the place of an exception in the list of all.
fn place(exception: &str) -> Option<usize> {
    SystemExceptionKind::ALL.iter().position(|kind| kind.name() == exception)
}

/// Returns every exception, with a line for each of its codes.
fn list(rows: &[Row]) -> String {
    let mut text = String::new();
    for kind in SystemExceptionKind::ALL {
        let _ = writeln!(text, "{STRONG}{kind}{STRONG:#}");
        for row in rows.iter().filter(|row| row.exception == kind.name()) {
            let _ = writeln!(
                text,
                "  {:<12} {FAINT}(0x{:08x}){FAINT:#}  {}",
                row.code, row.minor, row.name
            );
        }
    }
    text
}

/// Mask of the part of a minor code below the vendor id.
const NUMBER: u32 = 0xfff;

/// Returns a minor code in the notation of messages.
fn spelled(code: u32) -> String {
    match minor::vendor(code) {
        Some(vendor) => format!("{vendor} {}", code & NUMBER),
        None => format!("0x{code:08x}"),
    }
}

/// Parses the exception, the code, or both.
fn wanted(
    words: &[&str],
) -> Result<(Option<SystemExceptionKind>, Option<Code>), oxorb_terminal::output::Failed> {
    match words {
        [] => Ok((None, None)),
        [first, rest @ ..] => match SystemExceptionKind::from_name(&first.to_uppercase()) {
            Some(kind) if rest.is_empty() => Ok((Some(kind), None)),
            Some(kind) => code(rest).map(|code| (Some(kind), Some(code))),
            None if rest.len() < 2 && (vendor(first).is_some() || number(first).is_some()) => {
                code(words).map(|code| (None, Some(code)))
            }
            None if first.starts_with(|c: char| c.is_ascii_digit()) => Err(not_a_code(words)),
            None => Err(unknown(first)),
        },
    }
}

fn code(words: &[&str]) -> Result<Code, oxorb_terminal::output::Failed> {
    let read = match words {
        [one] => number(one).map(|number| match number {
            small if small <= NUMBER => Code::Number(None, small),
            whole => Code::Whole(whole),
        }),
        [whose, one] => match (vendor(whose), number(one)) {
            (Some(vendor), Some(number)) if number <= NUMBER => {
                Some(Code::Number(Some(vendor), number))
            }
            _ => None,
        },
        _ => None,
    };
    read.ok_or_else(|| not_a_code(words))
}

fn not_a_code(words: &[&str]) -> oxorb_terminal::output::Failed {
    because(format!(
        "{:?} is not a minor code: expected a form such as OMG 2, 0x4f4d0002 or 1330446338",
        words.join(" ")
    ))
}

fn vendor(word: &str) -> Option<&'static str> {
    let mut vendors = minor::all().filter_map(|row| minor::vendor(row.code));
    vendors.find(|vendor| vendor.eq_ignore_ascii_case(word))
}

/// Parses a number; one of eight hexadecimal digits needs no `0x`.
fn number(word: &str) -> Option<u32> {
    let hex = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    match hex {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok().or_else(|| {
            let eight = word.len() == 8;
            eight.then(|| u32::from_str_radix(word, 16).ok()).flatten()
        }),
    }
}

/// Maximum number of suggestions.
const SUGGESTED: usize = 3;

fn unknown(word: &str) -> oxorb_terminal::output::Failed {
    let name = word.to_uppercase();
    let names = || SystemExceptionKind::ALL.iter().map(|kind| kind.name());
    let mut meant: Vec<&str> = names().filter(|known| known.starts_with(&name)).collect();
    meant.extend(oxorb_idl::closest(&name, names()));
    meant.extend(names().filter(|known| known.contains(&name)));
    let mut seen = std::collections::HashSet::new();
    meant.retain(|known| seen.insert(*known));
    meant.truncate(SUGGESTED);
    because(match meant.as_slice() {
        [] => format!("there is no system exception {name:?}; `oxorb explain` lists them"),
        meant => {
            format!("there is no system exception {name:?}; did you mean {}?", meant.join(" or "))
        }
    })
}
