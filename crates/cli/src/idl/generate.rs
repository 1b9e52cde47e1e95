//! `oxorb idl gen`: generates Rust from IDL.

use std::path::PathBuf;

use oxorb_idlgen::{Builder, Error, Marshalling, OperationLookup};

use super::source::{Source, tell};
use oxorb_terminal::output::{Done, Failed, because};

/// Arguments of `oxorb idl gen`.
#[derive(clap::Args)]
#[command(
    after_help = "In a build script, oxorb_idlgen::compile([\"idl/bank.idl\"]) does the same.\n\nExamples:\n  \
        oxorb idl gen --out src idl/bank.idl\n  \
        oxorb idl gen --out src idl/bank.idl --check    (in CI: is what was committed up to date?)\n  \
        oxorb idl gen --out src idl/bank.idl --interpret bank::Admin    (smaller code for rare calls)\n  \
        oxorb idl gen --out src idl/avionics.idl --executors    (for components: executors as well)"
)]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// Folder for the Rust files, one for each IDL file
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Marshalling of values: by separate code for each type, which is fast, or by tables and one interpreter for all
    /// types, which is small. Both write the same octets
    #[arg(long, value_enum, default_value_t)]
    marshalling: Kind,
    /// Use the interpreter for the module, interface or type NAME (such as bank::Account), its contents, and the types
    /// that only these use; `@interpreted` in the IDL does the same
    #[arg(long, value_name = "NAME")]
    interpret: Vec<String>,
    /// Let the operation NAME of a valuetype (such as bank::Purse::spend) change the value; `@mutating` in the IDL does
    /// the same
    #[arg(long, value_name = "NAME")]
    mutating: Vec<String>,
    /// Generate a trait for servants of NAME (an interface, or all interfaces of a module) that reply later, from any
    /// thread; `@amh` in the IDL does the same
    #[arg(long, value_name = "NAME")]
    amh: Vec<String>,
    /// Generate an additional trait for servants of NAME (an interface, or all interfaces of a module) that belong to
    /// one thread, and need be neither `Send` nor `Sync`; `@confined` in the IDL does the same
    #[arg(long, value_name = "NAME")]
    confined: Vec<String>,
    /// Generate reply handlers and `sendc_` methods for NAME (an interface, or all interfaces of a module); `@ami` in
    /// the IDL does the same
    #[arg(long, value_name = "NAME")]
    ami: Vec<String>,
    /// Let servants of the oneway operations NAME (an operation, or all of an interface or module) return a result, so
    /// that they can raise system exceptions; `@fallible` in the IDL does the same
    #[arg(long, value_name = "NAME")]
    fallible_oneways: Vec<String>,
    /// Generate traits for the executors of components and homes, and the code that joins them to a container; the
    /// crate needs the feature `components` of `oxorb`
    #[arg(long)]
    executors: bool,
    /// Search algorithm by which skeletons find operations: perfect, binary or linear
    #[arg(long, value_name = "HOW", default_value_t)]
    operation_lookup: OperationLookup,
    /// Generate stubs that the compiler does not inline into their callers in other crates, so that programs with many
    /// calls are smaller
    #[arg(long)]
    no_inline_stubs: bool,
    /// Write nothing; fail if a file differs from the generated one
    #[arg(long)]
    check: bool,
}

/// Kinds of generated code.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Separate code for each type: fast
    #[default]
    Compiled,
    /// Tables, and one interpreter for all types: small
    Interpreted,
}

pub(super) fn run(args: Args) -> Done {
    let check = args.check;
    let generated = match builder(args).generate() {
        Ok(generated) => generated,
        Err(Error::Idl(failed)) => {
            tell(&failed.report);
            return Err(Failed::Told);
        }
        Err(error) => return Err(because(error)),
    };
    for report in &generated.reports {
        tell(report);
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

fn builder(args: Args) -> Builder {
    let reading = &args.source.reading;
    let mut builder = Builder::new()
        .files(args.source.files())
        .lenient(reading.lenient())
        .no_builtins(reading.no_builtins)
        .out_dir(args.out)
        .operation_lookup(args.operation_lookup)
        .inline_stubs(!args.no_inline_stubs)
        .executors(args.executors)
        .marshalling(match args.marshalling {
            Kind::Compiled => Marshalling::Compiled,
            Kind::Interpreted => Marshalling::Interpreted,
        });
    for folder in &reading.include {
        builder = builder.include(folder);
    }
    for definition in &reading.define {
        builder = builder.define(definition);
    }
    for name in args.interpret {
        builder = builder.interpret(name);
    }
    for operation in args.mutating {
        builder = builder.mutating(operation);
    }
    for name in args.confined {
        builder = builder.confined(name);
    }
    for name in args.amh {
        builder = builder.amh(name);
    }
    for name in args.ami {
        builder = builder.ami(name);
    }
    for name in args.fallible_oneways {
        builder = builder.fallible_oneways(name);
    }
    builder
}
