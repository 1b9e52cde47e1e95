//! What is allocated: nothing on the steady path, and nothing for lengths that cannot be true.

use oxorb_cdr::{
    ByteOrder, Decode, Decoder, Dialect, Encode, Encoder, ErrorKind, LongDouble, OctetSeq,
};
use oxorb_testkit::alloc::{CountingAllocator, allocations};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

const UTF_16: Dialect = Dialect::GIOP_1_2;

#[test]
fn encoding_into_a_used_buffer_allocates_nothing() {
    let longs: Vec<i32> = (0..1000).collect();
    let pairs = vec![[1u8, 2], [3, 4]];
    let mut buffer = Vec::new();
    for round in 0..2 {
        let foreign = if ByteOrder::NATIVE == ByteOrder::Big {
            ByteOrder::Little
        } else {
            ByteOrder::Big
        };
        for order in [ByteOrder::NATIVE, foreign] {
            let (used, made) = allocations(|| {
                let mut encoder = Encoder::new(buffer, order, UTF_16).gather_above(3000);
                encoder.octet(1);
                encoder.double(2.0);
                encoder.long_double(LongDouble::from(3.0));
                encoder.string("plain").expect("carried");
                encoder.string("é").expect("carried");
                encoder.wstring("wide").expect("carried");
                encoder.sequence(&longs, None).expect("unbounded");
                encoder.sequence(&pairs, None).expect("unbounded");
                encoder.encapsulation(|e| longs.encode(e)).expect("short");
                encoder.finish().into_buffer()
            });
            buffer = used;
            assert!(round == 0 || made.count == 0, "{made:?}");
        }
    }
}

#[test]
fn a_message_that_fits_the_capacity_stays_in_it() {
    let mut encoder = Encoder::new(Vec::with_capacity(3000), ByteOrder::Big, UTF_16);
    let (_, made) = allocations(|| (0..700).for_each(|n| encoder.ulong(n)));
    assert_eq!(made.count, 0);
}

#[test]
fn decoding_what_can_be_borrowed_or_is_of_fixed_size_allocates_nothing() {
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::NATIVE, UTF_16);
    encoder.string("plain").expect("carried");
    [1.0f64, 2.0, 3.0]
        .iter()
        .for_each(|&number| encoder.double(number));
    encoder.sequence(&[1u8, 2, 3], None).expect("unbounded");
    let message = encoder.finish().to_vec();
    let (_, made) = allocations(|| {
        let mut decoder = Decoder::new(&message, ByteOrder::NATIVE, UTF_16);
        assert_eq!(decoder.string().expect("whole"), "plain");
        assert_eq!(
            <[f64; 3]>::decode(&mut decoder).expect("whole"),
            [1.0, 2.0, 3.0]
        );
        let n = decoder.length(None, 1).expect("whole");
        assert_eq!(decoder.octets(n).expect("whole"), [1, 2, 3]);
        decoder.finish().expect("nothing trails");
    });
    assert_eq!(made.count, 0);
}

#[test]
fn numbers_that_lie_aligned_in_native_order_are_borrowed() {
    let doubles: Vec<f64> = (0..100).map(f64::from).collect();
    let message = bytemuck::cast_slice(&doubles);
    let (read, made) =
        allocations(|| Decoder::new(message, ByteOrder::NATIVE, UTF_16).doubles(100));
    let read = read.expect("whole");
    assert_eq!((read.as_ptr(), read.len()), (doubles.as_ptr(), 100));
    assert_eq!(made.count, 0);
}

#[test]
fn implausible_lengths_allocate_nothing() {
    fn refused<T: for<'de> Decode<'de> + std::fmt::Debug>() {
        for count in [u32::MAX, 1 << 31, 1000, 14] {
            let octets = [count.to_be_bytes().as_slice(), &[0; 12]].concat();
            let (outcome, made) =
                allocations(|| T::decode(&mut Decoder::new(&octets, ByteOrder::Big, UTF_16)));
            let length = count as usize;
            assert_eq!(
                outcome.expect_err("implausible").kind,
                ErrorKind::LengthImplausible { length, left: 12 }
            );
            assert_eq!(made.count, 0);
        }
    }
    refused::<String>();
    refused::<OctetSeq>();
    refused::<Vec<u8>>();
    refused::<Vec<f64>>();
    refused::<Vec<String>>();
    refused::<Vec<Vec<u8>>>();
    refused::<Vec<[u16; 7]>>();
}

/// Much memory of which a value may say so in one octet on the wire.
#[derive(Debug)]
struct Sparse(#[expect(dead_code, reason = "only its size matters")] [u64; 1 << 10]);

impl<'de> Decode<'de> for Sparse {
    fn decode(d: &mut Decoder<'de>) -> oxorb_cdr::Result<Self> {
        Err(d.error(ErrorKind::BadLabel))
    }
}

#[test]
fn memory_is_reserved_in_proportion_to_what_arrived() {
    let octets = [1000u32.to_be_bytes().as_slice(), &[0; 1000]].concat();
    let (outcome, made) = allocations(|| {
        Vec::<Sparse>::decode(&mut Decoder::new(&octets, ByteOrder::Big, UTF_16)).map(drop)
    });
    assert_eq!(outcome, Err(ErrorKind::BadLabel.at(4)));
    assert!(made.octets <= 8 * octets.len() as u64, "{made:?}");
}
