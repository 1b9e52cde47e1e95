//! CDR values as data, to state properties of messages with values of all types.
#![allow(dead_code, reason = "without the standard library, not every test is there")]

pub(crate) mod graph;

use oxorb_cdr::{
    ByteOrder, CharSet, Decode, Decoder, Dialect, Encode, Encoder, Error, Fixed, FixedReader,
    FixedWriter, Layout, LongDouble, OctetSeq, Result, WcharSet,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Struct of fixed layout with every kind of member allowed in it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Track {
    pub(crate) on: bool,
    pub(crate) id: u64,
    pub(crate) kind: u8,
    pub(crate) speed: [i16; 3],
    pub(crate) weight: LongDouble,
    pub(crate) corners: [[u32; 2]; 2],
    pub(crate) tail: u8,
}

impl Fixed for Track {
    const LAYOUT: Layout = Layout::EMPTY
        .then::<bool>()
        .then::<u64>()
        .then::<u8>()
        .then::<[i16; 3]>()
        .then::<LongDouble>()
        .then::<[[u32; 2]; 2]>()
        .then::<u8>();

    fn put(&self, w: &mut FixedWriter<'_>) {
        self.on.put(w);
        self.id.put(w);
        self.kind.put(w);
        self.speed.put(w);
        self.weight.put(w);
        self.corners.put(w);
        self.tail.put(w);
    }

    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        Ok(Self {
            on: Fixed::take(r)?,
            id: Fixed::take(r)?,
            kind: Fixed::take(r)?,
            speed: Fixed::take(r)?,
            weight: Fixed::take(r)?,
            corners: Fixed::take(r)?,
            tail: Fixed::take(r)?,
        })
    }
}

oxorb_cdr::fixed!(Track);

/// Writes the same members one by one, to which [`Track`] must be equal octet by octet.
pub(crate) fn member_by_member<'a>(track: &'a Track, e: &mut Encoder<'a>) -> Result<()> {
    e.boolean(track.on);
    e.ulonglong(track.id);
    e.octet(track.kind);
    track.speed.iter().for_each(|&speed| e.short(speed));
    e.long_double(track.weight);
    track.corners.iter().flatten().for_each(|&corner| e.ulong(corner));
    e.octet(track.tail);
    Ok(())
}

/// Struct without fixed layout, which contains itself.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tree {
    pub(crate) name: String,
    pub(crate) marks: Vec<i16>,
    pub(crate) branches: Vec<Tree>,
}

impl Encode for Tree {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.name.encode(e)?;
        self.marks.encode(e)?;
        self.branches.encode(e)
    }
}

impl<'de> Decode<'de> for Tree {
    const MIN_SIZE: usize = 12;

    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        Ok(Self {
            name: Decode::decode(d)?,
            marks: Decode::decode(d)?,
            branches: Decode::decode(d)?,
        })
    }
}

/// Declares [`Value`], with a variant for each Rust type.
macro_rules! values {
    ($($name:ident: $type:ty, $strategy:expr;)*) => {
        /// Value of one of the types.
        #[derive(Clone, Debug)]
        pub(crate) enum Value {
            $($name($type),)*
            Wchar(char),
            Wstring(String),
            Wstrings(Vec<String>),
            Encapsulation(Vec<Value>),
        }

        impl Value {
            pub(crate) fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
                match self {
                    $(Self::$name(value) => value.encode(e),)*
                    Self::Wchar(value) => e.wchar(*value),
                    Self::Wstring(value) => e.wstring(value),
                    Self::Wstrings(value) => e.sequence_with(value, None, |e, value| e.wstring(value)),
                    Self::Encapsulation(values) => {
                        e.encapsulation(|e| values.iter().try_for_each(|value| value.encode(e)))
                    }
                }
            }

            /// Reads a value of this type and compares it with this one.
            pub(crate) fn check(&self, d: &mut Decoder<'_>) -> Result<()> {
                match self {
                    $(Self::$name(value) => same(value, <$type>::decode(d)?),)*
                    Self::Wchar(value) => same(value, d.wchar()?),
                    Self::Wstring(value) => same(value, d.wstring()?),
                    Self::Wstrings(value) => same(value, d.sequence_with(None, 4, |d| d.wstring())?),
                    Self::Encapsulation(values) => {
                        let mut inner = d.encapsulation()?;
                        values.iter().try_for_each(|value| value.check(&mut inner))?;
                        inner.finish()?;
                    }
                }
                Ok(())
            }
        }

        pub(crate) fn value() -> impl Strategy<Value = Value> {
            let leaf = prop_oneof![
                $($strategy.prop_map(Value::$name),)*
                any::<char>().prop_map(Value::Wchar),
                text().prop_map(Value::Wstring),
                vec(text(), 0..3).prop_map(Value::Wstrings),
            ];
            leaf.prop_recursive(3, 12, 3, |inner| vec(inner, 0..3).prop_map(Value::Encapsulation))
        }
    };
}

/// Compares `Debug` output, in which a NaN equals itself.
fn same<T: PartialEq + std::fmt::Debug>(wrote: &T, read: T) {
    assert_eq!(format!("{wrote:?}"), format!("{read:?}"));
}

values! {
    Octet: u8, any::<u8>();
    Boolean: bool, any::<bool>();
    Short: i16, any::<i16>();
    Ushort: u16, any::<u16>();
    Long: i32, any::<i32>();
    Ulong: u32, any::<u32>();
    Longlong: i64, any::<i64>();
    Ulonglong: u64, any::<u64>();
    Float: f32, any::<u32>().prop_map(f32::from_bits);
    Double: f64, any::<u64>().prop_map(f64::from_bits);
    LongDouble: LongDouble, long_double();
    Char: char, prop_oneof![any::<char>(), proptest::char::range('\0', 'ÿ')];
    String: String, text();
    Octets: Vec<u8>, vec(any::<u8>(), 0..40);
    OctetSeq: OctetSeq, vec(any::<u8>(), 0..40).prop_map(OctetSeq::from);
    Booleans: Vec<bool>, vec(any::<bool>(), 0..20);
    Shorts: Vec<i16>, vec(any::<i16>(), 0..20);
    Ushorts: Vec<u16>, vec(any::<u16>(), 0..20);
    Longs: Vec<i32>, vec(any::<i32>(), 0..20);
    Ulongs: Vec<u32>, vec(any::<u32>(), 0..20);
    Longlongs: Vec<i64>, vec(any::<i64>(), 0..20);
    Ulonglongs: Vec<u64>, vec(any::<u64>(), 0..20);
    Floats: Vec<f32>, vec(any::<u32>().prop_map(f32::from_bits), 0..20);
    Doubles: Vec<f64>, vec(any::<u64>().prop_map(f64::from_bits), 0..20);
    LongDoubles: Vec<LongDouble>, vec(long_double(), 0..5);
    Strings: Vec<String>, vec(text(), 0..4);
    Nested: Vec<Vec<i16>>, vec(vec(any::<i16>(), 0..4), 0..4);
    OctetArray: [u8; 5], any::<[u8; 5]>();
    DoubleArray: [[f64; 2]; 2], any::<[[f64; 2]; 2]>();
    BooleanArray: [bool; 3], any::<[bool; 3]>();
    StringArray: [String; 2], [text(), text()];
    Arrays: Vec<[i32; 2]>, vec(any::<[i32; 2]>(), 0..4);
    Track: Track, track();
    Tracks: Vec<Track>, vec(track(), 0..5);
    Tree: Tree, tree();
}

pub(crate) fn track() -> impl Strategy<Value = Track> {
    (
        any::<bool>(),
        any::<u64>(),
        any::<u8>(),
        any::<[i16; 3]>(),
        long_double(),
        any::<[[u32; 2]; 2]>(),
        any::<u8>(),
    )
        .prop_map(|(on, id, kind, speed, weight, corners, tail)| Track {
            on,
            id,
            kind,
            speed,
            weight,
            corners,
            tail,
        })
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = (text(), vec(any::<i16>(), 0..3)).prop_map(|(name, marks)| Tree {
        name,
        marks,
        branches: Vec::new(),
    });
    leaf.prop_recursive(4, 12, 3, |inner| {
        (text(), vec(any::<i16>(), 0..3), vec(inner, 0..3))
            .prop_map(|(name, marks, branches)| Tree { name, marks, branches })
    })
}

pub(crate) fn long_double() -> impl Strategy<Value = LongDouble> {
    any::<u128>().prop_map(LongDouble::from_bits)
}

/// Text of all kinds: ASCII, ISO 8859-1, anything; no NUL, which no CORBA string has.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,20}", "[\u{1}-\u{ff}]{0,20}", "[^\0]{0,9}", "\u{feff}[^\0]{0,3}"]
}

pub(crate) fn order() -> impl Strategy<Value = ByteOrder> {
    prop_oneof![Just(ByteOrder::Big), Just(ByteOrder::Little)]
}

pub(crate) fn dialect() -> impl Strategy<Value = Dialect> {
    let chars = prop_oneof![Just(CharSet::Iso8859_1), Just(CharSet::Utf8)];
    let wchars = prop_oneof![Just(WcharSet::None), Just(WcharSet::Utf16), Just(WcharSet::Ucs2)];
    (0u8..=2, chars, wchars).prop_map(|(giop_minor, chars, wchars)| Dialect {
        giop_minor,
        chars,
        wchars,
    })
}

/// Reports whether the dialect can encode a value, as the encoder must find.
pub(crate) fn carried(value: &Value, dialect: Dialect) -> bool {
    let narrow_char = |c: char| match dialect.chars {
        CharSet::Iso8859_1 => c <= 'ÿ',
        CharSet::Utf8 => c.is_ascii(),
    };
    let narrow = |text: &str| dialect.chars == CharSet::Utf8 || text.chars().all(narrow_char);
    let any_wide = dialect.giop_minor > 0 && dialect.wchars != WcharSet::None;
    let basic = |c: char| c <= '\u{ffff}';
    let wide =
        |text: &str| any_wide && (dialect.wchars == WcharSet::Utf16 || text.chars().all(basic));
    fn all_names(tree: &Tree, narrow: &dyn Fn(&str) -> bool) -> bool {
        narrow(&tree.name) && tree.branches.iter().all(|branch| all_names(branch, narrow))
    }
    match value {
        Value::Char(c) => narrow_char(*c),
        Value::String(text) => narrow(text),
        Value::Strings(texts) => texts.iter().all(|text| narrow(text)),
        Value::StringArray(texts) => texts.iter().all(|text| narrow(text)),
        Value::Tree(tree) => all_names(tree, &narrow),
        Value::Wchar(c) => {
            any_wide && (basic(*c) || dialect.wchars == WcharSet::Utf16 && dialect.giop_minor > 1)
        }
        Value::Wstring(text) => wide(text),
        Value::Wstrings(texts) => texts.iter().all(|text| wide(text)),
        Value::Encapsulation(values) => values.iter().all(|value| carried(value, dialect)),
        _ => true,
    }
}

/// Settings with which a message is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) order: ByteOrder,
    pub(crate) dialect: Dialect,
    /// Number of octets before the first value.
    pub(crate) lead: usize,
}

pub(crate) fn setting() -> impl Strategy<Value = Setting> {
    (order(), dialect(), 0usize..9).prop_map(|(order, dialect, lead)| Setting {
        order,
        dialect,
        lead,
    })
}

impl Setting {
    /// Returns an encoder that has written the leading octets, over a buffer whose old contents
    /// must not appear.
    pub(crate) fn encoder<'a>(self) -> Encoder<'a> {
        let mut encoder = Encoder::new(vec![0xEE; 100], self.order, self.dialect);
        encoder.copy_octets(&[0xAA; 9][..self.lead]);
        encoder
    }

    pub(crate) fn decoder(self, message: &[u8]) -> Decoder<'_> {
        Decoder::new(message, self.order, self.dialect).at(self.lead)
    }

    pub(crate) fn check(self, values: &[Value], message: &[u8]) -> Result<(), Error> {
        let mut decoder = self.decoder(message);
        values.iter().try_for_each(|value| value.check(&mut decoder))?;
        decoder.finish()
    }
}

/// Returns values that the dialect can encode, with their settings.
pub(crate) fn message() -> impl Strategy<Value = (Setting, Vec<Value>)> {
    (setting(), vec(value(), 1..8)).prop_map(|(setting, mut values)| {
        values.retain(|value| carried(value, setting.dialect));
        (setting, values)
    })
}
