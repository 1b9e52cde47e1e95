//! Source text: files, offsets, places.

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

/// Range of one source file, in octets of its decoded (UTF-8) text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// File of the [`SourceMap`].
    pub file: FileId,
    /// First octet.
    pub start: u32,
    /// Octet after the last one.
    pub end: u32,
}

impl Span {
    /// Returns the span from the start of `self` to the end of `other`; `self` alone if they are in different files.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { end: other.end.max(self.end), ..self }
    }

    /// Returns the empty span directly after this one: the place of a missing token.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }
}

/// Id of a file within its [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct FileId(pub(crate) u32);

/// Source of files; tests keep files in memory ([`Memory`]).
pub trait Loader: Send + Sync {
    /// Loads the octets of a file.
    ///
    /// # Errors
    /// Failure to open or read it; after `NotFound`, an include search continues with the next folder.
    fn load(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Reports whether there is a file to load. The default implementation loads it.
    fn exists(&self, path: &Path) -> bool {
        self.load(path).is_ok()
    }

    /// Returns a single path for all paths of the same file. The default implementation only removes `.`.
    fn identity(&self, path: &Path) -> PathBuf {
        path.components().filter(|part| *part != Component::CurDir).collect()
    }
}

/// Loader for the file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Loader for Disk {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "this is a folder"));
        }
        read(std::fs::File::open(path)?)
    }

    fn exists(&self, path: &Path) -> bool {
        path.metadata().is_ok_and(|found| !found.is_dir())
    }

    fn identity(&self, path: &Path) -> PathBuf {
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    }
}

/// Files held in memory, by path.
#[derive(Debug, Clone, Default)]
pub struct Memory(pub BTreeMap<PathBuf, Vec<u8>>);

impl Loader for Memory {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = self.0.get(path).or_else(|| self.0.get(&self.identity(path)));
        found.cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// All files of one compilation, referred to by spans and diagnostics.
pub struct SourceMap {
    loader: Box<dyn Loader>,
    files: Vec<File>,
    /// The first reading of each file, by identity.
    first: HashMap<PathBuf, FileId>,
    /// Places where macros were used, and the place of each macro's definition.
    expansions: HashMap<Span, Span>,
}

struct File {
    path: PathBuf,
    text: Arc<str>,
    main: bool,
    /// Whether the file is a text built into OxORB.
    builtin: bool,
    included_at: Option<Span>,
    /// Offsets of line starts; computed on first use.
    lines: OnceLock<Box<[u32]>>,
    /// Segments by `start`; the first one starts at 0.
    segments: Vec<Segment>,
}

/// Segment of a file that a `#line` renumbers.
struct Segment {
    start: u32,
    name: Arc<str>,
    first_line: u32,
}

/// Place as file, line and column, for people and editors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// File name, as given or set by `#line`.
    pub file: Arc<str>,
    /// Line from 1, subject to `#line`.
    pub line: u32,
    /// Column from 1, in characters.
    pub column: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Text quoted by a diagnostic: all lines numbered by one `#line`.
pub(crate) struct Excerpt<'m> {
    pub(crate) name: &'m str,
    pub(crate) text: &'m str,
    pub(crate) first_line: u32,
    /// Offset of `text` in the file.
    pub(crate) start: u32,
}

impl Default for SourceMap {
    fn default() -> Self {
        SourceMap::new(Disk)
    }
}

impl fmt::Debug for SourceMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.files.iter().map(|file| &file.path)).finish()
    }
}

impl SourceMap {
    /// Returns an empty map whose files come from `loader`.
    pub fn new(loader: impl Loader + 'static) -> Self {
        SourceMap {
            loader: Box::new(loader),
            files: Vec::new(),
            first: HashMap::new(),
            expansions: HashMap::new(),
        }
    }

    /// Loads a file named on the command line.
    ///
    /// # Errors
    /// Failure of the loader; `InvalidData` for files beyond 64 MiB.
    pub fn load_main(&mut self, path: &Path) -> io::Result<FileId> {
        let text = self.read(path)?;
        let id = self.insert(path, text, None);
        self.files[id.0 as usize].main = true;
        Ok(id)
    }

    /// Adds text that is in no file, as a main file.
    pub fn add_main(&mut self, name: &str, text: &str) -> FileId {
        let id = self.insert(Path::new(name), text.into(), None);
        self.files[id.0 as usize].main = true;
        id
    }

    /// Loads the file of an `#include` at `included_at`.
    pub(crate) fn load_include(&mut self, path: &Path, included_at: Span) -> io::Result<FileId> {
        let (text, main) = match self.first.get(&self.identity(path)) {
            Some(known) => {
                let file = &self.files[known.0 as usize];
                (Arc::clone(&file.text), file.main)
            }
            None => (self.read(path)?, false),
        };
        let id = self.insert(path, text, Some(included_at));
        self.files[id.0 as usize].main = main;
        Ok(id)
    }

    /// Reports whether there is a file to load.
    pub(crate) fn exists(&self, path: &Path) -> bool {
        self.first.contains_key(&self.identity(path)) || self.loader.exists(path)
    }

    /// Adds built-in text: predefined files, macros of the command line.
    pub(crate) fn add_builtin(&mut self, name: &str, text: &str, at: Option<Span>) -> FileId {
        let id = self.insert(Path::new(name), text.into(), at);
        self.files[id.0 as usize].builtin = true;
        id
    }

    /// Reports whether the file was named by the user, not only by an `#include`.
    pub fn is_main(&self, file: FileId) -> bool {
        self.files[file.0 as usize].main
    }

    /// Returns the ids of all files, in the order in which they were loaded: main files first. Files built into OxORB
    /// are among them.
    pub fn files(&self) -> impl Iterator<Item = FileId> {
        (0..self.files.len() as u32).map(FileId)
    }

    /// Reports whether the file is built into OxORB.
    pub fn is_builtin(&self, file: FileId) -> bool {
        self.files[file.0 as usize].builtin
    }

    /// Returns the path that a file was loaded from.
    pub fn path(&self, file: FileId) -> &Path {
        &self.files[file.0 as usize].path
    }

    /// Returns the whole text of a file.
    pub fn text(&self, file: FileId) -> &str {
        &self.files[file.0 as usize].text
    }

    /// Returns the text of a span, as written.
    pub fn snippet(&self, span: Span) -> &str {
        self.text(span.file).get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// Returns the place of the `#include` that loaded a file.
    pub fn included_at(&self, file: FileId) -> Option<Span> {
        self.files[file.0 as usize].included_at
    }

    /// Returns the paths of all loaded files, each once, sorted: the dependencies of a build.
    pub fn paths(&self) -> Vec<&Path> {
        let mut paths: Vec<_> = self
            .first
            .values()
            .map(|first| self.path(*first))
            .filter(|path| !path.to_string_lossy().starts_with('<'))
            .collect();
        paths.sort_unstable();
        paths
    }

    /// Returns the path by which files are compared.
    pub(crate) fn identity(&self, path: &Path) -> PathBuf {
        self.loader.identity(path)
    }

    /// Records that the text at `place` came from the macro whose name is defined at `defined`; the outermost macro
    /// counts.
    pub(crate) fn note_expansion(&mut self, place: Span, defined: Span) {
        self.expansions.entry(place).or_insert(defined);
    }

    /// Returns the place of the definition of the macro that produced the text at `place`.
    pub(crate) fn expanded_from(&self, place: Span) -> Option<Span> {
        self.expansions.get(&place).copied()
    }

    /// Returns file, line and column of the start of a span.
    pub fn location(&self, span: Span) -> Location {
        let file = &self.files[span.file.0 as usize];
        let line_start = file.lines()[file.line_index(span.start)] as usize;
        let before = &file.text[line_start..span.start as usize];
        Location {
            file: self.excerpt(span).name.into(),
            line: self.line(span),
            column: before.chars().count() as u32 + 1,
        }
    }

    /// Returns the line of the start of a span, subject to `#line`.
    pub(crate) fn line(&self, span: Span) -> u32 {
        let file = &self.files[span.file.0 as usize];
        let excerpt = self.excerpt(span);
        let lines = file.line_index(span.start) - file.line_index(excerpt.start);
        excerpt.first_line.saturating_add(lines as u32)
    }

    pub(crate) fn shared_text(&self, file: FileId) -> Arc<str> {
        Arc::clone(&self.files[file.0 as usize].text)
    }

    /// Handles `#line`: the text at `start` is line `first_line` of `name`.
    pub(crate) fn rename_from(
        &mut self,
        file: FileId,
        start: u32,
        name: Option<&str>,
        first_line: u32,
    ) {
        let segments = &mut self.files[file.0 as usize].segments;
        let last = segments.last().expect("a file has one segment at least");
        let name = name.map_or_else(|| Arc::clone(&last.name), Arc::from);
        segments.push(Segment { start, name, first_line });
    }

    pub(crate) fn excerpt(&self, span: Span) -> Excerpt<'_> {
        let file = &self.files[span.file.0 as usize];
        let next = file.segments.partition_point(|s| s.start <= span.start);
        let segment = &file.segments[next - 1];
        let end = file.segments.get(next).map_or(file.text.len(), |s| s.start as usize);
        Excerpt {
            name: &segment.name,
            text: &file.text[segment.start as usize..end],
            first_line: segment.first_line,
            start: segment.start,
        }
    }

    fn read(&self, path: &Path) -> io::Result<Arc<str>> {
        let octets = self.loader.load(path)?;
        if octets.len() > MAX_FILE {
            return Err(too_large());
        }
        Ok(decode(octets).into())
    }

    fn insert(&mut self, path: &Path, text: Arc<str>, included_at: Option<Span>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).expect("the include limit is far below"));
        self.files.push(File {
            segments: vec![Segment {
                start: 0,
                name: path.to_string_lossy().into(),
                first_line: 1,
            }],
            path: path.to_owned(),
            text,
            main: false,
            builtin: false,
            included_at,
            lines: OnceLock::new(),
        });
        self.first.entry(self.identity(path)).or_insert(id);
        id
    }
}

impl File {
    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let ends = self.text.match_indices('\n');
            let starts = ends.map(|(at, _)| at as u32 + 1);
            std::iter::once(0).chain(starts).collect()
        })
    }

    /// Returns the line of an offset, from 0.
    fn line_index(&self, offset: u32) -> usize {
        self.lines().partition_point(|start| *start <= offset) - 1
    }
}

/// Decodes source: UTF-8 if well formed, ISO 8859-1 otherwise (the usual encoding of IDL before UTF-8).
fn decode(octets: Vec<u8>) -> String {
    match String::from_utf8(octets) {
        Ok(text) => match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        },
        Err(error) => error.into_bytes().into_iter().map(char::from).collect(),
    }
}

/// Reads a source of at most [`MAX_FILE`] octets.
///
/// # Errors
/// Failure of the reader; `InvalidData` once more octets have been read, so that an endless device or pipe takes no
/// more memory than a file of the largest size.
pub fn read(source: impl io::Read) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    let mut source = io::Read::take(source, MAX_FILE as u64 + 1);
    io::Read::read_to_end(&mut source, &mut octets)?;
    match octets.len() > MAX_FILE {
        true => Err(too_large()),
        false => Ok(octets),
    }
}

fn too_large() -> io::Error {
    let text = "this is longer than 64 MiB, the limit of a source";
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Maximum size of one source file in octets. Offsets have 32 bits; real IDL stays below 1 MiB.
pub const MAX_FILE: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_count_lines_and_characters() {
        let mut map = SourceMap::default();
        let file = map.add_main("a.idl", "one\n\u{e9}two\nthree");
        let span = |start| Span { file, start, end: start };
        assert_eq!(map.location(span(0)).to_string(), "a.idl:1:1");
        assert_eq!(map.location(span(6)).to_string(), "a.idl:2:2");
        assert_eq!(map.location(span(15)).to_string(), "a.idl:3:6");
        map.rename_from(file, 4, Some("b.idl"), 70);
        assert_eq!(map.location(span(0)).to_string(), "a.idl:1:1");
        assert_eq!(map.location(span(15)).to_string(), "b.idl:71:6");
    }

    #[test]
    fn latin_1_and_utf_8_give_the_same_text() {
        let text = "// caf\u{e9}\n";
        assert_eq!(decode(text.as_bytes().to_vec()), text);
        assert_eq!(decode(b"// caf\xe9\n".to_vec()), text);
        assert_eq!(decode(b"\xef\xbb\xbfmodule".to_vec()), "module");
    }
}
