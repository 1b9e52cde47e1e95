//! Entry points of the fuzz targets for references in values. No input may cause a panic, a hang, or a value that is
//! passed on with another reference than the one that replaces it.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use oxorb_cdr::{Any, Decode as _, Decoder, Dialect, Dynamic, Encode as _, Encoder, TypeCode};

use crate::bridge::interfaces::Interfaces;
use crate::bridge::passage::{Counterparts, Passage, Rules, Towards, foreign_of};
use crate::bridge::replacing::ReferenceReplacer;
use crate::bridge::search::Place;
use crate::ior::{IiopProfile, Ior, Version};
use crate::values::ByteOrder;
use crate::{CompletionStatus, Orb, SystemException};

/// Maximum size in octets of a value with new references.
const MOST: usize = 1 << 20;

/// Searches octets of unknown types for references, in both byte orders, and replaces the references. The first octet
/// is the offset of the others in their message, and determines the size of the new references.
pub fn references(data: &[u8]) {
    let Some((&choice, octets)) = data.split_first() else {
        return;
    };
    let begin = usize::from(choice % 8);
    let new = new(choice);
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let place = Place::of(&Decoder::new(&[0; 8], order, Dialect::GIOP_1_2).at(begin));
        let mut found = 0;
        let unchanged = place.replace(octets, usize::MAX, CompletionStatus::No, |ior| {
            found += 1;
            Ok(ior.clone())
        });
        match unchanged {
            Ok(unchanged) => {
                assert_eq!(&unchanged[begin..], octets, "no reference was replaced");
                assert_eq!(place.has_references(octets), found > 0);
            }
            // The search has given up.
            Err(_) => assert!(place.has_references(octets)),
        }
        let replaced = place.replace(octets, MOST, CompletionStatus::No, |_| Ok(new.clone()));
        if let Ok(replaced) = replaced {
            let size = replaced.len() - begin;
            assert_eq!(size % 8, octets.len() % 8, "later values stay aligned");
        }
    }
}

/// Decodes an any and replaces all its references, in both byte orders. A second replacement finds nothing to replace.
pub fn values(data: &[u8]) {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let Ok(any) = Any::decode(&mut Decoder::new(data, order, Dialect::GIOP_1_2)) else {
            continue;
        };
        let mut value = Dynamic::Any(any);
        let ty = TypeCode::ANY;
        let ty = Some(ty.as_ref());
        if ReferenceReplacer::new(&PASSAGE, Towards::Client).replace(&mut value, ty).is_err() {
            continue;
        }
        let again = ReferenceReplacer::new(&PASSAGE, Towards::Client).replace(&mut value, ty);
        assert!(matches!(again, Ok(false)), "{again:?}: {value:?}");
        if let Dynamic::Any(any) = &value {
            // An any that was not changed can contain octets that are invalid in another message.
            let _ = any.encode(&mut Encoder::new(Vec::new(), order, Dialect::GIOP_1_2));
        }
    }
}

/// Returns a reference with an object key of `length` octets.
fn new(length: u8) -> Ior {
    let key = vec![7; usize::from(length)];
    let profile = IiopProfile::new(Version::V1_2, "new.example", 2809, &key);
    Ior { type_id: "IDL:New:1.0".to_owned(), profiles: vec![profile.to_profile()] }
}

/// Source of one reference that replaces all others.
struct Always(Ior);

impl Counterparts for Always {
    fn counterpart(
        &self,
        _: &Arc<Passage>,
        _: &Ior,
        _: Option<&str>,
        _: Towards,
    ) -> Result<Ior, SystemException> {
        Ok(self.0.clone())
    }
}

static PASSAGE: LazyLock<Arc<Passage>> = LazyLock::new(|| {
    let orb = Orb::builder().build().expect("an ORB that listens nowhere");
    Arc::new(Passage {
        foreign: foreign_of(&orb).expect("an ORB that listens nowhere"),
        orb,
        interfaces: Arc::new(Interfaces::default()),
        ambiguous: HashSet::new(),
        counts: Arc::default(),
        counterparts: Arc::new(Always(new(20))),
        rules: Rules { everywhere: true, ..Rules::default() },
    })
});
