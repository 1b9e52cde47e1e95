//! Failure of a step of a launch: the name of the instance, process or plan concerned, and the reason.

use std::fmt;

use oxorb_object::SystemException;

use crate::LaunchError;
use crate::idl::deployment as d;
use crate::idl::{dance, ox_deployment as ox};
use crate::wire::WireError;

/// Failure of a step. Like the exceptions of `Deployment`, it consists of a name and a reason.
#[derive(Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Name of the instance, process or plan.
    pub name: String,
    /// Reason, as a sentence that contains the name of the node.
    pub reason: String,
}

impl Trouble {
    pub(crate) fn new(name: impl Into<String>, reason: impl fmt::Display) -> Trouble {
        Trouble { name: name.into(), reason: reason.to_string() }
    }

    /// Adds the node or process in which the step failed. If the failure has no name, sets it to `name`.
    pub(crate) fn within(mut self, place: impl fmt::Display, name: &str) -> Trouble {
        if self.name.is_empty() {
            name.clone_into(&mut self.name);
        }
        self.reason = format!("{place}: {}", self.reason);
        self
    }

    pub(crate) fn and(mut self, more: impl fmt::Display) -> Trouble {
        self.reason = format!("{}; {more}", self.reason);
        self
    }

    pub(crate) fn plan<E: From<d::PlanError>>(self) -> E {
        let Trouble { name, reason } = self;
        d::PlanError { name, reason }.into()
    }

    pub(crate) fn start<E: From<d::StartError>>(self) -> E {
        let Trouble { name, reason } = self;
        d::StartError { name, reason }.into()
    }

    pub(crate) fn stop<E: From<d::StopError>>(self) -> E {
        let Trouble { name, reason } = self;
        d::StopError { name, reason }.into()
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => f.write_str(&self.reason),
            name => write!(f, "{name}: {}", self.reason),
        }
    }
}

impl fmt::Debug for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Trouble {}

impl From<SystemException> for Trouble {
    fn from(exception: SystemException) -> Trouble {
        Trouble::new("", exception)
    }
}

impl From<WireError> for Trouble {
    fn from(error: WireError) -> Trouble {
        Trouble::new(error.element, error.reason)
    }
}

impl From<LaunchError> for Trouble {
    fn from(error: LaunchError) -> Trouble {
        let reason = error.reason();
        Trouble::new(error.name, reason)
    }
}

/// Defines conversions of the errors of operations: named members have a name and a reason, and other members become
/// text.
macro_rules! troubles {
    ($($error:path { $($named:ident)* } $({ $($other:ident)* })?;)*) => {$(
        const _: () = {
            use $error as Error;

            impl From<Error> for Trouble {
                fn from(error: Error) -> Trouble {
                    match error {
                        $(Error::$named(it) => Trouble::new(it.name, it.reason),)*
                        $($(Error::$other(it) => Trouble::new(it.name.clone(), it),)*)?
                        Error::System(exception) => exception.into(),
                    }
                }
            }
        };
    )*};
}

troubles! {
    d::execution_manager::PreparePlanError { PlanError StartError } { ResourceNotAvailable };
    d::execution_manager::DestroyManagerError { StopError };
    d::node_manager::PreparePlanError { StartError PlanError };
    d::node_manager::DestroyManagerError { StopError };
    d::application_manager::StartLaunchError {
        StartError InvalidProperty InvalidNodeExecParameter InvalidComponentExecParameter
    } { ResourceNotAvailable };
    d::application_manager::DestroyApplicationError { StopError };
    d::application::FinishLaunchError { StartError InvalidConnection };
    d::application::StartError { StartError };
    dance::locality_manager::PreparePlanError { StartError PlanError };
    ox::locality::RedeployError { PlanError StartError StopError };
    ox::node_application_manager::RedeployError { PlanError StartError StopError };
    ox::node_application_manager::RestartError { StartError };
    ox::domain_application_manager::RedeployError { PlanError StartError StopError };
}
