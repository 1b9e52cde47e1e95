//! Definitions of a store.

use oxorb_ifr::corba::DefinitionKind;
use oxorb_ifr::{Entry, EntryId, Kind, Repository};

use super::definition::{Definition, Details, Listed, Parameter, Shown, missing};
use oxorb_terminal::output::Failed;

/// Returns the definitions below the named one, or all.
pub(super) fn list(repository: &Repository, name: Option<&str>) -> Result<Vec<Listed>, Failed> {
    let root = match name {
        Some(name) => find(repository, name)?,
        None => Repository::ROOT,
    };
    let mut found = Vec::new();
    below(repository, root, 0, &mut found);
    Ok(found)
}

/// Returns the named definition with its contents, inherited ones included.
pub(super) fn show(repository: &Repository, name: &str) -> Result<Shown, Failed> {
    let id = find(repository, name)?;
    let line = |id: EntryId| {
        let entry = repository.entry(id);
        let definition = definition(entry);
        let line = definition.line(&details(repository, entry));
        (definition, line)
    };
    let contents = repository.contents(id, DefinitionKind::DkAll, false);
    let (definition, declaration) = line(id);
    Ok(Shown { definition, declaration, contents: contents.into_iter().map(line).collect() })
}

/// Finds all entries below an entry, with the depth of each.
fn below(repository: &Repository, id: EntryId, depth: usize, found: &mut Vec<Listed>) {
    for id in repository.contents(id, DefinitionKind::DkAll, true) {
        found.push(Listed { depth, definition: definition(repository.entry(id)) });
        below(repository, id, depth + 1, found);
    }
}

/// Returns the entry with a repository id or scoped name.
fn find(repository: &Repository, name: &str) -> Result<EntryId, Failed> {
    let found = repository.lookup_id(name);
    let found = found.or_else(|| repository.lookup(Repository::ROOT, name));
    found.ok_or_else(|| missing(name, None))
}

fn definition(entry: &Entry) -> Definition {
    Definition {
        kind: entry.kind.definition_kind(),
        name: entry.name().to_owned(),
        absolute_name: entry.named.as_ref().map(|named| named.absolute_name.clone()),
        id: entry.repository_id().to_owned(),
        ty: entry.ty.clone(),
    }
}

fn details(repository: &Repository, entry: &Entry) -> Details {
    let ty = |id: EntryId| called(repository.entry(id));
    let all = |ids: &[EntryId]| ids.iter().map(|id| ty(*id)).collect();
    match &entry.kind {
        Kind::Attribute { ty: of, readonly, .. } => {
            Details::Attribute { ty: ty(*of), readonly: *readonly }
        }
        Kind::Operation { result, params, raises, oneway, .. } => {
            let params = params.iter().map(|param| Parameter {
                mode: param.mode,
                ty: ty(param.ty),
                name: param.name.clone(),
            });
            Details::Operation {
                result: ty(*result),
                params: params.collect(),
                raises: all(raises),
                oneway: *oneway,
            }
        }
        Kind::Interface { bases, .. } => Details::Interface { bases: all(bases) },
        Kind::Constant { ty: of, value } => Details::Constant { ty: ty(*of), value: value.clone() },
        Kind::ValueMember { ty: of, public } => {
            Details::ValueMember { ty: ty(*of), public: *public }
        }
        Kind::Alias(original) => Details::Alias(ty(*original)),
        Kind::Module | Kind::Repository | Kind::Value(_) => Details::Name,
        _ => Details::Type,
    }
}

/// Returns the name of a type for use in a declaration.
fn called(entry: &Entry) -> String {
    match &entry.named {
        Some(named) => named.absolute_name.clone(),
        None => entry.ty.as_ref().mention().to_string(),
    }
}
