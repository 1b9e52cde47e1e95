//! Shared libraries with one entry point that takes arguments as a program does.
//!
//! A library exports one record, an [`Export`]: a mark, its own size, facts as text, and a
//! function. The record contains no Rust-specific type, so that the record of a library built by
//! another compiler can be read and rejected. Each library has its own copies of the standard
//! library and of statics; only the arguments and an exit status pass between a library and its
//! host.

use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::NonNull;

/// Maximum length of a [`Text`], in octets.
pub const MOST_TEXT: usize = 124;

/// Number of texts of an [`Export`].
pub const FACTS: usize = 8;

/// Text of bounded length within a record.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    length: u32,
    octets: [u8; MOST_TEXT],
}

impl Text {
    /// Creates a text; cuts it after [`MOST_TEXT`] octets.
    pub const fn new(text: &str) -> Text {
        let from = text.as_bytes();
        let mut octets = [0; MOST_TEXT];
        let mut at = 0;
        while at < from.len() && at < MOST_TEXT {
            octets[at] = from[at];
            at += 1;
        }
        Text { length: at as u32, octets }
    }

    /// Returns the text, with invalid UTF-8 replaced; `None` if its length is invalid.
    pub fn get(&self) -> Option<String> {
        let octets = self.octets.get(..self.length as usize)?;
        Some(String::from_utf8_lossy(octets).into_owned())
    }
}

/// Entry point of a library.
pub type Main = extern "C" fn(Arguments<'_>) -> i32;

/// Record exported by a library.
#[repr(C)]
pub struct Export {
    mark: [u8; 8],
    /// Size of the record as the library declares it, in octets.
    size: u32,
    /// Number of facts.
    facts: u32,
    texts: [Text; FACTS],
    main: Option<Main>,
}

impl Export {
    /// Size of a record, in octets.
    pub const SIZE: u32 = size_of::<Export>() as u32;

    /// Creates a record. If there are fewer facts than [`FACTS`], the remaining texts are empty.
    pub const fn new(mark: [u8; 8], facts: &[&str], main: Main) -> Export {
        let mut texts = [Text::new(""); FACTS];
        let mut at = 0;
        while at < facts.len() && at < FACTS {
            texts[at] = Text::new(facts[at]);
            at += 1;
        }
        Export { mark, size: Export::SIZE, facts: FACTS as u32, texts, main: Some(main) }
    }

    /// Returns the fact at an index; `None` if there is no such fact, or it is not valid text.
    pub fn fact(&self, at: usize) -> Option<String> {
        self.texts.get(at)?.get()
    }
}

/// Argument, as pointer and length.
#[repr(C)]
struct Argument {
    octets: *const u8,
    length: usize,
}

/// Arguments of a [`Main`], borrowed from its caller.
#[repr(C)]
pub struct Arguments<'a> {
    first: *const Argument,
    count: usize,
    lent: PhantomData<&'a [Argument]>,
}

impl Arguments<'_> {
    /// Returns copies of all arguments, with invalid UTF-8 replaced.
    pub fn to_vec(&self) -> Vec<String> {
        // SAFETY: only `Library::run` creates values of this type, from a slice that outlives the
        // call. In another library the type has the same layout, as `Export::SIZE` and the host's
        // check of the version ensure.
        let all = unsafe { std::slice::from_raw_parts(self.first, self.count) };
        let copy = |one: &Argument| {
            // SAFETY: as above; each argument points to a string that is borrowed as long as the slice.
            let octets = unsafe { std::slice::from_raw_parts(one.octets, one.length) };
            String::from_utf8_lossy(octets).into_owned()
        };
        all.iter().map(copy).collect()
    }
}

/// Loaded shared library. It stays loaded until the process ends, since its threads and
/// thread-locals may outlive every call.
pub struct Library {
    export: &'static Export,
}

/// Reason why a library is rejected.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The system cannot load it: the file is missing, is not a shared library, is for another processor, or lacks
    /// dependencies.
    #[error("the system cannot load it: {0}")]
    Load(String),
    /// The library does not export the symbol.
    #[error("it does not export the symbol {0}")]
    Symbol(String),
    /// The symbol does not start with the mark.
    #[error("its exported symbol does not begin with the mark")]
    Mark,
    /// The record has another size.
    #[error("its exported record has {found} octets instead of {wanted}")]
    Size {
        /// Size that the library declares, in octets.
        found: u32,
        /// Size that this program expects, in octets.
        wanted: u32,
    },
    /// The record has no function.
    #[error("its exported record has no function")]
    Main,
}

impl fmt::Debug for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Library {
    /// Loads a library and finds its record, and checks the record's mark and size.
    ///
    /// Loading runs the initialisers of the library and of its dependencies, so load only trusted
    /// libraries, as with programs. The path is that of a file; no search path is used.
    ///
    /// # Errors
    /// [`LibraryError`]. A library that was loaded and then rejected stays in memory; none of its
    /// functions was called.
    pub fn open(path: &Path, symbol: &str, mark: [u8; 8]) -> Result<Library, LibraryError> {
        let load = |why: &str| LibraryError::Load(why.to_owned());
        let path = std::path::absolute(path).map_err(|error| load(&error.to_string()))?;
        let path = c_string(path.as_os_str()).ok_or_else(|| load("its path has a zero octet"))?;
        let name = c_string(OsStr::new(symbol));
        let name = name.ok_or_else(|| LibraryError::Symbol(symbol.to_owned()))?;
        // SAFETY: the path is a string that ends in a zero octet. What initialisers do is the library's own affair.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = NonNull::new(handle).ok_or_else(|| LibraryError::Load(last_error()))?;
        // SAFETY: the handle is that of a library which is loaded, and never closed.
        let found = unsafe { libc::dlsym(handle.as_ptr(), name.as_ptr()) };
        let found = NonNull::new(found);
        let found = found.ok_or_else(|| LibraryError::Symbol(symbol.to_owned()))?;
        // SAFETY: the symbol is of a loaded library, which stays.
        let export = unsafe { record(found, mark) }?;
        Ok(Library { export })
    }

    /// Returns the record.
    pub fn export(&self) -> &Export {
        self.export
    }

    /// Calls the library's function, which may run indefinitely. Returns its exit status.
    ///
    /// # Errors
    /// [`LibraryError::Main`].
    pub fn run(&self, arguments: &[String]) -> Result<i32, LibraryError> {
        let main = self.export.main.ok_or(LibraryError::Main)?;
        let lent = arguments.iter().map(|one| Argument { octets: one.as_ptr(), length: one.len() });
        let lent: Vec<Argument> = lent.collect();
        Ok(main(Arguments { first: lent.as_ptr(), count: lent.len(), lent: PhantomData }))
    }
}

/// Returns the record at a symbol.
///
/// # Safety
/// `symbol` is the address of a symbol of a library that stays loaded.
unsafe fn record(symbol: NonNull<c_void>, mark: [u8; 8]) -> Result<&'static Export, LibraryError> {
    if !symbol.cast::<Export>().is_aligned() {
        return Err(LibraryError::Mark);
    }
    // SAFETY: 8 octets that are aligned to 8 are within one page, and that of the symbol is mapped; they may hold anything.
    let found = unsafe { symbol.cast::<[u8; 8]>().as_ref() };
    if *found != mark {
        return Err(LibraryError::Mark);
    }
    // SAFETY: in every version of the record two numbers follow the mark.
    let begin = unsafe { symbol.cast::<[u8; 16]>().as_ref() };
    let (_, rest) = begin.split_at(8);
    let number = |at: usize| {
        let octets = rest.get(at..at + 4).and_then(|four| four.try_into().ok());
        u32::from_ne_bytes(octets.unwrap_or_default())
    };
    let (found, wanted) = (number(0), Export::SIZE);
    if found != wanted || number(4) != FACTS as u32 {
        return Err(LibraryError::Size { found, wanted });
    }
    // SAFETY: a library that exports this mark and this size contains an `Export`; its octets are
    // plain, and its function may be null.
    Ok(unsafe { symbol.cast::<Export>().as_ref() })
}

fn c_string(text: &OsStr) -> Option<CString> {
    CString::new(text.as_bytes()).ok()
}

/// Returns the dynamic linker's text about its last failure on this thread.
fn last_error() -> String {
    // SAFETY: takes nothing; the text is valid until the next call of the dynamic linker on this thread.
    let text: *const c_char = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no reason is given".to_owned();
    }
    // SAFETY: not null, so a string that ends in a zero octet.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn count(arguments: Arguments<'_>) -> i32 {
        let octets: usize = arguments.to_vec().iter().map(String::len).sum();
        octets as i32
    }

    const MARK: [u8; 8] = *b"a record";

    #[repr(C, align(8))]
    struct Begin([u8; 8], u32, u32);

    #[test]
    fn arguments_arrive() {
        static EXPORT: Export = Export::new(MARK, &["one", "two"], count);
        let library = Library { export: &EXPORT };
        let arguments = ["a", "", "\u{20ac}"].map(String::from);
        assert_eq!(library.run(&arguments), Ok(4));
        assert_eq!(library.run(&[]), Ok(0));
        assert_eq!(library.export().fact(1).as_deref(), Some("two"));
        assert_eq!(library.export().fact(FACTS), None);
        let found = NonNull::from(&EXPORT).cast();
        // SAFETY: a static stays.
        assert!(unsafe { record(found, MARK) }.is_ok());
    }

    #[test]
    fn what_is_no_record_is_refused_before_more_of_it_is_read() {
        let wanted = Export::SIZE;
        for (begin, error) in [
            (Begin(*b"somebody", wanted, FACTS as u32), LibraryError::Mark),
            (Begin(MARK, 16, FACTS as u32), LibraryError::Size { found: 16, wanted }),
            (Begin(MARK, wanted, 2), LibraryError::Size { found: wanted, wanted }),
        ] {
            let begin: &'static Begin = Box::leak(Box::new(begin));
            // SAFETY: leaked memory stays.
            let found = unsafe { record(NonNull::from(begin).cast(), MARK) };
            assert_eq!(found.err(), Some(error));
        }
    }

    #[test]
    fn a_text_is_cut_and_its_length_checked() {
        assert_eq!(Text::new(&"x".repeat(500)).get(), Some("x".repeat(MOST_TEXT)));
        let wrong = Text { length: 125, octets: [0; MOST_TEXT] };
        assert_eq!(wrong.get(), None);
    }
}
