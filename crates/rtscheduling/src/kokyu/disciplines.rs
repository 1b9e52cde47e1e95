//! Disciplines: scheduling parameters, and their order.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oxorb::rt::Priority;

use super::Band;
use crate::{BadContext, DsrtQos, Grant};

/// Urgency of a thread under a discipline. The larger one goes first; the first numbers are
/// compared, and then the second ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Urgency(pub i64, pub i128);

/// Order of distributable threads, and the encoding of its parameters in a [`DsrtQos`].
pub trait Discipline: Send + Sync + 'static {
    /// Scheduling parameter.
    type Parameter: Copy + fmt::Debug + Send + Sync + 'static;

    /// Name of the discipline.
    const NAME: &'static str;

    /// Returns the urgency of a thread.
    fn urgency(parameter: &Self::Parameter) -> Urgency;

    /// Returns the CORBA priority within a band for the thread's current urgency.
    fn priority(parameter: &Self::Parameter, band: Band) -> Priority;

    /// Returns the CORBA priority named by the parameter, if it names one.
    fn corba_priority(parameter: &Self::Parameter) -> Grant {
        let _ = parameter;
        None
    }

    /// Stores the parameter in `qos`.
    fn write(parameter: &Self::Parameter, qos: &mut DsrtQos);

    /// Returns the parameter in `qos`.
    ///
    /// # Errors
    /// Values outside the discipline.
    fn read(qos: &DsrtQos) -> Result<Self::Parameter, BadContext>;
}

/// Fixed priority (FP): the thread with the highest priority first.
#[derive(Debug, Clone, Copy)]
pub enum Fp {}

/// Parameter of [`Fp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FpParameter {
    /// CORBA priority.
    pub priority: Priority,
}

impl Discipline for Fp {
    type Parameter = FpParameter;

    const NAME: &'static str = "FP";

    fn urgency(parameter: &FpParameter) -> Urgency {
        Urgency(parameter.priority.get().into(), 0)
    }

    /// Returns the priority, clamped to the band.
    fn priority(parameter: &FpParameter, band: Band) -> Priority {
        parameter.priority.clamp(band.low(), band.high())
    }

    fn corba_priority(parameter: &FpParameter) -> Grant {
        Some(parameter.priority)
    }

    fn write(parameter: &FpParameter, qos: &mut DsrtQos) {
        qos.desired_priority = parameter.priority.get();
    }

    fn read(qos: &DsrtQos) -> Result<FpParameter, BadContext> {
        match Priority::new(qos.desired_priority) {
            Ok(priority) => Ok(FpParameter { priority }),
            Err(_) => Err(BadContext::Rejected("the desired priority is below 0")),
        }
    }
}

/// Most important first (MIF).
#[derive(Debug, Clone, Copy)]
pub enum Mif {}

/// Parameter of [`Mif`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MifParameter {
    /// Importance; larger goes first. Native priorities distinguish 0 to 99.
    pub importance: i32,
}

/// Number of importances that native priorities distinguish.
const IMPORTANCES: i32 = 100;

impl Discipline for Mif {
    type Parameter = MifParameter;

    const NAME: &'static str = "MIF";

    fn urgency(parameter: &MifParameter) -> Urgency {
        Urgency(parameter.importance.into(), 0)
    }

    /// Returns a priority in proportion to the importance; below 0 as 0, above 99 as 99.
    fn priority(parameter: &MifParameter, band: Band) -> Priority {
        let importance = parameter.importance.clamp(0, IMPORTANCES - 1);
        band.at(importance, IMPORTANCES - 1)
    }

    fn write(parameter: &MifParameter, qos: &mut DsrtQos) {
        qos.importance = parameter.importance;
    }

    fn read(qos: &DsrtQos) -> Result<MifParameter, BadContext> {
        Ok(MifParameter { importance: qos.importance })
    }
}

/// Maximum urgency first (MUF): the thread with the highest criticality, and among threads of equal
/// criticality the one with the least laxity, the time to its deadline minus its execution time.
#[derive(Debug, Clone, Copy)]
pub enum Muf {}

/// Parameter of [`Muf`]. Times are in units of 100 ns; the clocks of the hosts that a thread visits
/// must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MufParameter {
    /// Criticality; larger goes first. Native priorities distinguish 0 to 4.
    pub criticality: i32,
    /// Deadline since the beginning of 1970 (UTC).
    pub deadline: u64,
    /// Execution time until the deadline.
    pub execution_time: u64,
}

/// Number of criticalities that native priorities distinguish: those of the scheduling service.
const CRITICALITIES: i32 = 5;

/// Number of laxities that native priorities distinguish, each twice the previous one.
const LAXITIES: i32 = 24;

/// Least laxity distinguished from none, in units of 100 ns: 100 microseconds.
const LEAST: i128 = 1_000;

impl MufParameter {
    /// Returns the parameter of a thread with a deadline at `limit` from now and an execution time
    /// of `execution`.
    pub fn within(criticality: i32, limit: Duration, execution: Duration) -> MufParameter {
        MufParameter {
            criticality,
            deadline: now().saturating_add(units(limit)),
            execution_time: units(execution),
        }
    }

    /// Returns the laxity from now on, in units of 100 ns; negative if late.
    pub fn laxity(&self) -> i128 {
        self.latest_start() - i128::from(now())
    }

    fn latest_start(&self) -> i128 {
        i128::from(self.deadline) - i128::from(self.execution_time)
    }
}

impl Discipline for Muf {
    type Parameter = MufParameter;

    const NAME: &'static str = "MUF";

    /// Returns the criticality and the latest start. Laxities of waiting threads decrease at the
    /// same rate, so the latest start orders the threads at any time.
    fn urgency(parameter: &MufParameter) -> Urgency {
        Urgency(parameter.criticality.into(), -parameter.latest_start())
    }

    /// Returns a priority in the fifth of the band that belongs to the criticality; it rises by one
    /// step with each halving of the laxity.
    fn priority(parameter: &MufParameter, band: Band) -> Priority {
        let criticality = parameter.criticality.clamp(0, CRITICALITIES - 1);
        let laxity = (parameter.laxity() / LEAST).clamp(0, (1 << (LAXITIES - 1)) - 1);
        // `slack` is 0 for no laxity, and increases by one with each doubling of the laxity.
        let slack = (i128::BITS - laxity.leading_zeros()) as i32;
        let step = criticality * LAXITIES + (LAXITIES - 1 - slack);
        band.at(step, CRITICALITIES * LAXITIES - 1)
    }

    fn write(parameter: &MufParameter, qos: &mut DsrtQos) {
        qos.criticality = parameter.criticality;
        qos.deadline = parameter.deadline;
        qos.execution_time = parameter.execution_time;
    }

    fn read(qos: &DsrtQos) -> Result<MufParameter, BadContext> {
        Ok(MufParameter {
            criticality: qos.criticality,
            deadline: qos.deadline,
            execution_time: qos.execution_time,
        })
    }
}

fn units(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos() / 100).unwrap_or(u64::MAX)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    units(since.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn muf(criticality: i32, milliseconds: u64) -> MufParameter {
        let limit = Duration::from_millis(milliseconds);
        MufParameter::within(criticality, limit, Duration::ZERO)
    }

    #[test]
    fn criticality_goes_before_laxity_by_order_and_by_priority() {
        let band = Band::default();
        let (late, early) = (muf(3, 60_000), muf(2, 1));
        assert!(Muf::urgency(&late) > Muf::urgency(&early));
        assert!(Muf::priority(&late, band) > Muf::priority(&early, band));
        let (soon, later) = (muf(2, 10), muf(2, 10_000));
        assert!(Muf::urgency(&soon) > Muf::urgency(&later));
        assert!(Muf::priority(&soon, band) > Muf::priority(&later, band));
    }

    #[test]
    fn extremes_of_a_peer_stay_within_the_band() {
        let band = Band::new(Priority::new(10).unwrap(), Priority::new(20).unwrap());
        for criticality in [i32::MIN, 0, i32::MAX] {
            for deadline in [0, u64::MAX] {
                for execution_time in [0, u64::MAX] {
                    let parameter = MufParameter { criticality, deadline, execution_time };
                    let priority = Muf::priority(&parameter, band).get();
                    assert!((10..=20).contains(&priority), "{parameter:?}: {priority}");
                }
            }
        }
        for importance in [i32::MIN, i32::MAX] {
            let priority = Mif::priority(&MifParameter { importance }, band).get();
            assert!(priority == 10 || priority == 20);
        }
    }
}
