use std::time::Duration;

/// Limits of a naming service. Requests beyond them are refused; the exception identifies the limit.
///
/// ```
/// use oxorb_naming::Limits;
///
/// let limits = Limits {
///     bindings: 5_000,
///     ..Limits::default()
/// };
/// assert_eq!(limits.components, 64);
/// ```
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of contexts in the store, including the root. Default 100,000. A context that has been called
    /// since the start uses about 500 octets of memory. Exceeding the limit raises IMP_LIMIT, minor `CONTEXTS`.
    pub contexts: u64,
    /// Maximum number of bindings in one context. Default 1,000,000. Bindings are on disk, and partly cached in memory.
    /// Exceeding the limit raises IMP_LIMIT, minor `BINDINGS`.
    pub bindings: u64,
    /// Maximum number of components of a name. Default 64. Exceeding the limit raises IMP_LIMIT, minor `NAME_TOO_LONG`.
    pub components: usize,
    /// Maximum length in octets of a name, ids and kinds together. Default 4,096. Exceeding the limit raises IMP_LIMIT,
    /// minor `NAME_TOO_LONG`.
    pub name_octets: usize,
    /// Maximum length in octets of a bound reference. Default 65,536. Exceeding the limit raises IMP_LIMIT, minor
    /// `BOUND_REFERENCE_TOO_LONG`.
    pub reference_octets: usize,
    /// Maximum number of open binding iterators. Default 256. Opening another one closes the one that was idle longest:
    /// calls to the closed iterator raise OBJECT_NOT_EXIST, as the specification permits.
    pub iterators: usize,
    /// Longest idle time of a binding iterator, after which it is closed. Default 10 minutes.
    pub iterator_idle: Duration,
    /// Maximum number of bindings in one answer of `list` or `next_n`. Default 10,000. A client that requests more gets
    /// the rest from the iterator.
    pub answer_bindings: usize,
    /// Maximum number of concurrent calls to the other name servers on the paths of names. Default 16. Each call blocks
    /// a thread of this server, so the limit bounds the number of blocked threads even if contexts of several servers
    /// contain each other. Exceeding the limit raises CannotProceed with the context.
    pub forwards: usize,
    /// Time limit of a call to another name server on the path of a name. Default 5 s. Exceeding the limit raises
    /// CannotProceed with the context that did not answer, or TIMEOUT if a change may have happened.
    pub forward_timeout: Duration,
    /// Longest time that a client waits for the disk. Default 30 s. Exceeding the limit raises TIMEOUT, completed
    /// MAYBE.
    pub write_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            contexts: 100_000,
            bindings: 1_000_000,
            components: 64,
            name_octets: 4_096,
            reference_octets: 65_536,
            iterators: 256,
            iterator_idle: Duration::from_secs(600),
            answer_bindings: 10_000,
            forwards: 16,
            forward_timeout: Duration::from_secs(5),
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// Maximum size in octets of the names in one answer of `list` or `next_n`: well below any limit of messages.
pub(crate) const ANSWER_OCTETS: usize = 1 << 20;
