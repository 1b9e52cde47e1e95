//! Phases of a component's life cycle.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use oxorb_core::lock::Mutex;
use oxorb_object::{CompletionStatus, SystemException, minor};

use crate::{CcmException, CcmExceptionReason, InvalidConfiguration};

/// Calls of the container to an executor, in the order of the life cycle. The IDL compiler implements this trait around
/// the executor trait of each component.
pub trait LifeCycle: Send + Sync {
    /// Calls `set_session_context`.
    ///
    /// # Errors
    /// Exceptions of the executor.
    fn set_session_context(&self) -> Result<(), CcmException>;

    /// Calls `configuration_complete`.
    ///
    /// # Errors
    /// Exceptions of the executor.
    fn configuration_complete(&self) -> Result<(), InvalidConfiguration>;

    /// Calls `activate`.
    ///
    /// # Errors
    /// Exceptions of the executor.
    fn activate(&self) -> Result<(), CcmException>;

    /// Calls `passivate`.
    ///
    /// # Errors
    /// Exceptions of the executor.
    fn passivate(&self) -> Result<(), CcmException>;

    /// Calls `remove`.
    ///
    /// # Errors
    /// Exceptions of the executor.
    fn remove(&self) -> Result<(), CcmException>;
}

/// Phase of a component's life cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// The component is installed: attributes can be set and ports connected.
    Installed,
    /// `configuration_complete` has succeeded.
    Configured,
    /// `activate` has succeeded: the component accepts events.
    Active,
    /// `passivate` has succeeded; the component may be activated again.
    Passive,
    /// The component was removed.
    Removed,
}

impl Phase {
    const ALL: [Phase; 5] =
        [Phase::Installed, Phase::Configured, Phase::Active, Phase::Passive, Phase::Removed];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Installed => "installed",
            Phase::Configured => "configured",
            Phase::Active => "active",
            Phase::Passive => "passive",
            Phase::Removed => "removed",
        })
    }
}

/// Error of a change of a component's phase.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum LifeCycleError {
    /// The requested phase does not follow the current one.
    #[error(
        "a component that is {from} cannot become {to}; the order is installed, configured, active, passive, removed"
    )]
    Order {
        /// Current phase.
        from: Phase,
        /// Requested phase.
        to: Phase,
    },
    /// The phase is already being changed, by another thread or by an enclosing call in this thread.
    #[error("the component is changing to another phase; wait until that call returns")]
    Busy,
    /// The executor refused its configuration.
    #[error("the executor's configuration_complete raised InvalidConfiguration")]
    Configuration(InvalidConfiguration),
    /// The executor raised an exception.
    #[error("the executor raised {0}")]
    Executor(CcmException),
}

impl fmt::Debug for LifeCycleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<LifeCycleError> for SystemException {
    /// Returns BAD_INV_ORDER for every error.
    fn from(_: LifeCycleError) -> Self {
        NOT_NOW
    }
}

/// Exception for an operation that the current phase does not permit.
pub(crate) const NOT_NOW: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::COMPONENT_PHASE, CompletionStatus::No);

/// Phase of one component, with its executor.
pub(crate) struct Life {
    phase: AtomicU8,
    slot: Mutex<Slot>,
}

/// Storage for the executor between its calls.
#[derive(Default)]
struct Slot {
    /// `None` while the executor is called, before the life cycle begins, and after it has ended.
    executor: Option<Arc<dyn LifeCycle>>,
    /// Whether the life cycle ends as soon as no call of the executor is in progress.
    is_ending: bool,
}

/// Guard for one call of the executor. When dropped, it stores the executor for the next call, or ends the life cycle
/// if the component was abandoned during the call.
struct Call<'l> {
    life: &'l Life,
    executor: Arc<dyn LifeCycle>,
    is_over: bool,
}

impl Call<'_> {
    /// Calls the executor and enters the phase. On failure the phase does not change.
    fn enter(&self, to: Phase) -> Result<(), LifeCycleError> {
        let executor = &self.executor;
        match to {
            Phase::Configured => {
                executor.configuration_complete().map_err(LifeCycleError::Configuration)?
            }
            Phase::Passive => executor.passivate().map_err(LifeCycleError::Executor)?,
            _ => executor.activate().map_err(LifeCycleError::Executor)?,
        }
        self.life.set(to);
        Ok(())
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.life.free(Arc::clone(&self.executor));
        }
    }
}

impl Life {
    pub(crate) fn new() -> Self {
        Life { phase: AtomicU8::new(Phase::Installed as u8), slot: Mutex::default() }
    }

    pub(crate) fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.phase.load(Ordering::Acquire))]
    }

    /// Reports whether the life cycle has ended, or will end when the executor's current call returns.
    pub(crate) fn is_ended(&self) -> bool {
        self.slot.lock().is_ending || self.phase() == Phase::Removed
    }

    /// Begins the life cycle with `set_session_context`.
    ///
    /// # Errors
    /// Exceptions of the executor; [`LifeCycleError::Order`] if the component was abandoned during the call.
    pub(crate) fn begin(&self, executor: Arc<dyn LifeCycle>) -> Result<(), LifeCycleError> {
        executor.set_session_context().map_err(LifeCycleError::Executor)?;
        match self.free(executor) {
            true => Ok(()),
            false => Err(LifeCycleError::Order { from: Phase::Removed, to: Phase::Installed }),
        }
    }

    /// Calls the executor and enters the phase. On failure the phase does not change.
    pub(crate) fn enter(&self, to: Phase) -> Result<(), LifeCycleError> {
        self.call(to)?.enter(to)
    }

    /// Configures the component if necessary and activates it. No other life-cycle call can run between the two steps.
    pub(crate) fn start(&self) -> Result<(), LifeCycleError> {
        // The component is configured but not active if `activate` failed or was never called.
        if self.phase() == Phase::Configured {
            return self.enter(Phase::Active);
        }
        let call = self.call(Phase::Configured)?;
        call.enter(Phase::Configured)?;
        call.enter(Phase::Active)
    }

    /// Ends the life cycle, regardless of exceptions: passivates an active component first.
    pub(crate) fn end(&self) -> Result<Result<(), CcmException>, LifeCycleError> {
        let mut call = self.call(Phase::Removed)?;
        call.is_over = true;
        Ok(self.finish(&*call.executor))
    }

    /// Ends the life cycle in any phase: immediately, or when the executor's current call returns.
    pub(crate) fn abandon(&self) {
        let executor = {
            let mut slot = self.slot.lock();
            slot.is_ending = true;
            slot.executor.take()
        };
        if let Some(executor) = executor {
            // Ignore exceptions of the executor: there is no caller to report them to.
            let _ = self.finish(&*executor);
        }
    }

    /// Stores the executor for its next call. If the component was abandoned, ends its life cycle instead and returns
    /// `false`.
    fn free(&self, executor: Arc<dyn LifeCycle>) -> bool {
        let mut slot = self.slot.lock();
        if !slot.is_ending {
            slot.executor = Some(executor);
            return true;
        }
        drop(slot);
        let _ = self.finish(&*executor);
        false
    }

    /// Passivates the component if it is active, and removes it. Does not panic, because a panic may already be
    /// unwinding.
    fn finish(&self, executor: &dyn LifeCycle) -> Result<(), CcmException> {
        let was = self.phase();
        self.set(Phase::Removed);
        let passivated = match was {
            Phase::Active => caught(|| executor.passivate()),
            _ => Ok(()),
        };
        passivated.and(caught(|| executor.remove()))
    }

    fn call(&self, to: Phase) -> Result<Call<'_>, LifeCycleError> {
        let mut slot = self.slot.lock();
        let from = self.phase();
        let follows = matches!(
            (from, to),
            (Phase::Installed, Phase::Configured)
                | (Phase::Configured | Phase::Passive, Phase::Active)
                | (Phase::Active, Phase::Passive)
                | (
                    Phase::Installed | Phase::Configured | Phase::Active | Phase::Passive,
                    Phase::Removed
                )
        );
        if !follows {
            return Err(LifeCycleError::Order { from, to });
        }
        Ok(Call {
            life: self,
            executor: slot.executor.take().ok_or(LifeCycleError::Busy)?,
            is_over: false,
        })
    }

    fn set(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }
}

/// Calls a function and converts a panic to SYSTEM_ERROR, so that the remaining steps of a removal are still executed.
fn caught(call: impl FnOnce() -> Result<(), CcmException>) -> Result<(), CcmException> {
    let panicked = CcmException { reason: CcmExceptionReason::SystemError };
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(panicked))
}
