//! Connections of a process, from using ports of its instances to the provided objects.

use std::collections::BTreeMap;

use oxorb_cdr::ValueLink;
use oxorb_component::{Component, Cookie, Events, Receptacles};
use oxorb_core::policy::{AnyPolicy, PriorityBandedConnection, SetOverrideType};
use oxorb_core::{Interface, ObjectRef};
use oxorb_deploy::Place;
use oxorb_deploy::basic::PortKind;

use super::provided::ports;
use crate::LaunchError;

/// References to provided objects, by name of connection.
pub type References = BTreeMap<String, Vec<ObjectRef>>;

/// The using end of one connection.
#[derive(Debug, Clone)]
pub(super) struct User {
    pub(super) connection: String,
    pub(super) instance: String,
    pub(super) port: String,
    pub(super) kind: PortKind,
    pub(super) place: Place,
}

/// Returns the error for a port whose kind cannot be connected directly: an extended port in a plan that was not
/// expanded.
pub(crate) fn unconnectable(
    connection: &str,
    port: &str,
    kind: PortKind,
    place: Place,
) -> LaunchError {
    let what = format!(
        "{port} of connection {connection:?} is of the kind {}, which cannot be connected",
        kind.text()
    );
    let error = LaunchError::new(connection, place, what);
    error.cure(
        "specify the IDL of the components (--idl of launch, redeploy, static or convert), or name the basic ports \
         that the extended port contains, as PORT_NAME",
    )
}

/// An established connection.
pub(super) struct Made {
    pub(super) user: User,
    pub(super) reference: ObjectRef,
}

impl Made {
    /// Reports whether this connection joins the port `user` to the object `to`.
    pub(super) fn is(&self, user: &User, to: &ObjectRef) -> bool {
        let (own, other) = (self.reference.reference(), Interface::reference(to));
        self.user.is(user) && own.is_equivalent(other)
    }
}

impl User {
    /// Reports whether both values are the same end of the same connection.
    pub(super) fn is(&self, other: &User) -> bool {
        (&self.connection, &self.instance, &self.port)
            == (&other.connection, &other.instance, &other.port)
    }

    fn error(&self, what: impl Into<String>) -> LaunchError {
        LaunchError::new(&self.connection, self.place, what)
    }

    /// Connects the port.
    pub(super) fn connect(
        &self,
        component: &Component,
        to: &ObjectRef,
        bands: Option<PriorityBandedConnection>,
    ) -> Result<(), LaunchError> {
        let to = match bands {
            Some(bands) => {
                let policy = AnyPolicy::from(bands);
                let banded = to.set_policy_overrides(&[policy], SetOverrideType::Add);
                &banded.map_err(|error| {
                    self.error(format!(
                        "the bands of connection {:?} cannot be set: {error}",
                        self.connection
                    ))
                })?
            }
            None => to,
        };
        let done = match self.kind {
            PortKind::SimplexReceptacle | PortKind::MultiplexReceptacle => {
                let made = Receptacles::connect(component, &self.port, Some(to));
                made.map(drop).map_err(|error| error.to_string())
            }
            PortKind::EventPublisher => {
                let made = component.subscribe(&self.port, Some(&to.unchecked_narrow()));
                made.map(drop).map_err(|error| error.to_string())
            }
            PortKind::EventEmitter => {
                let made = component.connect_consumer(&self.port, Some(&to.unchecked_narrow()));
                made.map_err(|error| error.to_string())
            }
            kind => {
                let port = format!("{}.{}", self.instance, self.port);
                return Err(unconnectable(&self.connection, &port, kind, self.place));
            }
        };
        done.map_err(|why| {
            let known = ports(component, self.kind);
            if !known.contains(&self.port) {
                let what = format!(
                    "connection {:?} cannot be made: {:?} has no {} {:?}",
                    self.connection,
                    self.instance,
                    self.kind.text(),
                    self.port
                );
                let cure = match known.as_slice() {
                    [] => "it has none".to_owned(),
                    known => format!("it has {}", known.join(", ")),
                };
                return self.error(what).cure(cure);
            }
            let what = format!(
                "connection {:?} was not made: {}.{} refused {}: {why}",
                self.connection,
                self.instance,
                self.port,
                Interface::reference(to).ior().type_id
            );
            self.error(what)
        })
    }

    /// Ends the connection to an object. Does nothing if the connection has already ended.
    pub(super) fn disconnect(&self, component: &Component, from: &ObjectRef) {
        let Some(cookie) = self.cookie(component, from) else {
            return;
        };
        // Ignore the error: the connection may have ended since its cookie was read.
        match self.kind {
            PortKind::SimplexReceptacle | PortKind::MultiplexReceptacle => {
                let _ = Receptacles::disconnect(component, &self.port, &cookie);
            }
            PortKind::EventPublisher => drop(component.unsubscribe(&self.port, &cookie)),
            PortKind::EventEmitter => drop(component.disconnect_consumer(&self.port)),
            _ => {}
        }
    }

    /// Reports whether the port is connected to an object.
    pub(super) fn is_connected(&self, component: &Component, to: &ObjectRef) -> bool {
        self.cookie(component, to).is_some()
    }

    /// Returns the cookie of the connection to an object. For ports without cookies it is null.
    fn cookie(&self, component: &Component, to: &ObjectRef) -> Option<ValueLink<Cookie>> {
        let is_it = |object: &Option<ObjectRef>| {
            let object = object.as_ref();
            object.is_some_and(|object| {
                Interface::reference(object).is_equivalent(Interface::reference(to))
            })
        };
        match self.kind {
            PortKind::SimplexReceptacle | PortKind::MultiplexReceptacle => {
                let all = component.get_connections(&self.port).ok()?;
                let mut all = all.iter().filter_map(ValueLink::get);
                let found = all.find(|one| is_it(&one.objref))?;
                Some(found.ck.get().map_or_else(ValueLink::null, Into::into))
            }
            PortKind::EventPublisher => {
                let name = [self.port.clone()];
                let described = component.get_named_publishers(&name).ok()?;
                let described = described.first()?.get()?;
                let mut all = described.consumer.iter().filter_map(ValueLink::get);
                let found = all.find(|one| {
                    let consumer = one.consumer.as_ref();
                    is_it(&consumer.map(Interface::unchecked_narrow))
                })?;
                Some(found.ck.clone())
            }
            PortKind::EventEmitter => {
                let name = [self.port.clone()];
                let described = component.get_named_emitters(&name).ok()?;
                let described = described.first()?.get()?;
                let consumer = described.consumer.as_ref();
                is_it(&consumer.map(Interface::unchecked_narrow)).then(ValueLink::null)
            }
            _ => None,
        }
    }
}
