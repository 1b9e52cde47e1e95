//! Servant that answers from a script, and its log.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use oxorb::cdr::Encoder;
use oxorb::servant::escape;
use oxorb::values::{ByteOrder, Printable};
use oxorb::{CompletionStatus, Orb, SystemException, SystemExceptionKind, minor};
use oxorb_dynamic::json::Shared;
use oxorb_dynamic::{Dynamic, DynamicServant, Exception, Invocation, Results, Signature};
use oxorb_ifr::types::Interface;
use oxorb_sys::sync::Mutex;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::script::Table;
use super::template::Scope;
use crate::call::{ExceptionJson, ResultsJson};
use crate::types::{Known, Source};
use oxorb_terminal::output::Escaping;

/// Servant that answers every request from a table.
pub(super) struct StandIn {
    interface: Interface,
    source: Source,
    orb: Orb,
    table: Table,
    /// Whether operations that the table lacks return default values.
    defaults: bool,
    /// Current values of the attributes.
    attributes: Mutex<HashMap<String, Dynamic>>,
    /// Number of requests so far of each operation.
    counts: HashMap<String, AtomicU64>,
    log: Log,
}

impl StandIn {
    pub(super) fn new(
        interface: Interface,
        source: Source,
        orb: Orb,
        mut table: Table,
        defaults: bool,
        log: Log,
    ) -> Self {
        let operations = interface.operations.iter();
        StandIn {
            counts: operations.map(|known| (known.operation.clone(), AtomicU64::new(0))).collect(),
            attributes: Mutex::new(std::mem::take(&mut table.attributes)),
            source,
            interface,
            orb,
            table,
            defaults,
            log,
        }
    }

    fn answer(&self, signature: &Signature, args: &[Dynamic]) -> Result<Results, Exception> {
        let count = match self.counts.get(&signature.operation) {
            Some(counter) => counter.fetch_add(1, Ordering::Relaxed) + 1,
            None => 0,
        };
        let names = signature.inputs().map(|param| param.name.as_str());
        let known = self.known();
        let shared = Shared::new(args).with_names(&known);
        let values = args.iter().zip(signature.inputs()).map(|(arg, param)| {
            let json = serde_json::to_value(shared.json(arg));
            json.map_err(|error| refused(signature, &param.name, &error.to_string()))
        });
        let json: Vec<Value> = values.collect::<Result<_, _>>()?;
        let answers = self.table.answers.get(&signature.operation);
        let answer = answers.into_iter().flatten().find(|answer| answer.takes(&json));
        let Some(answer) = answer else {
            return self.unscripted(signature, args);
        };
        let args: Vec<(&str, Value)> = names.zip(json).collect();
        let scope = Scope { args: &args, count };
        let given = answer.give(signature, &scope, &known);
        given.map_err(|why| self.broken(signature, &why))?
    }

    fn known(&self) -> Known<'_> {
        Known { source: &self.source, orb: &self.orb, defaults: self.defaults }
    }

    /// Answers a request that the script lacks: reads or sets an attribute, or returns default values if allowed.
    fn unscripted(&self, signature: &Signature, args: &[Dynamic]) -> Result<Results, Exception> {
        let mut attributes = self.attributes.lock();
        if let (Some(name), [value]) = (signature.operation.strip_prefix("_set_"), args) {
            attributes.insert(name.to_owned(), value.clone());
            return Ok(Results::default());
        }
        let read = signature.operation.strip_prefix("_get_");
        if let Some(value) = read.and_then(|name| attributes.get(name)) {
            return Ok(Results { returns: value.clone(), out: Vec::new() });
        }
        drop(attributes);
        if !self.defaults && read.is_none() && !signature.oneway {
            return Err(NOT_SCRIPTED.into());
        }
        let default = |ty| {
            Dynamic::default_for(ty).map_err(|error| self.broken(signature, &error.to_string()))
        };
        Ok(Results {
            returns: default(&signature.returns)?,
            out: signature.outputs().map(|param| default(&param.ty)).collect::<Result<_, _>>()?,
        })
    }

    /// Reports an error of the script that appears only at run time, and returns the exception for it.
    fn broken(&self, signature: &Signature, why: &str) -> Exception {
        oxorb_terminal::note!(
            "error: the script's answer to {}: {}",
            signature.operation,
            Printable(why)
        );
        BROKEN.into()
    }
}

/// Reports unreadable input of a client on standard error, and returns the exception for it.
fn refused(signature: &Signature, param: &str, why: &str) -> Exception {
    oxorb_terminal::note!(
        "refused {}: the client's argument {param}: {}",
        signature.operation,
        Printable(why)
    );
    let minor = minor::marshal::OTHER;
    SystemException::marshal(minor, CompletionStatus::No).into()
}

/// Returns why results cannot be sent to the client of the current request.
fn unsendable(signature: &Signature, results: &Results) -> Option<String> {
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, escape::client());
    let outputs = signature.outputs().zip(&results.out);
    let outputs = outputs.map(|(param, value)| (param.name.as_str(), &param.ty, value));
    std::iter::once(("returns", &signature.returns, &results.returns)).chain(outputs).find_map(
        |(name, ty, value)| {
            let written = value.encode(ty, &mut e);
            written.err().map(|error| format!("{name}: {error}"))
        },
    )
}

/// Exception for an operation that the script lacks.
const NOT_SCRIPTED: SystemException =
    SystemException::new(SystemExceptionKind::NoImplement, 0, CompletionStatus::No);

/// Exception for an answer that the script cannot produce.
const BROKEN: SystemException =
    SystemException::new(SystemExceptionKind::Internal, 0, CompletionStatus::No);

impl DynamicServant for StandIn {
    fn repository_id(&self) -> &str {
        &self.interface.repository_id
    }

    fn is_a(&self, id: &str) -> bool {
        self.interface.is_a(id)
    }

    fn signature(&self, operation: &str) -> Option<&Signature> {
        self.interface.signature(operation)
    }

    fn invoke(&self, invocation: Invocation<'_>) -> Result<Results, Exception> {
        let signature = invocation.signature;
        let answer = self.answer(signature, &invocation.args);
        let known = self.known();
        self.log.request(signature, &invocation.args, &answer, &known);
        answer
    }
}

/// Log with a line of JSON for each event.
pub(super) struct Log {
    start: Instant,
    requests: AtomicU64,
}

/// Request and its answer.
#[derive(Serialize)]
struct Line<'l> {
    request: u64,
    /// Milliseconds since the start.
    ms: u64,
    operation: &'l str,
    args: Arguments<'l>,
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<ResultsJson<'l>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raised: Option<ExceptionJson<'l>>,
    /// Reason why the results were not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsent: Option<String>,
}

struct Arguments<'l>(&'l Signature, &'l [Dynamic], &'l Known<'l>);

impl Serialize for Arguments<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let names = self.0.inputs().map(|param| &param.name);
        let shared = Shared::new(self.1).with_names(self.2);
        // If an argument cannot be shown, the request must be logged all the same.
        let values = self.1.iter().map(|value| {
            let json = serde_json::to_value(shared.json(value));
            json.unwrap_or_else(|error| json!({ "unreadable": error.to_string() }))
        });
        to.collect_map(names.zip(values))
    }
}

impl Log {
    pub(super) fn new() -> Self {
        Log { start: Instant::now(), requests: AtomicU64::new(0) }
    }

    /// Prints a line of the log. Serving continues even if no reader is left.
    pub(super) fn line(line: &impl Serialize) {
        let mut text = Vec::new();
        if serde_json::to_writer(Escaping(&mut text), line).is_ok() {
            text.push(b'\n');
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(&text).and_then(|()| out.flush());
        }
    }

    fn request(
        &self,
        signature: &Signature,
        args: &[Dynamic],
        answer: &Result<Results, Exception>,
        known: &Known<'_>,
    ) {
        let unsent = match answer {
            Ok(results) if !signature.oneway => unsendable(signature, results),
            _ => None,
        };
        Self::line(&Line {
            request: self.requests.fetch_add(1, Ordering::Relaxed) + 1,
            ms: self.start.elapsed().as_millis() as u64,
            operation: &signature.operation,
            args: Arguments(signature, args, known),
            results: match answer {
                Ok(results) if unsent.is_none() => {
                    Some(ResultsJson::new(signature, results, known))
                }
                _ => None,
            },
            raised: answer.as_ref().err().map(|raised| ExceptionJson(raised, known)),
            unsent,
        });
    }
}
