//! Client of one HTTP gateway, over the transports of the ORB.

use std::io::{self, BufReader, ErrorKind, IoSlice, Read};
use std::time::{Duration, Instant};

use oxorb::settings::Options;
use oxorb::transport::tcp::{self, Tcp};
use oxorb::transport::{self, Address, Link, Transport};
use oxorb_http::{AnswerError, Head};

use super::options::HttpArgs;
use super::url::Url;
use oxorb_terminal::output::{Failed, because, warning};

/// Time for the gateway's answer to a call that takes too long, beyond the time limit of the call.
const GRACE: Duration = Duration::from_secs(1);

/// Maximum number of octets to read at once.
const PART: usize = 64 << 10;

/// Client of the gateway at one address. Each request has a connection of its own.
pub(super) struct Client {
    transport: Box<dyn Transport>,
    address: Address,
    /// Host and port as the URL has them.
    authority: String,
    token: Option<String>,
    max_answer: usize,
    /// End of the time for all requests.
    end: Instant,
}

/// Answer to a request.
pub(super) struct Reply {
    pub(super) status: u16,
    /// Text after the status.
    pub(super) reason: String,
    body: Vec<u8>,
}

/// Octets of an answer, as they arrive within the time of the client.
struct Incoming<'c> {
    link: &'c dyn Link,
    client: &'c Client,
    part: Vec<u8>,
}

impl Read for Incoming<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.link.set_read_timeout(Some(self.client.left(GRACE)?))?;
        self.part.clear();
        let count = self.link.read(&mut self.part, into.len())?;
        into[..count].copy_from_slice(&self.part[..count]);
        Ok(count)
    }
}

impl Reply {
    /// Returns the body as text.
    ///
    /// # Errors
    /// The body is not UTF-8.
    pub(super) fn text(&self) -> Result<&str, String> {
        std::str::from_utf8(&self.body).map_err(|_| "the answer is not UTF-8".to_owned())
    }
}

impl Client {
    /// Prepares connections to the gateway of a URL.
    ///
    /// # Errors
    /// The token or a certificate cannot be read; no authority is trusted; the ORB's settings require TLS.
    pub(super) fn new(
        url: &Url<'_>,
        options: &Options,
        args: &HttpArgs,
        timeout: Duration,
    ) -> Result<Client, Failed> {
        let transport: Box<dyn Transport> = match url.is_secure {
            true => tls(options)?,
            false if options.secure_only => {
                return Err(because(format!("{}: -ORBSecureOnly requires https:", url.text)));
            }
            false => Box::new(Tcp),
        };
        let token = args.token()?;
        if token.is_some() && !url.is_secure && !url.is_loopback() {
            warning(
                "the token can be read on the network, because http: is not encrypted; use https:",
            );
        }
        let place = tcp::address(url.host, url.port);
        Ok(Client {
            address: Address::new(transport.scheme(), place.place()),
            transport,
            authority: url.authority.to_owned(),
            token,
            max_answer: args.max_answer(),
            end: Instant::now() + timeout,
        })
    }

    /// Reports whether requests have a token.
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Sends a request, with a body of JSON if there is one, and returns the answer.
    ///
    /// # Errors
    /// The gateway cannot be reached, does not answer in time, or sends what is no answer of HTTP; the answer is too
    /// long.
    pub(super) fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Result<Reply, String> {
        let left = self.left(Duration::ZERO).map_err(told)?;
        let link = transport::connect(&*self.transport, &self.address, left);
        let link = link.map_err(|error| error.to_string())?;
        let head = self.head(method, path, body)?;
        let sent = self.send(&*link, &head, body.unwrap_or_default());
        let incoming = Incoming { link: &*link, client: self, part: Vec::new() };
        match (self.receive(incoming), sent) {
            (Ok(reply), _) => Ok(reply),
            // The gateway may answer a request that it has not received completely.
            (Err(_), Err(why)) | (Err(why), Ok(())) => Err(why),
        }
    }

    fn head(&self, method: &str, path: &str, body: Option<&str>) -> Result<String, String> {
        let seconds = self.left(Duration::ZERO).map_err(told)?.as_secs_f64();
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nUser-Agent: oxorb/{}\r\nAccept: \
             application/json, application/problem+json\r\nRequest-Timeout: {seconds:.3}\r\n",
            self.authority,
            env!("CARGO_PKG_VERSION"),
        );
        if let Some(token) = &self.token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        if let Some(body) = body {
            let length = body.len();
            head.push_str(&format!(
                "Content-Type: application/json\r\nContent-Length: {length}\r\n"
            ));
        }
        head.push_str("\r\n");
        Ok(head)
    }

    fn send(&self, link: &dyn Link, head: &str, body: &str) -> Result<(), String> {
        link.set_write_timeout(Some(self.left(Duration::ZERO).map_err(told)?)).map_err(told)?;
        let mut slices = [IoSlice::new(head.as_bytes()), IoSlice::new(body.as_bytes())];
        link.write(&mut slices).map_err(|failure| told(failure.error))
    }

    fn receive(&self, incoming: Incoming<'_>) -> Result<Reply, String> {
        let why = |error| match error {
            AnswerError::Read(error) => told(error),
            AnswerError::BodyTooLong => {
                format!("the answer has more than {} octets (--max-answer)", self.max_answer)
            }
            error => error.to_string(),
        };
        let mut from = BufReader::with_capacity(PART, incoming);
        let head = Head::receive(&mut from).map_err(why)?;
        let body = head.body(&mut from, self.max_answer as u64).map_err(why)?;
        Ok(Reply { status: head.status, reason: head.reason, body })
    }

    /// Returns the time that is left, and `more`.
    fn left(&self, more: Duration) -> io::Result<Duration> {
        let left = (self.end + more).saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(ErrorKind::TimedOut.into()),
            false => Ok(left),
        }
    }
}

fn told(error: io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            "no complete answer arrived within the time limit (--timeout)".to_owned()
        }
        _ => error.to_string(),
    }
}

#[cfg(feature = "tls")]
fn tls(options: &Options) -> Result<Box<dyn Transport>, Failed> {
    let tls = oxorb::tls::Tls::new();
    tls.prepare(&options.security)?;
    tls.ready().map_err(because)?;
    Ok(Box::new(tls))
}

#[cfg(not(feature = "tls"))]
fn tls(_: &Options) -> Result<Box<dyn Transport>, Failed> {
    Err(because(format!("https: {}", crate::without_tls::WITHOUT_TLS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_token_and_the_time_that_is_left() {
        let client = Client {
            transport: Box::new(Tcp),
            address: tcp::address("gateway.example", 80),
            authority: "gateway.example".to_owned(),
            token: Some("0123456789abcdef".to_owned()),
            max_answer: 0,
            end: Instant::now() + Duration::from_secs(3600),
        };
        let head = client.head("POST", "/objects/A/f", Some("[1]")).unwrap();
        assert!(
            head.starts_with("POST /objects/A/f HTTP/1.1\r\nHost: gateway.example\r\n"),
            "{head}"
        );
        assert!(head.contains("\r\nAuthorization: Bearer 0123456789abcdef\r\n"), "{head}");
        assert!(head.ends_with("\r\nContent-Length: 3\r\n\r\n"), "{head}");
        let time = head.lines().find_map(|line| line.strip_prefix("Request-Timeout: ")).unwrap();
        let seconds: f64 = time.parse().unwrap();
        assert!(seconds > 0.0 && seconds <= 3600.0, "{time}");
        let head = client.head("GET", "/objects/A", None).unwrap();
        assert!(!head.contains("Content-"), "{head}");
        let late = Client { end: Instant::now(), ..client };
        assert!(late.head("GET", "/objects/A", None).is_err());
    }
}
