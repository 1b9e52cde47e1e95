//! Signatures of operations.

use oxorb_cdr::TypeCode;
use oxorb_core::{NO_SLOT, Operation};
use oxorb_giop::Response;

/// Direction of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Direction from client to server.
    In,
    /// Direction from server to client.
    Out,
    /// Two-way direction: client to server, and back.
    InOut,
}

impl Direction {
    /// Reports whether the client sends a value.
    pub fn is_sent(self) -> bool {
        self != Direction::Out
    }

    /// Reports whether the server returns a value.
    pub fn is_returned(self) -> bool {
        self != Direction::In
    }

    /// Returns the IDL keyword.
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        }
    }
}

/// Parameter of an operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Name as in IDL, used in messages only.
    pub name: String,
    /// Direction of the parameter.
    pub direction: Direction,
    /// Type of the parameter.
    pub ty: TypeCode,
}

/// Name, parameters, result and exceptions of an operation, sufficient to call or to serve it.
///
/// ```
/// use oxorb_dynamic::{Signature, TypeCode};
///
/// let overdrawn = TypeCode::exception("IDL:Overdrawn:1.0", "Overdrawn", [("missing", TypeCode::LONG)]);
/// let withdraw = Signature::new("withdraw")
///     .with_in("amount", TypeCode::ULONG)
///     .returning(TypeCode::LONGLONG)
///     .raising(overdrawn);
/// assert_eq!(withdraw.to_string(), "long long withdraw(in unsigned long amount) raises (Overdrawn)");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// Wire name: `withdraw`, `_get_balance`.
    pub operation: String,
    /// Parameters in the order of IDL.
    pub params: Vec<Parameter>,
    /// Type of the return value; [`TypeCode::VOID`] if there is none.
    pub returns: TypeCode,
    /// Declared exceptions.
    pub raises: Vec<TypeCode>,
    /// Strings of the `context` clause.
    pub context: Vec<String>,
    /// Whether the operation is oneway, without a reply.
    pub oneway: bool,
}

impl Signature {
    /// Creates a signature without parameters, result and exceptions.
    pub fn new(operation: impl Into<String>) -> Self {
        Signature {
            operation: operation.into(),
            params: Vec::new(),
            returns: TypeCode::VOID,
            raises: Vec::new(),
            context: Vec::new(),
            oneway: false,
        }
    }

    /// Creates the signature for reading an attribute.
    pub fn attribute_get(attribute: &str, ty: TypeCode) -> Self {
        Self::new(format!("_get_{attribute}")).returning(ty)
    }

    /// Creates the signature for writing an attribute.
    pub fn attribute_set(attribute: &str, ty: TypeCode) -> Self {
        Self::new(format!("_set_{attribute}")).with_in(attribute, ty)
    }

    /// Adds an `in` parameter.
    #[must_use]
    pub fn with_in(self, name: impl Into<String>, ty: TypeCode) -> Self {
        self.with(name, Direction::In, ty)
    }

    /// Adds an `out` parameter.
    #[must_use]
    pub fn with_out(self, name: impl Into<String>, ty: TypeCode) -> Self {
        self.with(name, Direction::Out, ty)
    }

    /// Adds an `inout` parameter.
    #[must_use]
    pub fn with_inout(self, name: impl Into<String>, ty: TypeCode) -> Self {
        self.with(name, Direction::InOut, ty)
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, direction: Direction, ty: TypeCode) -> Self {
        self.params.push(Parameter { name: name.into(), direction, ty });
        self
    }

    /// Sets the type of the return value.
    #[must_use]
    pub fn returning(mut self, ty: TypeCode) -> Self {
        self.returns = ty;
        self
    }

    /// Adds an exception.
    #[must_use]
    pub fn raising(mut self, exception: TypeCode) -> Self {
        self.raises.push(exception);
        self
    }

    /// Sets the strings of the `context` clause.
    #[must_use]
    pub fn with_context<S: Into<String>>(mut self, clause: impl IntoIterator<Item = S>) -> Self {
        self.context = clause.into_iter().map(S::into).collect();
        self
    }

    /// Makes the operation `oneway`.
    #[must_use]
    pub fn oneway(mut self) -> Self {
        self.oneway = true;
        self
    }

    /// Iterates over the parameters that the client sends.
    pub fn inputs(&self) -> impl Iterator<Item = &Parameter> {
        self.params.iter().filter(|param| param.direction.is_sent())
    }

    /// Iterates over the parameters that the server returns.
    pub fn outputs(&self) -> impl Iterator<Item = &Parameter> {
        let returned = |param: &&Parameter| param.direction.is_returned();
        self.params.iter().filter(returned)
    }

    /// Reports whether there is a return value.
    pub fn has_result(&self) -> bool {
        self.returns.resolved() != TypeCode::VOID
    }

    /// Returns the declared exception with this repository id.
    pub fn exception(&self, repository_id: &str) -> Option<&TypeCode> {
        let has_id = |ty: &&TypeCode| ty.id() == Some(repository_id);
        self.raises.iter().find(has_id)
    }

    /// Returns the operation in the form that requests need.
    pub(crate) fn request(&self) -> Operation<'_> {
        Operation {
            slot: NO_SLOT,
            name: &self.operation,
            response: if self.oneway { Response::None } else { Response::WithTarget },
            request: 0,
            arguments_at: None,
        }
    }
}

impl std::fmt::Display for Signature {
    /// Writes the signature as in IDL.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.oneway {
            f.write_str("oneway ")?;
        }
        write!(f, "{} {}(", named(&self.returns), self.operation)?;
        for (at, param) in self.params.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let (direction, ty) = (param.direction.as_str(), named(&param.ty));
            write!(f, "{comma}{direction} {ty} {}", param.name)?;
        }
        f.write_str(")")?;
        if !self.raises.is_empty() {
            let names: Vec<String> = self.raises.iter().map(named).collect();
            write!(f, " raises ({})", names.join(", "))?;
        }
        Ok(())
    }
}

/// Returns a type's name, if it has one, else its text.
fn named(ty: &TypeCode) -> String {
    match ty.name() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => ty.to_string(),
    }
}
