//! Octets of service context 30, produced by another program from the rules of CDR and TAO's IDL.

use oxorb::rt::Priority;
use oxorb_rtscheduling::{
    BadContext, DsrtQos, Enforcement, Fp, FpParameter, Id, Kokyu, Muf, MufParameter, Scheduler,
};
use oxorb_testkit::octets;
use proptest::prelude::*;

const MUF_LITTLE: &str = "\
    010000000f000000ec010000010000002800000049444c3a6f6d672e6f72672f4b6f6b79752f5376635f437478745f445352\
    545f516f533a312e3000120000005376635f437478745f445352545f516f5300000006000000050000006775696400000000\
    150000004c000000010000001f00000049444c3a6f6d672e6f72672f4b6f6b79752f47756964547970653a312e3000000900\
    0000477569645479706500000000130000000c000000010000000a000000000000000b000000696d706f7274616e63650000\
    030000000c000000637269746963616c697479000300000011000000646573697265645f7072696f72697479000000001500\
    000040000000010000002100000049444c3a6f6d672e6f72672f5254434f5242412f5072696f726974793a312e3000000000\
    090000005072696f72697479000000000200000009000000646561646c696e65000000001500000038000000010000001f00\
    000049444c3a6f6d672e6f72672f54696d65426173652f54696d65543a312e3000000600000054696d655400000018000000\
    21000000657374696d617465645f696e697469616c5f657865637574696f6e5f74696d650000000015000000380000000100\
    00001f00000049444c3a6f6d672e6f72672f54696d65426173652f54696d65543a312e3000000600000054696d6554000000\
    18000000080000002a0000000000000000000000030000000000000000802ef168653c00204e000000000000";
const MUF_BIG: &str = "\
    000000000000000f000001ec000000000000002849444c3a6f6d672e6f72672f4b6f6b79752f5376635f437478745f445352\
    545f516f533a312e3000000000125376635f437478745f445352545f516f5300000000000006000000056775696400000000\
    000000150000004c000000000000001f49444c3a6f6d672e6f72672f4b6f6b79752f47756964547970653a312e3000000000\
    0009477569645479706500000000000000130000000c000000000000000a000000000000000b696d706f7274616e63650000\
    000000030000000c637269746963616c697479000000000300000011646573697265645f7072696f72697479000000000000\
    001500000040000000000000002149444c3a6f6d672e6f72672f5254434f5242412f5072696f726974793a312e3000000000\
    000000095072696f72697479000000000000000200000009646561646c696e65000000000000001500000038000000000000\
    001f49444c3a6f6d672e6f72672f54696d65426173652f54696d65543a312e3000000000000654696d655400000000000018\
    00000021657374696d617465645f696e697469616c5f657865637574696f6e5f74696d650000000000000015000000380000\
    00000000001f49444c3a6f6d672e6f72672f54696d65426173652f54696d65543a312e3000000000000654696d6554000000\
    0000001800000008000000000000002a000000000000000300000000003c6568f12e80000000000000004e20";
const FP_LITTLE: &str = "\
    010000000f000000ec010000010000002800000049444c3a6f6d672e6f72672f4b6f6b79752f5376635f437478745f445352\
    545f516f533a312e3000120000005376635f437478745f445352545f516f5300000006000000050000006775696400000000\
    150000004c000000010000001f00000049444c3a6f6d672e6f72672f4b6f6b79752f47756964547970653a312e3000000900\
    0000477569645479706500000000130000000c000000010000000a000000000000000b000000696d706f7274616e63650000\
    030000000c000000637269746963616c697479000300000011000000646573697265645f7072696f72697479000000001500\
    000040000000010000002100000049444c3a6f6d672e6f72672f5254434f5242412f5072696f726974793a312e3000000000\
    090000005072696f72697479000000000200000009000000646561646c696e65000000001500000038000000010000001f00\
    000049444c3a6f6d672e6f72672f54696d65426173652f54696d65543a312e3000000600000054696d655400000018000000\
    21000000657374696d617465645f696e697469616c5f657865637574696f6e5f74696d650000000015000000380000000100\
    00001f00000049444c3a6f6d672e6f72672f54696d65426173652f54696d65543a312e3000000600000054696d6554000000\
    1800000005000000010203040500000000000000000000006400000000000000000000000000000000000000";

fn muf() -> DsrtQos {
    DsrtQos {
        criticality: 3,
        deadline: 17_000_000_000_000_000,
        execution_time: 20_000,
        ..DsrtQos::new(Id::from_octets(&42_u64.to_le_bytes()).unwrap())
    }
}

fn written(qos: &DsrtQos) -> Vec<u8> {
    let mut octets = Vec::new();
    qos.append_to(&mut octets);
    octets
}

#[test]
#[cfg(target_endian = "little")]
fn what_is_written_is_what_tao_writes() {
    assert_eq!(written(&muf()), octets(MUF_LITTLE));
    let five = Id::from_octets(&[1, 2, 3, 4, 5]).unwrap();
    let fp = Kokyu::<Fp>::new(Enforcement::default());
    let mut seen = Vec::new();
    let parameter = FpParameter { priority: Priority::new(100).unwrap() };
    fp.write_context(&five, &parameter, &mut seen);
    assert_eq!(seen, octets(FP_LITTLE));
}

#[test]
fn what_tao_writes_is_read_in_either_byte_order() {
    assert_eq!(DsrtQos::parse(&octets(MUF_LITTLE)), Ok(muf()));
    let big = DsrtQos { id: Id::from_octets(&42_u64.to_be_bytes()).unwrap(), ..muf() };
    assert_eq!(DsrtQos::parse(&octets(MUF_BIG)), Ok(big));
    let scheduler = Kokyu::<Muf>::new(Enforcement::default());
    let (_, parameter) = scheduler.read_context(&octets(MUF_BIG)).unwrap();
    let expected =
        MufParameter { criticality: 3, deadline: 17_000_000_000_000_000, execution_time: 20_000 };
    assert_eq!(parameter, expected);
}

#[test]
fn what_cannot_be_used_is_named() {
    let whole = octets(MUF_BIG);
    for length in 0..whole.len() {
        assert!(DsrtQos::parse(&whole[..length]).is_err(), "{length} octets");
    }
    assert_eq!(DsrtQos::parse(&[0; 5000]), Err(BadContext::TooLong(5000)));
    let string = [0, 0, 0, 0, 0, 0, 0, 18, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    let other = DsrtQos::parse(&string).unwrap_err();
    assert_eq!(other.to_string(), "it contains a tk_string instead of a Kokyu::Svc_Ctxt_DSRT_QoS");
    let mut left = whole.clone();
    left.push(0);
    assert!(matches!(DsrtQos::parse(&left), Err(BadContext::Malformed(_))));
    let nameless = written(&DsrtQos::new(Id::from_octets(&[]).unwrap()));
    assert_eq!(DsrtQos::parse(&nameless), Err(BadContext::NoId));
    let negative = DsrtQos { desired_priority: -1, ..muf() };
    let read = Kokyu::<Fp>::new(Enforcement::default()).read_context(&written(&negative));
    assert!(matches!(read, Err(BadContext::Rejected(_))));
}

#[test]
fn an_id_that_is_too_long_is_refused() {
    // Replace the length of the id, which is in the four octets before it.
    let mut long = written(&DsrtQos::new(Id::from_octets(&[7; 64]).unwrap()));
    assert!(DsrtQos::parse(&long).is_ok());
    let start = long.windows(64).position(|it| it == [7; 64]).unwrap();
    long[start - 4..start].copy_from_slice(&68_u32.to_ne_bytes());
    assert_eq!(DsrtQos::parse(&long), Err(BadContext::IdTooLong(68)));
}

proptest! {
    #[test]
    fn all_parameters_survive(
        id in prop::collection::vec(any::<u8>(), 1..=64),
        importance: i32, criticality: i32, desired_priority: i16, deadline: u64, execution_time: u64,
    ) {
        let id = Id::from_octets(&id).unwrap();
        let qos = DsrtQos { id, importance, criticality, desired_priority, deadline, execution_time };
        prop_assert_eq!(DsrtQos::parse(&written(&qos)), Ok(qos));
    }

    #[test]
    fn any_octets_are_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..600)) {
        oxorb_rtscheduling::fuzz::context(&data);
    }

    #[test]
    fn a_context_with_a_wrong_octet_is_read_or_refused(at in 0_usize..452, octet: u8) {
        let mut data = octets(MUF_BIG);
        let at = at % data.len();
        data[at] = octet;
        oxorb_rtscheduling::fuzz::context(&data);
    }
}

#[test]
fn seeds_of_the_fuzz_target_are_read() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/scheduling_context");
    let mut read = 0;
    for seed in std::fs::read_dir(seeds).unwrap() {
        oxorb_rtscheduling::fuzz::context(&std::fs::read(seed.unwrap().path()).unwrap());
        read += 1;
    }
    assert!(read >= 4);
}
