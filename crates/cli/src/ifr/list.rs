//! `oxorb ifr ls` and `show`: print the contents of the repository.

use std::fmt::Write as _;

use oxorb::values::Printable;
use oxorb_ifr::corba::DefinitionKind;
use oxorb_ifr::{Entry, EntryId, Kind, Repository};
use serde_json::json;

use super::Place;
use oxorb_terminal::output::{Done, FAINT, Failed, Format, STRONG, because, print, print_json};

pub(super) fn list(name: Option<&str>, place: &Place, format: Format) -> Done {
    let repository = place.repository()?;
    let root = match name {
        Some(name) => find(&repository, name)?,
        None => Repository::ROOT,
    };
    let mut found = Vec::new();
    below(&repository, root, 0, &mut found);
    if format == Format::Json {
        let rows = found.iter().map(|(_, id)| summary(repository.entry(*id)));
        return print_json(&rows.collect::<Vec<_>>());
    }
    let mut text = String::new();
    for (depth, id) in found {
        let entry = repository.entry(id);
        let (word, name) = (word(&entry.kind), entry.name());
        let _ = writeln!(
            text,
            "{:indent$}{FAINT}{word}{FAINT:#} {STRONG}{name}{STRONG:#}  {FAINT}{}{FAINT:#}",
            "",
            Printable(entry.repository_id()),
            indent = depth * 2,
        );
    }
    print(text)
}

/// Finds all entries below an entry, with the depth of each.
fn below(repository: &Repository, id: EntryId, depth: usize, found: &mut Vec<(usize, EntryId)>) {
    for id in repository.contents(id, DefinitionKind::DkAll, true) {
        found.push((depth, id));
        below(repository, id, depth + 1, found);
    }
}

/// Returns the entry with a repository id or scoped name.
fn find(repository: &Repository, name: &str) -> Result<EntryId, Failed> {
    let found = repository.lookup_id(name);
    let found = found.or_else(|| repository.lookup(Repository::ROOT, name));
    found.ok_or_else(|| {
        because(format!(
            "the repository does not contain {name:?}; `oxorb ifr ls` lists its contents"
        ))
    })
}

pub(super) fn show(name: &str, place: &Place, format: Format) -> Done {
    let repository = place.repository()?;
    let id = find(&repository, name)?;
    let entry = repository.entry(id);
    let contents = repository.contents(id, DefinitionKind::DkAll, false);
    if format == Format::Json {
        let rows = contents.iter().map(|id| summary(repository.entry(*id)));
        let mut all = summary(entry);
        all["contents"] = rows.collect();
        return print_json(&all);
    }
    let mut text = String::new();
    let _ = writeln!(text, "{STRONG}{}{STRONG:#}", line(&repository, entry));
    let _ = writeln!(text, "{FAINT}id{FAINT:#} {}", Printable(entry.repository_id()));
    for id in contents {
        let _ = writeln!(text, "  {}", line(&repository, repository.entry(id)));
    }
    print(text)
}

fn summary(entry: &Entry) -> serde_json::Value {
    let name = entry.named.as_ref().map(|named| &named.absolute_name);
    // A module is no type.
    let ty = Some(entry.ty.to_string()).filter(|ty| ty != "null");
    json!({
        "kind": word(&entry.kind),
        "name": name,
        "id": entry.repository_id(),
        "type": ty,
    })
}

/// Returns an entry in a form close to its IDL declaration.
fn line(repository: &Repository, entry: &Entry) -> String {
    let name = entry.name();
    let ty = |id: EntryId| called(repository.entry(id));
    match &entry.kind {
        Kind::Attribute { ty: of, readonly, .. } => {
            let readonly = if *readonly { "readonly " } else { "" };
            format!("{readonly}attribute {} {name}", ty(*of))
        }
        Kind::Operation { result, params, raises, oneway, .. } => {
            let oneway = if *oneway { "oneway " } else { "" };
            let params = params.iter().map(|param| {
                let mode = match param.mode {
                    oxorb_ifr::corba::ParameterMode::ParamIn => "in",
                    oxorb_ifr::corba::ParameterMode::ParamOut => "out",
                    oxorb_ifr::corba::ParameterMode::ParamInout => "inout",
                };
                format!("{mode} {} {}", ty(param.ty), param.name)
            });
            let params = params.collect::<Vec<_>>().join(", ");
            let raises: Vec<_> = raises.iter().map(|id| ty(*id)).collect();
            let raises = match raises.as_slice() {
                [] => String::new(),
                raises => format!(" raises ({})", raises.join(", ")),
            };
            format!("{oneway}{} {name}({params}){raises}", ty(*result))
        }
        Kind::Interface { bases, .. } => {
            let bases: Vec<_> = bases.iter().map(|id| ty(*id)).collect();
            let bases = match bases.as_slice() {
                [] => String::new(),
                bases => format!(" : {}", bases.join(", ")),
            };
            format!("{} {name}{bases}", word(&entry.kind))
        }
        Kind::Constant { ty: of, value } => match value.dynamic() {
            Ok(value) => format!("const {} {name} = {value:?}", ty(*of)),
            Err(_) => format!("const {} {name}", ty(*of)),
        },
        Kind::ValueMember { ty: of, public } => {
            let access = if *public { "public" } else { "private" };
            format!("{access} {} {name}", ty(*of))
        }
        Kind::Alias(original) => format!("typedef {} {name}", ty(*original)),
        Kind::Module | Kind::Repository | Kind::Value(_) => format!("{} {name}", word(&entry.kind)),
        _ => entry.ty.to_string(),
    }
}

/// Returns the name of a type for use in a declaration.
fn called(entry: &Entry) -> String {
    match &entry.named {
        Some(named) => named.absolute_name.clone(),
        None => entry.ty.as_ref().mention().to_string(),
    }
}

fn word(kind: &Kind) -> &'static str {
    match kind.definition_kind() {
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
