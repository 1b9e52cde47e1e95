//! Scripts: their contents, and the check against the interface.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use oxorb::{CompletionStatus, SystemException, SystemExceptionKind};
use oxorb_dynamic::json::{LeftOut, Names, from_json};
use oxorb_dynamic::{Dynamic, Shape, Signature, TcKind, TypeCode};
use oxorb_ifr::types::Interface;
use serde::Deserialize;
use serde_json::Value;

use super::answer::{Answer, Content};
use super::pattern::Pattern;
use super::template::{self, has_references};

/// Script in its written form.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    /// Initial values of the attributes.
    #[serde(default)]
    attributes: BTreeMap<String, Value>,
    /// Answers by operation name: a list, or a single one.
    #[serde(default)]
    operations: BTreeMap<String, Value>,
}

/// Answer in its written form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    when: Option<Value>,
    returns: Option<Value>,
    #[serde(default)]
    out: BTreeMap<String, Value>,
    raises: Option<String>,
    with: Option<Value>,
    minor: Option<u32>,
    completed: Option<String>,
    #[serde(default)]
    delay_ms: u64,
    times: Option<u64>,
}

/// Script that was checked against its interface.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Attributes that the script sets.
    pub(super) attributes: HashMap<String, Dynamic>,
    /// Answers, by the operation's name on the wire.
    pub(super) answers: HashMap<String, Vec<Answer>>,
}

impl Script {
    /// Reads a file as JSON or TOML, by its extension.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = crate::input::file(path, "a script")?;
        match path.extension().is_some_and(|extension| extension == "json") {
            true => serde_json::from_str(&text).map_err(|error| wrong(&error)),
            false => toml::from_str(&text).map_err(|error| wrong(&error)),
        }
    }

    /// Checks everything that is known before the first request: names, types, values without references.
    pub(super) fn check(self, interface: &Interface, names: &dyn Names) -> Result<Table, String> {
        let mut table = Table::default();
        for (attribute, json) in self.attributes {
            let getter = interface.signature(&format!("_get_{attribute}"));
            let getter = getter.ok_or_else(|| {
                format!("attributes.{attribute}: {} has no such attribute", interface.scoped_name)
            })?;
            let value = from_json(&json, &getter.returns, names)
                .map_err(|error| error.within(&format!("attributes.{attribute}")).to_string())?;
            table.attributes.insert(attribute, value);
        }
        for (operation, written) in self.operations {
            let at = format!("operations.{operation}");
            let signature = interface
                .signature(&operation)
                .or_else(|| interface.signature(&format!("_get_{operation}")));
            let signature = signature
                .ok_or_else(|| format!("{at}: {} has no such operation", interface.scoped_name))?;
            let list = match written {
                Value::Array(list) => list,
                one => vec![one],
            };
            let mut answers = Vec::new();
            for (number, written) in list.into_iter().enumerate() {
                let at = format!("{at}[{number}]");
                let written: Written =
                    serde_json::from_value(written).map_err(|error| format!("{at}: {error}"))?;
                answers.push(written.check(&at, signature, names)?);
            }
            table.answers.insert(signature.operation.clone(), answers);
        }
        Ok(table)
    }
}

impl Written {
    fn check(self, at: &str, signature: &Signature, names: &dyn Names) -> Result<Answer, String> {
        let when = match &self.when {
            Some(json) => {
                Pattern::new(json, signature, names).map_err(|why| format!("{at}.when: {why}"))?
            }
            None => Pattern::default(),
        };
        let delay = Duration::from_millis(self.delay_ms);
        let times = self.times;
        let content = match &self.raises {
            Some(name) => {
                if self.returns.is_some() || !self.out.is_empty() {
                    return Err(format!("{at}: an answer can have results or raises, not both"));
                }
                self.exception(name, at, signature, names)?
            }
            None => {
                if self.with.is_some() || self.minor.is_some() || self.completed.is_some() {
                    return Err(format!("{at}: with, minor and completed need raises"));
                }
                self.results(at, signature, names)?
            }
        };
        Ok(Answer::new(when, times, delay, content))
    }

    fn exception(
        &self,
        name: &str,
        at: &str,
        signature: &Signature,
        names: &dyn Names,
    ) -> Result<Content, String> {
        let simple = name.rsplit("::").next().unwrap_or(name);
        let declared =
            signature.raises.iter().find(|ty| ty.id() == Some(name) || ty.name() == Some(simple));
        if let Some(ty) = declared {
            let members = self.with.clone().unwrap_or_else(|| Value::Object(Default::default()));
            check_value(&members, ty, (signature, names), &format!("{at}.with"))?;
            return Ok(Content::User(ty.clone(), members));
        }
        let kind = match SystemExceptionKind::from_repository_id(name) {
            Some(kind) => kind,
            None => {
                let id = format!("IDL:omg.org/CORBA/{simple}:1.0");
                SystemExceptionKind::from_repository_id(&id).ok_or_else(|| {
                    let known = signature.raises.iter().filter_map(TypeCode::name);
                    let known: Vec<&str> = known.collect();
                    format!(
                        "{at}.raises: {name} is not a system exception, and {} raises {}",
                        signature.operation,
                        if known.is_empty() { "nothing".to_owned() } else { known.join(", ") }
                    )
                })?
            }
        };
        let completed = match self.completed.as_deref() {
            None | Some("NO") => CompletionStatus::No,
            Some("YES") => CompletionStatus::Yes,
            Some("MAYBE") => CompletionStatus::Maybe,
            Some(other) => {
                return Err(format!("{at}.completed: {other} is none of YES, NO, MAYBE"));
            }
        };
        let minor = self.minor.unwrap_or(0);
        Ok(Content::System(SystemException::new(kind, minor, completed)))
    }

    fn results(
        &self,
        at: &str,
        signature: &Signature,
        names: &dyn Names,
    ) -> Result<Content, String> {
        if let Some(returns) = &self.returns {
            check_value(returns, &signature.returns, (signature, names), &format!("{at}.returns"))?;
        }
        for (name, value) in &self.out {
            let param = signature.outputs().find(|param| param.name == *name);
            let param = param.ok_or_else(|| {
                format!("{at}.out: there is no inout or out parameter {name}: {signature}")
            })?;
            check_value(value, &param.ty, (signature, names), &format!("{at}.out.{name}"))?;
        }
        Ok(Content::Results { returns: self.returns.clone(), out: self.out.clone() })
    }
}

/// Checks a value of a script against its type. In values that refer to arguments, names are checked, and kinds as far
/// as they are known.
fn check_value(
    json: &Value,
    ty: &TypeCode,
    (signature, names): (&Signature, &dyn Names),
    at: &str,
) -> Result<(), String> {
    if !has_references(json) {
        return from_json(json, ty, names).map(drop).map_err(|error| error.within(at).to_string());
    }
    let resolved = ty.resolved();
    match (json, resolved.shape()) {
        (Value::Object(members), Shape::Struct | Shape::Except) => {
            for (name, value) in members {
                let mut known = resolved.as_ref().members();
                if let Some(member) = known.find(|member| **member.name == **name) {
                    let ty = member.ty.to_type_code();
                    check_value(value, &ty, (signature, names), &format!("{at}.{name}"))?;
                }
            }
            let of = resolved.as_ref();
            let mut left_out = of.members().filter(|member| !members.contains_key(&**member.name));
            let refused = left_out.find_map(|member| {
                match names.left_out(of.id().unwrap_or_default(), member.name) {
                    LeftOut::Refused(advice) => Some((member.name, advice)),
                    _ => None,
                }
            });
            if let Some((name, advice)) = refused {
                return Err(format!("{at}: member {name} is missing{advice}"));
            }
        }
        (Value::Array(values), Shape::Sequence { element, .. } | Shape::Array { element, .. }) => {
            let ty = element.to_type_code();
            for (number, value) in values.iter().enumerate() {
                check_value(value, &ty, (signature, names), &format!("{at}[{number}]"))?;
            }
        }
        _ => {}
    }
    let params: Vec<&str> = signature.inputs().map(|param| &*param.name).collect();
    template::check(json, &params).map_err(|why| format!("{at}: {why}: {signature}"))?;
    if let Value::String(text) = json
        && let Some((found, wanted)) = clash(text, ty, signature)
    {
        return Err(format!("{at}: {text} is {found}, not {wanted}: {signature}"));
    }
    Ok(())
}

/// Returns the kinds of a text with references and of the type, if the two can never match.
fn clash(
    text: &str,
    wanted: &TypeCode,
    signature: &Signature,
) -> Option<(&'static str, &'static str)> {
    let found = match template::whole(text) {
        Some(reference) => kind_of(&template::type_of(reference, signature)?),
        None => Some(Kind::Text),
    };
    let (found, wanted) = (found?, kind_of(wanted)?);
    (found != wanted).then(|| (found.name(), wanted.name()))
}

/// Kind of JSON for values of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Boolean,
    Object,
    Array,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Number => "a number",
            Kind::Text => "text",
            Kind::Boolean => "a boolean",
            Kind::Object => "an object",
            Kind::Array => "an array",
        }
    }
}

/// Returns the only kind of JSON for values of a type; `None` if there are several.
fn kind_of(ty: &TypeCode) -> Option<Kind> {
    let resolved = ty.resolved();
    match resolved.shape() {
        // 64-bit numbers are not listed here, because they may also be text.
        Shape::Simple(
            TcKind::Short | TcKind::Ushort | TcKind::Long | TcKind::Ulong | TcKind::Octet,
        ) => Some(Kind::Number),
        Shape::Simple(TcKind::Boolean) => Some(Kind::Boolean),
        Shape::Simple(TcKind::Char | TcKind::Wchar)
        | Shape::String { .. }
        | Shape::Wstring { .. }
        | Shape::Enum => Some(Kind::Text),
        Shape::Struct | Shape::Union { .. } => Some(Kind::Object),
        Shape::Sequence { element, .. } | Shape::Array { element, .. } => {
            let octets = element.resolved().kind() == TcKind::Octet;
            (!octets).then_some(Kind::Array)
        }
        _ => None,
    }
}
