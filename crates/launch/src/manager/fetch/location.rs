//! Locations of files that managers fetch from servers.
//!
//! ```text
//! http://HOST:PORT/PATH#sha256=DIGITS
//! https://HOST:PORT/PATH#sha256=DIGITS
//! corbaloc::HOST:PORT/RepositoryManager#PACKAGE/PATH#sha256=DIGITS
//! ```

use std::net::IpAddr;
use std::str::FromStr;

use oxorb_object::{Url, parse_reference};

use super::sha256::Digest;
use crate::manager::package_name::{decoded, encoded};

/// Maximum length in octets of a location, as of a path in Linux.
pub(in crate::manager) const MOST_LOCATION: usize = 4_096;

/// Text between a location and the checksum of its file.
const CHECKSUM: &str = "#sha256=";

/// Location of a file on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote<'l> {
    /// Location without the checksum.
    pub(super) text: &'l str,
    pub(super) server: Server<'l>,
    pub(super) checksum: Option<Digest>,
}

/// Server of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Server<'l> {
    /// HTTP server.
    Http(HttpUrl<'l>),
    /// Repository of an execution manager.
    Repository {
        /// URL of the repository.
        url: &'l str,
        /// Name of a package.
        package: String,
        /// Path of a file in the package; `None` for the archive of the package.
        path: Option<&'l str>,
    },
}

/// URL with the scheme `http` or `https`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HttpUrl<'l> {
    /// Whether the scheme is `https`.
    pub(super) is_protected: bool,
    /// Host and port for the header `Host`.
    pub(super) authority: &'l str,
    /// Name, or address without brackets.
    pub(super) host: &'l str,
    pub(super) port: u16,
    /// Path and query; may be empty.
    pub(super) path: &'l str,
}

impl<'l> Remote<'l> {
    /// Parses a location. Returns `None` for a file of this machine: a path, or a `file:` URL.
    ///
    /// # Errors
    /// The mistake, with the location.
    pub(crate) fn parse(location: &'l str) -> Option<Result<Remote<'l>, String>> {
        let location = location.trim();
        let (scheme, rest) = location.split_once(':')?;
        let scheme = scheme.to_ascii_lowercase();
        match scheme.as_str() {
            "file" => return None,
            "http" | "https" | "corbaloc" => {}
            _ if rest.starts_with("//") => {}
            _ => return None,
        }
        let count = location.len();
        if count > MOST_LOCATION {
            let why = format!("a location has {count} octets, but the limit is {MOST_LOCATION}");
            return Some(Err(why));
        }
        let remote = match scheme.as_str() {
            "http" | "https" => Remote::http(location),
            "corbaloc" => Remote::repository(location),
            _ => Err(format!(
                "no manager fetches files by {scheme}:; specify the path of a file of the manager's machine, an http: \
                 or https: URL, or the corbaloc: URL of a repository"
            )),
        };
        Some(remote.map_err(|why| format!("{location:?}: {why}")))
    }

    fn http(location: &'l str) -> Result<Remote<'l>, String> {
        let (text, checksum) = checksum(location)?;
        let url = HttpUrl::parse(text)?;
        if url.path.is_empty() || url.path.ends_with('/') {
            return Err("the URL names no file: its path is empty or ends with /".to_owned());
        }
        if checksum.is_none() && !url.is_protected && !url.is_loopback() {
            return Err(format!(
                "a file that is fetched over a network by http: needs a checksum, because others can replace it on the \
                 way: append {CHECKSUM} and the 64 digits that sha256sum prints, or use https:"
            ));
        }
        Ok(Remote { text, server: Server::Http(url), checksum })
    }

    fn repository(location: &'l str) -> Result<Remote<'l>, String> {
        let (text, checksum) = checksum(location)?;
        let Some((url, rest)) = text.split_once('#') else {
            return Err(
                "a URL of a repository must be followed by #PACKAGE/PATH, the name of a package and a path \
                 in it"
                    .to_owned(),
            );
        };
        let (name, path) = match rest.split_once('/') {
            Some((name, path)) => (name, Some(path)),
            None => (rest, None),
        };
        let package = decoded(name).filter(|name| !name.is_empty());
        let package = package.ok_or_else(|| format!("{name:?} is not the name of a package"))?;
        if path == Some("") {
            return Err("the path in the package is empty".to_owned());
        }
        checked_corbaloc(url)?;
        Ok(Remote { text, server: Server::Repository { url, package, path }, checksum })
    }

    /// Reports whether the location is the archive of a package in a repository, rather than a file.
    pub(in crate::manager) fn is_archive(&self) -> bool {
        matches!(self.server, Server::Repository { path: None, .. })
    }

    /// Reports whether the location is a file in a package of a repository.
    pub(in crate::manager) fn is_packaged(&self) -> bool {
        matches!(self.server, Server::Repository { path: Some(_), .. })
    }

    /// Reports whether the file is a shared library, by its name.
    pub(super) fn is_library(&self) -> bool {
        let path = match &self.server {
            Server::Http(url) => url.path.split('?').next().unwrap_or_default(),
            Server::Repository { path, .. } => path.unwrap_or_default(),
        };
        path.ends_with(".so")
    }
}

impl<'l> HttpUrl<'l> {
    /// Parses a URL. Its path may be empty.
    fn parse(text: &'l str) -> Result<HttpUrl<'l>, String> {
        let (scheme, rest) = text.split_once(':').unwrap_or(("http", ""));
        let is_protected = scheme.eq_ignore_ascii_case("https");
        let rest = rest.strip_prefix("//").ok_or_else(|| {
            let scheme = if is_protected { "https" } else { "http" };
            format!("an {scheme}: URL must have the form {scheme}://HOST:PORT/PATH")
        })?;
        if rest.contains('#') || !rest.bytes().all(|octet| octet.is_ascii_graphic()) {
            return Err(format!(
                "a URL can contain only printable characters of ASCII, and a # only before the checksum \
                 ({CHECKSUM}DIGITS)"
            ));
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, digits)) if !digits.ends_with(']') => {
                let is_number = digits.bytes().all(|octet| octet.is_ascii_digit());
                let port = digits.parse::<u16>().ok().filter(|port| is_number && *port > 0);
                (host, port.ok_or_else(|| format!("{digits:?} is not a port"))?)
            }
            _ => (authority, if is_protected { 443 } else { 80 }),
        };
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_valid = match inner {
            Some(address) => address.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6()),
            None => {
                !host.is_empty()
                    && host.bytes().all(|one| one.is_ascii_alphanumeric() || b".-_".contains(&one))
            }
        };
        if !is_valid {
            return Err(format!("{host:?} is not a host"));
        }
        if leads_up(path) {
            return Err("the path has a segment . or .., or encodes one or a slash".to_owned());
        }
        Ok(HttpUrl { is_protected, authority, host: inner.unwrap_or(host), port, path })
    }

    /// Reports whether the host is this one, so that no network carries the file.
    fn is_loopback(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        self.host.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.to_canonical().is_loopback())
    }
}

/// Reports whether a server could understand a path as one outside of the folder in which it begins. Some servers
/// ignore what follows a `;` in a segment.
fn leads_up(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let mut segments = path.split(['/', '?']).map(|it| it.split(';').next().unwrap_or_default());
    segments.any(|segment| matches!(segment, "." | ".."))
        || ["%2e", "%2f", "%5c", "\\"].iter().any(|code| path.contains(code))
}

/// Splits a location into the address and the checksum of a file.
fn checksum(location: &str) -> Result<(&str, Option<Digest>), String> {
    let Some((address, digits)) = location.rsplit_once(CHECKSUM) else {
        return Ok((location, None));
    };
    match Digest::parse(digits) {
        Some(digest) => Ok((address, Some(digest))),
        None => Err(format!("{CHECKSUM} must be followed by 64 hexadecimal digits at the end")),
    }
}

/// Checks the URL of a repository. Only the ORB that follows it knows the forms of protocols other than IIOP.
fn checked_corbaloc(url: &str) -> Result<(), String> {
    let rest = url.split_once(':').map_or("", |(_, rest)| rest);
    let protocol = rest.split_once(':').map_or("", |(protocol, _)| protocol);
    if !["", "iiop", "rir"].iter().any(|known| protocol.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    match parse_reference(url) {
        Ok(Url::Corbaloc(_)) => Ok(()),
        Ok(_) => Err("the URL of a repository must be a corbaloc: URL".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Server from which a manager may fetch files.
///
/// ```
/// use oxorb_launch::FetchSource;
///
/// let archives: FetchSource = "http://10.0.0.9:8000/archives/".parse()?;
/// assert_eq!(archives.to_string(), "http://10.0.0.9:8000/archives/");
/// "corbaloc::10.0.0.7:2810/RepositoryManager".parse::<FetchSource>()?;
/// "https://archives.example/".parse::<FetchSource>()?;
/// assert!("ftp://10.0.0.9/".parse::<FetchSource>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchSource(String);

impl FetchSource {
    /// Reports whether a file is at this server: in the folder of an HTTP server or below it, or in a package of the
    /// repository.
    pub(super) fn permits(&self, remote: &Remote<'_>) -> bool {
        match &remote.server {
            Server::Repository { url, .. } => self.0 == *url,
            Server::Http(wanted) => {
                let scheme = self.0.split_once(':').map_or("", |(scheme, _)| scheme);
                let is_http = ["http", "https"].iter().any(|it| scheme.eq_ignore_ascii_case(it));
                let own = HttpUrl::parse(&self.0).ok().filter(|_| is_http);
                own.is_some_and(|own| {
                    let rest = wanted.path.strip_prefix(own.path.trim_end_matches('/'));
                    own.host.eq_ignore_ascii_case(wanted.host)
                        && own.is_protected == wanted.is_protected
                        && own.port == wanted.port
                        && rest.is_some_and(|rest| rest.starts_with('/'))
                })
            }
        }
    }
}

impl FromStr for FetchSource {
    type Err = String;

    fn from_str(text: &str) -> Result<FetchSource, String> {
        let text = text.trim();
        let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let checked = match scheme.as_deref() {
            Some("http" | "https") => {
                HttpUrl::parse(text).and_then(|url| match url.path.contains('?') {
                    true => Err("the URL of a folder cannot have a query".to_owned()),
                    false => Ok(()),
                })
            }
            Some("corbaloc") => checked_corbaloc(text),
            _ => Err("files are fetched from folders of HTTP servers (http://HOST:PORT/FOLDER, \
                      https://HOST:PORT/FOLDER) and from repositories (corbaloc::HOST:PORT/RepositoryManager)"
                .to_owned()),
        };
        checked.map_err(|why| format!("{text:?}: {why}"))?;
        Ok(FetchSource(text.to_owned()))
    }
}

impl std::fmt::Display for FetchSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the location of a file of a package in a repository, with the checksum of its content. Node managers that
/// may fetch files from this repository accept it as the location of an artifact.
///
/// ```
/// use oxorb_launch::artifact_location;
///
/// let repository = "corbaloc::10.0.0.7:2810/RepositoryManager";
/// let location = artifact_location(repository, "port side", "bin/gps", b"\x7fELF");
/// assert!(location.starts_with(&format!("{repository}#port%20side/bin/gps#sha256=")));
/// ```
pub fn artifact_location(repository: &str, package: &str, path: &str, content: &[u8]) -> String {
    let package = encoded(package);
    format!("{repository}#{package}/{path}{CHECKSUM}{}", Digest::of(content).hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn wrong(location: &str) -> String {
        Remote::parse(location).expect("no file of this machine").expect_err(location)
    }

    #[test]
    fn files_of_this_machine_are_not_fetched() {
        for location in ["bin/p", "/bin/p", "file:///bin/p", "FILE:/bin/p", "a:b", "", "c1:/p"] {
            assert_eq!(Remote::parse(location), None, "{location}");
        }
    }

    #[test]
    fn locations_name_a_server_and_a_file() {
        let text = format!(" HTTP://[::1]:8000/a/libgps.so?v=2#sha256={DIGITS}\n");
        let remote = Remote::parse(&text).unwrap().unwrap();
        let Server::Http(url) = &remote.server else { panic!("{remote:?}") };
        assert_eq!((url.host, url.port, url.path), ("::1", 8000, "/a/libgps.so?v=2"));
        assert_eq!(url.authority, "[::1]:8000");
        assert_eq!(remote.checksum, Digest::parse(DIGITS));
        assert!(remote.is_library() && !remote.is_packaged() && !remote.is_archive());

        let url = "corbaloc::10.0.0.7:2810/RepositoryManager";
        let text = artifact_location(url, "port side/gps", "bin/gps", b"");
        assert_eq!(text, format!("{url}#port%20side%2Fgps/bin/gps#sha256={DIGITS}"));
        let remote = Remote::parse(&text).unwrap().unwrap();
        let package = "port side/gps".to_owned();
        let server = Server::Repository { url, package, path: Some("bin/gps") };
        assert_eq!(remote.server, server);
        assert!(remote.is_packaged() && !remote.is_library());
        let whole = format!("{url}#gps");
        assert!(Remote::parse(&whole).unwrap().unwrap().is_archive());
    }

    #[test]
    fn a_file_from_a_network_needs_a_checksum() {
        let told = wrong("http://10.0.0.9/gps");
        assert!(told.starts_with("\"http://10.0.0.9/gps\": "), "{told}");
        assert!(told.contains("needs a checksum"), "{told}");
        for location in [
            "http://127.0.0.1/gps",
            "http://localhost:80/gps",
            "http://[::1]/gps",
            "https://10.0.0.9/gps",
        ] {
            assert!(Remote::parse(location).unwrap().is_ok(), "{location}");
        }
    }

    #[test]
    fn the_scheme_tells_the_port_and_the_protection() {
        for (location, wanted) in [
            ("http://localhost/gps", (false, 80)),
            ("HTTPS://h/gps", (true, 443)),
            ("https://h:8443/gps", (true, 8443)),
        ] {
            let remote = Remote::parse(location).unwrap().unwrap();
            let Server::Http(url) = &remote.server else { panic!("{remote:?}") };
            assert_eq!((url.is_protected, url.port), wanted, "{location}");
        }
    }

    #[test]
    fn mistakes_in_locations_are_explained() {
        let good = format!("#sha256={DIGITS}");
        for (location, why) in [
            (format!("https:/h/gps{good}"), "https://HOST:PORT/PATH"),
            (format!("ftp://h/gps{good}"), "no manager fetches files by ftp:"),
            (format!("http://h/{good}"), "names no file"),
            (format!("http://h{good}"), "names no file"),
            (format!("http:/h/gps{good}"), "http://HOST:PORT/PATH"),
            (format!("http:///gps{good}"), "is not a host"),
            (format!("http://u@h/gps{good}"), "is not a host"),
            (format!("http://[h]/gps{good}"), "is not a host"),
            (format!("http://h:0/gps{good}"), "is not a port"),
            (format!("http://h:+80/gps{good}"), "is not a port"),
            (format!("http://h/a/../gps{good}"), "a segment . or .."),
            (format!("http://h/a/%2E%2e/gps{good}"), "a segment . or .."),
            (format!("http://h/a/..;x/gps{good}"), "a segment . or .."),
            (format!("http://h/a b{good}"), "printable characters"),
            (format!("http://h/gps#x{good}"), "a # only before the checksum"),
            ("http://h/gps#sha256=12".to_owned(), "64 hexadecimal digits"),
            (format!("http://h/gps{good}#x"), "64 hexadecimal digits"),
            ("corbaloc::h/RepositoryManager".to_owned(), "#PACKAGE/PATH"),
            ("corbaloc::h/RepositoryManager#".to_owned(), "not the name of a package"),
            ("corbaloc::h/RepositoryManager#%/gps".to_owned(), "not the name of a package"),
            ("corbaloc::h/RepositoryManager#gps/".to_owned(), "is empty"),
            ("corbaloc:#gps/gps".to_owned(), "corbaloc:"),
        ] {
            let told = wrong(&location);
            assert!(told.contains(why), "{location}: {told}");
        }
        let long = format!("http://h/{}", "x".repeat(MOST_LOCATION));
        let told = wrong(&long);
        assert_eq!(told, "a location has 4105 octets, but the limit is 4096");
    }

    #[test]
    fn a_source_permits_what_is_below_its_folder() {
        let permits = |source: &str, location: &str| {
            let source: FetchSource = source.parse().unwrap();
            source.permits(&Remote::parse(location).unwrap().unwrap())
        };
        let file = format!("http://h:80/a/gps#sha256={DIGITS}");
        for source in ["http://h", "http://H/", "HTTP://h:80/a", "http://h/a/"] {
            assert!(permits(source, &file), "{source}");
        }
        for source in [
            "http://h:8000/",
            "http://g/",
            "http://h/b",
            "http://h/a/gps",
            "http://h/a/g",
            "https://h:80/",
        ] {
            assert!(!permits(source, &file), "{source}");
        }
        assert!(permits("https://h/a", "https://h:443/a/gps"));
        assert!(!permits("http://h:443/a", "https://h/a/gps"));
        let own = "corbaloc::h:2810/RepositoryManager";
        assert!(permits(own, &format!("{own}#gps/bin/gps")));
        assert!(!permits(own, "corbaloc::h/RepositoryManager#gps/bin/gps"));
        assert!(!permits(own, &file));
        assert!(!permits("http://h/", &format!("{own}#gps/bin/gps")));
        for wrong in ["", "h", "/srv", "ftp://h/", "https://h/?a", "corbaloc:", "corbaname::h#x"] {
            assert!(wrong.parse::<FetchSource>().is_err(), "{wrong}");
        }
    }
}
