//! Values of every shape, for the fuzz target.

use crate::prelude::*;
use core::any::{Any, TypeId};

use super::{
    Factory, Inherits, ValueBase, ValueInfo, ValueLink, ValueRegistry, ValueState, Valuetype,
};
use crate::{
    ByteOrder, Decode, Decoder, DecoderLimits, Dialect, Dynamic, Encode, Encoder, Result, TypeCode,
    ValueModifier, Visibility, skip,
};

/// Decodes values from any octets. Valid input can be encoded, and stays the same when encoded and
/// decoded again.
pub fn decode_values(data: &[u8]) {
    let registry = ValueRegistry::default();
    registry.register(Node::factories());
    registry.register_types([type_of_node(), type_of_longer()]);
    let list = TypeCode::sequence(type_of_node());
    for order in [ByteOrder::Big, ByteOrder::Little] {
        by_type_code(data, order, &list, &registry);
        let Some(values) = read(data, order, &registry) else {
            continue;
        };
        let Some(once) = write(&values, order) else {
            continue;
        };
        let again = read(&once, order, &registry).expect("what was written can be read");
        let twice = write(&again, order).expect("as before");
        assert_eq!(once, twice);
    }
}

/// Decodes the value without Rust types.
fn by_type_code(data: &[u8], order: ByteOrder, ty: &TypeCode, registry: &ValueRegistry) {
    let decoder = |octets| Decoder::new(octets, order, Dialect::new(2)).with_values(registry);
    let mut d = decoder(data);
    let Ok(value) = Dynamic::decode(ty, &mut d) else {
        return;
    };
    let mut skipped = decoder(data);
    skip(ty, &mut skipped).expect("what can be read can be gone past");
    assert_eq!(skipped.position(), d.position());
    let mut e = Encoder::new(Vec::new(), order, Dialect::new(2));
    value.encode(ty, &mut e).expect("what was read can be written");
    let once = e.finish().to_vec();
    let again = Dynamic::decode(ty, &mut decoder(&once)).expect("just written");
    let mut e = Encoder::new(Vec::new(), order, Dialect::new(2));
    again.encode(ty, &mut e).expect("as before");
    assert_eq!(e.finish().to_vec(), once);
}

fn type_of_node() -> TypeCode {
    let members = [
        ("mark", TypeCode::OCTET),
        ("next", TypeCode::recursive("N")),
        ("rest", TypeCode::sequence(TypeCode::VALUE_BASE)),
    ];
    let members = members.map(|(name, ty)| (name, ty, Visibility::Public));
    TypeCode::value("N", "Node", ValueModifier::None, None, members)
}

fn type_of_longer() -> TypeCode {
    let members =
        [("weight", TypeCode::DOUBLE), ("text", TypeCode::STRING), ("last", type_of_node())];
    let members = members.map(|(name, ty)| (name, ty, Visibility::Public));
    TypeCode::value("L", "Longer", ValueModifier::Truncatable, type_of_node(), members)
}

fn read(data: &[u8], order: ByteOrder, registry: &ValueRegistry) -> Option<Vec<ValueLink<Node>>> {
    let limits = DecoderLimits { max_value_depth: 40, ..DecoderLimits::default() };
    let mut decoder =
        Decoder::new(data, order, Dialect::new(2)).with_limits(limits).with_values(registry);
    Decode::decode(&mut decoder).ok()
}

fn write(values: &Vec<ValueLink<Node>>, order: ByteOrder) -> Option<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new(), order, Dialect::new(2));
    values.encode(&mut encoder).ok()?;
    Some(encoder.finish().to_vec())
}

/// `valuetype Node { public octet mark; public Node next; public sequence<ValueBase> rest; };`
#[derive(Clone, Debug)]
struct Node {
    mark: u8,
    next: ValueLink<Node>,
    rest: Vec<ValueLink<ValueBase>>,
}

/// `valuetype Longer : truncatable Node { public double weight; public string text; public Node last; };`
#[derive(Clone, Debug)]
struct Longer {
    base: Node,
    weight: f64,
    text: String,
    last: ValueLink<Node>,
}

impl Valuetype for Node {
    const INFO: &'static ValueInfo = &ValueInfo::new("N");

    fn factories() -> &'static [Factory] {
        static ALL: &[Factory] = &[Factory::of::<Node>(), Factory::of::<Longer>()];
        ALL
    }
}

impl Valuetype for Longer {
    const INFO: &'static ValueInfo =
        &ValueInfo { bases: &[Node::INFO], truncatable: true, ..ValueInfo::new("L") };

    fn factories() -> &'static [Factory] {
        &Node::factories()[1..]
    }
}

impl Inherits<Node> for Longer {}

impl ValueState for Node {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.mark.encode(e)?;
        self.next.encode(e)?;
        self.rest.encode(e)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        Ok(Self { mark: Decode::decode(d)?, next: Decode::decode(d)?, rest: Decode::decode(d)? })
    }
}

impl ValueState for Longer {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.base.encode_state(e)?;
        self.weight.encode(e)?;
        self.text.encode(e)?;
        self.last.encode(e)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        Ok(Self {
            base: Node::decode_state(d)?,
            weight: Decode::decode(d)?,
            text: Decode::decode(d)?,
            last: Decode::decode(d)?,
        })
    }

    fn part(&self, of: TypeId) -> Option<&dyn Any> {
        match of == TypeId::of::<Self>() {
            true => Some(self),
            false => self.base.part(of),
        }
    }
}
