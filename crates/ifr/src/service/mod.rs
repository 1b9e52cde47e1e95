//! The repository as CORBA objects: one servant for each entry, which only stores the id of its entry.

mod anonymous;
mod contained;
mod container;
mod describe;
mod interface;
mod named;
mod read_only;
mod text;
mod value;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use oxorb::poa::{IdAssignment, IdUniqueness, Lifespan, ObjectId, Poa, Policies};
use oxorb::servant::{ServedBy, escape};
use oxorb::values::{Shape, TypeCode};
use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, Servant, SystemException, minor};
use oxorb_sys::sync::Mutex;

use crate::corba::*;
use crate::{EntryId, Error, INITIAL_NAME, Kind, Repository};
use read_only::ReadOnly;

/// Name of the POA of the objects. It is persistent: given the same port, references outlive the process.
pub const POA_NAME: &str = "InterfaceRepository";

/// Repository served as CORBA objects until the ORB is shut down, even if this is dropped.
pub struct Served {
    poa: Poa,
    root: RepositoryRef,
    /// Active objects by key. Locked while they are exchanged.
    active: Mutex<HashMap<String, Active>>,
}

/// Object of one entry, which outlives changes of the entry.
struct Active {
    kind: DefinitionKind,
    servant: Arc<ReadOnly>,
    reference: ObjectRef,
}

/// Serves a repository with an ORB: activates an object for each entry, binds the repository to the key
/// `InterfaceRepository`, and makes it the initial reference of this name, so that `_interface` also works for the
/// objects of this ORB. Use the ORB's `listen_late`, so that no client gets OBJECT_NOT_EXIST before the repository is
/// served.
///
/// # Errors
/// [`Error::Poa`] if the ORB already serves a repository, or was shut down.
pub fn serve(orb: &Orb, repository: Repository) -> Result<Served, Error> {
    let policies = Policies {
        lifespan: Lifespan::Persistent,
        id_assignment: IdAssignment::User,
        id_uniqueness: IdUniqueness::Multiple,
        ..Policies::default()
    };
    let poa = orb.root_poa().create_poa(POA_NAME, policies)?;
    poa.manager().hold_requests(false)?;
    // Bind the key before the first activation, with which the ORB may begin to listen: early requests then wait until
    // the POA manager is activated.
    let root = repository.entry(Repository::ROOT).key.as_str();
    poa.bind_name_to_id(INITIAL_NAME, ObjectId::from(root));
    let mut active = HashMap::new();
    let references = exchange(&poa, &mut active, repository)?;
    let root = references[Repository::ROOT.0].unchecked_narrow();
    poa.manager().activate()?;
    orb.bind(INITIAL_NAME, &root);
    Ok(Served { poa, root, active: Mutex::new(active) })
}

impl Served {
    /// Returns the reference of the repository object.
    pub fn reference(&self) -> &RepositoryRef {
        &self.root
    }

    /// Replaces the served repository while calls continue.
    ///
    /// References stay valid: they refer to the definition that now has the same repository id. If no definition of the
    /// same kind has that id, the old object is deactivated. A call in progress is answered from the old repository.
    ///
    /// # Errors
    /// [`Error::Poa`] if the ORB was shut down.
    pub fn replace(&self, repository: Repository) -> Result<(), Error> {
        let mut active = self.active.lock();
        exchange(&self.poa, &mut active, repository)?;
        Ok(())
    }
}

/// Makes the active objects those of a repository; returns the references of its entries.
fn exchange(
    poa: &Poa,
    active: &mut HashMap<String, Active>,
    repository: Repository,
) -> Result<Vec<ObjectRef>, Error> {
    let service = Arc::new(Service { repository, references: OnceLock::new() });
    let mut before = std::mem::take(active);
    let mut references = Vec::new();
    let mut kept = Vec::new();
    for (id, entry) in service.repository.entries() {
        let object = Object::new(&service, id);
        let kind = entry.kind.definition_kind();
        let servant = servant(object);
        let one = match before.remove(&entry.key) {
            Some(one) if one.kind == kind => {
                kept.push((Arc::clone(&one.servant), servant));
                one
            }
            other => {
                let key = ObjectId::from(entry.key.as_str());
                if other.is_some() {
                    poa.deactivate_id(key.clone())?;
                }
                activate(poa, &key, kind, servant)?
            }
        };
        references.push(one.reference.clone());
        active.insert(entry.key.clone(), one);
    }
    let _ = service.references.set(references.clone());
    // Existing objects change only now, because their results may refer to any other object, which must be active.
    for (object, servant) in kept {
        object.replace(servant);
    }
    for key in before.into_keys() {
        poa.deactivate_id(ObjectId::from(key.as_str()))?;
    }
    Ok(references)
}

fn activate(
    poa: &Poa,
    key: &ObjectId,
    kind: DefinitionKind,
    servant: Arc<dyn Servant>,
) -> Result<Active, Error> {
    let servant = Arc::new(ReadOnly::new(servant));
    let reference = poa.activate_servant_with_id(key, Arc::clone(&servant) as _)?;
    Ok(Active { kind, servant, reference: ObjectRef::from_ref(reference) })
}

struct Service {
    repository: Repository,
    /// References, one for each entry.
    references: OnceLock<Vec<ObjectRef>>,
}

/// Servant of one entry.
struct Object {
    service: Arc<Service>,
    id: EntryId,
}

fn servant(object: Object) -> Arc<dyn Servant> {
    escape::servant(match object.kind().definition_kind() {
        DefinitionKind::DkRepository => RepositoryRef::servant(object),
        DefinitionKind::DkModule => ModuleDefRef::servant(object),
        DefinitionKind::DkConstant => ConstantDefRef::servant(object),
        DefinitionKind::DkStruct => StructDefRef::servant(object),
        DefinitionKind::DkException => ExceptionDefRef::servant(object),
        DefinitionKind::DkUnion => UnionDefRef::servant(object),
        DefinitionKind::DkEnum => EnumDefRef::servant(object),
        DefinitionKind::DkAlias => AliasDefRef::servant(object),
        DefinitionKind::DkValueBox => ValueBoxDefRef::servant(object),
        DefinitionKind::DkPrimitive => PrimitiveDefRef::servant(object),
        DefinitionKind::DkString => StringDefRef::servant(object),
        DefinitionKind::DkWstring => WstringDefRef::servant(object),
        DefinitionKind::DkFixed => FixedDefRef::servant(object),
        DefinitionKind::DkSequence => SequenceDefRef::servant(object),
        DefinitionKind::DkArray => ArrayDefRef::servant(object),
        DefinitionKind::DkAttribute => ExtAttributeDefRef::servant(object),
        DefinitionKind::DkOperation => OperationDefRef::servant(object),
        DefinitionKind::DkInterface => ExtInterfaceDefRef::servant(object),
        DefinitionKind::DkAbstractInterface => ExtAbstractInterfaceDefRef::servant(object),
        DefinitionKind::DkLocalInterface => ExtLocalInterfaceDefRef::servant(object),
        DefinitionKind::DkValue => ExtValueDefRef::servant(object),
        DefinitionKind::DkValueMember => ValueMemberDefRef::servant(object),
        _ => NativeDefRef::servant(object),
    })
}

/// BAD_OPERATION for an entry without the requested property, which only a skeleton called for the wrong object
/// requests.
const NO_SUCH: SystemException = SystemException::bad_operation(0, CompletionStatus::No);

/// Exception for requests that arrive while the last objects are being activated.
const NOT_READY: SystemException = SystemException::transient(0, CompletionStatus::No);

impl Object {
    fn new(service: &Arc<Service>, id: EntryId) -> Self {
        Object { service: Arc::clone(service), id }
    }

    fn repository(&self) -> &Repository {
        &self.service.repository
    }

    fn kind(&self) -> &Kind {
        &self.repository().entry(self.id).kind
    }

    fn type_code(&self) -> TypeCode {
        self.type_of(self.id)
    }

    fn type_of(&self, id: EntryId) -> TypeCode {
        self.repository().entry(id).ty.clone()
    }

    /// Returns a reference to the object of an entry.
    fn reference<I: Interface>(&self, id: EntryId) -> oxorb::Result<I> {
        let references = self.service.references.get().ok_or(NOT_READY)?;
        Ok(references[id.0].unchecked_narrow())
    }

    /// Returns the reference to an entry, for a result that may be nil.
    fn nilable<I: Interface>(&self, id: EntryId) -> oxorb::Result<Option<I>> {
        self.reference(id).map(Some)
    }

    fn all<I: Interface>(&self, ids: &[EntryId]) -> oxorb::Result<Vec<Option<I>>> {
        ids.iter().map(|id| self.nilable(*id)).collect()
    }
}

impl IrObject for Object {
    fn def_kind(&self) -> oxorb::Result<DefinitionKind> {
        Ok(self.kind().definition_kind())
    }
}

impl IdlType for Object {
    fn r#type(&self) -> oxorb::Result<TypeCode> {
        Ok(self.type_code())
    }
}

impl crate::corba::Repository for Object {
    fn lookup_id(&self, search_id: &str) -> oxorb::Result<Option<ContainedRef>> {
        let found = self.repository().lookup_id(search_id);
        found.map(|id| self.reference(id)).transpose()
    }

    fn get_canonical_typecode(&self, tc: &TypeCode) -> oxorb::Result<TypeCode> {
        Ok(self.canonical(tc))
    }

    fn get_primitive(&self, kind: PrimitiveKind) -> oxorb::Result<Option<PrimitiveDefRef>> {
        let (key, _) = crate::primitive::basic(kind);
        let found = self.repository().by_key.get(key);
        found.map(|id| self.reference(*id)).transpose()
    }
}

impl Object {
    /// Returns the type as the repository has it, with all names; for a sequence or array, its innermost element is
    /// replaced. Returns other types unchanged, without a copy of their parts.
    fn canonical(&self, ty: &TypeCode) -> TypeCode {
        let (mut at, mut around) = (ty.as_ref(), Vec::new());
        loop {
            if let Some(known) = at.id().and_then(|id| self.repository().lookup_id(id)) {
                let wrap = |element, shape| match shape {
                    Shape::Array { length, .. } => TypeCode::array(element, length),
                    Shape::Sequence { bound, .. } => {
                        TypeCode::bounded_sequence(element, bound.unwrap_or(0))
                    }
                    _ => element,
                };
                return around.into_iter().rev().fold(self.type_of(known), wrap);
            }
            let shape = at.shape();
            match shape {
                Shape::Sequence { element, .. } | Shape::Array { element, .. }
                    if around.len() < MAX_LEVELS =>
                {
                    around.push(shape);
                    at = element;
                }
                _ => return ty.clone(),
            }
        }
    }
}

/// Maximum number of nested sequences and arrays around a type whose names are replaced. A sequence that a client sends
/// may contain itself.
const MAX_LEVELS: usize = 64;

/// NO_IMPLEMENT for attempts to change a repository that is filled from IDL.
const READ_ONLY: SystemException =
    SystemException::no_implement(minor::no_implement::READ_ONLY, CompletionStatus::No);
const INDESTRUCTIBLE: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::INDESTRUCTIBLE, CompletionStatus::No);
