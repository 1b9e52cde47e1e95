//! Writing values: headers, sharing and chunks.

use crate::prelude::*;
use crate::tables::Table;
use alloc::borrow::Cow;
use alloc::sync::Arc;

use super::handle::{Instance, Target, address};
use super::{Value, ValueInfo, ValueKey, ValueLink, Valuetype, tag};
use crate::{DecoderLimits, Encode, Encoder, ErrorKind, Result, TypeCode};

/// Values written since the start of the message or encapsulation.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Position of each value's tag, by the address of the value.
    values: Table<usize, usize>,
    /// Position of each repository id and codebase.
    texts: Table<Cow<'static, str>, usize>,
    /// Position of each value known by its type code.
    pub(super) keys: Table<ValueKey, (usize, TypeCode)>,
    /// Values kept alive until the end, since otherwise their addresses could be reused.
    kept: Vec<Arc<dyn Instance>>,
    /// Number of open values, chunked or not.
    pub(super) depth: u16,
    /// Number of open chunked values.
    pub(super) level: i32,
    /// Current chunk. Inside a chunked value there always is one.
    chunk: Option<Chunk>,
}

/// Chunk whose size is not yet known.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Position before the padding of its size, to which the encoder returns if the chunk stays
    /// empty.
    before: usize,
    /// Position of the chunk's first octet.
    start: usize,
    /// Position of the chunk's size in the encoder's own octets.
    size_at: usize,
}

/// Maximum size of a chunk: a larger number would be a value tag.
const MAX_CHUNK: usize = tag::VALUE as usize - 1;

impl Outgoing {
    /// Removes all records from this position on, which must not be inside a value.
    #[cold]
    pub(crate) fn forget_from(&mut self, position: usize) {
        self.values.retain(|_, at| *at < position);
        self.texts.retain(|_, at| *at < position);
        self.keys.retain(|_, (at, _)| *at < position);
        if self.chunk.is_some_and(|chunk| chunk.before >= position) {
            (self.depth, self.level, self.chunk) = (0, 0, None);
        }
    }
}

impl<T: Valuetype> Encode for ValueLink<T> {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        match &self.target {
            Target::Null => {
                e.ulong(tag::NULL);
                Ok(())
            }
            Target::Owned(instance, _) => e.instance(&**instance),
            Target::Back(instance, _) => match instance.upgrade() {
                Some(instance) => e.short_lived(instance),
                None => {
                    e.ulong(tag::NULL);
                    Ok(())
                }
            },
        }
    }
}

impl<T: Valuetype> Encode for Value<T> {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.instance(&*self.instance)
    }
}

impl<'a> Encoder<'a> {
    /// Writes a value, or an indirection to its earlier occurrence.
    fn instance(&mut self, instance: &'a dyn Instance) -> Result<()> {
        let values = self.values.get_or_insert_default();
        if let Some(&at) = values.values.get(&address(instance)) {
            return self.indirection(at);
        }
        self.enter_depth()?;
        self.end_chunk()?;
        let chunked = self.value_header(instance)?;
        if chunked {
            self.outgoing().level += 1;
            self.start_chunk();
        }
        instance.write(self)?;
        if chunked {
            self.end_value()?;
        }
        self.outgoing().depth -= 1;
        Ok(())
    }

    /// Enters the next level of values.
    pub(super) fn enter_depth(&mut self) -> Result<()> {
        let limit = DecoderLimits::default().max_value_depth;
        let values = self.outgoing();
        if values.depth >= limit {
            return Err(self.error(ErrorKind::TooDeep { limit }));
        }
        values.depth += 1;
        Ok(())
    }

    /// Writes a value that may be dropped before the end of the message.
    #[cold]
    fn short_lived(&mut self, instance: Arc<dyn Instance>) -> Result<()> {
        let written = self.lent(|e| e.instance(&*instance));
        self.outgoing().kept.push(instance);
        written
    }

    /// Writes tag, codebase and repository ids. Returns whether the state is to be chunked.
    fn value_header(&mut self, instance: &dyn Instance) -> Result<bool> {
        let info = instance.info();
        let chunked = info.truncatable || info.custom || self.outgoing().level > 0;
        self.align(4);
        let at = self.position();
        self.outgoing().values.insert(address(instance), at);
        let mut bits = if info.truncatable { tag::ID_LIST } else { tag::ONE_ID };
        bits |= if chunked { tag::CHUNKED } else { 0 };
        bits |= info.codebase.map_or(0, |_| tag::CODEBASE);
        self.ulong(tag::VALUE | bits);
        if let Some(codebase) = info.codebase {
            self.shared_text(Cow::Borrowed(codebase))?;
        }
        if info.truncatable {
            self.repository_ids(info)?;
        } else {
            self.shared_text(Cow::Borrowed(info.id))?;
        }
        Ok(chunked)
    }

    fn repository_ids(&mut self, info: &'static ValueInfo) -> Result<()> {
        self.length(info.truncation().count(), None)?;
        info.truncation().try_for_each(|info| self.shared_text(Cow::Borrowed(info.id)))
    }

    /// Writes a repository id or codebase, or an indirection to its earlier occurrence.
    pub(super) fn shared_text(&mut self, text: Cow<'static, str>) -> Result<()> {
        if let Some(&at) = self.outgoing().texts.get(&text) {
            return self.indirection(at);
        }
        self.align(4);
        let at = self.position();
        self.string(&text)?;
        self.outgoing().texts.insert(text, at);
        Ok(())
    }

    pub(super) fn indirection(&mut self, to: usize) -> Result<()> {
        self.ulong(tag::INDIRECTION);
        let back = self.position() - to;
        let offset = i32::try_from(back).map_err(|_| {
            self.error(ErrorKind::BoundExceeded { length: back, bound: i32::MAX as usize })
        })?;
        self.long(-offset);
        Ok(())
    }

    /// Ends the chunk and the chunked value; an enclosing chunked value continues in a new chunk.
    pub(super) fn end_value(&mut self) -> Result<()> {
        self.end_chunk()?;
        let values = self.outgoing();
        let level = values.level;
        values.level -= 1;
        self.long(-level);
        if level > 1 {
            self.start_chunk();
        }
        Ok(())
    }

    pub(super) fn start_chunk(&mut self) {
        let before = self.position();
        self.ulong(0);
        let chunk = Chunk { before, start: self.position(), size_at: self.own_octets() - 4 };
        self.outgoing().chunk = Some(chunk);
    }

    /// Writes the size of the chunk, if there is one; there are no empty chunks.
    pub(super) fn end_chunk(&mut self) -> Result<()> {
        let Some(chunk) = self.outgoing().chunk.take() else {
            return Ok(());
        };
        let size = self.position() - chunk.start;
        if size > MAX_CHUNK {
            return Err(self.error(ErrorKind::BoundExceeded { length: size, bound: MAX_CHUNK }));
        }
        if size == 0 {
            self.truncate(chunk.before);
        } else {
            self.overwrite(chunk.size_at, size as u32);
        }
        Ok(())
    }

    pub(super) fn outgoing(&mut self) -> &mut Outgoing {
        self.values.get_or_insert_default()
    }
}
