//! Answers of HTTP/1.1 (RFC 9112), as they arrive.

/// Maximum number of octets of a head, and of the fields after a body.
const MAX_HEAD: usize = 64 << 10;

/// Maximum number of octets of the line before a chunk of a body.
const MAX_LINE: usize = 1 << 10;

/// Octets as they arrive. `R` appends some to those that have arrived, and returns their number, which is 0 at the end.
pub(super) struct Input<R> {
    read: R,
    octets: Vec<u8>,
    /// Number of octets that were taken.
    taken: usize,
}

/// Answer to a request.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// Text after the status.
    pub(super) reason: String,
    body: Vec<u8>,
}

/// Status and fields of an answer.
struct Head {
    status: u16,
    reason: String,
    fields: Vec<(String, String)>,
}

/// Length of a body.
#[derive(PartialEq, Eq, Debug)]
enum Length {
    Octets(usize),
    Chunks,
}

impl<R: FnMut(&mut Vec<u8>) -> Result<usize, String>> Input<R> {
    pub(super) fn new(read: R) -> Self {
        Input { read, octets: Vec::new(), taken: 0 }
    }

    /// Waits for more octets.
    fn fill(&mut self) -> Result<(), String> {
        self.octets.drain(..self.taken);
        self.taken = 0;
        match (self.read)(&mut self.octets)? {
            0 => Err("the connection ended before the answer was complete".to_owned()),
            _ => Ok(()),
        }
    }

    /// Takes a line, and returns it without its end. Subtracts its length from `left`.
    fn line(&mut self, left: &mut usize) -> Result<String, String> {
        let mut line = Vec::new();
        loop {
            let rest = &self.octets[self.taken..];
            let end = rest.iter().position(|octet| *octet == b'\n');
            let count = end.map_or(rest.len(), |end| end + 1);
            *left = left.checked_sub(count).ok_or("the header of the answer is too long")?;
            line.extend_from_slice(&rest[..count]);
            self.taken += count;
            if end.is_some() {
                let text = String::from_utf8_lossy(&line);
                return Ok(text.trim_end_matches(['\r', '\n']).to_owned());
            }
            self.fill()?;
        }
    }

    /// Appends this number of octets to a body.
    fn take(&mut self, mut count: usize, body: &mut Vec<u8>) -> Result<(), String> {
        loop {
            let rest = &self.octets[self.taken..];
            let part = rest.len().min(count);
            body.extend_from_slice(&rest[..part]);
            self.taken += part;
            count -= part;
            if count == 0 {
                return Ok(());
            }
            self.fill()?;
        }
    }

    fn short_line(&mut self) -> Result<String, String> {
        let mut left = MAX_LINE;
        self.line(&mut left)
    }

    fn chunks(&mut self, most: usize) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        loop {
            let line = self.short_line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let is_hex = digits.bytes().all(|octet| octet.is_ascii_hexdigit());
            let size = usize::from_str_radix(digits, 16).ok().filter(|_| is_hex);
            let size = size.ok_or("the answer has a chunk without a length")?;
            if size == 0 {
                let mut left = MAX_HEAD;
                while !self.line(&mut left)?.is_empty() {}
                return Ok(body);
            }
            if size > most - body.len() {
                return Err(too_long(most));
            }
            self.take(size, &mut body)?;
            if !self.short_line()?.is_empty() {
                return Err("a chunk of the answer is longer than its length".to_owned());
            }
        }
    }
}

impl Reply {
    /// Receives an answer whose body has at most `most` octets.
    ///
    /// # Errors
    /// Errors of `input`; what arrives is no answer; the body is too long, or its length is not known.
    pub(super) fn receive<R>(input: &mut Input<R>, most: usize) -> Result<Reply, String>
    where
        R: FnMut(&mut Vec<u8>) -> Result<usize, String>,
    {
        let mut left = MAX_HEAD;
        let mut head = Head::receive(input, &mut left)?;
        // Interim answers precede the final one.
        while head.status < 200 {
            head = Head::receive(input, &mut left)?;
        }
        let body = match head.length()? {
            Length::Octets(count) if count > most => return Err(too_long(most)),
            Length::Octets(count) => {
                let mut body = Vec::new();
                input.take(count, &mut body)?;
                body
            }
            Length::Chunks => input.chunks(most)?,
        };
        Ok(Reply { status: head.status, reason: head.reason, body })
    }

    /// Returns the body as text.
    ///
    /// # Errors
    /// The body is not UTF-8.
    pub(super) fn text(&self) -> Result<&str, String> {
        std::str::from_utf8(&self.body).map_err(|_| "the answer is not UTF-8".to_owned())
    }
}

impl Head {
    fn receive<R>(input: &mut Input<R>, left: &mut usize) -> Result<Head, String>
    where
        R: FnMut(&mut Vec<u8>) -> Result<usize, String>,
    {
        let line = input.line(left)?;
        let (status, reason) = status(&line).ok_or("this is not the answer of an HTTP server")?;
        let mut head = Head { status, reason: reason.to_owned(), fields: Vec::new() };
        loop {
            let line = input.line(left)?;
            if line.is_empty() {
                return Ok(head);
            }
            let (name, value) =
                line.split_once(':').ok_or("the answer has a field without a name")?;
            if name.is_empty() || name.contains(char::is_whitespace) {
                return Err("the answer has a field without a valid name".to_owned());
            }
            head.fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    fn values(&self, name: &str) -> Vec<&str> {
        let of_name = self.fields.iter().filter(|(field, _)| field == name);
        of_name.map(|(_, value)| value.as_str()).collect()
    }

    /// Returns the length of the body. An answer that ends with its connection is refused, because nothing shows
    /// whether it is complete.
    fn length(&self) -> Result<Length, String> {
        if matches!(self.status, 204 | 304) {
            return Ok(Length::Octets(0));
        }
        match (&self.values("transfer-encoding")[..], &self.values("content-length")[..]) {
            ([coding], []) if coding.eq_ignore_ascii_case("chunked") => Ok(Length::Chunks),
            ([], [digits]) if digits.bytes().all(|octet| octet.is_ascii_digit()) => {
                let count = digits
                    .parse::<usize>()
                    .map_err(|_| "the length of the answer is not a number")?;
                Ok(Length::Octets(count))
            }
            _ => Err("the answer does not state its length".to_owned()),
        }
    }
}

/// Returns the status of a status line, and the text after it.
fn status(line: &str) -> Option<(u16, &str)> {
    let (digits, reason) =
        line.strip_prefix("HTTP/1.")?.get(1..)?.strip_prefix(' ')?.split_at_checked(3)?;
    let status = digits.parse::<u16>().ok().filter(|status| (100..600).contains(status))?;
    Some((status, reason.trim()))
}

fn too_long(most: usize) -> String {
    format!("the answer has more than {most} octets (--max-answer)")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receives octets in parts of a size.
    fn receive(text: &str, size: usize) -> Result<Reply, String> {
        let mut parts = text.as_bytes().chunks(size);
        let read = |octets: &mut Vec<u8>| {
            let part = parts.next().unwrap_or_default();
            octets.extend_from_slice(part);
            Ok(part.len())
        };
        Reply::receive(&mut Input::new(read), 20)
    }

    #[test]
    fn answers_are_received_in_parts_of_any_size() {
        for size in [1, 2, 7, 1000] {
            for (text, status, body) in [
                ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{\n  }", 200, "{\n  }"),
                ("HTTP/1.0 404 \r\ncontent-length:0\r\n\r\n", 404, ""),
                ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
                ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", 204, ""),
                (
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA;x=y\r\n0123456789\r\n1\r\n!\r\n0\r\nX: 1\r\n\r\n",
                    200,
                    "0123456789!",
                ),
            ] {
                let reply = receive(text, size).unwrap();
                assert_eq!((reply.status, reply.text()), (status, Ok(body)), "{text:?}");
            }
        }
    }

    #[test]
    fn what_is_no_complete_answer_is_refused() {
        let head = "HTTP/1.1 200 OK\r\n";
        for (rest, why) in [
            ("Content-Length: 5\r\n\r\n1234", "ended before"),
            ("Content-Length: 5\r\n", "ended before"),
            ("Content-Length: 21\r\n\r\n", "more than 20"),
            ("Content-Length: 99999999999999999999999\r\n\r\n", "not a number"),
            ("Content-Length: +5\r\n\r\n12345", "does not state its length"),
            ("Content-Length: 5\r\nContent-Length: 5\r\n\r\n12345", "does not state its length"),
            (
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "does not state its length",
            ),
            ("\r\n12345", "does not state its length"),
            ("Transfer-Encoding: chunked\r\n\r\n15\r\n", "more than 20"),
            ("Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "without a length"),
            ("Transfer-Encoding: chunked\r\n\r\n+1\r\n1\r\n", "without a length"),
            ("Transfer-Encoding: chunked\r\n\r\n1\r\n12\r\n", "longer than"),
            ("Name : 1\r\n\r\n", "valid name"),
            ("Name\r\n\r\n", "without a name"),
        ] {
            let refused = receive(&format!("{head}{rest}"), 3).unwrap_err();
            assert!(refused.contains(why), "{rest:?}: {refused}");
        }
        let endless = format!("{head}X: {}", "x".repeat(MAX_HEAD));
        assert!(receive(&endless, 1000).unwrap_err().contains("too long"));
        for text in
            ["SSH-2.0\r\n", "HTTP/2 200 OK\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 999 No\r\n"]
        {
            assert!(receive(text, 1000).unwrap_err().contains("not the answer of"), "{text:?}");
        }
    }
}
