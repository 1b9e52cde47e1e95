//! The examples of docs/mapping.md.

use oxorb::values::Value;

use crate::mapping;
use mapping::{Disc, Form, Frozen, Hop, Overdrawn, Purse, Ring, Ticket};

impl mapping::PurseOperations for Purse {
    fn count(&self) -> oxorb::Result<i64> {
        Ok(self.cents)
    }

    fn spend(&mut self, amount: u32) -> Result<(), mapping::purse::SpendError> {
        let left = self.cents - i64::from(amount);
        if left < 0 {
            return Err(Overdrawn { missing: left.unsigned_abs() }.into());
        }
        self.cents = left;
        Ok(())
    }

    fn owner(&self) -> oxorb::Result<String> {
        Ok(self.name.clone())
    }

    fn set_owner(&mut self, value: &str) -> oxorb::Result<()> {
        self.name = value.into();
        Ok(())
    }
}

impl mapping::FigureOperations for Disc {
    fn area(&self) -> oxorb::Result<f64> {
        Ok(self.radius * self.radius * 3.0)
    }
}

impl mapping::FigureOperations for Ring {
    fn area(&self) -> oxorb::Result<f64> {
        Ok(self.base.area()? - self.hole * self.hole * 3.0)
    }
}

impl mapping::TicketFactory for Ticket {
    fn to(station: &str, way: &Hop) -> Result<Value<Ticket>, mapping::ticket::ToError> {
        if station.is_empty() {
            return Err(Frozen {}.into());
        }
        Ok(Value::new(Ticket { station: station.into(), way: *way }))
    }
}

impl mapping::Printable for Form {
    fn print(&self) -> oxorb::Result<String> {
        Ok(self.text.clone())
    }
}
