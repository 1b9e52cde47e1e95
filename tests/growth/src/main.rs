//! Runs each entry point of the fuzz targets with inputs of three sizes, and prints the name of each run. To be run
//! under callgrind, which dumps the cost of each run of [`measured`]: see `tests/growth.rs`.
//!
//! `growth [TEXT [K N]]` runs the cases whose name contains TEXT; of these every N-th, beginning with the K-th, from 0.
#![forbid(unsafe_code)]

mod datagrams;
mod filter;
mod giop;
mod idl;
mod octets;
mod types;
mod values;

/// Case to run. Its name is `entry point: part of the input that grows`.
struct Case {
    name: &'static str,
    run: fn(&[u8]),
    /// Size of the smallest input.
    n: usize,
    input: fn(usize) -> Vec<u8>,
}

const fn case(name: &'static str, run: fn(&[u8]), n: usize, input: fn(usize) -> Vec<u8>) -> Case {
    Case { name, run, n, input }
}

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let number = |at| Some(std::env::args().nth(at)?.parse().expect("a number"));
    let (first, step) = (number(2).unwrap_or(0), number(3).unwrap_or(1));
    let all = [
        types::cases(),
        values::cases(),
        filter::cases(),
        giop::cases(),
        datagrams::cases(),
        idl::cases(),
    ];
    for case in
        all.iter().flatten().filter(|case| case.name.contains(&only)).skip(first).step_by(step)
    {
        // One-time setup is independent of the size.
        (case.run)(&(case.input)(case.n));
        for times in [1, 2, 4] {
            let input = (case.input)(times * case.n);
            measured(|_| (), &input); // what is counted so far is for making the input
            measured(case.run, &input);
            println!("{}", case.name);
        }
    }
}

/// Function whose cost is counted.
#[inline(never)]
fn measured(run: fn(&[u8]), input: &[u8]) {
    run(input);
}
