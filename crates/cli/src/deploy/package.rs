//! `oxorb deploy pack` and `oxorb deploy unpack`: archives of packages (`.cpk`).

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use oxorb_deploy::{Archive, ArchiveLimits, Limits};

use super::files;
use oxorb_terminal::output::{Done, Failed, because, counted, print};

/// Arguments of `oxorb deploy pack`.
#[derive(clap::Args)]
pub(crate) struct PackArgs {
    /// Folder with descriptors and artifacts
    #[arg(value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
    /// Archive to write; must not exist
    #[arg(value_name = "ARCHIVE", value_hint = clap::ValueHint::FilePath)]
    archive: PathBuf,
}

/// Arguments of `oxorb deploy unpack`.
#[derive(clap::Args)]
pub(crate) struct UnpackArgs {
    /// Archive to read
    #[arg(value_name = "ARCHIVE", value_hint = clap::ValueHint::FilePath)]
    archive: PathBuf,
    /// Folder to create
    #[arg(value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

/// Packs a folder with valid descriptors.
pub(super) fn pack(args: &PackArgs) -> Done {
    let archive = of_folder(&args.folder)?;
    let documents = checked(&archive, &args.folder)?;
    let octets = archive.write().map_err(|error| located(&args.folder, &error))?;
    write(&args.archive, &octets, 0o644)?;
    told(&args.archive, &archive, documents)
}

/// Unpacks an archive with valid descriptors into a new folder.
pub(super) fn unpack(args: &UnpackArgs) -> Done {
    let archive = open(&args.archive)?;
    let documents = checked(&archive, &args.archive)?;
    fs::create_dir(&args.folder).map_err(|error| wrong(&args.folder, &error))?;
    if let Err(failed) = place(&archive, &args.folder) {
        // Remove the incomplete folder.
        let _ = fs::remove_dir_all(&args.folder);
        return Err(failed);
    }
    told(&args.folder, &archive, documents)
}

/// Opens a package: an archive, or a folder that could be packed into one.
pub(super) fn open(path: &Path) -> Result<Archive, Failed> {
    if path.is_dir() {
        return of_folder(path);
    }
    let limits = ArchiveLimits::default();
    let octets = read(path, limits.octets)?;
    Archive::read(&octets, &limits).map_err(|error| located(path, &error))
}

fn of_folder(folder: &Path) -> Result<Archive, Failed> {
    let mut packing =
        Packing { archive: Archive::default(), left: ArchiveLimits::default().octets };
    packing.folder(folder, "")?;
    Ok(packing.archive)
}

/// Writes all files of an archive below a folder.
fn place(archive: &Archive, below: &Path) -> Done {
    for (path, content) in &archive.files {
        let file = below.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|error| wrong(folder, &error))?;
        }
        // Archives from other tools contain no permissions, so executables are recognized by their first octets.
        let is_program = content.starts_with(b"\x7fELF") || content.starts_with(b"#!");
        write(&file, content, if is_program { 0o755 } else { 0o644 })?;
    }
    Ok(())
}

/// Files to be written to an archive.
struct Packing {
    archive: Archive,
    /// Number of octets that may still be added.
    left: u64,
}

impl Packing {
    /// Adds all files below a folder, whose path in the archive is `prefix`.
    fn folder(&mut self, folder: &Path, prefix: &str) -> Done {
        let entries = fs::read_dir(folder).map_err(|error| wrong(folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| wrong(folder, &error))?;
            let path = entry.path();
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(because(format!("{}: the name is not UTF-8", path.display())));
            };
            let name = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(|error| wrong(&path, &error))?;
            if kind.is_dir() {
                self.folder(&path, &format!("{name}/"))?;
            } else if kind.is_file() {
                self.file(&path, name)?;
            } else {
                return Err(because(format!(
                    "{}: links and devices cannot be packed",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: String) -> Done {
        let limits = ArchiveLimits::default();
        if self.archive.files.len() >= limits.entries {
            return Err(because(format!(
                "{}: an archive can have at most {} entries",
                path.display(),
                limits.entries
            )));
        }
        let content = read(path, self.left)?;
        self.left -= content.len() as u64;
        self.archive.files.insert(name, content);
        Ok(())
    }
}

/// Reads all descriptors, and returns their number.
fn checked(archive: &Archive, from: &Path) -> Result<usize, Failed> {
    let documents = archive.documents(&Limits::default());
    let documents = documents.map_err(|error| located(from, &error))?;
    Ok(documents.len())
}

fn told(path: &Path, archive: &Archive, documents: usize) -> Done {
    print(format_args!(
        "{}: {}, {} of them\n",
        path.display(),
        counted(archive.files.len(), "file"),
        counted(documents, "descriptor")
    ))
}

fn located(file: &Path, error: &oxorb_deploy::Error) -> Failed {
    files::within(file, error)
}

fn wrong(path: &Path, error: &std::io::Error) -> Failed {
    because(format!("{}: {error}", path.display()))
}

/// Reads a file of at most `most` octets.
fn read(path: &Path, most: u64) -> Result<Vec<u8>, Failed> {
    use std::io::Read as _;

    let mut content = Vec::new();
    let file = fs::File::open(path).map_err(|error| wrong(path, &error))?;
    let read = file.take(most + 1).read_to_end(&mut content);
    read.map_err(|error| wrong(path, &error))?;
    match content.len() as u64 > most {
        true => Err(because(format!(
            "{}: an archive can have at most {} octets",
            path.display(),
            ArchiveLimits::default().octets
        ))),
        false => Ok(content),
    }
}

/// Writes a file that must not exist.
fn write(path: &Path, content: &[u8], mode: u32) -> Done {
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(mode).open(path);
    let mut file = file.map_err(|error| wrong(path, &error))?;
    file.write_all(content).map_err(|error| {
        // Remove the incomplete file.
        let _ = fs::remove_file(path);
        wrong(path, &error)
    })
}
