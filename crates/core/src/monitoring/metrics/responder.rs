//! Thread that answers `GET /metrics`.
//!
//! All exchanges advance in steps that wait for no client, so that a slow one delays no other. Their number is limited:
//! a further client replaces one that was answered, or else the oldest one. Each exchange is limited in time and
//! octets, and all together in the number of pages per second. The thread has the lowest priority of the ORB's class.

use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::poll::Signal;
use oxorb_sys::socket::{self, Shutdown};
use oxorb_sys::thread::ThreadPurpose;

use super::http::HttpExchange;
use crate::threads::lock::Mutex;
use crate::threads::sync::{attributed::Thread, thread};
use crate::threads::{Threads, clock};

/// Maximum number of exchanges at a time.
const MAX_EXCHANGES: usize = 8;

/// Longest time of an exchange.
const LONGEST: Duration = Duration::from_secs(5);

/// Pause after each page, so that clients that ask again and again leave processor time to other threads.
const PAGE_PAUSE: Duration = Duration::from_millis(10);

/// Pause after the system has refused a descriptor or memory.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

/// Running responder. Dropping it ends its thread without waiting for it.
pub(crate) struct Responder {
    address: SocketAddr,
    listener: Arc<TcpListener>,
    stop: Arc<Signal>,
    thread: Mutex<Option<Thread<()>>>,
}

impl Responder {
    /// Listens at an address.
    ///
    /// # Errors
    /// The system refuses the address.
    pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Starts the thread. `page` returns the page of metrics, or `None` if there is none, for example because the ORB
    /// is gone.
    ///
    /// # Errors
    /// The system provides no descriptor or no thread.
    pub(crate) fn start(
        listener: TcpListener,
        threads: &Threads,
        page: impl Fn() -> Option<String> + Send + 'static,
    ) -> io::Result<Responder> {
        Responder::start_with(listener, threads, LONGEST, page)
    }

    /// Starts the thread, as [`start`](Self::start) does, with another limit on the time of an exchange.
    fn start_with(
        listener: TcpListener,
        threads: &Threads,
        longest: Duration,
        page: impl Fn() -> Option<String> + Send + 'static,
    ) -> io::Result<Responder> {
        let address = listener.local_addr()?;
        let (listener, stop) = (Arc::new(listener), Arc::new(Signal::new()?));
        let (listens, stopped) = (Arc::clone(&listener), Arc::clone(&stop));
        let work = move || serve(&listens, &stopped, longest, &page);
        let thread = threads.spawn(ThreadPurpose::Metrics, "oxorb-metrics", None, work)?;
        Ok(Responder { address, listener, stop, thread: Mutex::new(Some(thread)) })
    }

    /// Returns the address at which the responder listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the responder's port, and tells its thread to close all connections and to end. Does not wait for the
    /// thread, which has the lowest priority.
    pub(crate) fn close(&self) {
        self.stop.raise();
        // Linux ends the state LISTEN at once: further clients are refused, and another socket may have the port.
        let _ = socket::shutdown(&*self.listener, Shutdown::Both);
    }

    /// Waits until the thread has ended, after [`close`](Self::close).
    pub(crate) fn join(&self) {
        // The lock is held meanwhile, so that a second caller waits as well.
        let mut thread = self.thread.lock();
        if let Some(thread) = thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.close();
    }
}

/// Answers requests until the signal is raised.
fn serve(
    listener: &TcpListener,
    stop: &Signal,
    longest: Duration,
    page: &dyn Fn() -> Option<String>,
) {
    let next = Cell::new(clock::now());
    let paced = || {
        thread::sleep(next.get().saturating_duration_since(clock::now()));
        let made = page();
        next.set(clock::now() + PAGE_PAUSE);
        made
    };
    let page: &dyn Fn() -> Option<String> = &paced;
    let mut exchanges: Vec<HttpExchange> = Vec::with_capacity(MAX_EXCHANGES);
    loop {
        let now = clock::now();
        exchanges.retain(|one| one.until > now);
        let next = exchanges.iter().map(|one| one.until.duration_since(now)).min();
        let own = [(stop.as_fd(), true), (listener.as_fd(), true)];
        let all = own.into_iter().chain(exchanges.iter().map(HttpExchange::needs));
        let ready = match socket::all_ready(all, next.unwrap_or(Duration::MAX)) {
            Ok(Some(ready)) => ready,
            Ok(None) => continue,
            Err(_) => {
                thread::sleep(SHORTAGE_PAUSE);
                continue;
            }
        };
        let (own, clients) = ready.split_at(own.len());
        if own[0] {
            return;
        }
        let mut clients = clients.iter();
        exchanges.retain_mut(|one| !clients.next().is_some_and(|ready| *ready) || one.go_on(page));
        if own[1] {
            accept(listener, longest, &mut exchanges, page);
        }
    }
}

/// Accepts a client, if one waits, and begins its exchange.
fn accept(
    listener: &TcpListener,
    longest: Duration,
    exchanges: &mut Vec<HttpExchange>,
    page: &dyn Fn() -> Option<String>,
) {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    let stream = match listener.accept().map_err(|error| error.kind()) {
        Ok((stream, _)) => stream,
        Err(ConnectionAborted | Interrupted | WouldBlock) => return,
        Err(_) => {
            // The ORB's own acceptors may need the descriptor.
            end_one(exchanges);
            return thread::sleep(SHORTAGE_PAUSE);
        }
    };
    let mut new = HttpExchange::new(stream, clock::now() + longest);
    if !new.go_on(page) {
        return;
    }
    if exchanges.len() >= MAX_EXCHANGES {
        end_one(exchanges);
    }
    exchanges.push(new);
}

/// Ends an exchange that was answered, or else the oldest one.
fn end_one(exchanges: &mut Vec<HttpExchange>) {
    if !exchanges.is_empty() {
        let answered = exchanges.iter().position(HttpExchange::is_answered);
        exchanges.remove(answered.unwrap_or(0));
    }
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use oxorb_testkit::watchdog;

    use super::*;
    use crate::threads::rt::{RealTime, Scheduling};

    /// Time after which a test has failed.
    const LIMIT: Duration = Duration::from_secs(60);

    fn start_at(port: u16, longest: Duration) -> Responder {
        let threads = Threads::new(&Arc::new(Scheduling::new(&RealTime::default())));
        let listener = Responder::listen(([127, 0, 0, 1], port).into()).unwrap();
        Responder::start_with(listener, &threads, longest, || Some("# EOF\n".to_owned())).unwrap()
    }

    fn start() -> Responder {
        start_at(0, LONGEST)
    }

    fn end(responder: &Responder) {
        responder.close();
        responder.join();
    }

    fn get(responder: &Responder) -> String {
        let mut stream = TcpStream::connect(responder.address()).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn clients_that_send_nothing_do_not_keep_others_from_the_page() {
        let responder = start();
        let idle: Vec<TcpStream> = (0..5 * MAX_EXCHANGES)
            .map(|_| TcpStream::connect(responder.address()).unwrap())
            .collect();
        assert!(get(&responder).ends_with("# EOF\n"));
        drop(idle);
        end(&responder);
    }

    #[test]
    fn an_exchange_ends_after_its_time() {
        let _guard = watchdog(LIMIT);
        let responder = start_at(0, Duration::from_millis(50));
        let mut half = TcpStream::connect(responder.address()).unwrap();
        // On a loaded machine the time may be over before the octets arrive, and the connection is reset then.
        let _ = half.write_all(b"GET /met");
        let mut answer = Vec::new();
        let _ = half.read_to_end(&mut answer);
        assert!(answer.is_empty());
        end(&responder);
    }

    #[test]
    fn its_port_is_free_once_it_is_closed() {
        let _guard = watchdog(LIMIT);
        let responder = start_at(oxorb_testkit::net::free_port(), LONGEST);
        let address = responder.address();
        let mut half = TcpStream::connect(address).unwrap();
        half.write_all(b"GET /met").unwrap();
        assert!(get(&responder).starts_with("HTTP/1.1 200 OK\r\n"));
        responder.close();
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        drop(Responder::listen(address).unwrap());
        end(&responder);
        end(&responder);
    }
}
