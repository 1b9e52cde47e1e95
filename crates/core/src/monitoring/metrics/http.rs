//! One exchange over HTTP: a request for the page of metrics, and the response.
//!
//! This is the project's own code, because the whole need is one method, one path and one response for each connection.
//! A library for HTTP would bring an executor, or threads that the ORB neither lists nor schedules.

use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use oxorb_sys::socket::{self, Shutdown};

/// Largest head of a request, in octets.
const MAX_HEAD: usize = 8 << 10;

/// Number of octets that are read at a time.
const CHUNK: usize = 4 << 10;

/// Number of octets after the head that are read and discarded, so that the client can read the response before its
/// connection is closed. Without this the system would discard the response, too.
const MAX_DISCARDED: usize = 2 << 20;

/// Number of reads in one turn, after which other exchanges have theirs.
const READS: usize = 16;

/// Path of the page.
const PATH: &str = "/metrics";

/// Type of the page's content.
const CONTENT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Connection of a client, from its acceptance to its end. No method waits, but for up to 10 ms before a page.
pub(super) struct HttpExchange {
    stream: TcpStream,
    /// Time at which the exchange ends at the latest.
    pub(super) until: Instant,
    state: HttpState,
}

enum HttpState {
    /// Octets of the request, whose head is not complete.
    Request(Vec<u8>),
    /// Response, and the number of its octets that were sent.
    Response(Vec<u8>, usize),
    /// The response was sent; number of octets that were discarded since.
    Parting(usize),
}

/// Result of a part of an exchange.
enum Progress {
    /// The next part may begin.
    Next(HttpState),
    /// The socket has to be ready first.
    Waits,
    Over,
}

impl HttpExchange {
    pub(super) fn new(stream: TcpStream, until: Instant) -> HttpExchange {
        HttpExchange { stream, until, state: HttpState::Request(Vec::new()) }
    }

    /// Returns the descriptor to wait for, and whether for input.
    pub(super) fn needs(&self) -> (BorrowedFd<'_>, bool) {
        (self.stream.as_fd(), !matches!(self.state, HttpState::Response(..)))
    }

    /// Reports whether the client has the whole response, as far as this side knows.
    pub(super) fn is_answered(&self) -> bool {
        matches!(self.state, HttpState::Parting(_))
    }

    /// Continues as far as possible without waiting; returns false if the exchange is over. `page` returns the page, or
    /// `None` if there is none.
    pub(super) fn go_on(&mut self, page: &dyn Fn() -> Option<String>) -> bool {
        loop {
            let progress = match &mut self.state {
                HttpState::Request(head) => receive(&self.stream, head, page),
                HttpState::Response(octets, sent) => send(&self.stream, octets, sent),
                HttpState::Parting(discarded) => discard(&self.stream, discarded),
            };
            match progress {
                Ok(Progress::Next(state)) => self.state = state,
                Ok(Progress::Waits) => return true,
                Ok(Progress::Over) => return false,
                Err(error) => return waits(&error),
            }
        }
    }
}

/// Reads until the head of the request is complete, and makes the response.
fn receive(
    stream: &TcpStream,
    head: &mut Vec<u8>,
    page: &dyn Fn() -> Option<String>,
) -> io::Result<Progress> {
    while head.len() < MAX_HEAD {
        let seen = head.len().saturating_sub(3);
        let most = CHUNK.min(MAX_HEAD - head.len());
        if socket::receive_now(stream, head, most)? == 0 {
            return Ok(Progress::Over);
        }
        if is_complete(&head[seen..]) {
            return Ok(Progress::Next(HttpState::Response(answer(head, page), 0)));
        }
    }
    let refusal = response("431 Request Header Fields Too Large", "text/plain", "", true);
    Ok(Progress::Next(HttpState::Response(refusal, 0)))
}

fn send(stream: &TcpStream, octets: &[u8], sent: &mut usize) -> io::Result<Progress> {
    while *sent < octets.len() {
        *sent += socket::send_now(stream, &[IoSlice::new(&octets[*sent..])])?;
    }
    socket::shutdown(stream, Shutdown::Write)?;
    Ok(Progress::Next(HttpState::Parting(0)))
}

fn discard(stream: &TcpStream, discarded: &mut usize) -> io::Result<Progress> {
    let mut unread = Vec::with_capacity(CHUNK);
    for _ in 0..READS {
        unread.clear();
        let octets = socket::receive_now(stream, &mut unread, CHUNK)?;
        *discarded += octets;
        if octets == 0 || *discarded > MAX_DISCARDED {
            return Ok(Progress::Over);
        }
    }
    Ok(Progress::Waits)
}

/// Reports whether an error only means that the socket is not ready.
fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Reports whether the octets contain the empty line that ends the head of a request.
fn is_complete(head: &[u8]) -> bool {
    head.windows(4).any(|end| end == b"\r\n\r\n") || head.windows(2).any(|end| end == b"\n\n")
}

/// Returns the response to a request.
fn answer(head: &[u8], page: &dyn Fn() -> Option<String>) -> Vec<u8> {
    let Some((method, path)) = parse(head) else {
        let reason = "This is not a request of HTTP/1.0 or HTTP/1.1.\n";
        return response("400 Bad Request", "text/plain", reason, true);
    };
    let with_body = method != "HEAD";
    let text = |status, text| response(status, "text/plain", text, with_body);
    if path != PATH {
        return text("404 Not Found", "The metrics of this ORB are at /metrics.\n");
    }
    if !["GET", "HEAD"].contains(&method) {
        return text("405 Method Not Allowed\r\nAllow: GET, HEAD", "");
    }
    match page() {
        Some(page) => response("200 OK", CONTENT, &page, with_body),
        None => {
            text("503 Service Unavailable", "The ORB has ended, or could not create the page.\n")
        }
    }
}

/// Returns the method and the path in the first line of a request; `None` if the line is malformed.
fn parse(head: &[u8]) -> Option<(&str, &str)> {
    let line = head.split(|octet| *octet == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.strip_suffix('\r').unwrap_or(line).split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || method.is_empty() || !version.starts_with("HTTP/1.") {
        return None;
    }
    // A proxy may be sent the whole URL.
    let path = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    };
    Some((method, path.split('?').next()?))
}

/// Returns the octets of a response. `status` may contain further header fields.
fn response(status: &str, content: &str, body: &str, with_body: bool) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    );
    let body = if with_body { body } else { "" };
    [head.as_bytes(), body.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(request: &str) -> String {
        let page = || Some("# EOF\n".to_owned());
        String::from_utf8(answer(request.as_bytes(), &page)).unwrap()
    }

    #[test]
    fn the_page_is_sent_with_its_type_and_length() {
        let got = answered("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(got.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; "));
        assert!(got.contains("\r\nContent-Length: 6\r\n") && got.ends_with("\r\n\r\n# EOF\n"));
        assert!(got.contains("\r\nConnection: close\r\n"), "{got}");
        let head = answered("HEAD /metrics HTTP/1.0\n\n");
        assert!(head.contains("\r\nContent-Length: 6\r\n") && head.ends_with("close\r\n\r\n"));
        for target in ["/metrics?x=/y", "http://host:9464/metrics"] {
            assert!(answered(&format!("GET {target} HTTP/1.1\r\n\r\n")).contains(" 200 "));
        }
    }

    #[test]
    fn other_requests_are_refused_with_the_reason() {
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /metric HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("GET http://host HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            ("get /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            ("GET /metrics\r\n\r\n", "400 Bad Request"),
            ("GET /metrics HTTP/2\r\n\r\n", "400 Bad Request"),
            ("GET  /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"),
            ("\r\n\r\n", "400 Bad Request"),
        ] {
            let got = answered(request);
            assert!(got.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:?}: {got}");
        }
        assert!(answered("PUT /metrics HTTP/1.1\r\n\r\n").contains("\r\nAllow: GET, HEAD\r\n"));
        // The response to HEAD never has a body.
        let head = answered("HEAD / HTTP/1.1\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 404 ") && head.ends_with("close\r\n\r\n"), "{head}");
        let gone = String::from_utf8(answer(b"GET /metrics HTTP/1.1\r\n\r\n", &|| None)).unwrap();
        assert!(gone.starts_with("HTTP/1.1 503 "), "{gone}");
        assert_eq!(parse(b"\xff /metrics HTTP/1.1\r\n"), None);
    }

    #[test]
    fn the_head_ends_with_an_empty_line() {
        for (head, complete) in [
            ("GET / HTTP/1.1\r\n", false),
            ("GET / HTTP/1.1\r\n\r", false),
            ("GET / HTTP/1.1\r\nA: b\r\n\r\n", true),
            ("GET / HTTP/1.1\n\n", true),
            ("", false),
        ] {
            assert_eq!(is_complete(head.as_bytes()), complete, "{head:?}");
        }
    }
}
