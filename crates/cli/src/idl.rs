//! `oxorb idl`: the IDL compiler.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use oxorb_idlgen::{Builder, Error};

use crate::output::{Done, Failed, Format, because, print};

/// Verbs of `oxorb idl`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Say what is wrong with IDL files
    #[command(
        after_help = "Every problem is told in one run, with its place and how to mend it; warnings do not fail \
        the check.\n\nExamples:\n  oxorb idl check idl/*.idl\n  \
        oxorb idl check -I /usr/share/idl/omniORB --format json bank.idl"
    )]
    Check {
        #[command(flatten)]
        source: Source,
        /// For whom the diagnostics are
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Turn IDL files into Rust
    #[command(
        after_help = "In a build script, oxorb_idlgen::compile([\"idl/bank.idl\"]) does the same.\n\n\
        Examples:\n  oxorb idl gen --out src idl/bank.idl\n  \
        oxorb idl gen --out src idl/bank.idl --check    (in CI: is what was committed up to date?)"
    )]
    Gen {
        #[command(flatten)]
        source: Source,
        /// Folder for the Rust files, one for each IDL file
        #[arg(short, long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
        /// Write nothing; fail if a file is not what would be written
        #[arg(long)]
        check: bool,
    },
}

/// Which IDL, and how to read it.
#[derive(clap::Args)]
pub(crate) struct Source {
    /// IDL files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Look for included files in DIR, too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Define a macro
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]")]
    define: Vec<String>,
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Check { source, format } => check(&source, format),
        Command::Gen { source, out, check } => generate(&source, out, check),
    }
}

fn check(source: &Source, format: Format) -> Done {
    let options = oxorb_idl::Options {
        include_dirs: source.include.clone(),
        defines: source.define.clone(),
        ..oxorb_idl::Options::default()
    };
    let (report, good) = match oxorb_idl::compile(&source.files, &options) {
        Ok(compiled) => (compiled.report, true),
        Err(failed) => (failed.report, false),
    };
    match format {
        Format::Json => print(report.json())?,
        Format::Text => anstream::eprint!("{}", report.text(true)),
    }
    if good { Ok(()) } else { Err(Failed::Told) }
}

fn generate(source: &Source, out: PathBuf, check: bool) -> Done {
    let mut builder = Builder::new().files(&source.files).out_dir(out);
    for folder in &source.include {
        builder = builder.include(folder);
    }
    for definition in &source.define {
        builder = builder.define(definition);
    }
    let generated = match builder.generate() {
        Ok(generated) => generated,
        Err(Error::Idl(failed)) => {
            anstream::eprint!("{}", failed.report.text(true));
            return Err(Failed::Told);
        }
        Err(error) => return Err(because(error)),
    };
    for report in &generated.reports {
        anstream::eprint!("{}", report.text(std::io::stderr().is_terminal()));
    }
    if check {
        let stale = generated.files.check();
        return match stale.as_slice() {
            [] => Ok(()),
            stale => {
                let files: Vec<_> = stale.iter().map(ToString::to_string).collect();
                Err(because(format!(
                    "{}; run `oxorb idl gen` without --check and commit the result",
                    files.join("; ")
                )))
            }
        };
    }
    Ok(generated.files.write()?)
}
