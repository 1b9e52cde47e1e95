//! Components of an executable artifact that fails at a step chosen by its plan, for tests of managers.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod station {
    #![allow(missing_docs, reason = "the IDL says it")]
    oxorb::include_idl!("station");
}

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use oxorb::components::{CcmException, CcmExceptionReason, InvalidConfiguration};
use oxorb::deployment::Implementations;

pub use station::counts::{Relay, RelayExecutor, RelayRef, relay};
pub use station::station::*;

/// Step at which an instance fails, and the kind of failure.
#[derive(Default)]
struct Trap(Mutex<String>);

impl Trap {
    /// Fails if the trap is set for `step`. Returns whether the step is to be refused.
    fn spring(&self, step: &str) -> bool {
        let trap = self.0.lock().expect("no panic").clone();
        match trap.strip_prefix(step) {
            Some(":hang") => loop {
                std::thread::park();
            },
            // Ends the process as an external kill -9 does.
            Some(":die") => std::process::abort(),
            Some(":leave") => std::process::exit(0),
            other => other == Some(":refuse"),
        }
    }

    fn set(&self, value: &str) -> oxorb::Result<()> {
        value.clone_into(&mut self.0.lock().expect("no panic"));
        match self.spring("attribute") {
            true => Err(oxorb::SystemException::bad_param(0, oxorb::CompletionStatus::No)),
            false => Ok(()),
        }
    }

    fn get(&self) -> oxorb::Result<String> {
        Ok(self.0.lock().expect("no panic").clone())
    }

    fn step(&self, step: &str) -> Result<(), CcmException> {
        match self.spring(step) {
            true => Err(CcmException { reason: CcmExceptionReason::SystemError }),
            false => Ok(()),
        }
    }

    fn configure(&self) -> Result<(), InvalidConfiguration> {
        match self.spring("configure") {
            true => Err(InvalidConfiguration {}),
            false => Ok(()),
        }
    }
}

/// Steps of a component; its field `trap` decides on their failure.
macro_rules! trapped {
    ($module:ident) => {
        fn trap(&self) -> oxorb::Result<String> {
            self.trap.get()
        }

        fn set_trap(&self, value: &str) -> oxorb::Result<()> {
            self.trap.set(value)
        }

        fn configuration_complete(
            &self,
            _: &$module::Configured,
        ) -> Result<(), InvalidConfiguration> {
            self.trap.configure()
        }

        fn activate(&self, _: &$module::Context) -> Result<(), CcmException> {
            self.trap.step("activate")
        }

        fn passivate(&self, _: &$module::Context) -> Result<(), CcmException> {
            self.trap.step("passivate")
        }

        fn remove(&self, _: &$module::Installed) -> Result<(), CcmException> {
            self.trap.step("remove")
        }
    };
}

/// Executor of `Station::Counter`.
#[derive(Default)]
struct CounterImpl {
    trap: Trap,
    count: AtomicU32,
}

impl Count for CounterImpl {
    fn next(&self) -> oxorb::Result<u32> {
        self.trap.spring("call");
        Ok(self.count.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl CounterExecutor for CounterImpl {
    fn output(self: &Arc<Self>, _: &counter::Context) -> Arc<dyn Count> {
        Arc::clone(self) as Arc<dyn Count>
    }

    trapped!(counter);
}

/// Executor of `Station::Reader`.
#[derive(Default)]
struct ReaderImpl {
    trap: Trap,
}

/// Facet of a reader.
struct Scale(reader::Context);

impl Reading for Scale {
    fn read(&self) -> oxorb::Result<u32> {
        self.0.source()?.next()
    }
}

impl ReaderExecutor for ReaderImpl {
    fn dial(self: &Arc<Self>, context: &reader::Context) -> Arc<dyn Reading> {
        Arc::new(Scale(context.clone()))
    }

    trapped!(reader);
}

/// Executor of the connector `Counts::Relay`.
#[derive(Default)]
struct RelayImpl;

/// Facet of a connector.
struct Entry(relay::Context);

impl Count for Entry {
    /// Passes the call on, and adds a hundred to make the path visible.
    fn next(&self) -> oxorb::Result<u32> {
        Ok(self.0.outlet()?.next()? + 100)
    }
}

impl RelayExecutor for RelayImpl {
    fn entry(self: &Arc<Self>, context: &relay::Context) -> Arc<dyn Count> {
        Arc::new(Entry(context.clone()))
    }
}

/// Facet that reads by a function.
struct ReadBy<F>(F);

impl<F: Fn() -> oxorb::Result<u32> + Send + Sync + 'static> Reading for ReadBy<F> {
    fn read(&self) -> oxorb::Result<u32> {
        (self.0)()
    }
}

/// Facet that counts from 101, so that its values differ from those of a counter.
#[derive(Default)]
struct Hundreds(CounterImpl);

impl Count for Hundreds {
    fn next(&self) -> oxorb::Result<u32> {
        Ok(self.0.next()? + 100)
    }
}

/// Executor of `Station::Terminal`, whose extended port provides a counter.
#[derive(Default)]
struct TerminalImpl {
    counter: Arc<CounterImpl>,
}

impl TerminalExecutor for TerminalImpl {
    fn link_outward(self: &Arc<Self>, _: &terminal::Context) -> Arc<dyn Count> {
        Arc::clone(&self.counter) as Arc<dyn Count>
    }

    fn dial(self: &Arc<Self>, context: &terminal::Context) -> Arc<dyn Reading> {
        let context = context.clone();
        Arc::new(ReadBy(move || context.link_inward()?.next()))
    }
}

/// Executor of the connector `Station::Coupling`, whose mirror port provides another counter.
#[derive(Default)]
struct CouplingImpl {
    counter: Arc<Hundreds>,
}

impl CouplingExecutor for CouplingImpl {
    fn near_inward(self: &Arc<Self>, _: &coupling::Context) -> Arc<dyn Count> {
        Arc::clone(&self.counter) as Arc<dyn Count>
    }

    fn dial(self: &Arc<Self>, context: &coupling::Context) -> Arc<dyn Reading> {
        let context = context.clone();
        Arc::new(ReadBy(move || context.near_outward()?.next()))
    }
}

/// Returns the components, by entry points such as `create_Station_Counter_Impl` and `create_Counts_Relay_Impl`.
pub fn implementations() -> Implementations {
    Implementations::new()
        .component::<CounterRef, _>("create_Station_Counter_Impl", CounterImpl::default)
        .component::<ReaderRef, _>("create_Station_Reader_Impl", ReaderImpl::default)
        .component::<RelayRef, _>("create_Counts_Relay_Impl", RelayImpl::default)
        .component::<TerminalRef, _>("create_Station_Terminal_Impl", TerminalImpl::default)
        .component::<CouplingRef, _>("create_Station_Coupling_Impl", CouplingImpl::default)
}
