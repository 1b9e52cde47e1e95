//! CORBA objects of the service, and their ids.

use std::sync::Arc;

use oxorb::poa::ObjectId;
use oxorb::servant::ServedBy;
use oxorb::{Ref, SystemException};

use super::Service;
use crate::kind::Kind;
use crate::problem::GONE;

const KINDS: [Kind; 6] =
    [Kind::Factory, Kind::FilterFactory, Kind::Channel, Kind::Admin, Kind::Proxy, Kind::Filter];

impl Service {
    /// Activates an object with an id of its kind.
    pub(crate) fn activate<I: ServedBy<Arc<S>>, S>(
        &self,
        kind: Kind,
        id: i32,
        servant: Arc<S>,
    ) -> Result<Ref, SystemException> {
        let id = self.object_id(kind, id);
        let activated = self.poa.activate_servant_with_id(&id, I::servant(servant));
        activated.map_err(|_| GONE)
    }

    /// Deactivates an object. Calls in progress are completed.
    pub(crate) fn deactivate(&self, kind: Kind, id: i32) {
        // Ignore the error: the object no longer exists if the POA has been destroyed.
        let _ = self.poa.deactivate_id(self.object_id(kind, id));
    }

    /// Returns the id of an object. It includes the number of the service, because the POAs and numbers of other
    /// services are the same.
    pub(super) fn object_id(&self, kind: Kind, id: i32) -> ObjectId {
        let mut octets = self.number.to_be_bytes().to_vec();
        octets.push(kind as u8);
        octets.extend_from_slice(&id.to_be_bytes());
        ObjectId::from(octets)
    }

    pub(super) fn object(&self, id: &ObjectId) -> Option<(Kind, i32)> {
        let (number, rest) = id.as_bytes().split_first_chunk()?;
        let (kind, id) = rest.split_first()?;
        let id = i32::from_be_bytes(id.try_into().ok()?);
        let kind = *KINDS.get(usize::from(*kind))?;
        (u64::from_be_bytes(*number) == self.number).then_some((kind, id))
    }
}
