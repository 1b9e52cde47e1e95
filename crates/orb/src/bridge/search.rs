//! Search of encoded values of unknown types for references, and their replacement.
//!
//! A reference is found where all of this is encoded, with the alignment of CDR:
//!
//! * a type id: a string, also one of length 0 without the final NUL;
//! * one to [`MOST_PROFILES`] profiles, each a tag and a sequence of octets within the message; at most
//!   [`FEW_PROFILES`] if the type id does not begin with `IDL:` or `RMI:`;
//! * one of the profiles is a well-formed IIOP profile with a host.
//!
//! A string is found that is a stringified reference (`IOR:`) as a whole, apart from white space around it. A
//! replacement has the size of the original modulo eight, so that all values after it stay aligned; a profile without a
//! meaning fills the difference.
//!
//! Octets that resemble many references, each within another, would take a time that grows with the square of their
//! number. The search therefore gives up when it has read octets more often than messages of honest senders need.

use std::ops::Range;

use crate::ior::{Ior, TaggedProfile};
use crate::values::ByteOrder;
use crate::{CompletionStatus, SystemException, minor};
use oxorb_cdr::{Decode as _, Decoder, Dialect, Encoder};
use oxorb_object::profile_tag::{INTERNET_IOP, OXORB_PADDING};

use crate::bridge::replacing::stringified;

/// Maximum number of profiles of a reference that is found.
const MOST_PROFILES: usize = 1024;

/// Maximum number of profiles if the type id is not a repository id. Numbers in arrays resemble such references.
const FEW_PROFILES: usize = 16;

/// Number of octets at the start of a type id that contain no zero.
const BEGIN_OF_TYPE_ID: usize = 64;

/// Maximum number of octets before and after a stringified reference that are not printed, such as white space.
const AROUND: usize = 64;

/// Alignment of lengths and tags.
const FOUR: usize = 4;

/// Largest alignment of a value.
const EIGHT: usize = 8;

/// Size in octets of the tag and the length of a profile.
const HEADER: usize = 8;

/// How often an octet may be read, on average, before the search gives up. An octet of a reference is read [`COPIED`]
/// times and, in the header of a profile, once more. An octet of an array of numbers is read at most 16 times, if each
/// number resembles a type id or the number of profiles.
const READINGS: usize = 32;

/// Cost of an octet that is decoded and copied.
const COPIED: usize = 4;

/// Properties of a message on which the meaning of its octets depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    order: ByteOrder,
    dialect: Dialect,
    /// Offset of the octets in the message, modulo eight.
    begin: usize,
}

/// Reference within octets.
struct Found {
    /// Range of the reference, or of the string that contains it.
    start: usize,
    end: usize,
    ior: Ior,
    /// Range of the stringified reference within the string; `None` for an encoded reference.
    text: Option<Range<usize>>,
}

/// Search in octets.
struct Search<'o> {
    place: Place,
    octets: &'o [u8],
    /// Number of octets that the search may still read before it gives up.
    left: usize,
}

/// The search has given up.
struct Exhausted;

impl Place {
    /// Returns the properties of the octets that a decoder reads next.
    pub(crate) fn of(d: &Decoder<'_>) -> Place {
        Place { order: d.order(), dialect: d.dialect(), begin: d.position() % EIGHT }
    }

    /// Returns a decoder of octets that [`replace`](Self::replace) returned.
    pub(crate) fn decoder(self, octets: &[u8]) -> Decoder<'_> {
        Decoder::new(octets, self.order, self.dialect).at(self.begin)
    }

    /// Reports whether octets contain a reference, or so much that resembles references that the search gives up.
    /// Allocates nothing if they contain nothing like one.
    pub(crate) fn has_references(self, octets: &[u8]) -> bool {
        !matches!(Search::new(self, octets).find(0), Ok(None))
    }

    /// Replaces all references in octets. The result begins with as many further octets as
    /// [`decoder`](Self::decoder) skips.
    ///
    /// # Errors
    /// The first error of `counterpart`; NO_PERMISSION if the search gives up; IMP_LIMIT if the result is longer than
    /// `limit`.
    pub(crate) fn replace(
        self,
        octets: &[u8],
        limit: usize,
        completed: CompletionStatus,
        mut counterpart: impl FnMut(&Ior) -> Result<Ior, SystemException>,
    ) -> Result<Vec<u8>, SystemException> {
        let exhausted = |_: Exhausted| {
            SystemException::no_permission(minor::no_permission::UNKNOWN_TYPES, completed)
        };
        let mut search = Search::new(self, octets);
        let mut replaced = vec![0; self.begin];
        let mut copied = 0;
        while let Some(found) = search.find(copied).map_err(exhausted)? {
            let new = counterpart(&found.ior)?;
            if new == found.ior {
                replaced.extend_from_slice(&octets[copied..found.end]);
            } else {
                replaced.extend_from_slice(&octets[copied..found.start]);
                replaced.extend_from_slice(&self.encode(new, &found, octets));
            }
            copied = found.end;
            if replaced.len() > limit {
                let minor = minor::imp_limit::MESSAGE_TOO_LARGE;
                return Err(SystemException::imp_limit(minor, completed));
            }
        }
        replaced.extend_from_slice(&octets[copied..]);
        Ok(replaced)
    }

    /// Encodes a reference in place of another one in `octets`.
    fn encode(self, mut new: Ior, old: &Found, octets: &[u8]) -> Vec<u8> {
        let size = old.end - old.start;
        let encoded = self.encode_as(&new, old, octets);
        if encoded.len() % EIGHT == size % EIGHT {
            return encoded;
        }
        let at = new.profiles.len();
        new.profiles.push(TaggedProfile { tag: OXORB_PADDING, data: Vec::new() });
        let unfilled = self.encode_as(&new, old, octets).len();
        let missing = (size % EIGHT + EIGHT - unfilled % EIGHT) % EIGHT;
        // Text has two digits for each octet, and what surrounds the digits keeps its size.
        new.profiles[at].data = vec![0; if old.text.is_some() { missing / 2 } else { missing }];
        self.encode_as(&new, old, octets)
    }

    fn encode_as(self, ior: &Ior, old: &Found, octets: &[u8]) -> Vec<u8> {
        let mut e = Encoder::new(Vec::new(), self.order, self.dialect);
        match &old.text {
            None => ior.write(&mut e),
            Some(within) => {
                let before = &octets[old.start + FOUR..within.start];
                let after = &octets[within.end..old.end - 1];
                let text = ior.to_string();
                e.ulong((before.len() + text.len() + after.len()) as u32 + 1);
                e.copy_octets(before);
                e.copy_octets(text.as_bytes());
                e.copy_octets(after);
                e.octet(0);
            }
        }
        e.finish().to_vec()
    }
}

impl<'o> Search<'o> {
    fn new(place: Place, octets: &'o [u8]) -> Search<'o> {
        Search { place, octets, left: octets.len().saturating_mul(READINGS) }
    }

    /// Returns the first reference at or after an index.
    fn find(&mut self, from: usize) -> Result<Option<Found>, Exhausted> {
        let first = from + (FOUR - (self.place.begin + from) % FOUR) % FOUR;
        for start in (first..self.octets.len()).step_by(FOUR) {
            if let Some(found) = self.at(start)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the reference that begins at an index.
    fn at(&mut self, start: usize) -> Result<Option<Found>, Exhausted> {
        let octets = self.octets;
        let rest = &octets[start..];
        let (text, end) = match string(rest, self.place.order) {
            Some(text) => (text, FOUR + text.len() + 1),
            // Some ORBs send an empty type id so, and OxORB accepts it.
            None if ulong(rest, 0, self.place.order) == Some(0) => (&rest[..0], FOUR),
            None => return Ok(None),
        };
        if let Some(within) = text_of_reference(text) {
            self.charge(COPIED * within.len())?;
            let ior = std::str::from_utf8(&text[within.clone()]).ok().and_then(stringified);
            let begin = start + FOUR;
            let text = Some(begin + within.start..begin + within.end);
            return Ok(ior.map(|ior| Found { start, end: start + end, ior, text }));
        }
        let Some(most) = most_profiles(text) else {
            return Ok(None);
        };
        let Some(end) = self.end_of_profiles(rest, end, most)? else {
            return Ok(None);
        };
        self.charge(COPIED * end)?;
        let mut d = Decoder::new(&rest[..end], self.place.order, self.place.dialect);
        let Ok(ior) = Ior::decode(&mut d) else {
            return Ok(None);
        };
        let is_reachable = ior.iiop_profiles().any(|profile| !profile.host.is_empty());
        let end = start + d.position();
        Ok(is_reachable.then_some(Found { start, end, ior, text: None }))
    }

    /// Returns the end of the profiles that are encoded in `octets` after the first `at` octets, if there are `most` or
    /// fewer, and one of them resembles an IIOP profile with a host.
    fn end_of_profiles(
        &mut self,
        octets: &[u8],
        at: usize,
        most: usize,
    ) -> Result<Option<usize>, Exhausted> {
        let order = self.place.order;
        let mut at = at.next_multiple_of(FOUR);
        let Some(count) = ulong(octets, at, order).filter(|count| (1..=most).contains(count))
        else {
            return Ok(None);
        };
        at += FOUR;
        let mut has_iiop = false;
        for _ in 0..count {
            self.charge(HEADER)?;
            at = at.next_multiple_of(FOUR);
            let (tag, length) = (ulong(octets, at, order), ulong(octets, at + FOUR, order));
            at += HEADER;
            let data = length.and_then(|length| octets.get(at..)?.get(..length));
            let Some(data) = data else {
                return Ok(None);
            };
            has_iiop |= tag == Some(INTERNET_IOP as usize) && resembles_iiop(data);
            at += data.len();
        }
        Ok(has_iiop.then_some(at))
    }

    fn charge(&mut self, octets: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(octets).ok_or(Exhausted)?;
        Ok(())
    }
}

/// Returns the maximum number of profiles of a reference with this type id; `None` if it cannot be one.
fn most_profiles(type_id: &[u8]) -> Option<usize> {
    if type_id.starts_with(b"IDL:") || type_id.starts_with(b"RMI:") {
        return Some(MOST_PROFILES);
    }
    let begin = &type_id[..type_id.len().min(BEGIN_OF_TYPE_ID)];
    (!begin.contains(&0)).then_some(FEW_PROFILES)
}

/// Returns the range of a stringified reference in a text that contains nothing else, apart from white space around it.
fn text_of_reference(text: &[u8]) -> Option<Range<usize>> {
    let start = text.iter().take(AROUND + 1).position(u8::is_ascii_graphic)?;
    let prefix = text.get(start..start + FOUR)?;
    if !prefix.eq_ignore_ascii_case(b"IOR:") {
        return None;
    }
    let digits = &text[start + FOUR..];
    let is_other = |octet: &u8| !octet.is_ascii_hexdigit();
    let count = digits.iter().position(is_other).unwrap_or(digits.len());
    let after = &digits[count..];
    let is_whole = after.len() <= AROUND && !after.iter().any(u8::is_ascii_graphic);
    is_whole.then_some(start..start + FOUR + count)
}

/// Reports whether the data of a profile begin like those of an IIOP profile with a host.
fn resembles_iiop(data: &[u8]) -> bool {
    let order = match data {
        [0, 1, ..] => ByteOrder::Big,
        [1, 1, ..] => ByteOrder::Little,
        _ => return false,
    };
    let host = data.get(FOUR..).and_then(|host| string(host, order));
    host.is_some_and(|host| !host.is_empty())
}

/// Returns the text of the string that is encoded at the start of `octets`.
fn string(octets: &[u8], order: ByteOrder) -> Option<&[u8]> {
    let length = ulong(octets, 0, order)?;
    let octets = octets[FOUR..].get(..length)?;
    octets.strip_suffix(&[0])
}

fn ulong(octets: &[u8], at: usize, order: ByteOrder) -> Option<usize> {
    let octets = octets.get(at..)?.first_chunk()?;
    Some(match order {
        ByteOrder::Big => u32::from_be_bytes(*octets) as usize,
        ByteOrder::Little => u32::from_le_bytes(*octets) as usize,
    })
}

#[cfg(test)]
mod tests {
    use oxorb_cdr::CharSet;

    use super::*;
    use crate::SystemExceptionKind;
    use crate::ior::{IiopProfile, Version};

    impl Place {
        fn replaced(
            self,
            octets: &[u8],
            counterpart: impl FnMut(&Ior) -> Result<Ior, SystemException>,
        ) -> Result<Vec<u8>, SystemException> {
            self.replace(octets, usize::MAX, CompletionStatus::No, counterpart)
        }
    }

    fn ior(type_id: &str, host: &str, key: &[u8]) -> Ior {
        let profile = IiopProfile::new(Version::V1_2, host, 2809, key);
        Ior { type_id: type_id.to_owned(), profiles: vec![profile.to_profile()] }
    }

    /// Encodes values behind `begin` octets; returns them, and their place.
    fn encoded(
        order: ByteOrder,
        begin: usize,
        values: impl Fn(&mut Encoder<'_>),
    ) -> (Vec<u8>, Place) {
        let dialect = Dialect { chars: CharSet::Utf8, ..Dialect::GIOP_1_2 };
        let mut e = Encoder::new(Vec::new(), order, dialect);
        e.copy_octets(&vec![0; begin]);
        values(&mut e);
        let octets = e.finish().to_vec();
        let place = Place::of(&Decoder::new(&octets, order, dialect).at(begin));
        (octets[begin..].to_vec(), place)
    }

    /// Returns references of different sizes.
    fn counterparts() -> impl Iterator<Item = Ior> {
        (0..20).map(|length| ior("IDL:New:1.0", "new.example", &vec![7; length]))
    }

    #[test]
    fn values_after_a_reference_stay_aligned() {
        let old = ior("IDL:Old:1.0", "old", b"key");
        for order in [ByteOrder::Big, ByteOrder::Little] {
            for begin in 0..EIGHT {
                for before in 0..EIGHT {
                    let (octets, place) = encoded(order, begin, |e| {
                        e.copy_octets(&vec![1; before]);
                        old.write(e);
                        e.octet(5);
                        e.longlong(-9);
                        e.ulong(old.to_string().len() as u32 + 1);
                        e.copy_octets(old.to_string().as_bytes());
                        e.octet(0);
                        e.double(2.5);
                    });
                    for new in counterparts() {
                        let replaced = place.replaced(&octets, |it| {
                            assert_eq!(*it, old);
                            Ok(new.clone())
                        });
                        let replaced = replaced.unwrap();
                        let mut d = place.decoder(&replaced);
                        assert_eq!(d.octets(before).unwrap(), vec![1; before]);
                        let came = Ior::decode(&mut d).unwrap();
                        assert_eq!(came.profiles[0], new.profiles[0]);
                        assert_eq!((d.octet().unwrap(), d.longlong().unwrap()), (5, -9));
                        let came: Ior = d.string().unwrap().parse().unwrap();
                        assert_eq!(came.profiles[0], new.profiles[0]);
                        assert_eq!((d.double().unwrap(), d.remaining()), (2.5, 0));
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_else_is_found() {
        let nowhere = Ior {
            type_id: "IDL:Old:1.0".to_owned(),
            profiles: vec![TaggedProfile { tag: 1, data: b"ab\0".to_vec() }],
        };
        let (octets, place) = encoded(ByteOrder::Big, 0, |e| {
            Ior::nil().write(e);
            // CosNaming::NotFound(not_context, [..]) looks like a reference with one profile.
            nowhere.write(e);
            e.string("IDL:Old:1.0").unwrap();
            e.string("IOR:nothing").unwrap();
            e.string("IOR:00 and more").unwrap();
            e.string("corbaloc::old/key").unwrap();
        });
        assert!(!place.has_references(&octets));
        let replaced = place.replaced(&octets, |_| panic!("there is no reference")).unwrap();
        assert_eq!(replaced, octets);
    }

    #[test]
    fn cut_and_changed_octets_cause_no_panic() {
        let old = ior("IDL:Old:1.0", "old", b"key");
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let (octets, place) = encoded(order, 4, |e| {
                old.write(e);
                e.string(&old.to_string()).unwrap();
            });
            for end in 0..octets.len() {
                let _ = place.replaced(&octets[..end], |it| Ok(it.clone()));
            }
            let mut changed = octets;
            for at in 0..changed.len() {
                for change in [0x01, 0x80, 0xff] {
                    changed[at] ^= change;
                    let _ = place.replaced(&changed, |_| Ok(Ior::nil()));
                    changed[at] ^= change;
                }
            }
        }
    }

    #[test]
    fn unusual_references_are_found() {
        let host = || ior("", "old", b"key").profiles[0].clone();
        let other = || TaggedProfile { tag: 1, data: b"ab\0".to_vec() };
        for (type_id, others) in
            [("", 0), ("X", 0), ("DCE:old", FEW_PROFILES - 1), ("IDL:Old:1.0", 1000)]
        {
            let mut old = Ior { type_id: type_id.to_owned(), profiles: vec![host()] };
            old.profiles.extend((0..others).map(|_| other()));
            let (octets, place) = encoded(ByteOrder::NATIVE, 0, |e| old.write(e));
            assert!(place.has_references(&octets), "{type_id} {others}");
            let mut found = Vec::new();
            let replaced = place.replaced(&octets, |it| {
                found.push(it.clone());
                Ok(it.clone())
            });
            assert_eq!(replaced.unwrap(), octets);
            assert_eq!(found, [old]);
        }
    }

    #[test]
    fn a_type_id_without_a_nul_is_found() {
        let old = ior("", "old", b"key");
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let (octets, place) = encoded(order, 4, |e| {
                e.ulong(0);
                e.ulong(1);
                e.ulong(INTERNET_IOP);
                e.ulong(old.profiles[0].data.len() as u32);
                e.copy_octets(&old.profiles[0].data);
                e.longlong(-9);
            });
            assert!(place.has_references(&octets));
            for new in counterparts() {
                let replaced = place.replaced(&octets, |it| {
                    assert_eq!(*it, old);
                    Ok(new.clone())
                });
                let replaced = replaced.unwrap();
                let mut d = place.decoder(&replaced);
                let came = Ior::decode(&mut d).unwrap();
                assert_eq!((&came.type_id, &came.profiles[0]), (&new.type_id, &new.profiles[0]));
                assert_eq!((d.longlong().unwrap(), d.remaining()), (-9, 0));
            }
        }
    }

    /// Returns the octets of strings that share one long run of digits, which is not a reference.
    fn strings_with_shared_digits() -> (Vec<u8>, Place) {
        // No octet of the lengths is a printed character, so they pass for white space before the text.
        const DIGITS: usize = (1 << 20) + 0x80;
        const STARTS: usize = 12;
        encoded(ByteOrder::Big, 0, |e| {
            // Each string begins with the lengths of the next ones, and ends with the NUL after the digits.
            for others in (0..STARTS).rev() {
                e.ulong((others * FOUR + FOUR + DIGITS + 1) as u32);
            }
            e.copy_octets(b"IOR:");
            e.copy_octets("f".repeat(DIGITS).as_bytes());
            e.octet(0);
        })
    }

    #[test]
    fn digits_that_strings_share_are_read_a_few_times_only() {
        let (octets, place) = strings_with_shared_digits();
        assert!(place.has_references(&octets), "the search gives up");
        let refused = place.replaced(&octets, |_| panic!("there is no reference")).unwrap_err();
        assert_eq!(refused.minor, minor::no_permission::UNKNOWN_TYPES);
    }

    #[test]
    fn text_is_found_in_each_form_that_is_accepted() {
        let old = ior("IDL:Old:1.0", "old", b"key");
        let digits = old.to_string()[4..].to_owned();
        for text in [
            format!("IOR:{digits}"),
            format!("ior:{}", digits.to_uppercase()),
            format!(" \t\nIoR:{digits}"),
            format!("  IOR:{digits} \r\n"),
        ] {
            let (octets, place) = encoded(ByteOrder::NATIVE, 4, |e| {
                e.string(&text).unwrap();
                e.longlong(-9);
            });
            for new in counterparts() {
                let replaced = place.replaced(&octets, |it| {
                    assert_eq!(*it, old);
                    Ok(new.clone())
                });
                let replaced = replaced.unwrap();
                let mut d = place.decoder(&replaced);
                let came: Ior = d.string().unwrap().parse().unwrap();
                assert_eq!(came.profiles[0], new.profiles[0]);
                assert_eq!((d.longlong().unwrap(), d.remaining()), (-9, 0));
            }
        }
    }

    /// Returns octets that consist of copies of a big-endian pattern; a number within is that of the octets after it.
    fn nested(before: &[u32], after: &[u32]) -> (Vec<u8>, Place) {
        const SIZE: usize = 4 << 20;
        encoded(ByteOrder::Big, 0, |e| {
            let octets = (before.len() + 1 + after.len()) * FOUR;
            for copy in 1..SIZE / octets {
                before.iter().for_each(|number| e.ulong(*number));
                e.ulong((SIZE - copy * octets) as u32);
                after.iter().for_each(|number| e.ulong(*number));
            }
            e.copy_octets(&[0; 64]);
        })
    }

    #[test]
    fn octets_that_resemble_nested_references_are_read_a_few_times_only() {
        // Without limits, each of these searches would take hours.
        let ior = u32::from_be_bytes(*b"IOR:");
        for (octets, place) in [nested(&[], &[ior]), nested(&[1, 0, 1, 1], &[])] {
            assert!(!place.has_references(&octets));
        }
        // Profiles that begin like IIOP profiles, but whose object keys are longer than the profiles.
        let iiop = [0x0001_0200, 2, u32::from_be_bytes(*b"h\0\0\0"), u32::MAX];
        let (octets, place) = nested(&[1, 0, 1, 0], &iiop);
        let refused = place.replaced(&octets, |_| panic!("there is no reference")).unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::NoPermission);
        assert_eq!(refused.minor, minor::no_permission::UNKNOWN_TYPES);
        assert!(place.has_references(&octets), "known types are decoded instead");
    }

    #[test]
    fn arrays_of_numbers_are_searched_to_the_end() {
        let patterns = [
            &[1_u32][..],
            &[2],
            &[1, 0, 16],
            &[2, 65, 16],
            &[2, 2, 16, 16],
            &[1, 0, 1000, 0],
            &[0],
            &[0, 16],
        ];
        for order in [ByteOrder::Big, ByteOrder::Little] {
            for pattern in patterns {
                let old = ior("IDL:Old:1.0", "old", b"key");
                let (octets, place) = encoded(order, 0, |e| {
                    for _ in 0..10_000 {
                        pattern.iter().for_each(|number| e.ulong(*number));
                    }
                    e.ulonglong(0);
                    e.ulonglong(0);
                    old.write(e);
                });
                let mut found = 0;
                let replaced = place.replaced(&octets, |it| {
                    found += usize::from(*it == old);
                    Ok(it.clone())
                });
                assert_eq!((replaced.unwrap(), found), (octets, 1), "{pattern:?}");
            }
        }
    }

    #[test]
    fn replacements_are_limited() {
        let old = ior("IDL:Old:1.0", "old", b"key");
        let (octets, place) = encoded(ByteOrder::NATIVE, 0, |e| {
            (0..100).for_each(|_| {
                old.write(e);
                e.align(FOUR);
            });
        });
        let mut asked = 0;
        let replaced = place.replace(&octets, octets.len(), CompletionStatus::Yes, |_| {
            asked += 1;
            Ok(ior("IDL:New:1.0", "new.example", &[7; 1000]))
        });
        let refused = replaced.unwrap_err();
        assert_eq!(refused.minor, minor::imp_limit::MESSAGE_TOO_LARGE);
        assert_eq!(refused.completed, CompletionStatus::Yes);
        assert!(asked < 20, "{asked}");
    }
}
