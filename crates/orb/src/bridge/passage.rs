//! Direction of a bridge or gateway: the ORBs that call its targets, and the rules for the values that pass.

use std::collections::HashSet;
use std::sync::Arc;

use crate::ior::Ior;
use crate::values::ByteOrder;
use crate::{CompletionStatus, Interface as _, ObjectRef, Orb, SetupError, SystemException};

use crate::bridge::counts::Counts;
use crate::bridge::interfaces::Interfaces;

/// Direction from the clients on one side to the targets on the other side.
pub(crate) struct Passage {
    /// ORB that calls the targets.
    pub(crate) orb: Orb,
    /// ORB for requests in the byte order that is not this machine's.
    pub(crate) foreign: Orb,
    pub(crate) interfaces: Arc<Interfaces>,
    /// Names of operations whose types are treated as unknown, because the type id of the target's reference would
    /// choose them, and a client can have written it.
    pub(crate) ambiguous: HashSet<String>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) counterparts: Arc<dyn Counterparts>,
    pub(crate) rules: Rules,
}

/// Rules for the values that pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Whether references are also replaced in anys, valuetypes, exceptions and text, and in values of unknown types.
    pub(crate) everywhere: bool,
    /// Whether operations of unknown types are refused.
    pub(crate) known_only: bool,
    /// Whether clients that are not trusted have written the type ids of the targets.
    pub(crate) types_of_clients: bool,
}

impl Passage {
    /// Reports whether callers may learn that a target supports an interface. If operations of unknown types are
    /// refused, a target of a client supports only interfaces that are known. Otherwise the caller would call an
    /// operation of the unknown interface, and the types of an operation of this name in a known one would apply.
    pub(crate) fn may_be_narrowed_to(&self, repository_id: &str) -> bool {
        let is_restricted = self.rules.known_only && self.rules.types_of_clients;
        !is_restricted
            || self.interfaces.has(repository_id)
            || repository_id == ObjectRef::REPOSITORY_ID
    }
}

/// Receiver of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Towards {
    /// The target receives arguments.
    Target,
    /// The client receives results and exceptions.
    Client,
}

impl Towards {
    /// Returns the completion status of a request that fails because of a value for this receiver.
    pub(crate) fn completed(self) -> CompletionStatus {
        match self {
            Towards::Target => CompletionStatus::No,
            Towards::Client => CompletionStatus::Yes,
        }
    }
}

/// Source of the references that replace those in values.
pub(crate) trait Counterparts: Send + Sync {
    /// Returns the reference that the receiver gets in place of `ior`. `declared` is the interface that the type of the
    /// value declares; `None` for `Object`, for text and for unknown types.
    ///
    /// # Errors
    /// The exception that the request raises.
    fn counterpart(
        &self,
        passage: &Arc<Passage>,
        ior: &Ior,
        declared: Option<&str>,
        towards: Towards,
    ) -> Result<Ior, SystemException>;
}

/// Returns an ORB with the options of another one, for requests in the byte order that is not this machine's. It
/// listens nowhere.
///
/// # Errors
/// The ORB cannot be created.
pub(crate) fn foreign_of(orb: &Orb) -> Result<Orb, SetupError> {
    let options = orb.options().clone();
    let foreign = Orb::builder().configure(|change| {
        *change = options;
        change.listen.clear();
        change.metrics = None;
        change.byte_order = opposite(ByteOrder::NATIVE);
    });
    foreign.build()
}

fn opposite(order: ByteOrder) -> ByteOrder {
    match order {
        ByteOrder::Big => ByteOrder::Little,
        ByteOrder::Little => ByteOrder::Big,
    }
}
