//! Implementations and artifacts of a plan, each made once for any number of instances.

use std::collections::{HashMap, HashSet};

use super::shelf::{Found, Shelf};
use crate::described::{Id, Ref};
use crate::finding::Error;
use crate::model::basic::{ComponentInterfaceDescription, Property, Requirement};
use crate::model::package::{
    ComponentImplementationDescription, ImplementationArtifactDescription,
    ImplementationRequirement, MonolithicImplementationDescription, NamedArtifact,
};
use crate::model::plan::{Artifact, Implementation, Plan};
use crate::model::value::Any;

/// Parameter of an implementation that names the type of its instances.
const COMPONENT_TYPE: &str = "component type";

/// Implementations and artifacts by their descriptors.
#[derive(Default)]
pub(super) struct Implementations<'a> {
    made: Vec<Implementation>,
    artifacts: Vec<Artifact>,
    /// Indices in `made`, by descriptor.
    by_description: HashMap<*const ComponentImplementationDescription, usize>,
    by_artifact: HashMap<*const ImplementationArtifactDescription, String>,
    depends_on: Vec<&'a crate::model::basic::ImplementationDependency>,
    ids: HashSet<String>,
    numbers: HashMap<String, usize>,
}

impl<'a> Implementations<'a> {
    /// Returns the index of the implementation of a descriptor, which is made on the first call.
    pub(super) fn of(
        &mut self,
        shelf: &Shelf<'a>,
        found: Found<'a, ComponentImplementationDescription>,
        monolithic: &'a MonolithicImplementationDescription,
        interface: Option<&ComponentInterfaceDescription>,
    ) -> Result<usize, Error> {
        let key = std::ptr::from_ref(found.value);
        if let Some(known) = self.by_description.get(&key) {
            return Ok(*known);
        }
        let mut artifact = Vec::new();
        let mut seen = HashSet::new();
        for named in &monolithic.primary_artifact {
            self.artifact(shelf, found.inner(named), &mut seen, &mut artifact)?;
        }
        let parameters = monolithic.node_exec_parameter.iter();
        let mut exec_parameter: Vec<Property> =
            parameters.chain(&monolithic.component_exec_parameter).cloned().collect();
        let has_type = exec_parameter.iter().any(|one| one.name == COMPONENT_TYPE);
        let named = interface.and_then(|interface| interface.specific_type.as_deref());
        if let Some(named) = named.filter(|_| !has_type) {
            exec_parameter.push(Property::of(COMPONENT_TYPE, Any::string(scoped(named))));
        }
        let label = found.value.label.as_deref().map(str::trim).filter(|label| !label.is_empty());
        let stem = found.path.rsplit('/').next().unwrap_or_default();
        let stem = stem.split('.').next().unwrap_or_default();
        let id = self.id(label.unwrap_or(stem), "implementation");
        self.depends_on.extend(&found.value.depends_on);
        let at = self.made.len();
        self.made.push(Implementation {
            id: Id(id.clone()),
            name: id,
            source: vec![found.path.to_owned()],
            artifact,
            exec_parameter,
            deploy_requirement: monolithic.deploy_requirement.iter().map(requirement).collect(),
            ..Implementation::default()
        });
        self.by_description.insert(key, at);
        Ok(at)
    }

    /// Returns the implementation with an index.
    pub(super) fn get(&self, at: usize) -> &Implementation {
        &self.made[at]
    }

    /// Adds an artifact, followed by those that it needs.
    fn artifact(
        &mut self,
        shelf: &Shelf<'a>,
        named: Found<'a, NamedArtifact>,
        seen: &mut HashSet<*const ImplementationArtifactDescription>,
        into: &mut Vec<Ref>,
    ) -> Result<(), Error> {
        // Does not recurse, because chains of artifacts may be long.
        let mut next = vec![named];
        while let Some(named) = next.pop() {
            let found = shelf.follow(named, &named.value.referenced_artifact)?;
            let key = std::ptr::from_ref(found.value);
            if !seen.insert(key) {
                continue;
            }
            next.extend(found.value.depends_on.iter().rev().map(|one| found.inner(one)));
            if let Some(known) = self.by_artifact.get(&key) {
                into.push(Ref::to(known));
                continue;
            }
            let location = found
                .value
                .location
                .iter()
                .map(|location| located(shelf, found, location.trim()))
                .collect::<Result<Vec<String>, Error>>()?;
            let id = self.id(&named.value.name, "artifact");
            self.artifacts.push(Artifact {
                id: Id(id.clone()),
                name: id.clone(),
                source: vec![found.path.to_owned()],
                location,
                exec_parameter: found.value.exec_parameter.clone(),
                deploy_requirement: found.value.deploy_requirement.clone(),
                ..Artifact::default()
            });
            into.push(Ref::to(&id));
            self.by_artifact.insert(key, id);
        }
        Ok(())
    }

    /// Returns an unused id for an implementation or artifact.
    fn id(&mut self, name: &str, kind: &str) -> String {
        let name = match name.trim() {
            "" => kind,
            name => name,
        };
        let number = self.numbers.entry(name.to_owned()).or_insert(0);
        loop {
            *number += 1;
            let id = match *number {
                1 => format!("{name} {kind}"),
                number => format!("{name} {kind} ({number})"),
            };
            if self.ids.insert(id.clone()) {
                return id;
            }
        }
    }

    /// Moves all implementations and artifacts into a plan.
    pub(super) fn into_plan(self, plan: &mut Plan) {
        plan.implementation = self.made;
        plan.artifact = self.artifacts;
        let mut seen = HashSet::new();
        let all = self.depends_on.into_iter();
        plan.depends_on = all.filter(|one| seen.insert(&one.required_type)).cloned().collect();
    }
}

/// Returns the location of an artifact: the path of a file of the archive, or an unchanged address outside.
pub(super) fn located(
    shelf: &Shelf<'_>,
    found: Found<'_, ImplementationArtifactDescription>,
    location: &str,
) -> Result<String, Error> {
    let path = location.strip_prefix("file://").unwrap_or(location);
    if path.starts_with('/') || path.contains("://") {
        return Ok(location.to_owned());
    }
    match shelf.archive.resolve(found.path, path) {
        Some(path) => Ok(path.to_owned()),
        None => Err(found.wrong(
            found.value.place,
            format!("its artifact {location:?} is not in the archive: add the file"),
        )),
    }
}

/// Converts a repository id to a scoped name.
pub(super) fn scoped(id: &str) -> String {
    let id = id.trim();
    match id.strip_prefix("IDL:").and_then(|id| id.rsplit_once(':')) {
        Some((name, _version)) => name.replace('/', "::"),
        None => id.trim_start_matches("::").to_owned(),
    }
}

fn requirement(one: &ImplementationRequirement) -> Requirement {
    Requirement {
        name: one.name.clone(),
        resource_type: one.resource_type.clone(),
        property: one.property.clone(),
        place: one.place,
    }
}
