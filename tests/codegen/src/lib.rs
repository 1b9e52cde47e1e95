//! Rust made from hard IDL, for the tests beside it.
//!
//! That this crate compiles without a warning is the first test.
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

/// Servants of one thread, which the compiler keeps there.
///
/// A trait for them asks for neither `Send` nor `Sync`, and `activate_confined` takes what makes them:
///
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use oxorb::Poa;
/// use oxorb_codegen_tests::mapping::{MeterConfined, MeterRef};
///
/// struct Wheel(Rc<Cell<u32>>);
/// impl MeterConfined for Wheel {
///     fn turn(&self, many: u32) -> oxorb::Result<u32> { Ok(many) }
/// }
/// fn activated(poa: &Poa) -> Result<MeterRef, oxorb::PoaError> {
///     poa.activate_confined(|| Wheel(Rc::default()))
/// }
/// ```
///
/// It is no servant for any thread:
///
/// ```compile_fail
/// use std::{cell::Cell, rc::Rc};
/// use oxorb::Poa;
/// use oxorb_codegen_tests::mapping::{MeterConfined, MeterRef};
///
/// struct Wheel(Rc<Cell<u32>>);
/// impl MeterConfined for Wheel {
///     fn turn(&self, many: u32) -> oxorb::Result<u32> { Ok(many) }
/// }
/// fn activated(poa: &Poa) -> Result<MeterRef, oxorb::PoaError> {
///     poa.activate(Wheel(Rc::default()))
/// }
/// ```
///
/// What another thread holds of it does not come along:
///
/// ```compile_fail
/// use std::{cell::Cell, rc::Rc};
/// use oxorb::Poa;
/// use oxorb_codegen_tests::mapping::{MeterConfined, MeterRef};
///
/// struct Wheel(Rc<Cell<u32>>);
/// impl MeterConfined for Wheel {
///     fn turn(&self, many: u32) -> oxorb::Result<u32> { Ok(many) }
/// }
/// fn activated(poa: &Poa) -> Result<MeterRef, oxorb::PoaError> {
///     let shared = Rc::default();
///     poa.activate_confined(move || Wheel(shared))
/// }
/// ```
///
/// And the trait for servants of all threads refuses it:
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

/// Apart from the others, which bring modules of the same names along.
pub mod alone {
    oxorb::include_idl!("whole");
}

/// Values that do something.
pub mod behaviour {
    oxorb::include_idl!("behaviour");
}
pub mod does;

/// The same: reply handlers bring the module `messaging` along.
pub mod asynchronous {
    oxorb::include_idl!("later");
}

/// As `asynchronous`.
pub mod album {
    oxorb::include_idl!("albums");
}

/// A custom valuetype says itself how it travels.
mod custom {
    use crate::mapping::Picture;
    use crate::values::Secret;
    use oxorb::CustomMarshal;
    use oxorb::cdr::{Decoder, Encoder, Result};

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

/// Its modules would hide the crates `std` and `oxorb` from the rest of this file.
pub mod corners {
    ::oxorb::include_idl!("edges");
}

/// The same, marshalled by the interpreter.
pub mod interpreted {
    include!(concat!(env!("OUT_DIR"), "/interpreted/calls.rs"));
    include!(concat!(env!("OUT_DIR"), "/interpreted/global.rs"));
    include!(concat!(env!("OUT_DIR"), "/interpreted/idl4.rs"));
    include!(concat!(env!("OUT_DIR"), "/interpreted/names.rs"));
    include!(concat!(env!("OUT_DIR"), "/interpreted/types.rs"));
    include!(concat!(env!("OUT_DIR"), "/interpreted/unions.rs"));

    /// Its modules would hide the crates `std` and `oxorb` from the rest of this file.
    pub mod corners {
        include!(concat!(env!("OUT_DIR"), "/interpreted/edges.rs"));
    }
}
