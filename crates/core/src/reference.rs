//! Object references, untyped.

mod arriving;
mod home;
mod nearness;
mod wire;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use oxorb_object::{Ior, PriorityModelPolicy, SystemException};

use self::home::Home;
pub(crate) use self::nearness::Nearness;
pub(crate) use self::wire::{decode_nilable, encode_nil};
use crate::client::{Binding, Owner};
use crate::policy::{
    AnyPolicy, ClientProtocol, Effective, InvalidPolicies, Policy, PolicySet, PolicyType,
    ProtocolList, RelativeRoundtripTimeout, Resolved, SetOverrideType,
};
use crate::route::Route;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::{Orb, raise};

/// An object reference: which object, and where it leads now.
///
/// Cheap to clone (one reference count) and usable from any thread. Typed
/// references such as `bank::AccountRef` wrap one of these and offer the same
/// through [`Interface`](crate::Interface).
///
/// ```
/// use std::time::Duration;
///
/// use oxorb_core::{Interface as _, Options, Orb};
///
/// let orb = Orb::new(Options::default());
/// let object = orb.string_to_object("corbaloc::10.0.0.7:2809/Account")?;
/// let account = object.reference();
/// assert_eq!(account.to_corbaloc().unwrap(), "corbaloc:iiop:1.0@10.0.0.7:2809/Account");
///
/// // The same object, for calls that must be quick.
/// let hurried = account.with_timeout(Duration::from_millis(5));
/// assert_eq!(hurried.timeout(), Some(Duration::from_millis(5)));
/// assert!(hurried.is_equivalent(account));
/// # Ok::<(), oxorb_core::ResolveError>(())
/// ```
#[derive(Clone)]
pub struct Ref {
    shared: Arc<Shared>,
    /// The one policy that is often set anew for each call: it costs no allocation.
    timeout: Timeout,
    /// Policies of the object besides the time-out, if it has any.
    overrides: Option<Arc<PolicySet>>,
}

struct Shared {
    orb: Orb,
    home: Home,
    /// Route to which a LOCATION_FORWARD led.
    forward: ArcSwapOption<Route>,
    /// Whether there was a forward. Most references are never forwarded, and their calls need not
    /// ask where to.
    forwarded: AtomicBool,
    binding: Binding,
    nearness: Nearness,
    /// Owner of connections that only calls through the reference use.
    owner: OnceLock<Arc<Owner>>,
}

/// Longest time that a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timeout {
    /// Time limit of the ORB's configuration.
    Default,
    /// Time limit of the reference.
    Of(Duration),
    /// Absence of a time limit.
    Never,
}

impl Ref {
    /// Binds an IOR to an ORB. Nothing is sent.
    pub fn new(orb: &Orb, ior: Ior) -> Ref {
        Ref {
            shared: Arc::new(Shared {
                orb: orb.clone(),
                home: Home::new(ior),
                forward: ArcSwapOption::empty(),
                forwarded: AtomicBool::new(false),
                binding: Binding::default(),
                nearness: Nearness::default(),
                owner: OnceLock::new(),
            }),
            timeout: Timeout::Default,
            overrides: None,
        }
    }

    /// Returns a reference to the object through which calls take at most `timeout` (connecting
    /// included) and then raise `TIMEOUT`. `None`: no limit. Like
    /// [`with`](Self::with)`(`[`RelativeRoundtripTimeout`]`(timeout))`.
    ///
    /// Costs one reference count; use it per call if need be.
    #[must_use]
    pub fn with_timeout(&self, timeout: impl Into<Option<Duration>>) -> Ref {
        Ref { timeout: timeout.into().map_or(Timeout::Never, Timeout::Of), ..self.clone() }
    }

    /// Returns a reference to the object under a policy, which goes over those of ORB and thread,
    /// and over one of the same type that this reference has. This reference stays as it is; clones
    /// of the new one have the policy, too.
    ///
    /// A [`RelativeRoundtripTimeout`] costs a reference count, any other policy an allocation: where that counts, keep
    /// the result.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use oxorb_core::policy::{RelativeRoundtripTimeout, Retry, SyncScope};
    /// use oxorb_core::{Interface as _, Options, Orb};
    ///
    /// let orb = Orb::new(Options::default());
    /// let object = orb.string_to_object("corbaloc::10.0.0.7:2809/Account")?;
    /// let account = object
    ///     .with(SyncScope::WithServer)
    ///     .with(Retry::times(3))
    ///     .with(RelativeRoundtripTimeout(Duration::from_millis(5)));
    /// assert_eq!(account.reference().client_policy(), Some(SyncScope::WithServer));
    /// assert_eq!(object.reference().client_policy(), Some(SyncScope::WithTransport));
    /// # Ok::<(), oxorb_core::ResolveError>(())
    /// ```
    #[must_use]
    pub fn with(&self, policy: impl Policy) -> Ref {
        let mut changed = self.clone();
        match policy.into() {
            AnyPolicy::RelativeRoundtripTimeout(limit) => changed.timeout = limit.into(),
            other => {
                let set = Arc::make_mut(changed.overrides.get_or_insert_default());
                set.add(other);
            }
        }
        changed
    }

    /// Returns a reference to the object under policies instead of or besides those of this
    /// reference (`_set_policy_overrides`).
    ///
    /// # Errors
    /// [`InvalidPolicies`]: the places in the list of those that contradict each other or stand there twice.
    pub fn set_policy_overrides(
        &self,
        policies: &[AnyPolicy],
        how: SetOverrideType,
    ) -> Result<Ref, InvalidPolicies> {
        let set = self.policy_overrides(&[]).overridden(policies, how)?;
        let bare = Ref { timeout: Timeout::Default, overrides: None, ..self.clone() };
        let rest = set
            .as_slice()
            .iter()
            .filter(|policy| policy.policy_type() != RelativeRoundtripTimeout::TYPE);
        let rest: PolicySet = rest.copied().collect();
        let limit = set.find::<RelativeRoundtripTimeout>();
        Ok(Ref {
            timeout: limit.map_or(Timeout::Default, Timeout::from),
            overrides: (!rest.as_slice().is_empty()).then(|| Arc::new(rest)),
            ..bare
        })
    }

    /// The policies that were set for this reference; of all types if none is given (`_get_policy_overrides`).
    pub fn policy_overrides(&self, types: &[PolicyType]) -> PolicySet {
        let mut set = self.overrides.as_deref().cloned().unwrap_or_default();
        match self.timeout {
            Timeout::Default => {}
            Timeout::Of(limit) => set.add(RelativeRoundtripTimeout(limit).into()),
            Timeout::Never => set.add(RelativeRoundtripTimeout::NEVER.into()),
        }
        set.of_types(types)
    }

    /// The policy that calls of this thread through this reference have on the client's side: that of the object, else
    /// of the thread, else of the ORB (`_get_client_policy`). `None` when nothing of the kind is in force.
    pub fn client_policy<P: Policy>(&self) -> Option<P> {
        P::from_any(&self.policies().find(P::TYPE)?)
    }

    /// The policy that calls have, what the server published taken into account (`_get_policy`).
    ///
    /// Reads the reference if that has not happened, and calls nobody: where a forward would lead is not known.
    ///
    /// # Errors
    /// INV_POLICY when client and server contradict each other; what is wrong with the reference.
    pub fn policy<P: Policy>(&self) -> Result<Option<P>, SystemException> {
        let route = self.route()?;
        let policies = self.policies();
        let first = route.profiles.first();
        let published = first.map(|profile| profile.published.clone());
        let published = published.unwrap_or_default();
        let mut both = published.reconcile(&policies).map_err(|_| raise::IRRECONCILABLE)?;
        if let Some(theirs) = published.protocols()
            && P::TYPE == ClientProtocol::TYPE
        {
            let list = ProtocolList::new(theirs).map_err(|_| raise::LIST_UNUSABLE)?;
            both.realtime.protocols = Some(list);
        }
        Ok(both.find(P::TYPE).as_ref().and_then(P::from_any))
    }

    /// Returns who decides at which priority requests to the object run, as its server published it (RT-CORBA 1.2, 5.4); `None`
    /// where it said nothing, or the reference cannot be used.
    ///
    /// Reads the reference if that has not happened, and calls nobody.
    pub fn priority_model(&self) -> Option<PriorityModelPolicy> {
        let route = self.route().ok()?;
        route.profiles.iter().find_map(|profile| profile.published.model)
    }

    /// The time limit of a call of this thread through this reference.
    pub fn timeout(&self) -> Option<Duration> {
        self.policies().round_trip
    }

    /// Returns the policies that hold for a call now.
    #[inline]
    pub(crate) fn policies(&self) -> Resolved<'_> {
        let orb = self.shared.orb.policy_table();
        if self.is_plain() {
            return orb.resolve();
        }
        Resolved::Own(self.overridden())
    }

    fn overridden(&self) -> Effective {
        let mut effective = self.shared.orb.policy_table().overridden();
        if let Some(set) = &self.overrides {
            effective.apply(set.as_slice());
        }
        match self.timeout {
            Timeout::Default => {}
            Timeout::Of(limit) => effective.apply(&[RelativeRoundtripTimeout(limit).into()]),
            Timeout::Never => effective.apply(&[RelativeRoundtripTimeout::NEVER.into()]),
        }
        effective
    }

    /// The ORB this reference is bound to.
    pub fn orb(&self) -> &Orb {
        &self.shared.orb
    }

    /// The reference as it goes on the wire, every profile kept as it came.
    ///
    /// Another one from the moment a call learns that the object has moved for good (LOCATION_FORWARD_PERM).
    pub fn ior(&self) -> &Ior {
        &self.shared.home.now().ior
    }

    /// Returns the reference that calls go to now: the reference itself, or what a LOCATION_FORWARD
    /// put in its place.
    ///
    /// Takes no lock; allocates when it was forwarded.
    pub fn effective(&self) -> Ref {
        match self.shared.forward.load_full() {
            Some(route) => Ref::new(self.orb(), route.ior().clone()),
            None => self.clone(),
        }
    }

    /// Returns the reference as `corbaloc:iiop:1.2@host:port/key`, with the addresses of all protocols
    /// that the ORB has. `None` when it has none of them.
    pub fn to_corbaloc(&self) -> Option<String> {
        self.orb().options().protocols.url_of(self.ior())
    }

    /// Reports whether both references certainly name the same object: the same hosts, ports and object keys, whatever else
    /// their profiles say. False may also mean "not known" (`_is_equivalent`). Local, no call.
    pub fn is_equivalent(&self, other: &Ref) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) || self.ior().is_equivalent(other.ior())
    }

    /// Returns the route of calls: to where the object was forwarded, or as the IOR says.
    #[inline(always)]
    pub(crate) fn route(&self) -> Result<Arc<Route>, SystemException> {
        if self.shared.forwarded.load(Ordering::Acquire)
            && let Some(forwarded) = self.shared.forward.load_full()
        {
            return Ok(forwarded);
        }
        self.original_route().cloned()
    }

    /// Returns where calls go if the object was never forwarded.
    pub(crate) fn unforwarded(&self) -> Option<&Arc<Route>> {
        match self.shared.forwarded.load(Ordering::Acquire) {
            true => None,
            false => self.original_route().ok(),
        }
    }

    /// Returns where a usual call goes and its policies. `None`: some policy, forward or protocol is not usual.
    #[inline(always)]
    pub(crate) fn usual(&self) -> Option<(&Arc<Route>, &Effective)> {
        let shared = &*self.shared;
        if !self.is_plain() || shared.forwarded.load(Ordering::Acquire) {
            return None;
        }
        // Where it never was forwarded it has never moved.
        let route = shared.home.route.get()?.as_ref().ok()?;
        let policies = shared.orb.policy_table().unchanged()?;
        route.usual.then_some((route, policies))
    }

    /// Returns where a usual oneway goes, the policies of the ORB, and the limit of its write. `None`: some policy other than
    /// the time limit, a forward or a protocol is not usual.
    #[inline(always)]
    pub(crate) fn usual_oneway(&self) -> Option<(&Arc<Route>, &Effective, Option<Duration>)> {
        let shared = &*self.shared;
        if self.overrides.is_some() || shared.forwarded.load(Ordering::Acquire) {
            return None;
        }
        let route = shared.home.route.get()?.as_ref().ok()?;
        let policies = shared.orb.policy_table().unchanged()?;
        let limit = match self.timeout {
            Timeout::Default => policies.round_trip,
            Timeout::Of(limit) if limit.is_zero() => return None,
            Timeout::Of(limit) => Some(limit),
            Timeout::Never => None,
        };
        route.usual.then_some((route, policies, limit))
    }

    #[inline(always)]
    pub(crate) fn nearness(&self) -> &Nearness {
        &self.shared.nearness
    }

    /// Whether it has no policies of its own.
    pub(crate) fn is_plain(&self) -> bool {
        self.timeout == Timeout::Default && self.overrides.is_none()
    }

    /// Returns the policies of the ORB where neither the reference nor the thread has others.
    pub(crate) fn unchanged_policies(&self) -> Option<Resolved<'_>> {
        self.is_plain().then(|| self.shared.orb.policy_table().resolve())
    }

    fn original_route(&self) -> Result<&Arc<Route>, SystemException> {
        let home = self.shared.home.now();
        home.route
            .get_or_init(|| {
                if home.ior.is_nil() {
                    return Err(raise::NIL_REFERENCE);
                }
                self.shared.orb.read_route(&home.ior).map(Arc::new)
            })
            .as_ref()
            .map_err(|exception| *exception)
    }

    /// Follows a LOCATION_FORWARD for this and all later calls; a permanent
    /// one becomes the reference itself.
    pub(crate) fn forward_to(&self, ior: Ior, permanent: bool) -> Result<(), SystemException> {
        let route = Arc::new(self.shared.orb.read_route(&ior)?);
        if permanent {
            self.shared.home.move_to(ior, &route);
        }
        self.shared.forward.store(Some(route));
        self.shared.forwarded.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns the binding of this reference, for policies that forbid that it leads elsewhere.
    pub(crate) fn binding(&self) -> &Binding {
        &self.shared.binding
    }

    /// Returns the owner of its connections, under PrivateConnectionPolicy.
    pub(crate) fn owner(&self) -> &Arc<Owner> {
        self.shared.owner.get_or_init(Owner::new)
    }

    /// Goes back to the IOR itself when `tried` does not answer, unless the object has moved on
    /// meanwhile. False when `tried` is what the IOR says.
    pub(crate) fn forget_forward(&self, tried: &Arc<Route>) -> bool {
        let original = self.original_route();
        if original.is_ok_and(|original| Arc::ptr_eq(original, tried)) {
            return false;
        }
        let tried = Some(Arc::clone(tried));
        self.shared.forward.compare_and_swap(&tried, None);
        true
    }
}

impl From<RelativeRoundtripTimeout> for Timeout {
    fn from(RelativeRoundtripTimeout(limit): RelativeRoundtripTimeout) -> Timeout {
        match limit {
            Duration::MAX => Timeout::Never,
            limit => Timeout::Of(limit),
        }
    }
}

impl PartialEq for Ref {
    /// Compares like [`is_equivalent`](Ref::is_equivalent).
    fn eq(&self, other: &Ref) -> bool {
        self.is_equivalent(other)
    }
}

impl Eq for Ref {}

impl Hash for Ref {
    /// Equal for references that are [equivalent](Ref::is_equivalent).
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ior().hash_identity(state);
    }
}

impl fmt::Debug for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.to_corbaloc();
        f.debug_struct("Ref")
            .field("type_id", &self.ior().type_id)
            .field("at", &text.as_deref().unwrap_or("no IIOP profile"))
            .finish()
    }
}

impl fmt::Display for Ref {
    /// The stringified `IOR:` form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ior().fmt(f)
    }
}
