//! Serves one account.

use std::sync::Mutex;

use oxorb::poa::{IdAssignment, Lifespan, Policies};
use oxorb::{Interface as _, Orb};
use oxorb_example_bank::bank::account::WithdrawError;
use oxorb_example_bank::bank::{Account, AccountRef, Overdrawn};

struct Teller {
    balance: Mutex<i64>,
}

impl Account for Teller {
    fn balance(&self) -> oxorb::Result<i64> {
        Ok(*self.balance.lock().expect("no code panics while it holds the balance"))
    }

    fn deposit(&self, amount: u32) -> oxorb::Result<i64> {
        let mut balance = self.balance.lock().expect("no code panics while it holds the balance");
        *balance += i64::from(amount);
        Ok(*balance)
    }

    fn withdraw(&self, amount: u32) -> Result<i64, WithdrawError> {
        let mut balance = self.balance.lock().expect("no code panics while it holds the balance");
        let left = *balance - i64::from(amount);
        if left < 0 {
            return Err(Overdrawn { missing: left.unsigned_abs() }.into());
        }
        *balance = left;
        Ok(left)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let accounts = orb.root_poa().create_poa(
        "accounts",
        Policies {
            lifespan: Lifespan::Persistent,
            id_assignment: IdAssignment::User,
            ..Policies::default()
        },
    )?;
    let teller = Teller { balance: Mutex::new(100) };
    let account: AccountRef = accounts.activate_with_id("savings", teller)?;
    orb.bind("Account", &account);
    orb.shutdown_on_signal()?;
    println!("{}", account.to_ior());
    orb.run();
    Ok(())
}
