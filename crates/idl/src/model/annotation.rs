//! Annotations: standard and user-defined (IDL 4.2, 7.4.15, 8).

use super::{Type, Value};
use crate::source::Span;

/// Applied annotation: `@range(min = 0, max = 10)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// Name without `@`; scoped names as written.
    pub name: String,
    /// Span from `@` to the end of the name.
    pub span: Span,
    /// Parameters in order; a single unnamed one is called `value`.
    pub params: Vec<AnnotationParam>,
}

/// Parameter of an applied annotation.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationParam {
    /// Name of the parameter; `value` if none was written.
    pub name: String,
    /// Value of the parameter.
    pub value: AnnotationValue,
}

/// Value of a parameter of an annotation.
#[derive(Debug, Clone, PartialEq)]
pub enum AnnotationValue {
    /// A constant.
    Constant(Value),
    /// Name that is no constant: of a type, or unknown to the front end.
    Name(String),
}

impl Annotation {
    /// Returns the value of a parameter, if it is set and constant.
    pub fn value(&self, param: &str) -> Option<&Value> {
        let found = self.params.iter().find(|given| given.name == param)?;
        match &found.value {
            AnnotationValue::Constant(value) => Some(value),
            AnnotationValue::Name(_) => None,
        }
    }
}

/// User-defined annotation: `@annotation Topic { long version default 1; };`
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationDef {
    /// Names from file scope down to this one, joined by `::`.
    pub scoped_name: String,
    /// Span of the name.
    pub span: Span,
    /// Members in order.
    pub members: Vec<AnnotationMember>,
}

/// Member of a user-defined annotation.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationMember {
    /// Name of the member.
    pub name: String,
    /// Type of the member; `None` is `any`.
    pub ty: Option<Type>,
    /// Value if an application does not set it.
    pub default: Option<Value>,
}
