//! Sequences read into the memory of earlier ones.

use super::Decoder;
use crate::prelude::*;
use crate::{Decode, Result, copies};

impl<'de> Decoder<'de> {
    /// Reads a sequence of any length into a vector of earlier elements, which `read` replaces one
    /// by one. Allocates for additional elements. After an error the vector contains a mix of old
    /// and new elements.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect};
    ///
    /// let octets = [0, 0, 0, 1, 0, 0, 0, 2, 8, 9];
    /// let mut kept = vec![vec![1, 2, 3], vec![4]];
    /// Decoder::new(&octets, ByteOrder::Big, Dialect::new(2))
    ///     .sequence_into(&mut kept, |d, element: &mut Vec<u8>| d.octets_into(element))?;
    /// assert_eq!(kept, [[8, 9]]);
    /// # Ok::<(), oxorb_cdr::Error>(())
    /// ```
    pub fn sequence_into<T: Decode<'de> + Default>(
        &mut self,
        elements: &mut Vec<T>,
        mut read: impl FnMut(&mut Self, &mut T) -> Result<()>,
    ) -> Result<()> {
        let n = self.length(None, T::MIN_SIZE)?;
        self.charge_for::<T>(n)?;
        elements.truncate(n);
        self.nested(|d| {
            elements.iter_mut().try_for_each(|one| read(d, one))?;
            for _ in elements.len()..n {
                let mut one = T::default();
                read(d, &mut one)?;
                elements.push(one);
            }
            Ok(())
        })
    }

    /// Reads a sequence of octets of any length into a vector, replacing its contents.
    pub fn octets_into(&mut self, octets: &mut Vec<u8>) -> Result<()> {
        let n = self.length(None, 1)?;
        self.charge(n, 1)?;
        let read = self.octets(n)?;
        octets.clear();
        copies::append(octets, read);
        Ok(())
    }
}
