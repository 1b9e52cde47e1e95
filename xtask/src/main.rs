//! Chores of the workspace, run as `cargo xtask <chore>`.
#![forbid(unsafe_code)]

mod book;
mod corpus;
mod house;
mod interop;
mod metrics;
mod nameable;
mod nextest;
mod pages;
mod path;
mod size;
mod steady;
mod strangers;
mod tidy;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "Usage: cargo xtask <chore>\n\n  book        the pages of docs/ as a book, by mdBook\n  house       measures of the source, for a comparison of two versions (see --help)\n  idl-corpus  every IDL file there is, and the Rust that comes out (see --help)\n  interop     OxORB, omniORB and JacORB call each other (see --help)\n  metrics     lines, functions and complexity of each task of the ORB (E12)\n  nameable    types in public signatures of `oxorb` that have no name there\n  path        source files that a reader opens to follow one request (see --help)\n  size        what the smallest programs take on disk and in memory (see --help)\n  steady      the tests many times beside busy processes (see --help)\n  strangers   the tests as on other machines: no IPv6, one processor, another user (see --help)\n  tidy        the rules of the house that a compiler does not check";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        Some("book") => book::main(&args[1..]),
        Some("book-links") => book::preprocess(&args[1..]),
        Some("house") => house::main(&args[1..]),
        Some("idl-corpus") => corpus::main(&args[1..]),
        Some("interop") => interop::main(&args[1..]),
        Some("metrics") => metrics::main(&args[1..]),
        Some("nameable") => nameable::main(&args[1..]),
        Some("path") => path::main(&args[1..]),
        Some("size") => size::main(&args[1..]),
        Some("steady") => steady::main(&args[1..]),
        Some("strangers") => strangers::main(&args[1..]),
        Some(strangers::WITHOUT_INET6) => strangers::without_inet6(&args[1..]),
        Some("tidy") => tidy::main(&args[1..]),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
