//! Linked declarations of a set of units.

use std::collections::HashMap;

use crate::types::Types;
use oxorb::Any;
use oxorb::values::TypeCode;
use oxorb_idl::model::InterfaceKind;

use crate::corba::{DefinitionKind, ParameterMode, PrimitiveKind};
use crate::{Error, Unit, fill};

/// Linked declarations of a set of units. Immutable.
#[derive(Debug)]
pub struct Repository {
    /// Entries; the first one is the repository itself.
    pub(crate) entries: Vec<Entry>,
    pub(crate) by_id: HashMap<String, EntryId>,
    pub(crate) by_name: HashMap<String, EntryId>,
    pub(crate) by_key: HashMap<String, EntryId>,
}

/// Id of an entry within its [`Repository`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryId(pub(crate) usize);

/// Object of the repository.
#[derive(Debug)]
pub struct Entry {
    /// Object id: the repository id, or the IDL notation of an unnamed type.
    pub key: String,
    /// Names and scope of a named entry.
    pub named: Option<Named>,
    /// Type of the entry or its value; `null` if it has none.
    pub ty: TypeCode,
    /// Kind of definition.
    pub kind: Kind,
    /// Entries within this one, in order.
    pub contents: Vec<EntryId>,
}

/// Names and scope of an entry.
#[derive(Debug)]
pub struct Named {
    /// Repository id.
    pub id: String,
    /// Simple name.
    pub name: String,
    /// Version: the text after the last colon of the repository id.
    pub version: String,
    /// Absolute name, beginning with `::`.
    pub absolute_name: String,
    /// Enclosing entry.
    pub defined_in: EntryId,
}

/// Kind of an entry.
#[derive(Debug)]
pub enum Kind {
    /// The repository itself.
    Repository,
    /// `module`
    Module,
    /// `const`
    Constant {
        /// Declared type.
        ty: EntryId,
        /// Value of that type.
        value: Any,
    },
    /// `struct`
    Struct(Vec<Member>),
    /// `exception`
    Exception(Vec<Member>),
    /// `union`
    Union {
        /// Type of the discriminator.
        discriminator: EntryId,
        /// Members, one for each label.
        members: Vec<UnionMember>,
    },
    /// `enum`
    Enum(Vec<String>),
    /// `typedef`
    Alias(EntryId),
    /// `native`
    Native,
    /// Boxed value.
    ValueBox(EntryId),
    /// Basic type, unbounded string, `Object` and the like.
    Primitive(PrimitiveKind),
    /// Bounded `string`.
    String(u32),
    /// Bounded `wstring`.
    Wstring(u32),
    /// `fixed`: digits and scale.
    Fixed(u16, i16),
    /// `sequence`; 0 is unbounded.
    Sequence(EntryId, u32),
    /// Dimension of an array.
    Array(EntryId, u32),
    /// `attribute`
    Attribute {
        /// Type of the attribute.
        ty: EntryId,
        /// Whether there is no setter.
        readonly: bool,
        /// Exceptions of the get operation.
        get_raises: Vec<EntryId>,
        /// Exceptions of the set operation.
        set_raises: Vec<EntryId>,
    },
    /// Operation.
    Operation {
        /// Type of the result, possibly `void`.
        result: EntryId,
        /// Parameters in order.
        params: Vec<Parameter>,
        /// Exceptions in order.
        raises: Vec<EntryId>,
        /// Names in the `context` clause.
        contexts: Vec<String>,
        /// Whether the operation has no reply.
        oneway: bool,
    },
    /// `interface`
    Interface {
        /// Abstract, local or neither.
        kind: InterfaceKind,
        /// Direct bases, in order.
        bases: Vec<EntryId>,
    },
    /// `valuetype`
    Value(Box<ValueBody>),
    /// State member of a valuetype.
    ValueMember {
        /// Type of the member.
        ty: EntryId,
        /// Whether the member is public.
        public: bool,
    },
}

/// Properties of a valuetype, in addition to its contents.
#[derive(Debug)]
pub struct ValueBody {
    /// Whether the type has no state.
    pub is_abstract: bool,
    /// Whether the implementation of the type marshals its values.
    pub is_custom: bool,
    /// Whether values may be truncated to the base.
    pub is_truncatable: bool,
    /// Base with state.
    pub base: Option<EntryId>,
    /// Bases without state.
    pub abstract_bases: Vec<EntryId>,
    /// Supported interfaces.
    pub supports: Vec<EntryId>,
    /// Factories of the valuetype.
    pub initializers: Vec<Factory>,
}

/// Factory of a valuetype.
#[derive(Debug)]
pub struct Factory {
    /// Simple name.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<Member>,
    /// Exceptions in order.
    pub raises: Vec<EntryId>,
}

/// Member of a struct or exception, or parameter of a factory.
#[derive(Debug)]
pub struct Member {
    /// Simple name.
    pub name: String,
    /// Type of the member.
    pub ty: EntryId,
}

/// Member of a union, for one of its labels.
#[derive(Debug)]
pub struct UnionMember {
    /// Simple name.
    pub name: String,
    /// Label, of the discriminator's type; an octet 0 for `default`.
    pub label: Any,
    /// Type of the member.
    pub ty: EntryId,
}

/// Parameter of an operation.
#[derive(Debug)]
pub struct Parameter {
    /// Simple name.
    pub name: String,
    /// Type of the parameter.
    pub ty: EntryId,
    /// Direction of the parameter's transfer.
    pub mode: ParameterMode,
}

impl Repository {
    /// Compiles and links units. Later declarations of a name replace earlier ones.
    ///
    /// # Errors
    /// [`Error::Idl`]
    pub fn new(units: &[Unit]) -> Result<Repository, Error> {
        let mut models = Vec::new();
        for unit in units {
            models.push(Types::new(unit.compile()?.model));
        }
        Ok(fill::fill(&models))
    }

    /// Entry of the repository itself.
    pub const ROOT: EntryId = EntryId(0);

    /// Returns the entry with an id.
    pub fn entry(&self, id: EntryId) -> &Entry {
        &self.entries[id.0]
    }

    /// Returns all entries, the repository itself first.
    pub fn entries(&self) -> impl Iterator<Item = (EntryId, &Entry)> {
        let entries = self.entries.iter().enumerate();
        entries.map(|(at, entry)| (EntryId(at), entry))
    }

    /// Returns the entry with a repository id.
    pub fn lookup_id(&self, repository_id: &str) -> Option<EntryId> {
        self.by_id.get(repository_id).copied()
    }

    /// Returns the entry of a scoped name as seen from a container: absolute after `::`, else found by IDL's rules.
    pub fn lookup(&self, container: EntryId, name: &str) -> Option<EntryId> {
        if let Some(absolute) = name.strip_prefix("::") {
            return self.by_name.get(absolute).copied();
        }
        let mut parts = name.split("::");
        let first = parts.next()?;
        let mut scope = container;
        let found = loop {
            if let Some(found) = self.inner(scope, first) {
                break found;
            }
            scope = self.entry(scope).named.as_ref()?.defined_in;
        };
        parts.try_fold(found, |scope, part| self.inner(scope, part))
    }

    /// Returns the entries of a name down to a depth, -1 for any.
    pub fn lookup_name(
        &self,
        container: EntryId,
        name: &str,
        levels: i32,
        limit: DefinitionKind,
        exclude_inherited: bool,
    ) -> Vec<EntryId> {
        if levels == 0 {
            return Vec::new();
        }
        let mut found = Vec::new();
        for id in self.contents(container, DefinitionKind::DkAll, exclude_inherited) {
            let entry = self.entry(id);
            if entry.name() == name && entry.kind.is(limit) {
                found.push(id);
            }
            let below = if levels > 0 { levels - 1 } else { levels };
            for id in self.lookup_name(id, name, below, limit, exclude_inherited) {
                if !found.contains(&id) {
                    found.push(id);
                }
            }
        }
        found
    }

    /// Returns the contents of a container, and those that it inherits.
    pub fn contents(
        &self,
        container: EntryId,
        limit: DefinitionKind,
        exclude_inherited: bool,
    ) -> Vec<EntryId> {
        let mut scopes = vec![container];
        if !exclude_inherited {
            scopes.extend(self.all_bases(container));
        }
        let all = scopes.iter().flat_map(|id| &self.entry(*id).contents);
        all.filter(|id| self.entry(**id).kind.is(limit)).copied().collect()
    }

    /// Returns all direct and indirect bases of an interface or valuetype, each once, nearest first.
    pub fn all_bases(&self, id: EntryId) -> Vec<EntryId> {
        let mut found: Vec<EntryId> = Vec::new();
        let mut todo = self.entry(id).kind.bases();
        let mut at = 0;
        while at < todo.len() {
            let base = todo[at];
            at += 1;
            if !found.contains(&base) && base != id {
                found.push(base);
                todo.extend(self.entry(base).kind.bases());
            }
        }
        found
    }

    /// Reports whether an interface or valuetype is, inherits from, or supports another.
    pub fn is_a(&self, id: EntryId, repository_id: &str) -> bool {
        let is = |id: EntryId| {
            let named = self.entry(id).named.as_ref();
            named.is_some_and(|named| named.id == repository_id)
        };
        let mut all = vec![id];
        all.extend(self.all_bases(id));
        let supported = all.iter().flat_map(|id| match &self.entry(*id).kind {
            Kind::Value(body) => body.supports.clone(),
            _ => Vec::new(),
        });
        let supported: Vec<_> = supported.collect();
        for id in supported {
            all.push(id);
            all.extend(self.all_bases(id));
        }
        let root = match self.entry(id).kind {
            Kind::Value(_) => "IDL:omg.org/CORBA/ValueBase:1.0",
            _ => "IDL:omg.org/CORBA/Object:1.0",
        };
        repository_id == root || all.into_iter().any(is)
    }

    /// Returns an entry directly in a container, or inherited by it.
    fn inner(&self, container: EntryId, name: &str) -> Option<EntryId> {
        let all = self.contents(container, DefinitionKind::DkAll, false);
        all.into_iter().find(|id| self.entry(*id).name() == name)
    }
}

impl Entry {
    /// Returns the entry's simple name; empty if it has none.
    pub fn name(&self) -> &str {
        self.named.as_ref().map_or("", |named| &named.name)
    }

    /// Returns the entry's repository id; empty if it has none.
    pub fn repository_id(&self) -> &str {
        self.named.as_ref().map_or("", |named| &named.id)
    }
}

impl Kind {
    /// Returns the kind in its form on the wire.
    pub fn definition_kind(&self) -> DefinitionKind {
        match self {
            Kind::Repository => DefinitionKind::DkRepository,
            Kind::Module => DefinitionKind::DkModule,
            Kind::Constant { .. } => DefinitionKind::DkConstant,
            Kind::Struct(_) => DefinitionKind::DkStruct,
            Kind::Exception(_) => DefinitionKind::DkException,
            Kind::Union { .. } => DefinitionKind::DkUnion,
            Kind::Enum(_) => DefinitionKind::DkEnum,
            Kind::Alias(_) => DefinitionKind::DkAlias,
            Kind::Native => DefinitionKind::DkNative,
            Kind::ValueBox(_) => DefinitionKind::DkValueBox,
            Kind::Primitive(_) => DefinitionKind::DkPrimitive,
            Kind::String(_) => DefinitionKind::DkString,
            Kind::Wstring(_) => DefinitionKind::DkWstring,
            Kind::Fixed(..) => DefinitionKind::DkFixed,
            Kind::Sequence(..) => DefinitionKind::DkSequence,
            Kind::Array(..) => DefinitionKind::DkArray,
            Kind::Attribute { .. } => DefinitionKind::DkAttribute,
            Kind::Operation { .. } => DefinitionKind::DkOperation,
            Kind::Interface { kind, .. } => match kind {
                InterfaceKind::Unconstrained => DefinitionKind::DkInterface,
                InterfaceKind::Abstract => DefinitionKind::DkAbstractInterface,
                InterfaceKind::Local => DefinitionKind::DkLocalInterface,
            },
            Kind::Value(_) => DefinitionKind::DkValue,
            Kind::ValueMember { .. } => DefinitionKind::DkValueMember,
        }
    }

    /// Reports whether the kind is the requested kind.
    fn is(&self, limit: DefinitionKind) -> bool {
        match limit {
            DefinitionKind::DkAll => true,
            DefinitionKind::DkTypedef => matches!(
                self,
                Kind::Struct(_)
                    | Kind::Union { .. }
                    | Kind::Enum(_)
                    | Kind::Alias(_)
                    | Kind::Native
                    | Kind::ValueBox(_)
            ),
            limit => self.definition_kind() == limit,
        }
    }

    fn bases(&self) -> Vec<EntryId> {
        match self {
            Kind::Interface { bases, .. } => bases.clone(),
            Kind::Value(body) => body.base.iter().chain(&body.abstract_bases).copied().collect(),
            _ => Vec::new(),
        }
    }
}
