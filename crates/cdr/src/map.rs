use alloc::collections::BTreeMap;

use crate::{Decode, Decoder, Encode, Encoder, ErrorKind, Result, TypeCode, Typed};

impl<'a> Encoder<'a> {
    /// Writes an IDL 4 map: the number of its entries, and each entry by `f`, in key order.
    ///
    /// Equal maps produce equal octets.
    pub fn map_with<K, V>(
        &mut self,
        map: &'a BTreeMap<K, V>,
        bound: Option<u32>,
        mut f: impl FnMut(&mut Self, &'a K, &'a V) -> Result<()>,
    ) -> Result<()> {
        self.length(map.len(), bound)?;
        map.iter().try_for_each(|(key, value)| f(self, key, value))
    }
}

impl<'de> Decoder<'de> {
    /// Reads an IDL 4 map with `f` for each entry, of at least `min_entry` octets.
    ///
    /// Entries may be in any order; a duplicate key is an error.
    pub fn map_with<K: Ord, V>(
        &mut self,
        bound: Option<u32>,
        min_entry: usize,
        mut f: impl FnMut(&mut Self) -> Result<(K, V)>,
    ) -> Result<BTreeMap<K, V>> {
        let count = self.length(bound, min_entry)?;
        self.charge_for::<(K, V)>(2 * count)?; // nodes may be half empty
        self.nested(|d| {
            let mut map = BTreeMap::new();
            for _ in 0..count {
                let at = d.position();
                let (key, value) = f(d)?;
                if map.insert(key, value).is_some() {
                    return Err(ErrorKind::BadValue.at(at));
                }
            }
            Ok(map)
        })
    }
}

/// Encodes an unbounded map.
impl<K: Encode, V: Encode> Encode for BTreeMap<K, V> {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.map_with(self, None, |e, key, value| {
            key.encode(e)?;
            value.encode(e)
        })
    }
}

/// Decodes an unbounded map.
impl<'de, K: Decode<'de> + Ord, V: Decode<'de>> Decode<'de> for BTreeMap<K, V> {
    const MIN_SIZE: usize = 4;

    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        d.map_with(None, K::MIN_SIZE + V::MIN_SIZE, |d| Ok((K::decode(d)?, V::decode(d)?)))
    }
}

impl<K: Typed, V: Typed> Typed for BTreeMap<K, V> {
    fn type_code() -> TypeCode {
        TypeCode::map(K::type_code(), V::type_code(), 0)
    }
}

impl TypeCode {
    /// Returns the type of `map<key, value, bound>` of IDL 4; unbounded for 0. CORBA has no type
    /// code for maps, so this is the sequence of pairs that is sent.
    pub fn map(key: Self, value: Self, bound: u32) -> Self {
        let pair = Self::structure("", "", [("key", key), ("value", value)]);
        Self::bounded_sequence(pair, bound)
    }

    /// Returns the wire type of an `@optional` member: an unnamed union in which `TRUE` selects the
    /// value.
    pub fn optional(value: Self) -> Self {
        let case = (crate::Label::Value(1), "value", value);
        Self::union("", "", Self::BOOLEAN, [case])
    }
}
