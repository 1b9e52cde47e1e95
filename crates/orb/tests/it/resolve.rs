//! From text to objects: all forms of references, initial references from every source, names, and
//! the error texts of failures.

use std::path::PathBuf;

use oxorb::__gen::{CdrResult, Encoder, ServantError, encode_ref};
use oxorb::{
    Interface, ObjectRef, Orb, Outcome, ResolveError, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_testkit::watchdog;

use crate::common::*;

/// A naming context that knows `Pingers/first` and a name bound to nil. For names that begin with `Far` it returns
/// another context with CannotProceed; for `Far/round` these form a circle.
struct Names {
    first: ObjectRef,
}

/// User exceptions: `NotFound` for `second`, `CannotProceed` with the next context.
enum Refused {
    NotFound,
    CannotProceed(ObjectRef, &'static str),
}

impl ServantError for Refused {
    fn system(&self) -> Option<SystemException> {
        None
    }

    fn raise<'a>(&'a self, e: &mut Encoder<'a>) -> CdrResult<()> {
        let rest = match self {
            Refused::NotFound => {
                e.string("IDL:omg.org/CosNaming/NamingContext/NotFound:1.0")?;
                e.ulong(0);
                "second"
            }
            Refused::CannotProceed(context, rest) => {
                e.string("IDL:omg.org/CosNaming/NamingContext/CannotProceed:1.0")?;
                encode_ref(e, Some(context))?;
                rest
            }
        };
        e.length(1, None)?;
        e.string(rest)?;
        e.string("")
    }
}

impl Names {
    fn stop(&self, upcall: Upcall<'_>, rest: &'static str) -> Outcome {
        let here = upcall.orb().create_reference("", upcall.object_key());
        let here = ObjectRef::from_ref(here.expect("it listens"));
        upcall.raise(&Refused::CannotProceed(here, rest))
    }
}

impl Servant for Names {
    fn repository_id(&self) -> &str {
        "IDL:omg.org/CosNaming/NamingContextExt:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let asked = match upcall.operation() {
            "resolve_str" => upcall.args(|d| Ok(d.string()?.into_owned())),
            // The name has one component, with an empty kind.
            "resolve" => upcall.args(|d| {
                assert_eq!(d.length(None, 10)?, 1);
                let id = d.string()?.into_owned();
                assert_eq!(d.string()?, "");
                Ok(id)
            }),
            _ => return upcall.unknown_operation(),
        };
        match asked.as_deref() {
            Ok("Pingers/first" | "first") => upcall.reply(|e| encode_ref(e, Some(&self.first))),
            Ok("Pingers/none") => upcall.reply(|e| encode_ref::<ObjectRef>(e, None)),
            Ok("Far/first") => self.stop(upcall, "first"),
            Ok("Far/second") => self.stop(upcall, "second"),
            Ok("Far/round" | "round") => self.stop(upcall, "round"),
            Ok(_) => upcall.raise(&Refused::NotFound),
            Err(rejected) => upcall.reject(*rejected),
        }
    }
}

/// A server of one pinger, bound to the name `First`.
struct Bench {
    server: Orb,
    object: ObjectRef,
}

impl Bench {
    fn at(endpoint: &str) -> Bench {
        let server = transport::builder().listen(endpoint).build().unwrap();
        let pinger = std::sync::Arc::new(Pinger::default());
        let object = server.root_poa().activate_servant(pinger).unwrap();
        let object = ObjectRef::from_ref(object);
        server.bind("First", &object);
        Bench { server, object }
    }

    fn new() -> Bench {
        Bench::at(&transport::anywhere())
    }

    fn with_names() -> Bench {
        let bench = Bench::new();
        let first = bench.object.clone();
        let names = std::sync::Arc::new(Names { first });
        let names = bench.server.root_poa().activate_servant(names).unwrap();
        bench.server.bind("NameService", &ObjectRef::from_ref(names));
        bench
    }

    fn end(self) {
        self.server.shutdown(true).unwrap();
    }
}

fn client_of(args: &[&str]) -> Orb {
    let args = args.iter().map(|arg| (*arg).to_owned());
    transport::builder().args(args).build().unwrap()
}

/// Returns the error text of a failure to resolve `text`.
fn lost(orb: &Orb, text: &str) -> String {
    orb.string_to_object(text).unwrap_err().to_string()
}

/// A file that is removed when the value is dropped.
struct File(PathBuf);

impl File {
    fn with(name: &str, content: &str) -> File {
        let path =
            std::env::temp_dir().join(format!("oxorb-resolve-{}-{name}", oxorb_testkit::unique()));
        std::fs::write(&path, content).unwrap();
        File(path)
    }

    fn url(&self) -> String {
        format!("file://{}", self.0.display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn every_form_of_a_reference_leads_to_the_object() {
    let _guard = watchdog(LONG);
    let bench = Bench::new();
    let ior = bench.object.to_ior();
    let file = File::with("first.ior", &format!("{ior}\n"));
    let again = File::with("again.ior", &file.url());
    let marked = File::with("marked.ior", &format!("\u{feff}{ior}"));
    let client = client_of(&[]);
    let at = address(&bench.object);
    let nobody = transport::free_place().address;
    let mut texts = vec![
        ior.clone(),
        ior.to_lowercase().replacen("ior:", "IOR:", 1),
        bench.object.to_corbaloc().unwrap(),
        transport::url(&[&at], "First"),
        // The first address has no listener.
        transport::url(&[&nobody, &at], "First"),
        file.url(),
        again.url(),
        marked.url(),
    ];
    // A URL of IIOP may omit the protocol's name, and may contain a GIOP version.
    if transport::protocol().name() == "iiop" {
        let at = at.for_people();
        texts.push(format!("corbaloc::{at}/First"));
        texts.push(format!("corbaloc:iiop:1.0@{at}/First"));
        texts.push(format!("corbaloc::127.0.0.1:1,:{at}/First"));
    }
    for text in texts {
        let object = client.string_to_object(&text).unwrap();
        assert_eq!(ping(&object, 7), Ok(8), "{text}");
    }
    bench.end();
}

#[test]
fn a_server_on_an_ipv6_address_is_reached() {
    only_over!(IIOP, "addresses of hosts are those of IIOP's URLs");
    let _guard = watchdog(LONG);
    if !oxorb_testkit::net::has_ipv6() {
        return;
    }
    let bench = Bench::at("iiop://[::1]:0");
    let url = bench.object.to_corbaloc().unwrap();
    assert!(url.starts_with("corbaloc:iiop:1.2@[::1]:"), "{url}");
    let client = client_of(&[]);
    for text in [url, bench.object.to_ior()] {
        let object = client.string_to_object(&text).unwrap();
        assert_eq!(ping(&object, 1), Ok(2), "{text}");
    }
    bench.end();
}

#[test]
fn initial_references_are_registered_given_or_below_a_default() {
    let _guard = watchdog(LONG);
    let bench = Bench::new();
    let at = address(&bench.object);
    let reached = |orb: &Orb, name: &str| {
        let object = orb.resolve_initial_references(name).unwrap();
        assert_eq!(ping(&object, 1), Ok(2), "{name}");
    };
    reached(&bench.server, "First");

    let given = client_of(&[
        "-ORBInitRef",
        &format!("A={}", nowhere("First")),
        "-ORBInitRef",
        &format!("A={}", transport::url(&[&at], "First")),
        "-ORBInitRef=B=corbaloc:rir:/A",
    ]);
    reached(&given, "A"); // the later one counts
    reached(&given, "B");
    assert_eq!(given.list_initial_services(), ["A", "B"]);
    let unknown = given.resolve_initial_references("C").unwrap_err();
    assert!(unknown.to_string().contains("only A, B"), "{unknown}");

    let below =
        client_of(&["-ORBDefaultInitRef", transport::url(&[&at], "").trim_end_matches('/')]);
    reached(&below, "First");
    let object = below.string_to_object("corbaloc:rir:/First").unwrap();
    assert_eq!(ping(&object, 1), Ok(2));
    bench.end();
}

#[test]
fn references_that_lead_to_each_other_have_an_end() {
    let _guard = watchdog(LONG);
    let circle =
        client_of(&["-ORBInitRef", "A=corbaloc:rir:/B", "-ORBInitRef", "B=corbaloc:rir:/A"]);
    assert!(matches!(
        circle.resolve_initial_references("A"),
        Err(ResolveError::TooManyIndirections(_))
    ));
    let file = File::with("circle.ior", "");
    std::fs::write(&file.0, file.url()).unwrap();
    assert!(matches!(
        circle.string_to_object(&file.url()),
        Err(ResolveError::TooManyIndirections(_))
    ));
}

#[test]
fn names_are_asked_for_at_the_naming_service() {
    let _guard = watchdog(LONG);
    let bench = Bench::with_names();
    let at = address(&bench.object);
    let client = client_of(&[
        "-ORBInitRef",
        &format!("NameService={}", transport::url(&[&at], "NameService")),
    ]);
    let names = transport::url(&[&at], "").replace("corbaloc", "corbaname");
    let names = names.trim_end_matches('/').to_owned();
    for text in [
        format!("{names}#Pingers/first"),
        "corbaname:rir:#Pingers/first".to_owned(),
        // If the service cannot proceed, the client continues with the returned context.
        "corbaname:rir:#Far/first".to_owned(),
    ] {
        let object = client.string_to_object(&text).unwrap();
        assert_eq!(ping(&object, 1), Ok(2), "{text}");
    }
    let context = client.string_to_object(&names);
    assert_eq!(context.unwrap().non_existent(), Ok(false));

    for text in ["corbaname:rir:#Pingers/second", "corbaname:rir:#Far/second"] {
        let missing = lost(&client, text);
        assert!(missing.contains("there is no \"second\" (NotFound)"), "{missing}");
    }
    let round = lost(&client, "corbaname:rir:#Far/round");
    assert!(round.contains("from one context to another forever"), "{round}");
    let nil = lost(&client, "corbaname:rir:#Pingers/none");
    assert!(nil.contains("nil reference"), "{nil}");
    let nobody = nowhere("").replace("corbaloc", "corbaname");
    let nobody = nobody.trim_end_matches('/');
    let nobody = lost(&client, &format!("{nobody}#Pingers/first"));
    assert!(nobody_listens(&nobody), "{nobody}");
    bench.end();
}

#[test]
fn what_leads_nowhere_says_why_and_has_an_exception() {
    use SystemExceptionKind::{BadParam, InvObjref};

    let _guard = watchdog(LONG);
    let orb = client_of(&[]);
    for (text, why, kind) in [
        ("gopher://x", "start with IOR:", BadParam),
        ("IOR:0", "pairs of hexadecimal digits", BadParam),
        ("IOR:0000", "was part of the text lost", InvObjref),
        ("corbaloc::h:0/x", "port", BadParam),
        ("file:/nobody/here.ior", "/nobody/here.ior", BadParam),
        ("corbaloc:rir:/Nobody", "-ORBInitRef Nobody=", BadParam),
    ] {
        let error = orb.string_to_object(text).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(why), "{text}: {message}");
        // A `main` that returns the error prints the text of `Debug`.
        assert_eq!(format!("{error:?}"), message);
        assert_eq!(SystemException::from(error).kind, kind, "{text}");
    }
}

#[test]
fn an_object_of_another_interface_is_not_what_was_asked_for() {
    let _guard = watchdog(LONG);
    #[derive(Clone, Debug, PartialEq)]
    struct Other(oxorb::Ref);

    impl Interface for Other {
        const REPOSITORY_ID: &'static str = "IDL:test/Other:1.0";

        fn from_ref(reference: oxorb::Ref) -> Self {
            Other(reference)
        }

        fn reference(&self) -> &oxorb::Ref {
            &self.0
        }
    }

    let bench = Bench::new();
    let client = client_of(&[]);
    let url = transport::url(&[&address(&bench.object)], "First");
    let error = client.resolve::<Other>(&url).unwrap_err().to_string();
    assert!(error.contains("does not have the interface IDL:test/Other:1.0"), "{error}");
    let nobody = client.resolve::<Other>(&nowhere("First"));
    let error = nobody.unwrap_err().to_string();
    assert!(nobody_listens(&error), "{error}");
    bench.end();
}
