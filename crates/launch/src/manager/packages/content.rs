//! Package in an archive, and the properties by which clients find it.

use std::collections::BTreeSet;

use oxorb_deploy::{Archive, ArchiveLimits, AssemblyLimits, Error, Format, Limits};

use crate::idl::deployment as d;
use crate::wire::package_to_wire;

/// Limits of a package once its links are replaced by copies. A reply with such a package is smaller than the default
/// limit of messages, and less deeply nested than the default limit of values.
const LIMITS: AssemblyLimits = AssemblyLimits { elements: 100_000, octets: 16 << 20, depth: 12 };

/// Maximum number of types of a package.
pub(super) const MOST_TYPES: usize = 1_000;

/// Maximum size in octets of the UUID of a package and of the names of its types.
const MOST_NAMES: usize = 64 << 10;

/// Properties by which clients find a package.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) uuid: String,
    pub(super) types: BTreeSet<String>,
}

/// Function that unpacks an archive.
type Unpack = fn(&[u8], &ArchiveLimits) -> Result<Archive, Error>;

/// Reads the package in an archive, within the limits. The files of the archive have at most `max_octets` together.
pub(super) fn parse(
    octets: &[u8],
    max_octets: u64,
    unpack: Unpack,
) -> Result<d::PackageConfiguration, String> {
    let limits = ArchiveLimits { octets: max_octets, ..ArchiveLimits::default() };
    let archive = unpack(octets, &limits).map_err(one_line)?;
    // Descriptors take several times their size in memory, and an archive may have many of them.
    let most = Limits::default().octets;
    let descriptors = archive.files.iter().filter(|(path, _)| Format::of_file(path).is_some());
    let octets: usize = descriptors.map(|(_, content)| content.len()).sum();
    if octets > most {
        return Err(format!(
            "its descriptors have {octets} octets together, but the limit is {most}"
        ));
    }
    let package = archive.configuration(None, &LIMITS).map_err(one_line)?;
    package_to_wire(&package).map_err(|error| error.to_string())
}

/// Returns the properties by which clients find a package.
pub(super) fn summary(package: &d::PackageConfiguration) -> Result<Summary, String> {
    let mut configuration = package;
    while let Some(inner) = configuration.specialized_config.first() {
        configuration = inner;
    }
    let base = configuration.base_package.first();
    let uuid = match (package.uuid.as_str(), base) {
        ("", Some(base)) => base.uuid.clone(),
        (uuid, _) => uuid.to_owned(),
    };
    let interface = base.map(|base| &base.realizes);
    let names =
        interface.into_iter().flat_map(|it| it.supported_type.iter().chain([&it.specific_type]));
    let names = names.map(|name| name.trim()).filter(|name| !name.is_empty());
    let types: BTreeSet<&str> = names.collect();
    if types.len() > MOST_TYPES {
        let count = types.len();
        return Err(format!("its interface has {count} types, but the limit is {MOST_TYPES}"));
    }
    let octets = uuid.len() + types.iter().map(|name| name.len()).sum::<usize>();
    if octets > MOST_NAMES {
        return Err(format!(
            "its UUID and the types of its interface have {octets} octets, but the limit is {MOST_NAMES}"
        ));
    }
    Ok(Summary { uuid, types: types.into_iter().map(str::to_owned).collect() })
}

/// Returns the text of an error in one line.
pub(super) fn one_line(error: Error) -> String {
    error.to_string().replace('\n', "; ")
}
