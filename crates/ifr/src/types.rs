//! Declarations of an IDL file as type codes and signatures: for tools that learn types at run
//! time.
//!
//! ```
//! use oxorb_idl::source::{Memory, SourceMap};
//! use oxorb_ifr::types::Types;
//!
//! let idl = "interface Account { readonly attribute long balance; long withdraw(in long amount); };";
//! let files = Memory([("a.idl".into(), idl.as_bytes().to_vec())].into());
//! let compiled = oxorb_idl::compile_from(SourceMap::new(files), &["a.idl"], &Default::default())?;
//!
//! let types = Types::new(compiled.model);
//! let account = types.interface("Account")?;
//! assert_eq!(account.signature("withdraw").unwrap().to_string(), "long withdraw(in long amount)");
//! assert_eq!(account.signature("_get_balance").unwrap().to_string(), "long _get_balance()");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod interface;
mod types;

pub use error::Unsupported;
pub use interface::{Attribute, Interface};
pub use types::Types;
