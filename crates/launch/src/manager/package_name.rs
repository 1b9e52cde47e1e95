//! Names of packages as names of files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Ending of the file of a package.
const ENDING: &str = ".cpk";

/// Maximum length in octets of the name of a file without its ending. Linux permits 255 octets with the ending.
const MOST: usize = 240;

/// Returns the file of a package in the folder of a repository: the name of the package with the ending `.cpk`. Octets
/// other than ASCII letters, digits, `-`, `_` and `.` are written as `%HH`, and so is a `.` at the start.
///
/// ```
/// use std::path::Path;
///
/// let file = oxorb_launch::package_file(Path::new("packages"), "port side/gps")?;
/// assert_eq!(file, Path::new("packages/port%20side%2Fgps.cpk"));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// An empty name, or one whose file would have a name of more than 240 octets.
pub fn package_file(folder: &Path, name: &str) -> Result<PathBuf, String> {
    Ok(folder.join(file_name(name)?))
}

/// Returns the name of the file of a package.
pub(super) fn file_name(name: &str) -> Result<String, String> {
    if name.is_empty() {
        return Err("the name of the package is empty; give it a name".to_owned());
    }
    let file = (name.len() <= MOST).then(|| encoded(name)).filter(|file| file.len() <= MOST);
    file.map(|file| file + ENDING).ok_or_else(|| {
        format!(
            "the name of the package is too long: the name of its file, in which other characters than letters, \
             digits, '-', '_' and '.' take three octets each, can have at most {MOST} octets; choose a shorter name"
        )
    })
}

/// Returns the name of a package as it appears in names of files and in locations.
pub(super) fn encoded(name: &str) -> String {
    let mut encoded = String::new();
    for (at, octet) in name.bytes().enumerate() {
        let is_plain = octet.is_ascii_alphanumeric()
            || matches!(octet, b'-' | b'_')
            || (octet == b'.' && at > 0);
        match is_plain {
            true => encoded.push(char::from(octet)),
            false => {
                let _ = write!(encoded, "%{octet:02X}");
            }
        }
    }
    encoded
}

/// Returns the name of the package in a file.
///
/// # Errors
/// `None` for a file of another kind. For an archive whose file has no name of a package: the correct name of the file.
pub(super) fn name_of(file: &str) -> Result<String, Option<String>> {
    let Some(stem) = file.strip_suffix(ENDING) else {
        return Err(None);
    };
    match decoded(stem) {
        Some(name) if file_name(&name).is_ok_and(|own| own == file) => Ok(name),
        _ => Err(file_name(stem).ok()),
    }
}

/// Returns the name of a package from its form in names of files and in locations.
pub(super) fn decoded(mut rest: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(rest.len());
    while let Some((plain, coded)) = rest.split_once('%') {
        octets.extend_from_slice(plain.as_bytes());
        octets.push(u8::from_str_radix(coded.get(..2)?, 16).ok()?);
        rest = coded.get(2..)?;
    }
    octets.extend_from_slice(rest.as_bytes());
    String::from_utf8(octets).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_as_names_of_files() {
        for (name, file) in [
            ("gps", "gps.cpk"),
            ("gps-1.2_b", "gps-1.2_b.cpk"),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.cpk"),
            (".hidden", "%2Ehidden.cpk"),
            ("100 %", "100%20%25.cpk"),
            ("Höhe\0", "H%C3%B6he%00.cpk"),
        ] {
            assert_eq!(file_name(name).as_deref(), Ok(file), "{name:?}");
            assert_eq!(name_of(file).as_deref(), Ok(name), "{file}");
        }
        assert!(file_name("").is_err());
        assert!(file_name(&"x".repeat(MOST)).is_ok());
        for long in ["x".repeat(MOST + 1), "/".repeat(MOST / 3 + 1)] {
            let refused = file_name(&long).unwrap_err();
            assert!(refused.contains("at most 240 octets"), "{refused}");
        }
    }

    #[test]
    fn files_with_other_names_are_no_packages() {
        assert_eq!(name_of("gps.zip"), Err(None));
        for (file, right) in [
            ("my gps.cpk", "my%20gps.cpk"),
            ("%67ps.cpk", "%2567ps.cpk"),
            ("%2e.cpk", "%252e.cpk"),
            ("50%.cpk", "50%25.cpk"),
            ("%FF.cpk", "%25FF.cpk"),
        ] {
            assert_eq!(name_of(file), Err(Some(right.to_owned())), "{file}");
        }
        assert_eq!(name_of(".cpk"), Err(None));
    }
}
