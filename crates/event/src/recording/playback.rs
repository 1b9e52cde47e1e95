//! Reader of recordings. They may come from any writer, and may be cut off at any point.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

use crate::recording::frames::{Frames, Step};
use crate::recording::records::{Body, Channel, MessageHeader, kind};
use crate::recording::{RecordingError, Schema, Topic};

/// Limits on the resources that a file can make its reader use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaybackLimits {
    /// Maximum size in octets of a record, such as a message, a schema or an attachment. The reader uses at most twice
    /// this memory.
    pub record: usize,
    /// Maximum size in octets of the names, schemas and metadata of all topics together. They are kept until the end of
    /// the file.
    pub descriptions: usize,
}

impl Default for PlaybackLimits {
    /// Returns limits of 64 MiB each.
    fn default() -> Self {
        PlaybackLimits { record: 64 << 20, descriptions: 64 << 20 }
    }
}

/// A message of a recording. It borrows from the [`Playback`], and is valid until the next message is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'p> {
    /// Topic of the message.
    pub topic: &'p Arc<Topic>,
    /// Sequence number that the writer assigned to the message within its topic.
    pub sequence: u32,
    /// Time at which the message was recorded, by convention in nanoseconds since 1970.
    pub log_time: u64,
    /// Time at which the message was sent, in the unit of `log_time`.
    pub publish_time: u64,
    /// Octets of the message, in the encoding of its topic.
    pub data: &'p [u8],
}

/// Indicates how a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The writer has finished the file.
    Complete,
    /// The file ends early, for example because the writer was killed. All messages before the end are complete.
    CutOff,
}

/// Reader of a recording. It returns the messages in the order in which they are in the file.
///
/// Each step reads only the octets of the next record. Topics and schemas are kept. The memory is limited by
/// [`PlaybackLimits`], and the time by the length of the file. The checksum of a chunk is verified at the end of the
/// chunk.
pub struct Playback<R: Read> {
    frames: Frames<R>,
    limits: PlaybackLimits,
    schemas: HashMap<u16, Arc<Schema>>,
    topics: HashMap<u16, Arc<Topic>>,
    /// Size in octets of all `schemas` and `topics`.
    described: usize,
    /// Octets of the last message.
    data: Vec<u8>,
    ending: Option<Ending>,
}

impl<R: Read> Playback<R> {
    /// Opens a recording with the default limits.
    ///
    /// # Errors
    /// [`RecordingError::NotMcap`], also if the file is shorter than the magic octets; [`RecordingError::Io`].
    pub fn new(file: R) -> Result<Self, RecordingError> {
        Self::with_limits(file, PlaybackLimits::default())
    }

    /// Opens a recording like [`new`](Self::new), with other limits.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn with_limits(mut file: R, limits: PlaybackLimits) -> Result<Self, RecordingError> {
        let mut magic = [0; mcap::MAGIC.len()];
        match file.read_exact(&mut magic) {
            Ok(()) if magic == mcap::MAGIC => {}
            Ok(()) => return Err(RecordingError::NotMcap),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Err(RecordingError::NotMcap);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(Playback {
            frames: Frames::new(file, limits),
            limits,
            schemas: HashMap::new(),
            topics: HashMap::new(),
            described: 0,
            data: Vec::new(),
            ending: None,
        })
    }

    /// Returns the next message, or `None` at the end of the recording. [`ending`](Self::ending) then tells how the
    /// recording ended.
    ///
    /// # Errors
    /// [`RecordingError`] if the file violates its format, exceeds a limit or cannot be read. All further calls return
    /// `None`.
    pub fn next_message(&mut self) -> Result<Option<Message<'_>>, RecordingError> {
        if self.ending.is_some() {
            return Ok(None);
        }
        let found = self.find_message();
        match found {
            Ok(Some(header)) => Ok(Some(Message {
                topic: &self.topics[&header.channel],
                sequence: header.sequence,
                log_time: header.log_time,
                publish_time: header.publish_time,
                data: &self.data,
            })),
            Ok(None) => Ok(None),
            Err(error) => {
                self.ending = Some(Ending::CutOff);
                Err(error)
            }
        }
    }

    /// Returns how the recording ended; `None` until [`next_message`](Self::next_message) has returned `None` or an
    /// error.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Reads records until the next message, and stores the octets of this message in `data`.
    fn find_message(&mut self) -> Result<Option<MessageHeader>, RecordingError> {
        loop {
            match self.frames.step()? {
                Step::Footer => {
                    self.ending = Some(Ending::Complete);
                    return Ok(None);
                }
                Step::CutOff => {
                    self.ending = Some(Ending::CutOff);
                    return Ok(None);
                }
                Step::Record(kind) => {
                    let body = Body::new(kind, &self.frames.body);
                    match kind {
                        kind::MESSAGE => {
                            let (header, data) = body.message()?;
                            if !self.topics.contains_key(&header.channel) {
                                return Err(RecordingError::UnknownTopic(header.channel));
                            }
                            self.data.clear();
                            self.data.extend_from_slice(data);
                            return Ok(Some(header));
                        }
                        kind::SCHEMA => {
                            let (id, schema) = body.schema()?;
                            self.keep(id, schema)?;
                        }
                        kind::CHANNEL => {
                            let channel = body.channel()?;
                            self.declare(channel)?;
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    fn keep(&mut self, id: u16, schema: Schema) -> Result<(), RecordingError> {
        let octets = schema.name.len() + schema.encoding.len() + schema.data.len();
        if let Entry::Vacant(free) = self.schemas.entry(id) {
            charge(&mut self.described, octets, &self.limits)?;
            free.insert(Arc::new(schema));
        }
        Ok(())
    }

    /// Adds a topic. A topic that was added before, as in the summary section, has no effect.
    fn declare(&mut self, channel: Channel) -> Result<(), RecordingError> {
        let Entry::Vacant(free) = self.topics.entry(channel.id) else {
            return Ok(());
        };
        let schema = match channel.schema {
            0 => None,
            id => match self.schemas.get(&id) {
                Some(schema) => Some(schema.clone()),
                None => {
                    return Err(RecordingError::UnknownSchema { topic: channel.topic, schema: id });
                }
            },
        };
        let metadata = channel.metadata.iter();
        let octets = metadata.map(|(name, value)| ENTRY + name.len() + value.len());
        let octets = octets.sum::<usize>() + channel.topic.len() + channel.encoding.len();
        charge(&mut self.described, octets, &self.limits)?;
        free.insert(Arc::new(Topic {
            name: channel.topic,
            encoding: channel.encoding,
            schema,
            metadata: channel.metadata,
        }));
        Ok(())
    }
}

impl<R: Read> fmt::Debug for Playback<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Playback")
            .field("topics", &self.topics.len())
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}

/// Memory in octets that is counted for an entry of metadata, in addition to its text.
pub(crate) const ENTRY: usize = 64;

fn charge(
    described: &mut usize,
    octets: usize,
    limits: &PlaybackLimits,
) -> Result<(), RecordingError> {
    *described = described.saturating_add(octets);
    match *described <= limits.descriptions {
        true => Ok(()),
        false => Err(RecordingError::DescriptionsTooLarge { limit: limits.descriptions }),
    }
}
