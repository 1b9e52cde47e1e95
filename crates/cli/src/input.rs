//! Text from files and standard input, of bounded size, with or without a byte order mark.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Maximum number of octets to read, so that endless files such as `/dev/zero` are refused.
pub(crate) const MOST_OCTETS: u64 = 16 << 20;

/// Reads the text of a file. `what` names the expected contents.
pub(crate) fn file(path: &Path, what: &str) -> Result<String, String> {
    let opened = File::open(path);
    let text = opened.and_then(|file| text_of(file, what));
    text.map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads the text of standard input.
pub(crate) fn stdin(what: &str) -> Result<String, String> {
    text_of(io::stdin(), what).map_err(|error| format!("standard input: {error}"))
}

/// Reads a file as it is, or standard input if its name is `-`.
pub(crate) fn octets(path: &Path, what: &str) -> Result<Vec<u8>, String> {
    match path.as_os_str() == "-" {
        true => octets_of(io::stdin(), what).map_err(|error| format!("standard input: {error}")),
        false => {
            let octets = File::open(path).and_then(|file| octets_of(file, what));
            octets.map_err(|error| format!("{}: {error}", path.display()))
        }
    }
}

/// Opens a file with secrets, which `secrets` names.
///
/// # Errors
/// The file cannot be opened; users other than its owner can read or change it; it belongs to another user.
pub(crate) fn private(path: &Path, secrets: &str) -> Result<File, String> {
    let at = |why: &dyn Display| format!("{}: {why}", path.display());
    let file = File::open(path).map_err(|error| at(&error))?;
    // The open file is examined, so that no other file can take its place after the examination.
    let data = file.metadata().map_err(|error| at(&error))?;
    if data.mode() & 0o077 != 0 {
        return Err(at(&format_args!("other users can read or change {secrets}: chmod 600")));
    }
    let own = oxorb_sys::unix::own_credentials().uid;
    match data.uid() == own || data.uid() == 0 {
        true => Ok(file),
        false => Err(at(&format_args!("the file with {secrets} belongs to user {}", data.uid()))),
    }
}

/// Reads the rest of an open file as it is.
pub(crate) fn octets_of(from: impl Read, what: &str) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    let many = from.take(MOST_OCTETS + 1).read_to_end(&mut octets)?;
    admit(many, what)?;
    Ok(octets)
}

/// Reads the rest of an open file as text.
pub(crate) fn text_of(from: impl Read, what: &str) -> io::Result<String> {
    let mut text = String::new();
    let octets = from.take(MOST_OCTETS + 1).read_to_string(&mut text)?;
    admit(octets, what)?;
    Ok(without_mark(text))
}

fn admit(octets: usize, what: &str) -> io::Result<()> {
    if octets as u64 > MOST_OCTETS {
        return Err(io::Error::other(format!(
            "{what} can have at most {MOST_OCTETS} octets, and this one is longer: divide it"
        )));
    }
    Ok(())
}

/// Removes the byte order mark that editors may put before UTF-8.
pub(crate) fn without_mark(text: String) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert_eq!(text_of("\u{feff}{}\n".as_bytes(), "a script").unwrap(), "{}\n");
        assert_eq!(text_of("a\u{feff}".as_bytes(), "a script").unwrap(), "a\u{feff}");
    }

    #[test]
    fn what_is_longer_than_the_limit_is_refused_with_the_limit() {
        let refused = file(Path::new("/dev/zero"), "a script").unwrap_err();
        assert!(
            refused.starts_with("/dev/zero: a script can have at most 16777216 octets"),
            "{refused}"
        );
        let most = text_of(io::repeat(b' ').take(MOST_OCTETS), "a script").unwrap();
        assert_eq!(most.len() as u64, MOST_OCTETS);
    }

    #[test]
    fn secrets_that_others_can_read_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let name = format!("oxorb-private-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "secret").unwrap();
        let opened = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            private(&path, "the secrets").map(drop)
        };
        for mode in [0o644, 0o604, 0o620] {
            assert!(opened(mode).unwrap_err().contains("the secrets: chmod 600"), "{mode:o}");
        }
        assert_eq!(opened(0o600), Ok(()));
        std::fs::remove_file(&path).unwrap();
        assert!(private(&path, "the secrets").is_err());
    }
}
