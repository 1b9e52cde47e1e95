//! Reader of the records of a file, in order, including those in chunks.
//!
//! This module does not use the reader of the crate `mcap`, whose arithmetic overflows on inconsistent chunks.

use std::io::{self, Read};

use crate::recording::records::{Body, kind};
use crate::recording::{PlaybackLimits, RecordingError};

/// Result of reading one record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A record of this kind is in the buffer.
    Record(u8),
    /// The footer was read. No records follow.
    Footer,
    /// The file ends within a record or before the footer.
    CutOff,
}

/// Reader of records.
pub(crate) struct Frames<R> {
    file: R,
    limits: PlaybackLimits,
    chunk: Option<Chunk>,
    /// Body of the last record that was read.
    pub(crate) body: Vec<u8>,
}

/// State of the chunk that is being read.
struct Chunk {
    /// Number of octets of records that have not been read.
    records: u64,
    /// Number of octets that follow the records in the chunk's own record.
    padding: u64,
    /// Checksum of the chunk; 0 if there is none.
    crc: u32,
    hasher: crc32fast::Hasher,
}

/// Reason why reading stops within a record.
enum Stop {
    CutOff,
    Failed(RecordingError),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<RecordingError> for Stop {
    fn from(error: RecordingError) -> Self {
        Self::Failed(error)
    }
}

/// Size in octets of the kind and the length of a record.
const HEADER: u64 = 9;
/// Size in octets of a chunk's header before the name of its compression: times, size, checksum, and length of the
/// name.
const CHUNK_HEADER: u64 = 32;
/// Maximum length in octets of the name of a compression.
const METHOD: u64 = 64;

impl<R: Read> Frames<R> {
    /// Creates a reader for the records that follow the magic octets of the file.
    pub(crate) fn new(file: R, limits: PlaybackLimits) -> Self {
        Frames { file, limits, chunk: None, body: Vec::new() }
    }

    /// Reads the next record. At the start of a chunk, continues with the records in it.
    pub(crate) fn step(&mut self) -> Result<Step, RecordingError> {
        loop {
            match self.record() {
                Ok(Some(step)) => return Ok(step),
                Ok(None) => {}
                Err(Stop::CutOff) => return Ok(Step::CutOff),
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
    }

    fn record(&mut self) -> Result<Option<Step>, Stop> {
        if self.chunk.as_ref().is_some_and(|chunk| chunk.records == 0) {
            return self.end_chunk().map(|()| None);
        }
        self.body.clear();
        self.read(HEADER)?;
        let kind = self.body[0];
        let octets = Body::new(kind, &self.body[1..]).ulonglong()?;
        match (&self.chunk, kind) {
            (None, kind::CHUNK) => self.begin_chunk(octets).map(|()| None),
            (None, kind::FOOTER) => Ok(Some(Step::Footer)),
            (Some(_), kind::SCHEMA | kind::CHANNEL | kind::MESSAGE) | (None, _) => {
                self.limit(octets)?;
                self.body.clear();
                self.read(octets)?;
                Ok(Some(Step::Record(kind)))
            }
            (Some(_), _) => Err(RecordingError::ForeignInChunk(kind).into()),
        }
    }

    fn begin_chunk(&mut self, octets: u64) -> Result<(), Stop> {
        self.body.clear();
        let rest = octets.checked_sub(CHUNK_HEADER).ok_or(RecordingError::BadChunk)?;
        self.read(CHUNK_HEADER)?;
        let mut header = Body::new(kind::CHUNK, &self.body[16..]);
        let (size, crc) = (header.ulonglong()?, header.ulong()?);
        let method = u64::from(header.ulong()?);
        let rest = rest.checked_sub(method + 8).ok_or(RecordingError::BadChunk)?;
        if method > METHOD {
            return Err(RecordingError::BadChunk.into());
        }
        self.body.clear();
        self.read(method + 8)?;
        let (name, stored) = self.body.split_at(method as usize);
        if !name.is_empty() {
            return Err(
                RecordingError::Compressed(String::from_utf8_lossy(name).into_owned()).into()
            );
        }
        let stored = Body::new(kind::CHUNK, stored).ulonglong()?;
        let padding = rest.checked_sub(stored).ok_or(RecordingError::BadChunk)?;
        if stored != size {
            return Err(RecordingError::BadChunk.into());
        }
        self.chunk =
            Some(Chunk { records: stored, padding, crc, hasher: crc32fast::Hasher::new() });
        Ok(())
    }

    fn end_chunk(&mut self) -> Result<(), Stop> {
        let Some(chunk) = self.chunk.take() else {
            return Ok(());
        };
        if chunk.crc != 0 && chunk.crc != chunk.hasher.finalize() {
            return Err(RecordingError::Damaged.into());
        }
        let passed = io::copy(&mut (&mut self.file).take(chunk.padding), &mut io::sink())?;
        match passed == chunk.padding {
            true => Ok(()),
            false => Err(Stop::CutOff),
        }
    }

    /// Appends octets to the buffer. The buffer grows with the octets that are present, and not with the announced
    /// length.
    fn read(&mut self, octets: u64) -> Result<(), Stop> {
        if let Some(chunk) = &mut self.chunk {
            let left = chunk.records.checked_sub(octets);
            chunk.records = left.ok_or(RecordingError::BadChunk)?;
        }
        let start = self.body.len();
        let read = (&mut self.file).take(octets).read_to_end(&mut self.body)?;
        if (read as u64) < octets {
            return Err(Stop::CutOff);
        }
        if let Some(chunk) = &mut self.chunk {
            chunk.hasher.update(&self.body[start..]);
        }
        Ok(())
    }

    fn limit(&self, octets: u64) -> Result<(), RecordingError> {
        match octets <= self.limits.record as u64 {
            true => Ok(()),
            false => Err(RecordingError::RecordTooLarge { octets, limit: self.limits.record }),
        }
    }
}
