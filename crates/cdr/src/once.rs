//! Write-once cell: that of the standard library, or one that spins while another thread
//! initialises it.

#[cfg(feature = "std")]
pub use std::sync::OnceLock;

#[cfg(not(feature = "std"))]
pub use alone::OnceLock;

#[cfg(not(feature = "std"))]
mod alone {
    /// Subset of `std::sync::OnceLock` that the codec and the layer above need.
    #[derive(Debug)]
    pub struct OnceLock<T>(spin::Once<T>);

    impl<T> OnceLock<T> {
        /// Creates an empty cell.
        pub const fn new() -> Self {
            OnceLock(spin::Once::new())
        }

        /// Returns the value, if the cell is initialised.
        pub fn get(&self) -> Option<&T> {
            self.0.get()
        }

        /// Returns the value of an exclusively borrowed cell, if it is initialised.
        pub fn get_mut(&mut self) -> Option<&mut T> {
            self.0.get_mut()
        }

        /// Returns the value, after initialising an empty cell.
        pub fn get_or_init(&self, value: impl FnOnce() -> T) -> &T {
            self.0.call_once(value)
        }

        /// Initialises the cell.
        ///
        /// # Errors
        /// The value, if the cell is already initialised.
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
