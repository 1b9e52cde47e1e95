//! Clients that greet with unexpected descriptors, and that wake the server for nothing. Each test
//! runs in a process of its own, whose descriptors and threads are counted.

use std::fs;
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use oxorb_conformance::guard;
use oxorb_protocols::shm::{Shm, VERSION};
use oxorb_sys::poll;
use oxorb_sys::shared::Shared;
use oxorb_testkit::process::alone;
use oxorb_transport::{Acceptor, Link, Notation, Part, Start, Transport};
use rustix::fs::FallocateFlags;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sockopt};

const RING: u32 = 4096;

/// Maximum number of descriptors in one message (`SCM_MAX_FD`).
const MOST: usize = 253;

fn listen() -> Box<dyn Acceptor> {
    let text = "@|ring=4K&blocks=256K";
    let endpoint = &Shm.endpoints(Notation::Url, Part::new(text)).unwrap()[0];
    Shm.listen(endpoint).unwrap()
}

fn knock(acceptor: &dyn Acceptor) -> UnixStream {
    let address = Shm.own_address(acceptor.endpoint());
    let (_, name) = address.name().split_once('@').unwrap();
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap()
}

/// Returns the greeting of a client with blocks of this size.
fn greeting(blocks: u32) -> Vec<u8> {
    let mut octets = b"OxORBshm".to_vec();
    for number in [VERSION, RING, blocks] {
        octets.extend(u32::to_le_bytes(number));
    }
    octets
}

fn memory(blocks: u32) -> OwnedFd {
    Shared::create("oxorb-test", 2 * (RING + blocks) as usize).unwrap().1
}

fn send(to: &UnixStream, octets: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(descriptors)));
    let slices = [IoSlice::new(octets)];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::sendmsg(to, &slices, &mut ancillary, flags)?;
    Ok(())
}

/// Returns sockets whose closing blocks for a minute, unless their other ends are closed.
fn reluctant(count: usize) -> (Vec<TcpStream>, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let pair = |_| {
        let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (unread, _) = listener.accept().unwrap();
        sockopt::set_socket_linger(&socket, Some(Duration::from_secs(60))).unwrap();
        socket.set_nonblocking(true).unwrap();
        while socket.write(&[0; 64 << 10]).is_ok() {}
        socket.set_nonblocking(false).unwrap();
        (socket, unread)
    };
    (0..count).map(pair).unzip()
}

fn served(acceptor: &dyn Acceptor) {
    let address = Shm.own_address(acceptor.endpoint());
    let Start::Done(client) = Shm.start(&address).unwrap() else {
        panic!("nobody else waits there");
    };
    client.write(&mut [IoSlice::new(b"GIOP")]).unwrap();
    let server = acceptor.accept().unwrap();
    assert_eq!(server.read(&mut Vec::new(), 9).unwrap(), 4);
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Returns the number of threads that close rejected clients.
fn closing() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("oxorb-shm-refus")).count()
}

/// Each client greets with files whose closing blocks, in the greeting itself, after it, or in
/// place of rooms. The server's deadline is shorter than that.
#[test]
fn a_flood_of_descriptors_holds_nobody_up_and_leaves_nothing() {
    if !alone(a_flood_of_descriptors_holds_nobody_up_and_leaves_nothing) {
        return;
    }
    let _guard = guard();
    let acceptor = listen();
    served(&*acceptor);
    // A client with a plain greeting is accepted, so each client below is rejected only for what accompanies or follows
    // its greeting.
    drop(greeted(&*acceptor));
    let before = descriptors();
    let (sockets, unread) = reluctant(12);
    let plain = fs::File::open("/proc/self/exe").unwrap();
    let mut clients = Vec::new();
    for (number, socket) in sockets.into_iter().enumerate() {
        let client = knock(&*acceptor);
        let (socket, plain) = (socket.as_fd(), plain.as_fd());
        match number % 4 {
            0 => send(&client, &greeting(0), &[socket]).unwrap(),
            1 => {
                let mut all = vec![plain; MOST];
                all[MOST - 1] = socket;
                send(&client, &greeting(0), &all).unwrap();
            }
            2 => send(&client, &greeting(0), &[memory(0).as_fd(), socket]).unwrap(),
            _ => {
                // Everything is valid except what follows the greeting.
                send(&client, &greeting(0), &[memory(0).as_fd()]).unwrap();
                let mut all = vec![plain; MOST];
                all[0] = socket;
                for _ in 0..20 {
                    send(&client, b"x", &all).unwrap();
                }
            }
        }
        clients.push(client);
    }
    drop(plain);
    let held = descriptors();
    for _ in 0..10 {
        served(&*acceptor);
    }
    // The server has only its ends of the rejected connections, which wait to be closed, and no descriptors received
    // over them.
    assert!(descriptors() <= held + clients.len());
    while closing() == 0 {
        thread::yield_now();
    }
    assert_eq!(closing(), 1, "it waits for the first of them");
    drop((unread, clients));
    while descriptors() > before || closing() > 0 {
        thread::yield_now();
    }
}

/// Silent clients have sent files since the last check when the acceptor is closed or dropped.
#[test]
fn an_acceptor_ends_without_a_wait_for_what_silent_clients_sent() {
    if !alone(an_acceptor_ends_without_a_wait_for_what_silent_clients_sent) {
        return;
    }
    let _guard = guard();
    for closes in [true, false] {
        let before = descriptors();
        let acceptor = listen();
        let (sockets, unread) = reluctant(3);
        let clients: Vec<_> = sockets.iter().map(|_| knock(&*acceptor)).collect();
        // The silent clients connected before the one that is served here, so the acceptor has them in its queue.
        served(&*acceptor);
        for (client, socket) in clients.iter().zip(sockets) {
            send(client, b"OxORB", &[socket.as_fd()]).unwrap();
        }
        if closes {
            acceptor.close();
            let over = acceptor.accept().err().map(|error| error.kind());
            assert_eq!(over, Some(io::ErrorKind::NotConnected));
        }
        drop(acceptor);
        // Another thread closes the first of the files, and waits until its other end is read or closed.
        while closing() == 0 {
            thread::yield_now();
        }
        drop((unread, clients));
        while descriptors() > before || closing() > 0 {
            thread::yield_now();
        }
    }
}

/// Runs only on systems with SO_PASSRIGHTS (Linux 6.16).
#[test]
fn a_client_that_has_greeted_can_send_no_more_descriptors() {
    if !alone(a_client_that_has_greeted_can_send_no_more_descriptors) {
        return;
    }
    let _guard = guard();
    let acceptor = listen();
    let (client, server) = greeted(&*acceptor);
    if !oxorb_sys::unix::refuse_descriptors(&client) {
        return eprintln!("this system has no SO_PASSRIGHTS");
    }
    let refused = send(&client, b"x", &[client.as_fd()]).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    drop(server);
}

/// Returns a client whose socket this test holds, and the server's end.
fn greeted(acceptor: &dyn Acceptor) -> (UnixStream, Box<dyn Link>) {
    let client = knock(acceptor);
    send(&client, &greeting(0), &[memory(0).as_fd()]).unwrap();
    (client, acceptor.accept().unwrap())
}

/// The client sends octets over the socket, also out of band, and writes none into the memory.
#[test]
fn a_client_that_wakes_its_server_for_nothing_is_closed_and_told_apart() {
    if !alone(a_client_that_wakes_its_server_for_nothing_is_closed_and_told_apart) {
        return;
    }
    let _guard = guard();
    for flags in [SendFlags::OOB, SendFlags::empty()] {
        let flags = flags | SendFlags::NOSIGNAL;
        let acceptor = listen();
        let why = |error: io::Error| {
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
            assert!(error.to_string().contains("woke this end 1000 times"));
        };
        // First, a thread of the server reads.
        let (client, server) = greeted(&*acceptor);
        thread::scope(|scope| {
            scope.spawn(|| why(server.read(&mut Vec::new(), 9).unwrap_err()));
            while rustix::net::send(&client, b"x", flags).is_ok() {}
        });
        why(server.read_now(&mut Vec::new(), 9).unwrap_err());

        // Then, a thread of the server waits at the descriptor, as one that waits for many connections does.
        let (client, server) = greeted(&*acceptor);
        let descriptor = server.poll_fd().unwrap();
        let mut woken = 0;
        let error = loop {
            let _ = rustix::net::send(&client, b"x", flags);
            assert!(poll::readable(descriptor, None).unwrap());
            woken += 1;
            match server.read_now(&mut Vec::new(), 9) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => break other.unwrap_err(),
            }
        };
        why(error);
        assert!((1000..=1010).contains(&woken), "{woken}");
    }
}

/// A client repeatedly removes the pages of its memory while the server writes there and reads: the
/// pages are empty then, and the server neither dies nor delays others.
#[test]
fn a_client_that_takes_its_pages_away_harms_nobody_else() {
    if !alone(a_client_that_takes_its_pages_away_harms_nobody_else) {
        return;
    }
    let _guard = guard();
    const BLOCKS: u32 = 256 << 10;
    let acceptor = listen();
    let memory = memory(BLOCKS);
    let client = knock(&*acceptor);
    send(&client, &greeting(BLOCKS), &[memory.as_fd()]).unwrap();
    let robbed = acceptor.accept().unwrap();
    robbed.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    robbed.set_write_timeout(Some(Duration::from_millis(1))).unwrap();
    let address = Shm.own_address(acceptor.endpoint());
    let Start::Done(honest) = Shm.start(&address).unwrap() else {
        panic!("nobody else waits there");
    };
    let server = acceptor.accept().unwrap();
    let octets = 4096 + 2 * u64::from(RING + BLOCKS);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let robs = scope.spawn(|| {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let mut robbed = 0;
            while !over.load(Ordering::Relaxed) {
                rustix::fs::fallocate(&memory, flags, 0, octets).unwrap();
                robbed += 1;
            }
            robbed
        });
        let (payload, mut written) = (vec![7; 100_000], 0);
        for _ in 0..200 {
            // Any result is valid: the announced octets are gone, or never existed.
            let _ = robbed.read(&mut Vec::new(), 9);
            let mut buffer = Vec::new();
            for slice in [&payload[..], &payload[..100]] {
                written += usize::from(robbed.write(&mut [IoSlice::new(slice)]).is_ok());
            }
            honest.write(&mut [IoSlice::new(&payload[..50_000])]).unwrap();
            while buffer.len() < 50_000 {
                let left = 50_000 - buffer.len();
                assert_ne!(server.read(&mut buffer, left).unwrap(), 0);
            }
            assert!(buffer.iter().all(|octet| *octet == 7));
        }
        over.store(true, Ordering::Relaxed);
        let robbed = robs.join().unwrap();
        println!("{robbed} times robbed, {written} messages written meanwhile");
        assert!(robbed > 0);
    });
}
