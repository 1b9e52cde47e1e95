//! Service context 30: the id and the scheduling parameters of a distributable thread, in the
//! encoding of TAO's schedulers over Kokyu.
//!
//! The context is an encapsulation of an Any that holds this struct:
//!
//! ```idl
//! #pragma prefix "omg.org"
//! module Kokyu {
//!     typedef sequence<octet> GuidType;
//!     struct Svc_Ctxt_DSRT_QoS {
//!         GuidType guid;
//!         long importance;
//!         long criticality;
//!         RTCORBA::Priority desired_priority;
//!         TimeBase::TimeT deadline;
//!         TimeBase::TimeT estimated_initial_execution_time;
//!     };
//! };
//! ```

use std::fmt;
use std::sync::OnceLock;

use oxorb::cdr::{Decode as _, Decoder, Dialect, Encode as _, Encoder, Error};
use oxorb::values::{ByteOrder, TypeCode};

use crate::{Id, MAX_ID};

/// Id of the service context (TAO's `SchedulingInfo`).
pub const SCHEDULING_INFO: u32 = 30;

/// Longest accepted context, in octets. Those of TAO have less than 500 octets.
pub const MAX_CONTEXT: usize = 4096;

/// Id and scheduling parameters of a distributable thread in its service context
/// (`Kokyu::Svc_Ctxt_DSRT_QoS`). Fields that a discipline does not use are 0.
///
/// ```
/// use oxorb_rtscheduling::{DsrtQos, Id};
///
/// let qos = DsrtQos { criticality: 3, deadline: 1_000, ..DsrtQos::new(Id::new()) };
/// let mut octets = Vec::new();
/// qos.append_to(&mut octets);
/// assert_eq!(DsrtQos::parse(&octets)?, qos);
/// # Ok::<(), oxorb_rtscheduling::BadContext>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DsrtQos {
    /// Id of the thread (`guid`).
    pub id: Id,
    /// Importance, for MIF: larger first.
    pub importance: i32,
    /// Criticality, for MUF: larger first.
    pub criticality: i32,
    /// CORBA priority, for FP: larger first.
    pub desired_priority: i16,
    /// Deadline in units of 100 ns since the beginning of 1970 (UTC), for MUF.
    pub deadline: u64,
    /// Remaining execution time, in units of 100 ns, for MUF (`estimated_initial_execution_time`).
    pub execution_time: u64,
}

/// Reason why a peer's scheduling context cannot be used.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadContext {
    /// Length of a context that is longer than [`MAX_CONTEXT`].
    #[error("it has {0} octets, but the limit is {MAX_CONTEXT}")]
    TooLong(usize),
    /// Octets that cannot be decoded, with the error.
    #[error("it cannot be decoded: {0}")]
    Malformed(Error),
    /// Name of the type of the context's value, if it is not `Svc_Ctxt_DSRT_QoS`.
    #[error("it contains a {0} instead of a Kokyu::Svc_Ctxt_DSRT_QoS")]
    OtherType(String),
    /// Length of an id longer than [`MAX_ID`].
    #[error("the thread's id has {0} octets, but the limit is {MAX_ID}")]
    IdTooLong(usize),
    /// Context without an id.
    #[error("the thread has no id")]
    NoId,
    /// Reason why the scheduler rejected the context.
    #[error("{0}")]
    Rejected(&'static str),
}

impl DsrtQos {
    /// Returns the parameters of a thread with this id, all of them 0.
    pub fn new(id: Id) -> DsrtQos {
        DsrtQos {
            id,
            importance: 0,
            criticality: 0,
            desired_priority: 0,
            deadline: 0,
            execution_time: 0,
        }
    }

    /// Appends the context to `octets`, in native byte order. Does not allocate if 500 octets of
    /// capacity are free.
    pub fn append_to(&self, octets: &mut Vec<u8>) {
        let start = octets.len();
        octets.extend_from_slice(prefix());
        let align = |octets: &mut Vec<u8>, to: usize| {
            let length = (octets.len() - start).next_multiple_of(to);
            octets.resize(start + length, 0);
        };
        let id = self.id.octets();
        align(octets, 4);
        octets.extend_from_slice(&(id.len() as u32).to_ne_bytes());
        octets.extend_from_slice(id);
        align(octets, 4);
        octets.extend_from_slice(&self.importance.to_ne_bytes());
        octets.extend_from_slice(&self.criticality.to_ne_bytes());
        octets.extend_from_slice(&self.desired_priority.to_ne_bytes());
        align(octets, 8);
        octets.extend_from_slice(&self.deadline.to_ne_bytes());
        octets.extend_from_slice(&self.execution_time.to_ne_bytes());
    }

    /// Decodes the context of a request or a reply, in either byte order. Does not allocate if the
    /// type is encoded as here.
    ///
    /// # Errors
    /// [`BadContext`]; the cost of the check is linear in the number of octets, and longer contexts
    /// than [`MAX_CONTEXT`] are not decoded.
    pub fn parse(octets: &[u8]) -> Result<DsrtQos, BadContext> {
        if octets.len() > MAX_CONTEXT {
            return Err(BadContext::TooLong(octets.len()));
        }
        let mut d = Decoder::encapsulated(octets, Dialect::GIOP_1_2)?;
        if octets.starts_with(prefix()) {
            // Skip the type. The octet of the byte order, which the prefix includes, is consumed
            // already.
            d.octets(prefix().len() - 1)?;
        } else {
            let ty = TypeCode::decode(&mut d)?;
            if !ty.equivalent(type_code()) {
                let name = ty.name().or(ty.id());
                let named = name.map_or_else(|| ty.kind().name().to_owned(), str::to_owned);
                return Err(BadContext::OtherType(named));
            }
        }
        let length = d.length(None, 1)?;
        let id = Id::from_octets(d.octets(length)?).ok_or(BadContext::IdTooLong(length))?;
        if length == 0 {
            return Err(BadContext::NoId);
        }
        let qos = DsrtQos {
            id,
            importance: d.long()?,
            criticality: d.long()?,
            desired_priority: d.short()?,
            deadline: d.ulonglong()?,
            execution_time: d.ulonglong()?,
        };
        d.finish()?;
        Ok(qos)
    }
}

/// Returns the common beginning of contexts: the byte order, and the type of the Any's value.
fn prefix() -> &'static [u8] {
    static PREFIX: OnceLock<Vec<u8>> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let write = |e: &mut Encoder<'_>| type_code().encode(e);
        Encoder::encapsulated(ByteOrder::NATIVE, Dialect::GIOP_1_2, write)
            .expect("names of ASCII letters")
    })
}

/// Returns the type code of the struct, with all names.
fn type_code() -> &'static TypeCode {
    static TYPE: OnceLock<TypeCode> = OnceLock::new();
    TYPE.get_or_init(|| {
        let alias = TypeCode::alias;
        let guid = alias(
            "IDL:omg.org/Kokyu/GuidType:1.0",
            "GuidType",
            TypeCode::sequence(TypeCode::OCTET),
        );
        let priority = alias("IDL:omg.org/RTCORBA/Priority:1.0", "Priority", TypeCode::SHORT);
        let time = alias("IDL:omg.org/TimeBase/TimeT:1.0", "TimeT", TypeCode::ULONGLONG);
        TypeCode::structure(
            "IDL:omg.org/Kokyu/Svc_Ctxt_DSRT_QoS:1.0",
            "Svc_Ctxt_DSRT_QoS",
            [
                ("guid", guid),
                ("importance", TypeCode::LONG),
                ("criticality", TypeCode::LONG),
                ("desired_priority", priority),
                ("deadline", time.clone()),
                ("estimated_initial_execution_time", time),
            ],
        )
    })
}

impl From<Error> for BadContext {
    fn from(error: Error) -> Self {
        BadContext::Malformed(error)
    }
}

impl fmt::Debug for BadContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
