//! Raw exchange through shared memory: the floor of what an ORB can do there.
//!
//! A word for each direction says how many messages were written. A side copies octets in, raises its word, and waits for
//! the other one, looking again and again or sleeping on it; then it copies octets out. No ring, no limits, no peer that dies.

use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use oxorb_sys::shared::{self, Shared};
use oxorb_sys::{futex, unix};

use super::cube::{Cube, Operation};
use crate::Result;
use crate::session::{self, Caller, Clock};

/// Way in which a side waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Wait {
    /// It looks again and again
    Spin,
    /// It sleeps, and is woken
    Futex,
}

/// Octets of the area of a direction: those of the largest message.
const AREA: usize = 17 << 20;

/// Words of the header: messages written to the server and to the client, their lengths.
const WRITTEN: [usize; 2] = [0, 32];
const LENGTHS: [usize; 2] = [64, 65];

const TO_SERVER: usize = 0;
const TO_CLIENT: usize = 1;

/// Answers exchanges of clients that connect at a path, until standard input closes.
pub(crate) fn serve(path: &str, wait: Wait) -> Result {
    let listener = UnixListener::bind(path)?;
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            std::thread::spawn(move || -> Result {
                let (_, [descriptor, _]) =
                    unix::receive_descriptors(OwnedFd::from(socket?), &mut [0; 8])?;
                let memory = Shared::open(descriptor.ok_or("no memory came")?, 2 * AREA)?;
                Side { memory, wait }.answer();
            });
        }
        std::io::Result::Ok(())
    });
    session::announce(path)
}

/// Exchanges as many octets as the GIOP messages of each call, as standard input says.
pub(crate) fn call(path: &str, wait: Wait) -> Result {
    let (memory, descriptor) = Shared::create("oxbench-ring", 2 * AREA)?;
    let socket = OwnedFd::from(UnixStream::connect(path)?);
    unix::send_descriptors(&socket, &[0; 8], &[descriptor.as_fd()])?;
    let side = Side { memory, wait };
    session::serve(&mut RingCaller {
        side,
        number: 0,
        buffer: Vec::new(),
    })
}

struct Side {
    memory: Shared,
    wait: Wait,
}

impl Side {
    fn word(&self, index: usize) -> &AtomicU32 {
        &self.memory.header()[index]
    }

    fn length(&self, direction: usize) -> usize {
        let octets = self.word(LENGTHS[direction]).load(Ordering::Relaxed);
        (octets as usize).min(AREA)
    }

    fn write(&self, direction: usize, octets: &[u8], number: u32) {
        shared::copy_in(self.memory.data(), direction * AREA, octets);
        let word = self.word(WRITTEN[direction]);
        word.store(number, Ordering::Release);
        if self.wait == Wait::Futex {
            futex::wake(word);
        }
    }

    fn read(&self, direction: usize, buffer: &mut Vec<u8>, number: u32) {
        let word = self.word(WRITTEN[direction]);
        while word.load(Ordering::Acquire) != number {
            match self.wait {
                Wait::Spin => std::hint::spin_loop(),
                Wait::Futex => futex::sleep(word, number.wrapping_sub(1), Duration::from_secs(1)),
            }
        }
        let octets = self.length(direction);
        buffer.clear();
        shared::copy_out(self.memory.data(), direction * AREA, buffer, octets);
    }

    /// Answers for ever: the process ends with its standard input.
    fn answer(&self) -> ! {
        let mut buffer = Vec::new();
        let mut number = 0_u32;
        loop {
            number = number.wrapping_add(1);
            self.read(TO_SERVER, &mut buffer, number);
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
        let lengths = Cube { operation, size }.lengths();
        for (word, octets) in LENGTHS.into_iter().zip([lengths.request, lengths.reply]) {
            let word = self.side.word(word);
            word.store(u32::try_from(octets)?, Ordering::Relaxed);
        }
        let request = vec![7; lengths.request];
        self.buffer.reserve(lengths.longer());
        clock.time(|| {
            self.number = self.number.wrapping_add(1);
            self.side.write(TO_SERVER, &request, self.number);
            self.side.read(TO_CLIENT, &mut self.buffer, self.number);
            match self.buffer.len() == lengths.reply {
                true => Ok(()),
                false => Err("a reply of another length came back".into()),
            }
        })
    }
}
