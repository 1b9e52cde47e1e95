//! Definitions as `oxorb ifr ls` and `show` print them, from a store or a running repository.

use oxorb::Any;
use oxorb::values::TypeCode;
use oxorb_ifr::corba::{DefinitionKind, ParameterMode};
use oxorb_terminal::output::{Failed, because};
use serde_json::{Value, json};

/// Definition without its contents.
pub(super) struct Definition {
    pub(super) kind: DefinitionKind,
    /// Simple name; empty if there is none.
    pub(super) name: String,
    /// Name that begins with `::`.
    pub(super) absolute_name: Option<String>,
    pub(super) id: String,
    /// Type of the definition or its value; `null` if it has none.
    pub(super) ty: TypeCode,
}

/// Definition of a list.
pub(super) struct Listed {
    /// Number of enclosing definitions that are also in the list.
    pub(super) depth: usize,
    pub(super) definition: Definition,
}

/// Definition that is shown with its contents, each with its declaration.
pub(super) struct Shown {
    pub(super) definition: Definition,
    pub(super) declaration: String,
    pub(super) contents: Vec<(Definition, String)>,
}

/// Properties of a definition that its IDL declaration shows.
pub(super) enum Details {
    /// Only a name: a module, or a valuetype.
    Name,
    /// Type that shows its members.
    Type,
    Attribute {
        ty: String,
        readonly: bool,
    },
    Operation {
        result: String,
        params: Vec<Parameter>,
        raises: Vec<String>,
        oneway: bool,
    },
    Interface {
        bases: Vec<String>,
    },
    Constant {
        ty: String,
        value: Any,
    },
    ValueMember {
        ty: String,
        public: bool,
    },
    /// `typedef` of this type.
    Alias(String),
}

/// Parameter of an operation.
pub(super) struct Parameter {
    pub(super) mode: ParameterMode,
    pub(super) ty: String,
    pub(super) name: String,
}

impl Definition {
    /// Returns a definition as JSON.
    pub(super) fn summary(&self) -> Value {
        // A module is no type.
        let ty = Some(self.ty.to_string()).filter(|ty| ty != "null");
        json!({
            "kind": self.word(),
            "name": self.absolute_name,
            "id": self.id,
            "type": ty,
        })
    }

    /// Returns a definition in a form close to its IDL declaration.
    pub(super) fn line(&self, details: &Details) -> String {
        let name = &self.name;
        match details {
            Details::Name => format!("{} {name}", self.word()),
            Details::Type => self.ty.to_string(),
            Details::Attribute { ty, readonly } => {
                let readonly = if *readonly { "readonly " } else { "" };
                format!("{readonly}attribute {ty} {name}")
            }
            Details::Operation { result, params, raises, oneway } => {
                let oneway = if *oneway { "oneway " } else { "" };
                let params = params.iter().map(|param| {
                    let mode = match param.mode {
                        ParameterMode::ParamIn => "in",
                        ParameterMode::ParamOut => "out",
                        ParameterMode::ParamInout => "inout",
                    };
                    format!("{mode} {} {}", param.ty, param.name)
                });
                let params = params.collect::<Vec<_>>().join(", ");
                let raises = match raises.as_slice() {
                    [] => String::new(),
                    raises => format!(" raises ({})", raises.join(", ")),
                };
                format!("{oneway}{result} {name}({params}){raises}")
            }
            Details::Interface { bases } => {
                let bases = match bases.as_slice() {
                    [] => String::new(),
                    bases => format!(" : {}", bases.join(", ")),
                };
                format!("{} {name}{bases}", self.word())
            }
            Details::Constant { ty, value } => match value.dynamic() {
                Ok(value) => format!("const {ty} {name} = {value:?}"),
                Err(_) => format!("const {ty} {name}"),
            },
            Details::ValueMember { ty, public } => {
                let access = if *public { "public" } else { "private" };
                format!("{access} {ty} {name}")
            }
            Details::Alias(original) => format!("typedef {original} {name}"),
        }
    }

    /// Returns the kind as a word.
    pub(super) fn word(&self) -> &'static str {
        match self.kind {
            DefinitionKind::DkRepository => "repository",
            DefinitionKind::DkModule => "module",
            DefinitionKind::DkConstant => "const",
            DefinitionKind::DkStruct => "struct",
            DefinitionKind::DkException => "exception",
            DefinitionKind::DkUnion => "union",
            DefinitionKind::DkEnum => "enum",
            DefinitionKind::DkAlias => "typedef",
            DefinitionKind::DkNative => "native",
            DefinitionKind::DkAttribute => "attribute",
            DefinitionKind::DkOperation => "operation",
            DefinitionKind::DkInterface => "interface",
            DefinitionKind::DkAbstractInterface => "abstract interface",
            DefinitionKind::DkLocalInterface => "local interface",
            DefinitionKind::DkValue | DefinitionKind::DkValueBox => "valuetype",
            DefinitionKind::DkValueMember => "state",
            _ => "type",
        }
    }
}

/// Returns the failure of a search for a definition, in a store or at the URL `at`.
pub(super) fn missing(name: &str, at: Option<&str>) -> Failed {
    let at = at.map(|url| format!(" --at {url}")).unwrap_or_default();
    because(format!(
        "the repository does not contain {name:?}; `oxorb ifr ls{at}` lists its contents"
    ))
}
