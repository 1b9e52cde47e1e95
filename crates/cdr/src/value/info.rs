//! Declarations of valuetypes, and the registry that finds them by repository id.

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
    /// Direct bases, starting with the one that has a state.
    pub bases: &'static [&'static ValueInfo],
    /// Repository ids of the supported interfaces and their bases.
    pub supports: &'static [&'static str],
    /// Address from which a receiver can load code for the type; `None` if not declared.
    pub codebase: Option<&'static str>,
    /// Whether a receiver that does not know the type may truncate the value to the first of
    /// `bases`.
    pub truncatable: bool,
    /// Whether the application marshals the state: see [`CustomMarshal`](crate::CustomMarshal).
    pub custom: bool,
}

impl ValueInfo {
    /// Creates the declaration of a valuetype without bases, neither truncatable nor custom.
    pub const fn new(id: &'static str) -> Self {
        Self { id, bases: &[], supports: &[], codebase: None, truncatable: false, custom: false }
    }

    /// Reports whether values of this type are valid where `id` is declared: itself, its bases,
    /// supported interfaces, `ValueBase`.
    pub fn is_a(&self, id: &str) -> bool {
        self.id == id
            || id == ValueBase::INFO.id
            || self.supports.contains(&id)
            || self.bases.iter().any(|base| base.is_a(id))
    }

    /// Returns the types to which values of this type can be truncated, starting with this type.
    pub(super) fn truncation(&'static self) -> impl Iterator<Item = &'static ValueInfo> {
        core::iter::successors(Some(self), |info| {
            info.bases.first().filter(|_| info.truncatable).copied()
        })
    }
}

/// Type declared as `valuetype` in IDL, abstract or not. Generated code implements it.
pub trait Valuetype: 'static {
    /// Declaration in IDL.
    const INFO: &'static ValueInfo;

    /// Returns factories of the types with a state, known to the IDL compiler, whose values are
    /// valid where this type is declared.
    fn factories() -> &'static [Factory];
}

/// Valuetype with a state. Generated code implements it for the struct that contains the state.
pub trait ValueState: Valuetype + Clone + Debug + Send + Sync + Sized {
    /// Writes the state, starting with that of the base.
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()>;

    /// Reads the state that [`encode_state`](Self::encode_state) wrote.
    fn decode_state(d: &mut Decoder<'_>) -> Result<Self>;

    /// Returns the state of a base of this type, or this state itself.
    fn part(&self, of: TypeId) -> Option<&dyn Any> {
        (of == TypeId::of::<Self>()).then_some(self as &dyn Any)
    }

    /// Returns the state of a base for modification.
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

/// Marker trait of types whose values are valid where `Base` is declared. Generated code implements it for each base,
/// direct or not, and for [`ValueBase`].
pub trait Inherits<Base: Valuetype>: Valuetype {}

impl<T: Valuetype> Inherits<T> for T {}

/// Base of all valuetypes: `ValueBase` in IDL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueBase {}

impl Valuetype for ValueBase {
    const INFO: &'static ValueInfo = &ValueInfo::new("IDL:omg.org/CORBA/ValueBase:1.0");

    fn factories() -> &'static [Factory] {
        &[]
    }
}

/// Factory that creates values of one type when they are received.
#[derive(Clone, Copy)]
pub struct Factory {
    info: &'static ValueInfo,
    make: fn() -> Arc<dyn Instance>,
}

impl Factory {
    /// Creates the factory of a type.
    pub const fn of<T: ValueState>() -> Self {
        Self { info: T::INFO, make: || Arc::new(Slot::<T>::empty()) }
    }

    /// Returns the type of the values that the factory creates.
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

/// Registry of factories in addition to those that the IDL compiler knows for each declaration: for
/// types from other IDL files, and for all types valid where IDL declares `ValueBase`.
///
/// Used only if the declaration does not know a received repository id. The registry only grows, so
/// lookups take no lock; they take one search per call of [`register`](Self::register) or
/// [`register_types`](Self::register_types).
#[derive(Debug, Default)]
pub struct ValueRegistry {
    first: OnceLock<Box<Batch>>,
    ask: OnceLock<Ask>,
}

/// Function that returns types by their repository ids.
type Whom = dyn Fn(&str) -> Option<TypeCode> + Send + Sync;

/// Source of types that are not registered.
struct Ask {
    whom: Box<Whom>,
    /// Number of answers of `None`.
    in_vain: AtomicU32,
}

/// Number of answers of `None` after which the source is not called any more, since a peer may
/// invent ids.
const PATIENCE: u32 = 1000;

impl Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ask")
    }
}

/// Types registered by one call.
#[derive(Debug, Default)]
struct Batch {
    factories: Table<&'static str, Factory>,
    types: Table<Box<str>, TypeCode>,
    later: OnceLock<Box<Batch>>,
}

impl ValueRegistry {
    /// Adds factories, replacing those for the same repository ids.
    pub fn register(&self, factories: &[Factory]) {
        let factories = factories.iter();
        self.add(Batch {
            factories: factories.map(|factory| (factory.info.id, *factory)).collect(),
            ..Batch::default()
        });
    }

    /// Adds types of values, for programs that read them as [`Dynamic`](crate::Dynamic), replacing those with the same
    /// repository ids. Ignores types that are not valuetypes or boxes, or have no repository id.
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

    /// Sets the function that returns types of values neither registered nor known from their
    /// declaration, for programs that read them as [`Dynamic`](crate::Dynamic); for example from an
    /// Interface Repository. The types that it returns are registered.
    ///
    /// Only the first function set is used. It is called while a message is read, and no more after
    /// 1000 answers of `None`, as a peer may invent ids.
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
        // `set` fails if there is a function already; the first one is kept, as documented.
        let _ = self.ask.set(Ask { whom: Box::new(whom), in_vain: AtomicU32::new(0) });
    }

    /// Requests a type from the source.
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

    /// Returns the type with a repository id that was passed to
    /// [`register_types`](Self::register_types).
    pub fn type_code(&self, id: &str) -> Option<&TypeCode> {
        let batches = successors(self.first.get(), |batch| batch.later.get());
        batches.filter_map(|batch| batch.types.get(id)).last()
    }

    /// Returns the factory for a repository id.
    pub fn factory(&self, id: &str) -> Option<Factory> {
        let batches = successors(self.first.get(), |batch| batch.later.get());
        batches.filter_map(|batch| batch.factories.get(id).copied()).last()
    }
}
