//! Identity of the object that the running request invokes (`PortableServer::Current`).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use oxorb_core::{Interface, Servant};

use crate::adapter::RootAdapter;
use crate::object_map::Place;
use crate::pass::Pass;
use crate::poa::{Poa, PoaInner};
use crate::{ObjectId, PoaError};

/// Identity of the object whose request the calling thread runs (`PortableServer::Current`), for
/// servants that incarnate several objects. It covers the requests of one ORB.
///
/// Nested requests, such as a servant's calls of local objects, each have their own identity; when
/// one ends, the identity of the outer request applies again. In a servant manager only the POA and
/// the object id are available. Recording the identity costs each request a few instructions.
///
/// ```
/// # use std::sync::Arc;
/// # use oxorb_core::{Options, Orb};
/// # use oxorb_poa::RootAdapter;
/// # let orb = Orb::new(Options::default());
/// let root = RootAdapter::install(&orb); // with the facade: `orb.root_poa()`
/// let current = root.current();
/// // Here no request runs.
/// assert!(current.object_id().is_err());
/// ```
#[derive(Clone)]
pub struct Current {
    adapter: Arc<RootAdapter>,
}

/// Error of a thread that runs no request of this ORB (`PortableServer::Current::NoContext`).
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this thread runs no request of this ORB; call this only from a servant")]
pub struct NoContext;

impl fmt::Debug for NoContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Current {
    pub(crate) fn of(adapter: &Arc<RootAdapter>) -> Self {
        Current { adapter: Arc::clone(adapter) }
    }

    /// Returns the POA of the object (`get_POA`).
    ///
    /// # Errors
    /// [`NoContext`].
    pub fn poa(&self) -> Result<Poa, NoContext> {
        let (poa, _) = self.frame()?;
        Ok(Poa::of(&self.adapter, &poa))
    }

    /// Returns the object's id within its POA (`get_object_id`).
    ///
    /// # Errors
    /// [`NoContext`].
    pub fn object_id(&self) -> Result<ObjectId, NoContext> {
        let (poa, frame) = self.frame()?;
        frame.object_id(&poa).ok_or(NoContext)
    }

    /// Returns the object's reference (`get_reference`).
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`] instead of [`NoContext`]; any error in the creation of the
    /// reference.
    pub fn reference<I: Interface>(&self) -> Result<I, PoaError> {
        let id = self.object_id().map_err(|_| PoaError::ObjectNotActive)?;
        let poa = self.poa().map_err(|_| PoaError::ObjectNotActive)?;
        let type_id = match self.servant() {
            Ok(servant) => servant.repository_id().to_owned(),
            Err(_) => I::REPOSITORY_ID.to_owned(),
        };
        poa.reference_to(&id, &type_id).map(I::from_ref)
    }

    /// Returns the servant that serves the request (`get_servant`).
    ///
    /// # Errors
    /// [`NoContext`]: outside of requests, and in a servant manager.
    pub fn servant(&self) -> Result<Arc<dyn Servant>, NoContext> {
        let (poa, frame) = self.frame()?;
        frame.servant(&poa).ok_or(NoContext)
    }

    fn frame(&self) -> Result<(Arc<PoaInner>, Frame), NoContext> {
        let frame = FRAME.with(Here::get);
        if frame.adapter != address(&self.adapter) {
            return Err(NoContext);
        }
        let poa = self.adapter.poa_of(frame.rest.poa, frame.rest.incarnation);
        Ok((poa.ok_or(NoContext)?, frame))
    }
}

/// Request that a thread runs.
#[derive(Clone, Copy)]
struct Frame {
    /// Address of the root adapter; 0 if no request runs.
    adapter: usize,
    rest: Rest,
}

/// Frame of a thread, in two parts, so that leaving an outermost request writes a single word.
struct Here {
    adapter: Cell<usize>,
    rest: Cell<Rest>,
}

/// Fields that are valid only while the adapter is not 0.
#[derive(Clone, Copy)]
struct Rest {
    incarnation: u64,
    poa: u32,
    place: Place,
    /// Index of the [`Extra`] with further data, plus one; `place` is then invalid. 0 without such
    /// data.
    extra: u32,
    /// Number of frames, from the outermost to this one, whose ORB differs from that of the
    /// enclosing frame. A `u32`, because a structure without padding is copied in whole words.
    changes: u32,
}

/// Data of a running request for an object that has no place in the map of active objects.
#[derive(Default)]
struct Extra {
    /// Object id. The buffer is kept so that its allocation is reused.
    id: Vec<u8>,
    is_object: bool,
    servant: Option<Arc<dyn Servant>>,
}

thread_local! {
    static FRAME: Here = const {
        Here {
            adapter: Cell::new(0),
            rest: Cell::new(Rest {
                incarnation: 0,
                poa: 0,
                place: Place { slot: 0, generation: 0 },
                extra: 0,
                changes: 0,
            }),
        }
    };
    static EXTRAS: RefCell<Extras> = const { RefCell::new(Extras { stack: Vec::new(), used: 0 }) };
}

struct Extras {
    stack: Vec<Extra>,
    used: usize,
}

/// Guard of a running request. Holds the frame of the enclosing request, if there is one.
#[must_use]
pub(crate) struct Entered(Option<Frame>);

/// Guard of a running request for an object that has no place in the map of active objects.
#[must_use]
pub(crate) struct EnteredExtra {
    _frame: Entered,
}

/// Enters a request for an active object.
#[inline]
pub(crate) fn enter(adapter: &RootAdapter, pass: &Pass, place: Place) -> Entered {
    push(adapter, pass.poa.number, pass.incarnation, place, 0)
}

/// Enters a request for an object that is not active.
pub(crate) fn enter_servant(
    adapter: &RootAdapter,
    poa: &PoaInner,
    id: &[u8],
    servant: &Arc<dyn Servant>,
) -> EnteredExtra {
    push_extra(adapter, poa, Some(id), Some(Arc::clone(servant)))
}

/// Enters a call of a servant manager or adapter activator.
pub(crate) fn enter_manager(
    adapter: &RootAdapter,
    poa: &PoaInner,
    id: Option<&[u8]>,
) -> EnteredExtra {
    push_extra(adapter, poa, id, None)
}

/// Reports whether this thread runs a request, or a call of a servant manager, of this ORB.
/// Conservatively returns `true` if requests of several ORBs are nested on the thread.
pub(crate) fn within(adapter: &RootAdapter) -> bool {
    let frame = FRAME.with(Here::get);
    frame.adapter == address(adapter) || frame.rest.changes != 0
}

/// Reports whether the request that this thread runs is for exactly this object.
pub(crate) fn is_for(adapter: &RootAdapter, poa: &PoaInner, id: &[u8]) -> bool {
    let frame = FRAME.with(Here::get);
    frame.adapter == address(adapter)
        && frame.rest.incarnation == poa.incarnation
        && frame.object_id(poa).is_some_and(|here| here.as_bytes() == id)
}

/// Appends the name of the object whose request this thread runs, in the format of access rules.
/// Allocates nothing if `text` has capacity.
pub(crate) fn write_object(adapter: &RootAdapter, text: &mut String) {
    let frame = FRAME.with(Here::get);
    if frame.adapter != address(adapter) {
        return;
    }
    if let Some(poa) = adapter.poa_of(frame.rest.poa, frame.rest.incarnation) {
        let names = crate::key::names(&poa.path);
        let names = names.flatten().map(|(name, _)| name);
        frame.look_at_id(&poa, |id| oxorb_core::write_object(text, names, id));
    }
}

#[inline]
fn push(adapter: &RootAdapter, poa: u32, incarnation: u64, place: Place, extra: u32) -> Entered {
    let adapter = address(adapter);
    FRAME.with(|here| {
        let before = here.outer();
        let changes = match &before {
            None => 0,
            Some(before) => before.rest.changes + u32::from(before.adapter != adapter),
        };
        here.adapter.set(adapter);
        here.rest.set(Rest { incarnation, poa, place, extra, changes });
        Entered(before)
    })
}

fn push_extra(
    adapter: &RootAdapter,
    poa: &PoaInner,
    id: Option<&[u8]>,
    servant: Option<Arc<dyn Servant>>,
) -> EnteredExtra {
    let number = EXTRAS.with_borrow_mut(|extras| {
        if extras.used == extras.stack.len() {
            extras.stack.push(Extra::default());
        }
        let extra = &mut extras.stack[extras.used];
        extra.id.clear();
        extra.id.extend_from_slice(id.unwrap_or_default());
        extra.is_object = id.is_some();
        extra.servant = servant;
        extras.used += 1;
        extras.used as u32
    });
    EnteredExtra { _frame: push(adapter, poa.number, poa.incarnation, Place::default(), number) }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        FRAME.with(|here| match &self.0 {
            None => here.adapter.set(0),
            Some(before) => here.set(*before),
        });
    }
}

impl Here {
    /// Returns the frame of the thread.
    fn get(&self) -> Frame {
        Frame { adapter: self.adapter.get(), rest: self.rest.get() }
    }

    #[cold]
    fn set(&self, frame: Frame) {
        self.adapter.set(frame.adapter);
        self.rest.set(frame.rest);
    }

    /// Returns the frame of the thread, if it runs a request.
    #[inline]
    fn outer(&self) -> Option<Frame> {
        (self.adapter.get() != 0).then(|| self.get())
    }
}

impl Drop for EnteredExtra {
    fn drop(&mut self) {
        let servant = EXTRAS.with_borrow_mut(|extras| {
            extras.used -= 1;
            let used = extras.used;
            extras.stack[used].servant.take()
        });
        drop(servant);
    }
}

impl Frame {
    fn object_id(&self, poa: &PoaInner) -> Option<ObjectId> {
        if self.rest.extra != 0 {
            return self
                .extra(|extra| extra.is_object.then(|| ObjectId::from(extra.id.as_slice())));
        }
        let octets = match poa.objects.at(self.rest.place) {
            Some(object) => object.id_octets(),
            None => match poa.objects.leaving(self.rest.place) {
                Some(object) => object.id_octets(),
                None => self.rest.place.to_id().into(),
            },
        };
        Some(ObjectId::from(&*octets))
    }

    /// Calls `look` with the object's id, if the frame has an object.
    fn look_at_id(&self, poa: &PoaInner, look: impl FnOnce(&[u8])) {
        if self.rest.extra != 0 {
            self.extra(|extra| extra.is_object.then(|| look(&extra.id)));
            return;
        }
        let place = self.rest.place;
        if let Some(object) = poa.objects.at(place) {
            object.look_at_id(look);
        } else if let Some(object) = poa.objects.leaving(place) {
            object.look_at_id(look);
        } else {
            look(&place.to_id());
        }
    }

    fn servant(&self, poa: &PoaInner) -> Option<Arc<dyn Servant>> {
        if self.rest.extra != 0 {
            return self.extra(|extra| extra.servant.clone());
        }
        if let Some(object) = poa.objects.at(self.rest.place) {
            return Some(Arc::clone(&object.servant));
        }
        let leaving = poa.objects.leaving(self.rest.place)?;
        Some(Arc::clone(&leaving.servant))
    }

    fn extra<R>(&self, look: impl FnOnce(&Extra) -> Option<R>) -> Option<R> {
        EXTRAS.with_borrow(|extras| look(extras.stack.get(self.rest.extra as usize - 1)?))
    }
}

#[inline]
fn address(adapter: &RootAdapter) -> usize {
    std::ptr::from_ref(adapter) as usize
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current").field("object_id", &self.object_id().ok()).finish()
    }
}
