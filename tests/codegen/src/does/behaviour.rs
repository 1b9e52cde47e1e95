//! Corner cases: overriding, inheriting, supporting, changing.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use oxorb::servant::Context;
use oxorb::values::{Abstract, TypeCode, Value, ValueBase, ValueLink};
use oxorb::{Any, ObjectRef};

use crate::behaviour::behaviour::list::{
    self, FindError, Found, InfoError, Missing, OfError, Order, RestError, SetInfoError,
};
use crate::behaviour::behaviour::{
    self, Badge, Circle, Handle, List, Maybe, NamedRef, Refused, Ring, ServiceRef, Watcher, Worker,
    circle, coloured, odd, service,
};
use crate::behaviour::{Outside, OutsideOperations};

impl behaviour::ShapeOperations for Circle {
    fn area(&self) -> oxorb::Result<f64> {
        Ok(self.radius * self.radius * 3.0)
    }

    fn label(&self) -> oxorb::Result<String> {
        Ok(format!("{} circle", self.paint))
    }
}

impl behaviour::ColouredOperations for Circle {
    fn colour(&self) -> oxorb::Result<String> {
        Ok(self.paint.clone())
    }

    fn set_colour(&mut self, value: &str) -> Result<(), coloured::SetColourError> {
        if value.is_empty() {
            return Err(Refused { why: "no colour".into() }.into());
        }
        self.paint = value.into();
        Ok(())
    }

    fn fade(&mut self, by: f64) -> oxorb::Result<()> {
        self.radius -= by;
        Ok(())
    }
}

impl behaviour::CircleFactory for Circle {
    fn unit() -> oxorb::Result<Value<Circle>> {
        Ok(Value::new(Circle { radius: 1.0, paint: "black".into() }))
    }

    fn of_radius(radius: f64, paint: &str) -> Result<Value<Circle>, circle::OfRadiusError> {
        if radius < 0.0 {
            return Err(Refused { why: "less than nothing".into() }.into());
        }
        Ok(Value::new(Circle { radius, paint: paint.into() }))
    }
}

/// Overrides the area and the label; the colour stays that of the circle.
impl behaviour::ShapeOperations for Ring {
    fn area(&self) -> oxorb::Result<f64> {
        Ok(self.base.area()? - self.hole * self.hole * 3.0)
    }

    fn label(&self) -> oxorb::Result<String> {
        Ok("ring".into())
    }
}

impl behaviour::Named for Badge {
    fn title(&self) -> oxorb::Result<String> {
        Ok(self.text.clone())
    }
}

impl behaviour::Named for Worker {
    fn title(&self) -> oxorb::Result<String> {
        Ok(self.name.clone())
    }
}

/// Number of pokes of all workers.
pub static POKED: AtomicI32 = AtomicI32::new(0);

impl behaviour::Service for Worker {
    fn add(&self, one: i32, text: &mut String) -> Result<(i32, Cow<'_, [u8]>), service::AddError> {
        if one < 0 {
            return Err(Refused { why: text.clone() }.into());
        }
        text.push('!');
        Ok((one + self.grade, Cow::Borrowed(self.name.as_bytes())))
    }

    fn level(&self) -> oxorb::Result<i32> {
        Ok(self.grade)
    }

    /// Attributes of interfaces are set through shared handles, without changing the state.
    fn set_level(&self, _value: i32) -> oxorb::Result<()> {
        Ok(())
    }

    fn poke(&self, times: i32) {
        POKED.fetch_add(times, Relaxed);
    }

    fn doubled<'a>(&'a self, all: &'a [i32]) -> oxorb::Result<Cow<'a, [i32]>> {
        Ok(all.iter().map(|one| one * 2).collect())
    }
}

impl behaviour::ListOperations for List {
    fn size(&self) -> oxorb::Result<list::Length> {
        Ok(1 + self.tail.get().map_or(Ok(0), |tail| tail.size())?)
    }

    fn rest(
        &self,
        behind: &ValueLink<List>,
        all: &mut Vec<ValueLink<List>>,
        one: &mut Any,
    ) -> Result<(ValueLink<List>, Maybe), RestError> {
        all.push(behind.clone());
        *one = Any::new(self.head);
        if behind.is_null() {
            return Err(Missing { what: self.head }.into());
        }
        Ok((self.tail.clone(), Maybe::Some(behind.clone())))
    }

    fn find(&self, what: i32, how: Order) -> Result<Found, FindError> {
        if self.head == what {
            return Ok(Found { at: self.tail.clone(), index: 0 });
        }
        let tail = self.tail.get().ok_or(Missing { what })?;
        let found = tail.find(what, how)?;
        Ok(Found { index: found.index + 1, ..found })
    }

    fn watch(
        &self,
        by: Option<&Arc<dyn Watcher>>,
        _with: &Handle,
        _who: Option<&ObjectRef>,
        _to: Option<&ServiceRef>,
        _what: &Abstract<NamedRef>,
    ) -> oxorb::Result<()> {
        by.map_or(Ok(()), |by| by.seen(self.head))
    }

    fn crop<'a>(&'a self, from: &'a [u8], length: i32) -> oxorb::Result<Cow<'a, [u8]>> {
        let length = usize::try_from(length).unwrap_or(0);
        Ok(Cow::Borrowed(&from[..length.min(from.len())]))
    }

    fn told(&self, context: &Context) -> oxorb::Result<String> {
        Ok(context.value("user").unwrap_or("nobody").into())
    }

    fn forget(&self, _found: i32) -> oxorb::Result<()> {
        Ok(())
    }

    fn drop_first(&mut self, self_: i32, octets: &mut Vec<u8>) -> oxorb::Result<()> {
        octets.truncate(usize::try_from(self_).unwrap_or(0));
        if let Some(tail) = self.tail.get() {
            *self = (*tail).clone();
        }
        Ok(())
    }

    fn keep(&self) -> oxorb::Result<()> {
        Ok(())
    }

    fn info(&self) -> Result<ValueLink<List>, InfoError> {
        if self.tail.is_null() {
            return Err(Missing { what: self.head }.into());
        }
        Ok(self.tail.clone())
    }

    fn set_info(&mut self, value: &ValueLink<List>) -> Result<(), SetInfoError> {
        self.tail = value.clone();
        Ok(())
    }

    fn upcast(&self, _behaviour: &ValueLink<ValueBase>, _kind: &TypeCode) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Factories may be defined anywhere.
#[derive(Debug)]
pub struct Lists;

impl behaviour::ListFactory for Lists {
    fn of(all: &[ValueLink<List>], by: Option<&Arc<dyn Watcher>>) -> Result<Value<List>, OfError> {
        let first = all.first().and_then(ValueLink::get);
        let first = first.ok_or(Missing { what: 0 })?;
        if let Some(by) = by {
            by.seen(first.head)?;
        }
        Ok(first)
    }
}

impl behaviour::TwinOperations_ for behaviour::Twin {
    fn act(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl behaviour::OddOperations for behaviour::Odd {
    fn found(&self, _found: &odd::Behaviour) -> oxorb::Result<()> {
        Ok(())
    }
}

impl behaviour::SealedOperations for behaviour::Sealed {
    fn opens(&self, key: &str) -> oxorb::Result<bool> {
        Ok(self.inside == key.as_bytes())
    }
}

impl OutsideOperations for Outside {
    fn twice(&self) -> oxorb::Result<i32> {
        Ok(self.value * 2)
    }
}
