//! Allocations: none in steady state, and none for implausible lengths.

use oxorb_cdr::{
    Any, ByteOrder, Decode, Decoder, DecoderLimits, Dialect, Dynamic, Encode, Encoder, ErrorKind,
    LongDouble, OctetSeq, TypeCode,
};
use oxorb_testkit::alloc::allocations;

const UTF_16: Dialect = Dialect::GIOP_1_2;

#[test]
fn encoding_into_a_used_buffer_allocates_nothing() {
    let longs: Vec<i32> = (0..1000).collect();
    let pairs = vec![[1u8, 2], [3, 4]];
    let mut buffer = Vec::new();
    for round in 0..2 {
        let foreign =
            if ByteOrder::NATIVE == ByteOrder::Big { ByteOrder::Little } else { ByteOrder::Big };
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
    [1.0f64, 2.0, 3.0].iter().for_each(|&number| encoder.double(number));
    encoder.sequence(&[1u8, 2, 3], None).expect("unbounded");
    let message = encoder.finish().to_vec();
    let (_, made) = allocations(|| {
        let mut decoder = Decoder::new(&message, ByteOrder::NATIVE, UTF_16);
        assert_eq!(decoder.string().expect("whole"), "plain");
        assert_eq!(<[f64; 3]>::decode(&mut decoder).expect("whole"), [1.0, 2.0, 3.0]);
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

/// Type that takes much memory for one octet on the wire.
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

/// Checks that the memory for values is bounded, regardless of how few octets encode them.
#[test]
fn values_take_no_more_memory_than_the_limit() {
    const LIMIT: u32 = 4 << 20;
    let limits = DecoderLimits { max_memory: LIMIT, ..DecoderLimits::default() };
    let counted =
        |n: u32, element: &[u8]| [&n.to_be_bytes()[..], &element.repeat(n as usize)].concat();
    // The total may exceed the limit, because it includes freed memory: vectors double as they
    // grow.
    let check = |octets: &[u8], read: &dyn Fn(&mut Decoder<'_>) -> Option<ErrorKind>| {
        let mut d = Decoder::new(octets, ByteOrder::Big, UTF_16).with_limits(limits);
        let (error, made) = allocations(|| read(&mut d));
        assert_eq!(error, Some(ErrorKind::TooMuchMemory { limit: LIMIT }), "{made:?}");
        assert!(made.octets < 3 * u64::from(LIMIT), "{made:?}");
    };
    fn kind<T>(read: oxorb_cdr::Result<T>) -> Option<ErrorKind> {
        read.err().map(|error| error.kind)
    }
    check(&counted(1 << 20, &[0; 4]), &|d| kind(d.sequence::<Any>(None)));
    check(&counted(1 << 20, &[0, 0, 0, 1, 0, 0, 0, 0]), &|d| kind(d.sequence::<String>(None)));
    check(&counted(1 << 20, &[0; 4]), &|d| kind(d.sequence::<Vec<u8>>(None)));
    check(&counted(8 << 20, &[0]), &|d| kind(d.sequence::<u8>(None)));
    check(&counted(1 << 23, b"x"), &|d| kind(d.sequence::<char>(None)));
    check(&counted(1 << 20, &[0, 0, 0, 18, 0, 0, 0, 5]), &|d| kind(d.sequence::<TypeCode>(None)));
    let dynamic = |ty: TypeCode| {
        move |d: &mut Decoder<'_>| match Dynamic::decode(&ty, d).unwrap_err().reason {
            oxorb_cdr::DynamicErrorKind::Cdr(error) => Some(error.kind),
            _ => None,
        }
    };
    check(&counted(1 << 20, &[1]), &dynamic(TypeCode::sequence(TypeCode::BOOLEAN)));
    check(&counted(1 << 20, &[0; 4]), &dynamic(TypeCode::sequence(TypeCode::ANY)));
    let members = (0..10).map(|_| ("m", TypeCode::OCTET));
    let wide = TypeCode::structure("IDL:W:1.0", "W", members);
    check(&counted(1 << 16, &[0; 10]), &dynamic(TypeCode::sequence(wide)));

    // The enum has very many enumerators without names, each of which takes four octets.
    let body =
        [&[0, 0, 0, 0][..], &0u32.to_be_bytes(), &0u32.to_be_bytes(), &counted(1 << 18, &[0; 4])]
            .concat();
    let octets = [&17u32.to_be_bytes()[..], &(body.len() as u32).to_be_bytes(), &body].concat();
    check(&octets, &|d| kind(TypeCode::decode(d)));
}

#[test]
fn memory_for_values_is_asked_for_in_steps() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Debug)]
    struct Purse(AtomicUsize);

    impl oxorb_cdr::Scope for Purse {
        fn keep(&self) -> std::sync::Arc<dyn oxorb_cdr::Scope> {
            unreachable!("nothing here is bound")
        }

        fn afford(&self, octets: usize) -> bool {
            let taken = self.0.fetch_add(octets, Ordering::Relaxed) + octets;
            taken <= 1 << 20
        }
    }

    let mut octets = 1000u32.to_be_bytes().to_vec();
    (0..1000).for_each(|_| octets.extend([&2000u32.to_be_bytes()[..], &[0; 2000]].concat()));
    let purse = Purse(AtomicUsize::new(0));
    let mut d = Decoder::new(&octets, ByteOrder::Big, UTF_16).with_scope(&purse);
    let error = d.sequence::<Vec<u8>>(None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoMemoryLeft);
    assert!(error.at < (1 << 20) + (64 << 10) + 4096, "{error}");

    let purse = Purse(AtomicUsize::new(0));
    let few = &octets[..4 + 15 * 2004];
    let few = [&15u32.to_be_bytes()[..], &few[4..]].concat();
    let mut d = Decoder::new(&few, ByteOrder::Big, UTF_16).with_scope(&purse);
    assert_eq!(d.sequence::<Vec<u8>>(None).map(|read| read.len()), Ok(15));
    assert_eq!(purse.0.load(Ordering::Relaxed), 0, "a small message asks nobody");
}
