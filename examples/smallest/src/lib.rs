//! What `build.rs` made of `idl/smallest.idl`, its servant, and the end of all three programs.

oxorb::include_idl!("smallest");

/// Servant that adds one.
#[derive(Debug)]
pub struct Adder;

impl smallest::Counter for Adder {
    fn next(&self, number: i64) -> oxorb::Result<i64> {
        Ok(number.wrapping_add(1))
    }
}

/// Waits until standard input ends: whoever started the program can look at it until then.
pub fn wait_for_end() {
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}
