//! Archives of packages that clients create: the descriptor of the package, and the files of its artifacts.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use oxorb_deploy::package::{
    ComponentPackageDescription, Link, NamedArtifact, PackageConfiguration,
};
use oxorb_deploy::{Archive, ArchiveLimits, Document, Format};

use super::content::one_line;
use super::refusal::Refusal;
use super::settings::RepositorySettings;
use super::sources::{self, below, check_length, read_file};
use crate::manager::trusted;

/// Descriptor of a package that a client creates.
const DESCRIPTOR: &str = "package.pcd";

/// Returns the archive of a package with its artifacts.
pub(super) fn packed(
    package: PackageConfiguration,
    base: &str,
    settings: &RepositorySettings,
) -> Result<Vec<u8>, Refusal> {
    let mut locations = Vec::new();
    locations_of(&package, &mut locations);
    let mut paths = BTreeSet::new();
    for location in locations {
        paths.extend(relative(location)?);
    }
    let (entries, most) = (ArchiveLimits::default().entries, settings.max_package_octets);
    if paths.len() >= entries {
        let reason = format!("the package has more than {entries} files, the limit");
        return Err(Refusal::Package(reason));
    }
    let mut archive = Archive::default();
    if !paths.is_empty() {
        let base = if base.is_empty() { "." } else { base };
        let folder = sources::find(settings.sources.as_deref(), base)?;
        let mut left = most;
        for path in paths {
            let file = trusted::resolve(&folder.join(&path));
            let file = file.map_err(|reason| below(&folder, "baseLocation", &reason))?;
            if !file.starts_with(&folder) {
                let reason = format!("its artifact {path:?} is not below the base location");
                return Err(Refusal::Package(reason));
            }
            let content = read_file(&file, left)
                .map_err(|error| format!("its artifact {path:?} cannot be read: {error}"))?;
            left -= content.len() as u64;
            archive.files.insert(path, content);
        }
    }
    let text = Document::from(package).write(Format::Xml).map_err(one_line)?;
    if archive.files.insert(DESCRIPTOR.to_owned(), text.into_bytes()).is_some() {
        return Err(Refusal::Package(format!(
            "an artifact of the package has the name of the package's descriptor, {DESCRIPTOR}; rename it"
        )));
    }
    let octets = archive.write().map_err(one_line)?;
    match octets.len() as u64 > most {
        true => Err(Refusal::Package(format!(
            "the package has more than {most} octets, the limit (RepositorySettings::max_package_octets, \
             --max-package-octets)"
        ))),
        false => Ok(octets),
    }
}

/// Returns the path of an artifact in the archive; `None` for an address outside, which stays as it is.
fn relative(location: &str) -> Result<Option<String>, String> {
    check_length(location)?;
    let path = location.trim();
    let path = path.strip_prefix("file://").unwrap_or(path);
    if path.starts_with('/') || path.contains("://") {
        return Ok(None);
    }
    let mut names: Vec<&str> = Vec::new();
    for one in Path::new(path).components() {
        match one {
            Component::Normal(name) => names.extend(name.to_str()),
            Component::CurDir => {}
            _ => return Err(format!("its artifact {location:?} is not below the base location")),
        }
    }
    match names.is_empty() {
        true => Err("an artifact of the package has an empty location".to_owned()),
        false => Ok(Some(names.join("/"))),
    }
}

/// Adds the locations of all artifacts of a package without links.
fn locations_of<'p>(package: &'p PackageConfiguration, into: &mut Vec<&'p str>) {
    here(&package.specialized_config).for_each(|one| locations_of(one, into));
    here(&package.base_package).for_each(|one| locations_in(one, into));
}

fn locations_in<'p>(package: &'p ComponentPackageDescription, into: &mut Vec<&'p str>) {
    let links = package.implementation.iter().map(|one| &one.referenced_implementation);
    for implementation in here(links) {
        for one in &implementation.monolithic_impl {
            one.primary_artifact.iter().for_each(|one| locations_at(one, into));
        }
        for part in implementation.assembly_impl.iter().flat_map(|one| &one.instance) {
            here(&part.specialized_config).for_each(|one| locations_of(one, into));
            here(&part.base_package).for_each(|one| locations_in(one, into));
        }
    }
}

fn locations_at<'p>(artifact: &'p NamedArtifact, into: &mut Vec<&'p str>) {
    for one in here([&artifact.referenced_artifact]) {
        into.extend(one.location.iter().map(String::as_str));
        one.depends_on.iter().for_each(|one| locations_at(one, into));
    }
}

/// Returns the contents of links that have their contents in place.
fn here<'p, T: 'p>(links: impl IntoIterator<Item = &'p Link<T>>) -> impl Iterator<Item = &'p T> {
    links.into_iter().filter_map(|link| match link {
        Link::Here(value) => Some(&**value),
        Link::At { .. } => None,
    })
}
