//! Positions in texts: offsets in octets, which the front end has, and lines with characters, which the protocol has.

use serde_json::{Value, json};

/// Unit of the characters of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Encoding {
    Utf8,
    /// Unit of clients that do not offer another one.
    #[default]
    Utf16,
}

/// Line, and character within it, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) character: u32,
}

/// Text with the starts of its lines.
pub(super) struct Lines<'t> {
    text: &'t str,
    encoding: Encoding,
    starts: Vec<usize>,
    /// Ends of the characters that have more octets than units, each with the number of excess octets up to it.
    excess: Vec<(usize, usize)>,
}

impl Encoding {
    /// Returns the name of the encoding in the protocol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
        }
    }

    /// Returns the encoding of this name.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        [Encoding::Utf8, Encoding::Utf16].into_iter().find(|known| known.name() == name)
    }

    fn units(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
        }
    }
}

impl Position {
    pub(super) fn json(self) -> Value {
        json!({ "line": self.line, "character": self.character })
    }
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str, encoding: Encoding) -> Self {
        let octets = text.as_bytes();
        let mut starts = vec![0];
        for (at, octet) in octets.iter().enumerate() {
            // A line ends with `\n`, `\r\n` or `\r`.
            if *octet == b'\n' || (*octet == b'\r' && octets.get(at + 1) != Some(&b'\n')) {
                starts.push(at + 1);
            }
        }
        let (mut excess, mut total) = (Vec::new(), 0);
        if !text.is_ascii() {
            for (at, c) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
                total += c.len_utf8() - encoding.units(c);
                excess.push((at + c.len_utf8(), total));
            }
        }
        Lines { text, encoding, starts, excess }
    }

    /// Returns the position of an offset; that of the end for an offset behind the text.
    pub(super) fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let character = self.units(offset) - self.units(self.starts[line]);
        Position { line: line as u32, character: character as u32 }
    }

    /// Returns the offset of a position. A position behind the end of a line or of the text is that end.
    pub(super) fn offset(&self, position: Position) -> usize {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line).copied() else {
            return self.text.len();
        };
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        let text = self.text[start..end].trim_end_matches(['\r', '\n']);
        let mut units = 0;
        for (at, c) in text.char_indices() {
            units += self.encoding.units(c);
            if units > position.character as usize {
                return start + at;
            }
        }
        start + text.len()
    }

    /// Returns the number of units before an offset.
    fn units(&self, offset: usize) -> usize {
        let before = self.excess.partition_point(|(end, _)| *end <= offset);
        let excess = before.checked_sub(1).map_or(0, |last| self.excess[last].1);
        offset - excess
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text with characters of one to four octets, and every kind of line end.
    const TEXT: &str = "a\u{e9}b\n\u{20ac}\u{1f600}c\r\nd\re\n";

    fn places(encoding: Encoding) -> Vec<(usize, u32, u32)> {
        let lines = Lines::new(TEXT, encoding);
        let ends = [TEXT.len()];
        let all = TEXT.char_indices().map(|(at, _)| at).chain(ends);
        all.map(|at| {
            let Position { line, character } = lines.position(at);
            (at, line, character)
        })
        .collect()
    }

    #[test]
    fn utf_16_counts_code_units() {
        assert_eq!(
            places(Encoding::Utf16),
            [
                (0, 0, 0),
                (1, 0, 1),
                (3, 0, 2),
                (4, 0, 3),
                (5, 1, 0),
                (8, 1, 1),
                (12, 1, 3),
                (13, 1, 4),
                (14, 1, 5),
                (15, 2, 0),
                (16, 2, 1),
                (17, 3, 0),
                (18, 3, 1),
                (19, 4, 0),
            ]
        );
    }

    #[test]
    fn utf_8_counts_octets() {
        let places = places(Encoding::Utf8);
        assert_eq!(places[2], (3, 0, 3));
        assert_eq!(places[6], (12, 1, 7));
        assert_eq!(places[13], (19, 4, 0));
    }

    #[test]
    fn positions_lead_back_to_their_offsets() {
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            let lines = Lines::new(TEXT, encoding);
            for (offset, line, character) in places(encoding) {
                // The offset between `\r` and `\n` is behind the end of the line.
                let expected = if offset == 14 { 13 } else { offset };
                assert_eq!(lines.offset(Position { line, character }), expected, "{encoding:?}");
            }
        }
    }

    #[test]
    fn positions_outside_the_text_or_within_a_character_are_mended() {
        let lines = Lines::new(TEXT, Encoding::Utf16);
        let offset = |line, character| lines.offset(Position { line, character });
        assert_eq!(offset(0, u32::MAX), 4);
        assert_eq!(offset(1, u32::MAX), 13);
        assert_eq!(offset(u32::MAX, 0), TEXT.len());
        assert_eq!(offset(1, 2), 8, "between the units of a pair of surrogates");
        assert_eq!(Lines::new(TEXT, Encoding::Utf8).offset(Position { line: 0, character: 2 }), 1);
        assert_eq!(lines.position(usize::MAX), Position { line: 4, character: 0 });
        assert_eq!(lines.position(10), Position { line: 1, character: 1 });
        let empty = Lines::new("", Encoding::Utf16);
        assert_eq!(empty.position(0), Position { line: 0, character: 0 });
        assert_eq!(empty.offset(Position { line: 0, character: 9 }), 0);
    }
}
