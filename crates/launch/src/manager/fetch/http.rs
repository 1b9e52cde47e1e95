//! Client of HTTP/1.1 (RFC 9112) that gets one file.

use std::io::{self, BufRead, BufReader, ErrorKind, IoSlice, Read};
use std::time::{Duration, Instant};

use oxorb_http::{AnswerError, Head};
use oxorb_transport::Link;
use oxorb_transport::tcp::{self, Tcp};

use super::location::HttpUrl;
use super::{Limit, left};

/// Maximum number of octets of a text of the server in an error.
const MOST_TEXT: usize = 200;

/// Maximum number of octets that are read at once.
const PART: usize = 64 << 10;

/// Gets the file at a URL. Follows no redirections.
///
/// # Errors
/// The server cannot be reached, or does not answer with the whole file before `end`; the file exceeds the limit.
pub(super) fn get(url: &HttpUrl<'_>, limit: &Limit, end: Instant) -> Result<Vec<u8>, String> {
    let address = tcp::address(url.host, url.port);
    let link = oxorb_transport::connect(&Tcp, &address, left(end)?);
    let link = link.map_err(|error| error.to_string())?;
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
    let incoming = Incoming { link: &*link, end, part: Vec::new() };
    receive(BufReader::with_capacity(PART, incoming), limit)
}

/// Octets that arrive until a time.
struct Incoming<'l> {
    link: &'l dyn Link,
    end: Instant,
    part: Vec<u8>,
}

impl Read for Incoming<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return Err(ErrorKind::TimedOut.into());
        }
        self.link.set_read_timeout(Some(left))?;
        self.part.clear();
        let count = self.link.read(&mut self.part, into.len())?;
        into[..count].copy_from_slice(&self.part[..count]);
        Ok(count)
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
