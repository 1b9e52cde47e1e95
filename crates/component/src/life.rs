//! The phases of a component's life.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use oxorb_core::lock::Mutex;
use oxorb_object::{CompletionStatus, SystemException, minor};

use crate::{CcmException, CcmExceptionReason, InvalidConfiguration};

/// Calls of the container to an executor, in the order of a component's life. The IDL compiler implements it around the
/// executor trait of each component.
pub trait LifeCycle: Send + Sync {
    /// Calls `set_session_context`.
    ///
    /// # Errors
    /// As the executor.
    fn set_session_context(&self) -> Result<(), CcmException>;

    /// Calls `configuration_complete`.
    ///
    /// # Errors
    /// As the executor.
    fn configuration_complete(&self) -> Result<(), InvalidConfiguration>;

    /// Calls `activate`.
    ///
    /// # Errors
    /// As the executor.
    fn activate(&self) -> Result<(), CcmException>;

    /// Calls `passivate`.
    ///
    /// # Errors
    /// As the executor.
    fn passivate(&self) -> Result<(), CcmException>;

    /// Calls `remove`.
    ///
    /// # Errors
    /// As the executor.
    fn remove(&self) -> Result<(), CcmException>;
}

/// Phase of a component's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Attributes are set and ports connected.
    Installed,
    /// `configuration_complete` has succeeded.
    Configured,
    /// The component takes events.
    Active,
    /// `passivate` has succeeded; it may be activated again.
    Passive,
    /// The component is gone.
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

/// Error of moving a component to another phase.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum LifeCycleError {
    /// The phase does not follow on the component's present one.
    #[error(
        "a component that is {from} cannot become {to}; the order is installed, configured, active, passive, removed"
    )]
    Order {
        /// Phase the component is in.
        from: Phase,
        /// Phase that was asked for.
        to: Phase,
    },
    /// A thread is moving the component already, or a call further up on this thread's stack.
    #[error("the component is on its way to another phase; wait for that call to return")]
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
    /// BAD_INV_ORDER, whatever the reason.
    fn from(_: LifeCycleError) -> Self {
        NOT_NOW
    }
}

/// The component is in another phase.
pub(crate) const NOT_NOW: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::COMPONENT_PHASE, CompletionStatus::No);

/// The phase of one component, and its executor.
pub(crate) struct Life {
    phase: AtomicU8,
    slot: Mutex<Slot>,
}

/// The executor between its calls.
#[derive(Default)]
struct Slot {
    /// `None` while a call of the executor runs, and before and after its life.
    executor: Option<Arc<dyn LifeCycle>>,
    /// Whether the life ends as soon as the executor is free.
    is_ending: bool,
}

/// A call of the executor. When it has returned or panicked, the executor is free again, or its life ends.
struct Call<'l> {
    life: &'l Life,
    executor: Arc<dyn LifeCycle>,
    is_over: bool,
}

impl Call<'_> {
    /// Calls the executor and enters the phase; stays in the present one on failure.
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

    /// Reports whether the life has ended, or ends as soon as the executor is free.
    pub(crate) fn is_ended(&self) -> bool {
        self.slot.lock().is_ending || self.phase() == Phase::Removed
    }

    /// Begins with `set_session_context`.
    ///
    /// # Errors
    /// What the executor raised; [`LifeCycleError::Order`] if the life was abandoned meanwhile.
    pub(crate) fn begin(&self, executor: Arc<dyn LifeCycle>) -> Result<(), LifeCycleError> {
        executor.set_session_context().map_err(LifeCycleError::Executor)?;
        match self.free(executor) {
            true => Ok(()),
            false => Err(LifeCycleError::Order { from: Phase::Removed, to: Phase::Installed }),
        }
    }

    /// Calls the executor and enters the phase; stays in the present one on failure.
    pub(crate) fn enter(&self, to: Phase) -> Result<(), LifeCycleError> {
        self.call(to)?.enter(to)
    }

    /// Configures the component, unless it is, and activates it. No other call comes in between.
    pub(crate) fn start(&self) -> Result<(), LifeCycleError> {
        // Configured, and not active: its `activate` has failed, or nobody has called it.
        if self.phase() == Phase::Configured {
            return self.enter(Phase::Active);
        }
        let call = self.call(Phase::Configured)?;
        call.enter(Phase::Configured)?;
        call.enter(Phase::Active)
    }

    /// Ends the life, whatever the executor answers: passivates an active component first.
    pub(crate) fn end(&self) -> Result<Result<(), CcmException>, LifeCycleError> {
        let mut call = self.call(Phase::Removed)?;
        call.is_over = true;
        Ok(self.finish(&*call.executor))
    }

    /// Ends the life in any phase: at once or, while a call of the executor runs, as soon as that returns.
    pub(crate) fn abandon(&self) {
        let executor = {
            let mut slot = self.slot.lock();
            slot.is_ending = true;
            slot.executor.take()
        };
        if let Some(executor) = executor {
            // What it raised has no listener.
            let _ = self.finish(&*executor);
        }
    }

    /// Keeps the executor for its next call; ends its life instead, and returns false, if that was abandoned.
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

    /// Passivates an active component and removes it. Does not panic: it may run while a panic unwinds.
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

/// Returns SYSTEM_ERROR for a call that panics: the other steps of a removal still follow.
fn caught(call: impl FnOnce() -> Result<(), CcmException>) -> Result<(), CcmException> {
    let panicked = CcmException { reason: CcmExceptionReason::SystemError };
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(panicked))
}
