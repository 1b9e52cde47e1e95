//! Handles of values, and links to them.

use crate::once::OnceLock;
use crate::prelude::*;
use alloc::sync::{Arc, Weak};
use core::any::{Any, TypeId};
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use super::{Inherits, ValueInfo, ValueState, Valuetype};
use crate::{Decoder, Encoder, Result};

/// Handle of a value of type `T` or of one that inherits from it.
///
/// Cheap to clone (one or two reference counts) and usable from any thread. The state cannot change
/// once it is shared; a new state is a new value, which [`make_mut`](Self::make_mut) creates only
/// if necessary. Two handles are equal if they refer to the same value, regardless of the states.
///
/// A handle of a value received as part of a cycle keeps the whole cycle alive.
pub struct Value<T: Valuetype> {
    pub(super) instance: Arc<dyn Instance>,
    /// Received graph with cycles to which the value belongs, which the handle keeps alive.
    pub(super) graph: Option<Arc<Graph>>,
    formal: PhantomData<fn() -> T>,
}

impl<T: ValueState> Value<T> {
    /// Creates a value with this state. Allocates.
    pub fn new(state: T) -> Self {
        Self::from_parts(Arc::new(Slot::of(state)), None)
    }

    /// Creates a value whose state may refer back to it. The link closes the cycle without owning,
    /// so that the cycle can be freed: it returns `None` while `state` runs, and after the value
    /// was dropped.
    pub fn cyclic(state: impl FnOnce(ValueLink<T>) -> T) -> Self {
        let slot = Arc::new(Slot::empty());
        let instance: Arc<dyn Instance> = slot.clone();
        let back = ValueLink::from_target(Target::Back(Arc::downgrade(&instance), Weak::new()));
        let state = state(back);
        assert!(slot.set(state), "a new slot is empty");
        Self::from_parts(instance, None)
    }
}

impl<T: Valuetype> Value<T> {
    /// Converts the handle to a base of its type.
    pub fn upcast<Base: Valuetype>(&self) -> Value<Base>
    where
        T: Inherits<Base>,
    {
        Value::from_parts(Arc::clone(&self.instance), self.graph.clone())
    }

    /// Converts the handle to another type, if the value is of that type.
    pub fn downcast<Other: Valuetype>(&self) -> Option<Value<Other>> {
        self.info()
            .is_a(Other::INFO.id)
            .then(|| Value::from_parts(Arc::clone(&self.instance), self.graph.clone()))
    }

    /// Returns the actual type.
    pub fn info(&self) -> &'static ValueInfo {
        self.instance.info()
    }

    /// Returns exclusive access to the value, after copying it if it was shared.
    pub(super) fn exclusive(&mut self) -> Option<&mut (dyn Instance + 'static)> {
        if Arc::get_mut(&mut self.instance).is_none() {
            self.instance = self.instance.duplicate()?;
        }
        Arc::get_mut(&mut self.instance)
    }

    fn from_parts(instance: Arc<dyn Instance>, graph: Option<Arc<Graph>>) -> Self {
        Self { instance, graph, formal: PhantomData }
    }
}

impl<T: ValueState> Value<T> {
    /// Returns the state, or the part of it that belongs to `T`, for modification.
    ///
    /// A value without other references is modified in place. If it is shared, or part of a cycle,
    /// this handle first copies the state (which allocates) and refers to a new value from then on:
    /// other handles see no change. Values that the state links to are not copied.
    ///
    /// ```
    /// use oxorb_cdr::{StringValue, Value};
    ///
    /// let mut value = Value::new(StringValue("so".into()));
    /// let other = value.clone();
    /// value.make_mut().0.push_str("nar");
    /// assert_eq!((&*value.0, &*other.0), ("sonar", "so"));
    /// ```
    ///
    /// # Panics
    ///
    /// Never, unless a handwritten [`ValueState`] does not return the parts that it declares.
    pub fn make_mut(&mut self) -> &mut T {
        let part = (self.exclusive()).and_then(|instance| instance.part_mut(TypeId::of::<T>()));
        let state = part.and_then(|part| part.downcast_mut());
        state.expect("a value has the states of all its bases")
    }
}

impl<T: ValueState> Deref for Value<T> {
    type Target = T;

    /// Returns the state, or the part of it that belongs to `T`.
    fn deref(&self) -> &T {
        let part = self.instance.part(TypeId::of::<T>());
        let state = part.and_then(|part| part.downcast_ref());
        state.expect("a value has the states of all its bases")
    }
}

impl<T: Valuetype> Clone for Value<T> {
    fn clone(&self) -> Self {
        Self::from_parts(Arc::clone(&self.instance), self.graph.clone())
    }
}

impl<T: Valuetype> PartialEq for Value<T> {
    /// Reports whether both refer to the same value.
    fn eq(&self, other: &Self) -> bool {
        same(&self.instance, &other.instance)
    }
}

impl<T: Valuetype> Eq for Value<T> {}

impl<T: Valuetype> fmt::Debug for Value<T> {
    /// Writes the state; linked values are only named, as they may refer back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.instance.describe(f)
    }
}

/// Link to a value of type `T`, or of one that inherits from it, or null.
///
/// Equal links refer to the same value, or are both null. A clone of a link that closes a cycle
/// owns its target.
pub struct ValueLink<T: Valuetype> {
    pub(super) target: Target,
    formal: PhantomData<fn() -> T>,
}

/// Target of a link.
pub(super) enum Target {
    Null,
    /// Owning link.
    Owned(Arc<dyn Instance>, Within),
    /// Link to a value that, directly or indirectly, owns this link.
    Back(Weak<dyn Instance>, Weak<Graph>),
}

/// Received graph that a link belongs to, if any.
#[derive(Clone)]
pub(super) enum Within {
    /// Created locally, or received without any cycle.
    None,
    /// Link inside the graph, which must not keep the graph alive.
    Inside(Weak<Graph>),
    /// Link from outside, which keeps the graph alive.
    Outside(Arc<Graph>),
}

impl<T: Valuetype> ValueLink<T> {
    /// The null value.
    pub const fn null() -> Self {
        Self::from_target(Target::Null)
    }

    /// Reports whether the link is null.
    pub fn is_null(&self) -> bool {
        matches!(self.target, Target::Null)
    }

    /// Returns the value, unless the link is null.
    ///
    /// Returns `None`, too, for a link that closes a cycle, if its target is not complete yet or,
    /// for a cycle created by [`Value::cyclic`], was dropped.
    pub fn get(&self) -> Option<Value<T>> {
        let (instance, graph) = self.target.resolve()?;
        instance.is_filled().then(|| Value::from_parts(instance, graph))
    }

    pub(super) const fn from_target(target: Target) -> Self {
        Self { target, formal: PhantomData }
    }
}

/// Value, and the graph to keep alive with it.
type Reached = (Arc<dyn Instance>, Option<Arc<Graph>>);

impl Target {
    fn resolve(&self) -> Option<Reached> {
        match self {
            Self::Null => None,
            Self::Owned(instance, within) => Some((Arc::clone(instance), within.graph())),
            Self::Back(instance, graph) => Some((instance.upgrade()?, graph.upgrade())),
        }
    }
}

impl Within {
    fn graph(&self) -> Option<Arc<Graph>> {
        match self {
            Self::None => None,
            Self::Inside(graph) => graph.upgrade(),
            Self::Outside(graph) => Some(Arc::clone(graph)),
        }
    }
}

impl<T: Valuetype> Default for ValueLink<T> {
    fn default() -> Self {
        Self::null()
    }
}

impl<D: Inherits<T>, T: Valuetype> From<Value<D>> for ValueLink<T> {
    fn from(value: Value<D>) -> Self {
        let within = value.graph.map_or(Within::None, Within::Outside);
        Self::from_target(Target::Owned(value.instance, within))
    }
}

impl<D: Inherits<T>, T: Valuetype> From<&Value<D>> for ValueLink<T> {
    fn from(value: &Value<D>) -> Self {
        value.clone().into()
    }
}

impl<D: Inherits<T>, T: Valuetype> From<Option<Value<D>>> for ValueLink<T> {
    fn from(value: Option<Value<D>>) -> Self {
        value.map_or(Self::null(), Self::from)
    }
}

impl<T: Valuetype> Clone for ValueLink<T> {
    fn clone(&self) -> Self {
        let target = match self.target.resolve() {
            Some((instance, graph)) => {
                Target::Owned(instance, graph.map_or(Within::None, Within::Outside))
            }
            // If the target does not exist, the clone cannot own it, and is as unreachable as the
            // original.
            None => match &self.target {
                Target::Back(instance, graph) => Target::Back(instance.clone(), graph.clone()),
                _ => Target::Null,
            },
        };
        Self::from_target(target)
    }
}

impl<T: Valuetype> PartialEq for ValueLink<T> {
    /// Reports whether both refer to the same value, or are null.
    fn eq(&self, other: &Self) -> bool {
        match (self.target.resolve(), other.target.resolve()) {
            (Some((one, _)), Some((other, _))) => same(&one, &other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl<T: Valuetype> Eq for ValueLink<T> {}

impl<T: Valuetype> fmt::Debug for ValueLink<T> {
    /// Writes only the type, because values may refer back to each other.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target.resolve() {
            Some((instance, _)) => write!(f, "-> {}", instance.info().id),
            None => f.write_str("null"),
        }
    }
}

/// Received value with all values inside it, if there are cycles. Links inside the graph do not
/// keep it alive, those from outside do.
#[derive(Default, Debug)]
pub(super) struct Graph {
    members: OnceLock<Vec<Arc<dyn Instance>>>,
}

impl Graph {
    /// Keeps values alive as long as the graph; to be called once.
    pub(super) fn keep(&self, values: Vec<Arc<dyn Instance>>) {
        let kept = self.members.set(values).is_ok();
        debug_assert!(kept, "a graph is complete when its outermost value is");
    }

    /// Reports whether there are cycles.
    pub(super) fn has_cycles(&self) -> bool {
        self.members.get().is_some()
    }
}

/// Value whose type is known only at run time.
pub(crate) trait Instance: Send + Sync {
    fn info(&self) -> &'static ValueInfo;
    /// Reports whether the state has been read.
    fn is_filled(&self) -> bool;
    /// Reads the state; to be called once.
    fn fill(&self, d: &mut Decoder<'_>) -> Result<()>;
    fn write<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()>;
    fn part(&self, of: TypeId) -> Option<&dyn Any>;
    fn part_mut(&mut self, of: TypeId) -> Option<&mut dyn Any>;
    /// Returns the view of the value as a trait; `of` is the id of `dyn Trait`.
    fn behaviour(&self, of: TypeId) -> Option<&'static dyn Any>;
    /// Returns a copy of the value with the same state; `None` while the state is missing.
    fn duplicate(&self) -> Option<Arc<dyn Instance>>;
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl fmt::Debug for dyn Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().id)
    }
}

/// Storage for the state of a value, which may not be set yet.
pub(super) struct Slot<T> {
    state: OnceLock<T>,
}

impl<T> Slot<T> {
    pub(super) const fn empty() -> Self {
        Self { state: OnceLock::new() }
    }

    fn of(state: T) -> Self {
        Self { state: OnceLock::from(state) }
    }

    fn set(&self, state: T) -> bool {
        self.state.set(state).is_ok()
    }
}

impl<T: ValueState> Instance for Slot<T> {
    fn info(&self) -> &'static ValueInfo {
        T::INFO
    }

    fn is_filled(&self) -> bool {
        self.state.get().is_some()
    }

    fn fill(&self, d: &mut Decoder<'_>) -> Result<()> {
        let filled = self.set(T::decode_state(d)?);
        debug_assert!(filled, "the state of a value is read once");
        Ok(())
    }

    fn write<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        match self.state.get() {
            Some(state) => state.encode_state(e),
            None => Err(e.error(crate::ErrorKind::IncompleteValue)),
        }
    }

    fn part(&self, of: TypeId) -> Option<&dyn Any> {
        self.state.get()?.part(of)
    }

    fn part_mut(&mut self, of: TypeId) -> Option<&mut dyn Any> {
        self.state.get_mut()?.part_mut(of)
    }

    fn behaviour(&self, of: TypeId) -> Option<&'static dyn Any> {
        T::behaviour(of)
    }

    fn duplicate(&self) -> Option<Arc<dyn Instance>> {
        Some(Arc::new(Slot::of(self.state.get()?.clone())))
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.state.get(), f)
    }
}

/// Reports whether both are the same value, by address, regardless of the type.
fn same(one: &Arc<dyn Instance>, other: &Arc<dyn Instance>) -> bool {
    address(&**one) == address(&**other)
}

/// Returns the address, which identifies a value among all live ones.
pub(super) fn address(instance: &dyn Instance) -> usize {
    core::ptr::from_ref(instance).cast::<()>() as usize
}
