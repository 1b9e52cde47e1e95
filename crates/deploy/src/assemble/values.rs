//! Values of properties that the assembler gives. They override those of all descriptors.

use std::borrow::Cow;
use std::fmt;

use super::parts::{Making, Part};
use super::types::ComponentTypes;
use crate::check::is_setting;
use crate::element::{Element, Limits};
use crate::finding::{Error, Finding, Place, listed};
use crate::model::basic::Property;
use crate::model::plan::Plan;
use crate::model::value::{Any, Basic, Type, holder};
use crate::size;
use crate::text;

/// Value that the assembler gives to a property.
#[derive(Clone, Copy)]
struct Given<'s> {
    /// `PART.PROPERTY`.
    target: &'s str,
    text: &'s str,
}

impl Given<'_> {
    fn wrong(self, what: impl fmt::Display, cure: impl Into<String>) -> Error {
        let what = format!("value of {}: {what}", self.target);
        Error::from(Finding::error(Place::default(), what).cure(cure))
    }
}

impl<'s, 'a> Making<'s, 'a> {
    /// Sets the values of [`Assembly::values`](super::Assembly::values).
    pub(super) fn set_values(&mut self, root: &Part<'a>) -> Result<(), Error> {
        let assembly = self.assembly;
        // In the order of the map, `a.x` is before `a/b.x`, so the value for a part overrides that for its assembly.
        for (target, text) in &assembly.values {
            let given = Given { target, text };
            let (part, property) = self.target(root, given)?;
            self.set(part, property, given)?;
        }
        Ok(())
    }

    /// Returns the part and the property of a target. Both names may contain dots. If several divisions name a part,
    /// the longest name of a part counts.
    fn target<'p>(
        &self,
        root: &'p Part<'a>,
        given: Given<'s>,
    ) -> Result<(&'p Part<'a>, &'s str), Error> {
        let target = given.target;
        let found = target.rmatch_indices('.').find_map(|(dot, _)| {
            let part = self.part_named(root, &target[..dot])?;
            Some((part, &target[dot + 1..]))
        });
        found.ok_or_else(|| {
            let instances = self.plan.instance.iter().map(|one| one.name.as_str());
            let cure = format!("write INSTANCE.PROPERTY; the instances are {}", listed(instances));
            let what = match target.rsplit_once('.') {
                Some((name, _)) => format!("the package has no instance or assembly {name:?}"),
                None => "it has no dot between the instance and the property".to_owned(),
            };
            given.wrong(what, cure)
        })
    }

    /// Returns a part by its path.
    fn part_named<'p>(&self, root: &'p Part<'a>, path: &str) -> Option<&'p Part<'a>> {
        if let Part::Instance { at } = root {
            return (self.plan.instance[*at].name == path).then_some(root);
        }
        let mut found = root;
        for name in path.split('/') {
            let Part::Whole(whole) = found else {
                return None;
            };
            let one = whole.assembly.value.instance.iter().find(|one| one.name == name)?;
            found = whole.parts.get(one.id.0.as_str())?;
        }
        Some(found)
    }

    /// Sets a property of a part. The external property of an assembly sets the properties to which it delegates.
    fn set(&mut self, part: &Part<'a>, property: &str, given: Given<'s>) -> Result<(), Error> {
        let whole = match part {
            Part::Instance { at } => return self.set_instance(*at, property, given),
            Part::Whole(whole) => whole,
        };
        let external = &whole.assembly.value.external_property;
        // All external properties are searched.
        self.spend(external.len(), 0)?;
        let mut is_known = false;
        for mapping in external.iter().filter(|one| one.external_name == property) {
            is_known = true;
            for to in &mapping.delegates_to {
                self.spend(1, to.property_name.len())?;
                if let Some(inner) = whole.parts.get(to.instance.id.as_str()) {
                    self.set(inner, &to.property_name, given)?;
                }
            }
        }
        if is_known {
            return Ok(());
        }
        let (name, path) = (&whole.name, whole.assembly.path);
        let known = listed(external.iter().map(|one| one.external_name.as_str()));
        let what = format!("the assembly {name:?} of {path} has no externalProperty {property:?}");
        Err(given.wrong(what, format!("it has {known}")))
    }

    fn set_instance(&mut self, at: usize, property: &str, given: Given<'s>) -> Result<(), Error> {
        let kind = property_type(&self.plan, &self.types, at, property, given)?;
        // The value contains its type, which is counted before it is copied.
        self.remaining.spend(1, property.len() + size::kind(&kind))?;
        let kind = kind.into_owned();
        let value = read(kind, given.text).map_err(|error| {
            let why = error.findings.first().map_or("", |finding| finding.what.as_str());
            given.wrong(why, self.type_origin(at, property))
        })?;
        self.spend(0, size::data(&value.data))?;
        let properties = &mut self.plan.instance[at].config_property;
        match properties.iter_mut().find(|one| one.name == property) {
            Some(known) => known.value = value,
            None => properties.push(Property::of(property, value)),
        }
        Ok(())
    }

    /// Returns a sentence about the origin of a property's type.
    fn type_origin(&self, at: usize, property: &str) -> String {
        if is_setting(property) {
            return "properties of deployment engines are strings".to_owned();
        }
        match self.types.with_attributes(at) {
            Some(described)
                if matches!(described.component.attributes.get(property), Some(Some(_))) =>
            {
                format!("{} declares the type", described.origin_of(property))
            }
            _ => "the type is that of the value in the package".to_owned(),
        }
    }
}

/// Returns the type of a property of an instance.
fn property_type<'m>(
    plan: &'m Plan,
    types: &'m ComponentTypes<'_, '_>,
    at: usize,
    property: &str,
    given: Given<'_>,
) -> Result<Cow<'m, Type>, Error> {
    if is_setting(property) {
        return Ok(Cow::Owned(Type::Basic(Basic::String)));
    }
    let instance = &plan.instance[at];
    let present = instance.property(property);
    if let Some(described) = types.with_attributes(at) {
        let attributes = &described.component.attributes;
        match attributes.get(property) {
            Some(Some(kind)) => return Ok(Cow::Borrowed(kind)),
            Some(None) if present.is_some() => {}
            Some(None) => {
                let what = format!(
                    "plans do not support the type that {} declares for property {property:?} of instance {:?}",
                    described.origin(),
                    instance.name
                );
                return Err(given.wrong(what, "omit the value"));
            }
            None => {
                let what = format!(
                    "instance {:?} has no property {property:?} that can be set",
                    instance.name
                );
                let known = listed(attributes.keys().map(String::as_str));
                return Err(given.wrong(what, format!("{} has {known}", described.origin())));
            }
        }
    }
    match present {
        Some(present) => Ok(Cow::Borrowed(&present.value.kind)),
        None => {
            let what = format!(
                "nothing declares the type of property {property:?} of instance {:?}",
                instance.name
            );
            let cure = "declare it in an interface (.ccd) of the package, or specify the IDL of the component";
            Err(given.wrong(what, cure))
        }
    }
}

/// Reads a value: numbers, strings and names of enumerators as they are, other values as tables of TOML with the
/// elements of the XML form.
fn read(kind: Type, text: &str) -> Result<Any, Error> {
    let element = match holder(&kind) {
        Some(name) => {
            let mut element = Element::new("value");
            element.children.push(Element::text(name, text));
            element
        }
        None => text::value(text, &Limits::default())?,
    };
    Any::of_type(kind, &element)
}
