//! Objects with state, exceptions and references.

use std::borrow::Cow;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Ref, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_interop::interop::{self, *};
use oxorb_interop::{Callback, internal, interop_jacorb, lanes};

type Result<T> = core::result::Result<T, SystemException>;

// ---- attributes, oneway, inheritance -------------------------------------

#[derive(Default)]
pub(crate) struct Properties(Mutex<State>);

#[derive(Default)]
struct State {
    count: i32,
    title: String,
    paint: Option<Colour>,
    last: Option<Record>,
    first: Option<Record>,
    writes: u32,
    stored: u32,
}

impl Properties {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("not poisoned")
    }

    fn write(&self, change: impl FnOnce(&mut State)) -> Result<()> {
        let mut state = self.state();
        state.writes += 1;
        change(&mut state);
        Ok(())
    }
}

impl interop::Properties for Properties {
    fn count(&self) -> Result<i32> {
        Ok(self.state().count)
    }

    fn set_count(&self, value: i32) -> Result<()> {
        self.write(|state| state.count = value)
    }

    fn title(&self) -> Result<String> {
        Ok(self.state().title.clone())
    }

    fn set_title(&self, value: &str) -> Result<()> {
        self.write(|state| state.title = value.to_owned())
    }

    fn paint(&self) -> Result<Colour> {
        Ok(self.state().paint.unwrap_or(Colour::Red))
    }

    fn set_paint(&self, value: Colour) -> Result<()> {
        self.write(|state| state.paint = Some(value))
    }

    fn last(&self) -> Result<Record> {
        self.state().last.clone().ok_or(internal())
    }

    fn set_last(&self, value: &Record) -> Result<()> {
        self.write(|state| state.last = Some(value.clone()))
    }

    fn first(&self) -> Result<Record> {
        self.state().first.clone().ok_or(internal())
    }

    fn set_first(&self, value: &Record) -> Result<()> {
        self.write(|state| state.first = Some(value.clone()))
    }

    fn writes(&self) -> Result<u32> {
        Ok(self.state().writes)
    }

    fn nudge(&self, by: i32) {
        self.state().count += by;
    }

    fn store(&self, data: &[u8]) {
        self.state().stored = data.len() as u32;
    }

    fn stored(&self) -> Result<u32> {
        Ok(self.state().stored)
    }
}

pub(crate) struct Bottom {
    side: AtomicI32,
}

impl Default for Bottom {
    fn default() -> Self {
        Self { side: AtomicI32::new(bottom::LEVEL) }
    }
}

impl interop::Root for Bottom {
    fn who(&self) -> Result<String> {
        Ok("bottom".to_owned())
    }

    fn temper(&self) -> Result<root::Mood> {
        Ok(root::Mood::Tense)
    }
}

impl interop::Left for Bottom {
    fn from_left(&self) -> Result<String> {
        Ok("left".to_owned())
    }

    fn side(&self) -> Result<i32> {
        Ok(self.side.load(Ordering::SeqCst))
    }

    fn set_side(&self, value: i32) -> Result<()> {
        self.side.store(value, Ordering::SeqCst);
        Ok(())
    }
}

impl interop::Right for Bottom {
    fn from_right(&self, m: root::Mood) -> Result<String> {
        Ok(if m == root::Mood::Calm { "right, calm" } else { "right, tense" }.to_owned())
    }
}

impl interop::Bottom for Bottom {
    fn from_bottom(&self) -> Result<String> {
        Ok("below".to_owned())
    }
}

// ---- exceptions -------------------------------------------------------------

pub(crate) struct Faults;

fn detailed() -> Detailed {
    Detailed {
        reason: "because".to_owned(),
        code: -7,
        context_record: Record {
            name: "record".to_owned(),
            position: Point { tag: 9, x: -1.5, y: -2, height: 3, visible: true },
            paint: Colour::Green,
            numbers: vec![1, -1],
            checksum: [5, 4, 3, 2, 1],
            notes: vec!["noted".to_owned()],
        },
    }
}

impl interop::Faults for Faults {
    fn raise_user(&self, which: i32) -> core::result::Result<i32, faults::RaiseUserError> {
        match which {
            1 => Err(Empty {}.into()),
            2 => Err(detailed().into()),
            3 => {
                let label = by_short::LLabel::new(7).expect("7 selects l");
                Err(Chosen { choice: ByShort::L(label, 77) }.into())
            }
            _ => Ok(which),
        }
    }

    fn raise_system(&self, name: &str, minor: u32, completed: u32) -> Result<()> {
        let completed = match completed {
            0 => CompletionStatus::Yes,
            1 => CompletionStatus::No,
            _ => CompletionStatus::Maybe,
        };
        SystemExceptionKind::from_name(name)
            .map_or(Ok(()), |kind| Err(SystemException::new(kind, minor, completed)))
    }

    fn maybe(&self, now: bool) -> core::result::Result<(), faults::MaybeError> {
        if now { Err(Empty {}.into()) } else { Ok(()) }
    }

    fn maybe_out(
        &self,
        now: bool,
    ) -> core::result::Result<(String, Cow<'_, [u8]>), faults::MaybeOutError> {
        if now {
            Err(detailed().into())
        } else {
            Ok(("fine".to_owned(), Cow::Borrowed(&[0, 1, 2])))
        }
    }
}

/// Types that only JacORB and OxORB support.
#[derive(Default)]
pub(crate) struct JacorbExtras {
    level: AtomicI32,
}

impl interop_jacorb::Extras for JacorbExtras {
    fn broken(&self) -> core::result::Result<i32, interop_jacorb::extras::BrokenError> {
        Err(interop_jacorb::Refused { limit: -1 }.into())
    }

    fn level(&self) -> core::result::Result<i32, interop_jacorb::extras::LevelError> {
        match self.level.load(Ordering::SeqCst) {
            level @ 0.. => Ok(level),
            _ => Err(interop_jacorb::Refused { limit: 0 }.into()),
        }
    }

    fn set_level(
        &self,
        value: i32,
    ) -> core::result::Result<(), interop_jacorb::extras::SetLevelError> {
        if value > 10 {
            return Err(interop_jacorb::Refused { limit: 10 }.into());
        }
        self.level.store(value, Ordering::SeqCst);
        Ok(())
    }

    fn echo_secret(
        &self,
        it: &oxorb::values::ValueLink<interop_jacorb::Secret>,
    ) -> core::result::Result<oxorb::values::ValueLink<interop_jacorb::Secret>, SystemException>
    {
        Ok(it.clone())
    }
}

// ---- references ---------------------------------------------------------------

struct Node {
    orb: Orb,
    value: i32,
}

impl interop::Node for Node {
    fn value(&self) -> Result<i32> {
        Ok(self.value)
    }

    fn next(&self) -> Result<Option<NodeRef>> {
        node(&self.orb, self.value + 1).map(Some)
    }
}

fn node(orb: &Orb, value: i32) -> Result<NodeRef> {
    lanes::declared(orb).activate(Node { orb: orb.clone(), value }).map_err(|_| internal())
}

/// Forwards every request elsewhere. Written without a generated trait, like a gateway.
struct Forwarder(Ref);

impl Servant for Forwarder {
    fn repository_id(&self) -> &str {
        NodeRef::REPOSITORY_ID
    }

    fn is_a(&self, id: &str) -> bool {
        [NodeRef::REPOSITORY_ID, ObjectRef::REPOSITORY_ID].contains(&id)
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        upcall.forward(&self.0)
    }
}

pub(crate) struct References {
    orb: Orb,
}

impl References {
    pub(crate) fn new(orb: &Orb) -> Self {
        Self { orb: orb.clone() }
    }
}

/// Returns the old value of `b` twice, and stores `a` in it.
fn rotate<T: Clone>(a: T, b: &mut T) -> Result<(T, T)> {
    let old = std::mem::replace(b, a);
    Ok((old.clone(), old))
}

impl interop::References for References {
    fn rotate_node(
        &self,
        a: Option<&NodeRef>,
        b: &mut Option<NodeRef>,
    ) -> Result<(Option<NodeRef>, Option<NodeRef>)> {
        rotate(a.cloned(), b)
    }

    fn rotate_object(
        &self,
        a: Option<&ObjectRef>,
        b: &mut Option<ObjectRef>,
    ) -> Result<(Option<ObjectRef>, Option<ObjectRef>)> {
        rotate(a.cloned(), b)
    }

    fn rotate_nodes(&self, a: &[Option<NodeRef>], b: &mut Nodes) -> Result<(Nodes, Nodes)> {
        rotate(a.to_owned(), b)
    }

    fn rotate_holder(&self, a: &Holder, b: &mut Holder) -> Result<(Holder, Holder)> {
        rotate(a.clone(), b)
    }

    fn make_node(&self, value: i32) -> Result<Option<NodeRef>> {
        node(&self.orb, value).map(Some)
    }

    fn make_nil(&self) -> Result<Option<NodeRef>> {
        Ok(None)
    }

    fn is_nil(&self, n: Option<&NodeRef>) -> Result<bool> {
        Ok(n.is_none())
    }

    fn make_forwarded(&self, value: i32) -> Result<Option<NodeRef>> {
        let there = node(&self.orb, value)?;
        let forwarder = Arc::new(Forwarder(there.reference().clone()));
        let here =
            lanes::declared(&self.orb).activate_servant(forwarder).map_err(|_| internal())?;
        Ok(Some(NodeRef::from_ref(here)))
    }

    fn make_stale(&self) -> Result<Option<NodeRef>> {
        let stale = node(&self.orb, 0)?;
        lanes::declared(&self.orb).deactivate(&stale).map_err(|_| internal())?;
        Ok(Some(stale))
    }

    fn call_back(&self, who: Option<&CallbackRef>, n: i32) -> Result<i32> {
        let who = who.ok_or(internal())?;
        (1..=n).map(|question| who.answer(question)).sum()
    }

    fn fail_back(
        &self,
        who: Option<&CallbackRef>,
        code: i32,
    ) -> core::result::Result<(), references::FailBackError> {
        who.ok_or(internal())?.fail(code).map_err(|error| match error {
            callback::FailError::Detailed(detailed) => detailed.into(),
            callback::FailError::System(system) => system.into(),
        })
    }

    fn make_callback(&self) -> Result<Option<CallbackRef>> {
        Callback::activate(&self.orb).map(|(_, reference)| Some(reference))
    }

    fn tell_back(&self, who: Option<&CallbackRef>, news: &str) -> Result<()> {
        who.ok_or(internal())?.tell(news)
    }

    fn slow(&self, milliseconds: u32, value: i32) -> Result<i32> {
        std::thread::sleep(Duration::from_millis(milliseconds.into()));
        Ok(value)
    }
}
