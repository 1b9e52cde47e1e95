//! References that pass through the bridge.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ior::Ior;
use crate::{CompletionStatus, Interface as _, ObjectRef, Ref, SystemException, minor};
use oxorb_cdr::{Dynamic, RawProfile, RawReference};
use oxorb_core::lock::Mutex;

use oxorb_object::TaggedProfile;

use crate::bridge::counts::add;
use crate::bridge::forwarder::Forwarder;
use crate::bridge::poas::Poas;
use crate::bridge::{Inner, MOST_REFERENCES};

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
}

impl Inner {
    /// Replaces the references in a value by those of the other side of the bridge.
    ///
    /// # Errors
    /// IMP_LIMIT after [`MOST_REFERENCES`]; TRANSIENT if an object of the bridge cannot be created.
    pub(crate) fn rewrite(
        self: &Arc<Self>,
        value: &mut Dynamic,
        completed: CompletionStatus,
    ) -> Result<(), SystemException> {
        match value {
            Dynamic::Reference(raw) if !raw.is_nil() => {
                *raw = from_ior(&self.other_side(&to_ior(raw), completed)?);
            }
            Dynamic::Struct(fields) => {
                for field in fields {
                    self.rewrite(&mut field.value, completed)?;
                }
            }
            Dynamic::Union(selected) => {
                if let Some(member) = &mut selected.member {
                    self.rewrite(&mut member.value, completed)?;
                }
            }
            Dynamic::Sequence(items) | Dynamic::Array(items) => {
                for item in items {
                    self.rewrite(item, completed)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the counterpart of a reference on the other side of the bridge.
    fn other_side(
        self: &Arc<Self>,
        ior: &Ior,
        completed: CompletionStatus,
    ) -> Result<Ior, SystemException> {
        let mut known = self.passing.known.lock();
        if let Some(ior) = known.there.get(ior).or_else(|| known.here.get(ior)) {
            return Ok(ior.clone());
        }
        if known.here.len() >= MOST_REFERENCES {
            return Err(SystemException::imp_limit(minor::imp_limit::BRIDGED, completed));
        }
        let forwarder = Forwarder::new(self, ior);
        let poa = self.passing.poas.with(forwarder.priority_model());
        let object = poa.activate_servant(Arc::new(forwarder));
        let object = object.map_err(|_| crate::bridge::forwarder::GONE)?;
        let here = as_sent(&object);
        known.here.insert(ior.clone(), here.clone());
        known.there.insert(here.clone(), ior.clone());
        add(&self.counts.references, 1);
        Ok(here)
    }

    /// Records the original reference of an object of the bridge.
    pub(crate) fn stands_for(&self, object: &ObjectRef, target: &Ior) {
        let mut known = self.passing.known.lock();
        let here = as_sent(object.reference());
        known.here.insert(target.clone(), here.clone());
        known.there.insert(here, target.clone());
    }
}

fn as_sent(object: &Ref) -> Ior {
    object.ior().clone()
}

fn to_ior(raw: &RawReference) -> Ior {
    let profiles = raw
        .profiles
        .iter()
        .map(|profile| TaggedProfile { tag: profile.tag, data: profile.data.clone() });
    Ior { type_id: raw.type_id.clone(), profiles: profiles.collect() }
}

fn from_ior(ior: &Ior) -> RawReference {
    let profiles = ior
        .profiles
        .iter()
        .map(|profile| RawProfile { tag: profile.tag, data: profile.data.clone() });
    RawReference { type_id: ior.type_id.clone(), profiles: profiles.collect() }
}
