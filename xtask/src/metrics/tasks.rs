//! Tasks of an ORB, and their source files.

/// Task, named as in the paper's Table 3 if listed there.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Task {
    pub(super) name: &'static str,
    /// Methods, lines and mean complexity in TAO and in SunSoft IIOP.
    pub(super) paper: Option<[(u32, u32, u32); 2]>,
}

const SERVER: usize = 0;
const CLIENT: usize = 1;
const SEND: usize = 2;
const READ: usize = 3;
const INVOKE: usize = 4;
const PROCESS: usize = 5;
const DISPATCH: usize = 6;
const TRANSPORT: usize = 7;
const THREADS: usize = 8;
const CDR: usize = 9;
const REFERENCES: usize = 10;
const REST: usize = 11;

/// All tasks, in the order of the report.
pub(super) const TASKS: &[Task] = &[
    task("Connection management (server)", Some([(2, 43, 7), (3, 190, 14)])),
    task("Connection management (client)", Some([(3, 11, 1), (1, 64, 16)])),
    task("Message send (client and server)", Some([(1, 46, 12), (1, 43, 12)])),
    task("Message read (client and server)", Some([(1, 67, 19), (1, 56, 18)])),
    task("Invocation (client)", Some([(2, 205, 26), (2, 188, 27)])),
    task("Message processing (client and server)", Some([(3, 41, 2), (1, 151, 24)])),
    task("Object adapter dispatch (server)", Some([(2, 79, 6), (1, 61, 10)])),
    task("Data transfer (transports)", None),
    task("Request demultiplexing to threads (lanes, queues)", None),
    task("CDR and types", None),
    task("References and profiles", None),
    task("ORB, policies, settings, interceptors", None),
];

const fn task(name: &'static str, paper: Option<[(u32, u32, u32); 2]>) -> Task {
    Task { name, paper }
}

/// Prefixes of paths below `crates`, and their tasks; the longest matching prefix counts.
const PLACES: &[(&str, usize)] = &[
    ("cdr/src/", CDR),
    ("core/src/", REST),
    ("core/src/servant/adapter", DISPATCH),
    ("core/src/client/", INVOKE),
    ("core/src/client/cache", CLIENT),
    ("core/src/client/idle_connections", CLIENT),
    ("core/src/client/launch", CLIENT),
    ("core/src/client/leader", CLIENT),
    ("core/src/client/link", CLIENT),
    ("core/src/client/multiplexed", CLIENT),
    ("core/src/client/peer", CLIENT),
    ("core/src/client/reach", CLIENT),
    ("core/src/client/receive", READ),
    ("core/src/client/replies", READ),
    ("core/src/client/selection", CLIENT),
    ("core/src/client/shared", CLIENT),
    ("core/src/client/slot", CLIENT),
    ("core/src/client/writer", SEND),
    ("core/src/options/concurrency", THREADS),
    ("core/src/conn/", READ),
    ("core/src/servant/held", REFERENCES),
    ("core/src/error/preconnect", CLIENT),
    ("core/src/protocol", REFERENCES),
    ("core/src/reference/", REFERENCES),
    ("core/src/servant/mod", DISPATCH),
    ("core/src/server/", SERVER),
    ("core/src/server/assign", THREADS),
    ("core/src/server/current_lane", THREADS),
    ("core/src/server/deferred_reply", THREADS),
    ("core/src/server/dispatch", DISPATCH),
    ("core/src/server/followers", THREADS),
    ("core/src/server/lane", THREADS),
    ("core/src/server/lending", THREADS),
    ("core/src/server/modules", THREADS),
    ("core/src/server/queue", THREADS),
    ("core/src/server/rate_groups", THREADS),
    ("core/src/server/registry", THREADS),
    ("core/src/server/reserve", THREADS),
    ("core/src/server/side_by_side", THREADS),
    ("core/src/server/sink", SEND),
    ("core/src/server/takeover", THREADS),
    ("core/src/server/threadpool", THREADS),
    ("core/src/server/watching", THREADS),
    ("giop/src/", PROCESS),
    ("giop/src/fragments", READ),
    ("giop/src/frame", READ),
    ("giop/src/header", READ),
    ("giop/src/inbox", READ),
    ("giop/src/order", SEND),
    ("lend/src/", TRANSPORT),
    ("lite/src/", PROCESS),
    ("object/src/", REFERENCES),
    ("orb/src/", REST),
    ("perfect/src/", DISPATCH),
    ("poa/src/", DISPATCH),
    ("protocols/src/", TRANSPORT),
    ("rt/src/", THREADS),
    ("sys/src/", TRANSPORT),
    ("transport/src/", TRANSPORT),
];

/// Names of files and folders of tests, models and fuzzing.
const NO_TASK: [&str; 5] = ["tests", "model", "fuzz", "faulty", "recorded"];

/// Returns the prefixes that fit none of these files: their files were moved or deleted.
#[cfg(test)]
pub(super) fn stale(files: &[String]) -> Vec<&'static str> {
    let fits = |place: &str| files.iter().any(|file| file.starts_with(place));
    PLACES.iter().map(|(place, _)| *place).filter(|place| !fits(place)).collect()
}

/// Returns the task of a file, given its path from `crates` on; `None` for tools, services and tests.
pub(super) fn of(file: &str) -> Option<&'static Task> {
    let mut parts = file.split('/').map(|part| part.trim_end_matches(".rs"));
    if parts.any(|part| NO_TASK.contains(&part)) {
        return None;
    }
    let fits = PLACES.iter().filter(|(place, _)| file.starts_with(place));
    let (_, task) = fits.max_by_key(|(place, _)| place.len())?;
    Some(&TASKS[*task])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_place_counts() {
        let name = |file| of(file).map(|task| task.name);
        assert_eq!(name("core/src/server/listener.rs"), Some(TASKS[SERVER].name));
        assert_eq!(name("core/src/server/lane_memory.rs"), Some(TASKS[THREADS].name));
        assert_eq!(name("core/src/server/lending.rs"), Some(TASKS[THREADS].name));
        assert_eq!(name("core/src/server/watching.rs"), Some(TASKS[THREADS].name));
        assert_eq!(name("giop/src/inbox/mod.rs"), Some(TASKS[READ].name));
        assert_eq!(name("protocols/src/shm/ring.rs"), Some(TASKS[TRANSPORT].name));
        assert_eq!(name("cdr/src/model.rs"), None);
        assert_eq!(name("cli/src/main.rs"), None);
    }
}
