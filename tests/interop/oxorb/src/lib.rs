//! Common parts of the interoperability test's client and server: the generated code, the command line and the callback
//! object.
#![forbid(unsafe_code)]

use std::error::Error;
use std::sync::Mutex;
use std::time::Duration;

use oxorb::interceptor::{ClientInterceptor, ClientRequest, Interrupt};
use oxorb::policy::{CommunicationClass, Qos, RequestQos};
use oxorb::{Builder, Orb, SystemException};

pub use idl::{
    interop, interop_any, interop_async, interop_jacorb, interop_omniorb, interop_values, messaging,
};
use interop::{CallbackRef, Colour, Detailed, Point, Record};

pub mod dynany;
pub mod handler;
pub mod lanes;
pub mod types;
pub mod values;

mod idl {
    oxorb::include_idl!("idl");
}

/// Arguments of the test itself; the ORB takes those that begin with `-ORB`.
#[derive(Debug, Default)]
pub struct Args {
    /// File to write (server) or reference to call (client).
    pub ior: String,
    /// Corbaloc of the same object (client).
    pub corbaloc: String,
    /// Checks to skip (client).
    pub skip: Vec<String>,
    /// Whether to end the server after the checks (client).
    pub shutdown: bool,
}

impl Args {
    /// Parses the command line of this process and makes the corresponding ORB.
    pub fn start() -> Result<(Self, Orb), Box<dyn Error>> {
        std::thread::spawn(end_in_time);
        let orb = Orb::builder().args(std::env::args().skip(1));
        let orb = match std::env::args().any(|arg| arg == "--realtime") {
            false => orb.build()?,
            true => realtime(&orb.client_interceptor(Priority).build()?),
        };
        let mut args = Self::default();
        let mut own = orb.args().iter().cloned();
        while let Some(name) = own.next() {
            let mut value = || own.next().unwrap_or_default();
            match name.as_str() {
                "--ior" | "--ior-file" => args.ior = value(),
                "--corbaloc" => args.corbaloc = value(),
                "--skip" => args.skip = value().split(',').map(str::to_owned).collect(),
                "--shutdown" => args.shutdown = true,
                "--realtime" => {}
                "--lanes" => lanes::create(&orb)?,
                other => panic!("unknown argument {other}"),
            }
        }
        Ok((args, orb))
    }
}

/// Returns a builder of a further ORB with the certificate and the trusted authorities of the first one.
pub fn trusting_alike() -> Builder {
    let args: Vec<String> = std::env::args().collect();
    let pairs = args.windows(2).filter_map(|pair| match pair {
        [name, value] => Some((name.strip_prefix("-ORB")?, value)),
        _ => None,
    });
    let about_trust = pairs.filter(|(name, _)| name.starts_with("Tls") || *name == "SecureOnly");
    about_trust.fold(Orb::builder(), |builder, (name, value)| builder.setting(name, value))
}

/// Adds RIOP's data to each call, which peers without RIOP must ignore.
fn realtime(orb: &Orb) -> Orb {
    let rhythm = Qos {
        priority: Some(20_000),
        importance: 7,
        period: Some(Duration::from_millis(50)),
        deadline: Some(Duration::from_millis(20)),
        class: CommunicationClass::Isochronous,
    };
    let set = orb.policies().set(RequestQos(rhythm));
    set.expect("a policy that contradicts no other");
    orb.clone()
}

/// Interceptor that adds a priority (RTCorbaPriority) to each call, as for an object that uses it, which peers without
/// RT-CORBA must ignore.
struct Priority;

impl ClientInterceptor for Priority {
    fn send_request(&self, request: &mut ClientRequest<'_>) -> Result<(), Interrupt> {
        request.add_request_service_context(10, vec![0, 0, 0x4e, 0x20], false)?;
        Ok(())
    }
}

/// Ends the process at a time limit, even without the harness.
fn end_in_time() {
    std::thread::sleep(Duration::from_secs(300));
    std::process::exit(3);
}

/// Callback servant, used by clients and servers.
pub struct Callback {
    me: Mutex<Option<CallbackRef>>,
    heard: Mutex<String>,
}

impl Callback {
    /// Activates a new servant.
    pub fn activate(orb: &Orb) -> Result<(std::sync::Arc<Self>, CallbackRef), SystemException> {
        let servant = std::sync::Arc::new(Self { me: Mutex::default(), heard: Mutex::default() });
        let reference: CallbackRef = lanes::declared(orb)
            .activate(std::sync::Arc::clone(&servant))
            .map_err(|_| internal())?;
        *servant.me.lock().expect("not poisoned") = Some(reference.clone());
        Ok((servant, reference))
    }

    /// Returns the text of the last call.
    pub fn heard(&self) -> String {
        self.heard.lock().expect("not poisoned").clone()
    }
}

impl interop::Callback for Callback {
    fn answer(&self, question: i32) -> Result<i32, SystemException> {
        Ok(question * 2)
    }

    fn fail(&self, code: i32) -> Result<(), interop::callback::FailError> {
        let record = Record {
            name: "callback".to_owned(),
            position: Point { tag: 1, x: 2.0, y: 3, height: 4, visible: true },
            paint: Colour::Blue,
            numbers: Vec::new(),
            checksum: [0, 1, 2, 3, 4],
            notes: Vec::new(),
        };
        Err(Detailed { reason: "asked to".to_owned(), code, context_record: record }.into())
    }

    fn down(&self, other: Option<&CallbackRef>, depth: i32) -> Result<i32, SystemException> {
        if depth == 0 {
            return Ok(0);
        }
        let me = self.me.lock().expect("not poisoned").clone();
        Ok(1 + other.ok_or(internal())?.down(me.as_ref(), depth - 1)?)
    }

    fn tell(&self, news: &str) {
        *self.heard.lock().expect("not poisoned") = news.to_owned();
    }
}

/// Returns the exception for errors of the test itself.
pub fn internal() -> SystemException {
    SystemException::internal(0, oxorb::CompletionStatus::Maybe)
}
