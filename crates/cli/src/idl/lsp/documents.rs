//! Open documents, and the files that the front end reads: open ones as the editor shows them, others from disk.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxorb_idl::source::{Disk, Loader};

use super::message::Refusal;
use super::uri;

/// Maximum number of open documents.
const MAX_DOCUMENTS: usize = 256;

/// Maximum number of octets of all open documents together.
const MAX_OCTETS: usize = 64 << 20;

/// Document that is open in the editor.
pub(super) struct Document {
    /// URI as the client writes it.
    pub(super) uri: String,
    pub(super) path: PathBuf,
    /// Single path for all paths of the file.
    pub(super) identity: PathBuf,
    /// Number of the text, as the client counts.
    pub(super) version: Option<i64>,
    pub(super) text: Arc<str>,
}

/// Open documents by their URIs.
#[derive(Default)]
pub(super) struct Documents(BTreeMap<String, Document>);

impl Documents {
    /// Opens a document, or replaces its text.
    pub(super) fn put(
        &mut self,
        uri: &str,
        version: Option<i64>,
        text: &str,
    ) -> Result<(), Refusal> {
        let (mut documents, mut octets) = (1, text.len());
        for other in self.iter().filter(|document| document.uri != uri) {
            documents += 1;
            octets += other.text.len();
        }
        if documents > MAX_DOCUMENTS {
            let why =
                format!("at most {MAX_DOCUMENTS} documents can be open: close one to open `{uri}`");
            return Err(Refusal::failed(why));
        }
        if octets > MAX_OCTETS {
            let why = format!(
                "the open documents can have at most {MAX_OCTETS} octets in total: close one to open `{uri}`"
            );
            return Err(Refusal::failed(why));
        }
        let path = uri::to_path(uri).unwrap_or_else(|| uri.into());
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let identity = identity(&path);
        let document = Document { uri: uri.to_owned(), path, identity, version, text: text.into() };
        self.0.insert(uri.to_owned(), document);
        Ok(())
    }

    /// Closes a document, and returns it if it was open.
    pub(super) fn close(&mut self, uri: &str) -> Option<Document> {
        self.0.remove(uri)
    }

    /// Returns an open document.
    pub(super) fn get(&self, uri: &str) -> Result<&Document, Refusal> {
        let found = self.0.get(uri);
        found.ok_or_else(|| Refusal::invalid_params(format!("`{uri}` is not open")))
    }

    /// Returns all open documents.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Document> {
        self.0.values()
    }

    /// Returns the document that shows a file.
    pub(super) fn of_file(&self, identity: &Path) -> Option<&Document> {
        self.iter().find(|document| document.identity == identity)
    }

    /// Returns the URI of a file.
    pub(super) fn uri_of(&self, identity: &Path) -> String {
        match self.of_file(identity) {
            Some(document) => document.uri.clone(),
            None => uri::of_path(identity),
        }
    }

    /// Determines all identities again. They change if links are replaced and folders are moved.
    pub(super) fn update_identities(&mut self) {
        for document in self.0.values_mut() {
            document.identity = identity(&document.path);
        }
    }

    /// Returns the files that the front end reads.
    pub(super) fn overlay(&self) -> Overlay {
        let mut overlay = Overlay::default();
        for document in self.iter() {
            overlay.texts.insert(document.identity.clone(), Arc::clone(&document.text));
        }
        // The path of a document shows that document, even if the path has another identity by now.
        for document in self.iter() {
            overlay.texts.insert(document.path.clone(), Arc::clone(&document.text));
        }
        overlay
    }

    /// Replaces the text of a file in the overlay of these documents.
    pub(super) fn replace(&self, overlay: &mut Overlay, identity: &Path, text: &str) {
        let text: Arc<str> = text.into();
        for document in self.iter().filter(|document| document.identity == identity) {
            overlay.texts.insert(document.path.clone(), Arc::clone(&text));
        }
        overlay.texts.insert(identity.to_owned(), text);
    }
}

/// Loader for the file system, with other texts for some files.
#[derive(Clone, Default)]
pub(super) struct Overlay {
    /// Texts by the paths of documents and by the identities of files.
    texts: HashMap<PathBuf, Arc<str>>,
}

impl Overlay {
    fn text(&self, path: &Path) -> Option<&Arc<str>> {
        self.texts.get(path).or_else(|| self.texts.get(&identity(path)))
    }
}

impl Loader for Overlay {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        if let Some(text) = self.text(path) {
            return Ok(text.as_bytes().to_vec());
        }
        let kind = fs::metadata(path)?;
        if !kind.is_file() && !kind.is_dir() {
            // Reading a pipe or a terminal may wait forever; one of them has the messages of the client.
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a regular file"));
        }
        Disk.load(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.text(path).is_some() || Disk.exists(path)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        identity(path)
    }
}

/// Returns a single path for all paths of a file. A file that was never saved may have a folder.
pub(super) fn identity(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
