//! Conventional layered demultiplexing, the baseline for OxORB's single step: an ORB composed of layers,
//! each with its own tables.
//!
//! ```text
//! 1, 2  the operating system: connection and process      not here: the same for all
//! 3     ORB core to object adapter                        names of the path, one table for each level, under its lock
//! 4     adapter to servant                                a table of object ids, under its lock
//! 5     servant to skeleton                               a table of interfaces
//! 6     skeleton to operation                             names compared one by one
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use oxorb::__gen::Operations;
use oxorb::{CompletionStatus, Outcome, Servant, SystemException, Upcall};
use oxorb_sys::sync::{Mutex, RwLock};

/// Layers above the ORB core.
#[derive(Default)]
pub(super) struct Layers {
    root: Level,
    skeletons: HashMap<String, Skeleton>,
}

/// Object adapter at one level.
#[derive(Default)]
struct Level {
    below: RwLock<HashMap<String, Arc<Level>>>,
    servants: Mutex<HashMap<Vec<u8>, Arc<dyn Servant>>>,
}

/// Operations of one interface.
struct Skeleton(Operations);

impl Layers {
    pub(super) fn add_interface(&mut self, servant: &dyn Servant, operations: Operations) {
        let id = servant.repository_id().to_owned();
        self.skeletons.insert(id, Skeleton(operations));
    }

    /// Adds an object below `depth` adapters; returns its key.
    pub(super) fn add(&self, depth: usize, id: &str, servant: Arc<dyn Servant>) -> Vec<u8> {
        let mut path = String::new();
        let mut place: Option<Arc<Level>> = None;
        for level in 0..depth {
            let name = format!("level {level}");
            path += &name;
            path.push('/');
            let here = place.as_deref().unwrap_or(&self.root);
            let mut below = here.below.write();
            let next = Arc::clone(below.entry(name).or_default());
            drop(below);
            place = Some(next);
        }
        let here = place.as_deref().unwrap_or(&self.root);
        let mut servants = here.servants.lock();
        servants.insert(id.as_bytes().to_vec(), servant);
        (path + id).into_bytes()
    }

    /// Performs steps 3 to 6, and the upcall.
    pub(super) fn serve(&self, mut upcall: Upcall<'_>) -> Outcome {
        match self.find(upcall.object_key(), upcall.operation()) {
            Some((servant, place)) => {
                upcall.set_slot(place);
                servant.dispatch(upcall)
            }
            None => upcall.fail(SystemException::object_not_exist(0, CompletionStatus::No)),
        }
    }

    fn find(&self, key: &[u8], operation: &str) -> Option<(Arc<dyn Servant>, u16)> {
        let mut names = key.split(|octet| *octet == b'/');
        let id = names.next_back()?;
        let mut place: Option<Arc<Level>> = None;
        for name in names {
            let here = place.as_deref().unwrap_or(&self.root);
            let below = here.below.read();
            let next = Arc::clone(below.get(std::str::from_utf8(name).ok()?)?);
            drop(below);
            place = Some(next);
        }
        let here = place.as_deref().unwrap_or(&self.root);
        let servant = Arc::clone(here.servants.lock().get(id)?);
        let skeleton = self.skeletons.get(servant.repository_id())?;
        let place = skeleton.0.search(operation);
        Some((servant, u16::try_from(place).ok()?))
    }
}
