//! A place that is filled once: that of the standard library, or one that spins while another thread fills it.

#[cfg(feature = "std")]
pub use std::sync::OnceLock;

#[cfg(not(feature = "std"))]
pub use alone::OnceLock;

#[cfg(not(feature = "std"))]
mod alone {
    /// The part of `std::sync::OnceLock` that the codec and the layer above need.
    #[derive(Debug)]
    pub struct OnceLock<T>(spin::Once<T>);

    impl<T> OnceLock<T> {
        /// Returns an empty place.
        pub const fn new() -> Self {
            OnceLock(spin::Once::new())
        }

        /// Returns what was put in.
        pub fn get(&self) -> Option<&T> {
            self.0.get()
        }

        /// Returns what was put in, of a place that nobody else has.
        pub fn get_mut(&mut self) -> Option<&mut T> {
            self.0.get_mut()
        }

        /// Returns what was put in, and fills an empty place before.
        pub fn get_or_init(&self, value: impl FnOnce() -> T) -> &T {
            self.0.call_once(value)
        }

        /// Fills the place.
        ///
        /// # Errors
        /// The value, if the place is full.
        pub fn set(&self, value: T) -> Result<(), T> {
            let mut value = Some(value);
            self.0.call_once(|| value.take().expect("it is taken once"));
            value.map_or(Ok(()), Err)
        }
    }

    impl<T> Default for OnceLock<T> {
        fn default() -> Self {
            OnceLock::new()
        }
    }

    impl<T> From<T> for OnceLock<T> {
        fn from(value: T) -> Self {
            OnceLock(spin::Once::initialized(value))
        }
    }
}
