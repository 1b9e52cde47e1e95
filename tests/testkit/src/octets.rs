//! Notation of octets in tests.

/// Returns the octets of hexadecimal digits, with white space and `|` anywhere.
///
/// # Panics
/// On an odd number of digits.
pub fn octets(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        digits.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    assert!(digits.len().is_multiple_of(2), "an odd number of digits");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
