use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Largest file that is read, in octets; it bounds endless files such as `/dev/zero`.
const LARGEST: u64 = 16 << 20;

/// Reads a text file, or describes the failure.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot be read: {error}");
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(LARGEST + 1).read_to_string(&mut text).map_err(failed)?;
    match text.len() as u64 > LARGEST {
        true => {
            Err(format!("is larger than the limit of {LARGEST} octets; specify a file of settings"))
        }
        // Remove the byte order mark that some editors write at the beginning of a file.
        false => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
    }
}
