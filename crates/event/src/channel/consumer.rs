//! One consumer: its filter, whether it takes events at present, and what became of them.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use oxorb::{CompletionStatus, Interface, SystemException, SystemExceptionKind, minor};

use super::encoded::Outgoing;
use super::notice::Released;
use super::options::ChannelOptions;
use crate::filter::{Matched, Program, Progress, Trigger};
use crate::rtec_event_channel_admin::ConsumerQos;
use crate::rtec_event_comm::{PushConsumer, PushConsumerRef};

/// Where the events of a consumer go.
#[derive(Clone)]
pub(crate) enum Consumer {
    /// A servant of this process, without any message.
    Local(Arc<dyn PushConsumer>),
    /// An object; in this process or elsewhere.
    Object(PushConsumerRef),
}

/// A consumer while it is connected.
pub(crate) struct Connected {
    pub(super) number: u64,
    consumer: Consumer,
    /// The object, with a limit for calls; `None` for a servant of this process. Calls without a message need no limit, and
    /// a reference without one.
    timed: Option<PushConsumerRef>,
    qos: ConsumerQos,
    program: Program,
    /// For filters that remember.
    progress: Option<Mutex<Progress>>,
    /// The proxy's, which may be suspended before and after.
    suspended: Arc<AtomicBool>,
    /// Set once, when the consumer is disconnected or let go.
    over: AtomicBool,
    /// In a row.
    failures: AtomicU32,
    pub(super) counts: ConsumerCounts,
}

/// What became of the events that a consumer's filter let pass.
#[derive(Default)]
pub(super) struct ConsumerCounts {
    pub(super) matched: AtomicU64,
    pub(super) delivered: AtomicU64,
    pub(super) suspended: AtomicU64,
    pub(super) failed: AtomicU64,
}

impl Connected {
    pub(super) fn new(
        number: u64,
        consumer: Consumer,
        qos: ConsumerQos,
        program: Program,
        suspended: Arc<AtomicBool>,
        options: &ChannelOptions,
    ) -> Connected {
        Connected {
            number,
            timed: match &consumer {
                Consumer::Object(object) => Some(timed(object, options)),
                Consumer::Local(_) => None,
            },
            consumer,
            qos,
            progress: program.remembers().then(|| Mutex::new(program.progress())),
            program,
            suspended,
            over: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            counts: ConsumerCounts::default(),
        }
    }

    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    pub(super) fn qos(&self) -> &ConsumerQos {
        &self.qos
    }

    pub(super) fn object(&self) -> Option<&PushConsumerRef> {
        self.timed.as_ref()
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.suspended.load(Relaxed)
    }

    /// Ends deliveries from now on; `false` if that was done before.
    pub(super) fn end(&self) -> bool {
        !self.over.swap(true, Relaxed)
    }

    /// Asks the filter about an event, and pushes what it lets pass.
    ///
    /// # Errors
    /// The consumer has to be let go.
    pub(super) fn offer(
        &self,
        trigger: Trigger<'_>,
        outgoing: &Outgoing<'_>,
        options: &ChannelOptions,
    ) -> Result<(), Released> {
        if self.over.load(Relaxed) {
            return Ok(());
        }
        let matched = match &self.progress {
            None if self.program.accepts(trigger) => Matched::Event,
            None => Matched::No,
            Some(progress) => {
                // A panic within leaves a progress that is merely incomplete.
                let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
                self.program.advance(trigger, &mut progress)
            }
        };
        match matched {
            Matched::No => Ok(()),
            Matched::Event => self.push(outgoing, options),
            Matched::Set(events) => self.push(&Outgoing::new(&events), options),
        }
    }

    fn push(&self, outgoing: &Outgoing<'_>, options: &ChannelOptions) -> Result<(), Released> {
        let events = outgoing.events().len() as u64;
        self.counts.matched.fetch_add(events, Relaxed);
        if self.is_suspended() {
            self.counts.suspended.fetch_add(events, Relaxed);
            return Ok(());
        }
        let pushed = match &self.consumer {
            Consumer::Object(object) => {
                outgoing.send(object, self.timed.as_ref().unwrap_or(object))
            }
            Consumer::Local(consumer) => {
                let push = || consumer.push(outgoing.events());
                panic::catch_unwind(AssertUnwindSafe(push)).map_err(|_| PANICKED)
            }
        };
        match pushed {
            Ok(()) => {
                self.counts.delivered.fetch_add(events, Relaxed);
                self.failures.store(0, Relaxed);
                Ok(())
            }
            Err(why) => {
                self.counts.failed.fetch_add(events, Relaxed);
                self.failed(why, options)
            }
        }
    }

    /// Notes a failure.
    ///
    /// # Errors
    /// It was one too many.
    pub(super) fn failed(
        &self,
        why: SystemException,
        options: &ChannelOptions,
    ) -> Result<(), Released> {
        let failures = self.failures.fetch_add(1, Relaxed) + 1;
        match why.kind {
            SystemExceptionKind::ObjectNotExist => Err(Released::Gone),
            _ if failures >= options.control.failures.max(1) => {
                Err(Released::Failures(failures, why))
            }
            _ => Ok(()),
        }
    }

    /// Tells the consumer that it is disconnected. What it answers does not matter.
    pub(super) fn call_back(&self) {
        let _ = panic::catch_unwind(AssertUnwindSafe(|| match &self.consumer {
            Consumer::Local(consumer) => consumer.disconnect_push_consumer(),
            Consumer::Object(object) => {
                let object = self.timed.as_ref().unwrap_or(object);
                object.disconnect_push_consumer()
            }
        }));
    }
}

/// Returns a reference whose calls take no longer than the channel lets them.
pub(super) fn timed<I: Interface>(object: &I, options: &ChannelOptions) -> I {
    I::from_ref(object.reference().with_timeout(options.call_timeout))
}

/// What a local consumer that panics counts as.
const PANICKED: SystemException =
    SystemException::unknown(minor::unknown::SERVANT_PANICKED, CompletionStatus::Maybe);
