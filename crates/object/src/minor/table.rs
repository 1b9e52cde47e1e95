// Rows of the minor code table. This file contains only the table, and minor.rs includes it with
// `include!`. Each exception and its module are followed by the codes: vendor, number, name, cause,
// remedy.
minors! {
    Unknown unknown {
        OMG 1 UNLISTED_USER_EXCEPTION: "a user exception that the operation does not declare", "add it to the operation's raises clause, or catch it in the servant";
        OMG 2 NON_STANDARD_SYSTEM_EXCEPTION: "a system exception outside the standard", "look at the server's log: its ORB has non-standard exceptions";
        OMG 3 UNLISTED_SEEN_BY_INTERCEPTOR: "an undeclared user exception seen by an interceptor", "add it to the operation's raises clause";
        OXORB 1 SERVANT_PANICKED: "the servant panicked", "look for the panic message in the server's log";
    }
    BadParam bad_param {
        OMG 1 VALUE_FACTORY: "registering or finding a value factory failed", "register a factory for the value type";
        OMG 2 ID_IN_REPOSITORY: "the repository id is already in the interface repository", "use another repository id";
        OMG 3 NAME_IN_REPOSITORY: "the name is already used in this context of the interface repository", "use another name";
        OMG 4 BAD_CONTAINER: "the target is not a valid container", "choose a container that can contain this kind of definition";
        OMG 5 INHERITED_NAME_CLASH: "a name clashes with an inherited one", "rename the definition";
        OMG 6 ABSTRACT_INTERFACE_TYPE: "the abstract interface has another type", "pass a value of the declared type";
        OMG 7 URL_SCHEME: "the scheme of the object URL is unknown", "use IOR:, corbaloc:, corbaname: or file:";
        OMG 8 URL_ADDRESS: "the address in the object URL is malformed", "write corbaloc:iiop:1.2@host:port/key, an IPv6 address in brackets";
        OMG 9 URL_SCHEME_SPECIFIC: "the part of the object URL after the scheme is malformed", "check the key and its %HH escapes";
        OMG 10 URL_OTHER: "the object URL cannot be used", "check the URL, and whether the named object exists";
        OMG 11 ABSTRACT_DERIVES: "an abstract interface derives from a non-abstract one", "make the base abstract";
        OMG 12 VALUE_SUPPORTS: "a value supports more than one concrete interface", "support one concrete interface";
        OMG 13 INCOMPLETE_TYPECODE: "an incomplete TypeCode was passed", "complete the recursive TypeCode first";
        OMG 14 OBJECT_ID: "the object id is invalid", "pass an id that this adapter created or accepts";
        OMG 15 TYPECODE_NAME: "a name in a TypeCode operation is invalid", "use an IDL identifier";
        OMG 16 TYPECODE_ID: "a repository id in a TypeCode operation is invalid", "use the form IDL:path:major.minor";
        OMG 17 TYPECODE_MEMBER_NAME: "a member name in a TypeCode operation is invalid", "use distinct IDL identifiers";
        OMG 18 DUPLICATE_LABEL: "a union label occurs twice", "make the labels distinct";
        OMG 19 LABEL_TYPE: "a union label does not fit the discriminator's type", "use labels of the discriminator's type";
        OMG 20 DISCRIMINATOR_TYPE: "the discriminator's type is illegal", "use an integer, char, boolean or enum";
        OMG 21 ANY_NOT_EXCEPTION: "the Any contains no exception", "insert an exception";
        OMG 22 SET_EXCEPTION_UNLISTED: "set_exception was called with an undeclared user exception", "raise only declared exceptions";
        OMG 23 WCHAR_CODE_SET_MISSING: "a wide character arrived over a connection without a wide code set", "make the client send the CodeSets context: use an ORB that negotiates code sets";
        OMG 24 CONTEXT_ID_RANGE: "a service context id is out of range", "use an id assigned to you";
        OMG 25 ENUM_RANGE: "an enumerator is out of range", "pass an enumerator of the type";
        OMG 26 UNKNOWN_CONTEXT_ID: "an interceptor requested a service context that does not exist", "check for its presence first";
        OMG 27 NIL_INITIAL_REFERENCE: "a nil initial reference was registered", "register an object";
        OMG 28 UNKNOWN_COMPONENT_ID: "an interceptor requested a component that does not exist", "check for its presence first";
        OMG 29 UNKNOWN_PROFILE_ID: "an interceptor requested a profile that does not exist", "check for its presence first";
        OMG 30 DUPLICATE_POLICY: "a policy type occurs twice", "pass each policy once";
        OMG 31 BAD_ONEWAY: "a oneway operation has results or exceptions", "return nothing from oneway operations";
        OMG 32 IMPLICIT_OPERATION: "a dynamic request for an implicit operation", "call the operation of the reference itself";
        OMG 33 XAER_INVAL: "the XA call had invalid arguments", "check the resource manager's log";
        OMG 34 UNION_MODIFIER: "a union modifier was called with a wrong discriminant", "use a discriminant of that member";
        OMG 35 CONTEXT_PROPERTY: "a context property is illegal", "check the property";
        OMG 36 CONTEXT_SEARCH: "a context search is illegal", "check the search scope";
        OMG 37 CONTEXT_NAME: "a context name is illegal", "check the name";
        OMG 38 CONTEXT_NOT_EMPTY: "a context to be deleted is not empty", "delete its children first";
        OMG 39 STREAM_FORMAT: "the RMI stream format is not supported", "use stream format 1 or 2";
        OMG 40 VALUE_OUTPUT_STREAM: "the stream cannot write values", "use a stream that is a ValueOutputStream";
        OMG 41 VALUE_INPUT_STREAM: "the stream cannot read values", "use a stream that is a ValueInputStream";
        OMG 42 ONLY_LATIN_1: "this reference accepts only ISO 8859-1 characters", "send text within ISO 8859-1";
        OMG 43 POLLABLE_IN_SET: "the pollable is already in a set", "remove it there first";
        OMG 44 COMPRESSION_LEVEL: "the compression level is invalid", "use a level from 0 to 9";
        OXORB 3 SCHEDULING: "a time, a number, a priority or a name in the call to the scheduling service is out of range", "read the server's log, which names the value; times are units of 100 ns, and numbers of calls begin at 1";
        OXORB 2 REALTIME: "a parameter of a real-time operation is out of range, or names a threadpool that does not exist", "read the message of the exception";
        OXORB 4 NIL_PEER: "the event service received a nil reference for an object that it must call", "pass the reference of the consumer, supplier, filter or callback";
        OXORB 5 NULL_EVENT: "a null value was pushed to a component", "push a value of the event type";
        OXORB 6 NIL_CONSUMER: "a nil reference was subscribed to an event port", "pass the consumer's reference";
        OXORB 7 NOT_OF_HOME: "this home did not create the component", "pass a reference that this home returned; nil is not accepted";
        OXORB 1 NOT_ENCODABLE: "an argument cannot be encoded as its IDL type", "keep bounded strings and sequences within their bounds and strings free of NUL";
    }
    ImpLimit imp_limit {
        OMG 1 NO_USABLE_PROFILE: "this ORB can use no profile of the reference", "check the protocols both sides have enabled";
        OXORB 1 MESSAGE_TOO_LARGE: "the message to send is larger than this side's limit", "raise MaxMessage on this side, or send less data per request";
        OXORB 2 RECEIVED_TOO_LARGE: "the message received is larger than this side's limit", "raise MaxMessage on the receiving side, or send less data per request";
        OXORB 3 NAME_TOO_LONG: "the name has more components or octets than the naming service accepts", "use a shorter name, or raise --max-components or --max-name of the service";
        OXORB 4 BOUND_REFERENCE_TOO_LONG: "the reference to be bound is longer than the naming service accepts", "raise --max-reference of the service";
        OXORB 5 BINDINGS: "the naming context has the maximum number of bindings", "remove some with `oxorb name prune`, or raise --max-bindings of the service";
        OXORB 6 CONTEXTS: "the naming service has the maximum number of contexts", "destroy unused ones, or raise --max-contexts of the service";
        OXORB 8 DECODED: "the values of the message need more memory than this side permits for one message", "raise MaxDecoded on the receiving side, or send less data per request";
        OXORB 9 PROTOCOL_LIST: "the server's list of protocols cannot be kept: a protocol occurs in it twice, or this process keeps 1,024 different lists", "read the list with `oxorb ior show`; create each list of protocols once, and reuse it";
        OXORB 10 EVENT_CHANNELS: "the event service has the maximum number of channels", "destroy unused ones, or raise Limits::channels of the service";
        OXORB 11 EVENT_ADMINS: "the event channel has the maximum number of admin objects", "destroy unused ones, or raise Limits::admins of the service";
        OXORB 12 EVENT_PROXIES: "the event channel has the maximum number of proxies", "disconnect unused ones, or raise Limits::proxies of the service (Limits::consumers, Limits::suppliers of a real-time channel)";
        OXORB 13 EVENT_FILTERS: "the event service, or the object to which a filter is added, has the maximum number of filters", "destroy or remove unused ones, or raise Limits::filters or Limits::filters_of_object of the service";
        OXORB 14 EVENT_CONSTRAINTS: "the filter has the maximum number of constraints, or they are too long", "remove some, or raise Limits::constraints or Limits::constraint_octets of the service";
        OXORB 15 EVENT_TYPES: "the list of event types is longer than the event service accepts", "use wildcards, or raise Limits::event_types of the service (Limits::publications of a real-time channel)";
        OXORB 16 EVENT_PEERS: "the maximum number of suppliers or consumers is connected to the event channel", "raise MaxConsumers or MaxSuppliers of the channel (set_admin)";
        OXORB 17 EVENT_QUEUE: "the event channel's queue is full, and the channel rejects new events", "push more slowly, raise MaxQueueLength of the channel, or set RejectNewEvents to false";
        OXORB 18 EVENT_PULLS: "the maximum number of pulls waits for an event at the event service", "use try_pull, or raise Limits::blocked_pulls of the service";
        OXORB 19 EVENT_CALLBACKS: "the event service has the maximum number of callbacks", "unregister unused ones, or raise Limits::callbacks of the service";
        OXORB 20 EVENT_STORE: "the event service stores the maximum size of persistent events", "let persistent consumers receive their events, or disconnect them, or raise Limits::stored_octets of the service";
        OXORB 21 EVENT_PUSH: "the event is larger than the event channel accepts in one push, or beyond its supplier's rate", "push smaller events or fewer of them, or raise Limits::events or Limits::octets of the channel";
        OXORB 22 DATAGRAM: "the message is larger than a datagram of the protocol can be, and datagrams are not fragmented", "send less data per request, raise max= of the server's diop:// endpoint, or add an IIOP endpoint to the server";
        OXORB 23 BRIDGED: "the bridge keeps the maximum number of references", "restart the bridge, or let clients keep references instead of requesting new ones";
        OXORB 24 EVENT_HELD: "the constraints, default values, subscriptions and offers of clients would exceed the memory limit of the event service, or of one filter", "remove constraints or event types, write shorter ones, or raise Limits::filter_octets or Limits::held_octets of the service";
        OXORB 25 EVENT_SHARE: "this client has the maximum share of the event service's channels, admins, proxies, filters or waiting pulls", "destroy or disconnect unused ones, or raise Limits::client_share of the service";
        OXORB 7 SCHEDULED: "the scheduling service has the maximum number of operations or dependencies", "raise --max-operations or --max-dependencies of the service";
    }
    PersistStore persist_store {
        OXORB 1 NOT_WRITTEN: "the service could not write to its store; nothing was changed", "look at the service's log; check disk space and permissions";
        OXORB 2 NOT_READ: "the service could not read its store", "look at the service's log; check the disk";
        OXORB 3 WRITER_ENDED: "the thread that writes the naming service's store has ended, so the service can change nothing", "look for the panic message in the service's log, and restart the service";
        OXORB 4 NOT_SYNCED: "the service made the change, or may have made it, but could not ensure that it survives a failure of the computer", "look at the service's log; check the disk, and check whether the change exists";
    }
    NoPermission no_permission {
        OXORB 1 ROOT_CONTEXT: "the root of the naming service cannot be destroyed", "destroy the contexts below it";
        OXORB 2 NOT_BIDIRECTIONAL: "the object accepts no requests over a connection that its own side opened", "create its POA with the bidirectional policy, or set OfferBiDirectionalGIOP at its ORB";
        OXORB 3 PRIVILEGED: "the reference leads to the application section of the scheduling service, but the operation belongs to the privileged section", "use the reference at the key ScheduleService";
        OXORB 4 READ_ONLY: "the service was started read-only, and the operation would change its state", "start it without --read-only, or make the change at another server";
        OXORB 5 ACCESS_RULES: "the server's access rules do not allow this client to call the operation", "look at the server's log, which names the rule, and at `[access]` of its configuration or of its -ORBAccessRules";
        OXORB 6 NOT_PROTECTED: "the object's POA accepts requests only over protocols that protect their messages (secure_only)", "call it by a reference of the server, which leads there over TLS";
        OXORB 7 REFERENCE_REFUSED: "a gateway does not pass on or follow a reference that its settings do not permit", "check the reference with `oxorb gateway check`, and permit its address with `callbacks` of the gateway";
        OXORB 8 UNKNOWN_TYPES: "the gateway does not know the types of the operation, and refuses such operations", "name the IDL of the interface with `idl` of the gateway, or let `unknown` be search";
    }
    Initialize initialize {
        OMG 1 PRIORITY_RANGE: "the priority range is too small", "widen the range of priorities of the mapping";
        OXORB 1 BAD_ARGUMENT: "an ORB argument or option is malformed or unknown", "read the message of the exception, and the page about configuration";
        OXORB 2 CANNOT_LISTEN: "no listening endpoint could be opened", "check that address and port are free and exist on this machine";
    }
    InvObjref inv_objref {
        OMG 1 WCHAR_CODE_SET_MISSING: "the reference names no wide code set", "the server must publish one in TAG_CODE_SETS";
        OMG 2 CODE_SETS_MISSING: "the reference has no code set component", "the server must publish TAG_CODE_SETS before wide characters can be sent";
        OXORB 1 MALFORMED: "the reference is malformed", "copy the whole IOR; `oxorb ior show` reports the position of the defect";
        OXORB 2 NIL: "the reference is nil", "check where the reference came from";
    }
    Marshal marshal {
        OMG 1 NO_VALUE_FACTORY: "no factory for a received value type", "register a factory for the value type";
        OMG 2 SET_RESULT_ORDER: "set_result was called before ctx", "call ctx first";
        OMG 3 NVLIST_MISMATCH: "the named values do not match the operation", "describe every parameter in order";
        OMG 4 LOCAL_OBJECT: "a local object cannot be sent", "send a reference to an object that is not local";
        OMG 5 WCHAR_FROM_1_0_CLIENT: "a wide character in GIOP 1.0, from the client", "use GIOP 1.1 or later for wide characters";
        OMG 6 WCHAR_FROM_1_0_SERVER: "a wide character in GIOP 1.0, from the server", "use GIOP 1.1 or later for wide characters";
        OMG 7 STREAM_FORMAT: "an RMI custom value has an unknown stream format", "agree on a stream format";
        OMG 8 CUSTOM_DATA: "custom marshalled data does not match", "make sender and receiver use the same custom marshalling";
        OMG 9 CODE_SETS_CHANGED: "the code sets changed on a connection", "the client must send one CodeSets context per connection";
        OXORB 1 TRUNCATED: "the data ends too early", "check that both sides were generated from the same IDL";
        OXORB 2 BOUND_EXCEEDED: "a bounded string or sequence is too long", "check that both sides were generated from the same IDL";
        OXORB 3 IMPLAUSIBLE_LENGTH: "a length is larger than the data that follows", "check that both sides were generated from the same IDL";
        OXORB 4 BOOLEAN: "a boolean is neither 0 nor 1", "check that both sides were generated from the same IDL; -ORBStrictEncoding 0 accepts any value other than 0 as true";
        OXORB 5 ENUMERATOR: "an enumerator is unknown", "check that both sides were generated from the same IDL";
        OXORB 6 LABEL: "a union label selects nothing", "check that both sides were generated from the same IDL";
        OXORB 7 STRING: "a string is not terminated or not text", "check the code sets and the IDL of both sides";
        OXORB 8 TOO_DEEP: "the data is nested too deeply", "raise the nesting limit if the data is legitimate";
        OXORB 9 TRAILING: "octets are left after the last argument", "check that both sides were generated from the same IDL; -ORBStrictEncoding 0 ignores them";
        OXORB 10 OTHER: "the data is malformed", "check that both sides were generated from the same IDL";
        OXORB 11 UNKNOWN_REPLY_STATUS: "the reply has an unknown status", "report it to the peer's vendor";
        OXORB 12 INDIRECTION: "a reference within the data does not lead to a value of its kind", "report it to the peer's vendor";
        OXORB 13 FIXED: "a fixed-point number has a wrong digit or sign, or too many digits", "check that both sides were generated from the same IDL";
        OXORB 14 VALUE: "a valuetype is malformed, or not of the expected type", "check that both sides were generated from the same IDL";
        OXORB 15 NO_CUSTOM_MARSHAL: "a custom valuetype that the application has no marshalling for", "implement CustomMarshal for its struct, in the crate that includes the generated code";
        OXORB 16 NOT_ALIKE: "a bridge cannot forward the values unchanged: its connections on the two sides use different code sets, or only one side uses GIOP 1.1 and there may be wide text, or a request of GIOP 1.0 or 1.1 may have values of eight octets at other offsets", "let both sides use GIOP 1.2 and the same code sets (-ORBNativeCharCodeSet of the bridge), or specify the IDL (--idl)";
        OXORB 30 SCHEDULING_CONTEXT: "the scheduling context of the request (service context 30) is malformed, or belongs to another scheduler", "use the same scheduling discipline on both sides; the log of this side states the reason";
    }
    BadTypecode bad_typecode {
        OMG 1 INCOMPLETE: "the TypeCode is incomplete", "complete the recursive TypeCode first";
        OMG 2 MEMBER_TYPE: "a member's type is illegal", "use a type that is allowed for members";
        OMG 3 PARAMETER_TYPE: "a parameter's type is illegal", "use a type that is allowed for parameters";
        OXORB 1 MALFORMED: "the TypeCode is invalid: an unknown kind, or parts that do not match the kind", "report it to the peer's vendor; a TypeCode of this process is complete if is_complete() returns true";
    }
    NoImplement no_implement {
        OMG 1 NO_VALUE_IMPLEMENTATION: "the value type has no implementation in this process", "implement the trait of its operations for its struct, in the crate that includes the generated code";
        OMG 2 VALUE_VERSION: "the value's version is incompatible", "deploy the same version on both sides";
        OMG 3 NO_USABLE_PROFILE: "this ORB can use no profile of the reference", "check the protocols both sides have enabled";
        OMG 4 DII_ON_LOCAL: "dynamic invocation on a local object", "call it directly";
        OMG 8 LOCAL_OPERATION: "a local object does not have this operation", "call it on a remote object";
        OXORB 1 READ_ONLY: "the interface repository is filled from IDL files, not over the wire", "load the IDL with `oxorb ifr load`";
        OXORB 2 LIGHTWEIGHT: "the component's container is lightweight: it describes no ports", "use the operations of the component's own interface, or create the container without `lightweight`";
        OXORB 3 NO_DEFINITION: "components have no interface repository that describes them", "read the IDL, or `oxorb ifr`";
        OXORB 4 NO_DOMAIN: "the node manager joins no domain: it neither reports nor commits resources", "describe nodes in a domain document, and check the plan against it with `oxorb deploy check --domain`";
    }
    NoMemory no_memory {
        OXORB 1 CLIENT_SHARE: "the values of this client's messages use the maximum memory of one client at the server", "send less data per request, or raise MaxOctetsPerClient of the server";
        OXORB 2 CLIENT_REPLIES: "the operation was run, but its result exceeds the limit of unread replies of a client", "read replies as they arrive, or raise MaxReplyOctetsPerClient of the server";
        OXORB 3 ARENA: "the values of the request do not fit into the memory that the server's thread keeps for them", "send less data per request, raise ValueArena of the server, or set its ValueArenaFull to heap";
    }
    NoResources no_resources {
        OMG 1 INTERCEPTION_UNSUPPORTED: "this binding does not support the interception operation", "do without it";
        OMG 2 NO_CONNECTION_FOR_PRIORITY: "no connection for this priority", "configure a priority band that contains it";
        OXORB 1 CONNECTIONS: "the limit of connections is reached", "raise the limit of connections, or close idle ones";
        OXORB 2 THREADS: "no thread is free", "raise the number of threads of the pool";
        OXORB 3 SLOTS: "all slots of this process are allocated", "allocate a slot once per service and keep it";
        OXORB 4 NO_ROOM: "the shared memory of the connection has no free block of this size, or a payload of this size needs none", "ask for 16 KiB or more, raise blocks= of the server's endpoint, let the servant drop payloads that it keeps, or set LargePayloads to in-place: then the payload is copied";
        OXORB 5 NO_SHARED_MEMORY: "the connection shares no memory with the server for payloads", "make the server listen on shm://, or set LargePayloads to in-place: then the payload is copied";
        OXORB 6 NOT_IN_PLACE: "the server reads large payloads only in place, but this one arrived as a copy", "call over shm:// as the server's user, with one large payload a request and free blocks (blocks= of the endpoint), or set LargePayloads of the POA, the endpoint or the server to in-place";
        OXORB 30 SEGMENTS: "the thread has the maximum number of nested scheduling segments", "end a segment before another one begins";
        OXORB 31 DISTRIBUTABLE_THREADS: "the maximum number of spawned distributable threads is running", "spawn another one when some have ended, or raise Limits::spawned";
        OXORB 7 RANDOM: "the system returned no random octets for a cookie", "check that the process may call getrandom";
    }
    BadInvOrder bad_inv_order {
        OMG 1 DEPENDENCY: "other definitions depend on it", "remove them first";
        OMG 2 INDESTRUCTIBLE: "the definition cannot be destroyed", "leave it";
        OMG 3 WOULD_DEADLOCK: "the call would wait for itself", "do not wait for completion from within a request";
        OMG 4 SHUT_DOWN: "the ORB has shut down", "do not use an ORB after shutdown";
        OMG 5 REQUEST_INVOKED_TWICE: "the dynamic request was already invoked", "create a new request";
        OMG 6 SERVANT_MANAGER_SET: "a servant manager is already set", "set it once";
        OMG 7 ARGUMENTS_ORDER: "arguments was called out of order", "call it once, first";
        OMG 8 CTX_ORDER: "ctx was called out of order", "call it after arguments";
        OMG 9 RESULT_ORDER: "set_result was called out of order", "call it after arguments";
        OMG 10 ALREADY_SENT: "the dynamic request was already sent", "create a new request";
        OMG 11 NOT_SENT: "the dynamic request was not sent", "send it first";
        OMG 12 RESULT_TAKEN: "the result was already taken", "take it once";
        OMG 13 SYNCHRONOUS: "the dynamic request is synchronous", "send it deferred";
        OMG 14 INTERCEPTION_POINT: "not allowed at this interception point", "see which attributes each point has";
        OMG 15 CONTEXT_EXISTS: "the service context already exists", "allow replacement";
        OMG 16 POLICY_FACTORY_EXISTS: "a policy factory for this type exists", "register it once";
        OMG 17 POA_BEING_DESTROYED: "the adapter is being destroyed", "create it after destruction is complete";
        OMG 18 PRIORITY_REASSIGNED: "the priority was already set", "set it once";
        OMG 19 XA_ORDER: "the XA call was made out of order", "check the transaction's state";
        OMG 20 XA_ORDER_2: "the transaction service was called out of order", "check the transaction's state";
        OMG 21 XA_ORDER_3: "the transaction service was called in a wrong state", "check the transaction's state";
        OMG 22 POLLER_NOT_READY: "the poller has no answer yet", "ask is_ready first";
        OMG 23 PROFILE_FACTORY_EXISTS: "a profile factory exists", "register it once";
        OMG 24 COMPONENT_FACTORY_EXISTS: "a component factory exists", "register it once";
        OMG 25 ITERATION_ENDED: "the iteration has ended", "stop at the end";
        OMG 26 NOT_IN_POST_INIT: "allowed in post_init only", "move the call to post_init";
        OXORB 1 NOT_CONNECTED: "the proxy of the event channel is not connected", "connect a supplier or consumer to it first";
        OXORB 2 ARGUMENTS_TAKEN: "the request was copied for another thread after its arguments were taken from shared memory", "copy it first (Upcall::detach), or read the arguments with Upcall::args";
        OXORB 3 RECEPTACLE_EMPTY: "the component used a receptacle to which nothing is connected", "connect the port first; the error in the component's process names it";
        OXORB 4 COMPONENT_PHASE: "the component is not in the phase of its life cycle that this call needs", "call configuration_complete before events arrive, each phase once, and nothing after remove";
        OXORB 30 NO_SEGMENT: "the thread is in no scheduling segment", "call begin_scheduling_segment first, in the same thread";
    }
    Transient transient {
        OMG 1 DISCARDING: "the object adapter discards requests or lacks resources", "try again later; activate the POA manager if this lasts";
        OMG 2 NO_USABLE_PROFILE: "no usable profile in the reference; calls over TLS need trusted roots (-ORBTlsRoots)", "check host, port and protocols in the reference with `oxorb ior show`";
        OMG 3 CANCELLED: "the request was cancelled", "send it again if it still matters";
        OMG 4 POA_DESTROYED: "the object adapter was destroyed", "try again when the server has restarted";
        OXORB 1 CONNECT_FAILED: "no endpoint of the reference accepted a connection", "check that the server runs and that its published address can be reached from here";
        OXORB 2 CONNECTION_CLOSED: "the server closed the connection before it processed the request", "send it again";
        OXORB 3 FORWARD_LOOP: "the reference is forwarded in a circle", "check the forwarding objects";
        OXORB 8 HELD_TOO_LONG: "the request arrived earlier before its start time than the server holds requests", "send it later, or raise HoldTime on the server";
        OXORB 10 TOO_MANY_UNANSWERED: "the server has the maximum number of requests that it will answer later", "try again when some were answered, or raise MaxUnanswered at the server";
        OXORB 9 BUFFER_FULL: "the buffer of oneway requests for the server is full", "send fewer oneways, flush more often, or raise BufferedOneways";
        OXORB 11 REQUESTS_BUFFERED: "all threads of the server's lane are busy and its request buffer is full", "try again later, or give the threadpool more threads or a larger buffer";
        OXORB 12 NO_THREAD: "the server has no thread for the request: the maximum number of threads is running, or its thread filter selected no threadpool that accepts requests", "try again later; give thread-per-request more threads, and selected threadpools a queue";
        OXORB 13 NO_DESCRIPTORS: "the client's process has no descriptor left for a connection", "raise ulimit -n (LimitNOFILE= of a systemd unit), or let the ORB keep fewer connections: MaxClientConnections, or ClientConnections multiplexed";
        OXORB 14 NOT_ADMITTED: "according to the worst-case times of the waiting and running requests before it, the request would miss its deadline", "call later or less often, or declare a later deadline; `oxorb sched analyse` shows the more urgent work";
        OXORB 4 TOO_MANY_OUTSTANDING: "the maximum number of asynchronous calls of one connection is outstanding", "await some of them first";
        OXORB 5 FORWARDED: "the object moved during an asynchronous call", "send the request again: it is sent to the new address";
        OXORB 6 WRITES_QUEUED: "the queue of changes for the naming service's disk is full", "try again later";
        OXORB 7 TOO_MANY_REQUESTS: "this client has the maximum number of running requests at the server", "try again when some have ended, or raise MaxRequestsPerClient at the server";
        OXORB 17 OPERATION_RATE: "the requests for this operation exceed its budget at the server", "call it less often, or raise requests= of its -ORBBudget at the server";
        OXORB 18 OPERATION_TIME: "this operation has used the processor time of its budget at the server", "call it less often, or raise time= of its -ORBBudget at the server";
        OXORB 19 OBJECT_RATE: "the requests for this object exceed its budget at the server", "call it less often, or raise requests= of its -ORBBudget at the server";
        OXORB 20 OBJECT_TIME: "this object has used the processor time of its budget at the server", "call it less often, or raise time= of its -ORBBudget at the server";
        OXORB 21 POA_RATE: "the requests for objects of this POA exceed its budget at the server", "call them less often, or raise requests= of its -ORBBudget at the server";
        OXORB 22 POA_TIME: "the objects of this POA have used the processor time of its budget at the server", "call them less often, or raise time= of its -ORBBudget at the server";
        OXORB 23 CLIENT_RATE: "this client sends more requests than its budget or an access rule at the server allows", "call less often, or raise requests= of the client's -ORBBudget at the server, or requests of the access rule that the server's log names";
        OXORB 24 CLIENT_TIME: "this client has used the processor time of its budget at the server", "call less often, or raise time= of the client's -ORBBudget at the server";
        OXORB 25 PORT_RATE: "the calls or events at this port of a component exceed the rate that its container enforces", "send less, or raise mostRate of the port's work in the real-time resources of the plan";
        OXORB 16 EARLIER_UNREAD: "a request was cut off, and the server has not read the earlier ones of that connection yet", "try again when the server reads; -ORBOrderedReconnect 0 opens another connection immediately, without preserving the order";
        OXORB 15 TOO_MANY_REPLIES: "the replies that this client has not received reach the limit of the server", "read replies as they arrive, then try again, or raise MaxReplyOctetsPerClient at the server";
        OXORB 30 RUN_QUEUE: "the scheduler cannot accept another waiting thread, or this thread has waited for the maximum time", "try again later, or raise waiting and longest of Enforcement::Exclusive";
    }
    ObjAdapter obj_adapter {
        OMG 1 UNKNOWN_ADAPTER: "the adapter activator raised an exception", "look at the server's log";
        OMG 2 WRONG_SERVANT: "the servant manager returned a wrong or no servant", "return a servant of the right interface";
        OMG 3 NO_DEFAULT_SERVANT: "no default servant is set", "set one, or use another request processing policy";
        OMG 4 NO_SERVANT_MANAGER: "no servant manager is set", "set one, or use another request processing policy";
        OMG 5 INCARNATE_POLICY: "the servant manager broke the id uniqueness policy", "return a fresh servant for each id";
        OMG 6 COMPONENTS_ESTABLISHED: "an interceptor failed in components_established", "look at the server's log";
        OMG 7 NULL_SERVANT: "the servant is null", "activate a servant";
        OXORB 1 INACTIVE: "the POA manager is inactive", "activate it";
    }
    DataConversion data_conversion {
        OMG 1 NOT_IN_CODE_SET: "a character cannot be expressed in the transmission code set", "set -ORBPreferUtf8 1 if the server lists UTF-8 (`oxorb ior show`), or use only characters of the common code set";
        OMG 2 PRIORITY_MAPPING: "a priority cannot be mapped", "use a priority inside the mapping's range";
    }
    ObjectNotExist object_not_exist {
        OMG 1 NO_OBJECT: "no such object", "get a new reference: the object was deactivated, or the server restarted with transient references";
        OMG 2 NO_POA: "there is no such object adapter, or no object has this name", "get a new reference: the server restarted with transient references, or the adapter was not created; in a corbaloc: URL, check the name after the address";
        OMG 3 CANNOT_FORWARD: "incarnate or forwarding failed", "look at the server's log";
        OMG 4 ADAPTER_INACTIVE: "the object adapter is inactive", "activate the POA manager";
        OMG 5 POLLER_USED: "the poller has delivered its answer", "take the answer once";
        OXORB 1 FOREIGN_KEY: "this server did not create the object key", "another server answers at the address in the reference: get a new reference";
        OXORB 30 NO_DISTRIBUTABLE_THREAD: "this process has no such distributable thread", "it has ended, or was never in this process";
    }
    InvPolicy inv_policy {
        OMG 1 IRRECONCILABLE: "policies of client and server contradict each other", "relax one of the two";
        OMG 2 BAD_TYPE: "the policy type is unknown", "use a policy of this ORB";
        OMG 3 NO_FACTORY: "no factory for the policy type", "register one";
        OXORB 1 NO_BAND: "the caller's priority lies in none of the connection's priority bands", "call at a priority inside a band, or widen the bands";
        OXORB 2 NO_LANE: "no lane of the server has the caller's priority", "call at the priority of one of its lanes, or set priority bands that contain one";
        OXORB 3 NO_PROTOCOL: "the object is reached over none of the protocols of ClientProtocolPolicy", "list the protocol of one of its profiles";
        OXORB 4 NOT_PROTECTED: "SecureOnly requires a protocol that protects its messages, but no such protocol leads to the object", "make the server listen with iiops, and specify the roots that this side trusts (-ORBTlsRoots); or call without the policy";
    }
    BadOperation bad_operation {
        OMG 1 SERVANT_TYPE: "the servant manager returned a servant of another interface", "return a servant of the right interface";
        OMG 2 UNKNOWN_OPERATION: "the object has no such operation or attribute", "check that both sides were generated from the same IDL";
        OXORB 1 ONEWAYS_ONLY: "the call expects an answer, but the reference names a group, which sends none", "call oneways, with SyncScope::None or WithTransport, or add an IIOP profile to the reference";
    }
    BadContext bad_context {
        OMG 1 NOT_FOUND: "no such context", "check the name";
        OMG 2 NO_PROPERTY: "no property matches", "check the pattern";
    }
    CodesetIncompatible codeset_incompatible {
        OMG 1 NEGOTIATION: "client and server share no code set", "enable UTF-8 and UTF-16 on both sides";
        OMG 2 TCS_UNSUPPORTED: "the server does not know the transmission code set", "make the client select one that the reference offers";
    }
    IntfRepos intf_repos {
        OMG 1 NOT_AVAILABLE: "the interface repository is not available", "start it, or do not call _interface";
        OMG 2 NO_ENTRY: "the interface repository does not know the interface", "load its IDL";
    }
    Rebind rebind {
        OXORB 1 MOVED: "the object has moved, and the rebind policy forbids following it", "call validate_connection to bind again, or allow RebindMode::Transparent";
        OXORB 2 CONNECTION_LOST: "the connection was lost, and the rebind policy forbids opening another one", "call validate_connection to bind again, or allow RebindMode::NoRebind";
    }
    NoResponse no_response {
        OXORB 1 UNANSWERED: "the servant took the request to answer it later and then dropped it; it may have run", "look in the server for a response handler (AMH) that is dropped: after an early return, an error or a panic";
    }
    Timeout timeout {
        OMG 1 POLLER: "the poller's time limit was reached", "ask again later";
        OXORB 1 BEFORE_SENDING: "the time limit was reached before the request was sent", "allow more time; check whether the server can be reached";
        OXORB 4 DEADLINE_PASSED: "the deadline of the request had passed before the request was served", "allow more time, compare the clocks of client and server, or find out why the server is slow";
        OXORB 5 TOO_EARLY: "the start time of the request or of its reply lies after the end of its time limit", "set start times before end times and time limits";
        OXORB 2 AWAITING_REPLY: "no reply within the time limit", "allow more time, or find out why the server is slow";
        OXORB 3 WRITING: "the naming service's disk did not finish writing within the time limit", "check the disk; the change may still happen";
        OXORB 11 DISPATCHED_LATE: "the request could no longer meet its deadline when it was dispatched, and was dropped", "call later or less often; `oxorb sched watch` shows which operations take the time";
        OXORB 10 NOT_COMPLETED: "requests, or the cleanup after them, did not end within the time limit", "find out which request does not end, or raise HoldTime";
        OXORB 12 PULL: "no event arrived within the time limit of a pull", "pull again, use try_pull, or raise Limits::pull_wait of the event service";
    }
    CommFailure comm_failure {
        OXORB 1 CONNECTION_LOST: "the connection was lost before the reply arrived", "check whether the server crashed, the network failed, or the request was larger than the server accepts (-ORBFragmentSize sends it in pieces); the operation may have run";
        OXORB 2 MESSAGE_ERROR: "the peer did not understand a message", "look at the peer's log; record the traffic if it persists";
        OXORB 3 PROTOCOL_VIOLATION: "the peer violated the protocol", "see the log for the violation; record the traffic if it persists";
        OXORB 4 SEND_FAILED: "sending failed after a part of the message", "check whether the server crashed or the network failed";
    }
    Internal internal {
        OXORB 1 BROKEN_INVARIANT: "an invariant of the ORB is broken", "report it with the log";
    }
    ActivityCompleted activity_completed {
        OMG 1 COMPLETED: "the activity has been completed", "begin a new one";
    }
    ActivityRequired activity_required {
        OMG 1 REQUIRED: "the operation needs an activity", "begin one first";
    }
}
