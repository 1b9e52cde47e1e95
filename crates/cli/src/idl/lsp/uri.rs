//! URIs of files.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Returns the path that a `file:` URI names; `None` for other URIs, and for files of other hosts.
pub(super) fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let (host, path) = rest.split_at(rest.find('/')?);
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return None;
    }
    let mut octets = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        octets.push(match first {
            b'%' => {
                let (digits, others) = others.split_at_checked(2)?;
                rest = others;
                (digit(digits[0])? << 4) | digit(digits[1])?
            }
            other => *other,
        });
    }
    Some(OsString::from_vec(octets).into())
}

/// Returns the URI of a file with an absolute path.
pub(super) fn of_path(path: &Path) -> String {
    let mut uri = String::from("file://");
    for octet in path.as_os_str().as_bytes() {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(*octet));
            }
            other => uri += &format!("%{other:02X}"),
        }
    }
    uri
}

fn digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_back_from_their_uris() {
        for (path, uri) in [
            ("/a/b.idl", "file:///a/b.idl"),
            ("/a b/\u{e9}%.idl", "file:///a%20b/%C3%A9%25.idl"),
            ("/", "file:///"),
        ] {
            assert_eq!(of_path(Path::new(path)), uri);
            assert_eq!(to_path(uri).as_deref(), Some(Path::new(path)));
        }
        assert_eq!(to_path("file://localhost/a%2Fb%3a"), Some("/a/b:".into()));
        assert_eq!(to_path("file:///%ff").unwrap().as_os_str().as_bytes(), b"/\xff");
    }

    #[test]
    fn other_uris_name_no_path() {
        for uri in
            ["", "file:", "file://", "file://host/a", "untitled:a", "file:///%", "file:///%4"]
        {
            assert_eq!(to_path(uri), None, "{uri}");
        }
        assert_eq!(to_path("file:///%zz"), None);
    }
}
