//! Link that records its octets.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::sync::Mutex;

use crate::{Link, WriteError};

/// Link that keeps a copy of all octets, both ways, in a [`Recording`].
///
/// ```
/// use std::io::IoSlice;
/// use oxorb_transport::{Link, mem, recorded::{Recorded, RecordedDirection}};
///
/// let (client, _server) = mem::pair(64);
/// let (client, recording) = Recorded::new(client);
/// client.write(&mut [IoSlice::new(b"GI"), IoSlice::new(b"OP")])?;
/// assert_eq!(recording.octets(RecordedDirection::Sent), b"GIOP");
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Recorded<L> {
    inner: L,
    recording: Recording,
}

impl<L: Link> Recorded<L> {
    /// Wraps a link. The recording outlives it.
    pub fn new(inner: L) -> (Self, Recording) {
        let recording = Recording::default();
        let link = Self { inner, recording: recording.clone() };
        (link, recording)
    }
}

/// Direction of octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedDirection {
    /// Sent by this end.
    Sent,
    /// Received by this end.
    Received,
}

/// Record of the octets that passed over a [`Recorded`] link. Grows without bound.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<Vec<Turn>>>);

/// Recorded read or write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Direction of the octets.
    pub direction: RecordedDirection,
    /// Octets that were read or written.
    pub octets: Vec<u8>,
}

impl Recording {
    /// Returns all reads and writes that moved octets, in order.
    pub fn turns(&self) -> Vec<Turn> {
        self.0.lock().clone()
    }

    /// Returns all octets of one direction.
    pub fn octets(&self, direction: RecordedDirection) -> Vec<u8> {
        let turns = self.turns().into_iter();
        turns.filter(|turn| turn.direction == direction).flat_map(|turn| turn.octets).collect()
    }

    fn add(&self, direction: RecordedDirection, octets: Vec<u8>) {
        if !octets.is_empty() {
            let mut turns = self.0.lock();
            turns.push(Turn { direction, octets });
        }
    }
}

impl<L: Link> Link for Recorded<L> {
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        let count = self.inner.read(buffer, max)?;
        self.recording.add(RecordedDirection::Received, buffer[buffer.len() - count..].to_vec());
        Ok(count)
    }

    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        // The octets are copied before the write, because a write may change the slices.
        let mut octets: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        let result = self.inner.write(slices);
        if let Err(failure) = &result {
            octets.truncate(failure.written);
        }
        self.recording.add(RecordedDirection::Sent, octets);
        result
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.inner.set_write_timeout(timeout)
    }

    crate::forward_to_link!(inner);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faulty::{Faults, Faulty};
    use crate::mem;

    #[test]
    fn keeps_the_turns_of_a_conversation() {
        let (a, b) = mem::pair(64);
        let (a, recording) = Recorded::new(a);
        a.write(&mut [IoSlice::new(b"pi"), IoSlice::new(b"ng")]).unwrap();
        b.write(&mut [IoSlice::new(b"pong")]).unwrap();
        let mut buffer = b"before".to_vec();
        a.read(&mut buffer, 100).unwrap();
        drop(a);
        let turn = |direction, octets: &[u8]| Turn { direction, octets: octets.to_vec() };
        assert_eq!(
            recording.turns(),
            [turn(RecordedDirection::Sent, b"ping"), turn(RecordedDirection::Received, b"pong")]
        );
    }

    #[test]
    fn keeps_no_more_than_went_out() {
        let (a, _b) = mem::pair(64);
        let faults = Faults { cut_after_written: Some(3), ..Faults::default() };
        let (a, recording) = Recorded::new(Faulty::new(a, faults));
        a.write(&mut [IoSlice::new(b"GIOP")]).unwrap_err();
        assert_eq!(recording.octets(RecordedDirection::Sent), b"GIO");
    }
}
