//! What of real time can be configured.

use std::sync::Arc;

use oxorb_rt::{Mapping, NativeRange, PriorityMapping, PriorityTransform};
use oxorb_sys::schedule::Class;

/// The real-time part of [`Options`](crate::Options): how CORBA priorities reach the scheduler.
///
/// ```
/// use oxorb_core::{MappingChoice, Options, SchedulingClass};
///
/// let mut options = Options::default();
/// options.realtime.class = SchedulingClass::Fifo;
/// options.realtime.mapping = MappingChoice::Linear;
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RealTime {
    /// In which scheduling class threads with a priority run. With [`Class::Other`], the default, priorities travel
    /// and choose lanes and connections, but no thread's schedule is ever changed.
    pub class: Class,
    /// Which native priority stands for a CORBA priority.
    pub mapping: MappingChoice,
    /// Changes priorities of requests on their way into and out of servants; `None`: they stay.
    pub transform: Option<Arc<dyn PriorityTransform>>,
}

/// Which [`PriorityMapping`] an ORB has.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum MappingChoice {
    /// The same number; those that the class does not have are refused. TAO's default.
    Direct,
    /// All CORBA priorities spread over all native ones of the class.
    #[default]
    Linear,
    /// From the lowest native priority of the class upwards, one by one.
    Continuous,
    /// The application's own.
    User(Arc<dyn PriorityMapping>),
}

impl RealTime {
    /// The mapping, for the priorities of the class.
    pub(super) fn mapping(&self) -> Arc<dyn PriorityMapping> {
        let range = self.range();
        match &self.mapping {
            MappingChoice::Direct => Arc::new(Mapping::Direct),
            MappingChoice::Linear => Arc::new(Mapping::Linear(range)),
            MappingChoice::Continuous => Arc::new(Mapping::Continuous(range)),
            MappingChoice::User(own) => Arc::clone(own),
        }
    }

    /// The native priorities of the class.
    pub(super) fn range(&self) -> NativeRange {
        let range = self.class.priorities();
        NativeRange::new(*range.start() as i16, *range.end() as i16)
    }
}
