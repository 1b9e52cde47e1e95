//! Any input of a peer costs at most in proportion to its octets: valgrind counts the instructions of each fuzz
//! target's entry point for worst-case inputs of three sizes.

use std::collections::BTreeMap;
use std::process::Command;
use std::{env, fs, thread};

use oxorb_testkit::peers::missing;

/// Greatest permitted ratio of two successive increases of the cost: 2 is linear growth, and 4 is quadratic growth.
const MOST: f64 = 2.3;

/// Number of instructions below which the growth of a table or a buffer dominates.
const SLIGHT: i64 = 20_000;

#[test]
#[ignore = "minutes under valgrind: .ci/full valgrind"]
fn every_entry_point_takes_linear_time() {
    // Two halves run at the same time, because the counts do not depend on other processes.
    let halves = thread::scope(|scope| {
        let other = scope.spawn(|| counted(1));
        [counted(0), other.join().expect("counted")]
    });
    let [Some(mut costs), Some(other)] = halves else {
        return;
    };
    costs.extend(other);
    assert!(costs.len() > 30, "{costs:?}");
    let mut wrong = Vec::new();
    for (name, cost) in &costs {
        let [one, two, four] = cost[..] else {
            panic!("{name} was not measured three times: {cost:?}");
        };
        // A rejected input may cost less than an accepted one.
        let growth = (four - two) as f64 / (two - one).abs().max(1) as f64;
        println!("{growth:5.2}  {name}: {one}, {two}, {four}");
        if growth > MOST && four - two > SLIGHT {
            wrong.push(format!("{name} grows by {growth:.2}: {one}, {two}, {four}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the costs of one half of the cases, by name; `None` without valgrind, which is an error if
/// `OXORB_REQUIRE_TOOLS` requires it.
fn counted(half: usize) -> Option<BTreeMap<String, Vec<i64>>> {
    let folder = env::temp_dir().join(format!("oxorb-growth-{}-{half}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let counted = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-after=*measured*"])
        .arg(format!("--callgrind-out-file={}", folder.join("out").display()))
        .arg(env!("CARGO_BIN_EXE_growth"))
        .args(["", &half.to_string(), "2"])
        .output();
    let counted = match counted {
        Ok(counted) => counted,
        Err(error) => {
            missing("valgrind", &error.to_string());
            return None;
        }
    };
    let log = String::from_utf8_lossy(&counted.stderr);
    assert!(counted.status.success(), "{log}");
    let names = String::from_utf8(counted.stdout).expect("names");
    let mut costs = BTreeMap::<String, Vec<i64>>::new();
    for (at, name) in names.lines().enumerate() {
        // An empty run precedes each.
        let cost = inclusive(&folder.join(format!("out.{}", 2 * at + 2)));
        costs.entry(name.to_owned()).or_default().push(cost);
    }
    fs::remove_dir_all(&folder).expect("made above");
    Some(costs)
}

/// Returns the cost of one run, from the output of callgrind.
fn inclusive(file: &std::path::Path) -> i64 {
    let text = fs::read_to_string(file).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; callgrind dumps at the end of `measured`, so the \
                 program must keep its symbols (profile `strip = \"none\"`)",
            file.display()
        )
    });
    let total = text.lines().rev().find_map(|line| {
        let counts = line.strip_prefix("totals:").or_else(|| line.strip_prefix("summary:"))?;
        counts.trim().parse().ok()
    });
    total.unwrap_or_else(|| panic!("{}: no count", file.display()))
}
