//! Share of demultiplexing in a server's time (E15; about 17 % in the papers' ORB).

use std::fmt;
use std::sync::Arc;

use oxorb::__gen::Op;
use oxorb::{Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_sys::clock;
use serde::Serialize;

use super::{Panel, point, setup::Requests};
use crate::Result;
use crate::table::Table;

/// Nanoseconds of a request in the server.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Share {
    /// Total processor time, including the kernel: a two-way call without arguments over loopback.
    pub(crate) server: f64,
    /// Part of `server` for finding POA, object and operation in one step.
    pub(crate) one_step: f64,
    /// Time of the same lookup in layers, at depth 4 with 50 operations.
    pub(crate) layered: f64,
}

/// Number of timed calls.
const CALLS: u32 = 20_000;

struct Empty;

impl Servant for Empty {
    fn repository_id(&self) -> &str {
        "IDL:demux/Empty:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        upcall.done()
    }
}

/// Measures the share; `layers` has the times of the strategies.
pub(super) fn measure(layers: &Panel, rounds: u32) -> Result<Share> {
    let upcall = point(0, &Requests::to_nothing()?, rounds).nanoseconds;
    let of = |strategy: &str| {
        let series = layers.series.iter().find(|series| series.strategy == strategy);
        let point = series?.points.iter().find(|point| point.of == 4);
        Some((point?.nanoseconds - upcall).max(0.0))
    };
    Ok(Share {
        server: server()?,
        one_step: of(super::ONE_STEP).ok_or("not measured")?,
        layered: of(super::LAYERED).ok_or("not measured")?,
    })
}

/// Returns the server's processor time, the best of five measurements. Both sides are in this process. The client is
/// this thread, which reads its own replies, so that all other processor time is the server's.
fn server() -> Result<f64> {
    static CALL: Op = Op::twoway("call");
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
    let client = Orb::builder().build()?;
    let object = ObjectRef::from_ref(server.root_poa().activate_servant(Arc::new(Empty))?);
    let object = client.string_to_object(&object.to_ior())?;
    let call = || {
        let called = object.reference();
        called.invoke::<(), SystemException>(&CALL, |_| Ok(()), |_| Ok(()))
    };
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let before = clock::process_cpu().saturating_sub(clock::thread_cpu());
        for _ in 0..CALLS {
            call()?;
        }
        let after = clock::process_cpu().saturating_sub(clock::thread_cpu());
        let each = after.saturating_sub(before).as_secs_f64() * 1e9 / f64::from(CALLS);
        best = best.min(each);
    }
    client.shutdown(true)?;
    server.shutdown(true)?;
    Ok(best)
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = (self.server - self.one_step).max(0.0);
        let table = Table::of([("in one step", self.one_step), ("layered", self.layered)])
            .left([""], |(name, _)| [name])
            .fixed(["demux", "of all"], 1, |(_, demux)| [demux, rest + demux])
            .percent(["share"], 1, |(_, demux)| [demux / (rest + demux)]);
        write!(f, "\nof the server's processor time for one call over loopback, ns\n{table}")
    }
}
