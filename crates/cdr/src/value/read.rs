//! Reading values: headers, sharing, truncation.

use crate::prelude::*;
use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::fmt;

use super::chunks::Chunking;
use super::handle::{Graph, Instance, Target, Within};
use super::untyped::Untyped;
use super::{Factory, Link, Value, ValueInfo, Valuetype, tag};
use crate::pieces::Pieces;
use crate::primitive::aligned;
use crate::{Decode, Decoder, ErrorKind, Result};

/// The most repository ids a value may come with: no chain of truncatable types is that long.
pub(super) const MAX_IDS: usize = 64;

/// Values that were read since the message or encapsulation began.
#[derive(Clone, Default)]
pub(crate) struct Incoming<'de> {
    /// Values by the position of their tags.
    values: Positions<Read>,
    /// Values read by their type codes, by the position of their tags.
    pub(super) untyped: Positions<Untyped>,
    /// Values gone past, inside what was truncated or in an any, and how deep in chunks they lie.
    skipped: Positions<u32>,
    /// Repository ids and codebases.
    texts: Positions<Cow<'de, str>>,
    /// Lists of repository ids.
    lists: Positions<Vec<Cow<'de, str>>>,
    pub(super) chunking: Chunking<'de>,
    /// The pieces that the message came in, if it did.
    pub(crate) pieces: Option<Pieces<'de>>,
    /// Number of open values.
    pub(super) depth: u16,
    /// Start of the any that is being gone past, and whether anything in it leads to before that.
    pub(super) any_start: usize,
    pub(super) leads_out: bool,
    /// Number of octets that were read again or made, because anys need what is outside them.
    pub(super) repeated: usize,
    /// Octets of repository ids looked up so far: ids of one value may be shared by all others.
    looked_up: usize,
    /// Graph of the values that are read now, within the outermost one.
    graph: Arc<Graph>,
    /// Values first read since the outermost one began, and whether a link among them closes a cycle.
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

/// A value read as one of a Rust type.
#[derive(Clone, Debug)]
struct Read {
    instance: Arc<dyn Instance>,
    graph: Arc<Graph>,
    /// Level of chunks in which its tag lies.
    level: u32,
}

/// Things by where in the message they start.
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

    /// Nearly always at the end.
    pub(super) fn insert(&mut self, position: usize, thing: T) {
        match self.0.binary_search_by_key(&position, |(at, _)| *at) {
            Ok(index) => self.0[index].1 = thing,
            Err(index) => self.0.insert(index, (position, thing)),
        }
    }
}

/// Start of a value or of what may stand in its place.
pub(crate) enum Start {
    Null,
    /// The value whose tag is at this position.
    Indirection {
        to: usize,
        offset: i32,
    },
    /// A tag, and where it is.
    Value {
        tag: u32,
        at: usize,
    },
}

/// The repository ids of a value.
pub(crate) enum TypeInfo<'de> {
    Declared,
    Ids(Vec<Cow<'de, str>>),
}

/// A place where IDL lets a value stand: what type it is declared with.
#[derive(Clone, Copy)]
struct Place {
    formal: &'static ValueInfo,
    factories: &'static [Factory],
}

/// Octets that are taken to be needed for what is known of a value while its message is read.
const KNOWN_OF_VALUE: usize = 128;

/// Most octets of repository ids looked up, besides those for each octet of the message: several values
/// may share a list of ids, which costs them but a few octets.
const LOOKED_UP: usize = 64 << 10;
const LOOKED_UP_PER_OCTET: usize = 64;
/// Charge for looking up an id, besides its octets.
const LOOKED_UP_PER_ID: usize = 64;

impl<'de, T: Valuetype> Decode<'de> for Link<T> {
    const MIN_SIZE: usize = 4;

    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        let place = Place { formal: T::INFO, factories: T::factories() };
        d.value(place).map(Self::from_target)
    }
}

impl<'de, T: Valuetype> Decode<'de> for Value<T> {
    const MIN_SIZE: usize = 4;

    /// Null is an error.
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        let at = d.position();
        let link = Link::<T>::decode(d)?;
        link.get().ok_or(ErrorKind::BadValueTag(tag::NULL).at(at))
    }
}

impl<'de> Decoder<'de> {
    /// Reads what stands where a value is declared.
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

    /// Reads an offset, and returns where it leads.
    ///
    /// Tags and lengths are aligned to four, so an offset to the padding before one can mean nothing else: a Java ORB counts
    /// from where it stood before it aligned.
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

    /// A value that was read before, or is being read around this place.
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

    /// A value that was skipped, as part of one that was truncated, and is wanted after all.
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

    /// Reads a value from behind its tag.
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

    /// A link to a value of a graph, from where reading is now: inside that graph, or outside.
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

    /// Codebase and repository ids.
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

    /// Counts the work of finding types by their ids.
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

    /// A repository id or codebase, or where it was read already.
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

    /// Returns the factory that makes the value, and whether some of its state will be left over.
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

    /// Reads the header of a value that is skipped; says whether it is chunked.
    pub(super) fn skip_header(&mut self, tag: u32, level: u32) -> Result<bool> {
        let at = self.position() - 4;
        self.value_header(tag, at)?;
        self.gone_past(at, level);
        Ok(tag & tag::CHUNKED != 0)
    }
}

impl<'de> Decoder<'de> {
    /// Remembers a value that no Rust value was made of, in case something leads to it.
    pub(super) fn gone_past(&mut self, at: usize, level: u32) {
        self.incoming().skipped.insert(at, level);
    }

    /// Returns the level of chunks in which the tag of an earlier value lies; `None` if there is
    /// none at this position.
    pub(super) fn level_of(&mut self, at: usize) -> Option<u32> {
        let values = self.incoming();
        let read = values.values.find(at).map(|read| read.level);
        read.or_else(|| values.skipped.find(at).copied())
    }
}

impl Incoming<'_> {
    /// Ends an outermost value: if links in it close cycles, what they lead to lives as long as the graph.
    fn settle(&mut self) {
        if self.cyclic {
            self.cyclic = false;
            self.graph.keep(core::mem::take(&mut self.new));
        }
        self.new.clear();
    }
}
