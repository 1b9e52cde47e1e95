//! Ordinary threads that keep all processors busy.

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Busy threads; dropping this value ends them.
pub(super) struct Load {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts a thread for each processor, which alternately computes, allocates memory and writes to /dev/null.
    pub(super) fn begin() -> Load {
        let ends = Arc::new(AtomicBool::new(false));
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let start = |_| {
            let ends = Arc::clone(&ends);
            let thread = std::thread::Builder::new().name("doctor-load".to_owned());
            // Ignore a thread that cannot be started: fewer threads only mean less load.
            thread.spawn(move || work(&ends)).ok()
        };
        let threads = (0..count).filter_map(start).collect();
        Load { ends, threads }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads.len()
    }
}

fn work(ends: &AtomicBool) {
    const MEMORY: usize = 1 << 20;
    let mut nowhere = OpenOptions::new().write(true).open("/dev/null").ok();
    let mut value = 1_u64;
    while !ends.load(Ordering::Relaxed) {
        for _ in 0..20_000 {
            value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        let memory = black_box(vec![value as u8; MEMORY]);
        if let Some(nowhere) = &mut nowhere {
            let _ = nowhere.write_all(&memory);
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
