//! Names that nearly every program needs: `use oxorb::prelude::*;`
//!
//! Traits are imported as `_`, so that their names cannot collide with yours.
//!
//! ```no_run
//! use oxorb::prelude::*;
//!
//! let orb = Orb::builder().args(std::env::args()).build()?;
//! let object: ObjectRef = orb.resolve("corbaname::server.example#Bank")?;
//! println!("{}", object.to_ior());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(no_inline)]
pub use crate::poa::{Poa, Policies};
#[doc(no_inline)]
pub use crate::{
    CompletionStatus, Interface as _, ObjectRef, Orb, Servant as _, SystemException,
    SystemExceptionKind, include_idl,
};
