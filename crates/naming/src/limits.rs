use std::time::Duration;

/// Limits of a naming service. Requests beyond them are refused, and the answer names the setting.
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
    /// Contexts in the store, the root included. Default 100,000. A context that was called since the start costs about
    /// 500 octets of memory. Answer: IMP_LIMIT, minor `CONTEXTS`.
    pub contexts: u64,
    /// Bindings in one context. Default 1,000,000. They are on disk, and partly cached in memory. Answer: IMP_LIMIT,
    /// minor `BINDINGS`.
    pub bindings: u64,
    /// Components of a name. Default 64. Answer: IMP_LIMIT, minor `NAME_TOO_LONG`.
    pub components: usize,
    /// Octets of a name, ids and kinds together. Default 4,096. Answer: IMP_LIMIT, minor `NAME_TOO_LONG`.
    pub name_octets: usize,
    /// Octets of a bound reference. Default 65,536. Answer: IMP_LIMIT, minor `BOUND_REFERENCE_TOO_LONG`.
    pub reference_octets: usize,
    /// Open binding iterators. Default 256. Opening another one closes the one that was idle longest: its client gets
    /// OBJECT_NOT_EXIST, as the specification permits.
    pub iterators: usize,
    /// Longest idle time of a binding iterator, after which it is closed. Default 10 minutes.
    pub iterator_idle: Duration,
    /// Bindings in one answer of `list` or `next_n`. Default 10,000. The client gets fewer than requested, and the rest
    /// from the iterator.
    pub answer_bindings: usize,
    /// Concurrent calls to other name servers to which names lead. Default 16. Each occupies a waiting thread of this
    /// server, also if contexts of several servers contain each other. Answer: CannotProceed with the context.
    pub forwards: usize,
    /// Time limit of a call to another name server to which a name leads. Default 5 s. Answer: CannotProceed with the
    /// context that did not answer.
    pub forward_timeout: Duration,
    /// Longest wait of a client for the disk. Default 30 s. Answer: TIMEOUT, completed MAYBE.
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

/// Octets of names in one answer of `list` or `next_n`: well below any limit of messages.
pub(crate) const ANSWER_OCTETS: usize = 1 << 20;
