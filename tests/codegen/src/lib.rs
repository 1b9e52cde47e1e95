//! Rust generated from difficult IDL, for the tests of this package.
//!
//! The first test is that this crate compiles without warnings.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, missing_debug_implementations, rust_2018_idioms)]
#![deny(unused_qualifications, trivial_casts, trivial_numeric_casts, unreachable_pub)]
#![deny(unused_lifetimes, single_use_lifetimes, clippy::all, clippy::pedantic)]

oxorb::include_idl!("calls");
oxorb::include_idl!("consts");
oxorb::include_idl!("direct");
oxorb::include_idl!("fallible");
oxorb::include_idl!("in_place");
oxorb::include_idl!("global");
oxorb::include_idl!("idl4");
oxorb::include_idl!("lanes");
oxorb::include_idl!("mapping");
oxorb::include_idl!("names");
oxorb::include_idl!("sized");
oxorb::include_idl!("types");
oxorb::include_idl!("unions");
oxorb::include_idl!("values");

/// Servants of one thread, which the compiler confines to it.
///
/// Their trait requires neither `Send` nor `Sync`, and `activate_confined` takes a factory:
///
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use oxorb::poa::Poa;
/// use oxorb_codegen_tests::mapping::{MeterConfined, MeterRef};
///
/// struct Wheel(Rc<Cell<u32>>);
/// impl MeterConfined for Wheel {
///     fn turn(&self, many: u32) -> oxorb::Result<u32> { Ok(many) }
/// }
/// fn activated(poa: &Poa) -> Result<MeterRef, oxorb::poa::PoaError> {
///     poa.activate_confined(|| Wheel(Rc::default()))
/// }
/// ```
///
/// Such a servant cannot be activated for all threads:
///
/// ```compile_fail
/// use std::{cell::Cell, rc::Rc};
/// use oxorb::poa::Poa;
/// use oxorb_codegen_tests::mapping::{MeterConfined, MeterRef};
///
/// struct Wheel(Rc<Cell<u32>>);
/// impl MeterConfined for Wheel {
///     fn turn(&self, many: u32) -> oxorb::Result<u32> { Ok(many) }
/// }
/// fn activated(poa: &Poa) -> Result<MeterRef, oxorb::poa::PoaError> {
///     poa.activate(Wheel(Rc::default()))
/// }
/// ```
///
/// The factory must not move in parts that another thread shares:
///
/// ```compile_fail
/// use std::{cell::Cell, rc::Rc};
/// use oxorb::poa::Poa;
/// use oxorb_codegen_tests::mapping::{MeterConfined, MeterRef};
///
/// struct Wheel(Rc<Cell<u32>>);
/// impl MeterConfined for Wheel {
///     fn turn(&self, many: u32) -> oxorb::Result<u32> { Ok(many) }
/// }
/// fn activated(poa: &Poa) -> Result<MeterRef, oxorb::poa::PoaError> {
///     let shared = Rc::default();
///     poa.activate_confined(move || Wheel(shared))
/// }
/// ```
///
/// The trait for servants of all threads rejects it:
///
/// ```compile_fail
/// use std::{cell::Cell, rc::Rc};
/// use oxorb_codegen_tests::mapping::Meter;
///
/// struct Wheel(Rc<Cell<u32>>);
/// impl Meter for Wheel {
///     fn turn(&self, many: u32) -> oxorb::Result<u32> { Ok(many) }
/// }
/// ```
pub mod kept_in_one_thread {}

/// Separate from the others, which contain modules of the same names.
pub mod alone {
    oxorb::include_idl!("whole");
}

/// Values with behaviour.
pub mod behaviour {
    oxorb::include_idl!("behaviour");
}
pub mod does;

/// Separate for the same reason: reply handlers add the module `messaging`.
pub mod asynchronous {
    oxorb::include_idl!("later");
}

/// Separate like `asynchronous`.
pub mod album {
    oxorb::include_idl!("albums");
}

/// Custom valuetype, which marshals itself.
mod custom {
    use crate::mapping::Picture;
    use crate::values::Secret;
    use oxorb::cdr::{Decoder, Encoder, Result};
    use oxorb::values::CustomMarshal;

    impl CustomMarshal for Picture {
        fn marshal(&self, e: &mut Encoder<'_>) -> Result<()> {
            e.long(self.width);
            Ok(())
        }

        fn unmarshal(d: &mut Decoder<'_>) -> Result<Self> {
            d.long().map(|width| Self { width })
        }
    }

    impl CustomMarshal for Secret {
        fn marshal(&self, e: &mut Encoder<'_>) -> Result<()> {
            e.string("code")?;
            e.long(self.code);
            Ok(())
        }

        fn unmarshal(d: &mut Decoder<'_>) -> Result<Self> {
            d.string()?;
            Ok(Self { code: d.long()? })
        }
    }
}

/// Separate, as its modules would hide the crates `std` and `oxorb` from the rest of this file.
pub mod corners {
    ::oxorb::include_idl!("edges");
}

/// Definitions like `compiled`, marshalled by the interpreter.
pub mod interpreted {
    include!(concat!(env!("OUT_DIR"), "/interpreted/calls.rs"));
    include!(concat!(env!("OUT_DIR"), "/interpreted/global.rs"));
    include!(concat!(env!("OUT_DIR"), "/interpreted/idl4.rs"));
    include!(concat!(env!("OUT_DIR"), "/interpreted/names.rs"));
    include!(concat!(env!("OUT_DIR"), "/interpreted/types.rs"));
    include!(concat!(env!("OUT_DIR"), "/interpreted/unions.rs"));

    /// Separate, as its modules would hide the crates `std` and `oxorb` from the rest of this file.
    pub mod corners {
        include!(concat!(env!("OUT_DIR"), "/interpreted/edges.rs"));
    }
}
