//! Components, which select a part of an event.

/// A component: its start and the steps from there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    pub(crate) root: Root,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Root {
    /// `$`
    Whole,
    /// `$name`, or a name without `$`.
    Variable(Box<str>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// `.name`
    Member(Box<str>),
    /// `.3`: the member at a position.
    Position(u32),
    /// `[3]`
    Element(u32),
    /// `(name)`: the value for this name in a list of names and values.
    Named(Box<str>),
    /// `.(3)`, `.('name')`, `.()`: the member of a union that this label selects.
    Label(UnionLabel),
    /// `._length`
    Length,
    /// `._d`
    Discriminator,
    /// `._type_id`
    TypeName,
    /// `._repos_id`
    RepositoryId,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum UnionLabel {
    Default,
    Number(i128),
    /// An enumerator or a character.
    Text(Box<str>),
}
