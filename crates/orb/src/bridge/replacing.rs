//! Replacement of the references in decoded values.

use std::sync::Arc;

use crate::ior::{Ior, TaggedProfile};
use crate::{SystemException, minor};
use oxorb_cdr::{Any, Dynamic, DynamicError, Field, RawProfile, RawReference};

use crate::bridge::interfaces;
use crate::bridge::passage::{Passage, Towards};

/// Replacement of the references in the values of one message.
pub(crate) struct ReferenceReplacer<'p> {
    passage: &'p Arc<Passage>,
    towards: Towards,
    /// Number of octets that further new references can have.
    left: usize,
}

impl<'p> ReferenceReplacer<'p> {
    pub(crate) fn new(passage: &'p Arc<Passage>, towards: Towards) -> ReferenceReplacer<'p> {
        let left = passage.orb.options().limits.max_message;
        ReferenceReplacer { passage, towards, left }
    }

    /// Replaces the references in a value by their counterparts. Returns whether that has changed the value.
    ///
    /// # Errors
    /// Those of [`Counterparts`](crate::bridge::passage::Counterparts); MARSHAL for an any whose value is malformed;
    /// IMP_LIMIT if the new references of the message are longer than a message.
    pub(crate) fn replace(&mut self, value: &mut Dynamic) -> Result<bool, SystemException> {
        let everywhere = self.passage.rules.everywhere;
        match value {
            Dynamic::Reference(raw) if !raw.is_nil() => {
                let counterpart = self.counterpart(&to_ior(raw))?;
                if let Some(counterpart) = &counterpart {
                    *raw = from_ior(counterpart);
                }
                Ok(counterpart.is_some())
            }
            Dynamic::Struct(fields) => self.replace_fields(fields),
            Dynamic::Union(selected) => self.replace_fields(selected.member.as_mut_slice()),
            Dynamic::Sequence(items) | Dynamic::Array(items) => {
                let mut changed = false;
                for item in items {
                    changed |= self.replace(item)?;
                }
                Ok(changed)
            }
            Dynamic::Value(value) if everywhere => self.replace_fields(&mut value.fields),
            Dynamic::Any(any) if everywhere => self.replace_any(any),
            Dynamic::String(text) if everywhere => self.replace_text(text),
            _ => Ok(false),
        }
    }

    fn replace_fields(&mut self, fields: &mut [Field]) -> Result<bool, SystemException> {
        let mut changed = false;
        for field in fields {
            changed |= self.replace(&mut field.value)?;
        }
        Ok(changed)
    }

    fn replace_any(&mut self, any: &mut Any) -> Result<bool, SystemException> {
        if !interfaces::may_carry_references(any.type_code().as_ref()) {
            return Ok(false);
        }
        let completed = self.towards.completed();
        let malformed = |error: DynamicError| SystemException::from_cdr(error.to_cdr(0), completed);
        let mut content = any.dynamic().map_err(malformed)?;
        let changed = self.replace(&mut content)?;
        if changed {
            let ty = any.type_code().clone();
            *any = Any::with_type(ty, content).map_err(malformed)?;
        }
        Ok(changed)
    }

    /// Replaces text that is a stringified reference as a whole.
    fn replace_text(&mut self, text: &mut String) -> Result<bool, SystemException> {
        let Some(ior) = stringified(text) else {
            return Ok(false);
        };
        let counterpart = self.counterpart(&ior)?;
        if let Some(counterpart) = &counterpart {
            *text = counterpart.to_string();
        }
        Ok(counterpart.is_some())
    }

    /// Returns the counterpart of a reference if the two differ.
    fn counterpart(&mut self, ior: &Ior) -> Result<Option<Ior>, SystemException> {
        let passage = self.passage;
        let counterpart = passage.counterparts.counterpart(passage, ior, self.towards)?;
        if counterpart == *ior {
            return Ok(None);
        }
        let profiles = counterpart.profiles.iter().map(|profile| profile.data.len());
        let size = counterpart.type_id.len() + profiles.sum::<usize>();
        let too_large = SystemException::imp_limit(
            minor::imp_limit::MESSAGE_TOO_LARGE,
            self.towards.completed(),
        );
        self.left = self.left.checked_sub(size).ok_or(too_large)?;
        Ok(Some(counterpart))
    }
}

/// Returns the reference that a text denotes, if the text is a stringified reference (`IOR:`, in upper or lower case)
/// as a whole, apart from white space around it.
pub(crate) fn stringified(text: &str) -> Option<Ior> {
    let text = text.trim();
    let is_stringified = text.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("IOR:"));
    let ior: Ior = is_stringified.then(|| text.parse().ok()).flatten()?;
    (!ior.is_nil()).then_some(ior)
}

fn to_ior(raw: &RawReference) -> Ior {
    let profiles = raw
        .profiles
        .iter()
        .map(|profile| TaggedProfile { tag: profile.tag, data: profile.data.clone() });
    Ior { type_id: raw.type_id.clone(), profiles: profiles.collect() }
}

fn from_ior(ior: &Ior) -> RawReference {
    let profiles = ior
        .profiles
        .iter()
        .map(|profile| RawProfile { tag: profile.tag, data: profile.data.clone() });
    RawReference { type_id: ior.type_id.clone(), profiles: profiles.collect() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;
    use crate::bridge::interfaces::Interfaces;
    use crate::bridge::passage::{Counterparts, Rules, foreign_of};
    use crate::{CompletionStatus, Orb};

    /// Source of long references, which are counted.
    #[derive(Default)]
    struct Growing(AtomicUsize);

    impl Counterparts for Growing {
        fn counterpart(
            &self,
            _: &Arc<Passage>,
            ior: &Ior,
            _: Towards,
        ) -> Result<Ior, SystemException> {
            self.0.fetch_add(1, SeqCst);
            let profile = TaggedProfile { tag: 1, data: vec![0; 1000] };
            Ok(Ior { profiles: vec![profile], ..ior.clone() })
        }
    }

    #[test]
    fn the_new_references_of_a_message_are_limited() {
        let limited = Orb::builder().configure(|options| options.limits.max_message = 10_000);
        let orb = limited.build().unwrap();
        let growing = Arc::new(Growing::default());
        let passage = Arc::new(Passage {
            foreign: foreign_of(&orb).unwrap(),
            orb,
            interfaces: Arc::new(Interfaces::default()),
            ambiguous: HashSet::new(),
            counts: Arc::default(),
            counterparts: growing.clone(),
            rules: Rules::default(),
        });
        let profile = TaggedProfile { tag: 1, data: vec![0] };
        let short = Ior { type_id: "IDL:T:1.0".to_owned(), profiles: vec![profile] };
        let mut all = Dynamic::Sequence(vec![Dynamic::Reference(from_ior(&short)); 100]);
        let mut replacer = ReferenceReplacer::new(&passage, Towards::Client);
        let refused = replacer.replace(&mut all).unwrap_err();
        assert_eq!(refused.minor, minor::imp_limit::MESSAGE_TOO_LARGE);
        assert_eq!(refused.completed, CompletionStatus::Yes);
        assert_eq!(growing.0.load(SeqCst), 10);
    }
}
