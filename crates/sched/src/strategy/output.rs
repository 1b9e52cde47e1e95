//! Output mappings: from urgencies to priorities that a platform can enforce (paper 3, 3.4.4 and
//! 3.4.5).

use std::fmt;
use std::str::FromStr;

/// Rule by which a dispatch may interrupt another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DispatchModel {
    /// Full preemption: the most urgent dispatch always runs.
    Urgency,
    /// Preemption by levels: a level interrupts less urgent levels; within a level each dispatch
    /// runs to its end. The model of TAO, and of one thread for each queue.
    #[default]
    Band,
    /// Non-preemptive dispatch: each dispatch runs to its end.
    NonPreemptive,
}

impl DispatchModel {
    /// All models.
    pub const ALL: [DispatchModel; 3] =
        [DispatchModel::Urgency, DispatchModel::Band, DispatchModel::NonPreemptive];

    /// Returns the name used in options.
    pub const fn name(self) -> &'static str {
        match self {
            DispatchModel::Urgency => "urgency",
            DispatchModel::Band => "band",
            DispatchModel::NonPreemptive => "non-preemptive",
        }
    }
}

impl fmt::Display for DispatchModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DispatchModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = DispatchModel::ALL.into_iter().find(|model| model.name() == text);
        found.ok_or_else(|| {
            format!("there is no dispatching model {text:?}; expected one of urgency, band and non-preemptive")
        })
    }
}

/// Mapping of urgencies to dispatching priorities.
///
/// Implement it for a platform that offers less than a strategy needs:
///
/// ```
/// use oxorb_sched::strategy::{DispatchModel, OutputMapping};
///
/// /// Two threads are all we have: the first level, and the rest.
/// struct TwoThreads;
///
/// impl OutputMapping for TwoThreads {
///     fn model(&self) -> DispatchModel {
///         DispatchModel::Band
///     }
///
///     fn band(&self, level: usize, _: usize) -> usize {
///         level.min(1)
///     }
/// }
/// ```
pub trait OutputMapping {
    /// Returns the rule by which a dispatch may interrupt another.
    fn model(&self) -> DispatchModel;

    /// Returns the dispatching priority of an operation: 0 is the most urgent one, and a less
    /// urgent operation never has a smaller one. `level` is its static priority level and `place`
    /// its rank among all operations by urgency at the critical instant, both counted from 0.
    fn band(&self, level: usize, place: usize) -> usize;
}

impl OutputMapping for DispatchModel {
    fn model(&self) -> DispatchModel {
        *self
    }

    /// Returns a priority for each rank (urgency), one for each level (band), or one for all.
    fn band(&self, level: usize, place: usize) -> usize {
        match self {
            DispatchModel::Urgency => place,
            DispatchModel::Band => level,
            DispatchModel::NonPreemptive => 0,
        }
    }
}
