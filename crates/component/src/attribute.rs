//! Attributes of components and homes, as a deployer sees them.

use oxorb_cdr::TypeCode;

/// An attribute of a component or a home.
#[derive(Debug, Clone, Copy)]
pub struct Attribute {
    /// Name of the attribute.
    pub name: &'static str,
    /// Whether the attribute can be set.
    pub is_settable: bool,
    pub(crate) type_code: fn() -> TypeCode,
}

impl Attribute {
    /// Returns the type code of the attribute.
    pub fn type_code(&self) -> TypeCode {
        (self.type_code)()
    }
}
