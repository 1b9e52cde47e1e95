//! Client of HTTP/1.1 that writes what it is given.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use oxorb_testkit::net::connect_from;
use oxorb_testkit::patience::is_over;
use serde_json::Value;

use super::LIMIT;

/// Answer of the gateway.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Reply {
    /// Splits the octets of one answer.
    #[track_caller]
    pub(super) fn parse(text: &str) -> Reply {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Reply {
            status: status.unwrap_or_else(|| panic!("{head:?}")),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Returns the value of a field of the head.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the problem details of an answer that must have this status.
    #[track_caller]
    pub(super) fn problem(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.field("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], status, "{self:?}");
        problem
    }
}

pub(super) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the gateway listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a time limit");
    stream
}

/// Sends octets, and returns all that arrives until the gateway closes the connection. A connection that is reset after
/// the answer counts as closed.
#[track_caller]
pub(super) fn exchange(address: &str, octets: &[u8]) -> String {
    exchange_on(connect(address), octets)
}

fn exchange_on(mut stream: TcpStream, octets: &[u8]) -> String {
    // The gateway may refuse a request before it has received all of it.
    let _ = stream.write_all(octets);
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}: {:?}", String::from_utf8_lossy(&answer)),
        }
    }
    String::from_utf8(answer).expect("UTF-8")
}

/// Sends one request. `fields` are further lines of the head.
#[track_caller]
pub(super) fn ask(address: &str, method: &str, path: &str, fields: &str, body: &str) -> Reply {
    let request = request(address, method, path, fields, body);
    Reply::parse(&exchange(address, request.as_bytes()))
}

/// Sends one request like [`ask`] from another address of this host.
#[track_caller]
pub(super) fn ask_as_other(
    address: &str,
    method: &str,
    path: &str,
    fields: &str,
    body: &str,
) -> Reply {
    let to = address.parse().expect("an address and a port");
    let stream = connect_from([127, 0, 0, 2].into(), to).expect("the gateway listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a time limit");
    let request = request(address, method, path, fields, body);
    Reply::parse(&exchange_on(stream, request.as_bytes()))
}

fn request(address: &str, method: &str, path: &str, fields: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{fields}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Asks again and again until there is an answer.
#[track_caller]
pub(super) fn until<T>(what: &str, mut asked: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = asked() {
            return answer;
        }
        assert!(!is_over(begin, LIMIT), "not so until the limit: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
