//! Checks of the host and the origin that a request names, against pages of other sites.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderValue, ORIGIN};
use hyper::{HeaderMap, StatusCode, Uri};

use super::problem::Problem;

/// Hosts and origins that requests may name.
pub(super) struct Guard {
    /// Hosts in addition to loopback addresses; `None` if every host is permitted.
    pub(super) hosts: Option<Vec<String>>,
    /// Whether requests may name every IP address. DNS rebinding needs a host name.
    pub(super) allows_addresses: bool,
    /// Origins of pages that may use the gateway.
    pub(super) origins: Vec<String>,
}

impl Guard {
    /// Returns the origin to name in the answer, if a page of another permitted origin sent the request.
    ///
    /// # Errors
    /// The host is not one of this gateway, as after DNS rebinding; a page of another origin sent the request.
    pub(super) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Option<HeaderValue>, Problem> {
        let authority = authority(uri, headers)?;
        if let Some(hosts) = &self.hosts {
            let host = host(authority);
            let is_known = hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
            let is_address = self.allows_addresses && address(host).is_some();
            if !is_known && !is_address && !is_loopback(host) {
                return Err(Problem::new(
                    StatusCode::MISDIRECTED_REQUEST,
                    "the request names a host that is not this gateway",
                ));
            }
        }
        self.check_origin(authority, uri.path(), headers)
    }

    fn check_origin(
        &self,
        authority: &str,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<Option<HeaderValue>, Problem> {
        let refused = || {
            Problem::new(StatusCode::FORBIDDEN, "pages of other origins may not use this gateway")
        };
        let Some(origin) = headers.get(ORIGIN) else {
            // Browsers omit Origin in some requests that a page of another site causes, such as for images.
            // Other ports of the same host, and sibling domains, are of the same site.
            let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
            return match site {
                None | Some(b"none" | b"same-origin") => Ok(None),
                Some(_) if path == "/" => Ok(None),
                Some(_) => Err(refused()),
            };
        };
        let text = origin.to_str().map_err(|_| refused())?;
        if self.origins.iter().any(|known| known == text) {
            return Ok(Some(origin.clone()));
        }
        let own = text.split_once("://").is_some_and(|(scheme, rest)| {
            matches!(scheme, "http" | "https") && rest.eq_ignore_ascii_case(authority)
        });
        match own {
            true => Ok(None),
            false => Err(refused()),
        }
    }
}

/// Returns the host and port that a request names.
fn authority<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Result<&'r str, Problem> {
    if let Some(authority) = uri.authority() {
        return Ok(authority.as_str());
    }
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next().map(HeaderValue::to_str), hosts.next()) {
        (Some(Ok(host)), None) => Ok(host),
        _ => Err(Problem::bad_request("a request must have exactly one header Host")),
    }
}

/// Returns the host without its port.
fn host(authority: &str) -> &str {
    let end = match authority.starts_with('[') {
        true => authority.find(']').map(|at| at + 1),
        false => authority.find(':'),
    };
    &authority[..end.unwrap_or(authority.len())]
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || address(host).is_some_and(|address| address.to_canonical().is_loopback())
}

/// Returns the IP address that a host consists of.
fn address(host: &str) -> Option<IpAddr> {
    let plain = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    plain.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &Guard, headers: &[(&'static str, &'static str)]) -> Result<bool, StatusCode> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let checked = guard.check(&Uri::from_static("/objects"), &map);
        match checked {
            Ok(origin) => Ok(origin.is_some()),
            Err(problem) => Err(problem.into_answer().status()),
        }
    }

    #[test]
    fn other_hosts_and_origins_are_refused() {
        let page = "https://page.example".to_owned();
        let hosts = Some(vec!["gw.example".to_owned()]);
        let guard = Guard { hosts, allows_addresses: false, origins: vec![page] };
        for host in ["127.0.0.1:8080", "localhost", "[::1]:8080", "GW.example:1"] {
            assert_eq!(check(&guard, &[("host", host)]), Ok(false), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::1", ""] {
            let misdirected = Err(StatusCode::MISDIRECTED_REQUEST);
            assert_eq!(check(&guard, &[("host", host)]), misdirected, "{host}");
        }
        let host = ("host", "localhost:8080");
        let twice = check(&guard, &[host, host]);
        assert_eq!(twice, Err(StatusCode::BAD_REQUEST));
        let from = |origin| check(&guard, &[host, ("origin", origin)]);
        assert_eq!(from("http://localhost:8080"), Ok(false));
        assert_eq!(from("https://page.example"), Ok(true));
        for origin in ["null", "http://localhost:8081", "http://evil.example", "file://localhost"] {
            assert_eq!(from(origin), Err(StatusCode::FORBIDDEN), "{origin}");
        }
        let fetched = |site| check(&guard, &[host, ("sec-fetch-site", site)]);
        for site in ["cross-site", "same-site", "?"] {
            assert_eq!(fetched(site), Err(StatusCode::FORBIDDEN), "{site}");
        }
        for site in ["same-origin", "none"] {
            assert_eq!(fetched(site), Ok(false), "{site}");
        }
    }

    #[test]
    fn addresses_are_permitted_where_names_are_refused() {
        let guard = Guard { hosts: Some(Vec::new()), allows_addresses: true, origins: Vec::new() };
        for host in ["10.0.0.5:8080", "[fe80::1]:8080", "localhost", "127.0.0.1"] {
            assert_eq!(check(&guard, &[("host", host)]), Ok(false), "{host}");
        }
        // An attacker makes the name lead to the gateway, and the page has this very origin.
        let rebound = [("host", "evil.example:8080"), ("origin", "http://evil.example:8080")];
        assert_eq!(check(&guard, &rebound), Err(StatusCode::MISDIRECTED_REQUEST));
    }
}
