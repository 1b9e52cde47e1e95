//! Resolution of parts of assemblies, down to instances.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::implementations::Implementations;
use super::selection::{comparisons, meets};
use super::shelf::{Base, Found, Shelf, Sources};
use super::types::ComponentTypes;
use super::{Assembly, AssemblyLimits};
use crate::described::{Id, Ref};
use crate::extended::expand;
use crate::finding::{Error, Place};
use crate::model::basic::{ComponentInterfaceDescription, Property, Requirement};
use crate::model::package::{
    AssemblyConnection, AssemblyLocality, AssemblyLocalityKind, ComponentAssemblyDescription,
    ComponentImplementationDescription, ComponentPackageDescription, ComponentPackageImport,
    ComponentPackageReference, Subcomponent,
};
use crate::model::plan::{Instance, LocalityConstraint, LocalityKind, Plan};
use crate::size;

/// Values of properties by name, each with the descriptor it comes from.
type Values<'a> = BTreeMap<&'a str, Found<'a, Property>>;

/// A resolved part.
pub(super) enum Part<'a> {
    /// Instance of the plan, by index.
    Instance { at: usize },
    /// Assembly of further parts.
    Whole(Whole<'a>),
}

/// An assembly and its parts.
pub(super) struct Whole<'a> {
    /// Path of the parts that contain the assembly; empty for the outermost assembly.
    pub(super) name: String,
    pub(super) assembly: Found<'a, ComponentAssemblyDescription>,
    pub(super) parts: HashMap<&'a str, Part<'a>>,
    /// Connections by the external port of the assembly at which they end.
    pub(super) outside: HashMap<&'a str, Vec<&'a AssemblyConnection>>,
}

/// State of making a plan.
pub(super) struct Making<'s, 'a> {
    pub(super) shelf: &'s Shelf<'a>,
    pub(super) assembly: &'s Assembly,
    pub(super) plan: Plan,
    /// Component types of the plan's instances.
    pub(super) types: ComponentTypes<'s, 'a>,
    implementations: Implementations<'a>,
    pub(super) remaining: Remaining<'s>,
    placed: BTreeSet<&'s str>,
}

/// Numbers of elements and octets that the plan may still have.
pub(super) struct Remaining<'s> {
    limits: &'s AssemblyLimits,
    elements: usize,
    octets: usize,
}

/// Package of a part, and the descriptors on the path to it.
struct Chosen<'a> {
    package: Found<'a, ComponentPackageDescription>,
    /// Values of configurations, innermost first.
    layers: Vec<Found<'a, Vec<Property>>>,
    requirements: Vec<&'a Requirement>,
}

/// Creates a plan.
pub(super) fn plan<'s, 'a>(shelf: &'s Shelf<'a>, assembly: &'s Assembly) -> Result<Plan, Error> {
    let mut making = Making {
        shelf,
        assembly,
        plan: Plan::default(),
        types: ComponentTypes::of(&assembly.components),
        implementations: Implementations::default(),
        remaining: Remaining::of(&assembly.limits),
        placed: BTreeSet::new(),
    };
    let chosen = making.chosen(shelf.root(assembly.package.as_deref())?, 0)?;
    let stem = chosen.package.path.rsplit('/').next().unwrap_or_default();
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let label = chosen.package.value.label.as_deref().map(str::trim);
    let label = label.filter(|label| !label.is_empty()).unwrap_or(stem).to_owned();
    making.plan.label = Some(label.clone());
    // Without an assembly, the only instance has the name of the package.
    let name = match making.implementation(&chosen)?.value.assembly_impl.is_empty() {
        true => label,
        false => String::new(),
    };
    let root = making.part(name, &chosen, Values::new(), 0)?;
    making.connect(&root)?;
    making.set_values(&root)?;
    making.place(&root)?;
    std::mem::take(&mut making.implementations).into_plan(&mut making.plan);
    if let Some(unknown) = assembly.nodes.keys().find(|name| !making.placed.contains(name.as_str()))
    {
        let names =
            crate::finding::listed(making.plan.instance.iter().map(|one| one.name.as_str()));
        return Err(Error::plain(format!(
            "the package has no part {unknown:?} that could be placed; its instances are {names}"
        )));
    }
    making.plan.check_references()?;
    if !assembly.components.is_empty() {
        let mut plan = std::mem::take(&mut making.plan);
        expand(&mut plan, &assembly.components, true, |size| {
            making.remaining.take(size.elements, size.octets)
        })?;
        making.plan = plan;
    }
    Ok(making.plan)
}

impl<'s> Remaining<'s> {
    /// Returns all that the limits allow.
    fn of(limits: &'s AssemblyLimits) -> Remaining<'s> {
        Remaining { limits, elements: limits.elements, octets: limits.octets }
    }

    /// Subtracts a number of elements and octets.
    pub(super) fn spend(&mut self, elements: usize, octets: usize) -> Result<(), Error> {
        self.take(elements, octets).map_err(Error::plain)
    }

    /// Subtracts a number of elements and octets, or returns a sentence about the limit.
    fn take(&mut self, elements: usize, octets: usize) -> Result<(), String> {
        let limits = self.limits;
        let take = |left: &mut usize, used: usize, most: usize, what: &str| -> Result<(), String> {
            *left = left.checked_sub(used).ok_or_else(|| {
                format!("the plan of the package has more than {most} {what}, the limit")
            })?;
            Ok(())
        };
        take(&mut self.elements, elements, limits.elements, "elements")?;
        take(&mut self.octets, octets, limits.octets, "octets of names and values")
    }
}

impl<'s, 'a> Making<'s, 'a> {
    /// Subtracts a number of elements and octets from the limits.
    pub(super) fn spend(&mut self, elements: usize, octets: usize) -> Result<(), Error> {
        self.remaining.spend(elements, octets)
    }

    /// Counts the names of packages, which are searched for.
    fn spend_sources(
        &mut self,
        referenced: &[ComponentPackageReference],
        imported: &[ComponentPackageImport],
    ) -> Result<(), Error> {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let octets =
            referenced.iter().map(|one| length(&one.required_uuid) + length(&one.required_name));
        let locations = imported.iter().map(|one| one.location.len());
        self.spend(locations.sum(), octets.sum())
    }

    /// Counts names, which are compared with others.
    fn spend_names<'n>(&mut self, names: impl Iterator<Item = &'n String>) -> Result<(), Error> {
        let (many, octets) =
            names.fold((0, 0), |(many, octets), name| (many + 1, octets + name.len()));
        self.spend(many, octets)
    }

    fn deep(&self, from: Found<'a, impl Sized>, place: Place, depth: usize) -> Result<(), Error> {
        let most = self.assembly.limits.depth;
        match depth > most {
            true => Err(from.wrong(
                place,
                format!(
                    "packages are nested more than {most} deep, the limit, or contain themselves"
                ),
            )),
            false => Ok(()),
        }
    }

    /// Follows configurations to the package.
    fn chosen(&mut self, base: Base<'a>, depth: usize) -> Result<Chosen<'a>, Error> {
        self.spend(1, 0)?;
        match base {
            Base::Package(package) => {
                Ok(Chosen { package, layers: Vec::new(), requirements: Vec::new() })
            }
            Base::Configuration(found) => {
                let value = found.value;
                self.deep(found, value.place, depth)?;
                self.spend_sources(&value.referenced_package, &value.imported_package)?;
                let next = self.shelf.base(
                    found,
                    &Sources {
                        base_package: &value.base_package,
                        specialized_config: &value.specialized_config,
                        referenced_package: &value.referenced_package,
                        imported_package: &value.imported_package,
                        place: value.place,
                    },
                )?;
                let mut chosen = self.chosen(next, depth + 1)?;
                self.spend(value.select_requirement.len(), 0)?;
                chosen.layers.push(found.inner(&value.config_property));
                chosen.requirements.extend(&value.select_requirement);
                Ok(chosen)
            }
        }
    }

    /// Resolves a part. `values` are those of the assembly that contains the part.
    fn part(
        &mut self,
        name: String,
        chosen: &Chosen<'a>,
        values: Values<'a>,
        depth: usize,
    ) -> Result<Part<'a>, Error> {
        let package = chosen.package;
        self.deep(package, package.value.place, depth)?;
        let implementation = self.implementation(chosen)?;
        let description = implementation.value;
        let interface = match (&description.implements, &package.value.realizes) {
            (Some(link), _) => Some(self.shelf.follow(implementation, link)?),
            (None, Some(link)) => Some(self.shelf.follow(package, link)?),
            (None, None) => None,
        };
        let mut all = Values::new();
        let inner = interface.map(|interface| interface.inner(&interface.value.config_property));
        let layers = inner.into_iter().chain([
            implementation.inner(&description.config_property),
            package.inner(&package.value.config_property),
        ]);
        for layer in layers.chain(chosen.layers.iter().copied()) {
            self.spend_names(layer.value.iter().map(|one| &one.name))?;
            all.extend(layer.value.iter().map(|one| (one.name.as_str(), layer.inner(one))));
        }
        all.extend(values);
        match (description.assembly_impl.as_slice(), description.monolithic_impl.as_slice()) {
            ([assembly], []) => {
                self.whole(name, implementation.inner(assembly), &all, depth).map(Part::Whole)
            }
            ([], [monolithic]) => {
                let of = self.implementations.of(
                    self.shelf,
                    implementation,
                    monolithic,
                    interface.map(|found| found.value),
                )?;
                self.instance(name, of, all, interface)
            }
            _ => Err(implementation.wrong(
                description.place,
                "an implementation must be either an assembly or monolithic: give it one assemblyImpl or one \
                 monolithicImpl",
            )),
        }
    }

    /// Chooses the first implementation that meets all requirements.
    fn implementation(
        &mut self,
        chosen: &Chosen<'a>,
    ) -> Result<Found<'a, ComponentImplementationDescription>, Error> {
        let package = chosen.package;
        for one in &package.value.implementation {
            let found = self.shelf.follow(package, &one.referenced_implementation)?;
            self.spend(1 + comparisons(&found.value.capability, &chosen.requirements), 0)?;
            let mut wanted = chosen.requirements.iter();
            if wanted.all(|wanted| meets(&found.value.capability, wanted)) {
                return Ok(found);
            }
        }
        let what = match chosen.requirements.first() {
            None => "the package has no implementation".to_owned(),
            Some(wanted) => format!(
                "no implementation of the package meets all requirements, the first of which is for {:?}",
                wanted.resource_type
            ),
        };
        Err(package.wrong(package.value.place, what))
    }

    fn instance(
        &mut self,
        name: String,
        implementation: usize,
        values: Values<'a>,
        interface: Option<Found<'a, ComponentInterfaceDescription>>,
    ) -> Result<Part<'a>, Error> {
        let made = self.implementations.get(implementation);
        let id = made.id.0.clone();
        self.types.add(implementation, made, interface);
        let octets: usize =
            values.values().map(|one| size::any(&one.value.value) + one.value.name.len()).sum();
        self.spend(1 + values.len(), octets + 3 * name.len() + id.len())?;
        let at = self.plan.instance.len();
        let mut property: Vec<Property> = Vec::with_capacity(values.len());
        for (name, found) in values {
            property.push(Property { name: name.to_owned(), ..found.value.clone() });
        }
        let node = self.node(&name);
        self.plan.instance.push(Instance {
            id: Id(name.clone()),
            node,
            name,
            implementation: Ref::to(id),
            config_property: property,
            ..Instance::default()
        });
        if self.plan.instance[at].node.is_none() {
            let name = &self.plan.instance[at].name;
            return Err(Error::plain(format!(
                "instance {name:?} is on no node: specify one for it, or one for all"
            )));
        }
        Ok(Part::Instance { at })
    }

    /// Returns the node of an instance: its own, that of a containing part, or the default.
    fn node(&mut self, name: &str) -> Option<String> {
        let ends = name.match_indices('/').map(|(at, _)| at).rev();
        for end in std::iter::once(name.len()).chain(ends) {
            if let Some((known, node)) = self.assembly.nodes.get_key_value(&name[..end]) {
                self.placed.insert(known);
                return Some(node.clone());
            }
        }
        self.assembly.node.clone()
    }

    fn whole(
        &mut self,
        name: String,
        assembly: Found<'a, ComponentAssemblyDescription>,
        values: &Values<'a>,
        depth: usize,
    ) -> Result<Whole<'a>, Error> {
        let value = assembly.value;
        let mut mapped = self.mapped(assembly, values)?;
        let mut parts = HashMap::new();
        for part in &value.instance {
            let values = mapped.remove(part.id.0.as_str()).unwrap_or_default();
            let found = self.subcomponent(&name, assembly.inner(part), values, depth)?;
            if parts.insert(part.id.0.as_str(), found).is_some() {
                let what = format!(
                    "part {:?} occurs twice: the ids of an assembly must be different",
                    part.id.0
                );
                return Err(assembly.wrong(part.place, what));
            }
        }
        let mut outside: HashMap<&str, Vec<&AssemblyConnection>> = HashMap::new();
        for connection in &value.connection {
            self.spend(1, 0)?;
            self.spend_names(connection.external_endpoint.iter().map(|end| &end.port_name))?;
            for end in &connection.external_endpoint {
                outside.entry(&end.port_name).or_default().push(connection);
            }
        }
        Ok(Whole { name, assembly, parts, outside })
    }

    fn subcomponent(
        &mut self,
        within: &str,
        part: Found<'a, Subcomponent>,
        values: Values<'a>,
        depth: usize,
    ) -> Result<Part<'a>, Error> {
        let value = part.value;
        if value.name.trim().is_empty() || value.name.contains('/') {
            let what = format!("part {:?} needs a name without a slash", value.name);
            return Err(part.wrong(value.place, what));
        }
        let name = joined(within, &value.name);
        self.spend(1, name.len())?;
        self.spend_sources(&value.referenced_package, &value.imported_package)?;
        let base = self.shelf.base(
            part,
            &Sources {
                base_package: &value.base_package,
                specialized_config: &value.specialized_config,
                referenced_package: &value.referenced_package,
                imported_package: &value.imported_package,
                place: value.place,
            },
        )?;
        let mut chosen = self.chosen(base, depth + 1)?;
        chosen.layers.push(part.inner(&value.config_property));
        chosen.requirements.extend(&value.select_requirement);
        self.part(name, &chosen, values, depth + 1)
    }

    /// Returns the values of an assembly for its parts.
    fn mapped(
        &mut self,
        assembly: Found<'a, ComponentAssemblyDescription>,
        values: &Values<'a>,
    ) -> Result<HashMap<&'a str, Values<'a>>, Error> {
        let mut mapped: HashMap<&str, Values<'a>> = HashMap::new();
        let mut known: BTreeSet<&str> = BTreeSet::new();
        let parts: BTreeSet<&str> = assembly.value.instance.iter().map(|one| &*one.id.0).collect();
        self.spend_names(assembly.value.instance.iter().map(|one| &one.id.0))?;
        for property in &assembly.value.external_property {
            self.spend(1, property.external_name.len())?;
            known.insert(&property.external_name);
            for to in &property.delegates_to {
                self.spend(1, to.property_name.len() + to.instance.id.len())?;
                if !parts.contains(to.instance.id.as_str()) {
                    let what = format!("the assembly has no part {:?}", to.instance.id);
                    return Err(assembly.wrong(to.instance.place, what));
                }
                if let Some(value) = values.get(property.external_name.as_str()) {
                    let of_part = mapped.entry(&to.instance.id).or_default();
                    of_part.insert(&to.property_name, *value);
                }
            }
        }
        match values.iter().find(|(name, _)| !known.contains(*name)) {
            None => Ok(mapped),
            Some((name, found)) => Err(found.wrong(
                found.value.place,
                format!(
                    "the assembly of {} has no externalProperty {name:?}, so no part takes the value",
                    assembly.path
                ),
            )),
        }
    }

    /// Adds the process constraints, and checks the node constraints.
    fn place(&mut self, part: &Part<'a>) -> Result<(), Error> {
        let Part::Whole(whole) = part else {
            return Ok(());
        };
        let all =
            whole.assembly.value.locality.iter().chain(&whole.assembly.value.locality_constraint);
        for locality in all {
            self.locality(whole, locality)?;
        }
        // Visits the parts in the order of the descriptor, so that equal packages make equal plans.
        for one in &whole.assembly.value.instance {
            self.place(&whole.parts[one.id.0.as_str()])?;
        }
        Ok(())
    }

    fn locality(&mut self, whole: &Whole<'a>, locality: &'a AssemblyLocality) -> Result<(), Error> {
        let mut instances = Vec::new();
        let mut of_part: Vec<BTreeSet<&Option<String>>> = Vec::new();
        for to in &locality.constrained_instance {
            let Some(part) = whole.parts.get(to.id.as_str()) else {
                let what = format!("the assembly has no part {:?}", to.id);
                return Err(whole.assembly.wrong(to.place, what));
            };
            let first = instances.len();
            leaves(part, &mut instances);
            of_part.push(
                instances[first..].iter().map(|&at: &usize| &self.plan.instance[at].node).collect(),
            );
        }
        let nodes: BTreeSet<_> = of_part.iter().flatten().collect();
        let (same, apart) =
            (nodes.len() <= 1, of_part.iter().map(BTreeSet::len).sum::<usize>() == nodes.len());
        use AssemblyLocalityKind as Kind;
        let (is_met, constraint) = match locality.constraint {
            Kind::SameNodeAnyProcess => (same, None),
            Kind::SameNodeSameProcess => (same, Some(LocalityKind::SameProcess)),
            Kind::SameNodeDifferentProcess => (same, Some(LocalityKind::DifferentProcess)),
            Kind::DifferentNode => (apart, None),
            Kind::DifferentProcess => (true, Some(LocalityKind::DifferentProcess)),
            Kind::NoConstraint => (true, None),
        };
        if !is_met {
            let what = format!(
                "its parts have the constraint {}, but the chosen nodes do not meet it",
                locality.constraint.text()
            );
            return Err(whole.assembly.wrong(locality.place, what));
        }
        let ids = instances.iter().map(|&at| &self.plan.instance[at].id.0);
        let octets = ids.clone().map(String::len).sum();
        let constrained_instance = ids.map(Ref::to).collect();
        self.spend(1 + instances.len(), octets)?;
        self.plan.locality_constraint.extend(constraint.map(|constraint| LocalityConstraint {
            constraint,
            constrained_instance,
            ..LocalityConstraint::default()
        }));
        Ok(())
    }
}

/// Adds the instances of a part.
fn leaves(part: &Part<'_>, into: &mut Vec<usize>) {
    match part {
        Part::Instance { at } => into.push(*at),
        Part::Whole(whole) => {
            let parts = whole.assembly.value.instance.iter();
            parts.for_each(|one| leaves(&whole.parts[one.id.0.as_str()], into));
        }
    }
}

/// Returns the name of a part of a part.
pub(super) fn joined(within: &str, name: &str) -> String {
    match within {
        "" => name.to_owned(),
        within => format!("{within}/{name}"),
    }
}
