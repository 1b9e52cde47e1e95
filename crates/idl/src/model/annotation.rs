//! Annotations, standard ones and users' own (IDL 4.2, 7.4.15, 8).

use super::{Type, Value};
use crate::source::Span;

/// Annotation as it was applied: `@range(min = 0, max = 10)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// Name without `@`; scoped names as written.
    pub name: String,
    /// Span from `@` to the end of the name.
    pub span: Span,
    /// Parameters in order; the only one without a name is called `value`.
    pub params: Vec<AnnotationParam>,
}

/// Parameter of an applied annotation.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationParam {
    /// Name of the parameter; `value` where none was written.
    pub name: String,
    /// Value of the parameter.
    pub value: AnnotationValue,
}

/// Value of a parameter of an annotation.
#[derive(Debug, Clone, PartialEq)]
pub enum AnnotationValue {
    /// A constant.
    Constant(Value),
    /// A name that no constant has: of a type, or nothing the front end knows.
    Name(String),
}

impl Annotation {
    /// The value of a parameter, if it is set and constant.
    pub fn value(&self, param: &str) -> Option<&Value> {
        let found = self.params.iter().find(|given| given.name == param)?;
        match &found.value {
            AnnotationValue::Constant(value) => Some(value),
            AnnotationValue::Name(_) => None,
        }
    }
}

/// A user's own annotation: `@annotation Topic { long version default 1; };`
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationDef {
    /// Names from file scope down to this one, joined by `::`.
    pub scoped_name: String,
    /// Span of the name.
    pub span: Span,
    /// Members in order.
    pub members: Vec<AnnotationMember>,
}

/// Member of a user's own annotation.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationMember {
    /// Name of the member.
    pub name: String,
    /// Type of the member; `None` is `any`.
    pub ty: Option<Type>,
    /// Value where an application does not set it.
    pub default: Option<Value>,
}
