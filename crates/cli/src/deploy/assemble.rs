//! `oxorb deploy assemble`: makes a plan from a package and its assemblies.

use std::collections::BTreeMap;
use std::path::PathBuf;

use oxorb_deploy::{Assembly, Document};

use super::files::{self, Form};
use super::package;
use oxorb_terminal::output::{Done, because, print};

/// Arguments of `oxorb deploy assemble`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Package: an archive (.cpk), or a folder with its descriptors and artifacts
    #[arg(value_name = "PACKAGE", value_hint = clap::ValueHint::AnyPath)]
    from: PathBuf,
    /// Plan to write; - writes to standard output
    #[arg(value_name = "PLAN", value_hint = clap::ValueHint::FilePath)]
    plan: PathBuf,
    /// Top-level descriptor within the package; default: the only one to which no other descriptor refers
    #[arg(long, value_name = "DESCRIPTOR")]
    package: Option<String>,
    /// Node for all instances without a node in --place
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Node for one instance, or for all instances of a part; may be repeated
    #[arg(long, value_name = "PART=NODE", value_parser = placed)]
    place: Vec<(String, String)>,
    /// Format of the plan [default: that of its file name extension]
    #[arg(long, value_enum)]
    to: Option<Form>,
}

fn placed(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((part, node)) if !part.is_empty() && !node.is_empty() => {
            Ok((part.to_owned(), node.to_owned()))
        }
        _ => Err("write PART=NODE, such as radar=tail".to_owned()),
    }
}

/// Makes the plan.
pub(super) fn run(args: &Args) -> Done {
    let to = files::format(&args.plan, args.to, Some("--to"))?;
    let mut nodes = BTreeMap::new();
    for (part, node) in &args.place {
        if nodes.insert(part.clone(), node.clone()).is_some_and(|other| other != *node) {
            return Err(because(format!("--place puts {part:?} on two nodes: name it once")));
        }
    }
    let assembly = Assembly {
        package: args.package.clone(),
        node: args.node.clone(),
        nodes,
        ..Assembly::default()
    };
    let archive = package::open(&args.from)?;
    let plan = archive.plan(&assembly).map_err(|error| files::located(&args.from, &error))?;
    let many = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    let told = format!(
        "{}: {}, {}\n",
        args.plan.display(),
        many(plan.instance.len(), "instance"),
        many(plan.connection.len(), "connection")
    );
    let text = Document::from(plan).write(to);
    files::write(&args.plan, &text.map_err(|error| files::located(&args.from, &error))?)?;
    match args.plan.as_os_str() == "-" {
        true => Ok(()),
        false => print(told),
    }
}
