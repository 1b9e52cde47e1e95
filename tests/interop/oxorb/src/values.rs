//! Valuetypes of the interoperability test that are not generated.

use core::any::{Any, TypeId};

use oxorb::cdr::{Decode, Decoder, Encode, Encoder, ErrorKind, Result};
use oxorb::values::{
    CustomMarshal, Factory, Inherits, Value, ValueBase, ValueInfo, ValueLink, ValueState, Valuetype,
};

use crate::interop_jacorb::Secret;
use crate::interop_values::{Base, Either, Known, Node, Whole};

/// `InteropFar::Far`, which is unknown to the compiler: OxORB knows it only here, at the sender.
#[derive(Clone, Debug)]
pub struct Far {
    base: Base,
    weight: f64,
    extra: ValueLink<Node>,
}

impl Far {
    /// Returns the value to send.
    pub fn value() -> ValueLink<Base> {
        let extra = Value::new(node(8, ValueLink::null()));
        let far = Self { base: Base { id: 7 }, weight: 2.5, extra: extra.into() };
        Value::new(far).into()
    }
}

impl Valuetype for Far {
    const INFO: &'static ValueInfo = &ValueInfo {
        bases: &[Base::INFO],
        truncatable: true,
        ..ValueInfo::new("IDL:interop.oxorb.org/InteropFar/Far:1.0")
    };

    fn factories() -> &'static [Factory] {
        &[const { Factory::of::<Far>() }]
    }
}

impl Inherits<ValueBase> for Far {}
impl Inherits<Base> for Far {}

impl ValueState for Far {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.base.encode_state(e)?;
        self.weight.encode(e)?;
        self.extra.encode(e)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        Ok(Self {
            base: Base::decode_state(d)?,
            weight: Decode::decode(d)?,
            extra: Decode::decode(d)?,
        })
    }

    fn part(&self, of: TypeId) -> Option<&dyn Any> {
        match of == TypeId::of::<Self>() {
            true => Some(self),
            false => self.base.part(of),
        }
    }
}

impl CustomMarshal for Secret {
    fn marshal(&self, e: &mut Encoder<'_>) -> Result<()> {
        e.string(&format!("code {}", self.code))?;
        e.long(self.code);
        Ok(())
    }

    fn unmarshal(d: &mut Decoder<'_>) -> Result<Self> {
        let text = d.string()?.into_owned();
        let code = d.long()?;
        match text == format!("code {code}") {
            true => Ok(Self { code }),
            false => Err(d.error(ErrorKind::BadValue)),
        }
    }
}

/// Returns a node with a link to another one.
pub fn node(id: i32, next: ValueLink<Node>) -> Node {
    Node { id, next, other: ValueLink::null() }
}

/// Returns the result of `described`; `None` for null.
pub fn described(it: &ValueLink<Whole>) -> Option<String> {
    let it = it.get()?;
    let id = |link: &ValueLink<Node>| link.get().map(|node| node.id.to_string());
    let chosen = match &it.chosen {
        Either::One(node) => id(node)?,
        Either::Words(text) => text.get()?.0.clone(),
    };
    let parts = [
        it.small.to_string(),
        it.plain.name.clone(),
        it.choice.discriminant().to_string(),
        it.content.get::<i32>().ok()??.to_string(),
        it.tagged.after.to_string(),
        id(&it.tagged.held)?,
        chosen,
        id(&it.pair.both[0])?,
        id(&it.pair.both[1])?,
        it.all.len().to_string(),
        it.figures.get()?.0.len().to_string(),
        it.place.get()?.0.y.to_string(),
    ];
    let shared = if it.tagged.held == it.pair.both[0] { " shared" } else { "" };
    Some(parts.join(" ") + shared)
}

/// Returns `Base 5`, `Known 5 name`, or `null`.
pub fn name_of(it: &ValueLink<Base>) -> String {
    let Some(value) = it.get() else {
        return "null".to_owned();
    };
    match value.downcast::<Known>() {
        Some(known) => format!("Known {} {}", known.base.id, known.name),
        None => format!("Base {}", value.id),
    }
}
