//! Facts about valuetypes, and the registry that finds them by their repository ids.

use crate::once::OnceLock;
use crate::prelude::*;
use crate::tables::Table;
use alloc::sync::Arc;
use core::any::{Any, TypeId};
use core::fmt::{self, Debug};
use core::iter::successors;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::handle::{Instance, Slot};
use crate::{Decoder, Encoder, Result, Shape, TypeCode};

/// Declaration of a valuetype in IDL.
#[derive(Clone, Copy, Debug)]
pub struct ValueInfo {
    /// Repository id, as `IDL:bank/Receipt:1.0`.
    pub id: &'static str,
    /// Direct bases, the one with a state first.
    pub bases: &'static [&'static ValueInfo],
    /// Repository ids of the interfaces it supports, with their bases.
    pub supports: &'static [&'static str],
    /// Address from which a receiver can load code for the type; `None` says nothing.
    pub codebase: Option<&'static str>,
    /// Whether a receiver that does not know the type may take the first of `bases` instead.
    pub truncatable: bool,
    /// The state is written by hand: see [`CustomMarshal`](crate::CustomMarshal).
    pub custom: bool,
}

impl ValueInfo {
    /// A valuetype without bases that is neither truncatable nor custom.
    pub const fn new(id: &'static str) -> Self {
        Self { id, bases: &[], supports: &[], codebase: None, truncatable: false, custom: false }
    }

    /// Whether values of this type may stand where `id` is declared: itself, its bases, what it supports, `ValueBase`.
    pub fn is_a(&self, id: &str) -> bool {
        self.id == id
            || id == ValueBase::INFO.id
            || self.supports.contains(&id)
            || self.bases.iter().any(|base| base.is_a(id))
    }

    /// The types whose values this one can be truncated to, itself first.
    pub(super) fn truncation(&'static self) -> impl Iterator<Item = &'static ValueInfo> {
        core::iter::successors(Some(self), |info| {
            info.bases.first().filter(|_| info.truncatable).copied()
        })
    }
}

/// A type that IDL declares as `valuetype`, abstract or not. Generated code implements it.
pub trait Valuetype: 'static {
    /// Declaration in IDL.
    const INFO: &'static ValueInfo;

    /// The types with a state, among those the IDL compiler saw, whose values may stand where this one is declared.
    fn factories() -> &'static [Factory];
}

/// A valuetype with a state. Generated code implements it for the struct that holds the state.
pub trait ValueState: Valuetype + Clone + Debug + Send + Sync + Sized {
    /// Writes the state: that of the base first.
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()>;

    /// Reads what [`encode_state`](Self::encode_state) wrote.
    fn decode_state(d: &mut Decoder<'_>) -> Result<Self>;

    /// The state of the base of this type, or this state itself.
    fn part(&self, of: TypeId) -> Option<&dyn Any> {
        (of == TypeId::of::<Self>()).then_some(self as &dyn Any)
    }

    /// Returns the state of a base, to change it.
    fn part_mut(&mut self, of: TypeId) -> Option<&mut dyn Any> {
        (of == TypeId::of::<Self>()).then_some(self as &mut dyn Any)
    }

    /// Returns the view of the state as the trait whose `dyn Trait` has this id, for the operations
    /// of the type.
    #[doc(hidden)]
    fn behaviour(_of: TypeId) -> Option<&'static dyn Any> {
        None
    }
}

/// Says that values of this type may stand where `Base` is declared. Generated code implements it for each base, direct
/// or not, and for [`ValueBase`].
pub trait Inherits<Base: Valuetype>: Valuetype {}

impl<T: Valuetype> Inherits<T> for T {}

/// The base of all valuetypes: `ValueBase` in IDL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueBase {}

impl Valuetype for ValueBase {
    const INFO: &'static ValueInfo = &ValueInfo::new("IDL:omg.org/CORBA/ValueBase:1.0");

    fn factories() -> &'static [Factory] {
        &[]
    }
}

/// Makes values of one type when they arrive.
#[derive(Clone, Copy)]
pub struct Factory {
    info: &'static ValueInfo,
    make: fn() -> Arc<dyn Instance>,
}

impl Factory {
    /// The factory of a type.
    pub const fn of<T: ValueState>() -> Self {
        Self { info: T::INFO, make: || Arc::new(Slot::<T>::empty()) }
    }

    /// The type whose values it makes.
    pub fn info(&self) -> &'static ValueInfo {
        self.info
    }

    pub(super) fn make(&self) -> Arc<dyn Instance> {
        (self.make)()
    }
}

impl Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Factory").field(&self.info.id).finish()
    }
}

/// Factories beyond those that the IDL compiler knows at each place: of types from other IDL files, and of all that may
/// stand where IDL says `ValueBase`.
///
/// Looked into only when an arriving repository id is none that the place itself knows. Only grows, so looking takes no
/// lock; the time is that of one look for each call of [`register`](Self::register) or
/// [`register_types`](Self::register_types).
#[derive(Debug, Default)]
pub struct ValueRegistry {
    first: OnceLock<Box<Batch>>,
    ask: OnceLock<Ask>,
}

/// Function that knows types by their repository ids.
type Whom = dyn Fn(&str) -> Option<TypeCode> + Send + Sync;

/// Source of types that are not registered.
struct Ask {
    whom: Box<Whom>,
    /// Answers that said nothing.
    in_vain: AtomicU32,
}

/// Number of answers of `None` after which the source is not asked any more: a peer may make ids
/// up.
const PATIENCE: u32 = 1000;

impl Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ask")
    }
}

/// Types that one call registered.
#[derive(Debug, Default)]
struct Batch {
    factories: Table<&'static str, Factory>,
    types: Table<Box<str>, TypeCode>,
    later: OnceLock<Box<Batch>>,
}

impl ValueRegistry {
    /// Adds factories; one for the same repository id is replaced.
    pub fn register(&self, factories: &[Factory]) {
        let factories = factories.iter();
        self.add(Batch {
            factories: factories.map(|factory| (factory.info.id, *factory)).collect(),
            ..Batch::default()
        });
    }

    /// Adds the types of values, for those who read them as [`Dynamic`](crate::Dynamic); one with the same repository id is
    /// replaced. Types that are no valuetypes or boxes, and such without a repository id, are left out.
    ///
    /// ```
    /// use oxorb_cdr::{TypeCode, ValueModifier, ValueRegistry, Visibility};
    ///
    /// let members = [("x", TypeCode::LONG, Visibility::Public)];
    /// let point = TypeCode::value("IDL:P:1.0", "P", ValueModifier::None, None, members);
    /// let registry = ValueRegistry::default();
    /// registry.register_types([point.clone()]);
    /// assert_eq!(registry.type_code("IDL:P:1.0"), Some(&point));
    /// ```
    pub fn register_types(&self, types: impl IntoIterator<Item = TypeCode>) {
        let types = types.into_iter().filter(TypeCode::is_complete);
        let named = types.filter_map(|ty| {
            let ty = ty.resolved();
            let is_value = matches!(ty.shape(), Shape::Value { .. } | Shape::ValueBox(_));
            let id = ty.id().filter(|id| is_value && !id.is_empty())?;
            Some((id.into(), ty.clone()))
        });
        self.add(Batch { types: named.collect(), ..Batch::default() });
    }

    /// Sets the function to ask for the types of values that are not registered and that nothing at
    /// their place names, for programs that read them as [`Dynamic`](crate::Dynamic); an Interface
    /// Repository, say. Types that it returns are registered.
    ///
    /// The first one given stays. It is asked while a message is read; no more after 1000 answers of `None`, as a peer may
    /// make ids up.
    ///
    /// ```
    /// use oxorb_cdr::{TypeCode, ValueModifier, ValueRegistry, Visibility};
    ///
    /// let registry = ValueRegistry::default();
    /// registry.ask_for_types(|id| {
    ///     let members = [("x", TypeCode::LONG, Visibility::Public)];
    ///     (id == "IDL:P:1.0").then(|| TypeCode::value(id, "P", ValueModifier::None, None, members))
    /// });
    /// assert!(registry.type_code("IDL:P:1.0").is_none(), "nobody sent one");
    /// ```
    pub fn ask_for_types(&self, whom: impl Fn(&str) -> Option<TypeCode> + Send + Sync + 'static) {
        // The first stays.
        let _ = self.ask.set(Ask { whom: Box::new(whom), in_vain: AtomicU32::new(0) });
    }

    /// Asks the source for a type.
    pub(super) fn asked(&self, id: &str) -> Option<&TypeCode> {
        let ask = self.ask.get()?;
        if ask.in_vain.load(Relaxed) >= PATIENCE {
            return None;
        }
        match (ask.whom)(id) {
            Some(found) => self.register_types([found]),
            None => _ = ask.in_vain.fetch_add(1, Relaxed),
        }
        self.type_code(id)
    }

    fn add(&self, batch: Batch) {
        let mut batch = Box::new(batch);
        let mut end = &self.first;
        while let Err(unplaced) = end.set(batch) {
            batch = unplaced;
            end = &end.get().expect("it holds a batch").later;
        }
    }

    /// The type with a repository id, of those given to [`register_types`](Self::register_types).
    pub fn type_code(&self, id: &str) -> Option<&TypeCode> {
        let batches = successors(self.first.get(), |batch| batch.later.get());
        batches.filter_map(|batch| batch.types.get(id)).last()
    }

    /// The factory for a repository id.
    pub fn factory(&self, id: &str) -> Option<Factory> {
        let batches = successors(self.first.get(), |batch| batch.later.get());
        batches.filter_map(|batch| batch.factories.get(id).copied()).last()
    }
}
