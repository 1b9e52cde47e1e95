//! OxORB's own policies about connections: fallback to other protocols, buffers, fragments, queues, bandwidth, copies.

use std::str::FromStr;

/// Treatment of a call whose object cannot be reached over the protocols of [`ClientProtocol`](super::ClientProtocol).
///
/// OxORB's own, type 0x4f580005. Default: `Refuse`, as RT-CORBA requires. It applies neither to calls without
/// [`ClientProtocol`](super::ClientProtocol) nor to a list that the server published.
///
/// ```
/// use oxorb_core::policy::{ClientProtocol, PolicySet, Protocol, ProtocolFallback};
///
/// // UNIX sockets where there are some, otherwise whatever the reference offers.
/// let uiop = ClientProtocol::new(&[Protocol::new(0x5441_4f00)])?;
/// let policies = PolicySet::from(uiop).with(ProtocolFallback::AnyOther);
/// # assert_eq!(policies.find(), Some(ProtocolFallback::AnyOther));
/// # Ok::<(), oxorb_core::policy::UnusableList>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ProtocolFallback {
    /// INV_POLICY, `NO_PROTOCOL`, if the reference offers none of the protocols; TRANSIENT if none of their addresses
    /// answers.
    #[default]
    Refuse,
    /// The object's other profiles are also tried, after those of the listed protocols.
    AnyOther,
}

/// Size of messages above which a request is sent as fragments, in octets; `None` for never.
///
/// OxORB's own, type 0x4f580006. Default: the option FragmentSize, which is `None`. At least 1,024. It applies to
/// protocols with fragments, such as GIOP 1.2. Replies depend on the server's option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FragmentSize(pub Option<usize>);

/// Memory that a connection allocates for requests and replies before the first of them, in octets for each direction.
///
/// OxORB's own, type 0x4f580007. Default: half a kibioctet; buffers grow as needed, and keep up to KeptCapacity. It
/// applies to connections opened for a call under the policy; at most 64 MiB. With `validate_connection` no call
/// allocates for its buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferPreallocation(pub usize);

/// Maximum total size in octets of the oneways in the buffer for a server (`SyncScope::None`); further oneways raise
/// TRANSIENT, minor `BUFFER_FULL`.
///
/// OxORB's own, type 0x4f580008. Default, and upper limit: the option BufferedOneways, 1 MiB. Calls with different
/// limits share a buffer, and a oneway is refused if the buffer would exceed the limit of its call, so that less
/// important traffic leaves space for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueueLimit(pub usize);

/// Maximum bandwidth of a connection for the client's messages, in octets per second; `None` for no limit.
///
/// OxORB's own, type 0x4f580009. Default: no limit. TCP paces its packets accordingly (SO_MAX_PACING_RATE), so that a
/// burst does not fill the network's queues ahead of urgent traffic. Calls of each bandwidth have connections of their
/// own. Protocols without pacing ignore the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bandwidth(pub Option<u32>);

/// Restriction of calls to secure protocols, such as TLS.
///
/// OxORB's own, type 0x4f58000b. Default: the option SecureOnly, which is `no`; if it is `yes`, no policy relaxes it. A
/// call to an object without a secure address raises INV_POLICY, `NOT_PROTECTED`, and sends nothing. Collocated calls
/// are permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecureOnly(pub bool);

/// Transfer of large octet sequences between processes without a copy, over shared memory: for parameters that the IDL
/// marks `@in_place`.
///
/// OxORB's own, type 0x4f58000a. Default: the option LargePayloads, which is `InPlace`. Each side decides about its own
/// copy, as sender and as receiver: see `docs/shared-memory.md`. On a client it determines the result of
/// [`Ref::room`](crate::Ref::room) and how results are read; a server also sets it by POA and by endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LargePayloads {
    /// The sender copies from its own memory, and the receiver into its own.
    Copied,
    /// The sender copies, and the receiver reads the octets where the sender wrote them.
    SingleCopy,
    /// `SingleCopy`, and in addition the client writes arguments in place, in a [room](crate::Ref::room). If the
    /// connection has no free room, or its protocol has none, the room is ordinary memory, which the client copies.
    #[default]
    InPlace,
    /// `InPlace` without the fallback to a copy: a client that requests a room raises NO_RESOURCES if none is
    /// available, and a server raises it for a request with octets of 16 KiB or more that do not lie where the client
    /// wrote them. Results that do not arrive in place are copied, since the operation has run.
    InPlaceOnly,
}

/// Parses `copied`, `single-copy`, `in-place` or `in-place-only`. The error is a sentence without the full stop.
///
/// ```
/// use oxorb_core::policy::LargePayloads;
///
/// assert_eq!("single-copy".parse(), Ok(LargePayloads::SingleCopy));
/// assert!("double-copy".parse::<LargePayloads>().is_err());
/// ```
impl FromStr for LargePayloads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "copied" => Ok(Self::Copied),
            "single-copy" => Ok(Self::SingleCopy),
            "in-place" => Ok(Self::InPlace),
            "in-place-only" => Ok(Self::InPlaceOnly),
            _ => Err("expected copied, single-copy, in-place or in-place-only".to_owned()),
        }
    }
}

/// Upper limit of [`BufferPreallocation`].
pub(super) const MAX_PREALLOCATION: usize = 64 << 20;
