//! The navigation display.

use oxorb::values::Value;

use crate::avionics::{self, Tick, display};
use crate::screen::Screen;

/// Display that draws a map around the position of its source.
#[derive(Default)]
pub(crate) struct NavigationDisplay {
    screen: Screen,
}

impl avionics::DisplayExecutor for NavigationDisplay {
    fn title(&self) -> oxorb::Result<String> {
        Ok(self.screen.title())
    }

    fn set_title(&self, value: &str) -> oxorb::Result<()> {
        self.screen.set_title(value);
        Ok(())
    }

    fn work(&self) -> oxorb::Result<u32> {
        Ok(self.screen.work())
    }

    fn set_work(&self, value: u32) -> oxorb::Result<()> {
        self.screen.set_work(value)
    }

    fn push_update(&self, context: &display::Context, tick: &Value<Tick>) -> oxorb::Result<()> {
        let source = context.source()?;
        self.screen.draw(&source, tick)
    }
}
