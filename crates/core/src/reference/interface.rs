//! Typed references, and the type that every object has.

use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

use oxorb_cdr::{Decoder, Encode, Encoder, Nilable, Result as CdrResult, Room, TypeCode, Typed};
use oxorb_object::SystemException;

use crate::policy::{AnyPolicy, ClientPolicy, InvalidPolicies, SetOverrideType};
use crate::{ConfinedServant, Failure, Ref, Servant, reference};

/// Typed object reference. The IDL compiler implements it for each `...Ref`; import it (`use oxorb::Interface as _;`)
/// for the methods that every object has.
///
/// ```
/// use oxorb_core::{Interface, ObjectRef, Options, Orb};
///
/// let orb = Orb::new(Options::default());
/// let object: ObjectRef = orb.string_to_object("corbaloc::10.0.0.7/Account")?;
/// assert!(object.to_ior().starts_with("IOR:"));
/// // Every object is an `Object`; the server need not be asked for that.
/// assert!(object.narrow::<ObjectRef>()?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Interface: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// Repository id of the interface, such as `IDL:bank/Account:1.0`.
    const REPOSITORY_ID: &'static str;

    /// Types a reference without a query to the object (`_unchecked_narrow`).
    fn from_ref(reference: Ref) -> Self;

    /// Returns the untyped reference.
    fn reference(&self) -> &Ref;

    /// Types a reference if the object supports the interface (`_narrow`). Queries the object unless its type id
    /// already names the interface.
    ///
    /// Returns `Ok(None)` if the object was reached and does not support the interface.
    fn narrow<I: Interface>(&self) -> Result<Option<I>, SystemException> {
        let reference = Interface::reference(self);
        Ok(reference.is_a(I::REPOSITORY_ID)?.then(|| I::from_ref(reference.clone())))
    }

    /// Types a reference without a query to the object; a wrong type raises `BAD_OPERATION` at the first call.
    fn unchecked_narrow<I: Interface>(&self) -> I {
        I::from_ref(Interface::reference(self).clone())
    }

    /// Reports whether the object supports the interface `repository_id` (`_is_a`).
    fn is_a(&self, repository_id: &str) -> Result<bool, SystemException> {
        Interface::reference(self).is_a(repository_id)
    }

    /// Reports whether the object is known to no longer exist (`_non_existent`).
    fn non_existent(&self) -> Result<bool, SystemException> {
        Interface::reference(self).non_existent()
    }

    /// Connects now; an error lists each endpoint and its failure (`_validate_connection`).
    fn validate_connection(&self) -> Result<(), Failure> {
        Interface::reference(self).validate_connection()
    }

    /// Returns memory for a large `@in_place` argument; see [`Ref::room`].
    ///
    /// # Errors
    /// Those of [`Ref::room`].
    fn room(&self, octets: usize) -> Result<Room, SystemException> {
        Interface::reference(self).room(octets)
    }

    /// Returns a reference to the object with another time limit for calls; see [`Ref::with_timeout`].
    #[must_use]
    fn with_timeout(&self, timeout: impl Into<Option<std::time::Duration>>) -> Self {
        Self::from_ref(Interface::reference(self).with_timeout(timeout))
    }

    /// Returns a reference to the object under a policy; see [`Ref::with`].
    #[must_use]
    fn with(&self, policy: impl ClientPolicy) -> Self {
        Self::from_ref(Interface::reference(self).with(policy))
    }

    /// Returns a reference to the object under policies; see [`Ref::set_policy_overrides`].
    fn set_policy_overrides(
        &self,
        policies: &[AnyPolicy],
        how: SetOverrideType,
    ) -> Result<Self, InvalidPolicies> {
        let changed = Interface::reference(self).set_policy_overrides(policies, how)?;
        Ok(Self::from_ref(changed))
    }

    /// Returns the stringified reference, `IOR:...`.
    fn to_ior(&self) -> String {
        Interface::reference(self).to_string()
    }

    /// Returns the reference as `corbaloc:iiop:...`, if it has an IIOP profile.
    fn to_corbaloc(&self) -> Option<String> {
        Interface::reference(self).to_corbaloc()
    }
}

/// Interface that a servant of type `S` can serve.
///
/// The IDL compiler implements it: `impl<T: bank::Account> ServedBy<T> for
/// bank::AccountRef`, and the same for `Arc<T>`.
pub trait ServedBy<S>: Interface {
    /// Wraps the servant so that the object adapter can call it.
    fn servant(servant: S) -> Arc<dyn Servant>;
}

/// Interface that a servant of type `S`, which stays in one thread, can serve.
///
/// The IDL compiler implements it for interfaces with `@confined`: `impl<T: bank::AccountConfined> ConfinedBy<T> for
/// bank::AccountRef`, and the same for `Rc<T>`.
pub trait ConfinedBy<S>: Interface {
    /// Wraps the servant so that the object adapter can call it.
    fn confined(servant: S) -> Rc<dyn ConfinedServant>;
}

/// Reference to an object of any interface: `Object` in IDL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectRef(Ref);

impl ObjectRef {
    /// Repository id of the interface that every object has.
    pub(crate) const ID: &'static str = "IDL:omg.org/CORBA/Object:1.0";
}

impl Interface for ObjectRef {
    const REPOSITORY_ID: &'static str = ObjectRef::ID;

    fn from_ref(reference: Ref) -> Self {
        ObjectRef(reference)
    }

    fn reference(&self) -> &Ref {
        &self.0
    }
}

impl Nilable for ObjectRef {
    fn encode_nilable<'a>(reference: Option<&'a Self>, e: &mut Encoder<'a>) -> CdrResult<()> {
        encode_ref(e, reference)
    }

    fn decode_nilable(d: &mut Decoder<'_>) -> CdrResult<Option<Self>> {
        decode_ref(d)
    }
}

impl Typed for ObjectRef {
    fn type_code() -> TypeCode {
        TypeCode::OBJECT
    }
}

/// Writes a reference that may be nil, as IDL allows everywhere.
pub fn encode_ref<'a, I: Interface>(
    e: &mut Encoder<'a>,
    reference: Option<&'a I>,
) -> CdrResult<()> {
    match reference {
        Some(reference) => Interface::reference(reference).ior().encode(e),
        None => reference::encode_nil(e),
    }
}

/// Reads a reference that may be nil and binds it to the ORB that received it.
pub fn decode_ref<I: Interface>(d: &mut Decoder<'_>) -> CdrResult<Option<I>> {
    Ok(reference::decode_nilable(d)?.map(I::from_ref))
}
