//! Raw exchange through shared memory: the floor for an ORB there.
//!
//! A word for each direction counts the messages written. A side copies octets in, increments its own word, and spins
//! or sleeps until the other side's word changes; then it copies octets out. It has no ring, no limits, and no
//! detection of dead peers.

use std::cell::Cell;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use oxorb_sys::shared::{self, Shared};
use oxorb_sys::{futex, poll, unix};

use super::cube::{Cube, Operation};
use crate::Result;
use crate::session::{self, Caller, Clock};

/// Kind of waiting of a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Wait {
    /// Spin on the word
    Spin,
    /// Sleep until woken
    Futex,
}

/// Way of passing the octets of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Way {
    /// Copy all octets in, and then all of them out
    Whole,
    /// Copy octets out while the rest is copied in
    Pieces,
    /// Copy the head of a message; write and read the first and last octets of the payload in place
    Placed,
}

/// Size in octets of a piece.
const PIECE: usize = 32 << 10;

/// Size in octets of a direction's area: that of the largest message.
const AREA: usize = 17 << 20;

/// Words of the header: numbers of messages written to the server and to the client, and their lengths.
const WRITTEN: [usize; 2] = [0, 32];
const LENGTHS: [usize; 2] = [64, 65];
/// Word with the octets of a payload after the head of a message, and the payload's offset.
const PAYLOAD: usize = 66;
const PLACE: usize = 4096;
/// Words with the total octets of pieces written to each side.
const SHOWN: [usize; 2] = [96, 128];

const TO_SERVER: usize = 0;
const TO_CLIENT: usize = 1;

/// Answers exchanges of clients that connect at a path, until standard input closes.
pub(crate) fn serve(path: &str, wait: Wait, way: Way) -> Result {
    let listener = UnixListener::bind(path)?;
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            std::thread::spawn(move || -> Result {
                let socket = OwnedFd::from(socket?);
                // Waits for the descriptors, because the client may not have run since it connected.
                poll::readable(&socket, None)?;
                let (_, [descriptor, _]) = unix::receive_descriptors(socket, &mut [0; 8])?;
                let memory = Shared::open(descriptor.ok_or("no memory came")?, 2 * AREA)?;
                Side::new(memory, wait, way).answer();
            });
        }
        std::io::Result::Ok(())
    });
    session::announce(path)
}

/// Exchanges as many octets as the GIOP messages of each call, as requested on standard input.
pub(crate) fn call(path: &str, wait: Wait, way: Way) -> Result {
    let (memory, descriptor) = Shared::create("oxbench-ring", 2 * AREA)?;
    let socket = OwnedFd::from(UnixStream::connect(path)?);
    unix::send_descriptors(&socket, &[0; 8], &[descriptor.as_fd()])?;
    let side = Side::new(memory, wait, way);
    session::serve(&mut RingCaller { side, number: 0, buffer: Vec::new() })
}

struct Side {
    memory: Shared,
    wait: Wait,
    way: Way,
    /// Total octets of pieces sent to each side.
    passed: [Cell<u32>; 2],
}

impl Side {
    fn new(memory: Shared, wait: Wait, way: Way) -> Self {
        let passed = Default::default();
        Self { memory, wait, way, passed }
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        &self.memory.header()[index]
    }

    fn length(&self, direction: usize) -> usize {
        let octets = self.word(LENGTHS[direction]).load(Ordering::Relaxed);
        (octets as usize).min(AREA)
    }

    fn write(&self, direction: usize, octets: &[u8], number: u32) {
        let mut at = direction * AREA;
        match self.way {
            Way::Pieces => {
                for piece in octets.chunks(PIECE) {
                    shared::copy_in(self.memory.data(), at, piece);
                    at += piece.len();
                    let shown = self.pass(direction, piece.len());
                    self.word(SHOWN[direction]).store(shown, Ordering::Release);
                }
            }
            _ => shared::copy_in(self.memory.data(), at, octets),
        }
        let word = self.word(WRITTEN[direction]);
        word.store(number, Ordering::Release);
        if self.wait == Wait::Futex {
            futex::wake(word);
        }
    }

    fn pass(&self, direction: usize, octets: usize) -> u32 {
        let passed = &self.passed[direction];
        passed.set(passed.get().wrapping_add(octets as u32));
        passed.get()
    }

    /// Copies pieces out as they arrive.
    fn read_pieces(&self, direction: usize, buffer: &mut Vec<u8>) {
        buffer.clear();
        while buffer.len() < self.length(direction) {
            let shown = self.word(SHOWN[direction]).load(Ordering::Acquire);
            let new = shown.wrapping_sub(self.passed[direction].get()) as usize;
            let octets = new.min(self.length(direction) - buffer.len());
            let at = direction * AREA + buffer.len();
            shared::copy_out(self.memory.data(), at, buffer, octets);
            self.pass(direction, octets);
            std::hint::spin_loop();
        }
    }

    /// Writes or reads the first and last octets of a payload.
    fn touch(&self, writes: bool) {
        let octets = self.word(PAYLOAD).load(Ordering::Relaxed) as usize;
        for (at, octet) in [(0, 0), (octets - 1, (octets - 1) as u8)] {
            let mut seen = [octet];
            let at = PLACE + at;
            match writes {
                true => shared::copy_in(self.memory.data(), at, &seen),
                false => shared::copy_to(self.memory.data(), at, &mut seen),
            }
            assert_eq!(seen, [octet], "another payload came");
        }
    }

    fn read(&self, direction: usize, buffer: &mut Vec<u8>, number: u32) {
        if self.way == Way::Pieces {
            self.read_pieces(direction, buffer);
        }
        let word = self.word(WRITTEN[direction]);
        while word.load(Ordering::Acquire) != number {
            match self.wait {
                Wait::Spin => std::hint::spin_loop(),
                Wait::Futex => futex::sleep(word, number.wrapping_sub(1), Duration::from_secs(1)),
            }
        }
        if self.way == Way::Pieces {
            return;
        }
        let octets = self.length(direction);
        buffer.clear();
        shared::copy_out(self.memory.data(), direction * AREA, buffer, octets);
    }

    /// Answers exchanges endlessly: the process ends with its standard input.
    fn answer(&self) -> ! {
        let mut buffer = Vec::new();
        let mut number = 0_u32;
        loop {
            number = number.wrapping_add(1);
            self.read(TO_SERVER, &mut buffer, number);
            if self.way == Way::Placed {
                self.touch(false);
            }
            buffer.resize(self.length(TO_CLIENT), 0);
            self.write(TO_CLIENT, &buffer, number);
        }
    }
}

struct RingCaller {
    side: Side,
    number: u32,
    buffer: Vec<u8>,
}

impl Caller for RingCaller {
    type Operation = Operation;

    fn run(&mut self, operation: Operation, size: u32, clock: &mut Clock) -> Result {
        let mut lengths = Cube { operation, size }.lengths();
        if self.side.way == Way::Placed {
            lengths.request -= size as usize;
            self.side.word(PAYLOAD).store(size, Ordering::Relaxed);
        }
        for (word, octets) in LENGTHS.into_iter().zip([lengths.request, lengths.reply]) {
            let word = self.side.word(word);
            word.store(u32::try_from(octets)?, Ordering::Relaxed);
        }
        let request = vec![7; lengths.request];
        self.buffer.reserve(lengths.longer());
        clock.time(|| {
            self.number = self.number.wrapping_add(1);
            if self.side.way == Way::Placed {
                self.side.touch(true);
            }
            self.side.write(TO_SERVER, &request, self.number);
            self.side.read(TO_CLIENT, &mut self.buffer, self.number);
            match self.buffer.len() == lengths.reply {
                true => Ok(()),
                false => Err("a reply of another length came back".into()),
            }
        })
    }
}
