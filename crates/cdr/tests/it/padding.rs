//! Padding is zero regardless of previous contents of the buffer, since it is sent to the peer.

use oxorb_cdr::{ByteOrder, Dialect, Encode, Encoder, Fixed, FixedReader, FixedWriter, Layout};
use proptest::collection::vec;
use proptest::prelude::*;

/// Item to be written.
#[derive(Clone, Debug)]
enum Item {
    Octet,
    Short,
    Long,
    LongLong,
    LongDouble,
    Text(usize),
    Octets(usize),
    Gathered,
    Align(usize),
    Mixed(usize),
    Encapsulation(Vec<Item>),
    /// Encapsulation that fails at its end, and leaves nothing.
    Failing(Vec<Item>),
    /// Items written and then truncated.
    Regretted(Vec<Item>),
}

#[derive(Clone)]
struct Mixed;

impl Fixed for Mixed {
    const LAYOUT: Layout = Layout::EMPTY.then::<u8>().then::<f64>().then::<i16>();

    fn put(&self, w: &mut FixedWriter<'_>) {
        7u8.put(w);
        0.5f64.put(w);
        7i16.put(w);
    }

    fn take(r: &mut FixedReader<'_>) -> oxorb_cdr::Result<Self> {
        u8::take(r)?;
        f64::take(r)?;
        i16::take(r)?;
        Ok(Mixed)
    }
}

oxorb_cdr::fixed!(Mixed);

const LONG: [u8; 101] = [7; 101];

fn items() -> impl Strategy<Value = Vec<Item>> {
    let leaf = prop_oneof![
        Just(Item::Octet),
        Just(Item::Short),
        Just(Item::Long),
        Just(Item::LongLong),
        Just(Item::LongDouble),
        (0..20usize).prop_map(Item::Text),
        (0..20usize).prop_map(Item::Octets),
        Just(Item::Gathered),
        (0..4u32).prop_map(|power| Item::Align(1 << power)),
        (0..3usize).prop_map(Item::Mixed),
    ];
    let item = leaf.prop_recursive(2, 24, 6, |inner| {
        let some = || vec(inner.clone(), 0..6);
        prop_oneof![
            some().prop_map(Item::Encapsulation),
            some().prop_map(Item::Failing),
            some().prop_map(Item::Regretted),
        ]
    });
    vec(item, 0..12)
}

/// Appends the same octets to `mirror` with explicit padding, from the encoder's alignment origin.
fn write<'a>(items: &[Item], e: &mut Encoder<'a>, mirror: &mut Vec<u8>, origin: usize) {
    let order = e.order();
    let number = |mirror: &mut Vec<u8>, size: usize| {
        pad(mirror, origin, size.min(8));
        let low = if order == ByteOrder::Little { 0 } else { size - 1 };
        mirror.extend((0..size).map(|at| if at == low { 7 } else { 0 }));
    };
    for item in items {
        match item {
            Item::Octet => {
                e.octet(7);
                number(mirror, 1);
            }
            Item::Short => {
                e.short(7);
                number(mirror, 2);
            }
            Item::Long => {
                e.long(7);
                number(mirror, 4);
            }
            Item::LongLong => {
                e.longlong(7);
                number(mirror, 8);
            }
            Item::LongDouble => {
                e.long_double(oxorb_cdr::LongDouble::from_bits(7));
                number(mirror, 16);
            }
            Item::Text(length) => {
                e.string(&"a".repeat(*length)).unwrap();
                count(mirror, origin, order, length + 1);
                mirror.extend(vec![b'a'; *length]);
                mirror.push(0);
            }
            Item::Octets(length) => {
                e.copy_octets(&LONG[..*length]);
                mirror.extend_from_slice(&LONG[..*length]);
            }
            Item::Gathered => {
                e.octets(&LONG);
                mirror.extend_from_slice(&LONG);
            }
            Item::Align(to) => {
                e.align(*to);
                pad(mirror, origin, *to);
            }
            Item::Mixed(length) => {
                Mixed::encode_slice(&[const { Mixed }; 2][..*length], e).unwrap();
                for _ in 0..*length {
                    number(mirror, 1);
                    pad(mirror, origin, 8);
                    let half = match order {
                        ByteOrder::Little => 0.5f64.to_le_bytes(),
                        ByteOrder::Big => 0.5f64.to_be_bytes(),
                    };
                    mirror.extend(half);
                    number(mirror, 2);
                }
            }
            Item::Encapsulation(items) => {
                pad(mirror, origin, 4);
                let mut inside = vec![u8::from(order.flag())];
                e.encapsulation(|e| {
                    write(items, e, &mut inside, 0);
                    Ok(())
                })
                .unwrap();
                count(mirror, origin, order, inside.len());
                mirror.extend(inside);
            }
            Item::Failing(items) => {
                let failed = e.encapsulation(|e| {
                    write(items, e, &mut vec![0], 0);
                    e.char('中')
                });
                failed.unwrap_err();
            }
            Item::Regretted(items) if !items.iter().any(|item| matches!(item, Item::Gathered)) => {
                let position = e.position();
                write(items, e, &mut mirror.clone(), origin);
                e.truncate(position);
            }
            Item::Regretted(_) => {}
        }
    }
}

fn pad(mirror: &mut Vec<u8>, origin: usize, to: usize) {
    while !(mirror.len() - origin).is_multiple_of(to) {
        mirror.push(0);
    }
}

fn count(mirror: &mut Vec<u8>, origin: usize, order: ByteOrder, n: usize) {
    pad(mirror, origin, 4);
    mirror.extend(match order {
        ByteOrder::Little => (n as u32).to_le_bytes(),
        ByteOrder::Big => (n as u32).to_be_bytes(),
    });
}

proptest! {
    #[test]
    fn padding_is_zero_in_a_buffer_that_held_something_else(
        items in items(), scratch in 0..300usize, big: bool, gather: bool,
    ) {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let mut e = Encoder::new(vec![0xEE; scratch], order, Dialect::GIOP_1_2);
        if gather {
            e = e.gather_above(100);
        }
        let mut mirror = Vec::new();
        write(&items, &mut e, &mut mirror, 0);
        prop_assert_eq!(e.position(), mirror.len());
        prop_assert_eq!(e.finish().to_vec(), mirror);
    }
}
