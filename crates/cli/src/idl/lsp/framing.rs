//! Messages in a stream: each follows a header `Content-Length`. A malformed header does not end the stream.

use std::io::{self, BufRead, Write};

use serde_json::Value;

/// Maximum number of octets of a message. Real IDL stays below 1 MiB.
pub(super) const MAX_MESSAGE: u64 = 8 << 20;

/// Maximum number of octets of the headers of a message.
const MAX_HEADERS: u64 = 8 << 10;

/// Part of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Content of a message.
    Message(Vec<u8>),
    /// Reason why a part of the stream is no message.
    Malformed(String),
}

/// Iterator over the frames of a stream. Memory is allocated only for octets that have arrived.
pub(super) struct Frames<R> {
    input: R,
    /// Part of the stream to skip before the next frame.
    skip: Skip,
}

enum Skip {
    Nothing,
    Octets(u64),
    Line,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(input: R) -> Self {
        Frames { input, skip: Skip::Nothing }
    }

    /// Skips a rejected part; `None` if the stream ends in it.
    fn skip_rejected(&mut self) -> Option<()> {
        match std::mem::replace(&mut self.skip, Skip::Nothing) {
            Skip::Nothing => Some(()),
            Skip::Octets(octets) => {
                let mut part = io::Read::take(&mut self.input, octets);
                let skipped = io::copy(&mut part, &mut io::sink()).ok()?;
                (skipped == octets).then_some(())
            }
            Skip::Line => loop {
                let octets = self.input.fill_buf().ok()?;
                if octets.is_empty() {
                    return None;
                }
                let end = octets.iter().position(|octet| *octet == b'\n');
                let skipped = end.map_or(octets.len(), |end| end + 1);
                self.input.consume(skipped);
                if end.is_some() {
                    return Some(());
                }
            },
        }
    }

    /// Reads the headers of a message; returns the length of its content, or else the reason why there is no message.
    fn headers(&mut self) -> Option<Result<u64, String>> {
        let mut left = MAX_HEADERS;
        let (mut length, mut wrong) = (None, None);
        loop {
            let mut line = Vec::new();
            let read = io::Read::take(&mut self.input, left).read_until(b'\n', &mut line).ok()?;
            if !line.ends_with(b"\n") {
                if (read as u64) < left {
                    return None;
                }
                self.skip = Skip::Line;
                return Some(Err(format!(
                    "the headers of a message can have at most {MAX_HEADERS} octets"
                )));
            }
            let line = line.trim_ascii();
            if line.is_empty() && left == MAX_HEADERS {
                // Empty lines before the headers of a message are ignored.
                continue;
            }
            if line.is_empty() {
                let Some(why) = wrong else {
                    let missing = "a message must begin with the header Content-Length";
                    return Some(length.ok_or_else(|| missing.to_owned()));
                };
                self.skip = length.map_or(Skip::Nothing, Skip::Octets);
                return Some(Err(why));
            }
            left -= read as u64;
            match header(line) {
                Ok(None) => {}
                Ok(Some(_)) if length.is_some() => {
                    wrong =
                        Some("a message must have the header Content-Length only once".to_owned());
                }
                Ok(Some(found)) => length = Some(found),
                Err(why) => wrong = Some(why),
            }
        }
    }
}

impl<R: BufRead> Iterator for Frames<R> {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        self.skip_rejected()?;
        let length = match self.headers()? {
            Ok(length) => length,
            Err(why) => return Some(Frame::Malformed(why)),
        };
        if length > MAX_MESSAGE {
            self.skip = Skip::Octets(length);
            let why = format!(
                "a message can have at most {MAX_MESSAGE} octets, and this one has {length}"
            );
            return Some(Frame::Malformed(why));
        }
        let mut content = Vec::new();
        let mut part = io::Read::take(&mut self.input, length);
        let read = io::Read::read_to_end(&mut part, &mut content).ok()?;
        (read as u64 == length).then_some(Frame::Message(content))
    }
}

/// Returns the value of a header `Content-Length`; `None` for other headers.
fn header(line: &[u8]) -> Result<Option<u64>, String> {
    let text = String::from_utf8_lossy(line);
    let Some((name, value)) = text.split_once(':') else {
        return Err("a header must be a name and a value, separated by a colon".to_owned());
    };
    if !name.trim().eq_ignore_ascii_case("Content-Length") {
        return Ok(None);
    }
    let value = value.trim();
    let is_number = value.bytes().all(|digit| digit.is_ascii_digit());
    match value.parse() {
        Ok(length) if is_number => Ok(Some(length)),
        _ => Err("the value of the header Content-Length is not a number of octets".to_owned()),
    }
}

/// Writes a message and its header.
pub(super) fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let content = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{content}", content.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    fn frames(stream: &[u8]) -> Vec<Frame> {
        Frames::new(stream).collect()
    }

    fn message(content: &str) -> Frame {
        Frame::Message(content.into())
    }

    fn is_malformed(frame: &Frame, why: &str) -> bool {
        matches!(frame, Frame::Malformed(text) if text.contains(why))
    }

    #[test]
    fn messages_follow_their_headers() {
        let stream = b"Content-Length: 2\r\n\r\n{}\r\ncontent-length:3\nContent-Type: x; charset=utf-8\n\n[1]";
        assert_eq!(frames(stream), [message("{}"), message("[1]")]);
        assert_eq!(frames(b"Content-Length: 0\r\n\r\n"), [message("")]);
        let mut written = Vec::new();
        write(&mut written, &Value::from("\u{e9}")).unwrap();
        assert_eq!(written, "Content-Length: 4\r\n\r\n\"\u{e9}\"".as_bytes());
        assert_eq!(frames(&written), [message("\"\u{e9}\"")]);
    }

    #[test]
    fn a_message_may_arrive_octet_by_octet() {
        let stream = b"Content-Length: 5\r\n\r\nhelloContent-Length: 1\r\n\r\nx";
        let all: Vec<Frame> = Frames::new(BufReader::with_capacity(1, &stream[..])).collect();
        assert_eq!(all, [message("hello"), message("x")]);
    }

    #[test]
    fn malformed_headers_do_not_end_the_stream() {
        for (headers, why) in [
            ("nonsense\r\n\r\n", "colon"),
            ("X-Other: 1\r\n\r\n", "begin with"),
            ("Content-Length: -1\r\n\r\n", "not a number"),
            ("Content-Length: +1\r\n\r\n", "not a number"),
            ("Content-Length:\r\n\r\n", "not a number"),
            ("Content-Length: 99999999999999999999999999\r\n\r\n", "not a number"),
            ("Content-Length: 0x2\r\n\r\n", "not a number"),
            ("Content-Length: \u{661}\r\n\r\n", "not a number"),
            // The length is known, so that the content can be skipped.
            ("nonsense\r\nContent-Length: 3\r\n\r\nabc", "colon"),
            ("Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "once"),
        ] {
            let stream = format!("{headers}Content-Length: 2\r\n\r\n{{}}");
            let all = frames(stream.as_bytes());
            assert_eq!(all.len(), 2, "{headers:?}: {all:?}");
            assert!(is_malformed(&all[0], why), "{headers:?}: {:?}", all[0]);
            assert_eq!(all[1], message("{}"), "{headers:?}");
        }
    }

    #[test]
    fn long_headers_are_skipped_to_the_end_of_their_line() {
        let long = "x".repeat(3 * MAX_HEADERS as usize);
        let stream = format!("{long}\r\n\r\nContent-Length: 2\r\n\r\n{{}}");
        let all = frames(stream.as_bytes());
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(is_malformed(&all[0], "at most 8192 octets"), "{:?}", all[0]);
        assert_eq!(all[1], message("{}"));
        let endless = BufReader::new(io::repeat(b'x').take(1 << 20));
        assert_eq!(Frames::new(endless).count(), 1);
    }

    #[test]
    fn long_messages_are_refused_before_they_arrive() {
        let stream = format!("Content-Length: {}\r\n\r\n", u64::MAX);
        let mut all = Frames::new(stream.as_bytes());
        assert!(is_malformed(&all.next().unwrap(), "at most 8388608 octets"));
        assert_eq!(all.next(), None, "the content never arrives");
        let long = " ".repeat(MAX_MESSAGE as usize + 1);
        let stream =
            format!("Content-Length: {}\r\n\r\n{long}Content-Length: 2\r\n\r\n{{}}", long.len());
        let all = frames(stream.as_bytes());
        assert_eq!(all.len(), 2);
        assert!(is_malformed(&all[0], "and this one has 8388609"), "{:?}", all[0]);
        assert_eq!(all[1], message("{}"));
    }

    #[test]
    fn a_stream_may_end_anywhere() {
        let stream = b"Content-Length: 5\r\n\r\nhello";
        for end in 0..stream.len() {
            assert_eq!(frames(&stream[..end]), [], "{end}");
        }
    }
}
