//! Bodies of the records that playback needs: those of schemas, channels and messages. All numbers are little-endian.
//!
//! This module does not use the parser of the crate `mcap`, which allocates memory for the announced length of a field
//! before it checks whether the octets exist.

use std::collections::BTreeMap;

use crate::recording::RecordingError;

/// Kinds of records (MCAP, "Records").
pub(crate) mod kind {
    pub(crate) const FOOTER: u8 = 0x02;
    pub(crate) const SCHEMA: u8 = 0x03;
    pub(crate) const CHANNEL: u8 = 0x04;
    pub(crate) const MESSAGE: u8 = 0x05;
    pub(crate) const CHUNK: u8 = 0x06;
}

/// A channel, as described by its record.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) id: u16,
    /// Number of the channel's schema; 0 if it has none.
    pub(crate) schema: u16,
    pub(crate) topic: String,
    pub(crate) encoding: String,
    pub(crate) metadata: BTreeMap<String, String>,
}

/// Fields of a message that precede its octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageHeader {
    pub(crate) channel: u16,
    pub(crate) sequence: u32,
    pub(crate) log_time: u64,
    pub(crate) publish_time: u64,
}

/// Octets of a record that have not been read.
pub(crate) struct Body<'b> {
    kind: u8,
    rest: &'b [u8],
}

impl<'b> Body<'b> {
    pub(crate) fn new(kind: u8, rest: &'b [u8]) -> Self {
        Body { kind, rest }
    }

    /// Reads a schema. Returns its number, name, encoding and data.
    pub(crate) fn schema(mut self) -> Result<(u16, crate::recording::Schema), RecordingError> {
        let id = self.ushort()?;
        let schema = crate::recording::Schema {
            name: self.string()?,
            encoding: self.string()?,
            data: self.octets()?.to_vec(),
        };
        Ok((id, schema))
    }

    pub(crate) fn channel(mut self) -> Result<Channel, RecordingError> {
        let (id, schema) = (self.ushort()?, self.ushort()?);
        let (topic, encoding) = (self.string()?, self.string()?);
        let mut entries = Body::new(self.kind, self.octets()?);
        let mut metadata = BTreeMap::new();
        while !entries.rest.is_empty() {
            let (name, value) = (entries.string()?, entries.string()?);
            metadata.insert(name, value);
        }
        Ok(Channel { id, schema, topic, encoding, metadata })
    }

    /// Reads a message. The returned octets are its data.
    pub(crate) fn message(mut self) -> Result<(MessageHeader, &'b [u8]), RecordingError> {
        let header = MessageHeader {
            channel: self.ushort()?,
            sequence: self.ulong()?,
            log_time: self.ulonglong()?,
            publish_time: self.ulonglong()?,
        };
        Ok((header, self.rest))
    }

    pub(crate) fn ushort(&mut self) -> Result<u16, RecordingError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn ulong(&mut self) -> Result<u32, RecordingError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn ulonglong(&mut self) -> Result<u64, RecordingError> {
        self.array().map(u64::from_le_bytes)
    }

    fn string(&mut self) -> Result<String, RecordingError> {
        let short = RecordingError::BadRecord(self.kind);
        let text = std::str::from_utf8(self.octets()?);
        text.map(str::to_owned).map_err(|_| short)
    }

    fn octets(&mut self) -> Result<&'b [u8], RecordingError> {
        let length = self.ulong()? as usize;
        let split = self.rest.split_at_checked(length);
        let (octets, rest) = split.ok_or(RecordingError::BadRecord(self.kind))?;
        self.rest = rest;
        Ok(octets)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordingError> {
        let split = self.rest.split_first_chunk();
        let (octets, rest) = split.ok_or(RecordingError::BadRecord(self.kind))?;
        self.rest = rest;
        Ok(*octets)
    }
}
