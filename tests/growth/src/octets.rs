//! Builder of octets, big-endian.

#[derive(Default)]
pub(crate) struct Octets(pub(crate) Vec<u8>);

impl Octets {
    pub(crate) fn ulong(&mut self, number: u32) {
        while !self.0.len().is_multiple_of(4) {
            self.0.push(0);
        }
        self.0.extend(number.to_be_bytes());
    }

    pub(crate) fn ushort(&mut self, number: u16) {
        while !self.0.len().is_multiple_of(2) {
            self.0.push(0);
        }
        self.0.extend(number.to_be_bytes());
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.ulong(text.len() as u32 + 1);
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    pub(crate) fn sequence(&mut self, octets: &[u8]) {
        self.ulong(octets.len() as u32);
        self.0.extend(octets);
    }

    /// Position of the next number.
    pub(crate) fn here(&self) -> usize {
        self.0.len().next_multiple_of(4)
    }

    /// Adds an indirection to an earlier position.
    pub(crate) fn indirection(&mut self, to: usize) {
        self.ulong(u32::MAX);
        let from = self.here();
        self.ulong((to as i64 - from as i64) as u32);
    }

    /// Adds an encapsulation that starts at a multiple of four, so that its positions are those of the message.
    pub(crate) fn encapsulation(&mut self, write: impl FnOnce(&mut Self)) {
        self.ulong(0);
        let start = self.0.len();
        self.0.push(0);
        write(self);
        let length = (self.0.len() - start) as u32;
        self.0[start - 4..start].copy_from_slice(&length.to_be_bytes());
    }
}
