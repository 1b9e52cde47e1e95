//! Client of HTTP/1.1 (RFC 9112) that gets one file.

use std::io::{self, BufRead, BufReader, ErrorKind, IoSlice, Read};
use std::time::{Duration, Instant};

use oxorb_core::{Orb, request_is_cancelled};
use oxorb_transport::tcp::{self, Tcp};
use oxorb_transport::{Address, Link};

use super::location::HttpUrl;
use super::{ABANDONED, LOOK, Limit, left};

/// Maximum number of octets of the head of an answer, and of the lines between the chunks of a body in excess of the
/// octets of the chunks themselves.
const MOST_HEAD: u64 = 64 << 10;

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
    let incoming = Incoming { link: &*link, end, look: Instant::now() + LOOK, part: Vec::new() };
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
                if request_is_cancelled() {
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
    let mut left = MOST_HEAD;
    let mut head = Head::receive(&mut from, &mut left)?;
    // Interim answers precede the final one.
    while head.status < 200 {
        head = Head::receive(&mut from, &mut left)?;
    }
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
    let mut body = Vec::new();
    match (head.value("transfer-encoding"), head.value("content-length")) {
        (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => loop {
            let line = line(&mut from, &mut left)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = match size.starts_with('+') {
                true => None,
                false => u64::from_str_radix(size, 16).ok(),
            };
            match size {
                Some(0) => return Ok(body),
                Some(size) => {
                    take(&mut from, size, limit, &mut body)?;
                    // A large file may have many chunks, but a file of small chunks only is refused.
                    left = left.saturating_add(size);
                }
                None => return Err("a chunk of the answer has no length".to_owned()),
            }
            if !self::line(&mut from, &mut left)?.is_empty() {
                return Err("a chunk of the answer is longer than its length".to_owned());
            }
        },
        (None, Some(digits)) if digits.bytes().all(|one| one.is_ascii_digit()) => {
            let size =
                digits.parse::<u64>().map_err(|_| "the length of the answer is not a number")?;
            take(&mut from, size, limit, &mut body)?;
            Ok(body)
        }
        // Nothing would show whether the file is complete.
        _ => Err("the answer does not state its length".to_owned()),
    }
}

/// Appends this number of octets to a body.
fn take(
    from: &mut impl BufRead,
    size: u64,
    limit: &Limit,
    body: &mut Vec<u8>,
) -> Result<(), String> {
    limit.admit((body.len() as u64).saturating_add(size))?;
    match Read::by_ref(from).take(size).read_to_end(body).map_err(told)? as u64 {
        count if count < size => Err(CUT.to_owned()),
        _ => Ok(()),
    }
}

/// Error for an answer that is not complete.
const CUT: &str = "the connection ended before the file was complete";

/// Status and fields of an answer.
struct Head {
    status: u16,
    reason: String,
    fields: Vec<(String, String)>,
}

impl Head {
    fn receive(from: &mut impl BufRead, left: &mut u64) -> Result<Head, String> {
        let first = line(from, left)?;
        let status =
            first.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse::<u16>().ok());
        let status = status.filter(|status| (100..600).contains(status));
        let status = status.ok_or("the server does not answer by HTTP/1.1")?;
        let reason = first.get(13..).unwrap_or_default().to_owned();
        let mut fields = Vec::new();
        loop {
            let line = line(from, left)?;
            match line.split_once(':') {
                Some((name, value)) => {
                    fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
                }
                None if line.is_empty() => return Ok(Head { status, reason, fields }),
                None => return Err("the answer has a field without a name".to_owned()),
            }
        }
    }

    /// Returns the values of a field, separated by commas.
    fn value(&self, name: &str) -> Option<String> {
        let fields = self.fields.iter().filter(|(field, _)| field == name);
        let values: Vec<&str> = fields.map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// Reads a line, and returns it without its end. Subtracts its length from `left`.
fn line(from: &mut impl BufRead, left: &mut u64) -> Result<String, String> {
    let mut octets = Vec::new();
    let count = Read::by_ref(from).take(*left).read_until(b'\n', &mut octets).map_err(told)?;
    *left -= count as u64;
    match octets.last() {
        Some(b'\n') => Ok(String::from_utf8_lossy(&octets).trim_end().to_owned()),
        _ if *left == 0 => {
            Err("the header of the answer, or the text between its chunks, is too long".to_owned())
        }
        _ => Err(CUT.to_owned()),
    }
}

/// Returns the beginning of a text, short enough for an error.
fn clipped(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_TEXT)]
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
        // A small buffer, so that lines and bodies arrive in parts.
        let from = BufReader::with_capacity(3, text.as_bytes());
        receive(from, &limit).map(|body| String::from_utf8(body).unwrap())
    }

    #[test]
    fn files_are_received_with_a_length_or_in_chunks() {
        for (text, wanted) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345", "12345"),
            ("HTTP/1.0 200 OK\ncontent-length:0\n\n", ""),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 \r\nContent-Length: 1\r\n\r\n1", "1"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA;x\r\n0123456789\r\n1\r\n!\r\n0\r\n\r\n",
                "0123456789!",
            ),
        ] {
            assert_eq!(received(text).as_deref(), Ok(wanted), "{text:?}");
        }
    }

    #[test]
    fn the_lines_between_chunks_are_limited_by_the_size_of_the_chunks() {
        let limit = Limit { octets: 1 << 20, name: "max, --max" };
        let chunks = |size: usize, extension: &str| {
            let chunk = format!("{size:x}{extension}\r\n{}\r\n", "x".repeat(size));
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let text = format!("{head}{}0\r\n\r\n", chunk.repeat((1 << 20) / size));
            receive(text.as_bytes(), &limit)
        };
        assert_eq!(chunks(8, "").map(|body| body.len()), Ok(1 << 20));
        for extension in ["", ";x=12345"] {
            let told = chunks(1, extension).unwrap_err();
            assert!(told.contains("between its chunks"), "{told}");
        }
    }

    #[test]
    fn other_answers_are_refused() {
        let good = "HTTP/1.1 200 OK\r\n";
        for (rest, why) in [
            ("Content-Length: 5\r\n\r\n1234", "ended before"),
            ("Content-Length: 5\r\n", "ended before"),
            ("Content-Length: 21\r\n\r\n", "more than 20 octets, the limit (max, --max)"),
            ("Content-Length: 99999999999999999999999\r\n\r\n", "not a number"),
            ("Content-Length: +5\r\n\r\n12345", "does not state its length"),
            ("Content-Length: 5\r\nContent-Length: 5\r\n\r\n12345", "does not state its length"),
            ("\r\n12345", "does not state its length"),
            ("Transfer-Encoding: chunked\r\n\r\n15\r\n", "more than 20"),
            ("Transfer-Encoding: chunked\r\n\r\n+1\r\n1\r\n", "no length"),
            ("Transfer-Encoding: chunked\r\n\r\n\r\n", "no length"),
            ("Transfer-Encoding: chunked\r\n\r\n1\r\n12\r\n", "longer than"),
            ("Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "more than 20"),
            ("Name\r\n\r\n", "without a name"),
        ] {
            let told = received(&format!("{good}{rest}")).unwrap_err();
            assert!(told.contains(why), "{rest:?}: {told}");
        }
        let told = received(&format!("{good}X: {}", "x".repeat(MOST_HEAD as usize))).unwrap_err();
        assert!(told.contains("too long"), "{told}");
        let told = received("HTTP/1.1 404 Not Found\r\n\r\n").unwrap_err();
        assert_eq!(told, "the server answered 404 Not Found");
        let long = "\u{1b}".repeat(MOST_TEXT * 2);
        let told = received(&format!("HTTP/1.1 404 {long}\r\n\r\n")).unwrap_err();
        assert_eq!(told.matches("\\u{1b}").count(), MOST_TEXT, "{told}");
        let told = received("HTTP/1.1 302 Found\r\nLocation: http://g/\r\n\r\n").unwrap_err();
        assert!(told.ends_with("it redirects to \"http://g/\", but redirections are not followed"));
        for text in ["SSH-2.0\r\n", "HTTP/2 200 OK\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1\r\n"] {
            assert!(received(text).unwrap_err().contains("by HTTP/1.1"), "{text:?}");
        }
    }
}
