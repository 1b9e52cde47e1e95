/// Returns an array of the results of `f`, or its first error, after which `f` is not called again.
/// Allocates nothing.
#[inline(always)]
pub(crate) fn try_from_fn<T, E, const N: usize>(
    mut f: impl FnMut() -> Result<T, E>,
) -> Result<[T; N], E> {
    let mut failed = None;
    let items: [Option<T>; N] = core::array::from_fn(|_| {
        if failed.is_some() {
            return None;
        }
        f().map_err(|error| failed = Some(error)).ok()
    });
    match failed {
        None => Ok(items.map(|item| item.expect("none failed"))),
        Some(error) => Err(error),
    }
}
