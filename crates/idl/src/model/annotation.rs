//! What annotations say, standard ones and users' own (IDL 4.2, 7.4.15, 8).

use super::{Type, Value};
use crate::source::Span;

/// One annotation as it was applied: `@range(min = 0, max = 10)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// Without `@`; scoped names as written.
    pub name: String,
    /// From `@` to the end of the name.
    pub span: Span,
    /// In order; the only one without a name is called `value`.
    pub params: Vec<AnnotationParam>,
}

/// One parameter of an applied annotation.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationParam {
    /// Its name; `value` where none was written.
    pub name: String,
    /// What it is set to.
    pub value: AnnotationValue,
}

/// What a parameter of an annotation is set to.
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
    /// Where the name stands.
    pub span: Span,
    /// In order.
    pub members: Vec<AnnotationMember>,
}

/// One member of a user's own annotation.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationMember {
    /// Its name.
    pub name: String,
    /// Its type; `None` is `any`.
    pub ty: Option<Type>,
    /// What it is where an application does not set it.
    pub default: Option<Value>,
}
