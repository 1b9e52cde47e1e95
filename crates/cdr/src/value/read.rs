//! Reading values: headers, sharing, truncation.

use crate::prelude::*;
use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::fmt;

use super::chunks::Chunking;
use super::handle::{Graph, Instance, Target, Within};
use super::untyped::Untyped;
use super::{Factory, Value, ValueInfo, ValueLink, Valuetype, tag};
use crate::pieces::Pieces;
use crate::primitive::aligned;
use crate::{Decode, Decoder, ErrorKind, Result};

/// Maximum number of repository ids of a value: no chain of truncatable types is that long.
pub(super) const MAX_IDS: usize = 64;

/// Values read since the start of the message or encapsulation.
#[derive(Clone, Default)]
pub(crate) struct Incoming<'de> {
    /// Values by the position of their tags.
    values: Positions<Read>,
    /// Values read by their type codes, by the position of their tags.
    pub(super) untyped: Positions<Untyped>,
    /// Skipped values, within truncated values or in an any, with the chunk level of their tags.
    skipped: Positions<u32>,
    /// Repository ids and codebases.
    texts: Positions<Cow<'de, str>>,
    /// Lists of repository ids.
    lists: Positions<Vec<Cow<'de, str>>>,
    pub(super) chunking: Chunking<'de>,
    /// Pieces of the message, if it was received in fragments.
    pub(crate) pieces: Option<Pieces<'de>>,
    /// Number of open values.
    pub(super) depth: u16,
    /// Position at which the any being skipped starts, and whether anything in it refers to an
    /// earlier position.
    pub(super) any_start: usize,
    pub(super) leads_out: bool,
    /// Number of octets that were re-read or re-encoded, because anys depend on octets outside
    /// them.
    pub(super) repeated: usize,
    /// Total size in octets of the repository ids looked up so far. It can far exceed the size of
    /// the message, because values may share ids.
    looked_up: usize,
    /// Graph of the values being read, within the outermost one.
    graph: Arc<Graph>,
    /// Values first read since the start of the outermost one, and whether a link among them closes
    /// a cycle.
    new: Vec<Arc<dyn Instance>>,
    cyclic: bool,
}

impl fmt::Debug for Incoming<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("values", &self.values)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// Value read as one of a Rust type.
#[derive(Clone, Debug)]
struct Read {
    instance: Arc<dyn Instance>,
    graph: Arc<Graph>,
    /// Chunk level of its tag.
    level: u32,
}

/// Items by their start positions in the message.
#[derive(Clone, Debug)]
pub(super) struct Positions<T>(Vec<(usize, T)>);

impl<T> Default for Positions<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Positions<T> {
    pub(super) fn find(&self, position: usize) -> Option<&T> {
        let index = self.0.binary_search_by_key(&position, |(at, _)| *at).ok()?;
        Some(&self.0[index].1)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Inserts an item, nearly always at the end.
    pub(super) fn insert(&mut self, position: usize, thing: T) {
        match self.0.binary_search_by_key(&position, |(at, _)| *at) {
            Ok(index) => self.0[index].1 = thing,
            Err(index) => self.0.insert(index, (position, thing)),
        }
    }
}

/// Start of a value, or of what a message contains in its place: null or an indirection.
pub(crate) enum Start {
    Null,
    /// Indirection to the value whose tag is at this position.
    Indirection {
        to: usize,
        offset: i32,
    },
    /// Tag, and its position.
    Value {
        tag: u32,
        at: usize,
    },
}

/// Repository ids of a value.
pub(crate) enum TypeInfo<'de> {
    Declared,
    Ids(Vec<Cow<'de, str>>),
}

/// Declared type of a value.
#[derive(Clone, Copy)]
struct Place {
    formal: &'static ValueInfo,
    factories: &'static [Factory],
}

/// Estimated memory for the data about a value kept while its message is read, in octets.
const KNOWN_OF_VALUE: usize = 128;

/// Maximum total size in octets of the repository ids looked up, in addition to
/// [`LOOKED_UP_PER_OCTET`] for each octet of the message. Values may share a list of ids at the
/// cost of a few octets each.
const LOOKED_UP: usize = 64 << 10;
const LOOKED_UP_PER_OCTET: usize = 64;
/// Charge for looking up an id, in addition to its octets.
const LOOKED_UP_PER_ID: usize = 64;

impl<'de, T: Valuetype> Decode<'de> for ValueLink<T> {
    const MIN_SIZE: usize = 4;

    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        let place = Place { formal: T::INFO, factories: T::factories() };
        d.value(place).map(Self::from_target)
    }
}

impl<'de, T: Valuetype> Decode<'de> for Value<T> {
    const MIN_SIZE: usize = 4;

    /// Fails for null.
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        let at = d.position();
        let link = ValueLink::<T>::decode(d)?;
        link.get().ok_or(ErrorKind::BadValueTag(tag::NULL).at(at))
    }
}

impl<'de> Decoder<'de> {
    /// Reads a value of a declared type, or null, or an indirection.
    fn value(&mut self, place: Place) -> Result<Target> {
        match self.value_start()? {
            Start::Null => Ok(Target::Null),
            Start::Indirection { to, offset } => self.value_again(place, to, offset),
            Start::Value { tag, at } => self.new_value(place, tag, at),
        }
    }

    pub(crate) fn value_start(&mut self) -> Result<Start> {
        let tag = self.value_tag()?;
        let at = self.position() - 4;
        let start = match tag {
            tag::NULL => Start::Null,
            tag::INDIRECTION => {
                let (to, offset) = self.indirection()?;
                Start::Indirection { to, offset }
            }
            tag::VALUE..=tag::LAST => return Ok(Start::Value { tag, at }),
            other => return Err(self.error_back(4, ErrorKind::BadValueTag(other))),
        };
        self.after_reference();
        Ok(start)
    }

    /// Reads an offset, and returns the position that it refers to.
    ///
    /// Tags and lengths are aligned to four, so an offset to padding is unambiguous: a Java ORB
    /// counts from its position before alignment.
    fn indirection(&mut self) -> Result<(usize, i32)> {
        let offset = self.long()?;
        let from = self.position() - 4;
        let origin = self.position() - self.cursor();
        let back = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
        match from.checked_sub(back).filter(|to| *to >= origin) {
            Some(to) if offset < 0 => {
                let to = origin + aligned(to - origin, 4);
                let values = self.incoming();
                values.leads_out |= to < values.any_start;
                Ok((to, offset))
            }
            _ => Err(self.bad_indirection(offset)),
        }
    }

    #[cold]
    pub(crate) fn bad_indirection(&self, offset: i32) -> crate::Error {
        self.error_back(4, ErrorKind::BadIndirection(offset))
    }

    /// Returns a value that was read before, or whose state is still being read because it encloses
    /// this position.
    fn value_again(&mut self, place: Place, to: usize, offset: i32) -> Result<Target> {
        let values = self.incoming();
        let Some(found) = values.values.find(to).cloned() else {
            return self.skipped_value(place, to, offset);
        };
        let Read { instance, graph, .. } = found;
        if !instance.info().is_a(place.formal.id) {
            return Err(self.error_back(4, ErrorKind::ValueMismatch));
        }
        if instance.is_filled() {
            return Ok(self.owned(instance, graph));
        }
        let values = self.incoming();
        values.cyclic = true;
        let graph = Arc::downgrade(&values.graph);
        Ok(Target::Back(Arc::downgrade(&instance), graph))
    }

    /// Reads a value that was skipped as part of a truncated one, and is now referenced.
    #[cold]
    fn skipped_value(&mut self, place: Place, to: usize, offset: i32) -> Result<Target> {
        let Some(&level) = self.incoming().skipped.find(to) else {
            return Err(self.bad_indirection(offset));
        };
        let back = self.go_back(to, level);
        let Start::Value { tag, at } = self.value_start()? else {
            return Err(self.bad_indirection(offset));
        };
        let value = self.new_value(place, tag, at)?;
        self.return_from(back);
        Ok(value)
    }

    /// Reads a value after its tag.
    fn new_value(&mut self, place: Place, tag: u32, at: usize) -> Result<Target> {
        let limit = self.limits().max_value_depth;
        if self.incoming().depth >= limit {
            return Err(ErrorKind::TooDeep { limit }.at(at));
        }
        let ids = self.value_header(tag, at)?;
        let (factory, truncated) = self.factory_for(place, &ids).map_err(|kind| kind.at(at))?;
        let chunked = tag & tag::CHUNKED != 0;
        if truncated && !chunked {
            return Err(ErrorKind::NoValueFactory.at(at));
        }
        let instance = factory.make();
        self.charge(1, size_of_val(&*instance) + KNOWN_OF_VALUE)?;
        let values = self.incoming();
        if values.depth == 0 {
            values.graph = Arc::default();
        }
        values.depth += 1;
        let graph = Arc::clone(&values.graph);
        let read = Read {
            instance: Arc::clone(&instance),
            graph: Arc::clone(&graph),
            level: values.chunking.level(),
        };
        values.values.insert(at, read);
        values.new.push(Arc::clone(&instance));
        let outer = self.enter_value(chunked);
        instance.fill(self)?;
        self.leave_value(outer, truncated)?;
        let values = self.incoming();
        values.depth -= 1;
        if values.depth == 0 {
            values.settle();
        }
        Ok(self.owned(instance, graph))
    }

    /// Returns a link to a value of a graph, from the current position: inside that graph, or
    /// outside.
    fn owned(&mut self, instance: Arc<dyn Instance>, graph: Arc<Graph>) -> Target {
        let values = self.incoming();
        let inside = values.depth > 0 && Arc::ptr_eq(&graph, &values.graph);
        let within = match (inside, graph.has_cycles()) {
            (true, _) => Within::Inside(Arc::downgrade(&graph)),
            (false, true) => Within::Outside(graph),
            (false, false) => Within::None,
        };
        Target::Owned(instance, within)
    }

    /// Reads codebase and repository ids.
    pub(crate) fn value_header(&mut self, tag: u32, at: usize) -> Result<TypeInfo<'de>> {
        if tag & !tag::KNOWN != 0 {
            return Err(ErrorKind::BadValueTag(tag).at(at));
        }
        if tag & tag::CHUNKED != 0 && self.is_in_pieces() {
            return Err(ErrorKind::BadChunk.at(at)); // GIOP 1.1 has no chunks
        }
        if tag & tag::CODEBASE != 0 {
            self.shared_text()?;
        }
        let ids = match tag & tag::TYPE_INFO {
            0 => return Ok(TypeInfo::Declared),
            tag::ONE_ID => vec![self.shared_text()?],
            tag::ID_LIST => self.repository_ids()?,
            _ => return Err(ErrorKind::BadValueTag(tag).at(at)),
        };
        self.look_up(&ids)?;
        Ok(TypeInfo::Ids(ids))
    }

    /// Charges the work of finding types by their ids.
    fn look_up(&mut self, ids: &[Cow<'de, str>]) -> Result<()> {
        let most = LOOKED_UP + LOOKED_UP_PER_OCTET * self.whole().len();
        let values = self.incoming();
        values.looked_up += ids.iter().map(|id| id.len() + LOOKED_UP_PER_ID).sum::<usize>();
        match values.looked_up > most {
            true => Err(self.error(ErrorKind::TooMuchShared)),
            false => Ok(()),
        }
    }

    fn repository_ids(&mut self) -> Result<Vec<Cow<'de, str>>> {
        let count = self.long()?;
        let at = self.position() - 4;
        if count == -1 {
            let (to, offset) = self.indirection()?;
            let list = self.incoming().lists.find(to).cloned();
            return list.ok_or_else(|| self.bad_indirection(offset));
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count == 0 || count > MAX_IDS {
            let bound = MAX_IDS;
            return Err(ErrorKind::BoundExceeded { length: count, bound }.at(at));
        }
        let ids: Result<Vec<_>> = (0..count).map(|_| self.shared_text()).collect();
        let ids = ids?;
        self.incoming().lists.insert(at, ids.clone());
        Ok(ids)
    }

    /// Reads a repository id or codebase, or an indirection to an earlier one.
    fn shared_text(&mut self) -> Result<Cow<'de, str>> {
        let length = self.ulong()?;
        if length == tag::INDIRECTION {
            let (to, offset) = self.indirection()?;
            let text = self.incoming().texts.find(to).cloned();
            return text.ok_or_else(|| self.bad_indirection(offset));
        }
        self.jump(self.cursor() - 4);
        let at = self.position();
        let text = self.string()?;
        self.incoming().texts.insert(at, text.clone());
        Ok(text)
    }

    /// Returns the factory for the value, and whether the value is truncated to its type.
    fn factory_for(
        &self,
        place: Place,
        ids: &TypeInfo<'de>,
    ) -> core::result::Result<(Factory, bool), ErrorKind> {
        let TypeInfo::Ids(ids) = ids else {
            let factory = self.factory(place, place.formal.id);
            return Ok((factory.ok_or(ErrorKind::NoValueFactory)?, false));
        };
        let mut known = ids.iter().enumerate().filter_map(|(index, id)| {
            let factory = self.factory(place, id)?;
            Some((factory, index > 0))
        });
        let (factory, truncated) = known.next().ok_or(ErrorKind::NoValueFactory)?;
        if !factory.info().is_a(place.formal.id) {
            return Err(ErrorKind::ValueMismatch);
        }
        Ok((factory, truncated))
    }

    fn factory(&self, place: Place, id: &str) -> Option<Factory> {
        let near = place.factories.iter().find(|factory| factory.info().id == id).copied();
        near.or_else(|| self.registry()?.factory(id))
    }

    /// Reads the header of a value that is skipped; returns whether the value is chunked.
    pub(super) fn skip_header(&mut self, tag: u32, level: u32) -> Result<bool> {
        let at = self.position() - 4;
        self.value_header(tag, at)?;
        self.gone_past(at, level);
        Ok(tag & tag::CHUNKED != 0)
    }
}

impl<'de> Decoder<'de> {
    /// Records a value that was skipped, in case of a later indirection to it.
    pub(super) fn gone_past(&mut self, at: usize, level: u32) {
        self.incoming().skipped.insert(at, level);
    }

    /// Returns the chunk level of the tag of an earlier value; `None` if there is none at this
    /// position.
    pub(super) fn level_of(&mut self, at: usize) -> Option<u32> {
        let values = self.incoming();
        let read = values.values.find(at).map(|read| read.level);
        read.or_else(|| values.skipped.find(at).copied())
    }
}

impl Incoming<'_> {
    /// Completes an outermost value: if links in it close cycles, their targets live as long as the
    /// graph.
    fn settle(&mut self) {
        if self.cyclic {
            self.cyclic = false;
            self.graph.keep(core::mem::take(&mut self.new));
        }
        self.new.clear();
    }
}
