//! Filters of the Notification Service, in its extended trader constraint language (Notification Service 1.1, section
//! 2.4).
//!
//! A [`Constraint`] is parsed and checked once, and then evaluated for structured events ([`Event`]), anys, and lists
//! of properties ([`Properties`]). [`event_type`] implements the rules for the wildcards of event types.
//!
//! ```
//! use oxorb_cdr::Any;
//! use oxorb_notify::etcl::{Constraint, Event, Grammar, Subject};
//!
//! struct Alarm {
//!     body: [(&'static str, Any); 2],
//!     rest: Any,
//! }
//!
//! impl Event for Alarm {
//!     fn domain_name(&self) -> &str { "Telecom" }
//!     fn type_name(&self) -> &str { "CommunicationsAlarm" }
//!     fn event_name(&self) -> &str { "lost link" }
//!     fn variable_header(&self, _at: usize) -> Option<(&str, &Any)> { None }
//!     fn filterable_data(&self, at: usize) -> Option<(&str, &Any)> {
//!         self.body.get(at).map(|(name, value)| (*name, value))
//!     }
//!     fn remainder_of_body(&self) -> &Any { &self.rest }
//! }
//!
//! let alarm = Alarm {
//!     body: [("severity", Any::new(4i16)), ("site", Any::new(String::from("Ulm")))],
//!     rest: Any::default(),
//! };
//! let text = "$type_name == 'CommunicationsAlarm' and ($severity >= 3 or $site ~ 'UlmKöln')";
//! let constraint = Constraint::parse(text, Grammar::Extended)?;
//! assert!(constraint.matches(Subject::Structured(&alarm)));
//!
//! let error = Constraint::parse("$severity >= ", Grammar::Extended).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "constraint, at octet 13 (the end): expected a value, found the end: write a number, a string in '...', TRUE, \
//!      FALSE, a name or a component such as $.header"
//! );
//! # Ok::<(), oxorb_notify::etcl::ParseError>(())
//! ```
//!
//! Real-time cost: evaluation takes no lock and makes no system call (`$curtime` reads the clock). It allocates no
//! memory for simple values, or for values in an any that was received, except for wide strings, nested anys and
//! valuetypes. It also allocates memory for structs, unions and sequences in an any that was never sent. The time is at
//! most proportional to the length of the constraint times the octets of the event, and is limited to
//! [`ConstraintLimits::work`] steps.

mod arithmetic;
mod constraint;
mod error;
mod evaluate;
pub mod event_type;
#[doc(hidden)]
pub mod fuzz;
mod node;
mod octets;
mod parse;
mod part;
mod path;
mod scan;
mod scratch;
mod settings;
mod subject;
mod tree;
mod value;

pub use constraint::Constraint;
pub use error::{Mismatch, ParseError, Reason};
pub use settings::{ConstraintLimits, Dialect, Grammar, Options};
pub use subject::{Event, Properties, Subject};
