//! Things that constraints are evaluated over.

use oxorb_cdr::Any;

/// Structured event, as `CosNotification::StructuredEvent` has it.
///
/// An implementation lends what it has. Properties are asked for by number, from 0 until the answer is `None`.
pub trait Event {
    /// Returns the domain of the event's type.
    fn domain_name(&self) -> &str;
    /// Returns the name of the event's type.
    fn type_name(&self) -> &str;
    /// Returns the name of the event.
    fn event_name(&self) -> &str;
    /// Returns a property of the variable header, by its number.
    fn variable_header(&self, at: usize) -> Option<(&str, &Any)>;
    /// Returns a property of the filterable body, by its number.
    fn filterable_data(&self, at: usize) -> Option<(&str, &Any)>;
    /// Returns the remainder of the body.
    fn remainder_of_body(&self) -> &Any;
}

/// List of names and values, as `CosNotification::PropertySeq` has it: a typed event.
pub trait Properties {
    /// Returns a property by its number, from 0 until the answer is `None`.
    fn property(&self, at: usize) -> Option<(&str, &Any)>;
}

impl<N: AsRef<str>> Properties for Vec<(N, Any)> {
    fn property(&self, at: usize) -> Option<(&str, &Any)> {
        self.get(at).map(|(name, value)| (name.as_ref(), value))
    }
}

/// Event to evaluate a constraint over.
#[derive(Clone, Copy)]
pub enum Subject<'e> {
    /// A structured event.
    Structured(&'e dyn Event),
    /// An untyped event. Its type is named `%ANY` and has no domain.
    Any(&'e Any),
    /// A typed event: the operation and its parameters. Its type is named `%TYPED` and has no domain.
    Properties(&'e dyn Properties),
}

/// List of properties of an event.
#[derive(Clone, Copy)]
pub(crate) enum List<'e> {
    VariableHeader(&'e dyn Event),
    FilterableData(&'e dyn Event),
    Whole(&'e dyn Properties),
}

impl<'e> List<'e> {
    pub(crate) fn property(self, at: usize) -> Option<(&'e str, &'e Any)> {
        match self {
            Self::VariableHeader(event) => event.variable_header(at),
            Self::FilterableData(event) => event.filterable_data(at),
            Self::Whole(list) => list.property(at),
        }
    }
}
