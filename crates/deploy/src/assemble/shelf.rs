//! Descriptors of an archive by path, and links between them.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::archive::Archive;
use crate::document::Document;
use crate::finding::{Error, Place, listed};
use crate::model::basic::ComponentInterfaceDescription;
use crate::model::package::{
    ComponentImplementationDescription, ComponentPackageDescription, ComponentPackageImport,
    ComponentPackageReference, ImplementationArtifactDescription, Link, PackageConfiguration,
};

/// Descriptors of an archive.
pub(super) struct Shelf<'a> {
    pub(super) archive: &'a Archive,
    pub(super) documents: &'a BTreeMap<String, Document>,
    by_uuid: HashMap<&'a str, Found<'a, ComponentPackageDescription>>,
    by_name: HashMap<&'a str, Found<'a, ComponentPackageDescription>>,
}

/// Part of a descriptor, with the path of its document.
#[derive(Debug)]
pub(super) struct Found<'a, T> {
    pub(super) path: &'a str,
    pub(super) value: &'a T,
}

impl<T> Clone for Found<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Found<'_, T> {}

impl<'a, T> Found<'a, T> {
    /// Returns another part of the same document.
    pub(super) fn inner<U>(self, value: &'a U) -> Found<'a, U> {
        Found { path: self.path, value }
    }

    pub(super) fn wrong(self, place: Place, what: impl std::fmt::Display) -> Error {
        Error::at(place, format!("{}: {what}", self.path))
    }
}

/// A kind of document to which links lead.
pub(super) trait Kind: Sized {
    const WHAT: &'static str;
    fn of(document: &Document) -> Option<&Self>;
}

macro_rules! kinds {
    ($($ty:ty = $variant:ident, $what:literal;)*) => {$(
        impl Kind for $ty {
            const WHAT: &'static str = $what;
            fn of(document: &Document) -> Option<&Self> {
                match document {
                    Document::$variant(found) => Some(found),
                    _ => None,
                }
            }
        }
    )*};
}

kinds! {
    ComponentPackageDescription = Package, "a package (.cpd)";
    PackageConfiguration = Configuration, "a configuration of a package (.pcd)";
    ComponentImplementationDescription = Implementation, "an implementation (.cid)";
    ImplementationArtifactDescription = Artifact, "an artifact (.iad)";
    ComponentInterfaceDescription = Interface, "an interface (.ccd)";
}

/// A package, or a configuration of one.
#[derive(Clone, Copy)]
pub(super) enum Base<'a> {
    Package(Found<'a, ComponentPackageDescription>),
    Configuration(Found<'a, PackageConfiguration>),
}

/// The four elements that name the base of a part or a configuration.
pub(super) struct Sources<'a> {
    pub(super) base_package: &'a [Link<ComponentPackageDescription>],
    pub(super) specialized_config: &'a [Link<PackageConfiguration>],
    pub(super) referenced_package: &'a [ComponentPackageReference],
    pub(super) imported_package: &'a [ComponentPackageImport],
    pub(super) place: Place,
}

impl<'a> Shelf<'a> {
    pub(super) fn of(archive: &'a Archive, documents: &'a BTreeMap<String, Document>) -> Shelf<'a> {
        let (mut by_uuid, mut by_name) = (HashMap::new(), HashMap::new());
        for (path, document) in documents {
            if let Document::Package(value) = document {
                let found = Found { path: path.as_str(), value: &**value };
                if let Some(uuid) = &value.uuid {
                    by_uuid.entry(uuid.as_str()).or_insert(found);
                }
                if let Some(label) = &value.label {
                    by_name.entry(label.as_str()).or_insert(found);
                }
            }
        }
        Shelf { archive, documents, by_uuid, by_name }
    }

    /// Follows a link from a document.
    pub(super) fn follow<T: Kind, U>(
        &self,
        from: Found<'a, U>,
        link: &'a Link<T>,
    ) -> Result<Found<'a, T>, Error> {
        let (href, place) = match link {
            Link::Here(value) => return Ok(from.inner(value)),
            Link::At { href, place } => (href, *place),
        };
        let missing = || from.wrong(place, format!("{href:?} is not in the archive"));
        let (path, document) = self.document(from.path, href).ok_or_else(missing)?;
        let value = T::of(document).ok_or_else(|| {
            from.wrong(
                place,
                format!("{href:?} is of kind {} instead of {}", document.kind(), T::WHAT),
            )
        })?;
        Ok(Found { path, value })
    }

    fn document(&self, from: &str, href: &str) -> Option<(&'a str, &'a Document)> {
        let path = self.archive.resolve(from, href)?;
        let (path, document) = self.documents.get_key_value(path)?;
        Some((path, document))
    }

    /// Returns the base of a part or a configuration.
    pub(super) fn base<U>(&self, from: Found<'a, U>, all: &Sources<'a>) -> Result<Base<'a>, Error> {
        let wrong = |place, what: String| Err(from.wrong(place, what));
        match (
            all.base_package,
            all.specialized_config,
            all.referenced_package,
            all.imported_package,
        ) {
            ([package], [], [], []) => Ok(Base::Package(self.follow(from, package)?)),
            ([], [configuration], [], []) => {
                Ok(Base::Configuration(self.follow(from, configuration)?))
            }
            ([], [], [wanted], []) => match self.referenced(wanted) {
                Some(found) => Ok(Base::Package(found)),
                None => {
                    let named = wanted.required_uuid.as_ref().or(wanted.required_name.as_ref());
                    let named = named.map_or("", String::as_str);
                    wrong(
                        wanted.place,
                        format!("the archive has no package {named:?}; add its descriptor"),
                    )
                }
            },
            ([], [], [], [imported]) => {
                let mut found =
                    imported.location.iter().filter_map(|href| self.document(from.path, href));
                match found.next() {
                    Some((path, Document::Package(value))) => {
                        Ok(Base::Package(Found { path, value }))
                    }
                    Some((path, Document::Configuration(value))) => {
                        Ok(Base::Configuration(Found { path, value }))
                    }
                    _ => {
                        let locations = listed(imported.location.iter().map(String::as_str));
                        wrong(
                            imported.place,
                            format!(
                                "the package to be imported is not in the archive ({locations}), and nothing is downloaded; add it"
                            ),
                        )
                    }
                }
            }
            _ => wrong(
                all.place,
                "it must have one package or configuration: add a basePackage".to_owned(),
            ),
        }
    }

    fn referenced(
        &self,
        wanted: &ComponentPackageReference,
    ) -> Option<Found<'a, ComponentPackageDescription>> {
        match (&wanted.required_uuid, &wanted.required_name) {
            (Some(uuid), _) => self.by_uuid.get(uuid.as_str()).copied(),
            (None, Some(name)) => self.by_name.get(name.as_str()).copied(),
            (None, None) => None,
        }
    }

    /// Returns the root descriptor of a plan: the named one, or the one to which no other refers.
    pub(super) fn root(&self, named: Option<&str>) -> Result<Base<'a>, Error> {
        let path = match named {
            Some(named) => named.to_owned(),
            None => self.only_root()?,
        };
        let Some((path, document)) = self.documents.get_key_value(&path) else {
            let known = listed(self.documents.keys().map(String::as_str));
            return Err(Error::plain(format!(
                "the archive has no descriptor {path:?}; it has {known}"
            )));
        };
        match document {
            Document::Package(value) => Ok(Base::Package(Found { path, value })),
            Document::Configuration(value) => Ok(Base::Configuration(Found { path, value })),
            Document::TopLevel(value) => {
                let from = Found { path: path.as_str(), value: &**value };
                let mut links = value.package.iter().chain(&value.base_package);
                match (links.next(), links.next()) {
                    (Some(only), None) => Ok(Base::Configuration(self.follow(from, only)?)),
                    _ => Err(from.wrong(
                        value.place,
                        "it does not have exactly one configuration: specify the descriptor of the plan",
                    )),
                }
            }
            other => Err(Error::plain(format!(
                "{path} is of kind {}, but a plan is made from a package (.cpd), a configuration (.pcd) or an entry \
                 (.tpd)",
                other.kind()
            ))),
        }
    }

    fn only_root(&self) -> Result<String, Error> {
        let entries: Vec<&str> = self
            .documents
            .iter()
            .filter(|(_, document)| matches!(document, Document::TopLevel(_)))
            .map(|(path, _)| path.as_str())
            .collect();
        if let [only] = entries.as_slice() {
            return Ok((*only).to_owned());
        }
        let mut linked = HashSet::new();
        for (path, document) in self.documents {
            let links = document.links().into_iter();
            linked.extend(links.filter_map(|(href, _)| self.archive.resolve(path, &href)));
        }
        let is_package = |document: &Document| {
            matches!(document, Document::Package(_) | Document::Configuration(_))
        };
        let roots: Vec<&str> = self
            .documents
            .iter()
            .filter(|(path, document)| is_package(document) && !linked.contains(path.as_str()))
            .map(|(path, _)| path.as_str())
            .collect();
        match roots.as_slice() {
            [only] => Ok((*only).to_owned()),
            [] => Err(Error::plain(
                "the archive has no package to which no other refers: specify the one for the plan",
            )),
            many => Err(Error::plain(format!(
                "the archive has several packages to which no other refers, {}: specify the one for the plan",
                listed(many.iter().copied())
            ))),
        }
    }
}
