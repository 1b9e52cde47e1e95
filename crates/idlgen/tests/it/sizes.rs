//! Sizes of requests and replies, computed from the IDL.

use oxorb_idl::{Options, compile};
use oxorb_idlgen::{Bounds, sizes};

const IDL: &str = "
module m {
  struct Hop { octet kind; long distance; short lane; };
  typedef sequence<Hop, 2> Route;
  exception Small {};
  exception Large { string<10> why; };
  interface Desk {
    readonly attribute long long balance;
    Hop next(in Hop from, inout short lane) raises (Small, Large);
    void follow(in Route legs, in string name);
    oneway void tick(in octet what);
  };
  local interface Here { void stay(in Here other); };
};
";

fn table(test: &str) -> oxorb_idlgen::Sizes {
    let path = std::env::temp_dir().join(format!("oxorb-sizes-{test}-{}.idl", std::process::id()));
    std::fs::write(&path, IDL).unwrap();
    let compiled = compile(&[&path], &Options::default());
    std::fs::remove_file(&path).unwrap();
    sizes(&compiled.unwrap().model)
}

#[test]
fn bounds_of_every_operation() {
    let bounds = |min, max| Bounds { min, max };
    let table = table("bounds");
    let names: Vec<_> = table.rows.iter().map(|row| &*row.operation).collect();
    assert_eq!(names, ["_get_balance", "next", "follow", "tick"]);
    let [balance, next, follow, tick] = &table.rows[..] else { unreachable!("counted") };
    assert_eq!(balance.request, bounds(0, Some(0)));
    assert_eq!(balance.exceptions, None);
    assert_eq!(next.request.min, 7 + 2);
    assert!(next.request.max.is_some_and(|max| (12..=16).contains(&max)));
    let (small, large) = ("IDL:m/Small:1.0".len() as u64, "IDL:m/Large:1.0".len() as u64);
    let exceptions = next.exceptions.unwrap();
    assert_eq!(exceptions.min, small + 5);
    assert!(exceptions.max.unwrap() > large + 5 + 4 + 11);
    assert_eq!(follow.request, bounds(8, None), "the string has no bound");
    assert_eq!(follow.reply, Some(bounds(0, Some(0))));
    assert_eq!((tick.request, tick.reply), (bounds(1, Some(1)), None));
}

#[test]
fn the_table() {
    let text = table("text").to_string();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("operation"), "{text}");
    assert_eq!(
        lines[3].split_whitespace().collect::<Vec<_>>(),
        ["m::Desk::follow", "8", "or", "more", "0", "-"]
    );
    assert_eq!(lines[4].split_whitespace().collect::<Vec<_>>(), ["m::Desk::tick", "1", "-", "-"]);
}
