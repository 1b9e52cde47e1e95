//! `CORBA::Context`: names and values that travel with operations that have a `context` clause.

use oxorb_cdr::{Decoder, Encoder, Result as CdrResult};

/// Named strings for operations with a `context` clause.
///
/// ```
/// let mut context = oxorb_core::Context::new();
/// context.set("tty.speed", "9600");
/// assert_eq!(context.value("tty.speed"), Some("9600"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    properties: Vec<(String, String)>,
}

impl Context {
    /// Returns a context without any property.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a property, and replaces an earlier value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let (name, value) = (name.into(), value.into());
        match self.properties.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.properties.push((name, value)),
        }
    }

    /// Returns the value of a property.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.iter().find_map(|(known, value)| (known == name).then_some(value))
    }

    /// Returns all properties, in the order in which they were first set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Writes the properties that the operation's `context` clause names; a `*` at the end of a name stands for any text.
pub fn encode_context(
    e: &mut Encoder<'_>,
    context: &Context,
    clause: &[impl AsRef<str>],
) -> CdrResult<()> {
    let named = |name: &str| {
        clause.iter().map(AsRef::as_ref).any(|wanted| match wanted.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == wanted,
        })
    };
    let sent = || context.iter().filter(|(name, _)| named(name));
    e.length(2 * sent().count(), None)?;
    for (name, value) in sent() {
        e.string(name)?;
        e.string(value)?;
    }
    Ok(())
}

/// Decodes the properties that [`encode_context`] wrote.
pub fn decode_context(d: &mut Decoder<'_>) -> CdrResult<Context> {
    let strings = d.length(None, MIN_STRING)?;
    let mut context = Context::new();
    for _ in 0..strings / 2 {
        let name = d.string()?.into_owned();
        context.set(name, d.string()?);
    }
    if strings % 2 == 1 {
        // The sequence ends with a name without a value, which gets an empty value.
        context.set(d.string()?, "");
    }
    Ok(context)
}

/// Size in octets of the shortest string: length and terminating NUL.
const MIN_STRING: usize = 5;
