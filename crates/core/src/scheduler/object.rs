//! Measurements as an object for other processes: `idl/oxorb/measurements.idl`.

use oxorb_cdr::{Encode, Encoder, Result as CdrResult};
use oxorb_rt::Distribution;

use super::{CallsBetween, Measurement};
use crate::{Outcome, Servant, Upcall};

/// Servant that offers [`Orb::measurements`](crate::Orb::measurements) and
/// [`Orb::calls_between`](crate::Orb::calls_between) of its ORB to `oxorb sched watch` and `calibrate`. The facade
/// activates one if the run-time scheduler measures.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measurements;

impl Measurements {
    /// Name of the object in `corbaloc::host:port/OxorbMeasurements`.
    pub const NAME: &'static str = "OxorbMeasurements";
}

impl Servant for Measurements {
    fn repository_id(&self) -> &str {
        "IDL:OxORB/Measurements:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        if let Err(rejected) = upcall.args(|_| Ok(())) {
            return upcall.reject(rejected);
        }
        let orb = upcall.orb();
        match upcall.operation() {
            "operations" => {
                let measured = orb.measurements().unwrap_or_default();
                upcall.reply(|e| sequence(e, &measured, operation))
            }
            "calls" => {
                let calls = orb.calls_between();
                upcall.reply(|e| sequence(e, &calls, call))
            }
            "reset" => {
                orb.reset_measurements();
                upcall.done()
            }
            _ => upcall.unknown_operation(),
        }
    }
}

fn sequence<'a, T>(
    e: &mut Encoder<'a>,
    items: &'a [T],
    one: fn(&mut Encoder<'a>, &'a T) -> CdrResult<()>,
) -> CdrResult<()> {
    e.length(items.len(), None)?;
    items.iter().try_for_each(|item| one(e, item))
}

fn operation<'a>(e: &mut Encoder<'a>, measured: &'a Measurement) -> CdrResult<()> {
    measured.operation.as_str().encode(e)?;
    times(e, &measured.response);
    times(e, &measured.cpu);
    for count in [measured.overruns, measured.missed, measured.refused] {
        e.ulonglong(count);
    }
    Ok(())
}

fn times(e: &mut Encoder<'_>, seen: &Distribution) {
    for number in [
        seen.count,
        seen.mean_ns(),
        seen.quantile(0.5),
        seen.quantile(0.99),
        seen.quantile(0.999),
        seen.max_ns,
    ] {
        e.ulonglong(number);
    }
}

fn call<'a>(e: &mut Encoder<'a>, call: &'a CallsBetween) -> CdrResult<()> {
    call.from.as_str().encode(e)?;
    call.to.as_str().encode(e)?;
    e.boolean(call.two_way);
    e.ulonglong(call.calls);
    Ok(())
}
