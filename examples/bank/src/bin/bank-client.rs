//! Moves money on the account whose reference is the first argument.

use oxorb::Orb;
use oxorb_example_bank::bank::AccountRef;
use oxorb_example_bank::bank::account::WithdrawError;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let reference = orb.args().get(1).ok_or("usage: bank-client REFERENCE")?;
    let account: AccountRef = orb.resolve(reference)?;

    println!("balance {}", account.balance()?);
    println!("after a deposit of 50: {}", account.deposit(50)?);

    // Two simultaneous calls, in either order; `wait` is for callers without an executor.
    let first = account.withdraw_async(10);
    let second = account.withdraw_async(20);
    first.wait()?;
    second.wait()?;
    println!("after two withdrawals: {}", account.balance()?);

    match account.withdraw(1_000_000) {
        Err(WithdrawError::Overdrawn(overdrawn)) => {
            println!("a million is too much, by {}", overdrawn.missing);
        }
        other => println!("unexpected: {other:?}"),
    }
    Ok(())
}
