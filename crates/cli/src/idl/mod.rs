//! `oxorb idl`: the IDL compiler.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use oxorb_idl::diff::Effect;
use oxorb_idl::model::Model;
use oxorb_idl::{Lenient, Options};
use oxorb_idlgen::{Builder, Error, Marshalling, OperationLookup};
use serde_json::json;

use crate::output::{BAD, Done, FAINT, Failed, Format, STRONG, because, print, print_json};

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
        oxorb idl gen --out src idl/bank.idl --check    (in CI: is what was committed up to date?)\n  \
        oxorb idl gen --out src idl/bank.idl --interpret bank::Admin    (smaller code for what is called rarely)"
    )]
    Gen {
        #[command(flatten)]
        source: Source,
        /// Folder for the Rust files, one for each IDL file
        #[arg(short, long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
        /// How values are marshalled: by code of its own for each type, which is fast, or by tables and one
        /// interpreter for all types, which is small. The octets are the same
        #[arg(long, value_enum, default_value_t)]
        marshalling: Kind,
        /// Interpret the module, interface or type NAME (bank::Account) with all in it, and the types that only it uses;
        /// `@interpreted` in the IDL does the same
        #[arg(long, value_name = "NAME")]
        interpret: Vec<String>,
        /// The operation NAME of a valuetype (bank::Purse::spend) may change the value; `@mutating` in the IDL does the same
        #[arg(long, value_name = "NAME")]
        mutating: Vec<String>,
        /// Also make a trait for servants of NAME (an interface, or all in a module) that answer later, from any thread;
        /// `@amh` in the IDL does the same
        #[arg(long, value_name = "NAME")]
        amh: Vec<String>,
        /// Also make reply handlers and `sendc_` methods for NAME (an interface, or all in a module); `@ami` in the IDL
        /// does the same
        #[arg(long, value_name = "NAME")]
        ami: Vec<String>,
        /// How skeletons find operations by name: perfect, binary or linear
        #[arg(long, value_name = "HOW", default_value_t)]
        operation_lookup: OperationLookup,
        /// Write nothing; fail if a file is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Print what IDL files mean: names resolved, constants evaluated, templates instantiated
    #[command(
        after_help = "Examples:\n  oxorb idl show bank.idl\n  oxorb idl show --format json bank.idl | jq .definitions\n  \
        oxorb idl show --equivalent component.idl    (IDL3 as the IDL2 that it stands for)\n  \
        oxorb idl show --implied ami bank.idl        (with reply handlers and sendc_ operations)\n  \
        oxorb idl show --sizes bank.idl               (how large requests and replies get)"
    )]
    Show {
        #[command(flatten)]
        source: Source,
        /// Print components, homes and event types as the interfaces and valuetypes that they stand for
        #[arg(long)]
        equivalent: bool,
        /// Print what interfaces imply as well: for asynchronous calls with callbacks, reply handlers and `sendc_` operations
        #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["equivalent", "sizes"])]
        implied: Option<Implied>,
        /// Print how many octets the arguments, results and exceptions of each operation take
        #[arg(long, conflicts_with = "equivalent")]
        sizes: bool,
        /// For whom the model is
        #[arg(long, value_enum, default_value_t, conflicts_with_all = ["equivalent", "sizes", "implied"])]
        format: Format,
    },
    /// Give IDL files one style: only white space changes
    #[command(
        after_help = "Comments, directives and macros stay; files that do not compile can be formatted, too.\n\n\
        Examples:\n  oxorb idl fmt idl/*.idl\n  oxorb idl fmt --check idl/*.idl    (in CI)"
    )]
    Fmt {
        /// IDL files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Write nothing; fail if a file is not in this style
        #[arg(long)]
        check: bool,
        /// Spaces per level
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
        indent: u8,
        /// Longest line in characters, where a break is possible
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(20..=1000))]
        width: u16,
    },
    /// Say what changed between two IDL files, and whom that breaks
    #[command(
        after_help = "Each change breaks the wire (peers built with the old IDL may fail), only the mapping \
        (old source code may not compile), or nothing. Exit status 1 if a change breaks the wire.\n\n\
        Example:\n  git show main:idl/bank.idl > /tmp/old.idl && oxorb idl diff /tmp/old.idl idl/bank.idl"
    )]
    Diff {
        /// The IDL that peers know
        old: PathBuf,
        /// The IDL as it is now
        new: PathBuf,
        /// Look for included files in DIR, too
        #[arg(short = 'I', long = "include", value_name = "DIR")]
        include: Vec<PathBuf>,
        /// For whom the changes are
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

/// Kinds of generated code.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Fast
    #[default]
    Compiled,
    /// Small
    Interpreted,
}

/// What interfaces imply.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Implied {
    /// Asynchronous method invocation
    Ami,
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
    /// Let a departure from the specification pass as a warning; may be repeated
    #[arg(long, value_name = "WHAT", value_parser = oxorb_idl::Lenient::NAMES)]
    lenient: Vec<String>,
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Check { source, format } => check(&source, format),
        Command::Gen {
            source,
            out,
            marshalling,
            interpret,
            mutating,
            amh,
            ami,
            operation_lookup,
            check,
        } => {
            let mut builder = Builder::new()
                .out_dir(out)
                .operation_lookup(operation_lookup)
                .marshalling(match marshalling {
                    Kind::Compiled => Marshalling::Compiled,
                    Kind::Interpreted => Marshalling::Interpreted,
                });
            for name in interpret {
                builder = builder.interpret(name);
            }
            for operation in mutating {
                builder = builder.mutating(operation);
            }
            for name in amh {
                builder = builder.amh(name);
            }
            for name in ami {
                builder = builder.ami(name);
            }
            generate(&source, builder, check)
        }
        Command::Show {
            source,
            equivalent: true,
            ..
        } => print(oxorb_idl::equivalent::print(&model_of(&source)?)),
        Command::Show {
            source,
            implied: Some(Implied::Ami),
            ..
        } => {
            let model = model_of(&source)?;
            let of = oxorb_idl::implied::all(&model);
            print(oxorb_idl::implied::print(&model, of))
        }
        Command::Show {
            source,
            sizes: true,
            ..
        } => print(oxorb_idlgen::sizes(&model_of(&source)?)),
        Command::Show { source, format, .. } => show(&source, format),
        Command::Fmt {
            files,
            check,
            indent,
            width,
        } => {
            let style = oxorb_idl::format::Options {
                indent: usize::from(indent),
                width: usize::from(width),
            };
            reformat(&files, check, &style)
        }
        Command::Diff {
            old,
            new,
            include,
            format,
        } => diff(&old, &new, &include, format),
    }
}

impl Source {
    fn options(&self) -> Options {
        Options {
            include_dirs: self.include.clone(),
            defines: self.define.clone(),
            lenient: self.lenient(),
            ..Options::default()
        }
    }

    fn lenient(&self) -> Lenient {
        let mut lenient = Lenient::default();
        for name in &self.lenient {
            lenient.allow(name);
        }
        lenient
    }
}

fn check(source: &Source, format: Format) -> Done {
    let (report, good) = match oxorb_idl::compile(&source.files, &source.options()) {
        Ok(compiled) => (compiled.report, true),
        Err(failed) => (failed.report, false),
    };
    match format {
        Format::Json => print(report.json())?,
        Format::Text => anstream::eprint!("{}", report.text(true)),
    }
    if good { Ok(()) } else { Err(Failed::Told) }
}

fn generate(source: &Source, builder: Builder, check: bool) -> Done {
    let mut builder = builder.files(&source.files);
    for folder in &source.include {
        builder = builder.include(folder);
    }
    for definition in &source.define {
        builder = builder.define(definition);
    }
    let builder = builder.lenient(source.lenient());
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

fn model_of(source: &Source) -> Result<Model, Failed> {
    model(&source.files, &source.options())
}

fn show(source: &Source, format: Format) -> Done {
    let model = model_of(source)?;
    match format {
        Format::Json => print_json(&oxorb_idl::show::json(&model)),
        Format::Text => print(oxorb_idl::print::print(&model)),
    }
}

/// Goes through all files, whatever is wrong with one.
fn reformat(files: &[PathBuf], check: bool, style: &oxorb_idl::format::Options) -> Done {
    let mut wrong = Vec::new();
    for file in files {
        let name = file.display();
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        match oxorb_idl::format::format(&text, style) {
            Ok(formatted) if formatted == text => {}
            Ok(_) if check => wrong.push(format!("{name} is not in this style")),
            Ok(formatted) => {
                if let Err(error) = std::fs::write(file, formatted) {
                    wrong.push(format!("{name}: {error}"));
                }
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(because(wrong.join("\n       "))),
    }
}

fn diff(old: &Path, new: &Path, include: &[PathBuf], format: Format) -> Done {
    let options = Options {
        include_dirs: include.to_vec(),
        ..Options::default()
    };
    let (old, new) = (model(&[old], &options)?, model(&[new], &options)?);
    let changes = oxorb_idl::diff::diff(&old, &new);
    match format {
        Format::Json => {
            let rows: Vec<_> = changes
                .iter()
                .map(|change| {
                    json!({
                        "name": change.name,
                        "effect": change.effect.to_string(),
                        "what": change.what,
                        "why": change.why,
                    })
                })
                .collect();
            print_json(&rows)?;
        }
        Format::Text => {
            let mut text = String::new();
            for change in &changes {
                let style = match change.effect {
                    Effect::Wire => BAD,
                    Effect::Mapping => STRONG,
                    Effect::Nothing => FAINT,
                };
                let _ = writeln!(
                    text,
                    "{style}breaks {:<8}{style:#} {}: {}\n                {FAINT}{}{FAINT:#}",
                    change.effect, change.name, change.what, change.why
                );
            }
            print(text)?;
        }
    }
    match changes.iter().any(|change| change.effect == Effect::Wire) {
        true => Err(Failed::Told),
        false => Ok(()),
    }
}

/// Compiles; what is wrong is printed here.
fn model<P: AsRef<Path>>(files: &[P], options: &Options) -> Result<Model, Failed> {
    match oxorb_idl::compile(files, options) {
        Ok(compiled) => Ok(compiled.model),
        Err(failed) => {
            anstream::eprint!("{}", failed.report.text(true));
            Err(Failed::Told)
        }
    }
}
