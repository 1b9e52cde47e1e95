/// Limits beyond which a decoder rejects values, even well-formed ones, so that a peer cannot
/// exhaust memory or stack; and whether the decoder is strict.
///
/// ```
/// use oxorb_cdr::DecoderLimits;
///
/// let strict = DecoderLimits { max_depth: 8, ..DecoderLimits::default() };
/// assert!(strict.max_depth < DecoderLimits::default().max_depth);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecoderLimits {
    /// Maximum number of levels of nested encapsulations and recursive values (default 64). Costs
    /// stack: one frame of each value's decode function per level.
    pub max_depth: u16,
    /// Maximum number of levels of nested values of valuetypes (default 256), such as list nodes
    /// that link to the next. Costs stack: a few frames per level, together one or two KiB.
    pub max_value_depth: u16,
    /// Maximum number of elements that a sequence may announce if an element may take no octets at
    /// all (default 65,536), since the remaining octets then do not limit the count.
    pub max_empty_elements: u32,
    /// Maximum size in octets of the text to which values and types of a peer may expand, as JSON
    /// for example (default 64 MiB): names are repeated for each value of a type, so a short
    /// message can stand for a very long text.
    pub max_text: u32,
    /// Maximum memory in octets for the values of one message (default 256 MiB), because an element
    /// of a few octets may take much more memory when decoded.
    pub max_memory: u32,
    /// Whether to reject what other ORBs accept (default false): a boolean that is neither 0 nor 1,
    /// which otherwise is true, and octets after the end of arguments
    /// ([`Decoder::finish_arguments`](crate::Decoder::finish_arguments)).
    pub strict: bool,
}

impl Default for DecoderLimits {
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
