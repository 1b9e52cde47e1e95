//! Objects in groups (the subset of `PortableGroup::GOA` that members need).

use oxorb_core::Interface;
use oxorb_object::{Group, UipmcProfile, profile_tag};

use crate::{ObjectId, Poa, PoaError};

impl Poa {
    /// Associates an object of this POA, which need not be active yet, with a group, whose requests
    /// it then serves (`associate_reference_with_id`). The requests arrive at the ORB's `miop://`
    /// endpoints, one of which must name the group's address. In each ORB, a group has at most one
    /// object.
    ///
    /// ```no_run
    /// # fn join(orb: &oxorb_core::Orb, poa: &oxorb_poa::Poa, id: oxorb_poa::ObjectId)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// let group = orb.string_to_object("corbaloc:miop:1.0@1.0-plant-7/239.255.0.7:5000")?;
    /// poa.associate_reference_with_id(&group, id)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PoaError::NotAGroupObject`]; [`PoaError::GroupTaken`].
    pub fn associate_reference_with_id(
        &self,
        group: &impl Interface,
        id: impl Into<ObjectId>,
    ) -> Result<(), PoaError> {
        let group = named(group)?;
        let key = self.inner.key_of(id.into().as_bytes());
        let change = |names: &mut crate::names::Names| names.bind_group(&group, &key);
        match self.adapter.change_names(change) {
            true => Ok(()),
            false => Err(PoaError::GroupTaken),
        }
    }

    /// Ends an association (`disassociate_reference_with_id`): later requests to the group are
    /// ignored.
    ///
    /// # Errors
    /// [`PoaError::NotAGroupObject`]; [`PoaError::UnknownId`] if the object is not associated with
    /// the group.
    pub fn disassociate_reference_with_id(
        &self,
        group: &impl Interface,
        id: impl Into<ObjectId>,
    ) -> Result<(), PoaError> {
        let group = named(group)?;
        let key = self.inner.key_of(id.into().as_bytes());
        let change = |names: &mut crate::names::Names| names.unbind_group(&group, &key);
        match self.adapter.change_names(change) {
            true => Ok(()),
            false => Err(PoaError::UnknownId),
        }
    }
}

/// Returns the group that a reference denotes.
fn named(object: &impl Interface) -> Result<Group, PoaError> {
    let profiles = &object.reference().ior().profiles;
    let mut groups = profiles.iter().filter(|it| it.tag == profile_tag::UIPMC);
    let profile = groups.next().ok_or(PoaError::NotAGroupObject)?;
    let profile = UipmcProfile::parse(profile).map_err(|_| PoaError::NotAGroupObject)?;
    profile.group().map_err(|_| PoaError::NotAGroupObject)
}
