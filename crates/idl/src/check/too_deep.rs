//! Declarations or expressions that nest too deeply.

use crate::diagnostic::{Code, Problem};

#[derive(Debug)]
pub(crate) struct TooDeep {
    pub(crate) limit: u32,
}

impl Problem for TooDeep {
    fn code(&self) -> Code {
        Code("E0320")
    }

    fn message(&self) -> String {
        format!("nested more than {} levels deep", self.limit)
    }

    fn help(&self) -> Option<String> {
        Some("name the inner parts with `typedef` or `const`".into())
    }
}
