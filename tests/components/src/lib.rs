//! Components generated from IDL, for the tests of this package.
//!
//! The first test is that this crate compiles without warnings.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, rust_2018_idioms)]
#![deny(unused_qualifications, trivial_casts, unreachable_pub)]
#![deny(unused_lifetimes, single_use_lifetimes, clippy::all, clippy::pedantic)]

oxorb::include_idl!("avionics");

/// Page about components, whose examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/components.md")]
struct Page;

/// Contents of a context in each phase, and uses that do not compile before.
///
/// A receptacle is available once the component is configured:
///
/// ```
/// use oxorb_component_tests::avionics::display;
///
/// fn configured(context: &display::Configured) -> bool {
///     context.source().is_ok() && context.others().is_empty()
/// }
/// fn active(context: &display::Context) -> bool {
///     configured(context)
/// }
/// ```
///
/// ```compile_fail,E0599
/// use oxorb_component_tests::avionics::display;
///
/// fn installed(context: &display::Installed) -> bool {
///     context.source().is_ok()
/// }
/// ```
///
/// ```compile_fail,E0599
/// use oxorb_component_tests::avionics::display;
///
/// fn installed(context: &display::Installed) -> bool {
///     context.others().is_empty()
/// }
/// ```
///
/// `set_session_context` gets only an installed context:
///
/// ```compile_fail,E0053
/// use oxorb::components::CcmException;
/// use oxorb::values::Value;
/// use oxorb_component_tests::avionics::{self, Alarm, Tick, display};
///
/// struct Display;
///
/// impl avionics::DisplayExecutor for Display {
///     fn push_update(&self, _: &display::Context, _: &Value<Tick>) -> oxorb::Result<()> {
///         Ok(())
///     }
///     fn push_warning(&self, _: &display::Context, _: &Value<Alarm>) -> oxorb::Result<()> {
///         Ok(())
///     }
///     fn set_session_context(&self, _: &display::Configured) -> Result<(), CcmException> {
///         Ok(())
///     }
/// }
/// ```
///
/// An event source is available once the component is active:
///
/// ```
/// use oxorb::values::Value;
/// use oxorb_component_tests::avionics::{Tick, rate_gen};
///
/// fn active(context: &rate_gen::Context) {
///     context.push_pulse(Value::new(Tick { count: 1 }));
/// }
/// ```
///
/// ```compile_fail,E0599
/// use oxorb::values::Value;
/// use oxorb_component_tests::avionics::{Tick, rate_gen};
///
/// fn configured(context: &rate_gen::Configured) {
///     context.push_pulse(Value::new(Tick { count: 1 }));
/// }
/// ```
#[cfg(doctest)]
struct Phases;
