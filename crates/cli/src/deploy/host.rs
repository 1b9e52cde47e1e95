//! `oxorb deploy host`: runs a shared library of components as a process.

use std::path::PathBuf;

use oxorb::deployment::artifact::{Artifact, Demands, Fact};

use oxorb_terminal::output::{Done, Failed, because, print};

/// Arguments of `oxorb deploy host`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Shared library of a crate that calls oxorb::deployment::export!
    #[arg(value_name = "LIBRARY", value_hint = clap::ValueHint::FilePath)]
    library: PathBuf,
    /// Required hash of the library's interfaces
    #[arg(long, value_name = "HASH")]
    interfaces: Option<String>,
    /// Property of the library that may differ from this program's: compiler or profile; may be repeated
    #[arg(long, value_name = "FACT")]
    accept: Vec<Fact>,
    /// Print the library's description of itself, and exit
    #[arg(long)]
    show: bool,
    /// Arguments of the process, the same as for an executable artifact
    #[arg(value_name = "ARGUMENT", last = true)]
    arguments: Vec<String>,
}

/// Runs the process.
pub(super) fn run(args: &Args) -> Done {
    if args.show {
        let artifact = Artifact::load(&args.library).map_err(because)?;
        let facts = Fact::ALL.map(|fact| {
            let (word, found) = (fact.word(), artifact.fact(fact));
            format!("{word:>10} {}\n", oxorb::values::Printable(&found))
        });
        return print(facts.concat());
    }
    let demands = Demands { interfaces: args.interfaces.clone(), accepted: args.accept.clone() };
    let artifact = Artifact::open(&args.library, &demands).map_err(because)?;
    let name = args.library.display().to_string();
    let arguments: Vec<String> = [name].into_iter().chain(args.arguments.clone()).collect();
    match artifact.run(&arguments).map_err(because)? {
        0 => Ok(()),
        // The library has reported the reason.
        _ => Err(Failed::Told),
    }
}
