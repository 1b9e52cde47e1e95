//! `oxorb idl fmt`: formats IDL.

use std::fmt;
use std::path::{Path, PathBuf};

use oxorb_idl::format::{FormatOptions, format};

use super::source::readable;
use oxorb_terminal::output::{Done, because, print};

/// Arguments of `oxorb idl fmt`.
#[derive(clap::Args)]
#[command(
    after_help = "Comments, directives and macros are preserved. Files that do not compile can also be formatted. \
        Files are read as UTF-8, or otherwise as ISO 8859-1, and are written in the same encoding.\n\n\
        Examples:\n  oxorb idl fmt idl/*.idl\n  oxorb idl fmt --check idl/*.idl    (in CI)\n  \
        oxorb idl fmt - < bank.idl           (to standard output, for editors)"
)]
pub(crate) struct Args {
    /// IDL files; - is standard input, formatted to standard output
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write nothing; fail if a file is not formatted
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    style: Style,
}

/// Formatting style.
#[derive(clap::Args)]
pub(super) struct Style {
    /// Spaces per level
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    indent: u8,
    /// Longest line in characters, where it can be broken
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(20..=1000))]
    width: u16,
}

impl Style {
    pub(super) fn options(&self) -> FormatOptions {
        FormatOptions { indent: usize::from(self.indent), width: usize::from(self.width) }
    }
}

/// Formats all files, even if one of them fails.
pub(super) fn run(args: &Args) -> Done {
    let style = args.style.options();
    let mut wrong = Vec::new();
    for file in &args.files {
        if let Err(why) = reformat(file, args.check, &style) {
            wrong.push(match file.as_os_str() == "-" {
                true => format!("standard input: {why}"),
                false => format!("{}: {why}", file.display()),
            });
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(because(wrong.join("\n       "))),
    }
}

fn reformat(file: &Path, check: bool, style: &FormatOptions) -> Result<(), String> {
    let octets = std::fs::File::open(readable(file))
        .and_then(oxorb_idl::source::read)
        .map_err(|error| error.to_string())?;
    let coding = Coding::of(&octets);
    let text = coding.decode(&octets);
    let formatted = format(&text, style).map_err(|error| error.to_string())?;
    if check {
        return match formatted == text {
            true => Ok(()),
            false => Err(format!(
                "not in this style\n{}",
                Difference { text: &text, formatted: &formatted }
            )),
        };
    }
    if file.as_os_str() == "-" {
        let _ = print(formatted);
    } else if formatted != text {
        std::fs::write(file, coding.encode(&formatted)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Lines that formatting would change, in the style of `diff`: at most [`Difference::LINES`].
struct Difference<'t> {
    text: &'t str,
    formatted: &'t str,
}

impl Difference<'_> {
    /// Maximum number of lines to show.
    const LINES: usize = 40;
    /// Number of lines ahead in which to search for a common line.
    const AHEAD: usize = 40;
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (self.text.lines().collect(), self.formatted.lines().collect());
        let (mut a, mut b, mut shown) = (0, 0, 0);
        while a < old.len() || b < new.len() {
            if old.get(a) == new.get(b) {
                (a, b) = (a + 1, b + 1);
                continue;
            }
            if shown >= Self::LINES {
                return f.write_str("       ...");
            }
            let (gone, came) = resume(&old[a..], &new[b..], Self::AHEAD);
            if a > 0 || shown > 0 {
                writeln!(f, "       line {}:", a + 1)?;
            }
            for line in &old[a..a + gone] {
                writeln!(f, "       -{line}")?;
            }
            for line in &new[b..b + came] {
                writeln!(f, "       +{line}")?;
            }
            (a, b, shown) = (a + gone, b + came, shown + gone + came);
        }
        Ok(())
    }
}

/// Returns the smallest numbers of lines to skip, after which both texts continue with the same line.
fn resume(old: &[&str], new: &[&str], ahead: usize) -> (usize, usize) {
    let pairs = (1..=ahead).flat_map(|sum| (0..=sum).map(move |gone| (gone, sum - gone)));
    let mut fitting = pairs.filter(|(gone, came)| *gone <= old.len() && *came <= new.len());
    let found = fitting.find(|(gone, came)| match (old.get(*gone), new.get(*came)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => true,
        _ => false,
    });
    found.unwrap_or((old.len().min(ahead), new.len().min(ahead)))
}

/// Encoding of the text of a file, as the compiler detects it.
#[derive(Clone, Copy)]
enum Coding {
    Utf8,
    /// ISO 8859-1, the usual encoding of IDL before UTF-8.
    Latin1,
}

impl Coding {
    fn of(octets: &[u8]) -> Self {
        match std::str::from_utf8(octets) {
            Ok(_) => Coding::Utf8,
            Err(_) => Coding::Latin1,
        }
    }

    fn decode(self, octets: &[u8]) -> String {
        match self {
            Coding::Utf8 => String::from_utf8_lossy(octets).into_owned(),
            Coding::Latin1 => octets.iter().copied().map(char::from).collect(),
        }
    }

    fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Coding::Utf8 => text.as_bytes().to_vec(),
            // Formatting changes only white space, so each character still fits in one octet.
            Coding::Latin1 => text.chars().map(|c| c as u8).collect(),
        }
    }
}
