//! The header that precedes CDR in recordings (DDS-XTypes 1.3, section 7.6.3.1). It contains a representation and
//! options.

use crate::recording::RecordingError;

/// Encoding of messages that consist of a header and CDR.
pub const CDR: &str = "cdr";

/// Size of the header in octets. The alignment of the CDR is relative to the end of the header.
const HEADER: usize = 4;

/// Returns the header for plain CDR in little or big endian.
pub const fn cdr_header(little_endian: bool) -> [u8; HEADER] {
    [0, little_endian as u8, 0, 0]
}

/// Splits a message into its byte order (`true` for little-endian) and its CDR.
///
/// # Errors
/// [`RecordingError::NotPlainCdr`] for other representations, because parameter lists and XCDR2 have other layouts.
pub fn split_cdr(message: &[u8]) -> Result<(bool, &[u8]), RecordingError> {
    match message.split_first_chunk::<HEADER>() {
        Some(([0, order @ (0 | 1), ..], cdr)) => Ok((*order == 1, cdr)),
        Some(([high, low, ..], _)) => Err(RecordingError::NotPlainCdr {
            representation: Some(u16::from_be_bytes([*high, *low])),
        }),
        None => Err(RecordingError::NotPlainCdr { representation: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_cdr_is_taken_apart() {
        for little in [false, true] {
            let message = [&cdr_header(little)[..], b"body"].concat();
            assert_eq!(split_cdr(&message).unwrap(), (little, &b"body"[..]));
        }
        let refused = |message: &[u8]| split_cdr(message).unwrap_err().to_string();
        assert!(refused(&[0, 7, 0, 0, 1]).contains("0x0007"));
        assert!(refused(&[0, 1, 0]).contains("4 octets"));
    }
}
