//! Import of a subset of AADL (SAE AS5506, textual notation): threads with their timing properties,
//! and the processors they are bound to.
//!
//! - Packages, types, implementations and subcomponents are read from the only system
//!   implementation that is not a subcomponent, down to its threads.
//! - `Period`, `Deadline`, `Compute_Deadline`, `Compute_Execution_Time`, `Dispatch_Protocol`,
//!   `Dispatch_Offset` and `Dispatch_Jitter` are read for threads, from their type, implementation,
//!   subcomponent, or `applies to` of an outer component; `Period`, `Deadline` and
//!   `Dispatch_Jitter` are also inherited from the components that contain the thread.
//! - `Actual_Processor_Binding`, `Scheduling_Protocol` and `Thread_Swap_Execution_Time` determine
//!   where threads run, and how.
//! - Features, connections, flows, annexes and other properties are skipped.
//!
//! Constructs that would change the timing and are not supported are refused with their name and
//! position: modes, arrays, `extends`, prototypes, property constants, shared data (`requires data
//! access`), virtual processors, bindings of a thread group to several processors, and dispatch
//! protocols other than `Periodic` and `Sporadic`.
//!
//! Input is bounded: [`MOST_TOKENS`], [`MOST_INSTANCES`], [`DEEPEST`]. The cost is linear in its
//! size.

mod instance;
mod parse;
mod tokens;

use std::fmt;

use crate::time::Nanos;

/// Maximum number of words and signs of all texts together.
pub const MOST_TOKENS: usize = 1_000_000;

/// Maximum number of components of the instantiated system.
pub const MOST_INSTANCES: usize = 20_000;

/// Largest nesting depth of components.
pub const DEEPEST: usize = 32;

/// Position in one of the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextPosition {
    /// Index of the text among the given ones, from 0.
    pub text: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Reason why a model is refused, with its position.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {why}", .place.line, .place.column)]
pub struct ModelError {
    /// Position in the texts.
    pub place: TextPosition,
    /// Sentence that names the construct.
    pub why: String,
}

impl fmt::Debug for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Order in which a processor runs threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchedulingProtocol {
    /// Rate monotonic.
    RateMonotonic,
    /// Deadline monotonic.
    DeadlineMonotonic,
    /// Earliest deadline first.
    Deadline,
}

/// Processor of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processor {
    /// Path from the system down, joined by dots.
    pub path: String,
    /// Position of the processor's subcomponent.
    pub place: TextPosition,
    /// `Scheduling_Protocol`; `None` if not specified.
    pub protocol: Option<SchedulingProtocol>,
    /// Longest `Thread_Swap_Execution_Time`, in ns; `None` if not specified.
    pub switch: Option<Nanos>,
}

/// Thread of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Path from the system down, joined by dots.
    pub path: String,
    /// Position of the thread's subcomponent.
    pub place: TextPosition,
    /// Shortest `Compute_Execution_Time`, in ns, rounded down.
    pub best_case: Nanos,
    /// Longest `Compute_Execution_Time`, in ns, rounded up.
    pub worst_case: Nanos,
    /// `Period`, in ns, rounded down.
    pub period: Nanos,
    /// `Compute_Deadline`, otherwise `Deadline`, in ns, rounded down; `None`: the period.
    pub deadline: Option<Nanos>,
    /// `Dispatch_Offset`; `None` if not specified, and for sporadic threads.
    pub offset: Option<Nanos>,
    /// `Dispatch_Jitter`, rounded up.
    pub jitter: Nanos,
    /// Index of the thread's processor in the model; `None` if the model has none.
    pub processor: Option<usize>,
}

/// Threads and processors of a system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    /// Processors in the order of instantiation.
    pub processors: Vec<Processor>,
    /// Threads in the order of instantiation; at least one.
    pub threads: Vec<Thread>,
}

/// Parses the texts of one model.
///
/// ```
/// use oxorb_sched::import::aadl::read;
///
/// let text = "
/// package Demo
/// public
///   thread Control
///     properties
///       Dispatch_Protocol => Periodic;
///       Period => 20 ms;
///       Compute_Execution_Time => 1 ms .. 4 ms;
///   end Control;
///   process Flight
///   end Flight;
///   process implementation Flight.impl
///     subcomponents
///       control: thread Control;
///   end Flight.impl;
///   system Plane
///   end Plane;
///   system implementation Plane.impl
///     subcomponents
///       flight: process Flight.impl;
///   end Plane.impl;
/// end Demo;";
/// let model = read(&[text])?;
/// assert_eq!(model.threads[0].path, "flight.control");
/// assert_eq!(model.threads[0].worst_case, 4_000_000);
/// # Ok::<(), oxorb_sched::import::aadl::ModelError>(())
/// ```
///
/// # Errors
/// The first construct that is invalid or unsupported.
pub fn read(texts: &[&str]) -> Result<Model, ModelError> {
    let mut all = Vec::new();
    let mut left = MOST_TOKENS;
    for (at, text) in texts.iter().enumerate() {
        let tokens = tokens::split(text, at, left)?;
        left -= tokens.len().min(left);
        all.push(tokens);
    }
    let mut packages = parse::Packages::default();
    for tokens in &all {
        parse::read(tokens, &mut packages)?;
    }
    instance::instantiate(&packages)
}
