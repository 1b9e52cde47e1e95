//! Policies of threads.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use super::{Effective, InvalidPolicies, PolicySet, PolicyType, SetOverrideType};

/// Policies of the calling thread (`CORBA::PolicyCurrent`): they apply to all calls of the thread through references of
/// an ORB, unless a reference has its own.
///
/// ```
/// use std::time::Duration;
///
/// use oxorb_core::policy::{PolicyCurrent, RelativeRoundtripTimeout};
/// use oxorb_core::{Interface as _, Options, Orb};
///
/// let orb = Orb::new(Options::default());
/// let object = orb.string_to_object("corbaloc::10.0.0.7/Account")?;
/// {
///     let _hurry = PolicyCurrent::scope(&orb, RelativeRoundtripTimeout(Duration::from_millis(5)));
///     assert_eq!(object.reference().timeout(), Some(Duration::from_millis(5)));
/// }
/// assert_eq!(object.reference().timeout(), Some(Duration::from_secs(60)), "as before");
/// # Ok::<(), oxorb_core::ResolveError>(())
/// ```
#[derive(Debug)]
pub enum PolicyCurrent {}

/// Scope of policies in this thread. Dropping it removes only these policies, regardless of the order in which scopes
/// end.
#[derive(Debug)]
#[must_use = "the policies hold as long as this lives"]
pub struct PolicyScope {
    layer: u64,
    /// A scope belongs to the thread that created it.
    not_send: PhantomData<*const ()>,
}

/// Policies of one scope, for one ORB.
struct Layer {
    id: u64,
    orb: u64,
    policies: PolicySet,
}

/// Id of the layer that `set_policy_overrides` changes, below all scopes.
const LOWEST: u64 = 0;

thread_local! {
    static LAYERS: RefCell<Vec<Layer>> = const { RefCell::new(Vec::new()) };
    /// Whether there are any layers. Most calls test only this.
    static ANY: Cell<bool> = const { Cell::new(false) };
    static NEXT: Cell<u64> = const { Cell::new(LOWEST + 1) };
}

/// Adds policies on top of the thread's for an ORB until the scope is dropped.
pub(crate) fn scope(orb: u64, policies: PolicySet) -> PolicyScope {
    let id = NEXT.get();
    NEXT.set(id + 1);
    push(Layer { id, orb, policies });
    PolicyScope { layer: id, not_send: PhantomData }
}

/// Changes the thread's policies for an ORB below all scopes.
pub(crate) fn set_overrides(
    orb: u64,
    policies: &[super::AnyPolicy],
    how: SetOverrideType,
) -> Result<(), InvalidPolicies> {
    let before = LAYERS.with_borrow(|layers| {
        let lowest = layers.iter().find(|layer| layer.id == LOWEST && layer.orb == orb);
        lowest.map(|layer| layer.policies.clone()).unwrap_or_default()
    });
    let policies = before.overridden(policies, how)?;
    remove(|layer| layer.id == LOWEST && layer.orb == orb);
    if !policies.as_slice().is_empty() {
        push(Layer { id: LOWEST, orb, policies });
    }
    Ok(())
}

/// Returns the policies of the thread for an ORB, including scopes: of the given types or, without
/// any, of all.
pub(crate) fn overrides(orb: u64, types: &[PolicyType]) -> PolicySet {
    let mut all = PolicySet::new();
    each(orb, |policies| {
        for policy in policies.as_slice() {
            all.add(*policy);
        }
    });
    all.of_types(types)
}

impl Drop for PolicyScope {
    fn drop(&mut self) {
        remove(|layer| layer.id == self.layer);
    }
}

/// Reports whether this thread has its own policies, for any ORB.
#[inline]
pub(super) fn any() -> bool {
    ANY.get()
}

/// Applies the thread's policies on top of those of the ORB `orb`.
pub(super) fn apply(orb: u64, effective: &mut Effective) {
    each(orb, |policies| effective.apply(policies.as_slice()));
}

fn each(orb: u64, mut visit: impl FnMut(&PolicySet)) {
    // While a thread ends, its layers may no longer exist; then no policies apply.
    let _ = LAYERS.try_with(|layers| {
        for layer in layers.borrow().iter().filter(|layer| layer.orb == orb) {
            visit(&layer.policies);
        }
    });
}

fn push(layer: Layer) {
    LAYERS.with_borrow_mut(|layers| {
        let at = if layer.id == LOWEST { 0 } else { layers.len() };
        layers.insert(at, layer);
    });
    ANY.set(true);
}

fn remove(which: impl Fn(&Layer) -> bool) {
    let _ = LAYERS.try_with(|layers| {
        let mut layers = layers.borrow_mut();
        layers.retain(|layer| !which(layer));
        ANY.set(!layers.is_empty());
    });
}
