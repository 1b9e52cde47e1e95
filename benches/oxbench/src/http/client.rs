//! Load client of HTTP/1.1: several connections that stay open, each in a thread with one request at a time.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::session;

/// Argument and result of each call.
const VALUE: i64 = 1_234_567;

/// Largest answer that is read.
const MOST: usize = 1 << 20;

/// Sends requests to a gateway as requested on standard input:
///
/// ```text
/// < ready
/// > prepare 8                  number of simultaneous connections; each makes one request
/// < done
/// > run 20000                  number of requests, a multiple of the number of connections
/// < 250417310                  nanoseconds of all
/// > samples
/// < 254120 253900 ...          nanoseconds of each
/// ```
pub(crate) fn call(address: &str) -> Result {
    let mut connections: Vec<Connection> = Vec::new();
    let mut samples: Vec<u64> = Vec::new();
    session::answer("ready", |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["prepare", number] => {
                connections.clear();
                for _ in 0..number.parse::<u32>()? {
                    let mut connection = Connection::open(address)?;
                    connection.exchange()?;
                    connections.push(connection);
                }
                Ok("done".to_owned())
            }
            ["run", requests] => {
                let (elapsed, times) = measure(&mut connections, requests.parse()?)?;
                samples = times;
                Ok(elapsed.as_nanos().to_string())
            }
            ["samples"] => {
                let all: Vec<String> = samples.iter().map(u64::to_string).collect();
                Ok(all.join(" "))
            }
            _ => {
                let known = "prepare CONNECTIONS, run REQUESTS and samples";
                Err(session::no_command(line, known).into())
            }
        }
    })
}

/// Makes requests over all connections simultaneously. Returns the time of all of them, and the nanoseconds of each.
fn measure(connections: &mut [Connection], requests: usize) -> Result<(Duration, Vec<u64>)> {
    let each = requests / connections.len().max(1);
    let began = Instant::now();
    let times = thread::scope(|scope| -> Result<Vec<u64>> {
        let threads: Vec<_> = connections
            .iter_mut()
            .map(|connection| scope.spawn(move || connection.repeat(each)))
            .collect();
        let mut times = Vec::with_capacity(requests);
        for one in threads {
            times.extend(one.join().expect("clients do not panic")?);
        }
        Ok(times)
    })?;
    Ok((began.elapsed(), times))
}

/// Connection that stays open.
struct Connection {
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
    line: String,
    body: Vec<u8>,
}

impl Connection {
    fn open(address: &str) -> Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let body = format!("{{\"value\": {VALUE}}}");
        let request = format!(
            "POST /objects/Probe/ping HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(Connection {
            stream: BufReader::new(stream),
            request: request.into_bytes(),
            line: String::new(),
            body: Vec::new(),
        })
    }

    /// Makes requests one after the other, and returns the nanoseconds of each.
    fn repeat(&mut self, requests: usize) -> Result<Vec<u64>> {
        let mut times = Vec::with_capacity(requests);
        for _ in 0..requests {
            let began = Instant::now();
            self.exchange()?;
            times.push(began.elapsed().as_nanos() as u64);
        }
        Ok(times)
    }

    /// Makes a request, and checks the answer.
    fn exchange(&mut self) -> Result {
        self.stream.get_mut().write_all(&self.request)?;
        self.read_line()?;
        if self.line.split(' ').nth(1) != Some("200") {
            return Err(format!("the gateway answered {:?}", self.line.trim_end()).into());
        }
        let mut length = None;
        loop {
            self.read_line()?;
            let Some((name, value)) = self.line.split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.trim().parse::<usize>()?);
            }
        }
        let length = length.filter(|length| *length <= MOST).ok_or("an answer without length")?;
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)?;
        let value = std::str::from_utf8(&self.body)?.trim();
        if value.parse() != Ok(VALUE) {
            return Err(format!("sent {VALUE}, {value} came back").into());
        }
        Ok(())
    }

    fn read_line(&mut self) -> Result {
        self.line.clear();
        match self.stream.read_line(&mut self.line)? {
            0 => Err("the gateway has closed the connection".into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers `count` requests of one connection with this body, and closes the connection.
    fn server(count: usize, body: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut stream = BufReader::new(stream);
            for _ in 0..count {
                let mut line = String::new();
                while line != "\r\n" {
                    line.clear();
                    stream.read_line(&mut line).unwrap();
                }
                let mut received = vec![0; format!("{{\"value\": {VALUE}}}").len()];
                stream.read_exact(&mut received).unwrap();
                let head = "HTTP/1.1 200 OK\r\ncontent-length:";
                let answer = format!("{head} {}\r\nx: y\r\n\r\n{body}", body.len());
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    #[test]
    fn answers_are_read_one_after_the_other_and_checked() {
        let mut connection = [Connection::open(&server(5, "1234567")).unwrap()];
        let (_, times) = measure(&mut connection, 5).unwrap();
        assert_eq!(times.len(), 5);
        assert!(connection[0].exchange().is_err(), "the connection is closed");
        let mut connection = Connection::open(&server(1, "7")).unwrap();
        let error = connection.exchange().unwrap_err().to_string();
        assert_eq!(error, "sent 1234567, 7 came back");
    }
}
