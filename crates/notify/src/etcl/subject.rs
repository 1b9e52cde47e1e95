//! Events for which constraints are evaluated.

use oxorb_cdr::Any;

/// A structured event (`CosNotification::StructuredEvent`).
///
/// Implementations return references to their contents. Properties are read by index, starting from 0, until the result
/// is `None`.
pub trait Event {
    /// Returns the domain of the event's type.
    fn domain_name(&self) -> &str;
    /// Returns the name of the event's type.
    fn type_name(&self) -> &str;
    /// Returns the name of the event.
    fn event_name(&self) -> &str;
    /// Returns a property of the variable header by its index.
    fn variable_header(&self, at: usize) -> Option<(&str, &Any)>;
    /// Returns a property of the filterable body by its index.
    fn filterable_data(&self, at: usize) -> Option<(&str, &Any)>;
    /// Returns the remainder of the body.
    fn remainder_of_body(&self) -> &Any;
}

/// A list of names and values (`CosNotification::PropertySeq`). Typed events consist of such a list.
pub trait Properties {
    /// Returns a property by its index, or `None` after the last one.
    fn property(&self, at: usize) -> Option<(&str, &Any)>;
}

impl<N: AsRef<str>> Properties for Vec<(N, Any)> {
    fn property(&self, at: usize) -> Option<(&str, &Any)> {
        self.get(at).map(|(name, value)| (name.as_ref(), value))
    }
}

/// An event for which a constraint is evaluated.
#[derive(Clone, Copy)]
pub enum Subject<'e> {
    /// A structured event.
    Structured(&'e dyn Event),
    /// An untyped event. Its type is named `%ANY` and has no domain.
    Any(&'e Any),
    /// A typed event: the operation and its parameters. Its type is named `%TYPED` and has no domain.
    Properties(&'e dyn Properties),
}

/// A list of properties of an event.
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
