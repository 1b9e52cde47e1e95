//! The system exceptions that this crate raises, each once.

use oxorb_object::{CompletionStatus, SystemException, minor};

/// The message is larger than a datagram of the protocol.
pub(crate) const fn oversized(completed: CompletionStatus) -> SystemException {
    SystemException::imp_limit(minor::imp_limit::DATAGRAM, completed)
}

/// The call asks a group for an answer.
pub(crate) const ONEWAYS_ONLY: SystemException =
    SystemException::bad_operation(minor::bad_operation::ONEWAYS_ONLY, CompletionStatus::No);

/// TRANSIENT: the reference has no profile that can be used.
pub(crate) const NO_USABLE_PROFILE: SystemException =
    SystemException::transient(minor::transient::NO_USABLE_PROFILE, CompletionStatus::No);

/// Connecting failed at every endpoint.
pub(crate) const CONNECT_FAILED: SystemException =
    SystemException::transient(minor::transient::CONNECT_FAILED, CompletionStatus::No);

/// TRANSIENT: the process has no descriptor left for a connection.
pub(crate) const NO_DESCRIPTORS: SystemException =
    SystemException::transient(minor::transient::NO_DESCRIPTORS, CompletionStatus::No);

/// The server closed the connection in order, without running the request.
pub(crate) const CONNECTION_CLOSED: SystemException =
    SystemException::transient(minor::transient::CONNECTION_CLOSED, CompletionStatus::No);

/// The server has not read the connection before to its end.
pub(crate) const EARLIER_UNREAD: SystemException =
    SystemException::transient(minor::transient::EARLIER_UNREAD, CompletionStatus::No);

/// TRANSIENT: the connection holds no further outstanding call.
pub(crate) const TOO_MANY_OUTSTANDING: SystemException =
    SystemException::transient(minor::transient::TOO_MANY_OUTSTANDING, CompletionStatus::No);

/// The client has as many requests running as this server allows it.
pub(crate) const TOO_MANY_REPLIES: SystemException =
    SystemException::transient(minor::transient::TOO_MANY_REPLIES, CompletionStatus::No);

/// The client has taken too few of its replies for one more of this size; the request was run.
pub(crate) const REPLY_NOT_AFFORDED: SystemException =
    SystemException::no_memory(minor::no_memory::CLIENT_REPLIES, CompletionStatus::Yes);

/// NO_MEMORY: the values that a request would keep until it is answered do not fit in its client's
/// share; the request was not run to its end.
pub(crate) const VALUES_NOT_AFFORDED: SystemException =
    SystemException::no_memory(minor::no_memory::CLIENT_SHARE, CompletionStatus::No);

/// The client has as many requests running as it may.
pub(crate) const TOO_MANY_REQUESTS: SystemException =
    SystemException::transient(minor::transient::TOO_MANY_REQUESTS, CompletionStatus::No);

/// A request came over a connection that this side opened, to an object whose
/// policy does not allow that.
pub(crate) const NOT_BIDIRECTIONAL: SystemException =
    SystemException::no_permission(minor::no_permission::NOT_BIDIRECTIONAL, CompletionStatus::No);

/// The object has moved while an asynchronous call was under way; repeat it.
pub(crate) const FORWARDED: SystemException =
    SystemException::transient(minor::transient::FORWARDED, CompletionStatus::No);

/// The time limit of a call has passed.
pub(crate) const fn timeout(completed: CompletionStatus) -> SystemException {
    let minor = match completed {
        CompletionStatus::No => minor::timeout::BEFORE_SENDING,
        _ => minor::timeout::AWAITING_REPLY,
    };
    SystemException::timeout(minor, completed)
}

/// The caller's policies and those that the server published contradict each other.
pub(crate) const IRRECONCILABLE: SystemException =
    SystemException::inv_policy(minor::inv_policy::IRRECONCILABLE, CompletionStatus::No);

/// The caller's priority lies in no band of the reference's connections.
pub(crate) const NO_BAND: SystemException =
    SystemException::inv_policy(minor::inv_policy::NO_BAND, CompletionStatus::No);

/// INV_POLICY: the server has no lane with the caller's priority.
pub(crate) const NO_LANE: SystemException =
    SystemException::inv_policy(minor::inv_policy::NO_LANE, CompletionStatus::No);

/// The client's protocols are none of the reference's.
pub(crate) const NO_PROTOCOL: SystemException =
    SystemException::inv_policy(minor::inv_policy::NO_PROTOCOL, CompletionStatus::No);

/// The object is reached over no protocol that protects what it carries.
pub(crate) const NOT_PROTECTED: SystemException =
    SystemException::inv_policy(minor::inv_policy::NOT_PROTECTED, CompletionStatus::No);

/// The server's list of protocols cannot be kept as a policy.
pub(crate) const LIST_UNUSABLE: SystemException =
    SystemException::imp_limit(minor::imp_limit::PROTOCOL_LIST, CompletionStatus::No);

/// The server answered LocateRequest that it does not know the object.
pub(crate) const NOT_LOCATED: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

/// The servant ended with its lane.
pub(crate) const SERVANT_ENDED: SystemException = NOT_LOCATED;

/// The object has moved and may not be followed.
pub(crate) const REBIND_MOVED: SystemException =
    SystemException::rebind(minor::rebind::MOVED, CompletionStatus::No);

/// The connection was lost and no other may be opened.
pub(crate) const REBIND_LOST: SystemException =
    SystemException::rebind(minor::rebind::CONNECTION_LOST, CompletionStatus::No);

/// A start time lies after the end of the time allowed.
pub(crate) const TOO_EARLY: SystemException =
    SystemException::timeout(minor::timeout::TOO_EARLY, CompletionStatus::No);

/// The deadline that came with a request had passed when it was looked at.
pub(crate) const DEADLINE_PASSED: SystemException =
    SystemException::timeout(minor::timeout::DEADLINE_PASSED, CompletionStatus::No);

/// A request came too long before its start time.
pub(crate) const HELD_TOO_LONG: SystemException =
    SystemException::transient(minor::transient::HELD_TOO_LONG, CompletionStatus::No);

/// All threads of the lane are busy, and as many requests as may wait do.
pub(crate) const REQUESTS_BUFFERED: SystemException =
    SystemException::transient(minor::transient::REQUESTS_BUFFERED, CompletionStatus::No);

/// TRANSIENT: the request gets no thread, since as many as may run do, the system gives no further
/// one, or a thread filter picked threads that there are not.
pub(crate) const NO_SERVING_THREAD: SystemException =
    SystemException::transient(minor::transient::NO_THREAD, CompletionStatus::No);

/// TRANSIENT: the request would not be done by its deadline, by the worst-case times of what goes
/// before.
pub(crate) const NOT_ADMITTED: SystemException =
    SystemException::transient(minor::transient::NOT_ADMITTED, CompletionStatus::No);

/// The request could not be in time any more when its turn came, and was dropped.
pub(crate) const DISPATCHED_LATE: SystemException =
    SystemException::timeout(minor::timeout::DISPATCHED_LATE, CompletionStatus::No);

/// The buffer for oneways is full.
pub(crate) const BUFFER_FULL: SystemException =
    SystemException::transient(minor::transient::BUFFER_FULL, CompletionStatus::No);

/// A request was copied after its arguments were taken from where they lay.
pub(crate) const ARGUMENTS_TAKEN: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::ARGUMENTS_TAKEN, CompletionStatus::No);

/// NO_RESOURCES: the shared memory has no free block for a payload that may lie nowhere else.
pub(crate) const NO_ROOM: SystemException =
    SystemException::no_resources(minor::no_resources::NO_ROOM, CompletionStatus::No);

/// The connection has no memory for a payload that may lie nowhere else.
pub(crate) const NO_SHARED_MEMORY: SystemException =
    SystemException::no_resources(minor::no_resources::NO_SHARED_MEMORY, CompletionStatus::No);

/// Forwards lead in a circle.
pub(crate) const FORWARD_LOOP: SystemException =
    SystemException::transient(minor::transient::FORWARD_LOOP, CompletionStatus::No);

/// The server keeps asking for an addressing mode it already gets.
pub(crate) const ADDRESSING_LOOP: SystemException =
    SystemException::transient(minor::transient::FORWARD_LOOP, CompletionStatus::No);

/// A call through a nil reference.
pub(crate) const NIL_REFERENCE: SystemException =
    SystemException::inv_objref(minor::inv_objref::NIL, CompletionStatus::No);

/// A reply status that GIOP does not know.
pub(crate) const UNKNOWN_REPLY_STATUS: SystemException =
    SystemException::marshal(minor::marshal::UNKNOWN_REPLY_STATUS, CompletionStatus::Maybe);

/// Returns the exception of calls whose reply cannot be read: for a limit of this side, or a fault of the peer.
#[cold]
pub(crate) fn bad_reply(violation: &oxorb_giop::Violation) -> SystemException {
    match violation.is_limit() {
        true => violation.to_exception(CompletionStatus::Maybe),
        false => BAD_REPLY,
    }
}

/// The peer sent something that is no GIOP.
pub(crate) const BAD_REPLY: SystemException =
    SystemException::comm_failure(minor::comm_failure::PROTOCOL_VIOLATION, CompletionStatus::Maybe);

/// The server was gone before it read any of the request.
pub(crate) const REQUEST_UNREAD: SystemException =
    SystemException::comm_failure(minor::comm_failure::SEND_FAILED, CompletionStatus::No);

/// The connection broke while the call was running.
pub(crate) const CONNECTION_LOST: SystemException =
    SystemException::comm_failure(minor::comm_failure::CONNECTION_LOST, CompletionStatus::Maybe);

/// The operation raised an exception that it does not declare.
pub(crate) const UNLISTED_USER_EXCEPTION: SystemException =
    SystemException::unknown(minor::unknown::UNLISTED_USER_EXCEPTION, CompletionStatus::Yes);

/// The servant panicked.
pub(crate) const SERVANT_PANICKED: SystemException =
    SystemException::unknown(minor::unknown::SERVANT_PANICKED, CompletionStatus::Maybe);

/// The servant kept the request to answer it later, and then let go of it.
pub(crate) const UNANSWERED: SystemException =
    SystemException::no_response(minor::no_response::UNANSWERED, CompletionStatus::Maybe);

/// A request shall be answered later, but its thread has nothing to do with its connection.
pub(crate) const NO_WAY_BACK: SystemException =
    SystemException::internal(minor::internal::BROKEN_INVARIANT, CompletionStatus::Maybe);

/// TRANSIENT: the number of requests that wait for a later answer is the largest allowed.
pub(crate) const TOO_MANY_UNANSWERED: SystemException =
    SystemException::transient(minor::transient::TOO_MANY_UNANSWERED, CompletionStatus::No);

/// The interface has no such operation.
pub(crate) const UNKNOWN_OPERATION: SystemException =
    SystemException::bad_operation(minor::bad_operation::UNKNOWN_OPERATION, CompletionStatus::No);

/// Text arrived in another code set than the connection agreed on.
pub(crate) const CODE_SETS_CHANGED: SystemException =
    SystemException::marshal(minor::marshal::CODE_SETS_CHANGED, CompletionStatus::No);

/// The ORB was shut down.
pub(crate) const ORB_SHUT_DOWN: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::SHUT_DOWN, CompletionStatus::No);

/// Waiting for the end of requests from within a request.
pub(crate) const WOULD_DEADLOCK: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::WOULD_DEADLOCK, CompletionStatus::No);

/// The system gives no further thread.
pub(crate) const NO_THREAD: SystemException =
    SystemException::no_resources(minor::no_resources::THREADS, CompletionStatus::No);

/// The server could not read what we sent.
pub(crate) const MESSAGE_ERROR: SystemException =
    SystemException::comm_failure(minor::comm_failure::MESSAGE_ERROR, CompletionStatus::Maybe);

/// INTF_REPOS: the ORB knows no Interface Repository.
pub(crate) const NO_INTERFACE_REPOSITORY: SystemException =
    SystemException::intf_repos(minor::intf_repos::NOT_AVAILABLE, CompletionStatus::No);

/// The Interface Repository does not know the interface.
pub(crate) const INTERFACE_NOT_IN_REPOSITORY: SystemException =
    SystemException::intf_repos(minor::intf_repos::NO_ENTRY, CompletionStatus::No);

/// A listening endpoint cannot be opened.
pub(crate) const CANNOT_LISTEN: SystemException =
    SystemException::initialize(minor::initialize::CANNOT_LISTEN, CompletionStatus::No);

/// A priority has no native one, or the scheduling class does not have it.
pub(crate) const NO_NATIVE_PRIORITY: SystemException = SystemException::data_conversion(
    minor::data_conversion::PRIORITY_MAPPING,
    CompletionStatus::No,
);

/// A priority below 0.
pub(crate) const BAD_PRIORITY: SystemException =
    SystemException::bad_param(minor::bad_param::REALTIME, CompletionStatus::No);

/// OBJECT_NOT_EXIST: the process serves no objects.
pub(crate) const NO_ADAPTER: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_POA, CompletionStatus::No);

/// The system lacks what every system has.
pub(crate) const BROKEN_INVARIANT: SystemException =
    SystemException::internal(minor::internal::BROKEN_INVARIANT, CompletionStatus::No);
