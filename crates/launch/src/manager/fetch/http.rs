//! Client of HTTP/1.1 (RFC 9112) that gets one file.

use std::io::{self, BufRead, BufReader, ErrorKind, IoSlice, Read};
use std::time::{Duration, Instant};

use oxorb_core::Orb;
use oxorb_http::{AnswerError, Head};
use oxorb_transport::tcp::{self, Tcp};
use oxorb_transport::{Address, Link};

use super::location::HttpUrl;
use super::{ABANDONED, LOOK, Limit, is_abandoned, left};

/// Maximum number of octets of a text of the server in an error.
const MOST_TEXT: usize = 200;

/// Maximum number of octets that are read at once.
const PART: usize = 64 << 10;

/// Gets the file at a URL. Follows no redirections. `https:` uses the certificates and trusted authorities of `orb`.
///
/// # Errors
/// The server cannot be reached, or does not answer with the whole file before `end`; the file exceeds the limit; the
/// client of the request that this thread serves no longer waits; or `orb` cannot use TLS.
pub(super) fn get(
    url: &HttpUrl<'_>,
    orb: &Orb,
    limit: &Limit,
    end: Instant,
) -> Result<Vec<u8>, String> {
    let link = connect(url, orb, end)?;
    let path = match url.path.starts_with('/') {
        true => url.path.to_owned(),
        false => format!("/{}", url.path),
    };
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAccept-Encoding: identity\r\n\
         User-Agent: oxorb/{}\r\n\r\n",
        url.authority,
        env!("CARGO_PKG_VERSION")
    );
    link.set_write_timeout(Some(left(end)?)).map_err(told)?;
    link.write(&mut [IoSlice::new(head.as_bytes())]).map_err(|failure| told(failure.error))?;
    let look = Instant::now() + LOOK;
    let incoming = Incoming { link: &*link, orb, end, look, part: Vec::new() };
    receive(BufReader::with_capacity(PART, incoming), limit)
}

/// Connects to the server of a URL until a time.
fn connect(url: &HttpUrl<'_>, orb: &Orb, end: Instant) -> Result<Box<dyn Link>, String> {
    let address = tcp::address(url.host, url.port);
    let link = match url.is_protected {
        false => oxorb_transport::connect(&Tcp, &address, left(end)?),
        true => {
            let tls = orb.options().protocols.named("iiops").ok_or(NO_TLS)?.transport();
            tls.ready().map_err(|why| format!("https: is not configured: {why}"))?;
            let address = Address::new(tls.scheme(), address.place());
            oxorb_transport::connect(tls, &address, left(end)?)
        }
    };
    link.map_err(|error| error.to_string())
}

/// Error for `https:` in a program without TLS.
const NO_TLS: &str = "this program contains no TLS, which https: needs: build oxorb with the feature tls, or use http: \
                      with a checksum";

/// Octets that arrive until a time, as long as a client waits for them.
struct Incoming<'l> {
    link: &'l dyn Link,
    orb: &'l Orb,
    end: Instant,
    /// Time of the next check whether the client still waits.
    look: Instant,
    part: Vec<u8>,
}

impl Read for Incoming<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let now = Instant::now();
            let left = self.end.saturating_duration_since(now);
            if left == Duration::ZERO {
                return Err(ErrorKind::TimedOut.into());
            }
            if now >= self.look {
                if is_abandoned(self.orb) {
                    return Err(io::Error::other(ABANDONED));
                }
                self.look = now + LOOK;
            }
            self.link.set_read_timeout(Some(left.min(LOOK)))?;
            self.part.clear();
            match self.link.read(&mut self.part, into.len()) {
                Ok(count) => {
                    into[..count].copy_from_slice(&self.part[..count]);
                    return Ok(count);
                }
                Err(error) => match error.kind() {
                    ErrorKind::TimedOut | ErrorKind::WouldBlock => {}
                    _ => return Err(error),
                },
            }
        }
    }
}

/// Receives an answer, and returns its body.
fn receive(mut from: impl BufRead, limit: &Limit) -> Result<Vec<u8>, String> {
    let head = Head::receive(&mut from).map_err(|error| why(error, limit))?;
    if head.status != 200 {
        let more = match (head.status, head.value("location")) {
            (300..400, Some(target)) => {
                let target = clipped(&target);
                format!("; it redirects to {target:?}, but redirections are not followed")
            }
            _ => String::new(),
        };
        let reason = clipped(&head.reason).escape_debug();
        return Err(format!("the server answered {} {reason}{more}", head.status));
    }
    head.body(&mut from, limit.octets).map_err(|error| why(error, limit))
}

/// Returns the beginning of a text, short enough for an error.
fn clipped(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_TEXT)]
}

fn why(error: AnswerError, limit: &Limit) -> String {
    match error {
        AnswerError::Read(error) => told(error),
        AnswerError::BodyTooLong => limit.exceeded(),
        error => error.to_string(),
    }
}

fn told(error: io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => super::LATE.to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(text: &str) -> Result<String, String> {
        let limit = Limit { octets: 20, name: "max, --max" };
        receive(text.as_bytes(), &limit).map(|body| String::from_utf8(body).unwrap())
    }

    #[test]
    fn only_a_complete_file_within_the_limit_is_received() {
        let file = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345";
        assert_eq!(received(file).as_deref(), Ok("12345"));
        let long = received("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n").unwrap_err();
        assert!(long.contains("more than 20 octets, the limit (max, --max)"), "{long}");
        let cut = received(&file[..file.len() - 1]).unwrap_err();
        assert!(cut.contains("ended before"), "{cut}");
    }

    #[test]
    fn other_answers_are_refused_with_their_status() {
        let told = received("HTTP/1.1 404 Not Found\r\n\r\n").unwrap_err();
        assert_eq!(told, "the server answered 404 Not Found");
        let long = "x".repeat(MOST_TEXT * 2);
        let told = received(&format!("HTTP/1.1 404 {long}\r\n\r\n")).unwrap_err();
        assert_eq!(told.matches('x').count(), MOST_TEXT, "{told}");
        let told = received("HTTP/1.1 302 Found\r\nLocation: http://g/\r\n\r\n").unwrap_err();
        assert!(told.ends_with("it redirects to \"http://g/\", but redirections are not followed"));
    }
}
