//! Answers, and their conversion to the results of a request.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oxorb::SystemException;
use oxorb_dynamic::json::{Names, Reader};
use oxorb_dynamic::{Dynamic, Exception, Results, Signature, TypeCode};
use serde_json::Value;

use super::pattern::Pattern;
use super::template::{Scope, expand};

/// Answer of a script.
#[derive(Debug)]
pub(super) struct Answer {
    when: Pattern,
    /// Remaining number of uses; `None` if unlimited.
    times: Option<u64>,
    given: AtomicU64,
    delay: Duration,
    content: Content,
}

/// Content of an answer; values may refer to the arguments.
#[derive(Debug)]
pub(super) enum Content {
    /// Results; omitted ones are zero, empty or nil.
    Results {
        returns: Option<Value>,
        out: BTreeMap<String, Value>,
    },
    User(TypeCode, Value),
    System(SystemException),
}

impl Answer {
    pub(super) fn new(
        when: Pattern,
        times: Option<u64>,
        delay: Duration,
        content: Content,
    ) -> Self {
        Answer { when, times, given: AtomicU64::new(0), delay, content }
    }

    /// Reports whether the answer matches these arguments and has uses left; takes one use.
    pub(super) fn takes(&self, args: &[Value]) -> bool {
        if !self.when.matches(args) {
            return false;
        }
        let before = self.given.fetch_add(1, Ordering::Relaxed);
        self.times.is_none_or(|times| before < times)
    }

    /// Waits for the configured delay, then returns the results or the exception. The inner error is an error of the
    /// script.
    pub(super) fn give(
        &self,
        signature: &Signature,
        scope: &Scope<'_>,
        names: &dyn Names,
    ) -> Result<Result<Results, Exception>, String> {
        if !self.delay.is_zero() {
            std::thread::sleep(self.delay);
        }
        match &self.content {
            Content::System(exception) => Ok(Err((*exception).into())),
            Content::User(ty, members) => {
                let mut reader = Reader::new(names);
                let members = value(Some(members), ty, scope, &mut reader, "with")?;
                let raised = Exception::user(ty.clone(), members);
                raised.map(Err).map_err(|error| error.to_string())
            }
            Content::Results { returns, out } => {
                let mut reader = Reader::new(names);
                let returns =
                    value(returns.as_ref(), &signature.returns, scope, &mut reader, "returns")?;
                let out = signature
                    .outputs()
                    .map(|param| {
                        value(out.get(&param.name), &param.ty, scope, &mut reader, &param.name)
                    })
                    .collect::<Result<_, _>>()?;
                Ok(Ok(Results { returns, out }))
            }
        }
    }
}

fn value(
    template: Option<&Value>,
    ty: &TypeCode,
    scope: &Scope<'_>,
    reader: &mut Reader<'_>,
    of: &str,
) -> Result<Dynamic, String> {
    let Some(template) = template else {
        return Dynamic::default_for(ty).map_err(|error| format!("{of}: {error}"));
    };
    let json = expand(template, scope).map_err(|why| format!("{of}: {why}"))?;
    let read = reader.from_json(&json, ty);
    read.map_err(|error| error.within(of).to_string())
}
