//! Generated text before it is written to disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Files to write, by path. Nothing is written before [`write`](Self::write).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    files: BTreeMap<PathBuf, String>,
}

/// File on disk that differs from the generated one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Path of the file.
    pub path: PathBuf,
    /// Difference from the generated file.
    pub state: StaleState,
}

/// Difference between a file on disk and the generated one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaleState {
    /// File that does not exist.
    Missing,
    /// First different line, counted from 1.
    Differs {
        /// Line number.
        line: usize,
    },
    /// File that cannot be read.
    Unreadable(String),
}

impl Files {
    /// Adds a file; a second one with the same path replaces the first.
    pub fn insert(&mut self, path: impl Into<PathBuf>, text: impl Into<String>) {
        self.files.insert(path.into(), text.into());
    }

    /// Reports whether there is a file with this path.
    pub fn contains(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// Returns paths and texts, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().map(|(path, text)| (path.as_path(), text.as_str()))
    }

    /// Writes all files and creates their folders. An unchanged file keeps its modification time, so that nothing is
    /// rebuilt.
    pub fn write(&self) -> io::Result<()> {
        for (path, text) in &self.files {
            if fs::read_to_string(path).is_ok_and(|old| old == *text) {
                continue;
            }
            let place = |error: io::Error| {
                io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
            };
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(place)?;
            }
            fs::write(path, text).map_err(place)?;
        }
        Ok(())
    }

    /// Returns the files on disk that differ from what [`write`](Self::write) would write.
    pub fn check(&self) -> Vec<Stale> {
        let mut stale = Vec::new();
        for (path, text) in &self.files {
            let state = match fs::read_to_string(path) {
                Ok(old) if old == *text => continue,
                Ok(old) => StaleState::Differs { line: first_difference(&old, text) },
                Err(error) if error.kind() == io::ErrorKind::NotFound => StaleState::Missing,
                Err(error) => StaleState::Unreadable(error.to_string()),
            };
            stale.push(Stale { path: path.clone(), state });
        }
        stale
    }
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        match &self.state {
            StaleState::Missing => write!(f, "{path} is missing"),
            StaleState::Differs { line } => write!(f, "{path} is stale, from line {line} on"),
            StaleState::Unreadable(why) => write!(f, "{path} cannot be read: {why}"),
        }
    }
}

fn first_difference(old: &str, new: &str) -> usize {
    let same = old.lines().zip(new.lines()).take_while(|(a, b)| a == b);
    same.count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_names_what_write_would_change() {
        let folder = std::env::temp_dir().join(format!("oxorb-files-{}", std::process::id()));
        let mut files = Files::default();
        files.insert(folder.join("deep/a.rs"), "one\ntwo\n");
        assert_eq!(files.check()[0].state, StaleState::Missing);
        files.write().unwrap();
        assert_eq!(files.check(), []);
        files.insert(folder.join("deep/a.rs"), "one\nthree\n");
        assert_eq!(files.check()[0].state, StaleState::Differs { line: 2 });
        fs::remove_dir_all(folder).unwrap();
    }
}
