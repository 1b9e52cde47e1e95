//! Schedulers of Kokyu's disciplines: fixed priority, most important first, maximum urgency first.

mod disciplines;
mod enforcement;
mod run_queue;
mod turn;

use std::fmt;
use std::marker::PhantomData;

use oxorb::SystemException;
use oxorb::interceptor::{IncomingRequest, OutgoingRequest};

pub use disciplines::{Discipline, Fp, FpParameter, Mif, MifParameter, Muf, MufParameter, Urgency};
pub use enforcement::{Band, Enforcement, Exclusive};
#[cfg(all(test, feature = "model"))]
pub(crate) use run_queue::RunQueue;
#[cfg(not(all(test, feature = "model")))]
use run_queue::RunQueue;

use crate::{BadContext, DsrtQos, Grant, Id, Scheduler, Segment, SegmentError};

/// Scheduler of one of Kokyu's [disciplines](Discipline), compatible with TAO's schedulers over
/// service context 30.
///
/// ```
/// use oxorb_rtscheduling::{Enforcement, Exclusive, Kokyu, Mif, Muf, RtScheduling};
///
/// // By native priorities: nothing is shared between threads.
/// let by_priority = RtScheduling::new(Kokyu::<Mif>::new(Enforcement::default()));
/// // One thread at a time, in the order of urgency: needs no privilege.
/// let one_by_one = RtScheduling::new(Kokyu::<Muf>::new(Enforcement::Exclusive(Exclusive::default())));
/// ```
pub struct Kokyu<D: Discipline> {
    enforced: Enforced,
    _discipline: PhantomData<D>,
}

enum Enforced {
    Priorities(Band),
    Exclusive(Box<RunQueue>),
}

impl<D: Discipline> Kokyu<D> {
    /// Returns a scheduler with this enforcement.
    pub fn new(enforcement: Enforcement) -> Kokyu<D> {
        Kokyu {
            enforced: match enforcement {
                Enforcement::Priorities(band) => Enforced::Priorities(band),
                Enforcement::Exclusive(bounds) => {
                    Enforced::Exclusive(Box::new(RunQueue::new(bounds)))
                }
            },
            _discipline: PhantomData,
        }
    }

    /// Returns the number of threads that wait for a processor; 0 with native priorities.
    pub fn waiting(&self) -> usize {
        match &self.enforced {
            Enforced::Priorities(_) => 0,
            Enforced::Exclusive(queue) => queue.waiting(),
        }
    }

    /// Waits until the thread may run.
    fn begin(&self, id: &Id, parameter: &D::Parameter) -> Result<Grant, SystemException> {
        match &self.enforced {
            Enforced::Priorities(band) => Ok(Some(D::priority(parameter, *band))),
            Enforced::Exclusive(queue) => {
                queue.acquire(id, D::urgency(parameter))?;
                Ok(D::corba_priority(parameter))
            }
        }
    }

    /// Makes a thread with changed parameters wait for those that are more urgent now.
    fn change(&self, id: &Id, parameter: &D::Parameter) -> Result<Grant, SystemException> {
        match &self.enforced {
            Enforced::Priorities(_) => self.begin(id, parameter),
            Enforced::Exclusive(queue) => {
                queue.change(id, D::urgency(parameter))?;
                Ok(D::corba_priority(parameter))
            }
        }
    }

    /// Releases the thread's processor.
    fn end(&self) {
        if let Enforced::Exclusive(queue) = &self.enforced {
            queue.release();
        }
    }
}

impl<D: Discipline> Scheduler for Kokyu<D> {
    type Parameter = D::Parameter;

    fn scheduling_discipline_name(&self) -> &str {
        D::NAME
    }

    fn begin_new_scheduling_segment(
        &self,
        segment: &Segment<'_, D::Parameter>,
    ) -> Result<Grant, SegmentError> {
        Ok(self.begin(segment.id, segment.parameter)?)
    }

    fn update_scheduling_segment(
        &self,
        segment: &Segment<'_, D::Parameter>,
    ) -> Result<Grant, SegmentError> {
        Ok(self.change(segment.id, segment.parameter)?)
    }

    fn end_scheduling_segment(&self, _: &Segment<'_, D::Parameter>) {
        self.end();
    }

    fn end_nested_scheduling_segment(
        &self,
        _: &Segment<'_, D::Parameter>,
        outer: &Segment<'_, D::Parameter>,
    ) {
        // With native priorities the frame restores the priority. With exclusion ignore an error,
        // because a thread whose wait times out continues to run.
        if let Enforced::Exclusive(_) = self.enforced {
            let _ = self.change(outer.id, outer.parameter);
        }
    }

    fn send_request(
        &self,
        _: &Segment<'_, D::Parameter>,
        _: &OutgoingRequest<'_>,
    ) -> Result<(), SystemException> {
        if let Enforced::Exclusive(queue) = &self.enforced {
            queue.go();
        }
        Ok(())
    }

    fn receive_reply(
        &self,
        segment: &Segment<'_, D::Parameter>,
        _: &OutgoingRequest<'_>,
        returned: Option<&D::Parameter>,
    ) -> Result<Grant, SystemException> {
        let parameter = returned.unwrap_or(segment.parameter);
        match &self.enforced {
            Enforced::Priorities(_) => self.begin(segment.id, parameter),
            Enforced::Exclusive(queue) => {
                queue.come_back(segment.id, D::urgency(parameter))?;
                Ok(D::corba_priority(parameter))
            }
        }
    }

    fn receive_request(
        &self,
        segment: &Segment<'_, D::Parameter>,
        _: &IncomingRequest<'_>,
    ) -> Result<Grant, SystemException> {
        self.begin(segment.id, segment.parameter)
    }

    fn leave_request(&self, _: &Segment<'_, D::Parameter>) {
        self.end();
    }

    fn cancel(&self, id: &Id) {
        if let Enforced::Exclusive(queue) = &self.enforced {
            queue.cancel(id);
        }
    }

    fn write_context(&self, id: &Id, parameter: &D::Parameter, octets: &mut Vec<u8>) {
        let mut qos = DsrtQos::new(*id);
        D::write(parameter, &mut qos);
        qos.append_to(octets);
    }

    fn read_context(&self, octets: &[u8]) -> Result<(Id, D::Parameter), BadContext> {
        let qos = DsrtQos::parse(octets)?;
        Ok((qos.id, D::read(&qos)?))
    }
}

impl<D: Discipline> fmt::Debug for Kokyu<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kokyu")
            .field("discipline", &D::NAME)
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}
