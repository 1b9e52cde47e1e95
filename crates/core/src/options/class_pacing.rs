//! Pacing of requests by communication class.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use oxorb_cdr::Printable;
use oxorb_object::CommunicationClass;

/// Maximum rates of requests over each connection of a communication class, in octets per second. Classes that are not
/// named, and [`Message`](CommunicationClass::Message), are not paced.
///
/// ```
/// use std::num::NonZeroU32;
///
/// use oxorb_core::ClassPacing;
/// use oxorb_object::CommunicationClass;
///
/// let pacing: ClassPacing = "burst=1000000".parse().unwrap();
/// assert_eq!(pacing.of(CommunicationClass::Burst), NonZeroU32::new(1_000_000));
/// assert_eq!(pacing.of(CommunicationClass::Message), None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassPacing([Option<NonZeroU32>; 4]);

/// Classes that have connections of their own.
const CLASSES: [(&str, CommunicationClass); 3] = [
    ("isochronous", CommunicationClass::Isochronous),
    ("burst", CommunicationClass::Burst),
    ("message-stream", CommunicationClass::MessageStream),
];

impl ClassPacing {
    /// Returns the maximum rate of a class, in octets per second; `None` if unlimited.
    #[inline]
    pub fn of(&self, class: CommunicationClass) -> Option<NonZeroU32> {
        self.0[class as usize]
    }
}

impl FromStr for ClassPacing {
    type Err = String;

    fn from_str(text: &str) -> Result<ClassPacing, String> {
        let mut pacing = ClassPacing::default();
        for word in text.split_whitespace() {
            let wrong = || {
                let names = CLASSES.map(|(name, _)| name).join(", ");
                let word = Printable(word);
                format!(
                    "expected CLASS=OCTETS (each second, from 1) with a class of {names} instead of `{word}`"
                )
            };
            let (name, octets) = word.split_once('=').ok_or_else(wrong)?;
            let known = CLASSES.iter().find(|(known, _)| *known == name);
            let (_, class) = known.ok_or_else(wrong)?;
            pacing.0[*class as usize] = Some(octets.parse().map_err(|_| wrong())?);
        }
        Ok(pacing)
    }
}

impl fmt::Display for ClassPacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paced = CLASSES.iter();
        let mut paced = paced.filter_map(|(name, class)| Some((name, self.of(*class)?)));
        paced.try_for_each(|(name, octets)| write!(f, "{name}={octets} "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_named_with_octets() {
        let pacing: ClassPacing = "burst=1 isochronous=4294967295".parse().unwrap();
        assert_eq!(pacing.of(CommunicationClass::Burst), NonZeroU32::new(1));
        assert_eq!(pacing.of(CommunicationClass::MessageStream), None);
        assert_eq!(pacing.to_string().parse(), Ok(pacing));
        for wrong in ["burst", "burst=0", "message=1", "burst=fast", "frames=1"] {
            let error = wrong.parse::<ClassPacing>().unwrap_err();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
