//! `oxorb serve`: a stand-in server that answers from a table.

mod answer;
mod pattern;
mod script;
mod stand_in;
mod template;

use std::path::PathBuf;
use std::sync::Arc;

use oxorb::poa::{IdAssignment, ObjectId, PoaError, Policies};
use oxorb::servant::escape;
use oxorb::{Interface as _, ObjectRef, Orb, Servant};
use oxorb_ifr::client;
use oxorb_ifr::types::{Interface, Types};
use serde_json::json;

use crate::listening::{Listening, urls};
use crate::types::{IdlArgs, Known, Source};
use oxorb_terminal::orb::{heed_signals, with_args};
use oxorb_terminal::output::{Done, Failed, at_file, because};

use script::Script;
use stand_in::{Log, StandIn};

/// Arguments of `oxorb serve`.
#[derive(clap::Args)]
#[command(after_help = "\
Prints lines of JSON: first the reference, then each request with its answer. On SIGINT (Ctrl-C) or SIGTERM it \
answers running requests, and ends with exit status 0. A second signal ends it at once, with 128 plus the number of \
the signal. docs/serve.md describes scripts.

A script, in TOML or JSON:
  [attributes]
  balance = 100
  [[operations.withdraw]]
  when = { amount = 1000 }
  raises = \"Overdrawn\"
  with = { missing = 900 }
  [[operations.withdraw]]
  returns = \"$amount\"
  delay_ms = 5

Examples:
  oxorb serve --idl bank.idl --interface bank::Account \\
    --script account.toml --name Account --port 2809
  oxorb serve --ifr corbaloc::host:2810/InterfaceRepository --interface bank::Account --defaults
  oxorb serve --idl bank.idl --script account.toml --name Account --listen uiop:///run/bank
  oxorb call --idl bank.idl corbaloc::localhost:2809/Account withdraw 10")]
pub(crate) struct Args {
    #[command(flatten)]
    idl: IdlArgs,
    /// Interface Repository to take the types from: IOR:, corbaloc:, corbaname: or file:
    #[arg(long, value_name = "URL", conflicts_with = "files", requires = "interface")]
    ifr: Option<String>,
    /// Scoped name or repository id; may be omitted if the IDL has one interface
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Table of answers: a .toml or .json file
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Answer operations that the script lacks with zeros and empty values, instead of NO_IMPLEMENT; members omitted in
    /// values of the script are also zero, unless the IDL has a @default for them
    #[arg(long)]
    defaults: bool,
    /// Port to listen on; 0 lets the system choose
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    listening: Listening,
    /// Serve the object at corbaloc::HOST:PORT/NAME, too
    #[arg(long)]
    name: Option<String>,
    /// Write the reference to a file, too
    #[arg(long, value_name = "FILE")]
    ior_file: Option<PathBuf>,
}

/// Serves until a signal ends the process.
pub(crate) fn run(args: Args) -> Done {
    let script = match &args.script {
        Some(path) => Script::read(path).map_err(because)?,
        None => Script::default(),
    };
    let orb = args.listening.at(Orb::builder(), args.port);
    // Listen only when the object exists: until then, clients must fail to connect and not receive OBJECT_NOT_EXIST.
    let orb = with_args(orb.listen_late()).build()?;
    let (interface, source) = types(&args, &orb)?;
    source.register_values(&orb);
    let known = Known { source: &source, orb: &orb, defaults: args.defaults };
    let scoped_name = interface.scoped_name.clone();
    let table = script.check(&interface, &known).map_err(because)?;
    let stand_in = StandIn::new(interface, source, orb.clone(), table, args.defaults, Log::new());
    let servant = escape::servant(oxorb_dynamic::servant(stand_in));
    let object = activate(&orb, args.name.as_deref(), servant)?;
    let corbaloc = match &args.name {
        Some(name) => named(&object, name),
        None => object.to_corbaloc(),
    };
    if let Some(file) = &args.ior_file {
        std::fs::write(file, object.to_ior() + "\n").map_err(|error| at_file(file, error))?;
    }
    let ready = json!({ "interface": scoped_name, "ior": object.to_ior(), "corbaloc": corbaloc });
    // Handle signals before printing the line, because a program that reads the line may end this process at once.
    heed_signals(&orb)?;
    Log::line(&ready);
    orb.run();
    Ok(())
}

/// Activates the served object, and binds its name. The ORB begins to listen with the activation, so the name is bound
/// before: an early client must not receive OBJECT_NOT_EXIST.
fn activate(
    orb: &Orb,
    name: Option<&str>,
    servant: Arc<dyn Servant>,
) -> Result<ObjectRef, PoaError> {
    let policies = Policies { id_assignment: IdAssignment::User, ..Policies::default() };
    let poa = orb.root_poa().create_poa("served", policies)?;
    let id = ObjectId::from("object");
    if let Some(name) = name {
        poa.bind_name_to_id(name, id.clone());
    }
    let object = ObjectRef::from_ref(poa.activate_servant_with_id(&id, servant)?);
    if let Some(name) = name {
        // Also makes it an initial reference of this ORB.
        orb.bind(name, &object);
    }
    Ok(object)
}

/// Returns the served interface, and the source of its types.
fn types(args: &Args, orb: &Orb) -> Result<(Interface, Source), Failed> {
    if !args.idl.files.is_empty() {
        let types = args.idl.load()?;
        let interface = interface(&types, args.interface.as_deref())?;
        return Ok((interface, Source::Idl(Box::new(types))));
    }
    let Some(reference) = &args.ifr else {
        return Err(because(
            "the types of the interface are needed: specify the IDL file that declares it with --idl FILE, or an \
             Interface Repository that contains it with --ifr URL",
        ));
    };
    let Some(name) = &args.interface else {
        return Err(because("specify the interface of the repository with --interface"));
    };
    let repository = Source::repository(orb, reference)?;
    let def = client::find(&repository, name)?;
    let def =
        def.ok_or_else(|| because(format!("{reference}: the interface {name} is unknown there")))?;
    let interface = client::interface(&def)?;
    Ok((interface, Source::Repository(repository)))
}

/// Returns the short URL of a bound name: for IIOP, or else for another protocol.
fn named(object: &ObjectRef, name: &str) -> Option<String> {
    let mut plain = object.reference().ior().iiop_profiles().flat_map(|it| it.endpoints());
    match plain.next() {
        Some(endpoint) => Some(format!("corbaloc::1.2@{endpoint}/{name}")),
        None => urls(object.reference(), name).into_iter().next(),
    }
}

/// Returns the interface of this name, or the only one.
fn interface(types: &Types, name: Option<&str>) -> Result<Interface, Failed> {
    if let Some(name) = name {
        return types.interface(name).map_err(because);
    }
    let mut mine = types.interfaces().filter(|def| def.in_main_file);
    match (mine.next(), mine.next()) {
        (Some(only), None) => types.interface_of(only.id).map_err(because),
        (None, _) => Err(because("the IDL declares no interface")),
        (Some(_), Some(_)) => {
            let names = types.interfaces().filter(|def| def.in_main_file);
            let names: Vec<&str> = names.map(|def| def.scoped_name.as_str()).collect();
            Err(because(format!(
                "the IDL has several interfaces; specify one with --interface: {}",
                names.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use oxorb::{Outcome, Upcall};

    use super::*;

    struct Nothing;

    impl Servant for Nothing {
        fn repository_id(&self) -> &str {
            "IDL:Nothing:1.0"
        }

        fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
            upcall.done()
        }
    }

    #[test]
    fn the_name_is_bound_before_the_orb_listens() {
        // The endpoint is taken, so the activation, with which the ORB would begin to listen, fails.
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("iiop://{}", taken.local_addr().unwrap());
        let orb = Orb::builder().listen(&endpoint).listen_late().build().unwrap();
        assert!(activate(&orb, Some("Account"), Arc::new(Nothing)).is_err());
        assert!(orb.root_poa().unbind_name("Account"), "the name was not bound yet");
        orb.shutdown(true).unwrap();
    }

    #[test]
    fn the_served_object_has_its_name() {
        let orb = Orb::builder().listen("iiop://127.0.0.1:0").listen_late().build().unwrap();
        let object = activate(&orb, Some("Account"), Arc::new(Nothing)).unwrap();
        let url = named(&object, "Account").unwrap();
        let client = Orb::builder().build().unwrap();
        assert!(!client.string_to_object(&url).unwrap().non_existent().unwrap());
        client.shutdown(true).unwrap();
        orb.shutdown(true).unwrap();
    }
}
