//! Object references, untyped and typed: their routes, the addresses that they publish, and the operations that are
//! called through them.

mod arriving;
mod context;
mod home;
mod interface;
pub(crate) mod interface_repository;
mod nearness;
mod op;
mod operations;
mod own_address;
mod passes;
mod published;
mod route;
mod value;
mod wire;

pub use context::{Context, decode_context, encode_context};
pub use interface::{ConfinedBy, Interface, ObjectRef, ServedBy, decode_ref, encode_ref};
pub(crate) use nearness::Nearness;
pub(crate) use op::Args;
pub use op::{NO_SLOT, Op, Operation, OperationError, SLOTTED_KEY, SLOTTED_KEY_LEN};
pub use operations::Operations;
pub(crate) use own_address::{LaneOf, OwnAddress};
pub use passes::{Passes, text_passes};
pub(crate) use published::PublishedAddress;
pub(crate) use route::{Route, RouteProfile};
pub use value::Abstract;
pub(crate) use wire::{decode_nilable, encode_nil};

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use oxorb_object::{Ior, PriorityModelPolicy, SystemException};

use self::home::Home;
use crate::Orb;
use crate::client::{Binding, Owner};
use crate::error::raise;
use crate::policy::{
    AnyPolicy, ClientPolicy, ClientProtocol, Effective, InvalidPolicies, PolicySet, PolicyType,
    ProtocolList, RelativeRoundtripTimeout, Resolved, SetOverrideType,
};
use crate::threads::sync::atomic::{AtomicBool, Ordering};

/// An object reference: the object, and its current location.
///
/// Cheap to clone (one reference count) and usable from any thread. Typed references such as
/// `bank::AccountRef` wrap a `Ref` and offer its methods through [`Interface`](crate::Interface).
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
    shared: Arc<ReferenceShared>,
    /// Round-trip limit, stored separately because it is often set for each call and must cost no allocation.
    timeout: Timeout,
    /// Policies of the reference, except the round-trip limit.
    overrides: Option<Arc<PolicySet>>,
}

struct ReferenceShared {
    orb: Orb,
    home: Home,
    /// Route to which a LOCATION_FORWARD led; `None` after a permanent forward whose target became a home: its route is
    /// then that of the home.
    forward: ArcSwapOption<Route>,
    /// Whether there was a forward. Calls through most references, which are never forwarded, need
    /// not read `forward`.
    forwarded: AtomicBool,
    /// Whether calls end with the request that their thread serves.
    forwarding: bool,
    binding: Binding,
    nearness: Nearness,
    /// Owner of the connections that are private to the reference.
    owner: OnceLock<Arc<Owner>>,
}

/// Round-trip limit of a reference.
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
    /// Binds an IOR to an ORB. Sends no message.
    pub fn new(orb: &Orb, ior: Ior) -> Ref {
        Ref {
            shared: Arc::new(ReferenceShared {
                orb: orb.clone(),
                home: Home::new(ior),
                forward: ArcSwapOption::empty(),
                forwarded: AtomicBool::new(false),
                forwarding: false,
                binding: Binding::default(),
                nearness: Nearness::default(),
                owner: OnceLock::new(),
            }),
            timeout: Timeout::Default,
            overrides: None,
        }
    }

    /// Changes a reference that was just made by [`new`](Self::new) into one for a bridge, which makes one call for
    /// each request. Has no effect on a reference that has clones.
    ///
    /// A two-way call through the reference, or a clone that is made later, ends when the client of the request that
    /// the calling thread serves cancels that request or disconnects. The call then raises TIMEOUT, COMPLETED_MAYBE,
    /// and its server receives CancelRequest where the protocol has it. If the client waits for no reply, use another
    /// reference.
    ///
    /// Other servants check [`request_is_cancelled`](crate::request_is_cancelled), because a call of theirs may have to
    /// end as it began.
    #[must_use]
    pub fn forwarding(mut self) -> Ref {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.forwarding = true;
        }
        self
    }

    /// Returns a reference to the object with a time limit for each call, connecting included,
    /// after which the call raises `TIMEOUT`; `None` for no limit. Equivalent to
    /// [`with`](Self::with)`(`[`RelativeRoundtripTimeout`]`(timeout))`.
    ///
    /// Costs one reference count, so it may be used for a single call.
    #[must_use]
    pub fn with_timeout(&self, timeout: impl Into<Option<Duration>>) -> Ref {
        Ref { timeout: timeout.into().map_or(Timeout::Never, Timeout::Of), ..self.clone() }
    }

    /// Returns a reference to the object with a policy, which overrides the policies of ORB and thread, and a policy of
    /// its type in this reference. This reference is unchanged; clones of the new one have the policy.
    ///
    /// A [`RelativeRoundtripTimeout`] costs a reference count, any other policy an allocation: on a critical path, keep
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
    pub fn with(&self, policy: impl ClientPolicy) -> Ref {
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

    /// Returns a reference to the object with policies that replace, or are added to, those of this
    /// reference (`_set_policy_overrides`).
    ///
    /// # Errors
    /// [`InvalidPolicies`]: indices of the policies that contradict each other or occur twice.
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

    /// Returns the policies set for this reference, of the given types or, without any, of all
    /// (`_get_policy_overrides`).
    pub fn policy_overrides(&self, types: &[PolicyType]) -> PolicySet {
        let mut set = self.overrides.as_deref().cloned().unwrap_or_default();
        match self.timeout {
            Timeout::Default => {}
            Timeout::Of(limit) => set.add(RelativeRoundtripTimeout(limit).into()),
            Timeout::Never => set.add(RelativeRoundtripTimeout::NEVER.into()),
        }
        set.of_types(types)
    }

    /// Returns the client-side policy of this thread's calls through this reference: that of the reference, else of the
    /// thread, else of the ORB (`_get_client_policy`). `None` if there is none.
    pub fn client_policy<P: ClientPolicy>(&self) -> Option<P> {
        P::from_any(&self.policies().find(P::TYPE)?)
    }

    /// Returns the policy of calls after reconciliation with the policies that the server published (`_get_policy`).
    ///
    /// Parses the reference if it is not parsed yet, and makes no call: the target of a forward is not known.
    ///
    /// # Errors
    /// INV_POLICY if the policies of client and server are irreconcilable; the error of an unusable reference.
    pub fn policy<P: ClientPolicy>(&self) -> Result<Option<P>, SystemException> {
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

    /// Returns the priority model of the object that its server published (RT-CORBA 1.2, 5.4); `None` if it published
    /// none, or the reference cannot be used.
    ///
    /// Parses the reference if it is not parsed yet, and makes no call.
    pub fn priority_model(&self) -> Option<PriorityModelPolicy> {
        let route = self.route().ok()?;
        route.profiles.iter().find_map(|profile| profile.published.model)
    }

    /// Returns the round-trip limit of this thread's calls through this reference.
    pub fn timeout(&self) -> Option<Duration> {
        self.policies().round_trip
    }

    /// Returns the policies that apply to a call now.
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

    /// Reports whether calls end with the request that their thread serves; see [`forwarding`](Self::forwarding).
    #[inline]
    pub(crate) fn is_forwarding(&self) -> bool {
        self.shared.forwarding
    }

    /// Returns the ORB that this reference is bound to.
    pub fn orb(&self) -> &Orb {
        &self.shared.orb
    }

    /// Returns the reference as transmitted, with every profile as received.
    ///
    /// After a permanent forward (LOCATION_FORWARD_PERM) it returns the IOR of the new location.
    pub fn ior(&self) -> &Ior {
        &self.shared.home.now().ior
    }

    /// Returns the reference that calls currently use: this reference, or the target of a
    /// LOCATION_FORWARD.
    ///
    /// Takes no lock; allocates if the reference was forwarded.
    pub fn effective(&self) -> Ref {
        match self.shared.forward.load_full() {
            Some(route) => Ref::new(self.orb(), route.ior().clone()),
            None => self.clone(),
        }
    }

    /// Returns the reference as `corbaloc:iiop:1.2@host:port/key`, with the addresses of all protocols that the ORB
    /// speaks. `None` if it has no such address.
    pub fn to_corbaloc(&self) -> Option<String> {
        self.orb().options().protocols.url_of(self.ior())
    }

    /// Reports whether both references certainly name the same object: with the same hosts, ports and object keys,
    /// regardless of the other contents of their profiles. False may also mean "unknown" (`_is_equivalent`). Makes no
    /// call.
    pub fn is_equivalent(&self, other: &Ref) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) || self.ior().is_equivalent(other.ior())
    }

    /// Returns the route of calls: to the target of a forward, or of the IOR.
    #[inline(always)]
    pub(crate) fn route(&self) -> Result<Arc<Route>, SystemException> {
        match self.shared.home.route.get() {
            // A reference that was never forwarded has not moved permanently either, so its original route applies.
            Some(parsed) if !self.shared.forwarded.load(Ordering::Acquire) => parsed.clone(),
            _ => self.forwarded_route(),
        }
    }

    /// Returns the route of calls through a reference that was forwarded, or whose IOR was not parsed yet.
    fn forwarded_route(&self) -> Result<Arc<Route>, SystemException> {
        if self.shared.forwarded.load(Ordering::Acquire)
            && let Some(forwarded) = self.shared.forward.load_full()
        {
            return Ok(forwarded);
        }
        self.original_route().cloned()
    }

    /// Returns the route of the IOR if the reference was never forwarded.
    pub(crate) fn unforwarded(&self) -> Option<&Arc<Route>> {
        match self.shared.forwarded.load(Ordering::Acquire) {
            true => None,
            false => self.original_route().ok(),
        }
    }

    /// Returns route and policies of a call on the fast path; `None` if a policy, a forward or the protocol rules it
    /// out, or if the ORB counts calls.
    #[inline(always)]
    pub(crate) fn fast_route(&self) -> Option<(&Arc<Route>, &Effective)> {
        self.fast(|route| route.fast)
    }

    /// Returns route and policies as [`fast_route`](Self::fast_route) does, in an ORB that counts calls.
    #[inline(always)]
    pub(crate) fn counted(&self) -> Option<(&Arc<Route>, &Effective)> {
        self.fast(|route| route.counted)
    }

    #[inline(always)]
    fn fast(&self, suits: impl Fn(&Route) -> bool) -> Option<(&Arc<Route>, &Effective)> {
        let shared = &*self.shared;
        if !self.is_plain() || shared.forwarded.load(Ordering::Acquire) {
            return None;
        }
        // A reference that was never forwarded has not moved permanently either, so its original route applies.
        let route = shared.home.route.get()?.as_ref().ok()?;
        let policies = shared.orb.policy_table().unchanged()?;
        suits(route).then_some((route, policies))
    }

    /// Returns route, ORB policies and write limit of a oneway on the fast path; `None` if a policy other than the time
    /// limit, a forward or the protocol rules it out, or if the ORB counts calls.
    #[inline(always)]
    pub(crate) fn fast_oneway_route(&self) -> Option<(&Arc<Route>, &Effective, Option<Duration>)> {
        self.fast_oneway(|route| route.fast)
    }

    /// Returns route, policies and limit as [`fast_oneway_route`](Self::fast_oneway_route) does, in an ORB that counts
    /// calls.
    #[inline(always)]
    pub(crate) fn counted_oneway(&self) -> Option<(&Arc<Route>, &Effective, Option<Duration>)> {
        self.fast_oneway(|route| route.counted)
    }

    #[inline(always)]
    fn fast_oneway(
        &self,
        suits: impl Fn(&Route) -> bool,
    ) -> Option<(&Arc<Route>, &Effective, Option<Duration>)> {
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
        suits(route).then_some((route, policies, limit))
    }

    #[inline(always)]
    pub(crate) fn nearness(&self) -> &Nearness {
        &self.shared.nearness
    }

    /// Reports whether the reference has no individual policies.
    pub(crate) fn is_plain(&self) -> bool {
        self.timeout == Timeout::Default && self.overrides.is_none()
    }

    /// Returns the policies of the ORB if the reference has no individual policies.
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

    /// Follows a LOCATION_FORWARD for this and all later calls; a permanent one replaces the IOR.
    ///
    /// # Errors
    /// The reference cannot be used, or the ORB's [check](crate::Options::check_forwards) rejects it.
    pub(crate) fn forward_to(&self, ior: Ior, permanent: bool) -> Result<(), SystemException> {
        self.shared.orb.options().forward_check.of(&ior)?;
        let route = Arc::new(self.shared.orb.read_route(&ior)?);
        // If the target of a permanent forward becomes a home, it is recorded only there, so that calls always use the
        // IOR that the reference shows. If several forwards arrive at the same time, this is the IOR of the home that
        // was added last.
        let is_home = permanent && self.shared.home.move_to(&ior, &route);
        self.shared.forward.store((!is_home).then_some(route));
        self.shared.forwarded.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns the binding of this reference, for policies that forbid rebinding.
    pub(crate) fn binding(&self) -> &Binding {
        &self.shared.binding
    }

    /// Returns the owner of the reference's private connections (PrivateConnectionPolicy).
    pub(crate) fn owner(&self) -> &Arc<Owner> {
        self.shared.owner.get_or_init(Owner::new)
    }

    /// Returns to the IOR after `tried` failed, unless the reference was forwarded again meanwhile.
    /// Returns false if `tried` is the route of the IOR.
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
    /// Compares as [`is_equivalent`](Ref::is_equivalent) does.
    fn eq(&self, other: &Ref) -> bool {
        self.is_equivalent(other)
    }
}

impl Eq for Ref {}

impl Hash for Ref {
    /// Hashes equal for references that are [equivalent](Ref::is_equivalent).
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
    /// Writes the stringified form, `IOR:`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ior().fmt(f)
    }
}
