//! Packages as single documents: the contents of descriptors replace the links to them.

use super::AssemblyLimits;
use super::implementations::located;
use super::shelf::{Base, Found, Kind, Shelf, Sources};
use crate::described::Item;
use crate::element::Element;
use crate::finding::{Error, Place};
use crate::model::basic::ComponentInterfaceDescription;
use crate::model::package::{
    ComponentAssemblyDescription, ComponentImplementationDescription, ComponentPackageDescription,
    ImplementationArtifactDescription, Link, MonolithicImplementationDescription, NamedArtifact,
    PackageConfiguration, PackagedImplementation, Subcomponent,
};

/// Base of a part or a configuration: a package, or another configuration.
type Bases = (Vec<Link<ComponentPackageDescription>>, Vec<Link<PackageConfiguration>>);

/// Returns a package as one configuration. `package` is the path of the root descriptor.
pub(super) fn configuration(
    shelf: &Shelf<'_>,
    package: Option<&str>,
    limits: &AssemblyLimits,
) -> Result<PackageConfiguration, Error> {
    let mut inlining = Inlining { shelf, limits, elements: limits.elements, octets: limits.octets };
    match shelf.root(package)? {
        Base::Configuration(found) => {
            inlining.count(found.value)?;
            inlining.configuration(found, 0)
        }
        Base::Package(found) => {
            inlining.count(found.value)?;
            let package = inlining.package(found, 0)?;
            Ok(PackageConfiguration {
                label: package.label.clone(),
                uuid: package.uuid.clone(),
                base_package: vec![here(package)],
                ..PackageConfiguration::default()
            })
        }
    }
}

fn here<T>(value: T) -> Link<T> {
    Link::Here(Box::new(value))
}

/// Copying of descriptors, with the remaining numbers of elements and octets.
struct Inlining<'s, 'a> {
    shelf: &'s Shelf<'a>,
    limits: &'s AssemblyLimits,
    elements: usize,
    octets: usize,
}

impl<'a> Inlining<'_, 'a> {
    /// Subtracts a number of elements and octets from the limits.
    fn spend(&mut self, elements: usize, octets: usize) -> Result<(), Error> {
        let limits = self.limits;
        let take = |left: &mut usize, used: usize, most: usize, what: &str| -> Result<(), Error> {
            *left = left.checked_sub(used).ok_or_else(|| {
                Error::plain(format!(
                    "the package has more than {most} {what}, the limit, if each link is replaced by a copy"
                ))
            })?;
            Ok(())
        };
        take(&mut self.elements, elements, limits.elements, "elements")?;
        take(&mut self.octets, octets, limits.octets, "octets of names and values")
    }

    /// Counts the elements of a descriptor, before it is copied.
    fn count(&mut self, value: &impl Item) -> Result<(), Error> {
        let (elements, octets) = size(&value.write("copy"));
        self.spend(elements, octets)
    }

    fn deep<U>(&self, from: Found<'a, U>, place: Place, depth: usize) -> Result<(), Error> {
        let most = self.limits.depth;
        match depth > most {
            true => Err(from.wrong(
                place,
                format!(
                    "packages and artifacts are nested more than {most} deep, the limit, or contain themselves"
                ),
            )),
            false => Ok(()),
        }
    }

    /// Follows a link. A descriptor in place was counted with its document.
    fn follow<T: Kind + Item, U>(
        &mut self,
        from: Found<'a, U>,
        link: &'a Link<T>,
    ) -> Result<Found<'a, T>, Error> {
        let found = self.shelf.follow(from, link)?;
        match link {
            Link::Here(_) => {}
            Link::At { .. } => self.count(found.value)?,
        }
        Ok(found)
    }

    /// Copies the base of a part or a configuration.
    fn bases<U>(
        &mut self,
        from: Found<'a, U>,
        sources: &Sources<'a>,
        depth: usize,
    ) -> Result<Bases, Error> {
        let is_here = matches!(sources.base_package, [Link::Here(_)])
            || matches!(sources.specialized_config, [Link::Here(_)]);
        match self.shelf.base(from, sources)? {
            Base::Package(found) => {
                if !is_here {
                    self.count(found.value)?;
                }
                Ok((vec![here(self.package(found, depth + 1)?)], Vec::new()))
            }
            Base::Configuration(found) => {
                if !is_here {
                    self.count(found.value)?;
                }
                Ok((Vec::new(), vec![here(self.configuration(found, depth + 1)?)]))
            }
        }
    }

    fn configuration(
        &mut self,
        found: Found<'a, PackageConfiguration>,
        depth: usize,
    ) -> Result<PackageConfiguration, Error> {
        let value = found.value;
        self.deep(found, value.place, depth)?;
        let sources = Sources {
            base_package: &value.base_package,
            specialized_config: &value.specialized_config,
            referenced_package: &value.referenced_package,
            imported_package: &value.imported_package,
            place: value.place,
        };
        let (base_package, specialized_config) = self.bases(found, &sources, depth)?;
        Ok(PackageConfiguration {
            label: value.label.clone(),
            uuid: value.uuid.clone(),
            base_package,
            specialized_config,
            select_requirement: value.select_requirement.clone(),
            config_property: value.config_property.clone(),
            ..PackageConfiguration::default()
        })
    }

    fn package(
        &mut self,
        found: Found<'a, ComponentPackageDescription>,
        depth: usize,
    ) -> Result<ComponentPackageDescription, Error> {
        let value = found.value;
        self.deep(found, value.place, depth)?;
        let realizes = self.interface(found, value.realizes.as_ref())?;
        let mut implementation = Vec::new();
        for one in &value.implementation {
            let described = self.follow(found, &one.referenced_implementation)?;
            implementation.push(PackagedImplementation {
                name: one.name.clone(),
                referenced_implementation: here(self.implementation(described, depth)?),
                ..PackagedImplementation::default()
            });
        }
        Ok(ComponentPackageDescription {
            label: value.label.clone(),
            uuid: value.uuid.clone(),
            realizes,
            config_property: value.config_property.clone(),
            implementation,
            info_property: value.info_property.clone(),
            ..ComponentPackageDescription::default()
        })
    }

    fn interface<U>(
        &mut self,
        from: Found<'a, U>,
        link: Option<&'a Link<ComponentInterfaceDescription>>,
    ) -> Result<Option<Link<ComponentInterfaceDescription>>, Error> {
        match link {
            Some(link) => Ok(Some(here(self.follow(from, link)?.value.clone()))),
            None => Ok(None),
        }
    }

    fn implementation(
        &mut self,
        found: Found<'a, ComponentImplementationDescription>,
        depth: usize,
    ) -> Result<ComponentImplementationDescription, Error> {
        let value = found.value;
        let implements = self.interface(found, value.implements.as_ref())?;
        let mut assembly_impl = Vec::new();
        for one in &value.assembly_impl {
            assembly_impl.push(self.assembly(found.inner(one), depth)?);
        }
        let mut monolithic_impl = Vec::new();
        for one in &value.monolithic_impl {
            monolithic_impl.push(MonolithicImplementationDescription {
                node_exec_parameter: one.node_exec_parameter.clone(),
                component_exec_parameter: one.component_exec_parameter.clone(),
                primary_artifact: self.artifacts(found, &one.primary_artifact, depth)?,
                deploy_requirement: one.deploy_requirement.clone(),
                ..MonolithicImplementationDescription::default()
            });
        }
        Ok(ComponentImplementationDescription {
            label: value.label.clone(),
            uuid: value.uuid.clone(),
            implements,
            assembly_impl,
            monolithic_impl,
            config_property: value.config_property.clone(),
            capability: value.capability.clone(),
            depends_on: value.depends_on.clone(),
            info_property: value.info_property.clone(),
            ..ComponentImplementationDescription::default()
        })
    }

    fn assembly(
        &mut self,
        found: Found<'a, ComponentAssemblyDescription>,
        depth: usize,
    ) -> Result<ComponentAssemblyDescription, Error> {
        let value = found.value;
        let mut instance = Vec::new();
        for part in &value.instance {
            let sources = Sources {
                base_package: &part.base_package,
                specialized_config: &part.specialized_config,
                referenced_package: &part.referenced_package,
                imported_package: &part.imported_package,
                place: part.place,
            };
            let (base_package, specialized_config) = self.bases(found, &sources, depth)?;
            instance.push(Subcomponent {
                id: part.id.clone(),
                name: part.name.clone(),
                base_package,
                specialized_config,
                select_requirement: part.select_requirement.clone(),
                config_property: part.config_property.clone(),
                ..Subcomponent::default()
            });
        }
        Ok(ComponentAssemblyDescription {
            instance,
            connection: value.connection.clone(),
            external_property: value.external_property.clone(),
            locality: value.locality.clone(),
            locality_constraint: value.locality_constraint.clone(),
            ..ComponentAssemblyDescription::default()
        })
    }

    fn artifacts<U>(
        &mut self,
        from: Found<'a, U>,
        all: &'a [NamedArtifact],
        depth: usize,
    ) -> Result<Vec<NamedArtifact>, Error> {
        let mut copied = Vec::new();
        for one in all {
            let found = self.follow(from, &one.referenced_artifact)?;
            let value = found.value;
            self.deep(found, value.place, depth + 1)?;
            let mut location = Vec::new();
            for address in &value.location {
                // The path in the archive may be longer than the address, which is relative to the descriptor.
                let path = located(self.shelf, found, address.trim())?;
                self.spend(0, path.len())?;
                location.push(path);
            }
            let depends_on = self.artifacts(found, &value.depends_on, depth + 1)?;
            copied.push(NamedArtifact {
                name: one.name.clone(),
                referenced_artifact: here(ImplementationArtifactDescription {
                    label: value.label.clone(),
                    uuid: value.uuid.clone(),
                    location,
                    depends_on,
                    exec_parameter: value.exec_parameter.clone(),
                    deploy_requirement: value.deploy_requirement.clone(),
                    info_property: value.info_property.clone(),
                    ..ImplementationArtifactDescription::default()
                }),
                ..NamedArtifact::default()
            });
        }
        Ok(copied)
    }
}

/// Returns the number of elements of a tree, and the octets of their texts.
fn size(element: &Element) -> (usize, usize) {
    let below = element.children.iter().map(size);
    below.fold((1, element.text.len()), |(elements, octets), (more, longer)| {
        (elements + more, octets + longer)
    })
}
