//! "Did you mean": the known word closest to an unknown one.

/// Returns the known word closest to `word`, if it is close enough for a suggestion ("did you mean").
pub fn closest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    // Allows one wrong letter for every four letters of the word, but at least one.
    let allowed = (word.chars().count() / 4).max(1);
    known
        .map(|candidate| (distance(word, candidate, allowed), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && candidate.chars().count() > 1)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns the number of letters to insert, remove, replace or swap with their neighbour, ignoring
/// case; anything above `limit` may be rounded up.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    if a.len().abs_diff(b.len()) > limit {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_else() {
        let known = ["Account", "Amount", "Overdrawn", "i"];
        let closest = |word| closest(word, known.into_iter());
        assert_eq!(closest("Acount"), Some("Account"));
        assert_eq!(closest("Overdarwn"), Some("Overdrawn"));
        assert_eq!(closest("account"), Some("Account"));
        assert_eq!(closest("Ledger"), None);
        assert_eq!(closest("j"), None);
    }
}
