use core::fmt;

/// Text of a peer, formatted for a terminal or a log: on one line, and without characters that
/// control a terminal.
///
/// Control characters, line and paragraph separators, and characters that change the text direction
/// or are invisible are written as `\n`, `\u{1b}` and so on; all others are unchanged, quotes and
/// backslashes included. With a precision (`{:.80}`) at most that many characters of the text are
/// shown, followed by `...` if some are left out.
///
/// ```
/// use oxorb_cdr::Printable;
///
/// assert_eq!(Printable("IDL:Bad\n\x1b[2J:1.0").to_string(), "IDL:Bad\\n\\u{1b}[2J:1.0");
/// assert_eq!(format!("{:.4}", Printable("a long name")), "a lo...");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(pub &'a str);

impl Printable<'_> {
    /// Reports whether a character moves the cursor, changes the display of others, or is
    /// invisible.
    pub fn hides(c: char) -> bool {
        is_hidden(c)
    }
}

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = match f.precision() {
            Some(most) => self.0.char_indices().nth(most),
            None => None,
        };
        let shown = shown.map_or(self.0, |(end, _)| &self.0[..end]);
        let mut plain = 0;
        for (at, c) in shown.char_indices().filter(|&(_, c)| is_hidden(c)) {
            f.write_str(&shown[plain..at])?;
            write!(f, "{}", c.escape_default())?;
            plain = at + c.len_utf8();
        }
        f.write_str(&shown[plain..])?;
        if shown.len() < self.0.len() {
            f.write_str("...")?;
        }
        Ok(())
    }
}

/// Reports whether a character moves the cursor, changes the display of others, or is invisible.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn what_controls_a_terminal_is_written_out() {
        for hidden in ["\n", "\r", "\t", "\0", "\x1b", "\x7f", "\u{9b}", "\u{2028}", "\u{202e}"] {
            let shown = Printable(hidden).to_string();
            assert!(shown.starts_with('\\') && shown.is_ascii(), "{shown}");
        }
        assert_eq!(Printable("a\u{202e}b\nc").to_string(), "a\\u{202e}b\\nc");
    }

    #[test]
    fn other_text_stands_for_itself() {
        for text in ["", "IDL:Bank/Account:1.0", "Konto \"Müller\\1\" 口座 👍"] {
            assert_eq!(Printable(text).to_string(), text);
        }
    }

    #[test]
    fn a_precision_bounds_the_characters_shown() {
        assert_eq!(format!("{:.2}", Printable("äöü")), "äö...");
        assert_eq!(format!("{:.3}", Printable("äöü")), "äöü");
        assert_eq!(format!("{:.1}", Printable("\n\n")), "\\n...");
    }
}
