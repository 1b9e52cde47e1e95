//! Sizes of requests and replies, computed from the IDL.

use std::fmt;

use oxorb_idl::model::{DefKind, Direction, Model};

use crate::plan::{Call, Plan, Size, calls, size};

/// Sizes of every operation of a file; prints as a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// Rows in the order of the IDL.
    pub rows: Vec<Row>,
}

/// Sizes of one operation's message bodies. They exclude the GIOP header, which has at least 24 octets and contains the
/// object key and the service contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Interface that declares it, as `bank::Account`.
    pub interface: String,
    /// Name on the wire: attributes are `_get_x` and `_set_x`.
    pub operation: String,
    /// Size of the arguments.
    pub request: Bounds,
    /// Size of the results; none for a oneway operation.
    pub reply: Option<Bounds>,
    /// Size of the declared exceptions, with their ids; none if it declares none.
    pub exceptions: Option<Bounds>,
}

/// Minimum and maximum number of octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Minimum, without padding.
    pub min: u64,
    /// Maximum, with padding; `None` if a string, sequence, reference or the like is unbounded.
    pub max: Option<u64>,
}

/// Returns the sizes of the operations of the interfaces in the main file.
///
/// Operations with types that have no mapping yet are left out.
pub fn sizes(model: &Model) -> Sizes {
    let mut rows = Vec::new();
    for def in model.defs().filter(|def| def.in_main_file) {
        let DefKind::Interface(interface) = &def.kind else {
            continue;
        };
        let Ok(calls) = calls(model, interface) else {
            continue;
        };
        for call in calls.iter().filter(|call| call.travels(model)) {
            let (interface, operation) = (def.scoped_name.clone(), call.wire_name.to_string());
            rows.push(Row {
                interface,
                operation,
                request: request(model, call),
                reply: (!call.oneway).then(|| reply(model, call)),
                exceptions: exceptions(model, call),
            });
        }
    }
    Sizes { rows }
}

/// Returns the number of octets to reserve before the arguments of a call are written: the maximum, or the minimum if
/// the maximum is unbounded or unreasonable. `None` if every message has this space anyway, and for more than 1 MiB.
pub(crate) fn room(model: &Model, call: &Call<'_>) -> Option<u32> {
    room_of(request(model, call))
}

/// Returns the octets to reserve before the results are written.
pub(crate) fn room_for_results(model: &Model, call: &Call<'_>) -> Option<u32> {
    room_of(reply(model, call))
}

fn room_of(bounds: Bounds) -> Option<u32> {
    let octets = bounds.max.filter(|most| *most <= ROOM_AT_MOST);
    let octets = octets.unwrap_or(bounds.min);
    (ROOM_ANYWAY..=ROOM_AT_MOST)
        .contains(&octets)
        .then(|| u32::try_from(octets).expect("at most a mebibyte"))
}

/// Size in octets that the buffer of every message has at least.
const ROOM_ANYWAY: u64 = 64;

/// Maximum number of octets to reserve for data of variable size.
const ROOM_AT_MOST: u64 = 1 << 20;

fn request(model: &Model, call: &Call<'_>) -> Bounds {
    let sent = call.args.iter().filter(|arg| arg.direction != Direction::Out);
    let bounds = total(model, sent.map(|arg| &arg.plan));
    match call.context.is_empty() {
        true => bounds,
        // The context is sent as a sequence of strings, whose count takes four octets.
        false => Bounds { min: bounds.min + 4, max: None },
    }
}

fn reply(model: &Model, call: &Call<'_>) -> Bounds {
    let returns = call.returns.iter().map(|(_, plan)| plan);
    let received = call.args.iter().filter(|arg| arg.direction != Direction::In);
    total(model, returns.chain(received.map(|arg| &arg.plan)))
}

fn exceptions(model: &Model, call: &Call<'_>) -> Option<Bounds> {
    let each = call.raises.iter().map(|id| {
        let members = Bounds::from(size(model, &Plan::Named(*id)));
        // The repository id has a count of four octets and a final NUL.
        let id = model.def(*id).repository_id.len() as u64 + 5;
        Bounds { min: id + members.min, max: members.max.map(|max| id + max) }
    });
    each.reduce(|a, b| Bounds {
        min: a.min.min(b.min),
        max: a.max.zip(b.max).map(|(a, b)| a.max(b)),
    })
}

/// Adds up values in sequence, the first one at a multiple of eight.
fn total<'p>(model: &Model, plans: impl Iterator<Item = &'p Plan>) -> Bounds {
    let nothing = Bounds { min: 0, max: Some(0) };
    plans.map(|plan| Bounds::from(size(model, plan))).fold(nothing, |all, next| Bounds {
        min: all.min.saturating_add(next.min),
        max: all.max.zip(next.max).and_then(|(a, b)| a.checked_add(b)),
    })
}

impl From<Size> for Bounds {
    fn from(size: Size) -> Self {
        Bounds { min: size.min, max: size.max }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max {
            Some(max) if max == self.min => f.pad(&max.to_string()),
            Some(max) => f.pad(&format!("{} to {max}", self.min)),
            None => f.pad(&format!("{} or more", self.min)),
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["operation", "request", "reply", "exceptions"].map(String::from);
        let shown = |bounds: Option<Bounds>| bounds.map_or("-".to_owned(), |one| one.to_string());
        let lines = self.rows.iter().map(|row| {
            [
                format!("{}::{}", row.interface, row.operation),
                row.request.to_string(),
                shown(row.reply),
                shown(row.exceptions),
            ]
        });
        let lines: Vec<_> = [heads].into_iter().chain(lines).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2)];
        for [operation, request, reply, exceptions] in &lines {
            let [a, b, c] = widths;
            writeln!(f, "{operation:a$}  {request:b$}  {reply:c$}  {exceptions}")?;
        }
        Ok(())
    }
}
