//! OxORB's side of `oxbench marshal`, controlled on standard input:
//!
//! ```text
//! < ready
//! > octets samples-64 big          row, order
//! < 776 f3b0c44298fc1c14           length, FNV-1a hash
//! > time samples-64 big 5000       row, order, microseconds for each direction
//! < 512.3 840.1                    nanoseconds to encode, to decode: medians
//! ```

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use oxorb::Orb;
use oxorb::cdr::{Decode, Decoder, Dialect, Encode, Encoder};
use oxorb::values::ByteOrder;
use oxorb_testkit::alloc;

use super::{compiled, interpreted};
use crate::Result;

/// Kind of generated code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// Code generated for each type
    Compiled,
    /// Tables, and one interpreter for all types
    Interpreted,
}

/// Value to write and read.
pub(crate) trait Row {
    /// Returns the encoded value.
    fn octets(&self, order: ByteOrder) -> Result<Vec<u8>>;

    /// Returns the nanoseconds to encode and to decode.
    fn time(&self, order: ByteOrder, orb: &Orb, budget: Duration) -> Result<(f64, f64)>;
}

/// Row of one value.
pub(crate) struct Of<T>(T);

/// Row of separate numbers, like members of a message that no struct combines.
pub(crate) struct Singles<T>([T; SINGLES]);

const SINGLES: usize = 64;

/// Default dialect of omniORB's memory streams.
const DIALECT: Dialect = Dialect::new(2);

/// Shortest batch, so that the time of reading the clock is negligible.
const BATCH: Duration = Duration::from_micros(20);

/// Executes requests until standard input closes.
pub(crate) fn serve(kind: Kind, reference: &str) -> Result {
    // Stops counting allocations: omniORB's program does not count them, and counting takes time.
    alloc::stop();
    let orb = Orb::builder().build()?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "ready")?;
    output.flush()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let [command, name, order, budget @ ..] = &words[..] else {
            return Err(format!("not a command: {line:?}").into());
        };
        let order = match *order {
            "big" => ByteOrder::Big,
            "little" => ByteOrder::Little,
            _ => return Err(format!("no byte order is called {order:?}").into()),
        };
        let row = match kind {
            Kind::Compiled => compiled::rows::find(name, &orb, reference)?,
            Kind::Interpreted => interpreted::rows::find(name, &orb, reference)?,
        };
        let row = row.ok_or_else(|| format!("no row is called {name:?}"))?;
        match (*command, budget) {
            ("octets", []) => {
                let octets = row.octets(order)?;
                writeln!(output, "{} {:016x}", octets.len(), hash(&octets))?;
            }
            ("time", [budget]) => {
                let budget = Duration::from_micros(budget.parse()?);
                let (writing, reading) = row.time(order, &orb, budget)?;
                writeln!(output, "{writing:.3} {reading:.3}")?;
            }
            _ => return Err(format!("not a command: {line:?}").into()),
        }
        output.flush()?;
    }
    orb.shutdown(true)?;
    Ok(())
}

impl<T: Encode + for<'de> Decode<'de> + 'static> Of<T> {
    pub(crate) fn row(value: T) -> Box<dyn Row> {
        Box::new(Of(value))
    }
}

impl<T: Encode + for<'de> Decode<'de>> Row for Of<T> {
    fn octets(&self, order: ByteOrder) -> Result<Vec<u8>> {
        octets_of(&self.0, order)
    }

    fn time(&self, order: ByteOrder, orb: &Orb, budget: Duration) -> Result<(f64, f64)> {
        let writing = time_writing(&self.0, order, budget)?;
        let octets = self.octets(order)?;
        let mut decoder = decoder(&octets, order, orb);
        drop(read_in::<T>(&mut decoder)?);
        decoder.finish()?;
        let reading = median(budget, || {
            // The value is inspected where it was decoded, as in omniORB's program, so that nothing is moved.
            black_box(&T::decode(&mut self::decoder(&octets, order, orb))?);
            Ok(())
        })?;
        Ok((writing, reading))
    }
}

impl<T: Encode + for<'de> Decode<'de> + Copy + 'static> Singles<T> {
    pub(crate) fn row(number: impl Fn(usize) -> T) -> Box<dyn Row> {
        Box::new(Singles(std::array::from_fn(number)))
    }
}

impl<T: Encode + for<'de> Decode<'de> + Copy> Row for Singles<T> {
    fn octets(&self, order: ByteOrder) -> Result<Vec<u8>> {
        octets_of(self, order)
    }

    fn time(&self, order: ByteOrder, orb: &Orb, budget: Duration) -> Result<(f64, f64)> {
        let writing = time_writing(self, order, budget)?;
        let octets = self.octets(order)?;
        // Each number is decoded into its place and inspected there, as in omniORB's program, so that no array is
        // moved.
        let mut numbers = self.0;
        let reading = median(budget, || {
            let mut decoder = decoder(&octets, order, orb);
            for number in &mut numbers {
                *number = T::decode(&mut decoder)?;
            }
            black_box(&mut numbers);
            Ok(())
        })?;
        Ok((writing, reading))
    }
}

impl<T: Encode> Encode for Singles<T> {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> oxorb::cdr::Result<()> {
        self.0.iter().try_for_each(|number| number.encode(e))
    }
}

fn octets_of(value: &impl Encode, order: ByteOrder) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new(), order, DIALECT);
    write_out(value, &mut encoder)?;
    Ok(encoder.finish().to_vec())
}

/// Returns the nanoseconds to write a value.
#[inline(always)]
fn time_writing(value: &impl Encode, order: ByteOrder, budget: Duration) -> Result<f64> {
    // The encoder is reset for each value, like omniORB's stream.
    let mut encoder = Encoder::new(Vec::new(), order, DIALECT);
    median(budget, || {
        encoder.truncate(0);
        black_box(value).encode(&mut encoder)?;
        black_box(&mut encoder);
        Ok(())
    })
}

/// Returns a new decoder for each value, as for each message.
#[inline(always)]
fn decoder<'de>(octets: &'de [u8], order: ByteOrder, orb: &'de Orb) -> Decoder<'de> {
    Decoder::new(octets, order, DIALECT).with_scope(&**orb)
}

/// Writes a value. A separate function, so that `code.rs` finds all code for writing it.
#[inline(never)]
fn write_out<'a, T: Encode>(value: &'a T, e: &mut Encoder<'a>) -> oxorb::cdr::Result<()> {
    value.encode(e)
}

/// Reads a value. A separate function, so that `code.rs` finds all code for reading it.
#[inline(never)]
fn read_in<'de, T: Decode<'de>>(d: &mut Decoder<'de>) -> oxorb::cdr::Result<T> {
    T::decode(d)
}

/// Returns the median of as many batches as fit into the time, in nanoseconds per repetition.
fn median(budget: Duration, mut once: impl FnMut() -> Result) -> Result<f64> {
    let mut batch = 1u32;
    let mut time = |batch: u32| -> Result<Duration> {
        let before = Instant::now();
        for _ in 0..batch {
            once()?;
        }
        Ok(before.elapsed())
    };
    while time(batch)? < BATCH {
        batch *= 2;
    }
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < 5 || start.elapsed() < budget {
        times.push(time(batch)?.as_nanos() as f64 / f64::from(batch));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn hash(octets: &[u8]) -> u64 {
    octets.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
