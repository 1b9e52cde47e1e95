//! Lending what the peer wrote into blocks.

use std::io;
use std::sync::Arc;

use oxorb_lend::{Lease, Memory};
use oxorb_transport::Lender;

use crate::ShmLink;
use crate::ring::Direction;
use crate::segment::Segment;
use crate::splices::give_back;

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

impl Lender for ShmLink {
    fn lease(&self, max: usize) -> io::Result<Option<Lease>> {
        let Some(lent) = &self.lent else {
            return Ok(None);
        };
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        let Some(splice) = self.incoming.lease(&self.segment, max)? else {
            return Ok(None);
        };
        let octets = splice.octets as usize;
        self.has_read(&Ok(octets));
        let memory = Arc::clone(lent);
        let first = self.incoming.at.in_blocks(&self.segment, splice.first);
        let ticket = splice.ticket.into();
        Ok(Some(Lease::new(memory, first, octets, ticket)))
    }
}
