//! The repository answers or refuses any request of a client, and any damaged file.

use oxorb::Interface as _;
use oxorb::values::TypeCode;
use oxorb_cdr::{ByteOrder, Decode as _, Decoder, Dialect};
use oxorb_ifr::Store;
use oxorb_ifr::corba::*;

use super::{Folder, Served, radar};

#[test]
fn odd_questions_have_answers() {
    let served = Served::new(&[radar()]);
    let repository = &served.repository;
    let long = "x".repeat(100_000);
    let deep = "a::".repeat(50_000);
    for name in
        ["", "::", ":::", "::::", " ", "radar::", "::radar::", "IDL:", "\u{0}1", &long, &deep]
    {
        // The lookup returns nothing, or an entry of the repository. Only text that cannot be sent causes an exception.
        if let Ok(Some(found)) = repository.lookup(name) {
            assert!(found.absolute_name().unwrap().starts_with("::"), "{name:?}");
        }
        let _ = repository.lookup_id(name).map(|found| assert!(found.is_none(), "{name:?}"));
        for levels in [i32::MIN, -1, 0, 1, i32::MAX] {
            let _ = repository.lookup_name(name, levels, DefinitionKind::DkAll, false);
        }
    }
    for most in [i32::MIN, -1, 0, 1, i32::MAX] {
        for kind in [DefinitionKind::DkNone, DefinitionKind::DkAll, DefinitionKind::DkFinder] {
            repository.describe_contents(kind, false, most).unwrap();
        }
    }
    let nested = (0..200).fold(TypeCode::LONG, |inner, _| TypeCode::sequence(inner));
    let _ = repository.get_canonical_typecode(&nested);
    // A sequence whose element is an indirection to the sequence itself.
    let words = [19, 16, 0, u32::MAX, 0_u32.wrapping_sub(16), 0];
    let octets: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
    let mut d = Decoder::new(&octets, ByteOrder::Big, Dialect::GIOP_1_2);
    let endless = TypeCode::decode(&mut d).unwrap();
    assert_eq!(repository.get_canonical_typecode(&endless), Ok(endless));
    assert!(repository.lookup("radar::Station").unwrap().is_some());
}

/// Requests for operations of another kind of object.
#[test]
fn operations_of_other_kinds_are_refused() {
    let served = Served::new(&[radar()]);
    let structure: StructDefRef = served.found("radar::Hop");
    let as_interface: InterfaceDefRef = structure.unchecked_narrow();
    assert!(as_interface.describe_interface().is_err());
    let as_attribute: ExtAttributeDefRef = structure.unchecked_narrow();
    assert!(as_attribute.get_exceptions().is_err());
    assert_eq!(structure.members().unwrap().len(), 3);
}

#[test]
fn a_damaged_store_is_an_error() {
    let folder = Folder::new("damaged");
    let place = folder.0.join("store");
    Store::open(&place).unwrap().put(&[radar()]).unwrap();
    let whole = std::fs::read(&place).unwrap();
    let mut refused = [0, 0];
    // Each step damages a copy of the store: it is truncated, or 64 octets are zeroed or inverted.
    for step in 0..48 {
        let mut octets = whole.clone();
        let at = whole.len() / 48 * step;
        match step % 3 {
            0 => octets.truncate(at),
            1 => octets[at..].iter_mut().take(64).for_each(|octet| *octet = 0),
            _ => octets[at..].iter_mut().take(64).for_each(|octet| *octet ^= 0xFF),
        }
        let copy = folder.0.join(format!("copy{step}"));
        std::fs::write(&copy, octets).unwrap();
        let read = Store::read(&copy).map(|units| assert!(units.len() <= 1));
        let changed = Store::open(&copy).and_then(|store| {
            store.put(&[radar()])?;
            store.remove("radar.idl".as_ref())?;
            store.units().map(drop)
        });
        for (done, refused) in [read, changed].into_iter().zip(&mut refused) {
            if let Err(error) = done {
                *refused += 1;
                assert!(error.to_string().contains("copy"), "{error}");
            }
        }
    }
    assert!(refused.iter().all(|refused| *refused > 0), "{refused:?}");
    assert_eq!(Store::read(&place).unwrap().len(), 1);
}
