//! `oxorb bridge`: passes requests of one protocol on as requests of another.

use oxorb::bridge::{Bridge, Interfaces, Statistics};
use oxorb::{Interface as _, Orb};
use oxorb_ifr::types::Types;
use serde_json::json;

use crate::types::IdlArgs;
use oxorb_terminal::orb::{heed_signals, with_args};
use oxorb_terminal::output::{Done, Failed, Format, because, counted, print, print_line};

/// Arguments of `oxorb bridge`.
#[derive(clap::Args)]
#[command(after_help = "\
Each NAME becomes an object of the bridge. The command prints its reference; corbaloc::HOST:PORT/NAME leads to \
the same object. The thread that reads a request or a reply also forwards it, with its priority and its remaining time \
limit. On SIGINT (Ctrl-C) or SIGTERM the bridge finishes running requests, prints its counts and ends. docs/bridge.md \
lists what is forwarded and what is rejected.

With --idl the bridge knows the types of operations. It then replaces references in arguments and results by \
references to itself, and restores the originals when they return. It also converts requests of GIOP 1.0 and 1.1, and \
requests in other code sets.

Examples:
  oxorb bridge --listen uiop:///run/names NameService=corbaloc::10.0.0.7/NameService
  oxorb bridge --listen iiop://:2809 --idl bank.idl Account=corbaloc:uiop:/run/bank\\|Account
  oxorb bridge --listen shm:///run/radar Radar=file:radar.ior -ORBBudget 'clients requests=1000'")]
pub(crate) struct Args {
    /// Objects to be bridged, as NAME=REF; REF is an IOR:, corbaloc:, corbaname: or file: reference
    #[arg(required = true, value_name = "NAME=REF", value_parser = target)]
    targets: Vec<Target>,
    /// Endpoint to listen on, in addition to those of -ORBListenEndpoints; may be repeated
    #[arg(long, value_name = "ENDPOINT")]
    listen: Vec<String>,
    #[command(flatten)]
    idl: IdlArgs,
    /// Interface of the target NAME, if its reference does not name one: scoped name or repository id
    #[arg(long = "interface", value_name = "NAME=INTERFACE", value_parser = target)]
    interfaces: Vec<Target>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Texts before and after the `=`.
type Target = (String, String);

fn target(text: &str) -> Result<Target, String> {
    match text.split_once('=') {
        Some((name, reference)) if !name.is_empty() && !reference.is_empty() => {
            Ok((name.to_owned(), reference.to_owned()))
        }
        _ => Err("write NAME=..., as in NameService=corbaloc::10.0.0.7/NameService".into()),
    }
}

/// Passes requests on until a signal ends the process.
pub(crate) fn run(args: Args) -> Done {
    if let Some((name, _)) = args.interfaces.iter().find(|(name, _)| {
        let is_it = |(target, _): &Target| target == name;
        !args.targets.iter().any(is_it)
    }) {
        return Err(because(format!("--interface {name}=..: no target is named {name}")));
    }
    let types = match args.idl.files.is_empty() {
        true => None,
        false => Some(args.idl.load()?),
    };
    let mut builder = Orb::builder();
    for endpoint in &args.listen {
        builder = builder.listen(endpoint);
    }
    let orb = with_args(builder).build()?;
    let mut interfaces = Interfaces::default();
    add_known(types.as_ref(), &mut interfaces)?;
    let bridge = Bridge::new(&orb, interfaces)?;
    for (name, reference) in &args.targets {
        let given = args.interfaces.iter().find(|(of, _)| of == name);
        let object = match given {
            None => bridge.open(name, reference)?,
            Some((_, interface)) => {
                bridge.open_as(name, reference, &repository_id(interface, types.as_ref())?)?
            }
        };
        let type_id = &object.reference().ior().type_id;
        if types.is_some() && !bridge.knows(type_id) {
            let unknown = match type_id.is_empty() {
                true => "the reference of its target does not name the interface".to_owned(),
                false => format!("the IDL does not have its interface {type_id}"),
            };
            // This is only a warning, because the interface of a target that does not run yet cannot be queried.
            oxorb_terminal::note!(
                "warning: {name}: {unknown}, so references in its calls bypass the bridge; add --interface \
                 {name}=INTERFACE"
            );
        }
        match args.format {
            Format::Text => print(format_args!("{name} {}\n", object.to_ior()))?,
            Format::Json => print_line(&json!({
                "name": name,
                "ior": object.to_ior(),
                "type_id": type_id,
            }))?,
        }
    }
    heed_signals(&orb)?;
    orb.run();
    bridge.close();
    tell(bridge.statistics(), args.format)
}

/// Adds the descriptions of all interfaces of the IDL, if there is any.
pub(crate) fn add_known(types: Option<&Types>, known: &mut Interfaces) -> Done {
    let Some(types) = types else {
        return Ok(());
    };
    for def in types.interfaces() {
        let interface = types.interface_of(def.id)?;
        known.add(&interface.repository_id, interface.operations);
    }
    Ok(())
}

fn repository_id(interface: &str, types: Option<&Types>) -> Result<String, Failed> {
    match types {
        Some(types) => Ok(types.interface(interface)?.repository_id),
        None if interface.starts_with("IDL:") => Ok(interface.to_owned()),
        None => Err(because(format!(
            "--interface {interface}: name the IDL file that declares it with --idl, or write its repository id"
        ))),
    }
}

fn tell(passed: Statistics, format: Format) -> Done {
    match format {
        Format::Text => print(format_args!(
            "{} answered, {}, {} failed; {} of arguments; {} decoded and encoded again, {}\n",
            counted(passed.answered, "request"),
            counted(passed.oneways, "oneway"),
            passed.failed,
            counted(passed.octets, "octet"),
            passed.rewritten,
            counted(passed.references, "reference"),
        )),
        Format::Json => print_line(&json!({
            "answered": passed.answered,
            "oneways": passed.oneways,
            "failed": passed.failed,
            "octets": passed.octets,
            "rewritten": passed.rewritten,
            "references": passed.references,
        })),
    }
}
