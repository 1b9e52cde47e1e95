//! Time that the host of a virtual machine took from a processor. No thread runs in this time, however urgent it is.
//! The analysis of this machine's threads does not include this time.

use std::time::Duration;

/// Length of a tick of `/proc/stat` (`USER_HZ`, which is 100 on every architecture that Linux reports it for).
const TICK: Duration = Duration::from_millis(10);

/// Returns the time stolen from a processor since the machine started; `None` if the kernel does not report it.
pub(super) fn stolen(cpu: usize) -> Option<Duration> {
    of(&std::fs::read_to_string("/proc/stat").ok()?, cpu)
}

/// Returns the eighth number of a processor's line.
fn of(stat: &str, cpu: usize) -> Option<Duration> {
    let name = format!("cpu{cpu}");
    let mut fields = stat.lines().map(str::split_ascii_whitespace);
    let mut fields =
        fields.find_map(|mut fields| (fields.next() == Some(&name)).then_some(fields))?;
    let ticks: u32 = fields.nth(7)?.parse().ok()?;
    Some(TICK * ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_processor_is_read() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\ncpu10 1 2 3 4 5 6 7 42 0 0\nintr 5\n";
        assert_eq!(of(stat, 1), Some(Duration::from_millis(80)));
        assert_eq!(of(stat, 10), Some(Duration::from_millis(420)));
        assert_eq!(of(stat, 0), None);
        assert_eq!(of("cpu0 1 2 3", 0), None);
    }
}
