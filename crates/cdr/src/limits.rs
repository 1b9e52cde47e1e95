/// Limits beyond which a decoder refuses values, however well-formed: a peer must not be able to
/// exhaust this side. And whether it takes what only careless peers send.
///
/// ```
/// use oxorb_cdr::Limits;
///
/// let strict = Limits { max_depth: 8, ..Limits::default() };
/// assert!(strict.max_depth < Limits::default().max_depth);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most levels of nested encapsulations and recursive values (default 64). Costs stack: one
    /// frame of each value's decode function per level.
    pub max_depth: u16,
    /// Most levels of nested values of valuetypes (default 256), such as the nodes of a list that
    /// link to the next. Costs stack: a few frames per level, one KiB or two altogether.
    pub max_value_depth: u16,
    /// Most elements that a sequence may announce when an element may take no octets at all
    /// (default 65,536), as the octets that are left then say nothing about the count.
    pub max_empty_elements: u32,
    /// Most octets of text that values and types of a peer may become when shown, as JSON for example (default 64 MiB):
    /// names are repeated for each value of a type, so a short message can stand for a very long text.
    pub max_text: u32,
    /// Most octets of memory that the values of one message may take (default 256 MiB): a few octets can stand for
    /// an element that takes many.
    pub max_memory: u32,
    /// Whether what other ORBs let pass is refused (default false): a boolean that is neither 0 nor 1, which otherwise is
    /// true, and octets that follow where [`Decoder::finish_arguments`](crate::Decoder::finish_arguments) ends reading.
    pub strict: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: 64,
            max_value_depth: 256,
            max_empty_elements: 1 << 16,
            max_text: 64 << 20,
            max_memory: 256 << 20,
            strict: false,
        }
    }
}
