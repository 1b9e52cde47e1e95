//! Processes that were started but have not yet called the manager.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use oxorb_core::Interface as _;
use oxorb_core::lock::Mutex;
use oxorb_object::{CompletionStatus, SystemException, minor};
use oxorb_sys::process::End;

use crate::idl::dance::{LocalityManagerActivator, LocalityManagerRef};
use crate::idl::deployment::Property;
use crate::idl::ox_deployment::LocalityRef;

/// Result of starting a process.
pub(super) enum News {
    /// The process called the manager and received its configuration.
    Here(LocalityRef),
    /// The process ended before it called the manager.
    Ended(End),
}

/// Processes that have not called back, by the ids that the manager assigned to them.
#[derive(Default)]
pub(super) struct Arrivals(Mutex<HashMap<String, Expected>>);

struct Expected {
    manager: Option<LocalityRef>,
    news: Sender<News>,
}

impl Arrivals {
    /// Registers a process that will call back.
    pub(super) fn expect(&self, uuid: &str) -> Receiver<News> {
        let (news, receiver) = channel();
        let expected = Expected { manager: None, news };
        self.0.lock().insert(uuid.to_owned(), expected);
        receiver
    }

    /// Reports the end of a process that has not called back.
    pub(super) fn ended(&self, uuid: &str, end: End) {
        if let Some(expected) = self.0.lock().remove(uuid) {
            let _ = expected.news.send(News::Ended(end));
        }
    }

    /// Removes a process whose call is no longer expected.
    pub(super) fn forget(&self, uuid: &str) {
        self.0.lock().remove(uuid);
    }
}

/// Exception for a call of a process that is not expected, because another manager started it or it calls too late.
const UNEXPECTED: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

impl LocalityManagerActivator for Arrivals {
    fn locality_manager_callback(
        &self,
        manager: Option<&LocalityManagerRef>,
        uuid: &str,
    ) -> Result<Vec<Property>, SystemException> {
        let mut expected = self.0.lock();
        let expected = expected.get_mut(uuid).ok_or(UNEXPECTED)?;
        let manager = manager.ok_or(UNEXPECTED)?;
        expected.manager = Some(manager.unchecked_narrow());
        // The process needs no properties: its arguments suffice until it receives its plan.
        Ok(Vec::new())
    }

    fn configuration_complete(&self, uuid: &str) -> Result<(), SystemException> {
        let expected = self.0.lock().remove(uuid).ok_or(UNEXPECTED)?;
        let manager = expected.manager.ok_or(UNEXPECTED)?;
        // Ignore the error: a receiver that no longer waits kills the process.
        let _ = expected.news.send(News::Here(manager));
        Ok(())
    }
}
