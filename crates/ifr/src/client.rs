//! Queries to a repository of this or any other ORB.

use std::collections::HashSet;

use crate::types::{Attribute, Interface};
use oxorb::dynamic::{Direction, Signature};
use oxorb::values::TypeCode;
use oxorb::{Interface as _, Ref};

use crate::corba::interface_def::FullInterfaceDescription;
use crate::corba::{
    AttributeMode, ContainedRef, ContainerRef, DefinitionKind, ExceptionDefRef,
    ExtAttributeDescription, IdlTypeRef, InterfaceAttrExtensionRef, InterfaceDefRef,
    OperationDescription, OperationMode, ParameterMode, RepositoryRef,
};

/// Returns the description of an interface: its operations and attributes with their types, including inherited ones.
/// `None` if the repository lacks the interface, or the id is not that of an interface.
///
/// Makes two or three calls.
///
/// # Errors
/// Exceptions of the calls.
pub fn describe(
    repository: &RepositoryRef,
    repository_id: &str,
) -> oxorb::Result<Option<FullInterfaceDescription>> {
    let Some(found) = repository.lookup_id(repository_id)? else {
        return Ok(None);
    };
    match found.narrow::<InterfaceDefRef>()? {
        Some(interface) => interface.describe_interface().map(Some),
        None => Ok(None),
    }
}

/// Returns the interface of a repository id or scoped name, if the repository has it.
///
/// # Errors
/// Exceptions of the calls.
pub fn find(repository: &RepositoryRef, name: &str) -> oxorb::Result<Option<InterfaceDefRef>> {
    UNLIMITED.find(repository, name)
}

/// Returns the type of a repository id or scoped name, if the repository has it. Exceptions count as types.
///
/// # Errors
/// Exceptions of the calls.
pub fn type_of(repository: &RepositoryRef, name: &str) -> oxorb::Result<Option<TypeCode>> {
    UNLIMITED.type_of(repository, name)
}

/// Returns the interfaces that themselves declare an operation or attribute of this name.
///
/// # Errors
/// Exceptions of the calls.
pub fn declaring(repository: &RepositoryRef, name: &str) -> oxorb::Result<Vec<InterfaceDefRef>> {
    let mut interfaces = Vec::new();
    for kind in [DefinitionKind::DkOperation, DefinitionKind::DkAttribute] {
        let found = repository.lookup_name(name, -1, kind, true)?;
        for one in found.into_iter().flatten().take(MOST_FOUND) {
            if let Some(container) = one.defined_in()? {
                interfaces.extend(container.narrow::<InterfaceDefRef>()?);
            }
        }
    }
    Ok(interfaces)
}

/// Returns an interface in the form for calls and servants without stubs. Exceptions of attributes are included if the
/// repository supports them (`ExtInterfaceDef`).
///
/// Makes one call for each base, and a few further calls.
///
/// # Errors
/// Exceptions of the calls.
pub fn interface(def: &InterfaceDefRef) -> oxorb::Result<Interface> {
    UNLIMITED.interface(def)
}

/// Queries that together take a limited time.
///
/// A query consists of several calls, some of them to objects that the repository chooses. The function receives the
/// object before each call. It returns the object with the time limit of the call, or an exception, which ends the
/// query.
#[derive(Clone, Copy)]
pub struct Queries<'q>(&'q dyn Fn(&Ref) -> oxorb::Result<Ref>);

/// Queries under the policies of the references.
const UNLIMITED: Queries<'static> = Queries(&|object: &Ref| Ok(object.clone()));

impl<'q> Queries<'q> {
    /// Limits each call as the function says.
    pub fn new(limited: &'q dyn Fn(&Ref) -> oxorb::Result<Ref>) -> Self {
        Queries(limited)
    }

    fn limited<I: oxorb::Interface>(self, object: &I) -> oxorb::Result<I> {
        (self.0)(object.reference()).map(I::from_ref)
    }

    fn narrow<I: oxorb::Interface>(
        self,
        object: &impl oxorb::Interface,
    ) -> oxorb::Result<Option<I>> {
        self.limited(object)?.narrow()
    }

    /// Returns the definition with this repository id or scoped name.
    fn lookup(self, repository: &RepositoryRef, name: &str) -> oxorb::Result<Option<ContainedRef>> {
        match self.limited(repository)?.lookup_id(name)? {
            Some(found) => Ok(Some(found)),
            // A text with a single colon is a repository id. It is not looked up as a name, because some repositories
            // reject a colon in a name.
            None if name.replace("::", "").contains(':') => Ok(None),
            None => self.limited(repository)?.lookup(name),
        }
    }

    /// Returns the interface of a repository id or scoped name, as [`find`] does.
    ///
    /// # Errors
    /// Exceptions of the calls, and of the function.
    pub fn find(
        self,
        repository: &RepositoryRef,
        name: &str,
    ) -> oxorb::Result<Option<InterfaceDefRef>> {
        match self.lookup(repository, name)? {
            Some(found) => self.narrow(&found),
            None => Ok(None),
        }
    }

    /// Returns the type of a repository id or scoped name, as [`type_of`] does.
    ///
    /// # Errors
    /// Exceptions of the calls, and of the function.
    pub fn type_of(
        self,
        repository: &RepositoryRef,
        name: &str,
    ) -> oxorb::Result<Option<TypeCode>> {
        let Some(found) = self.lookup(repository, name)? else {
            return Ok(None);
        };
        if let Some(ty) = self.narrow::<IdlTypeRef>(&found)? {
            return self.limited(&ty)?.r#type().map(Some);
        }
        match self.narrow::<ExceptionDefRef>(&found)? {
            Some(exception) => self.limited(&exception)?.r#type().map(Some),
            None => Ok(None),
        }
    }

    /// Returns an interface in the form for calls and servants without stubs, as [`interface`] does.
    ///
    /// # Errors
    /// Exceptions of the calls, and of the function.
    pub fn interface(self, def: &InterfaceDefRef) -> oxorb::Result<Interface> {
        let described = self.limited(def)?.describe_interface()?;
        let scoped_name = self.limited(def)?.absolute_name()?;
        let mut interface = Interface {
            scoped_name: scoped_name.trim_start_matches("::").to_owned(),
            ids: self.bases(def, &described.id)?,
            repository_id: described.id,
            operations: described.operations.iter().map(signature).collect(),
            attributes: Vec::new(),
        };
        let extended = match described.attributes.is_empty() {
            true => None,
            false => self.narrow::<InterfaceAttrExtensionRef>(def)?,
        };
        let attributes = match extended {
            Some(extended) => self.limited(&extended)?.describe_ext_interface()?.attributes,
            None => {
                let plain = described.attributes.into_iter();
                plain
                    .map(|plain| ExtAttributeDescription {
                        name: plain.name,
                        id: plain.id,
                        defined_in: plain.defined_in,
                        version: plain.version,
                        r#type: plain.r#type,
                        mode: plain.mode,
                        get_exceptions: Vec::new(),
                        put_exceptions: Vec::new(),
                    })
                    .collect()
            }
        };
        for attribute in attributes {
            let (name, ty) = (attribute.name, attribute.r#type);
            let readonly = attribute.mode == AttributeMode::AttrReadonly;
            let mut get = Signature::attribute_get(&name, ty.clone());
            for exception in attribute.get_exceptions {
                get = get.raising(exception.r#type);
            }
            interface.operations.push(get);
            if !readonly {
                let mut set = Signature::attribute_set(&name, ty);
                for exception in attribute.put_exceptions {
                    set = set.raising(exception.r#type);
                }
                interface.operations.push(set);
            }
            interface.attributes.push(Attribute { name, readonly });
        }
        Ok(interface)
    }

    /// Returns the interfaces of a repository, within and outside modules, but at most `most` of them. Makes a few
    /// calls for each module and interface.
    ///
    /// # Errors
    /// Exceptions of the calls, and of the function.
    pub fn interfaces(
        self,
        repository: &RepositoryRef,
        most: usize,
    ) -> oxorb::Result<Vec<Interface>> {
        let mut found = Vec::new();
        let mut modules = 0;
        let mut next = vec![ContainerRef::from_ref(repository.reference().clone())];
        while let Some(container) = next.pop() {
            let container = self.limited(&container)?;
            let plain = container.contents(DefinitionKind::DkInterface, true)?;
            // Older repositories do not know this kind.
            let r#abstract = container.contents(DefinitionKind::DkAbstractInterface, true);
            for one in plain.into_iter().chain(r#abstract.unwrap_or_default()).flatten() {
                if found.len() == most {
                    return Ok(found);
                }
                if let Some(def) = self.narrow::<InterfaceDefRef>(&one)? {
                    found.push(self.interface(&def)?);
                }
            }
            for one in container.contents(DefinitionKind::DkModule, true)?.into_iter().flatten() {
                // A foreign repository may have a module that contains itself.
                if modules == MOST_MODULES {
                    return Ok(found);
                }
                modules += 1;
                next.extend(self.narrow::<ContainerRef>(&one)?);
            }
        }
        Ok(found)
    }

    /// Returns the id of an interface, and those of all its bases, nearest first.
    fn bases(self, def: &InterfaceDefRef, id: &str) -> oxorb::Result<Vec<String>> {
        let mut ids = vec![id.to_owned()];
        let mut seen: HashSet<String> = ids.iter().cloned().collect();
        let mut next = vec![def.clone()];
        let mut asked = 0;
        while let Some(def) = next.pop() {
            for base in self.limited(&def)?.base_interfaces()?.into_iter().flatten() {
                if asked == MOST_BASES {
                    return Ok(ids); // each costs a call
                }
                asked += 1;
                let id = self.limited(&base)?.id()?;
                if seen.insert(id.clone()) {
                    ids.push(id);
                    next.insert(0, base);
                }
            }
        }
        Ok(ids)
    }
}

fn signature(described: &OperationDescription) -> Signature {
    let mut signature = Signature::new(&described.name).returning(described.result.clone());
    for param in &described.parameters {
        let direction = match param.mode {
            ParameterMode::ParamIn => Direction::In,
            ParameterMode::ParamOut => Direction::Out,
            ParameterMode::ParamInout => Direction::InOut,
        };
        signature = signature.with(&param.name, direction, param.r#type.clone());
    }
    for exception in &described.exceptions {
        signature = signature.raising(exception.r#type.clone());
    }
    signature.context.clone_from(&described.contexts);
    signature.oneway = described.mode == OperationMode::OpOneway;
    signature
}

/// Maximum number of bases that the client queries.
const MOST_BASES: usize = 1000;

/// Maximum number of modules that the client examines.
const MOST_MODULES: usize = 10_000;

/// Maximum number of operations or attributes of one name that the client examines.
const MOST_FOUND: usize = 1000;
