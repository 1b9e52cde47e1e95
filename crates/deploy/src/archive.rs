//! Archives of packages (`.cpk`): ZIP files with descriptors and artifacts.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};

use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::document::{Document, Format};
use crate::element::Limits;
use crate::finding::Error;

/// Limits of archives that are read. Each bounds time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Maximum number of entries.
    pub entries: usize,
    /// Maximum unpacked size in octets of all entries together.
    pub octets: u64,
}

impl Default for ArchiveLimits {
    /// Returns limits of 4,096 entries and 256 MiB.
    fn default() -> ArchiveLimits {
        ArchiveLimits { entries: 4_096, octets: 256 << 20 }
    }
}

/// Maximum length in octets of a link to another file of the archive.
const MOST_LINK: usize = 4_096;

/// Files of an archive by their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archive {
    /// Contents by path: relative, separated by `/`, and without `..`.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Archive {
    /// Unpacks an archive into memory.
    ///
    /// # Errors
    /// Octets that are not a ZIP file, a limit, two entries with the same path, links, encryption, or paths that
    /// leave the archive.
    pub fn read(octets: &[u8], limits: &ArchiveLimits) -> Result<Archive, Error> {
        Archive::unpack(octets, limits, |_| true)
    }

    /// Unpacks the descriptors of an archive into memory. The paths of all other files are kept without their contents.
    ///
    /// # Errors
    /// As [`read`](Self::read). Damage to the contents of other files is not detected.
    pub fn read_descriptors(octets: &[u8], limits: &ArchiveLimits) -> Result<Archive, Error> {
        Archive::unpack(octets, limits, |path| Format::of_file(path).is_some())
    }

    /// Unpacks one file of an archive into memory; `None` if the archive has no file with this path.
    ///
    /// # Errors
    /// As [`read`](Self::read). Damage to the contents of other files is not detected.
    pub fn read_file(
        octets: &[u8],
        path: &str,
        limits: &ArchiveLimits,
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut archive = Archive::unpack(octets, limits, |one| one == path)?;
        Ok(archive.files.remove(path))
    }

    /// Unpacks the files whose paths `wanted` accepts. The others become empty files.
    fn unpack(
        octets: &[u8],
        limits: &ArchiveLimits,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Archive, Error> {
        let broken = |error: zip::result::ZipError| {
            Error::plain(format!("the archive cannot be read: {error}"))
        };
        let mut zip = ZipArchive::new(Cursor::new(octets)).map_err(broken)?;
        if zip.len() > limits.entries {
            let what = format!(
                "the archive has {} entries, but the limit is {}",
                zip.len(),
                limits.entries
            );
            return Err(Error::plain(what));
        }
        unrepeated(octets, &zip)?;
        let mut archive = Archive::default();
        let mut left = limits.octets;
        for at in 0..zip.len() {
            let entry = zip.by_index(at).map_err(broken)?;
            let name = entry.name().to_owned();
            if entry.is_dir() {
                continue;
            }
            if entry.is_symlink() || !is_inside(&name) {
                let what = format!("entry {name:?} is a link, or leads outside the archive");
                return Err(Error::plain(what));
            }
            if !wanted(&name) {
                archive.files.insert(name, Vec::new());
                continue;
            }
            // The size declared in the entry may be false, so no more than the limit is read.
            let mut content = Vec::new();
            let read = entry.take(left.saturating_add(1)).read_to_end(&mut content);
            read.map_err(|error| Error::plain(format!("entry {name:?}: {error}")))?;
            left = left.checked_sub(content.len() as u64).ok_or_else(|| {
                Error::plain(format!(
                    "the archive unpacks to more than {} octets, the limit",
                    limits.octets
                ))
            })?;
            archive.files.insert(name, content);
        }
        Ok(archive)
    }

    /// Packs the files in the order of their paths, so that equal archives have equal octets.
    ///
    /// # Errors
    /// Paths that [`read`](Self::read) would refuse.
    pub fn write(&self) -> Result<Vec<u8>, Error> {
        let broken = |error: zip::result::ZipError| Error::plain(error.to_string());
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().last_modified_time(zip::DateTime::default());
        for (name, content) in &self.files {
            if !is_inside(name) {
                return Err(Error::plain(format!("path {name:?} leads outside the archive")));
            }
            zip.start_file(name.as_str(), options).map_err(broken)?;
            zip.write_all(content).map_err(|error| Error::plain(format!("{name}: {error}")))?;
        }
        Ok(zip.finish().map_err(broken)?.into_inner())
    }

    /// Reads the descriptors of the archive, by path. Links between them (`href`) must refer to entries.
    ///
    /// # Errors
    /// The errors of a descriptor, with its path.
    pub fn documents(&self, limits: &Limits) -> Result<BTreeMap<String, Document>, Error> {
        let mut documents = BTreeMap::new();
        for (name, content) in &self.files {
            let Some(format) = Format::of_file(name) else {
                continue;
            };
            let located = |error: Error| Error {
                findings: error
                    .findings
                    .into_iter()
                    .map(|mut finding| {
                        finding.what = format!("{name}: {}", finding.what);
                        finding
                    })
                    .collect(),
            };
            let document = Document::read_octets(content, format, limits).map_err(located)?;
            for (href, place) in document.links() {
                if self.resolve(name, &href).is_none() {
                    let what = format!("{name}: {href:?} is not in the archive");
                    return Err(Error::at(place, what));
                }
            }
            documents.insert(name.clone(), document);
        }
        Ok(documents)
    }

    /// Returns the path that a link refers to, relative to the document or to the top. `..` is the parent folder,
    /// within the archive. `None` for a missing file, and for a link of more than 4,096 octets.
    pub fn resolve(&self, from: &str, href: &str) -> Option<&str> {
        if href.len() > MOST_LINK {
            return None;
        }
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let file = |path: String| self.files.get_key_value(&path).map(|(path, _)| path.as_str());
        let beside = within(folder, href).and_then(file);
        beside.or_else(|| within("", href).and_then(file))
    }
}

/// Resolves a relative path from a folder; `None` if it leaves the archive.
fn within(folder: &str, href: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in href.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Refuses two entries with the same path, of which the reader keeps one. The end record contains the number of all
/// entries.
fn unrepeated(octets: &[u8], zip: &ZipArchive<Cursor<&[u8]>>) -> Result<(), Error> {
    const SIGNATURE: &[u8] = b"PK\x05\x06";
    const LENGTH: usize = 22;
    let start = octets.len().checked_sub(LENGTH + zip.comment().len());
    let end = start.and_then(|start| octets.get(start..start + LENGTH));
    let Some(end) = end.filter(|end| end.starts_with(SIGNATURE)) else {
        return Err(Error::plain("the archive cannot be read: it contains data after its end"));
    };
    let said = usize::from(u16::from_le_bytes([end[10], end[11]]));
    if said != zip.len() {
        let what = format!(
            "the archive declares {said} entries, but has {} paths: one occurs twice",
            zip.len()
        );
        return Err(Error::plain(what));
    }
    Ok(())
}

/// Reports whether a path stays within an archive on every system.
fn is_inside(path: &str) -> bool {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    !path.contains(['\\', '\0', ':']) && path.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn refused(octets: &[u8], limits: &ArchiveLimits) -> String {
        Archive::read(octets, limits).unwrap_err().to_string()
    }

    #[test]
    fn an_archive_survives_and_its_links_are_followed() {
        let package = include_bytes!("../tests/plans/gps.cpd");
        let sensor = b"<Deployment:ComponentInterfaceDescription><label>Sensor</label></Deployment:ComponentInterfaceDescription>";
        let files: &[(&str, &[u8])] =
            &[("d/gps.cpd", package), ("d/Sensor.ccd", sensor), ("libgps.so", b"\x7fELF")];
        let archive = Archive::read(&packed(files), &ArchiveLimits::default()).unwrap();
        assert_eq!(
            Archive::read(&archive.write().unwrap(), &ArchiveLimits::default()).unwrap(),
            archive
        );
        let documents = archive.documents(&Limits::default()).unwrap();
        assert_eq!(documents.keys().collect::<Vec<_>>(), ["d/Sensor.ccd", "d/gps.cpd"]);
        let resolved = |href| archive.resolve("d/gps.cpd", href);
        assert_eq!(resolved("../libgps.so"), Some("libgps.so"));
        assert_eq!(resolved("libgps.so"), Some("libgps.so"), "from the top");
        assert_eq!(resolved("./../d/./Sensor.ccd"), Some("d/Sensor.ccd"));
        for outside in ["../../libgps.so", "/libgps.so", "", ".."] {
            assert_eq!(resolved(outside), None, "{outside:?}");
        }
        let lonely = Archive::read(&packed(&files[..1]), &ArchiveLimits::default()).unwrap();
        let missing = lonely.documents(&Limits::default()).unwrap_err().to_string();
        assert_eq!(missing, "7:3: error: d/gps.cpd: \"Sensor.ccd\" is not in the archive");
    }

    #[test]
    fn descriptors_are_unpacked_without_the_artifacts() {
        let (descriptor, artifact) = (include_bytes!("../tests/plans/gps.cpd"), vec![0; 1_000_000]);
        let octets =
            packed(&[("gps.cpd", descriptor.as_slice()), ("libgps.so", artifact.as_slice())]);
        let small = ArchiveLimits { octets: 10_000, ..ArchiveLimits::default() };
        assert!(refused(&octets, &small).contains("more than 10000 octets"));
        let found = Archive::read_descriptors(&octets, &small).unwrap();
        assert_eq!(found.files["gps.cpd"], descriptor);
        assert!(found.files["libgps.so"].is_empty());
        assert_eq!(
            Archive::read_file(&octets, "gps.cpd", &small).unwrap().as_deref(),
            Some(descriptor.as_slice())
        );
        assert_eq!(Archive::read_file(&octets, "gps", &small).unwrap(), None);
        let told = Archive::read_file(&octets, "libgps.so", &small).unwrap_err().to_string();
        assert!(told.contains("more than 10000 octets"), "{told}");
        let outside = packed(&[("../libgps.so", b"")]);
        let told = Archive::read_descriptors(&outside, &small).unwrap_err().to_string();
        assert!(told.contains("leads outside the archive"), "{told}");
    }

    #[test]
    fn hostile_archives_are_refused() {
        let usual = ArchiveLimits::default();
        for name in ["../x", "/etc/x", "a/../../x", "a\\..\\x", "c:x", "a//b"] {
            let told = refused(&packed(&[(name, b"")]), &usual);
            assert!(told.contains("leads outside the archive"), "{name}: {told}");
        }
        let small = ArchiveLimits { entries: 2, octets: 1_000 };
        let many: &[(&str, &[u8])] = &[("a", b""), ("b", b""), ("c", b"")];
        assert!(refused(&packed(many), &small).contains("3 entries, but the limit is 2"));
        let bomb = vec![0; 1_000_000];
        assert!(refused(&packed(&[("a", &bomb)]), &small).contains("more than 1000 octets"));
        assert!(refused(b"PK\x03\x04 and nothing", &usual).contains("the archive cannot be read"));
        let mut twice = packed(&[("first.cpd", b"<x/>"), ("other.cpd", b"<y/>")]);
        for at in 0..twice.len() - 9 {
            if &twice[at..at + 9] == b"other.cpd" {
                twice[at..at + 9].copy_from_slice(b"first.cpd");
            }
        }
        let told = refused(&twice, &usual);
        assert!(told.contains("2 entries, but has 1 paths: one occurs twice"), "{told}");
        let mut longer = packed(&[("a.cpd", b"<x/>")]);
        longer.extend([0; 30]);
        assert!(refused(&longer, &usual).contains("the archive cannot be read"));
        let good = packed(&[("a.cpd", b"<x/>")]);
        for end in 0..good.len() {
            let _ = Archive::read(&good[..end], &usual);
        }
    }
}
