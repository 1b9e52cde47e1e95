//! System exceptions that this crate raises.

use oxorb_object::{CompletionStatus, SystemException, minor};

/// Returns IMP_LIMIT for a message larger than a datagram of the protocol.
pub(crate) const fn oversized(completed: CompletionStatus) -> SystemException {
    SystemException::imp_limit(minor::imp_limit::DATAGRAM, completed)
}

/// BAD_OPERATION: the call expects a reply from a group.
pub(crate) const ONEWAYS_ONLY: SystemException =
    SystemException::bad_operation(minor::bad_operation::ONEWAYS_ONLY, CompletionStatus::No);

/// TRANSIENT: the reference has no profile that can be used.
pub(crate) const NO_USABLE_PROFILE: SystemException =
    SystemException::transient(minor::transient::NO_USABLE_PROFILE, CompletionStatus::No);

/// TRANSIENT: connecting failed at every endpoint.
pub(crate) const CONNECT_FAILED: SystemException =
    SystemException::transient(minor::transient::CONNECT_FAILED, CompletionStatus::No);

/// TRANSIENT: the process has no descriptor left for a connection.
pub(crate) const NO_DESCRIPTORS: SystemException =
    SystemException::transient(minor::transient::NO_DESCRIPTORS, CompletionStatus::No);

/// TRANSIENT: the server closed the connection in order, without running the request.
pub(crate) const CONNECTION_CLOSED: SystemException =
    SystemException::transient(minor::transient::CONNECTION_CLOSED, CompletionStatus::No);

/// TRANSIENT: the server has not yet read an earlier connection, whose requests would be overtaken,
/// to its end.
pub(crate) const EARLIER_UNREAD: SystemException =
    SystemException::transient(minor::transient::EARLIER_UNREAD, CompletionStatus::No);

/// TRANSIENT: the connection holds no further outstanding call.
pub(crate) const TOO_MANY_OUTSTANDING: SystemException =
    SystemException::transient(minor::transient::TOO_MANY_OUTSTANDING, CompletionStatus::No);

/// TRANSIENT: the client has too many octets of unread replies for another request.
pub(crate) const TOO_MANY_REPLIES: SystemException =
    SystemException::transient(minor::transient::TOO_MANY_REPLIES, CompletionStatus::No);

/// NO_MEMORY: the client has too many octets of unread replies for one more of this size; the
/// request was run.
pub(crate) const REPLY_NOT_AFFORDED: SystemException =
    SystemException::no_memory(minor::no_memory::CLIENT_REPLIES, CompletionStatus::Yes);

/// NO_MEMORY: the values that a request would keep until it is answered do not fit in its client's
/// share; the request was not run to its end.
pub(crate) const VALUES_NOT_AFFORDED: SystemException =
    SystemException::no_memory(minor::no_memory::CLIENT_SHARE, CompletionStatus::No);

/// TRANSIENT: the client has as many requests running as it may.
pub(crate) const TOO_MANY_REQUESTS: SystemException =
    SystemException::transient(minor::transient::TOO_MANY_REQUESTS, CompletionStatus::No);

/// NO_PERMISSION: a request arrived over a connection that this side opened, for an object whose
/// policy does not allow that.
pub(crate) const NOT_BIDIRECTIONAL: SystemException =
    SystemException::no_permission(minor::no_permission::NOT_BIDIRECTIONAL, CompletionStatus::No);

/// TRANSIENT: the object has moved during an asynchronous call, which the caller has to repeat.
pub(crate) const FORWARDED: SystemException =
    SystemException::transient(minor::transient::FORWARDED, CompletionStatus::No);

/// Returns TIMEOUT for a call whose time limit has expired.
pub(crate) const fn timeout(completed: CompletionStatus) -> SystemException {
    let minor = match completed {
        CompletionStatus::No => minor::timeout::BEFORE_SENDING,
        _ => minor::timeout::AWAITING_REPLY,
    };
    SystemException::timeout(minor, completed)
}

/// INV_POLICY: the caller's policies and those published by the server are irreconcilable.
pub(crate) const IRRECONCILABLE: SystemException =
    SystemException::inv_policy(minor::inv_policy::IRRECONCILABLE, CompletionStatus::No);

/// INV_POLICY: the caller's priority lies in no band of the reference's connections.
pub(crate) const NO_BAND: SystemException =
    SystemException::inv_policy(minor::inv_policy::NO_BAND, CompletionStatus::No);

/// INV_POLICY: the server has no lane with the caller's priority.
pub(crate) const NO_LANE: SystemException =
    SystemException::inv_policy(minor::inv_policy::NO_LANE, CompletionStatus::No);

/// INV_POLICY: the reference has none of the client's protocols.
pub(crate) const NO_PROTOCOL: SystemException =
    SystemException::inv_policy(minor::inv_policy::NO_PROTOCOL, CompletionStatus::No);

/// INV_POLICY: the object can be reached over no secure protocol.
pub(crate) const NOT_PROTECTED: SystemException =
    SystemException::inv_policy(minor::inv_policy::NOT_PROTECTED, CompletionStatus::No);

/// IMP_LIMIT: the server's list of protocols is too long for a policy.
pub(crate) const LIST_UNUSABLE: SystemException =
    SystemException::imp_limit(minor::imp_limit::PROTOCOL_LIST, CompletionStatus::No);

/// OBJECT_NOT_EXIST: the server's LocateReply reports an unknown object.
pub(crate) const NOT_LOCATED: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

/// OBJECT_NOT_EXIST: the servant ended with its lane.
pub(crate) const SERVANT_ENDED: SystemException = NOT_LOCATED;

/// REBIND: the object has moved, and a policy forbids to follow it.
pub(crate) const REBIND_MOVED: SystemException =
    SystemException::rebind(minor::rebind::MOVED, CompletionStatus::No);

/// REBIND: the connection was lost, and a policy forbids to open another.
pub(crate) const REBIND_LOST: SystemException =
    SystemException::rebind(minor::rebind::CONNECTION_LOST, CompletionStatus::No);

/// TIMEOUT: a start time lies after the end of the allowed time.
pub(crate) const TOO_EARLY: SystemException =
    SystemException::timeout(minor::timeout::TOO_EARLY, CompletionStatus::No);

/// TIMEOUT: the request's deadline had passed when the request was checked.
pub(crate) const DEADLINE_PASSED: SystemException =
    SystemException::timeout(minor::timeout::DEADLINE_PASSED, CompletionStatus::No);

/// TRANSIENT: a request arrived too long before its start time.
pub(crate) const HELD_TOO_LONG: SystemException =
    SystemException::transient(minor::transient::HELD_TOO_LONG, CompletionStatus::No);

/// TRANSIENT: all threads of the lane are busy, and its queue is full.
pub(crate) const REQUESTS_BUFFERED: SystemException =
    SystemException::transient(minor::transient::REQUESTS_BUFFERED, CompletionStatus::No);

/// TRANSIENT: no thread is available for the request: the limit of running requests is reached, the system provides no
/// further thread, or a thread filter selected threads that do not exist.
pub(crate) const NO_SERVING_THREAD: SystemException =
    SystemException::transient(minor::transient::NO_THREAD, CompletionStatus::No);

/// TRANSIENT: the ORB or the threadpool of the connection ends, and serves no further request.
pub(crate) const SERVER_ENDS: SystemException =
    SystemException::transient(minor::transient::POA_DESTROYED, CompletionStatus::No);

/// TRANSIENT: the request would miss its deadline, according to the worst-case times of the
/// requests before it.
pub(crate) const NOT_ADMITTED: SystemException =
    SystemException::transient(minor::transient::NOT_ADMITTED, CompletionStatus::No);

/// TIMEOUT: the request could no longer meet its deadline when its turn came, and was dropped.
pub(crate) const DISPATCHED_LATE: SystemException =
    SystemException::timeout(minor::timeout::DISPATCHED_LATE, CompletionStatus::No);

/// TRANSIENT: the buffer for oneways is full.
pub(crate) const BUFFER_FULL: SystemException =
    SystemException::transient(minor::transient::BUFFER_FULL, CompletionStatus::No);

/// BAD_INV_ORDER: a request was copied after its arguments were taken from lent memory.
pub(crate) const ARGUMENTS_TAKEN: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::ARGUMENTS_TAKEN, CompletionStatus::No);

/// NO_RESOURCES: the shared memory has no free block for a payload that must lie in a block.
pub(crate) const NO_ROOM: SystemException =
    SystemException::no_resources(minor::no_resources::NO_ROOM, CompletionStatus::No);

/// NO_RESOURCES: the connection has no shared memory for a payload that must lie in shared memory.
pub(crate) const NO_SHARED_MEMORY: SystemException =
    SystemException::no_resources(minor::no_resources::NO_SHARED_MEMORY, CompletionStatus::No);

/// TRANSIENT: forwards form a circle.
pub(crate) const FORWARD_LOOP: SystemException =
    SystemException::transient(minor::transient::FORWARD_LOOP, CompletionStatus::No);

/// TRANSIENT: the server requests an addressing mode that is already in use.
pub(crate) const ADDRESSING_LOOP: SystemException =
    SystemException::transient(minor::transient::FORWARD_LOOP, CompletionStatus::No);

/// INV_OBJREF: a call was made through a nil reference.
pub(crate) const NIL_REFERENCE: SystemException =
    SystemException::inv_objref(minor::inv_objref::NIL, CompletionStatus::No);

/// MARSHAL: a reply has a status that GIOP does not define.
pub(crate) const UNKNOWN_REPLY_STATUS: SystemException =
    SystemException::marshal(minor::marshal::UNKNOWN_REPLY_STATUS, CompletionStatus::Maybe);

/// Returns the exception of calls whose reply cannot be read, because of a limit of this side or a fault of the peer.
#[cold]
pub(crate) fn bad_reply(violation: &oxorb_giop::Violation) -> SystemException {
    match violation.is_limit() {
        true => violation.to_exception(CompletionStatus::Maybe),
        false => BAD_REPLY,
    }
}

/// COMM_FAILURE: the peer violated the protocol.
pub(crate) const BAD_REPLY: SystemException =
    SystemException::comm_failure(minor::comm_failure::PROTOCOL_VIOLATION, CompletionStatus::Maybe);

/// COMM_FAILURE: the server closed the connection before it read any of the request.
pub(crate) const REQUEST_UNREAD: SystemException =
    SystemException::comm_failure(minor::comm_failure::SEND_FAILED, CompletionStatus::No);

/// COMM_FAILURE: the connection broke during the call.
pub(crate) const CONNECTION_LOST: SystemException =
    SystemException::comm_failure(minor::comm_failure::CONNECTION_LOST, CompletionStatus::Maybe);

/// UNKNOWN: the operation raised an exception that it does not declare.
pub(crate) const UNLISTED_USER_EXCEPTION: SystemException =
    SystemException::unknown(minor::unknown::UNLISTED_USER_EXCEPTION, CompletionStatus::Yes);

/// UNKNOWN: the servant panicked.
pub(crate) const SERVANT_PANICKED: SystemException =
    SystemException::unknown(minor::unknown::SERVANT_PANICKED, CompletionStatus::Maybe);

/// NO_RESPONSE: the servant kept the request to answer it later, and dropped it unanswered.
pub(crate) const UNANSWERED: SystemException =
    SystemException::no_response(minor::no_response::UNANSWERED, CompletionStatus::Maybe);

/// INTERNAL: the thread that keeps a request for a later answer does not serve its connection.
pub(crate) const NO_WAY_BACK: SystemException =
    SystemException::internal(minor::internal::BROKEN_INVARIANT, CompletionStatus::Maybe);

/// TRANSIENT: the number of requests that wait for a later answer is at its limit.
pub(crate) const TOO_MANY_UNANSWERED: SystemException =
    SystemException::transient(minor::transient::TOO_MANY_UNANSWERED, CompletionStatus::No);

/// BAD_OPERATION: the interface has no such operation.
pub(crate) const UNKNOWN_OPERATION: SystemException =
    SystemException::bad_operation(minor::bad_operation::UNKNOWN_OPERATION, CompletionStatus::No);

/// MARSHAL: text arrived in a code set other than the one negotiated for the connection.
pub(crate) const CODE_SETS_CHANGED: SystemException =
    SystemException::marshal(minor::marshal::CODE_SETS_CHANGED, CompletionStatus::No);

/// BAD_INV_ORDER: the ORB was shut down.
pub(crate) const ORB_SHUT_DOWN: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::SHUT_DOWN, CompletionStatus::No);

/// BAD_INV_ORDER: a request waits for the end of all requests, including itself.
pub(crate) const WOULD_DEADLOCK: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::WOULD_DEADLOCK, CompletionStatus::No);

/// NO_RESOURCES: the system provides no further thread.
pub(crate) const NO_THREAD: SystemException =
    SystemException::no_resources(minor::no_resources::THREADS, CompletionStatus::No);

/// COMM_FAILURE: the server sent MessageError.
pub(crate) const MESSAGE_ERROR: SystemException =
    SystemException::comm_failure(minor::comm_failure::MESSAGE_ERROR, CompletionStatus::Maybe);

/// INTF_REPOS: the ORB knows no Interface Repository.
pub(crate) const NO_INTERFACE_REPOSITORY: SystemException =
    SystemException::intf_repos(minor::intf_repos::NOT_AVAILABLE, CompletionStatus::No);

/// INTF_REPOS: the Interface Repository does not contain the interface.
pub(crate) const INTERFACE_NOT_IN_REPOSITORY: SystemException =
    SystemException::intf_repos(minor::intf_repos::NO_ENTRY, CompletionStatus::No);

/// INITIALIZE: a listening endpoint cannot be opened.
pub(crate) const CANNOT_LISTEN: SystemException =
    SystemException::initialize(minor::initialize::CANNOT_LISTEN, CompletionStatus::No);

/// DATA_CONVERSION: a priority has no native one, or its native one is invalid in the scheduling
/// class.
pub(crate) const NO_NATIVE_PRIORITY: SystemException = SystemException::data_conversion(
    minor::data_conversion::PRIORITY_MAPPING,
    CompletionStatus::No,
);

/// BAD_PARAM: a priority is below 0.
pub(crate) const BAD_PRIORITY: SystemException =
    SystemException::bad_param(minor::bad_param::REALTIME, CompletionStatus::No);

/// OBJECT_NOT_EXIST: the process serves no objects.
pub(crate) const NO_ADAPTER: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_POA, CompletionStatus::No);

/// INTERNAL: the system lacks a facility that every supported system has.
pub(crate) const BROKEN_INVARIANT: SystemException =
    SystemException::internal(minor::internal::BROKEN_INVARIANT, CompletionStatus::No);
