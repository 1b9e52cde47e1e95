//! Named values of the standard's Dynamic Invocation Interface.

use oxorb_cdr::{Dynamic, TypeCode};

use crate::Direction;

/// Value with its type and direction: `CORBA::NamedValue`.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedValue {
    /// Name of the parameter, used in messages only.
    pub name: String,
    /// Direction of the parameter.
    pub direction: Direction,
    /// Type of the parameter.
    pub ty: TypeCode,
    /// Value; [`Dynamic::Null`] if there is none yet.
    pub value: Dynamic,
}

/// Arguments of a request in the order of IDL: `CORBA::NVList`.
///
/// ```
/// use oxorb_dynamic::{Direction, NVList, TypeCode};
///
/// let mut list = NVList::new();
/// list.add_in("amount", TypeCode::ULONG, 10u32).add_out("left", TypeCode::LONG);
/// assert_eq!(list.find("left").unwrap().direction, Direction::Out);
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NVList(Vec<NamedValue>);

impl NVList {
    /// Returns an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an `in` parameter.
    pub fn add_in(
        &mut self,
        name: impl Into<String>,
        ty: TypeCode,
        value: impl Into<Dynamic>,
    ) -> &mut Self {
        self.add(name, Direction::In, ty, value.into())
    }

    /// Adds an `inout` parameter.
    pub fn add_inout(
        &mut self,
        name: impl Into<String>,
        ty: TypeCode,
        value: impl Into<Dynamic>,
    ) -> &mut Self {
        self.add(name, Direction::InOut, ty, value.into())
    }

    /// Adds an `out` parameter.
    pub fn add_out(&mut self, name: impl Into<String>, ty: TypeCode) -> &mut Self {
        self.add(name, Direction::Out, ty, Dynamic::Null)
    }

    /// Adds a named value of any direction.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        direction: Direction,
        ty: TypeCode,
        value: Dynamic,
    ) -> &mut Self {
        self.0.push(NamedValue { name: name.into(), direction, ty, value });
        self
    }

    /// Returns the first named value with this name.
    pub fn find(&self, name: &str) -> Option<&NamedValue> {
        self.0.iter().find(|named| named.name == name)
    }

    /// Iterates over all named values, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, NamedValue> {
        self.0.iter()
    }

    /// Iterates as [`iter`](Self::iter), for modification.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, NamedValue> {
        self.0.iter_mut()
    }

    /// Returns the number of parameters.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Reports whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<NamedValue> for NVList {
    fn from_iter<I: IntoIterator<Item = NamedValue>>(values: I) -> Self {
        NVList(values.into_iter().collect())
    }
}

impl IntoIterator for NVList {
    type Item = NamedValue;
    type IntoIter = std::vec::IntoIter<NamedValue>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a NVList {
    type Item = &'a NamedValue;
    type IntoIter = std::slice::Iter<'a, NamedValue>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
