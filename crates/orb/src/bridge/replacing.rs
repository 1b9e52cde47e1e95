//! Replacement of the references in decoded values.

use std::iter;
use std::sync::Arc;

use crate::ior::{Ior, TaggedProfile};
use crate::{Interface as _, ObjectRef, SystemException, minor};
use oxorb_cdr::{
    Any, Dynamic, DynamicError, DynamicValue, Field, RawProfile, RawReference, Shape, TypeCode,
    TypeRef,
};

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

    /// Replaces the references in a value of a type by their counterparts. Returns whether that has changed the value.
    ///
    /// # Errors
    /// Those of [`Counterparts`](crate::bridge::passage::Counterparts); MARSHAL for an any whose value is malformed;
    /// IMP_LIMIT if the new references of the message are longer than a message.
    pub(crate) fn replace(
        &mut self,
        value: &mut Dynamic,
        ty: Option<TypeRef<'_>>,
    ) -> Result<bool, SystemException> {
        let everywhere = self.passage.rules.everywhere;
        let ty = ty.map(TypeRef::resolved);
        match value {
            Dynamic::Reference(raw) if !raw.is_nil() => {
                let counterpart =
                    self.counterpart(&to_ior(raw), ty.and_then(declared_interface))?;
                if let Some(counterpart) = &counterpart {
                    *raw = from_ior(counterpart);
                }
                Ok(counterpart.is_some())
            }
            Dynamic::Struct(fields) => {
                let members = ty.into_iter().flat_map(TypeRef::members);
                self.replace_fields(fields, members.map(|member| member.ty))
            }
            Dynamic::Union(selected) => {
                let label = selected.discriminator.label();
                let member = ty.zip(label).and_then(|(ty, label)| ty.select(label));
                let ty = member.map(|member| member.ty);
                self.replace_fields(selected.member.as_mut_slice(), ty.into_iter())
            }
            Dynamic::Sequence(items) | Dynamic::Array(items) => {
                let element = ty.and_then(TypeRef::content);
                let mut changed = false;
                for item in items {
                    changed |= self.replace(item, element)?;
                }
                Ok(changed)
            }
            Dynamic::Value(value) if everywhere => self.replace_value(value),
            Dynamic::Any(any) if everywhere => self.replace_any(any),
            Dynamic::String(text) if everywhere => self.replace_text(text),
            _ => Ok(false),
        }
    }

    /// Replaces the references in members, whose types are given in the same order.
    fn replace_fields<'t>(
        &mut self,
        fields: &mut [Field],
        mut types: impl Iterator<Item = TypeRef<'t>>,
    ) -> Result<bool, SystemException> {
        let mut changed = false;
        for field in fields {
            changed |= self.replace(&mut field.value, types.next())?;
        }
        Ok(changed)
    }

    fn replace_value(&mut self, value: &mut DynamicValue) -> Result<bool, SystemException> {
        let DynamicValue { ty, fields, .. } = value;
        let ty = TypeCode::as_ref(ty);
        match ty.shape() {
            Shape::ValueBox(content) => self.replace_fields(fields, iter::once(content)),
            _ => {
                let members = ty.state_members().into_iter();
                self.replace_fields(fields, members.map(|member| member.ty))
            }
        }
    }

    /// Replaces the references in the value of an any. Its type code declares the types, because receivers extract the
    /// value as a value of an equivalent type. Types with ids are equivalent if their ids are equal, so the sender
    /// decides which interfaces the type code declares for members.
    fn replace_any(&mut self, any: &mut Any) -> Result<bool, SystemException> {
        if !interfaces::may_carry_references(any.type_code().as_ref()) {
            return Ok(false);
        }
        let completed = self.towards.completed();
        let malformed = |error: DynamicError| SystemException::from_cdr(error.to_cdr(0), completed);
        let mut content = any.dynamic().map_err(malformed)?;
        let ty = any.type_code().clone();
        let changed = self.replace(&mut content, Some(ty.as_ref()))?;
        if changed {
            *any = Any::with_type(ty, content).map_err(malformed)?;
        }
        Ok(changed)
    }

    /// Replaces text that is a stringified reference as a whole.
    fn replace_text(&mut self, text: &mut String) -> Result<bool, SystemException> {
        let Some(ior) = stringified(text) else {
            return Ok(false);
        };
        let counterpart = self.counterpart(&ior, None)?;
        if let Some(counterpart) = &counterpart {
            *text = counterpart.to_string();
        }
        Ok(counterpart.is_some())
    }

    /// Returns the counterpart of a reference if the two differ. `declared` is the interface that its type declares.
    fn counterpart(
        &mut self,
        ior: &Ior,
        declared: Option<&str>,
    ) -> Result<Option<Ior>, SystemException> {
        let passage = self.passage;
        let counterpart = passage.counterparts.counterpart(passage, ior, declared, self.towards)?;
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

/// Repository id of the interface that all abstract interfaces inherit.
const ABSTRACT_BASE: &str = "IDL:omg.org/CORBA/AbstractBase:1.0";

/// Returns the interface that the type of a reference declares; `None` if objects of all interfaces have this type. A
/// type code without an id is equivalent to those of all interfaces. It declares an interface with an empty id, whose
/// operations nobody knows.
fn declared_interface(ty: TypeRef<'_>) -> Option<&str> {
    ty.id().filter(|id| ![ObjectRef::REPOSITORY_ID, ABSTRACT_BASE].contains(id))
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
    use oxorb_cdr::{Label, ValueModifier, Visibility};
    use oxorb_core::lock::Mutex;

    /// Returns the passage of an ORB that listens nowhere.
    fn passage(orb: Orb, counterparts: Arc<dyn Counterparts>, rules: Rules) -> Arc<Passage> {
        Arc::new(Passage {
            foreign: foreign_of(&orb).unwrap(),
            orb,
            interfaces: Arc::new(Interfaces::default()),
            ambiguous: HashSet::new(),
            counts: Arc::default(),
            counterparts,
            rules,
        })
    }

    fn short() -> Ior {
        let profile = TaggedProfile { tag: 1, data: vec![0] };
        Ior { type_id: "IDL:T:1.0".to_owned(), profiles: vec![profile] }
    }

    /// Source that records the declared interfaces, and changes no reference.
    #[derive(Default)]
    struct Recording(Mutex<Vec<Option<String>>>);

    impl Counterparts for Recording {
        fn counterpart(
            &self,
            _: &Arc<Passage>,
            ior: &Ior,
            declared: Option<&str>,
            _: Towards,
        ) -> Result<Ior, SystemException> {
            self.0.lock().push(declared.map(str::to_owned));
            Ok(ior.clone())
        }
    }

    #[test]
    fn the_type_of_each_reference_declares_its_interface() {
        let a = || TypeCode::interface("IDL:A:1.0", "A");
        let alias = TypeCode::alias("IDL:Alias:1.0", "Alias", a());
        let members = [("name", TypeCode::STRING), ("who", alias)];
        let structure = TypeCode::structure("IDL:S:1.0", "S", members);
        let members =
            [("name", TypeCode::STRING, Visibility::Public), ("who", a(), Visibility::Public)];
        let value = TypeCode::value("IDL:V:1.0", "V", ValueModifier::None, None, members);
        let members = [(Label::Value(1), "who", a()), (Label::Default, "any", TypeCode::ANY)];
        let union = TypeCode::union("IDL:U:1.0", "U", TypeCode::BOOLEAN, members);

        let who = || Dynamic::Reference(from_ior(&short()));
        let field = |name: &str, value| Field { name: name.into(), value };
        let fields = || vec![field("name", Dynamic::String("a".into())), field("who", who())];
        let mut chosen = Dynamic::default_for(&union).unwrap();
        chosen.select_member(&union, "who").unwrap();
        *chosen.member_mut("who").unwrap() = who();
        let any = Dynamic::Any(Any::with_type(a(), who()).unwrap());
        let declared = Some("IDL:A:1.0".to_owned());
        for (ty, mut value, declared) in [
            (a(), who(), declared.clone()),
            (TypeCode::OBJECT, who(), None),
            (structure, Dynamic::Struct(fields()), declared.clone()),
            (TypeCode::sequence(a()), Dynamic::Sequence(vec![who()]), declared.clone()),
            (TypeCode::array(a(), 1), Dynamic::Array(vec![who()]), declared.clone()),
            (union, chosen, declared.clone()),
            (value.clone(), DynamicValue::new(value, fields()).into(), declared.clone()),
            (TypeCode::ANY, any, declared.clone()),
        ] {
            let recording = Arc::new(Recording::default());
            let rules = Rules { everywhere: true, ..Rules::default() };
            let passage = passage(Orb::builder().build().unwrap(), recording.clone(), rules);
            let mut replacer = ReferenceReplacer::new(&passage, Towards::Target);
            assert_eq!(replacer.replace(&mut value, Some(ty.as_ref())), Ok(false));
            assert_eq!(*recording.0.lock(), [declared], "{value:?}");
        }
    }

    /// Source of long references, which are counted.
    #[derive(Default)]
    struct Growing(AtomicUsize);

    impl Counterparts for Growing {
        fn counterpart(
            &self,
            _: &Arc<Passage>,
            ior: &Ior,
            _: Option<&str>,
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
        let passage = passage(orb, growing.clone(), Rules::default());
        let mut all = Dynamic::Sequence(vec![Dynamic::Reference(from_ior(&short())); 100]);
        let ty = TypeCode::sequence(TypeCode::OBJECT);
        let mut replacer = ReferenceReplacer::new(&passage, Towards::Client);
        let refused = replacer.replace(&mut all, Some(ty.as_ref())).unwrap_err();
        assert_eq!(refused.minor, minor::imp_limit::MESSAGE_TOO_LARGE);
        assert_eq!(refused.completed, CompletionStatus::Yes);
        assert_eq!(growing.0.load(SeqCst), 10);
    }
}
