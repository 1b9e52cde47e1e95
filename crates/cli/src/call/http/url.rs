//! Addresses of objects behind an HTTP gateway.

use std::net::IpAddr;

/// Address of an object: `https://gateway.example/objects/Account`.
#[derive(PartialEq, Eq, Debug)]
pub(in crate::call) struct Url<'u> {
    /// URL as the user wrote it.
    pub(super) text: &'u str,
    /// Whether the scheme is `https`.
    pub(super) is_secure: bool,
    /// Host and port for the header `Host`.
    pub(super) authority: &'u str,
    /// Name, or address without brackets.
    pub(super) host: &'u str,
    pub(super) port: u16,
    /// Path without a slash at the end.
    pub(super) path: &'u str,
}

impl<'u> Url<'u> {
    /// Parses a URL with the scheme `http` or `https`; returns `None` for other texts.
    ///
    /// # Errors
    /// The mistake, for users.
    pub(in crate::call) fn parse(text: &'u str) -> Option<Result<Url<'u>, String>> {
        let (scheme, rest) = text.split_once("://")?;
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let url = split(rest, is_secure).map(|(authority, host, port, path)| Url {
            text,
            is_secure,
            authority,
            host,
            port,
            path,
        });
        Some(url.map_err(|why| format!("{text}: {why}")))
    }

    /// Reports whether the host is this one, so that no network carries what is sent.
    pub(super) fn is_loopback(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        self.host.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.to_canonical().is_loopback())
    }
}

/// Returns authority, host, port and path.
fn split(rest: &str, is_secure: bool) -> Result<(&str, &str, u16, &str), String> {
    if !rest.bytes().all(|octet| octet.is_ascii_graphic()) {
        return Err("characters outside ASCII must be percent-encoded".to_owned());
    }
    if rest.contains(['?', '#']) {
        return Err("the address of an object cannot have a query or a fragment".to_owned());
    }
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err("a gateway does not accept user names; supply a token (--token)".to_owned());
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (authority, ""),
    };
    let port = match (port, is_secure) {
        ("", false) => 80,
        ("", true) => 443,
        (digits, _) => {
            let is_number = digits.bytes().all(|octet| octet.is_ascii_digit());
            let port = digits.parse::<u16>().ok().filter(|_| is_number);
            port.ok_or_else(|| format!("{digits} is not a port"))?
        }
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match address {
        Some(address) if address.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6()) => {}
        None if !host.is_empty() && host.chars().all(is_host) => {}
        _ => return Err(format!("{host:?} is not a host")),
    }
    match path.trim_end_matches('/') {
        "" => Err("the address of an object needs a path, such as /objects/NAME".to_owned()),
        path => Ok((authority, address.unwrap_or(host), port, path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_http_name_objects() {
        let parsed = |text| Url::parse(text).map(|url| url.map(|it| (it.host, it.port, it.path)));
        let path = "/objects/Account";
        assert_eq!(parsed("http://a.example/objects/Account"), Some(Ok(("a.example", 80, path))));
        assert_eq!(parsed("HTTPS://[::1]/objects/Account/"), Some(Ok(("::1", 443, path))));
        assert_eq!(parsed("https://[::1]:8443/objects/Account"), Some(Ok(("::1", 8443, path))));
        assert_eq!(parsed("http://10.0.0.7:80/a"), Some(Ok(("10.0.0.7", 80, "/a"))));
        for other in ["corbaloc::host/A", "IOR:00", "file:///a", "ftp://a/b"] {
            assert_eq!(parsed(other), None, "{other}");
        }
        for wrong in [
            "http://host",
            "http://host/",
            "http:///a",
            "http://user:word@host/a",
            "http://host:x/a",
            "http://host:65536/a",
            "http://host:+80/a",
            "http://host/a?b",
            "http://host/a b",
            "http://host/\u{e4}",
            "http://[::1/a",
            "http://[host]/a",
            "http://a|name=b/a",
        ] {
            assert!(matches!(parsed(wrong), Some(Err(_))), "{wrong}");
        }
    }

    #[test]
    fn only_this_host_is_loopback() {
        for (text, expected) in [
            ("http://localhost/a", true),
            ("http://127.0.0.1:8080/a", true),
            ("http://[::1]/a", true),
            ("http://localhost.example/a", false),
            ("http://10.0.0.7/a", false),
        ] {
            let url = Url::parse(text).unwrap().unwrap();
            assert_eq!(url.is_loopback(), expected, "{text}");
        }
    }
}
