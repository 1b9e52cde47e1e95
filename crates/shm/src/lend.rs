//! Lending what the peer wrote into blocks.

use std::io;
use std::sync::Arc;

use oxorb_lend::{Lease, Memory};
use oxorb_transport::Lender;

use crate::ShmLink;
use crate::link::Found;
use crate::ring::Direction;
use crate::segment::Segment;
use crate::splices::{Splice, give_back};
use crate::time::Clock;

/// The memory of a connection, of which the end that reads a direction lends blocks.
#[derive(Debug)]
pub(crate) struct Lent {
    segment: Arc<Segment>,
    /// The direction that this end reads.
    reads: Direction,
}

impl Lent {
    pub(crate) fn new(segment: Arc<Segment>, reads: Direction) -> Self {
        Self { segment, reads }
    }
}

impl Memory for Lent {
    fn copy_to(&self, at: usize, octets: &mut [u8]) {
        self.segment.copy_to(at, octets);
    }

    fn append_to(&self, at: usize, octets: usize, buffer: &mut Vec<u8>) {
        self.segment.copy_out(at, buffer, octets);
    }

    fn give_back(&self, ticket: u64) {
        give_back(&self.segment, self.reads, ticket as u32);
    }
}

impl ShmLink {
    /// Waits until the writer has shown all of the splice that is being read. `None`: it never will.
    #[cold]
    fn lease_whole(&self, max: u32) -> io::Result<Option<Splice>> {
        let clock = Clock::new(&self.read_timeout);
        loop {
            if self.wait(&clock)? == Found::End {
                return Ok(None);
            }
            match self.incoming.lease(&self.segment, max) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                leased => return leased,
            }
        }
    }
}

impl Lender for ShmLink {
    fn lease(&self, max: usize, waits: bool) -> io::Result<Option<Lease>> {
        let Some(lent) = &self.lent else {
            return Ok(None);
        };
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        let mut leased = self.incoming.lease(&self.segment, max);
        if waits && matches!(&leased, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            leased = self.lease_whole(max);
        }
        let splice = match leased {
            Ok(Some(splice)) => splice,
            Ok(None) => return Ok(None),
            Err(error) => {
                // Whoever waits at the descriptor is told of the rest.
                let failed = Err(error);
                self.has_read(&failed);
                return failed.map(|_| None);
            }
        };
        let octets = splice.octets as usize;
        self.has_read(&Ok(octets));
        let memory = Arc::clone(lent);
        let first = self.incoming.at.in_blocks(&self.segment, splice.first);
        let ticket = splice.ticket.into();
        Ok(Some(Lease::new(memory, first, octets, ticket)))
    }
}
