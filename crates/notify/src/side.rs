/// Side of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Consumers,
    Suppliers,
}
