//! Definitions of a running repository of this or any other ORB.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Display;
use std::time::{Duration, SystemTime};

use oxorb::client::Failure;
use oxorb::policy::ReplyEndTime;
use oxorb::values::TypeCode;
use oxorb::{Interface as _, Orb, SystemException, SystemExceptionKind};
use oxorb_dynamic::Shape;
use oxorb_ifr::corba::{
    AttributeDescription, AttributeMode, ConstantDescription, ContainedRef, ContainerRef,
    DefinitionKind, ExceptionDescription, IdlTypeRef, InterfaceDescription, ModuleDescription,
    OperationDescription, OperationMode, PUBLIC_MEMBER, RepositoryRef, TypeDescription,
    ValueDescription, ValueMember,
};

use super::definition::{Definition, Details, Listed, Parameter, Shown, missing};
use crate::types::Source;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Failed, because};

/// Maximum number of definitions that the command lists.
const MOST: usize = 100_000;

/// Maximum depth of nested definitions. A foreign repository may have a module that contains itself.
const DEEPEST: usize = 64;

/// Running repository. Its calls together take a limited time.
pub(super) struct Running<'u> {
    url: &'u str,
    /// ORB that calls the repository.
    _orb: Orb,
    repository: RepositoryRef,
    /// Absolute names by repository id.
    names: RefCell<HashMap<String, Option<String>>>,
}

impl<'u> Running<'u> {
    /// Finds the repository.
    pub(super) fn connect(url: &'u str, timeout: Duration) -> Result<Running<'u>, Failed> {
        let orb = Orb::builder().connect_timeout(timeout).round_trip_timeout(timeout);
        let orb = with_args(orb).build()?;
        orb.policies().set(ReplyEndTime(SystemTime::now() + timeout))?;
        let repository = Source::repository(&orb, url)?;
        Ok(Running { url, _orb: orb, repository, names: RefCell::default() })
    }

    /// Returns the definitions below the named one, or all. Some types cost a call each, and are `null` unless
    /// `with_types` is set.
    pub(super) fn list(&self, name: Option<&str>, with_types: bool) -> Result<Vec<Listed>, Failed> {
        let mut found = Vec::new();
        match name {
            None => {
                let root = self.repository.unchecked_narrow();
                self.below(&root, DefinitionKind::DkRepository, "", 0, with_types, &mut found)?;
            }
            Some(name) => {
                let (contained, Definition { kind, absolute_name, .. }) = self.found(name)?;
                let (root, scope) =
                    (contained.unchecked_narrow(), absolute_name.unwrap_or_default());
                if is_container(kind) {
                    self.below(&root, kind, &scope, 0, with_types, &mut found)?;
                }
            }
        }
        Ok(found)
    }

    /// Returns the named definition with its contents, inherited ones included.
    pub(super) fn show(&self, name: &str) -> Result<Shown, Failed> {
        let (contained, mut definition) = self.found(name)?;
        let described = contained.describe().map_err(|why| self.failed(&why))?;
        let details = self.details(&described.value, &mut definition)?;
        self.add_type(&contained, &mut definition)?;
        let declaration = definition.line(&details);
        let mut contents = Vec::new();
        if is_container(definition.kind) {
            let container: ContainerRef = contained.unchecked_narrow();
            for (contained, kind, value) in self.contents(&container, definition.kind, false)? {
                let mut definition = named(kind);
                let details = self.details(&value, &mut definition)?;
                self.add_type(&contained, &mut definition)?;
                let absolute = contained.absolute_name().map_err(|why| self.failed(&why))?;
                definition.absolute_name = Some(absolute);
                let declaration = definition.line(&details);
                contents.push((definition, declaration));
            }
        }
        Ok(Shown { definition, declaration, contents })
    }

    /// Returns the object with a repository id or scoped name, and its names.
    fn found(&self, name: &str) -> Result<(ContainedRef, Definition), Failed> {
        let failed = |why: SystemException| self.failed(&why);
        let found = match self.repository.lookup_id(name).map_err(failed)? {
            Some(found) => Some(found),
            // A text with a single colon is a repository id. It is not looked up as a name, because some repositories
            // reject a colon in a name.
            None if name.replace("::", "").contains(':') => None,
            None => self.repository.lookup(name).map_err(failed)?,
        };
        let contained = found.ok_or_else(|| missing(name, Some(self.url)))?;
        let mut definition = named(contained.def_kind().map_err(failed)?);
        definition.name = contained.name().map_err(failed)?;
        definition.id = contained.id().map_err(failed)?;
        definition.absolute_name = Some(contained.absolute_name().map_err(failed)?);
        Ok((contained, definition))
    }

    /// Finds all definitions below a container of this kind and absolute name, with the depth of each.
    fn below(
        &self,
        container: &ContainerRef,
        kind: DefinitionKind,
        scope: &str,
        depth: usize,
        with_types: bool,
        found: &mut Vec<Listed>,
    ) -> Result<(), Failed> {
        if depth == DEEPEST {
            return Err(because(format!(
                "the Interface Repository {}: {scope} is nested more than {DEEPEST} deep, which is the limit of this \
                 command; name a definition to list only its contents",
                self.url
            )));
        }
        for (contained, kind, value) in self.contents(container, kind, true)? {
            if found.len() == MOST {
                return Err(because(format!(
                    "the Interface Repository {} has more than {MOST} definitions, which is the limit of this command; \
                     name a module to list only its contents",
                    self.url
                )));
            }
            let mut definition = named(kind);
            self.describe(&value, &mut definition)?;
            let absolute = format!("{scope}::{}", definition.name);
            definition.absolute_name = Some(absolute.clone());
            if with_types {
                self.add_type(&contained, &mut definition)?;
            }
            found.push(Listed { depth, definition });
            if is_container(kind) {
                let inner = contained.unchecked_narrow();
                self.below(&inner, kind, &absolute, depth + 1, with_types, found)?;
            }
        }
        Ok(())
    }

    /// Returns the contents of a container of this kind, each with its kind and description.
    fn contents(
        &self,
        container: &ContainerRef,
        kind: DefinitionKind,
        exclude_inherited: bool,
    ) -> Result<Vec<(ContainedRef, DefinitionKind, oxorb::Any)>, Failed> {
        let most = i32::try_from(MOST + 1).unwrap_or(i32::MAX);
        let described = container.describe_contents(DefinitionKind::DkAll, exclude_inherited, most);
        let described = match described {
            Ok(described) => described,
            // In older repositories only modules, interfaces and valuetypes are containers.
            Err(why) if is_type(kind) && is_refusal(&why) => Vec::new(),
            Err(why) => return Err(self.failed(&why)),
        };
        let objects = described
            .into_iter()
            .filter_map(|one| one.contained_object.map(|object| (object, one.kind, one.value)));
        Ok(objects.collect())
    }

    /// Adds the type of an interface or valuetype, which its description lacks.
    fn add_type(&self, object: &ContainedRef, definition: &mut Definition) -> Result<(), Failed> {
        if is_interface(definition.kind) || definition.kind == DefinitionKind::DkValue {
            let object: IdlTypeRef = object.unchecked_narrow();
            definition.ty = object.r#type().map_err(|why| self.failed(&why))?;
        }
        Ok(())
    }

    /// Adds the names and the type in a description to a definition.
    fn describe(&self, value: &oxorb::Any, definition: &mut Definition) -> Result<(), Failed> {
        let (name, id, ty) = match definition.kind {
            DefinitionKind::DkModule => {
                let it: ModuleDescription = self.value(value, value.get())?;
                (it.name, it.id, None)
            }
            DefinitionKind::DkConstant => {
                let it: ConstantDescription = self.value(value, value.get())?;
                (it.name, it.id, Some(it.r#type))
            }
            DefinitionKind::DkException => {
                let it: ExceptionDescription = self.value(value, value.get())?;
                (it.name, it.id, Some(it.r#type))
            }
            DefinitionKind::DkAttribute => {
                let it: AttributeDescription = self.value(value, value.get())?;
                (it.name, it.id, Some(it.r#type))
            }
            DefinitionKind::DkOperation => {
                let it: OperationDescription = self.value(value, value.get())?;
                (it.name, it.id, Some(it.result))
            }
            kind if is_interface(kind) => {
                let it: InterfaceDescription = self.value(value, value.get())?;
                (it.name, it.id, None)
            }
            DefinitionKind::DkValue => {
                let it: ValueDescription = self.value(value, value.get())?;
                (it.name, it.id, None)
            }
            DefinitionKind::DkValueMember => {
                let it: ValueMember = self.value(value, value.get())?;
                (it.name, it.id, Some(it.r#type))
            }
            _ => {
                let it: TypeDescription = self.value(value, value.get())?;
                (it.name, it.id, Some(it.r#type))
            }
        };
        (definition.name, definition.id) = (name, id);
        definition.ty = ty.unwrap_or(TypeCode::NULL);
        Ok(())
    }

    /// Adds the names and the type in a description to a definition. Returns the properties that its declaration shows.
    fn details(&self, value: &oxorb::Any, definition: &mut Definition) -> Result<Details, Failed> {
        self.describe(value, definition)?;
        Ok(match definition.kind {
            DefinitionKind::DkAttribute => {
                let it: AttributeDescription = self.value(value, value.get())?;
                let readonly = it.mode == AttributeMode::AttrReadonly;
                Details::Attribute { ty: self.called(&it.r#type)?, readonly }
            }
            DefinitionKind::DkOperation => {
                let it: OperationDescription = self.value(value, value.get())?;
                let params = it.parameters.into_iter().map(|param| {
                    let ty = self.called(&param.r#type)?;
                    Ok(Parameter { mode: param.mode, ty, name: param.name })
                });
                let params = params.collect::<Result<_, Failed>>()?;
                let raises = it.exceptions.iter().map(|it| self.absolute(&it.id, &it.name));
                Details::Operation {
                    result: self.called(&it.result)?,
                    params,
                    raises: raises.collect::<Result<_, Failed>>()?,
                    oneway: it.mode == OperationMode::OpOneway,
                }
            }
            kind if is_interface(kind) => {
                let it: InterfaceDescription = self.value(value, value.get())?;
                let bases = it.base_interfaces.iter().map(|id| self.absolute(id, id));
                Details::Interface { bases: bases.collect::<Result<_, Failed>>()? }
            }
            DefinitionKind::DkConstant => {
                let it: ConstantDescription = self.value(value, value.get())?;
                Details::Constant { ty: self.called(&it.r#type)?, value: it.value }
            }
            DefinitionKind::DkValueMember => {
                let it: ValueMember = self.value(value, value.get())?;
                let public = it.access == PUBLIC_MEMBER;
                Details::ValueMember { ty: self.called(&it.r#type)?, public }
            }
            DefinitionKind::DkAlias => match definition.ty.shape() {
                Shape::Alias(original) => Details::Alias(self.called(&original.to_type_code())?),
                _ => Details::Type,
            },
            DefinitionKind::DkModule | DefinitionKind::DkValue => Details::Name,
            _ => Details::Type,
        })
    }

    /// Returns a description as the struct of its kind.
    fn value<T, E: Display>(
        &self,
        value: &oxorb::Any,
        got: Result<Option<T>, E>,
    ) -> Result<T, Failed> {
        match got {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(because(format!(
                "the Interface Repository {} described a definition by a value of the type {}, which is not that of \
                 its kind",
                self.url,
                value.type_code()
            ))),
            Err(why) => Err(because(format!("the Interface Repository {}: {why}", self.url))),
        }
    }

    /// Returns the name of a type for use in a declaration. A name costs two calls when it is first needed.
    fn called(&self, ty: &TypeCode) -> Result<String, Failed> {
        let mention = ty.as_ref().mention().to_string();
        match ty.id() {
            None | Some("") => Ok(mention),
            Some(id) => self.absolute(id, &mention),
        }
    }

    /// Returns the absolute name of a repository id, or else `otherwise`.
    fn absolute(&self, id: &str, otherwise: &str) -> Result<String, Failed> {
        if let Some(known) = self.names.borrow().get(id) {
            return Ok(known.clone().unwrap_or_else(|| otherwise.to_owned()));
        }
        let failed = |why: SystemException| self.failed(&why);
        let name = match self.repository.lookup_id(id).map_err(failed)? {
            Some(found) => Some(found.absolute_name().map_err(failed)?),
            None => None,
        };
        self.names.borrow_mut().insert(id.to_owned(), name.clone());
        Ok(name.unwrap_or_else(|| otherwise.to_owned()))
    }

    fn failed(&self, why: &SystemException) -> Failed {
        let url = self.url;
        let remedy = match why.kind {
            SystemExceptionKind::Timeout => "; --timeout allows more time",
            _ => "",
        };
        because(match Failure::of(why) {
            Some(failure) => format!("the Interface Repository {url}: {failure}{remedy}"),
            None => format!("the Interface Repository {url}: {why}{remedy}"),
        })
    }
}

/// Returns a definition of this kind without names.
fn named(kind: DefinitionKind) -> Definition {
    let (name, id) = (String::new(), String::new());
    Definition { kind, name, absolute_name: None, id, ty: TypeCode::NULL }
}

fn is_interface(kind: DefinitionKind) -> bool {
    matches!(
        kind,
        DefinitionKind::DkInterface
            | DefinitionKind::DkAbstractInterface
            | DefinitionKind::DkLocalInterface
    )
}

/// Reports whether a kind of types can contain other types.
fn is_type(kind: DefinitionKind) -> bool {
    matches!(kind, DefinitionKind::DkStruct | DefinitionKind::DkUnion | DefinitionKind::DkException)
}

fn is_container(kind: DefinitionKind) -> bool {
    is_interface(kind)
        || is_type(kind)
        || matches!(kind, DefinitionKind::DkModule | DefinitionKind::DkValue)
}

/// Reports whether an object lacks an operation.
fn is_refusal(why: &SystemException) -> bool {
    matches!(why.kind, SystemExceptionKind::BadOperation | SystemExceptionKind::NoImplement)
}
