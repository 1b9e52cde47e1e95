//! Source text: files, offsets, places.

/// A stretch of one source file, in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// Which file of the [`SourceMap`].
    pub file: FileId,
    /// First octet.
    pub start: u32,
    /// One past the last octet.
    pub end: u32,
}

/// Names one file of a [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct FileId(pub(crate) u32);
