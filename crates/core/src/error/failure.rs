//! Explanations of failed calls, kept off the request path.
//!
//! A [`SystemException`] is small and `Copy`, so that calls need not allocate. If an object cannot be reached, the
//! attempts are kept separately for the whole process, and the text of the exception finds them by a number. Each
//! thread also keeps its last failure, which [`Failure::of`] returns.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;

use oxorb_cdr::{OutsideCodeSet, Printable};
use oxorb_object::components::orb_type;
use oxorb_object::{ExceptionNote, SystemException, minor};

use crate::policy::PolicyType;
use crate::threads::sync::uncontrolled::Mutex;
use crate::threads::sync::uncontrolled::atomic::{AtomicU32, Ordering};

/// Attempts to reach an object, and the result of each.
///
/// `Debug` prints the same text as `Display`, so that the error of a `main` that returns it is readable.
#[derive(Clone)]
pub struct Failure {
    /// Exception that the call raised.
    pub exception: SystemException,
    /// Endpoints that were tried, in order.
    pub attempts: Vec<Attempt>,
    /// Types of the policies that contradict those of the server (`inconsistent_policies`); set with INV_POLICY by
    /// `validate_connection`.
    pub inconsistent_policies: Vec<PolicyType>,
}

/// Endpoint that was tried, and its failure.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Address as `host:port`.
    pub endpoint: String,
    /// Failure of the attempt, with the cause that the system reported.
    pub what: String,
}

impl Failure {
    /// Returns the endpoints that were tried before the calling thread received this exception, and the failure of
    /// each. Returns `None` if the object was reached, or a later call of the thread has failed.
    ///
    /// Clones (allocates); not for the path of a request.
    ///
    /// ```
    /// use oxorb_core::{Failure, Interface as _, Options, Orb};
    ///
    /// let orb = Orb::new(Options::default());
    /// let object = orb.string_to_object("corbaloc::127.0.0.1:1/Account")?;
    /// let exception = object.non_existent().unwrap_err();
    /// let failure = Failure::of(&exception).expect("nobody listens there");
    /// assert_eq!(failure.attempts[0].endpoint, "127.0.0.1:1");
    /// # Ok::<(), oxorb_core::ResolveError>(())
    /// ```
    pub fn of(exception: &SystemException) -> Option<Failure> {
        let number = exception.note.number();
        let last = LAST.with_borrow(Clone::clone).filter(|(of, _)| number != 0 && *of == number);
        last.map(|(_, failure)| failure)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.exception)?;
        for attempt in &self.attempts {
            let [endpoint, what] = [&attempt.endpoint, &attempt.what].map(|text| Printable(text));
            write!(f, "\n  {endpoint}: {what}")?;
        }
        for policy in &self.inconsistent_policies {
            write!(f, "\n  {policy}: the server published another one")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.exception)
    }
}

/// Failures of each kind that the process keeps, over all threads, for exceptions that are displayed later.
const KEPT: usize = 64;

/// Latest explanations that exceptions cannot hold themselves, with the numbers of their notes.
struct Noted {
    attempts: VecDeque<(u32, Vec<Attempt>)>,
    /// Kept separately, so that peers that send bad text cannot displace the attempts.
    characters: VecDeque<(u32, OutsideCodeSet)>,
}

static NOTED: Mutex<Noted> =
    Mutex::new(Noted { attempts: VecDeque::new(), characters: VecDeque::new() });

static NEXT_NOTE: AtomicU32 = AtomicU32::new(1);

thread_local! {
    /// The thread's last failure, with the number of the note of its exception.
    static LAST: RefCell<Option<(u32, Failure)>> = const { RefCell::new(None) };
}

/// Records the attempts before `exception` is raised. Returns the exception with a note that names the endpoints.
pub(crate) fn record(exception: SystemException, attempts: Vec<Attempt>) -> SystemException {
    let noted = match attempts.is_empty() {
        true => exception,
        false => SystemException {
            note: ExceptionNote::new(keep(|noted| &mut noted.attempts, attempts.clone())),
            ..exception
        },
    };
    let failure = Failure { exception, attempts, inconsistent_policies: Vec::new() };
    LAST.set(Some((noted.note.number(), failure)));
    noted
}

/// Makes the text of this process's exceptions include what is noted for them.
pub(crate) fn explain_exceptions() {
    ExceptionNote::explain_by(explain);
    ExceptionNote::keep_by(|outside| keep(|noted| &mut noted.characters, outside));
}

/// Bit in the number of a note that names the maker of the ORB that raised an exception. Nothing is kept for such a
/// note.
const OF_MAKER: u32 = 1 << 31;

/// Bit in the number of a note that names a maker, if the maker assigns its own meaning to the minor code.
const OF_ITS_OWN: u32 = 1 << 30;

/// ORB types that a note can name, indexed by the low bits of its number.
const MAKERS: [u32; 3] = [orb_type::TAO, orb_type::JACORB, orb_type::OMNIORB];

/// Returns the exception with a note of the ORB type that raised it, if its minor code has the OMG's vendor id and thus
/// does not identify the maker.
#[cold]
pub(crate) fn raised_by(made_by: Option<u32>, exception: SystemException) -> SystemException {
    let maker = MAKERS.iter().position(|orb| Some(*orb) == made_by);
    match maker {
        Some(at)
            if minor::vendor(exception.minor) == Some("OMG") && exception.minor != minor::OMG =>
        {
            let own = minor::is_unassigned(exception.minor, exception.kind);
            let number = OF_MAKER | at as u32 | if own { OF_ITS_OWN } else { 0 };
            SystemException { note: ExceptionNote::new(number), ..exception }
        }
        _ => exception,
    }
}

/// Writes the text of a note that names a maker.
fn explain_maker(number: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let at = (number & !(OF_MAKER | OF_ITS_OWN)) as usize;
    let Some(maker) = MAKERS.get(at).and_then(|orb| orb_type::name(*orb)) else {
        return Ok(());
    };
    write!(f, "; raised by {maker}")?;
    match number & OF_ITS_OWN {
        0 => Ok(()),
        _ => f.write_str(", which defines its own meaning of the code"),
    }
}

/// Returns the exception with a note of the failure of a connection that several calls may share.
pub(crate) fn noted(exception: SystemException, endpoint: String, what: String) -> SystemException {
    let attempts = vec![Attempt { endpoint, what }];
    SystemException {
        note: ExceptionNote::new(keep(|noted| &mut noted.attempts, attempts)),
        ..exception
    }
}

/// Returns the attempts that are noted for an exception.
pub(crate) fn attempts_of(exception: &SystemException) -> Vec<Attempt> {
    let noted = NOTED.lock();
    find(&noted.attempts, exception.note.number()).unwrap_or_default()
}

fn keep<T>(kept: impl FnOnce(&mut Noted) -> &mut VecDeque<(u32, T)>, text: T) -> u32 {
    explain_exceptions();
    // Zero means that there is no note, so it is skipped. Numbers wrap after 2^31 failures.
    let number = (NEXT_NOTE.fetch_add(1, Ordering::Relaxed) & !OF_MAKER).max(1);
    let mut noted = NOTED.lock();
    let kept = kept(&mut noted);
    if kept.len() == KEPT {
        kept.pop_front();
    }
    kept.push_back((number, text));
    number
}

fn find<T: Clone>(kept: &VecDeque<(u32, T)>, number: u32) -> Option<T> {
    let found = kept.iter().find(|(known, _)| *known == number);
    found.map(|(_, text)| text.clone())
}

/// Writes the text of a note, if it is still kept.
fn explain(number: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if number & OF_MAKER != 0 {
        return explain_maker(number, f);
    }
    let (attempts, character) = {
        let noted = NOTED.lock();
        (find(&noted.attempts, number), find(&noted.characters, number))
    };
    if let Some(outside) = character {
        write!(f, "; {outside}")?;
    }
    for (at, attempt) in attempts.iter().flatten().enumerate() {
        let [endpoint, what] = [&attempt.endpoint, &attempt.what].map(|text| Printable(text));
        let before = if at == 0 { "; tried" } else { ", then" };
        write!(f, "{before} {endpoint}: {what}")?;
    }
    Ok(())
}
