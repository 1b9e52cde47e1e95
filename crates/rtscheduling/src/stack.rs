//! Stack of the scheduling segments and requests of a native thread, the outermost first.

use std::any::Any;
use std::cell::RefCell;
use std::mem;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use oxorb::rt::RaisedPriority;
use oxorb::{Ref, SystemException};

use crate::slots::{Registry, Slot};
use crate::{Grant, Id, Segment};

/// Maximum number of nested segments and requests in one thread.
pub(crate) const MAX_DEPTH: usize = 64;

/// Core's ORB, below the facade.
pub(crate) type Core = <oxorb::Orb as Deref>::Target;

thread_local! {
    /// Stack of this thread under each scheduling, by scheduling number.
    static STACKS: RefCell<Vec<(u64, Rc<dyn Any>)>> = const { RefCell::new(Vec::new()) };
}

/// Kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Outermost segment of a distributable thread.
    Thread,
    /// Segment within another frame of its thread.
    Nested,
    /// Request that carries a distributable thread.
    Request,
    /// Request without a distributable thread, nested in one.
    Other,
}

/// Segment or request.
pub(crate) struct Frame<P> {
    pub(crate) kind: Kind,
    /// Unique among all frames of the thread.
    pub(crate) serial: u64,
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) parameter: Option<P>,
    pub(crate) implicit: Option<P>,
    grant: Grant,
    raised: Option<RaisedPriority>,
}

/// Frames of one native thread under one scheduling. Not borrowed while a scheduler is called.
pub(crate) struct Stack<P> {
    pub(crate) slot: Arc<Slot<Ref>>,
    registry: Arc<Registry<Ref>>,
    frames: RefCell<Frames<P>>,
}

struct Frames<P> {
    /// Frames, of which the first `depth` are in use; the others are kept so that their allocations
    /// are reused.
    all: Vec<Frame<P>>,
    depth: usize,
    serials: u64,
}

/// Returns the stack of this thread under a scheduling, if it has one.
pub(crate) fn known<P: 'static>(number: u64) -> Option<Rc<Stack<P>>> {
    let found = STACKS.try_with(|stacks| {
        let stacks = stacks.borrow();
        let (_, stack) = stacks.iter().find(|(known, _)| *known == number)?;
        Rc::clone(stack).downcast().ok()
    });
    found.ok().flatten()
}

/// Returns the stack of this thread under a scheduling. Allocates the first time.
pub(crate) fn own<P: 'static>(number: u64, registry: &Arc<Registry<Ref>>) -> Rc<Stack<P>> {
    known(number).unwrap_or_else(|| adopt(number, registry, registry.attach()))
}

/// Gives this thread a stack with an existing slot.
#[cold]
pub(crate) fn adopt<P: 'static>(
    number: u64,
    registry: &Arc<Registry<Ref>>,
    slot: Arc<Slot<Ref>>,
) -> Rc<Stack<P>> {
    let stack = Rc::new(Stack::<P> {
        slot,
        registry: Arc::clone(registry),
        frames: RefCell::new(Frames { all: Vec::with_capacity(4), depth: 0, serials: 0 }),
    });
    let erased: Rc<dyn Any> = Rc::clone(&stack) as Rc<dyn Any>;
    STACKS.with_borrow_mut(|stacks| stacks.push((number, erased)));
    stack
}

impl<P> Drop for Stack<P> {
    fn drop(&mut self) {
        self.registry.detach(&self.slot);
    }
}

impl<P: Copy> Stack<P> {
    /// Returns the number of nested segments and requests.
    pub(crate) fn depth(&self) -> usize {
        self.frames.borrow().depth
    }

    /// Pushes a frame and returns its serial number; `None` at the depth limit.
    pub(crate) fn push(
        &self,
        kind: Kind,
        id: Id,
        name: &str,
        parameter: Option<P>,
        implicit: Option<P>,
    ) -> Option<u64> {
        let frames = &mut *self.frames.borrow_mut();
        if frames.depth == MAX_DEPTH {
            return None;
        }
        frames.serials += 1;
        let serial = frames.serials;
        match frames.all.get_mut(frames.depth) {
            Some(frame) => {
                frame.kind = kind;
                frame.serial = serial;
                frame.id = id;
                frame.name.clear();
                frame.name.push_str(name);
                frame.parameter = parameter;
                frame.implicit = implicit;
                frame.grant = None;
            }
            None => frames.all.push(Frame {
                kind,
                serial,
                id,
                name: name.to_owned(),
                parameter,
                implicit,
                grant: None,
                raised: None,
            }),
        }
        frames.depth += 1;
        Some(serial)
    }

    /// Pops the top frame and resets its priority.
    pub(crate) fn pop(&self) {
        let raised = {
            let frames = &mut *self.frames.borrow_mut();
            frames.depth = frames.depth.saturating_sub(1);
            let depth = frames.depth;
            frames.all.get_mut(depth).and_then(|frame| frame.raised.take())
        };
        drop(raised);
    }

    /// Calls `look` with the top frame, if there is one. `look` must not use the stack.
    pub(crate) fn top<R>(&self, look: impl FnOnce(&mut Frame<P>) -> R) -> Option<R> {
        self.at(0, look)
    }

    /// Calls `look` with the frame `below` levels below the top. `look` must not use the stack.
    pub(crate) fn at<R>(&self, below: usize, look: impl FnOnce(&mut Frame<P>) -> R) -> Option<R> {
        let frames = &mut *self.frames.borrow_mut();
        let index = frames.depth.checked_sub(below + 1)?;
        frames.all.get_mut(index).map(look)
    }

    /// Calls `act` with the top frame as a segment; returns `None` if it belongs to no
    /// distributable thread.
    pub(crate) fn segment<R>(&self, act: impl FnOnce(&Segment<'_, P>) -> R) -> Option<R> {
        self.segment_at(0, act)
    }

    /// Calls `act` with the frame `below` levels below the top as a segment.
    pub(crate) fn segment_at<R>(
        &self,
        below: usize,
        act: impl FnOnce(&Segment<'_, P>) -> R,
    ) -> Option<R> {
        let (id, name, parameter, implicit) = self.at(below, |frame| {
            let parameter = frame.parameter?;
            Some((frame.id, mem::take(&mut frame.name), parameter, frame.implicit))
        })??;
        let done = act(&Segment {
            id: &id,
            name: &name,
            parameter: &parameter,
            implicit: implicit.as_ref(),
        });
        self.at(below, |frame| frame.name = name);
        Some(done)
    }

    /// Sets the thread's priority to the one that a scheduler granted, until the top frame is
    /// popped.
    ///
    /// # Errors
    /// DATA_CONVERSION if it maps to no native priority.
    pub(crate) fn grant(&self, orb: &Core, grant: Grant) -> Result<(), SystemException> {
        let Some(priority) = grant else {
            return Ok(());
        };
        let change = |frame: &mut Frame<P>| {
            if frame.grant == grant {
                return None;
            }
            frame.grant = None;
            Some(frame.raised.take())
        };
        let Some(Some(before)) = self.top(change) else {
            return Ok(());
        };
        // Restore the earlier priority first, so that the new grant returns to it and not to the
        // previous grant.
        drop(before);
        let raised = orb.raise_thread(priority)?;
        self.top(|frame| {
            frame.grant = grant;
            frame.raised = Some(raised);
        });
        Ok(())
    }
}
