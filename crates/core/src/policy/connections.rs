//! Policies of OxORB's own about connections: which protocol where the preferred one is missing, buffers, fragments,
//! queues, bandwidth, copies.

use std::str::FromStr;

/// Treatment of a call where the protocols of [`ClientProtocol`](super::ClientProtocol) do not lead
/// to the object.
///
/// OxORB's own, type 0x4f580005. Default: `Refuse`, as RT-CORBA has it. Says nothing about calls without
/// [`ClientProtocol`](super::ClientProtocol), and nothing about a list that the server published.
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
    /// INV_POLICY, `NO_PROTOCOL`, where none of the protocols is offered; TRANSIENT where none of those answers.
    #[default]
    Refuse,
    /// The object's other profiles are tried, too, after those of the protocols in the list.
    AnyOther,
}

/// Length of messages above which a request is sent as fragments, in octets; `None`: never.
///
/// OxORB's own, type 0x4f580006. Default: the option FragmentSize, which is `None`. At least 1,024. Only protocols whose
/// messages have fragments know it: GIOP 1.2 does. Replies go by the option of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FragmentSize(pub Option<usize>);

/// Memory that a connection has for requests and replies before the first of them, in octets for each direction.
///
/// OxORB's own, type 0x4f580007. Default: half a kibioctet; buffers grow to what they must hold, and keep
/// KeptCapacity of it. Holds for connections that are opened for a call under the policy, at most 64 MiB. With
/// `validate_connection` no call allocates for its buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferPreallocation(pub usize);

/// Octets of oneways that wait in the buffer of a server (`SyncScope::None`), at most; further ones are TRANSIENT,
/// `BUFFER_FULL`.
///
/// OxORB's own, type 0x4f580008. Default, and upper limit: the option BufferedOneways, 1 MiB. Calls of different limits
/// share a buffer: each is refused where it would take the buffer above its own limit, so less important traffic leaves
/// room for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueueLimit(pub usize);

/// Bandwidth that a connection takes at most for what the client sends, in octets per second; `None`: no bound.
///
/// OxORB's own, type 0x4f580009. Default: no bound. TCP spaces its packets by it (SO_MAX_PACING_RATE), so a burst does
/// not fill the queues of the network in front of urgent traffic. Calls of each bandwidth have connections of their own,
/// apart from those of other calls. Protocols without pacing ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bandwidth(pub Option<u32>);

/// Whether calls take only protocols that protect what they carry, as TLS does.
///
/// OxORB's own, type 0x4f58000b. Default: the option SecureOnly, which is `no`; where that is `yes`, no policy takes it back.
/// A call to an object without such an address is INV_POLICY, `NOT_PROTECTED`, and nothing is sent. An object of this
/// process is called: nothing leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecureOnly(pub bool);

/// Whether large octet sequences cross from process to process without a copy, where they share memory: parameters that the IDL
/// marks `@in_place`.
///
/// OxORB's own, type 0x4f58000a. Default: the option LargePayloads, which is `InPlace`. Each side decides about the copy that
/// it would make, as sender and as receiver: see `docs/shared-memory.md`. For a client it says what
/// [`Ref::room`](crate::Ref::room) gives, and how it reads results; a server also has it by POA and by endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LargePayloads {
    /// The sender copies from its own memory, and the receiver into its own.
    Copied,
    /// The sender copies, and the receiver reads the octets where the sender wrote them.
    SingleCopy,
    /// The client also writes arguments there, in a [room](crate::Ref::room). Where the connection has none free, or its
    /// protocol none at all, the room is ordinary memory, and the client copies.
    #[default]
    InPlace,
    /// Memory as under `InPlace`, and an exception instead of a copy: to a client that asks for a room, and from a server to
    /// requests whose arguments of 16 KiB or more do not lie where the client wrote them. Results that came otherwise are
    /// copied, since the operation has run.
    InPlaceOnly,
}

/// Reads `copied`, `single-copy`, `in-place` or `in-place-only`. The error is a sentence without the full stop.
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
