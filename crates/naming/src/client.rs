//! Typed client of a name server that accepts names as text.

use std::borrow::Cow;
use std::fmt;

use oxorb::client::Failure;
use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemException};

use crate::cos_naming::naming_context::{CannotProceed, NotFoundReason};
use crate::cos_naming::{
    Binding, BindingIteratorRef, BindingType, NameComponent, NamingContextRef,
};
use crate::name::AsName;
use crate::{INITIAL_NAME, InvalidName, Name, Problem, stringify};

/// The names below one naming context of this or any other ORB. Cheap to clone.
///
/// Names are text such as `"bank/branches.dir"`, or a [`Name`]. Every method makes one call unless documented
/// otherwise. If a server answers CannotProceed because it does not call the next server on the path of the name, the
/// method makes a further call to that server.
///
/// ```
/// use oxorb::{Interface as _, ObjectRef, Orb};
/// use oxorb_naming::{NameService, Names, Store};
///
/// let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
/// let service = NameService::start(&server, Store::in_memory()?)?;
/// let url = service.root().to_ior();
///
/// // In another process; or on the command line: -ORBInitRef NameService=corbaloc::host:2809/NameService
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
    /// Returns the names below a context.
    pub fn new(context: impl Into<NamingContextRef>) -> Names {
        Names { root: context.into() }
    }

    /// Returns the names below the ORB's initial reference `NameService`, which is set by `-ORBInitRef` or
    /// `-ORBDefaultInitRef`, or registered by a service of this ORB. Calls the object to check that it is a naming
    /// context.
    ///
    /// # Errors
    /// There is no such initial reference, or it cannot be reached.
    pub fn of(orb: &Orb) -> Result<Names, oxorb::ResolveError> {
        Names::at(orb, &format!("corbaloc:rir:/{INITIAL_NAME}"))
    }

    /// Returns the names below the context that a reference refers to, in the form `IOR:`, `corbaloc:`, `corbaname:` or
    /// `file:`. Calls the object to check that it is a naming context.
    ///
    /// # Errors
    /// The object is not a naming context, or cannot be reached.
    pub fn at(orb: &Orb, reference: &str) -> Result<Names, oxorb::ResolveError> {
        orb.resolve::<NamingContextRef>(reference).map(Names::new)
    }

    /// Returns the context that the names are relative to.
    pub fn root(&self) -> &NamingContextRef {
        &self.root
    }

    /// Binds a name to an object.
    ///
    /// # Errors
    /// [`Problem::AlreadyBound`] if the name is bound, [`Problem::NotFound`] if a context on the path is missing; see
    /// [`make_contexts`](Self::make_contexts).
    pub fn bind(&self, name: impl AsName, object: &impl Interface) -> Result<(), NamingError> {
        let (name, object) = (named("bind", &name)?, object.unchecked_narrow());
        let done = self.call(&name, |at, rest| at.bind(rest, Some(&object)));
        done.map_err(|error| NamingError::new("bind", &name, error))
    }

    /// Binds a name to an object, replacing an object that is bound to it.
    ///
    /// # Errors
    /// [`Problem::NotFound`], including if the name is bound to a context.
    pub fn rebind(&self, name: impl AsName, object: &impl Interface) -> Result<(), NamingError> {
        let (name, object) = (named("rebind", &name)?, object.unchecked_narrow());
        let done = self.call(&name, |at, rest| at.rebind(rest, Some(&object)));
        done.map_err(|error| NamingError::new("rebind", &name, error))
    }

    /// Binds a name to a context, so that names can be resolved through it. The context may belong to another server.
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

    /// Binds a name to a context like [`bind_context`](Self::bind_context), replacing a context that is bound to it.
    ///
    /// # Errors
    /// [`Problem::NotFound`], including if the name is bound to an object.
    pub fn rebind_context(
        &self,
        name: impl AsName,
        context: &NamingContextRef,
    ) -> Result<(), NamingError> {
        let name = named("rebind", &name)?;
        let done = self.call(&name, |at, rest| at.rebind_context(rest, Some(context)));
        done.map_err(|error| NamingError::new("rebind", &name, error))
    }

    /// Returns the object bound to a name, as a reference of type `I`. If the reference does not declare this type,
    /// makes a second call to ask the object for it.
    ///
    /// # Errors
    /// [`Problem::NotFound`]; INV_OBJREF if the name is bound to nil, or the object is not an `I`.
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

    /// Removes the binding of a name to an object or a context. The object itself is not affected.
    ///
    /// # Errors
    /// [`Problem::NotFound`]
    pub fn unbind(&self, name: impl AsName) -> Result<(), NamingError> {
        let name = named("unbind", &name)?;
        let done = self.call(&name, |at, rest| at.unbind(rest));
        done.map_err(|error| NamingError::new("unbind", &name, error))
    }

    /// Creates a context and binds it to this name, on the server of its parent.
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

    /// Creates a context with this name, and missing contexts on the path. Makes one call for each component of the
    /// name, and calls [`context`](Self::context) if the last context exists already.
    ///
    /// # Errors
    /// [`Problem::NotFound`] if a name on the path is bound to an object.
    pub fn make_contexts(&self, name: impl AsName) -> Result<Names, NamingError> {
        let name = named("make the context", &name)?;
        let mut made = None;
        for part in (1..=name.components().len()).filter_map(|end| name.first(end)) {
            made = match self.make_context(&part) {
                // If the name is bound to an object and not to a context, the call for the next component, or `context`
                // below, fails.
                Err(NamingError { problem: Problem::AlreadyBound, .. }) => None,
                made => Some(made?),
            };
        }
        match made {
            Some(made) => Ok(made),
            None => self.context(&*name),
        }
    }

    /// Returns the names below the context that a name is bound to, with up to two calls.
    ///
    /// # Errors
    /// [`Problem::NotFound`]; INV_OBJREF if the object is not a context.
    pub fn context(&self, name: impl AsName) -> Result<Names, NamingError> {
        self.resolve::<NamingContextRef>(name).map(Names::new)
    }

    /// Calls the service. If it raises CannotProceed, calls the context that the exception contains with the rest of
    /// the name. Each step must leave fewer components, so that a cycle of contexts causes no endless loop.
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
                // This client cannot reach the context either, so report the CannotProceed that names the context.
                Err(Problem::System(exception)) if exception.completed == CompletionStatus::No => {
                    break;
                }
                next => done = next,
            }
        }
        done
    }

    /// Lists the bindings of the context itself, in the server's order. Fetches 100 bindings at a time, on demand.
    ///
    /// # Errors
    /// The exception of the first call. Exceptions of later calls are items of the iterator.
    pub fn list(&self) -> oxorb::Result<Entries> {
        let (fetched, iterator) = self.root.list(PORTION)?;
        Ok(Entries { fetched: fetched.into_iter(), iterator })
    }
}

/// Binding of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Id and kind of the bound name.
    pub component: NameComponent,
    /// Whether the name is bound to a context.
    pub is_context: bool,
}

/// Iterator over the bindings of a context, fetched in portions. Closes the server's iterator when dropped.
#[derive(Debug)]
pub struct Entries {
    fetched: std::vec::IntoIter<Binding>,
    iterator: Option<BindingIteratorRef>,
}

/// Number of bindings to fetch at a time.
const PORTION: u32 = 100;

impl Iterator for Entries {
    type Item = Result<Entry, SystemException>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(binding) = self.fetched.next() {
                let is_context = binding.binding_type == BindingType::Ncontext;
                // A listed name should have one component. If a server sends a path, its last component is the name in
                // this context.
                let Some(component) = binding.binding_name.into_iter().next_back() else {
                    continue;
                };
                return Some(Ok(Entry { component, is_context }));
            }
            match self.iterator.as_ref()?.next_n(PORTION) {
                // If a server announces more bindings but sends none, stop: the loop would otherwise never end.
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

/// Error of an operation on a name.
#[derive(Clone)]
#[non_exhaustive]
pub struct NamingError {
    /// Attempted operation: "bind", "resolve" ...
    pub operation: &'static str,
    /// Name, as text.
    pub name: Box<str>,
    /// Reason of the failure.
    pub problem: Problem,
    /// Additional detail: each endpoint tried, if the server could not be reached.
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
    /// Reports whether the name was found and is bound to the nil reference.
    pub fn is_nil(&self) -> bool {
        self.problem == Problem::System(NOT_WANTED) && self.detail.is_none()
    }
}

/// Returns the ORB's description of a call that did not reach its object.
fn failure(exception: SystemException) -> Option<Box<str>> {
    Failure::of(&exception).map(|failure| failure.to_string().into())
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
                        write!(f, "{first:?} is an object, not a context (NotFound)")
                    }
                    NotFoundReason::NotObject => {
                        write!(f, "{first:?} is a context, not an object (NotFound)")
                    }
                }
            }
            Problem::CannotProceed(stopped) => {
                let at = stopped.cxt.as_ref().and_then(Interface::to_corbaloc);
                write!(
                    f,
                    "the service cannot reach the context at {}, which should contain {:?}, or is not allowed to \
                     (CannotProceed)",
                    at.as_deref().unwrap_or("an unknown address"),
                    rest(&stopped.rest_of_name)
                )
            }
            Problem::InvalidName => {
                f.write_str("the service does not accept this name (InvalidName)")
            }
            Problem::AlreadyBound => f.write_str("the name is already bound (AlreadyBound)"),
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

/// Exception for a reference that the caller cannot use: nil, or of another interface.
const NOT_WANTED: SystemException =
    SystemException::inv_objref(oxorb::minor::inv_objref::NIL, oxorb::CompletionStatus::Yes);
