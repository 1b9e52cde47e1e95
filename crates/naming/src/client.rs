//! A name server as Rust programs like it: typed, with text for names.

use std::borrow::Cow;
use std::fmt;

use oxorb::{CompletionStatus, Failure, Interface, ObjectRef, Orb, SystemException};

use crate::cos_naming::naming_context::{CannotProceed, NotFoundReason};
use crate::cos_naming::{
    Binding, BindingIteratorRef, BindingType, NameComponent, NamingContextRef,
};
use crate::name::AsName;
use crate::{INITIAL_NAME, InvalidName, Name, Problem, stringify};

/// The names below one naming context, of this or any other ORB. Cheap to clone.
///
/// Names are text such as `"bank/branches.dir"`, or a [`Name`]. Every method is one call unless it says otherwise, and one
/// more for each server that a name leads to and the server before does not follow it to (CannotProceed).
///
/// ```
/// use oxorb::{Interface as _, ObjectRef, Orb};
/// use oxorb_naming::{NameService, Names, Store};
///
/// let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
/// let service = NameService::start(&server, Store::in_memory()?)?;
/// let url = service.root().to_ior();
///
/// // Elsewhere; or on the command line: -ORBInitRef NameService=corbaloc::host:2809/NameService
/// let orb = Orb::builder().init_ref("NameService", &url).build()?;
/// let names = Names::of(&orb)?;
/// let account: ObjectRef = orb.string_to_object("corbaloc::10.0.0.7/Account")?;
/// names.make_contexts("bank")?;
/// names.bind("bank/savings.account", &account)?;
/// assert_eq!(names.resolve::<ObjectRef>("bank/savings.account")?, account);
///
/// for entry in names.context("bank")?.list()? {
///     println!("{}", entry?.component.id);
/// }
/// # orb.shutdown(true)?;
/// # server.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Names {
    root: NamingContextRef,
}

impl Names {
    /// Names below a context.
    pub fn new(context: impl Into<NamingContextRef>) -> Names {
        Names { root: context.into() }
    }

    /// Names of the service that the ORB knows as initial reference `NameService`: `-ORBInitRef`,
    /// `-ORBDefaultInitRef`, or one that this ORB serves. Asks it whether it is a naming context.
    ///
    /// # Errors
    /// There is no such initial reference, or it cannot be reached.
    pub fn of(orb: &Orb) -> Result<Names, oxorb::ResolveError> {
        Names::at(orb, &format!("corbaloc:rir:/{INITIAL_NAME}"))
    }

    /// Names below the context that a reference leads to: `IOR:`, `corbaloc:`, `corbaname:` or `file:`. Asks it whether
    /// it is a naming context.
    ///
    /// # Errors
    /// It is not, or it cannot be reached.
    pub fn at(orb: &Orb, reference: &str) -> Result<Names, oxorb::ResolveError> {
        orb.resolve::<NamingContextRef>(reference).map(Names::new)
    }

    /// The context that the names are below.
    pub fn root(&self) -> &NamingContextRef {
        &self.root
    }

    /// Gives an object a name.
    ///
    /// # Errors
    /// [`Problem::AlreadyBound`] if it is taken, [`Problem::NotFound`] if a context on the way is missing; see
    /// [`make_contexts`](Self::make_contexts).
    pub fn bind(&self, name: impl AsName, object: &impl Interface) -> Result<(), NamingError> {
        let (name, object) = (named("bind", &name)?, object.unchecked_narrow());
        let done = self.call(&name, |at, rest| at.bind(rest, Some(&object)));
        done.map_err(|error| NamingError::new("bind", &name, error))
    }

    /// Gives an object a name, also if another object has it; then that loses it.
    ///
    /// # Errors
    /// [`Problem::NotFound`], also if a context has the name.
    pub fn rebind(&self, name: impl AsName, object: &impl Interface) -> Result<(), NamingError> {
        let (name, object) = (named("rebind", &name)?, object.unchecked_narrow());
        let done = self.call(&name, |at, rest| at.rebind(rest, Some(&object)));
        done.map_err(|error| NamingError::new("rebind", &name, error))
    }

    /// Gives a context a name, so that names lead through it. It may be one of another server.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_context(
        &self,
        name: impl AsName,
        context: &NamingContextRef,
    ) -> Result<(), NamingError> {
        let name = named("bind", &name)?;
        let done = self.call(&name, |at, rest| at.bind_context(rest, Some(context)));
        done.map_err(|error| NamingError::new("bind", &name, error))
    }

    /// Binds a context to a name like [`bind_context`](Self::bind_context), and takes the name from
    /// a context that has it.
    ///
    /// # Errors
    /// [`Problem::NotFound`], also if an object has the name.
    pub fn rebind_context(
        &self,
        name: impl AsName,
        context: &NamingContextRef,
    ) -> Result<(), NamingError> {
        let name = named("rebind", &name)?;
        let done = self.call(&name, |at, rest| at.rebind_context(rest, Some(context)));
        done.map_err(|error| NamingError::new("rebind", &name, error))
    }

    /// The object of a name, as a reference of type `I`. Asks the object unless its reference says that it is one: then
    /// two calls.
    ///
    /// # Errors
    /// [`Problem::NotFound`]; INV_OBJREF if the name is bound to nil, or the object is no `I`.
    pub fn resolve<I: Interface>(&self, name: impl AsName) -> Result<I, NamingError> {
        let name = named("resolve", &name)?;
        let failed = |problem| NamingError::new("resolve", &name, problem);
        let found = self.object(&name)?;
        match found.narrow::<I>() {
            Ok(Some(typed)) => Ok(typed),
            Ok(None) => Err(NamingError {
                detail: Some(format!("the object is no {}", I::REPOSITORY_ID).into()),
                ..failed(Problem::System(NOT_WANTED))
            }),
            Err(exception) => Err(failed(Problem::System(exception))),
        }
    }

    fn object(&self, name: &Name) -> Result<ObjectRef, NamingError> {
        let found = self.call(name, |at, rest| at.resolve(rest));
        let found = found.map_err(|error| NamingError::new("resolve", name, error))?;
        found.ok_or_else(|| NamingError::new("resolve", name, Problem::System(NOT_WANTED)))
    }

    /// Takes a name away from an object or a context. The object is none the worse for it.
    ///
    /// # Errors
    /// [`Problem::NotFound`]
    pub fn unbind(&self, name: impl AsName) -> Result<(), NamingError> {
        let name = named("unbind", &name)?;
        let done = self.call(&name, |at, rest| at.unbind(rest));
        done.map_err(|error| NamingError::new("unbind", &name, error))
    }

    /// Makes a context of this name, on the server that holds the context around it.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn make_context(&self, name: impl AsName) -> Result<Names, NamingError> {
        let name = named("make the context", &name)?;
        let failed = |problem| NamingError::new("make the context", &name, problem);
        let made = self.call(&name, |at, rest| at.bind_new_context(rest));
        let made = made.map_err(failed)?;
        made.map(Names::new).ok_or_else(|| failed(Problem::System(NOT_WANTED)))
    }

    /// Makes a context of this name, and those on the way, unless they are there: one call for each, and two if
    /// the last one was there.
    ///
    /// # Errors
    /// [`Problem::NotFound`] if an object has the name of one.
    pub fn make_contexts(&self, name: impl AsName) -> Result<Names, NamingError> {
        let name = named("make the context", &name)?;
        let mut made = None;
        for part in (1..=name.components().len()).filter_map(|end| name.first(end)) {
            made = match self.make_context(&part) {
                // Whether what is there is a context shows at the next component.
                Err(NamingError { problem: Problem::AlreadyBound, .. }) => None,
                made => Some(made?),
            };
        }
        match made {
            Some(made) => Ok(made),
            None => self.context(&*name),
        }
    }

    /// Names below a context that a name leads to: up to two calls.
    ///
    /// # Errors
    /// [`Problem::NotFound`]; INV_OBJREF if it is no context.
    pub fn context(&self, name: impl AsName) -> Result<Names, NamingError> {
        self.resolve::<NamingContextRef>(name).map(Names::new)
    }

    /// Calls the service, and continues where it stops: CannotProceed names the context that knows the rest of the name. Each
    /// step must leave fewer components, so that contexts which name each other end it.
    fn call<R, E: Into<Problem>>(
        &self,
        name: &Name,
        call: impl Fn(&NamingContextRef, &[NameComponent]) -> Result<R, E>,
    ) -> Result<R, Problem> {
        let mut left = name.components().len();
        let mut done = call(&self.root, name.components()).map_err(Into::into);
        while let Err(Problem::CannotProceed(stopped)) = &done {
            let CannotProceed { cxt, rest_of_name } = stopped;
            let Some(context) = cxt.as_ref().filter(|_| rest_of_name.len() < left) else {
                break;
            };
            left = rest_of_name.len();
            match call(context, rest_of_name).map_err(Into::into) {
                // Nor do we reach it.
                Err(Problem::System(exception)) if exception.completed == CompletionStatus::No => {
                    break;
                }
                next => done = next,
            }
        }
        done
    }

    /// Lists the bindings of the context itself, in the server's order. Asks for 100 bindings at a
    /// time, as they are wanted.
    ///
    /// # Errors
    /// What the call raises. What happens later is in the items.
    pub fn list(&self) -> oxorb::Result<Entries> {
        let (fetched, iterator) = self.root.list(PORTION)?;
        Ok(Entries { fetched: fetched.into_iter(), iterator })
    }
}

/// Binding of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Id and kind.
    pub component: NameComponent,
    /// Names lead through it.
    pub is_context: bool,
}

/// The bindings of a context, fetched in portions. Closes the server's iterator when dropped.
#[derive(Debug)]
pub struct Entries {
    fetched: std::vec::IntoIter<Binding>,
    iterator: Option<BindingIteratorRef>,
}

/// Bindings to fetch at a time.
const PORTION: u32 = 100;

impl Iterator for Entries {
    type Item = Result<Entry, SystemException>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(binding) = self.fetched.next() {
                let is_context = binding.binding_type == BindingType::Ncontext;
                // Only the last component counts; there should be no others.
                let Some(component) = binding.binding_name.into_iter().next_back() else {
                    continue;
                };
                return Some(Ok(Entry { component, is_context }));
            }
            match self.iterator.as_ref()?.next_n(PORTION) {
                // A server that says there are more and sends none would keep us here.
                Ok((true, more)) if !more.is_empty() => self.fetched = more.into_iter(),
                Ok(_) => {
                    let _ = self.iterator.take()?.destroy();
                    return None;
                }
                Err(exception) => {
                    self.iterator = None;
                    return Some(Err(exception));
                }
            }
        }
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        if let Some(iterator) = &self.iterator {
            let _ = iterator.destroy();
        }
    }
}

/// Why something could not be done with a name.
#[derive(Clone)]
#[non_exhaustive]
pub struct NamingError {
    /// Operation that was tried: "bind", "resolve" ...
    pub operation: &'static str,
    /// The name, as text.
    pub name: Box<str>,
    /// Reason of the failure.
    pub problem: Problem,
    /// More than the problem tells: each endpoint tried, if the server could not be reached.
    detail: Option<Box<str>>,
}

impl NamingError {
    fn new(operation: &'static str, name: &Name, problem: impl Into<Problem>) -> NamingError {
        let problem = problem.into();
        let detail = match &problem {
            Problem::System(exception) => failure(*exception),
            _ => None,
        };
        NamingError { operation, name: name.to_string().into(), problem, detail }
    }
}

impl NamingError {
    /// Whether the name was found, and is bound to the nil reference.
    pub fn is_nil(&self) -> bool {
        self.problem == Problem::System(NOT_WANTED) && self.detail.is_none()
    }
}

/// Returns the ORB's description of a call that did not reach its object.
fn failure(exception: SystemException) -> Option<Box<str>> {
    let failure: Option<Failure> = oxorb::last_failure();
    let failure = failure.filter(|failure| failure.exception == exception);
    failure.map(|failure| failure.to_string().into())
}

fn named<'n>(
    operation: &'static str,
    name: &'n (impl AsName + ?Sized),
) -> Result<Cow<'n, Name>, NamingError> {
    name.as_name().map_err(|wrong: InvalidName| NamingError {
        operation,
        name: wrong.text.as_str().into(),
        problem: Problem::InvalidName,
        detail: Some(wrong.to_string().into()),
    })
}

impl fmt::Display for NamingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {:?}: ", self.operation, self.name)?;
        if let Some(detail) = &self.detail {
            return f.write_str(detail);
        }
        let rest = |rest: &[NameComponent]| stringify(rest);
        match &self.problem {
            Problem::NotFound(not_found) => {
                let first = rest(not_found.rest_of_name.get(..1).unwrap_or(&[]));
                match not_found.why {
                    NotFoundReason::MissingNode => write!(f, "there is no {first:?} (NotFound)"),
                    NotFoundReason::NotContext => {
                        write!(f, "{first:?} is an object, no context (NotFound)")
                    }
                    NotFoundReason::NotObject => {
                        write!(f, "{first:?} is a context, no object (NotFound)")
                    }
                }
            }
            Problem::CannotProceed(stopped) => {
                let at = stopped.cxt.as_ref().and_then(Interface::to_corbaloc);
                write!(
                    f,
                    "the service cannot reach the context at {}, which should know {:?}, or is not allowed to (CannotProceed)",
                    at.as_deref().unwrap_or("an unknown address"),
                    rest(&stopped.rest_of_name)
                )
            }
            Problem::InvalidName => f.write_str("the service takes no such name (InvalidName)"),
            Problem::AlreadyBound => f.write_str("the name is taken (AlreadyBound)"),
            Problem::NotEmpty => f.write_str("the context has bindings (NotEmpty)"),
            Problem::System(exception) if *exception == NOT_WANTED => {
                f.write_str("the name is bound to nil")
            }
            Problem::System(exception) => exception.fmt(f),
        }
    }
}

impl fmt::Debug for NamingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NamingError {}

/// A reference that is not what the caller can use: nil, or of another interface.
const NOT_WANTED: SystemException =
    SystemException::inv_objref(oxorb::minor::inv_objref::NIL, oxorb::CompletionStatus::Yes);
