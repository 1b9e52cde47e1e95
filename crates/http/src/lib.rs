//! Answers of HTTP/1.1 servers (RFC 9112), as clients receive them.
//!
//! The crate opens no connection and knows no time limit: it reads from a [`BufRead`], whose errors it returns. An
//! answer whose end cannot be recognized is refused, because it could be incomplete. Each function takes time and
//! memory in proportion to the octets that arrive, within the limits that it names.
//!
//! ```
//! let mut octets = &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..];
//! let head = oxorb_http::Head::receive(&mut octets)?;
//! assert_eq!((head.status, head.reason.as_str()), (200, "OK"));
//! assert_eq!(head.body(&mut octets, 1024)?, b"hello");
//! # Ok::<(), oxorb_http::AnswerError>(())
//! ```
#![forbid(unsafe_code)]

use std::fmt;
use std::io::{self, BufRead, Read};

use httparse::{EMPTY_HEADER, Error, Response, Status};

/// Maximum number of octets of the heads of an answer and its interim answers. Also the maximum number of octets
/// between the chunks of a body, in excess of the octets of the chunks.
pub const MAX_HEAD: u64 = 64 << 10;

/// Maximum number of fields of a head.
pub const MAX_FIELDS: usize = 256;

/// Error for an answer that cannot be used.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The source of the octets failed, for example because of a time limit.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The octets ended early.
    #[error("the connection ended before the answer was complete")]
    Cut,
    /// The octets are no answer of HTTP/1.1 or HTTP/1.0.
    #[error("this is not the answer of an HTTP server")]
    NotHttp,
    /// A field of the head is malformed.
    #[error("the answer has a field without a valid name or value")]
    Field,
    /// The head exceeds [`MAX_HEAD`] or [`MAX_FIELDS`], or the text between chunks exceeds [`MAX_HEAD`].
    #[error("the header of the answer, or the text between its chunks, is too long")]
    HeadTooLong,
    /// The body is longer than its reader permits.
    #[error("the answer is too long")]
    BodyTooLong,
    /// The length of the body is missing, ambiguous or malformed.
    #[error("{0}")]
    Length(&'static str),
}

/// Formats the sentence, for a `main` that returns the error.
impl fmt::Debug for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Status and fields of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Status, 200 to 599.
    pub status: u16,
    /// Text after the status; without control characters, and often empty.
    pub reason: String,
    /// Names in lower case, and values.
    fields: Vec<(String, String)>,
}

impl Head {
    /// Receives the head of an answer. Interim answers, which may precede it, are skipped.
    ///
    /// # Errors
    /// [`AnswerError`], for octets that are no head of an answer, or for one that is too long.
    pub fn receive(from: &mut impl BufRead) -> Result<Head, AnswerError> {
        let mut left = MAX_HEAD;
        loop {
            let head = Head::parse(&head(from, &mut left)?)?;
            if head.status >= 200 {
                return Ok(head);
            }
        }
    }

    fn parse(octets: &[u8]) -> Result<Head, AnswerError> {
        let mut fields = [EMPTY_HEADER; MAX_FIELDS];
        let mut response = Response::new(&mut fields);
        match response.parse(octets) {
            Ok(Status::Complete(_)) => {}
            Err(Error::TooManyHeaders) => return Err(AnswerError::HeadTooLong),
            Err(Error::HeaderName | Error::HeaderValue) => return Err(AnswerError::Field),
            Ok(Status::Partial) | Err(_) => return Err(AnswerError::NotHttp),
        }
        let status = response.code.filter(|status| (100..600).contains(status));
        let fields = response.headers.iter().map(|field| {
            let value = String::from_utf8_lossy(field.value);
            (field.name.to_ascii_lowercase(), value.trim().to_owned())
        });
        Ok(Head {
            status: status.ok_or(AnswerError::NotHttp)?,
            reason: response.reason.unwrap_or_default().trim().to_owned(),
            fields: fields.collect(),
        })
    }

    /// Returns the values of a field, separated by commas; `None` without the field. `name` is in lower case.
    pub fn value(&self, name: &str) -> Option<String> {
        let fields = self.fields.iter().filter(|(field, _)| field == name);
        let values: Vec<&str> = fields.map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// Receives the body, of at most `most` octets. The fields after a body in chunks are not read, so the connection
    /// cannot be used for another request.
    ///
    /// # Errors
    /// [`AnswerError`], for a body that is incomplete or too long, or whose length is not stated.
    pub fn body(&self, from: &mut impl BufRead, most: u64) -> Result<Vec<u8>, AnswerError> {
        let mut body = Vec::new();
        if matches!(self.status, 204 | 304) {
            return Ok(body);
        }
        match (self.value("transfer-encoding"), self.value("content-length")) {
            (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => {
                chunks(from, most, &mut body)?;
            }
            (None, Some(digits)) if digits.bytes().all(|octet| octet.is_ascii_digit()) => {
                let size = digits.parse();
                let size = size.map_err(|_| {
                    AnswerError::Length("the length of the answer is not a number, or too large")
                })?;
                take(from, size, most, &mut body)?;
            }
            // Nothing would show whether the answer is complete. Several lengths are one attack on intermediaries.
            _ => return Err(AnswerError::Length("the answer does not state its length")),
        }
        Ok(body)
    }
}

/// Reads the octets of a head, with the empty line at its end.
fn head(from: &mut impl BufRead, left: &mut u64) -> Result<Vec<u8>, AnswerError> {
    let mut octets = Vec::new();
    loop {
        let begin = octets.len();
        line(from, left, &mut octets)?;
        if matches!(&octets[begin..], b"\n" | b"\r\n") {
            return Ok(octets);
        }
        // Servers of other protocols may send a line, and then wait.
        if begin == 0 && !octets.starts_with(b"HTTP/1.") {
            return Err(AnswerError::NotHttp);
        }
    }
}

/// Appends a line with its end, and subtracts its length from `left`.
fn line(from: &mut impl BufRead, left: &mut u64, into: &mut Vec<u8>) -> Result<(), AnswerError> {
    let count = Read::by_ref(from).take(*left).read_until(b'\n', into)?;
    *left -= count as u64;
    match into.last() {
        Some(b'\n') if count > 0 => Ok(()),
        _ if *left == 0 => Err(AnswerError::HeadTooLong),
        _ => Err(AnswerError::Cut),
    }
}

/// Receives a body in chunks.
fn chunks(from: &mut impl BufRead, most: u64, body: &mut Vec<u8>) -> Result<(), AnswerError> {
    let (mut left, mut text) = (MAX_HEAD, Vec::new());
    loop {
        text.clear();
        line(from, &mut left, &mut text)?;
        let size = size(&text).ok_or(AnswerError::Length("a chunk of the answer has no length"))?;
        if size == 0 {
            return Ok(());
        }
        take(from, size, most, body)?;
        // A long body may have many chunks, but a body that consists of small chunks is refused.
        left = left.saturating_add(size);
        text.clear();
        line(from, &mut left, &mut text)?;
        if !text.trim_ascii().is_empty() {
            return Err(AnswerError::Length("a chunk of the answer is longer than its length"));
        }
    }
}

/// Returns the number in the line before a chunk.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|octet| *octet == b';').next()?.trim_ascii();
    let digits = std::str::from_utf8(digits).ok()?;
    let is_hex = digits.bytes().all(|octet| octet.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

/// Appends this number of octets to a body of at most `most` octets.
fn take(
    from: &mut impl BufRead,
    size: u64,
    most: u64,
    body: &mut Vec<u8>,
) -> Result<(), AnswerError> {
    if (body.len() as u64).saturating_add(size) > most {
        return Err(AnswerError::BodyTooLong);
    }
    match Read::by_ref(from).take(size).read_to_end(body)? as u64 {
        count if count < size => Err(AnswerError::Cut),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// Receives an answer in parts of a size, with a body of at most 20 octets.
    fn receive(text: &str, size: usize) -> Result<(Head, String), AnswerError> {
        let mut from = BufReader::with_capacity(size, text.as_bytes());
        let head = Head::receive(&mut from)?;
        let body = head.body(&mut from, 20)?;
        Ok((head, String::from_utf8(body).unwrap()))
    }

    #[test]
    fn answers_are_received_in_parts_of_any_size() {
        for size in [1, 2, 7, 1000] {
            for (text, status, body) in [
                ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{\n  }", 200, "{\n  }"),
                ("HTTP/1.0 404 \r\ncontent-length:0\r\n\r\n", 404, ""),
                ("HTTP/1.0 200 OK\ncontent-length:0\n\n", 200, ""),
                ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
                ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", 204, ""),
                (
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\nA;x=y\r\n0123456789\r\n1\r\n!\r\n0\r\nX: 1\r\n\r\n",
                    200,
                    "0123456789!",
                ),
            ] {
                let (head, received) = receive(text, size).unwrap();
                assert_eq!((head.status, received.as_str()), (status, body), "{text:?}");
            }
        }
        let (head, _) = receive("HTTP/1.1 204 No Content \r\nA: 1\r\na:  2 \r\n\r\n", 3).unwrap();
        assert_eq!(head.reason, "No Content");
        assert_eq!((head.value("a").as_deref(), head.value("b")), (Some("1, 2"), None));
    }

    #[test]
    fn what_is_no_complete_answer_is_refused() {
        for (rest, why) in [
            ("Content-Length: 5\r\n\r\n1234", "ended before"),
            ("Content-Length: 5\r\n", "ended before"),
            ("Content-Length: 21\r\n\r\n", "too long"),
            ("Content-Length: 99999999999999999999999\r\n\r\n", "not a number"),
            ("Content-Length:\r\n\r\n", "not a number"),
            ("Content-Length: +5\r\n\r\n12345", "does not state its length"),
            ("Content-Length: 5\r\nContent-Length: 5\r\n\r\n12345", "does not state its length"),
            (
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "does not state its length",
            ),
            ("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "does not state its length"),
            ("\r\n12345", "does not state its length"),
            ("Transfer-Encoding: chunked\r\n\r\n15\r\n", "too long"),
            ("Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "too long"),
            ("Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "no length"),
            ("Transfer-Encoding: chunked\r\n\r\n+1\r\n1\r\n", "no length"),
            ("Transfer-Encoding: chunked\r\n\r\n\r\n", "no length"),
            ("Transfer-Encoding: chunked\r\n\r\n1\r\n12\r\n", "longer than"),
            ("Name : 1\r\n\r\n", "valid name"),
            ("Name\r\n\r\n", "valid name"),
            ("A: 1\r\n B: 2\r\n\r\n", "valid name"),
        ] {
            let refused = receive(&format!("HTTP/1.1 200 OK\r\n{rest}"), 3).unwrap_err();
            assert!(refused.to_string().contains(why), "{rest:?}: {refused}");
        }
        for text in [
            "SSH-2.0\r\n",
            "HTTP/2 200 OK\r\n",
            "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 999 No\r\n\r\n",
            "HTTP/1.1\r\n\r\n",
            "HTTP/1.1 200 \x1b[2J\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert!(matches!(receive(text, 1000), Err(AnswerError::NotHttp)), "{text:?}");
        }
    }

    #[test]
    fn heads_are_limited_in_octets_and_fields() {
        let long = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(MAX_HEAD as usize));
        assert!(matches!(receive(&long, 1000), Err(AnswerError::HeadTooLong)));
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(MAX_HEAD as usize / 25 + 1);
        assert!(matches!(receive(&interim, 1000), Err(AnswerError::HeadTooLong)));
        let fields = |count| format!("HTTP/1.1 204 OK\r\n{}\r\n", "X: 1\r\n".repeat(count));
        assert!(receive(&fields(MAX_FIELDS), 1000).is_ok());
        assert!(matches!(receive(&fields(MAX_FIELDS + 1), 1000), Err(AnswerError::HeadTooLong)));
    }

    #[test]
    fn the_lines_between_chunks_are_limited_by_the_size_of_the_chunks() {
        let chunks = |size: usize, extension: &str| {
            let chunk = format!("{size:x}{extension}\r\n{}\r\n", "x".repeat(size));
            let text = format!("{}0\r\n\r\n", chunk.repeat((1 << 20) / size));
            let mut body = Vec::new();
            super::chunks(&mut text.as_bytes(), 1 << 20, &mut body).map(|()| body.len())
        };
        assert_eq!(chunks(8, "").unwrap(), 1 << 20);
        for extension in ["", ";x=12345"] {
            assert!(matches!(chunks(1, extension), Err(AnswerError::HeadTooLong)));
        }
    }
}
