//! References that pass through the bridge, in a table.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ior::Ior;
use crate::{Interface as _, ObjectRef, Ref, SystemException, minor};
use oxorb_core::lock::Mutex;

use crate::bridge::MOST_REFERENCES;
use crate::bridge::counts::add;
use crate::bridge::forwarder::{Forwarder, GONE};
use crate::bridge::passage::{Counterparts, Passage, Towards};
use crate::bridge::poas::Poas;

/// Objects of the bridge that replace passed references, and the originals.
pub(crate) struct Passing {
    poas: Poas,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The bridge's reference for each original reference.
    here: HashMap<Ior, Ior>,
    /// The original reference for each reference of the bridge.
    there: HashMap<Ior, Ior>,
}

impl Passing {
    pub(crate) fn new(poas: Poas) -> Passing {
        Passing { poas, known: Mutex::default() }
    }

    /// Records the original reference of an object of the bridge.
    pub(crate) fn stands_for(&self, object: &ObjectRef, target: &Ior) {
        let mut known = self.known.lock();
        let here = as_sent(object.reference());
        known.here.insert(target.clone(), here.clone());
        known.there.insert(here, target.clone());
    }
}

impl Counterparts for Passing {
    /// Returns the counterpart of a reference on the other side of the bridge.
    ///
    /// # Errors
    /// IMP_LIMIT after [`MOST_REFERENCES`]; TRANSIENT if an object of the bridge cannot be created.
    fn counterpart(
        &self,
        passage: &Arc<Passage>,
        ior: &Ior,
        _: Option<&str>,
        towards: Towards,
    ) -> Result<Ior, SystemException> {
        let mut known = self.known.lock();
        if let Some(ior) = known.there.get(ior).or_else(|| known.here.get(ior)) {
            return Ok(ior.clone());
        }
        if known.here.len() >= MOST_REFERENCES {
            let completed = towards.completed();
            return Err(SystemException::imp_limit(minor::imp_limit::BRIDGED, completed));
        }
        let forwarder = Forwarder::new(passage, ior);
        let poa = self.poas.with(forwarder.priority_model());
        let object = poa.activate_servant(Arc::new(forwarder));
        let object = object.map_err(|_| GONE)?;
        let here = as_sent(&object);
        known.here.insert(ior.clone(), here.clone());
        known.there.insert(here.clone(), ior.clone());
        add(&passage.counts.references, 1);
        Ok(here)
    }
}

fn as_sent(object: &Ref) -> Ior {
    object.ior().clone()
}
