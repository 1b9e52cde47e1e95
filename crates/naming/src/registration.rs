//! Names that are unbound when the ORB that registered them shuts down.

use std::time::Duration;

use oxorb::policy::RelativeRoundtripTimeout;
use oxorb::{Interface, ObjectRef, Orb};

use crate::client::{Names, NamingError};
use crate::name::AsName;

/// Time limit of each of the two calls that withdraw a name.
const WITHDRAWAL: Duration = Duration::from_secs(2);

impl Names {
    /// Binds a name to an object until `orb` is shut down: calls [`rebind`](Self::rebind) now, and
    /// [`unbind`](Self::unbind) at the shutdown, unless the name is bound to another object by then.
    ///
    /// Makes one call now, and two calls of at most 2 s each at the shutdown.
    ///
    /// ```
    /// use oxorb::{Interface as _, ObjectRef, Orb};
    /// use oxorb_naming::{NameService, Names, Store};
    ///
    /// let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
    /// let service = NameService::start(&server, Store::in_memory()?)?;
    ///
    /// let orb = Orb::builder().init_ref("NameService", &service.root().to_ior()).build()?;
    /// let names = Names::of(&orb)?;
    /// let account: ObjectRef = orb.string_to_object("corbaloc::10.0.0.7/Account")?;
    /// names.register(&orb, "savings.account", &account)?;
    ///
    /// orb.shutdown(true)?;
    /// assert!(Names::of(&server)?.resolve::<ObjectRef>("savings.account").is_err());
    /// # server.shutdown(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`rebind`](Self::rebind). An error during withdrawal is ignored: the name then stays bound.
    pub fn register(
        &self,
        orb: &Orb,
        name: impl AsName,
        object: &impl Interface,
    ) -> Result<(), NamingError> {
        self.rebind(&name, object)?;
        let name = name.as_name().map(|name| name.into_owned());
        let Ok(name) = name else {
            return Ok(()); // `rebind` has refused it.
        };
        let names = Names::new(self.root().with(RelativeRoundtripTimeout(WITHDRAWAL)));
        let object: ObjectRef = object.unchecked_narrow();
        orb.before_shutdown(move |_| {
            let _ = names.unbind_own(&name, &object);
        });
        Ok(())
    }

    /// Withdraws a name that [`register`](Self::register) bound, without waiting for the ORB's shutdown. Unbinds the
    /// name unless it is bound to another object by now. Makes two calls, of at most 2 s each.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve) and [`unbind`](Self::unbind).
    pub fn withdraw(&self, name: impl AsName, object: &impl Interface) -> Result<(), NamingError> {
        let names = Names::new(self.root().with(RelativeRoundtripTimeout(WITHDRAWAL)));
        names.unbind_own(name, &object.unchecked_narrow())
    }

    fn unbind_own(&self, name: impl AsName, object: &ObjectRef) -> Result<(), NamingError> {
        match self.resolve::<ObjectRef>(&name)? == *object {
            true => self.unbind(&name),
            false => Ok(()),
        }
    }
}
