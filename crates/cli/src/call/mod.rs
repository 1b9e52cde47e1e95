//! `oxorb call`: calls one operation of any object, without stubs.

mod answer;
mod arguments;
mod http;
mod repository;
mod target;

use std::time::Duration;

use oxorb::servant::Context;
use oxorb::{Interface as _, Orb, Ref};
use oxorb_dynamic::{Dynamic, Signature};

use crate::types::{IdlArgs, Known, Source};
use oxorb_terminal::duration;
use oxorb_terminal::orb::{call_at, with_private_connections};
use oxorb_terminal::output::{Done, Failed, because, print_json};

use arguments::Given;
use http::{HttpArgs, Url};

pub(crate) use answer::{ExceptionJson, ResultsJson};
pub(crate) use arguments::from_json as arguments_from_json;
pub(crate) use target::is_answer;

/// Arguments of `oxorb call`.
#[derive(clap::Args)]
#[command(after_help = "\
An ARG is a JSON value; text, enumerators, references and decimal numbers need no quotes. docs/json.md describes \
the mapping. NAME reads an attribute, and NAME=VALUE writes it.

Octets are base64 (AQL/) or an array of numbers ([1, 2, 255]). An any is a plain boolean, number or string, or names \
its type: {\"type\": \"short\", \"value\": 5}. Omitted members get the @default of the IDL. With --defaults, omitted \
members without a @default are zero, empty or nil.

Types come from --idl, or else from an Interface Repository: that of --ifr, that of -ORBInitRef \
InterfaceRepository=..., or the one that the object itself names (_interface).

The object may also be behind an HTTP gateway (`oxorb gateway http`): http://HOST:PORT/objects/NAME, or https: with \
the trusted authorities in -ORBTlsRoots FILE. The gateway knows its types.

Prints the return value as JSON. If there are inout or out parameters, it prints an object with the members returns \
and out. An exception is also printed as JSON, and the exit status is 1.

Examples:
  oxorb call --idl bank.idl file:account.ior withdraw 10
  oxorb call --idl bank.idl corbaloc::host:2809/Account balance
  oxorb call --idl bank.idl corbaloc::host:2809/Account owner='Ada Lovelace'
  oxorb call --idl nav.idl IOR:0100... follow '[{\"place\": {\"x\": 1, \"y\": 2}, \"name\": \"A\"}]'
  oxorb call --idl nav.idl IOR:0100... follow --args @route.json
  oxorb call --idl nav.idl IOR:0100... upload AQL/ '{\"format\": \"raw\"}' --defaults
  oxorb call --ifr corbaloc::host:2810/InterfaceRepository corbaloc::host:2809/Account balance
  oxorb call corbaloc::host:2809/Account balance
  oxorb call IOR:0100... _repository_id
  oxorb call http://localhost:8080/objects/Account withdraw 10
  oxorb call --token token.txt -ORBTlsRoots ca.pem https://gateway.example/objects/Account balance")]
pub(crate) struct Args {
    /// Object: IOR:, corbaloc:, corbaname: or file:, or http: or https: for one behind an HTTP gateway
    reference: String,
    /// Operation, attribute, or ATTRIBUTE=VALUE
    operation: String,
    /// Arguments, one for each in and inout parameter
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    args: Vec<String>,
    /// All arguments as a JSON array, or as a JSON object with a member for each parameter; @FILE reads them from a
    /// file, - from standard input
    #[arg(long = "args", value_name = "JSON", conflicts_with = "args")]
    document: Option<String>,
    #[command(flatten)]
    idl: IdlArgs,
    /// Interface Repository to take the types from: IOR:, corbaloc:, corbaname: or file:
    #[arg(long, value_name = "URL", conflicts_with = "files")]
    ifr: Option<String>,
    /// Scoped name or repository id of the interface; queried from the object if not given
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Time limit of the call, connecting included. For example 300ms; a bare number is milliseconds
    #[arg(long, default_value = "10s", value_name = duration::VALUE_NAME, value_parser = duration::milliseconds())]
    timeout: Duration,
    /// CORBA priority of the calls, 0 to 32767; selects the lane or band of the server
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i16).range(0..))]
    priority: Option<i16>,
    /// Make omitted arguments and members zero, empty or nil, unless the IDL has a @default for them
    #[arg(long)]
    defaults: bool,
    /// Send the request as a oneway, even if the IDL does not declare the operation oneway
    #[arg(long)]
    oneway: bool,
    #[command(flatten)]
    http: HttpArgs,
}

/// Calls the operation, and prints its results.
pub(crate) fn run(args: Args) -> Done {
    let timeout = args.timeout;
    let (name, value) = match args.operation.split_once('=') {
        Some((attribute, value)) => (attribute.trim(), Some(value)),
        None => (args.operation.as_str(), None),
    };
    let wanted = target::Wanted { name, write: value.is_some() };
    if let Some(url) = Url::parse(&args.reference) {
        let url = url.map_err(because)?;
        args.check_for_http()?;
        return http::call(&url, &wanted, args.given(value)?, &args.http, timeout);
    }
    args.http.refuse()?;
    let orb = Orb::builder().connect_timeout(timeout).round_trip_timeout(timeout);
    let orb = with_private_connections(orb).build()?;
    call_at(&orb, args.priority).map_err(because)?;
    let object = orb.string_to_object(&args.reference).map_err(because)?;
    let object = object.reference();
    if object.ior().is_nil() {
        return Err(because("the reference is nil: it refers to no object"));
    }
    if let Some(answer) = target::implicit(object, &args.operation, &args.args) {
        return print_json(&answer?);
    }
    let interface = args.interface.as_deref();
    let (signature, source) = match args.idl.files.is_empty() {
        false => {
            let types = args.idl.load()?;
            let signature = target::find(&types, object, interface, &wanted)?;
            (signature, Source::Idl(Box::new(types)))
        }
        true => repository::find(&orb, args.ifr.as_deref(), object, interface, &wanted)?,
    };
    let given = args.given(value)?;
    source.register_values(&orb);
    let known = Known { source: &source, orb: &orb, defaults: args.defaults };
    let values = arguments::read(given, &signature, &known).map_err(because)?;
    call(object, &signature, &values, &known, args.oneway)
}

impl Args {
    /// Returns the arguments of the call. `value` is that of an attribute to write.
    fn given<'a>(&'a self, value: Option<&'a str>) -> Result<Given<'a>, Failed> {
        match (value, &self.document) {
            (Some(_), _) if !self.args.is_empty() || self.document.is_some() => {
                Err(because("setting an attribute takes one value: NAME=VALUE"))
            }
            (Some(value), _) => Ok(Given::Word(value)),
            (None, Some(document)) => Ok(Given::Document(document)),
            (None, None) => Ok(Given::Words(&self.args)),
        }
    }

    /// Checks that no option is given that means nothing to an HTTP gateway.
    fn check_for_http(&self) -> Done {
        let options = [
            (!self.idl.files.is_empty(), "--idl"),
            (self.ifr.is_some(), "--ifr"),
            (self.interface.is_some(), "--interface"),
            (self.priority.is_some(), "--priority"),
            (self.defaults, "--defaults"),
            (self.oneway, "--oneway"),
        ];
        match options.iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(because(format!(
                "{option} does not apply to objects behind an HTTP gateway, which has its own options"
            ))),
            None => Ok(()),
        }
    }
}

fn call(
    object: &Ref,
    signature: &Signature,
    values: &[Dynamic],
    known: &Known<'_>,
    oneway: bool,
) -> Done {
    let context = Context::new();
    if oneway || signature.oneway {
        let sent = oxorb_dynamic::send(object, signature, values, &context);
        return sent.map_err(|exception| answer::told(&exception, known));
    }
    match oxorb_dynamic::invoke(object, signature, values, &context) {
        Ok(results) => print_json(&ResultsJson::new(signature, &results, known)),
        Err(exception) => Err(answer::told(&exception, known)),
    }
}
