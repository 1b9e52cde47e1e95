//! Configuration files, and the errors of wrong ones.

use std::time::Duration;

use oxorb::config::{ConfigError, Configuration, PERSONALITIES};
use oxorb_core::{ClientConnections, Concurrency, Options, Serving};

fn applied(text: &str) -> Result<Options, ConfigError> {
    let mut options = Options::default();
    Configuration::parse(text, "x.toml")?.apply(&mut options)?;
    Ok(options)
}

fn problem(text: &str) -> String {
    applied(text).unwrap_err().to_string()
}

#[test]
fn a_file_says_what_arguments_say() {
    let options = applied(
        "[orb]\nConcurrency = \"leader-followers:3\"\nMaxConnections = 0x10\nLockMemory = true\n\
         InitRef = [\"A=corbaloc::h/A\", \"B=corbaloc::h/B\"]\n",
    )
    .unwrap();
    assert_eq!(options.concurrency, Concurrency::LeaderFollowers { threads: 3 });
    assert_eq!(options.max_connections, 16);
    assert!(options.realtime.lock_memory);
    assert_eq!(options.init_refs.len(), 2);
}

#[test]
fn a_file_is_put_over_its_personality() {
    let text = "personality = \"avionics\"\n[orb]\nRoundTripTimeout = 7\n";
    let options = applied(text).unwrap();
    assert_eq!(options.client_connections, ClientConnections::Private);
    assert_eq!(options.round_trip_timeout.unwrap().as_millis(), 7);
}

#[test]
fn a_file_is_no_personality_of_itself() {
    let folder = std::env::temp_dir().join(format!("oxorb-config-circle-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("below")).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    let put = |name: &str, over: &str| {
        std::fs::write(path(name), format!("personality = {over:?}\n")).unwrap();
    };
    put("own.toml", &path("own.toml"));
    put("one.toml", &path("other.toml"));
    put("other.toml", &path("below/../one.toml"));
    for name in ["own.toml", "one.toml"] {
        let wanted = format!("{name}: is its own personality");
        let error = Configuration::read(path(name).as_ref()).unwrap_err().to_string();
        assert!(error.contains(&wanted), "{error}");
        let error = problem(&format!("personality = {:?}\n", path(name)));
        assert!(error.contains(&wanted), "{error}");
    }
    // A chain that is not circular may have 16 files, and is refused at the seventeenth.
    (1..17).for_each(|n| put(&format!("{n}.toml"), &path(&format!("{}.toml", n + 1))));
    put("17.toml", "general");
    Configuration::read(path("2.toml").as_ref()).unwrap();
    let error = Configuration::read(path("1.toml").as_ref()).unwrap_err().to_string();
    assert!(error.contains("17.toml: is the personality of too many files"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_personality_can_be_used() {
    for personality in PERSONALITIES {
        let read = Configuration::personality(personality.name).unwrap();
        let mut options = Options::default();
        read.apply(&mut options).unwrap();
        options.check().unwrap();
    }
    let rates = Configuration::personality("avionics").unwrap();
    assert_eq!(rates.threadpools()[0].0, "rates");
}

#[test]
fn a_threadpool_of_the_same_name_is_replaced() {
    let text = "personality = \"avionics\"\n[threadpool.rates]\nthreads = 3\n[threadpool.other]\nthreads = 1\n";
    let read = Configuration::parse(text, "x.toml").unwrap();
    let names: Vec<_> = read.threadpools().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["other", "rates"]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let cases = [
        ("[orb]\n\nMaxHeld = \"many\"\n", "x.toml:3: MaxHeld = many: expected a number"),
        (
            "[orb]\nMaxHelt = 3\n",
            "x.toml:2: MaxHelt = 3: there is no such option; did you mean -ORBMaxHeld?",
        ),
        (
            "[orb]\nMaxHeld = 1.5\n",
            "x.toml:2: expected a text, a number, true or false, or several of these in brackets",
        ),
        ("[orb]\nMaxHeld = -1\n", "x.toml:2: expected a number from 0 to 18446744073709551615"),
        (
            "\n[obr]\n",
            "x.toml:2: there is no entry `obr` here; expected one of personality, orb, threadpool, schedule, access",
        ),
        ("orb = 3\n", "x.toml:1: expected a table"),
        (
            "personality = \"bold\"\n",
            "personality bold: there is no such personality; the built-in ones are avionics, imaging, general, tao, and a file name selects another one",
        ),
        (
            "[threadpool.a]\n",
            "x.toml:1: a threadpool can have only one of lanes, rates and threads",
        ),
        (
            "[threadpool.a]\nthreads = 1\nthreds = 2\n",
            "x.toml:3: there is no entry `threds` here; expected one of lane, front, rate, concurrency, reactor, threads, dynamic, borrowing, stack_size, buffering, message_buffers, value_arena",
        ),
        ("[[threadpool.a.lane]]\nthreads = 2\n", "x.toml:1: a lane needs a priority"),
        (
            "[[threadpool.a.lane]]\npriority = 40000\n",
            "x.toml:2: expected a number from 0 to 32767",
        ),
        (
            "[threadpool.a]\nthreads = 2\n[[threadpool.a.rate]]\nhz = 2\n",
            "x.toml:1: a threadpool can have only one of lanes, rates and threads",
        ),
        (
            "[threadpool.a]\nthreads = 2\nconcurrency = \"reactive\"\n",
            "x.toml:3: \"reactive\" requires one thread, or one for each lane",
        ),
        (
            "[threadpool.a]\nthreads = 2\nconcurrency = \"pool\"\n",
            "x.toml:3: expected \"reactive\", \"leader-followers\", \"worker-pool\", \"thread-per-request\" or \
             \"thread-per-connection\"",
        ),
        (
            "[threadpool.a]\nthreads = 2\nreactor = \"busy-poll\"\n",
            "x.toml:3: expected epoll or busy-poll:MICROSECONDS",
        ),
        (
            "[[threadpool.a.rate]]\nhz = 5\nperiod = 7\n",
            "x.toml:1: a rate needs hz, or a period in microseconds",
        ),
        (
            "[[threadpool.a.rate]]\nhz = 0\n",
            "x.toml:1: a rate needs hz, or a period in microseconds, greater than 0",
        ),
        (
            "[[threadpool.a.lane]]\npriority = 1\ndscp = 64\n",
            "x.toml:3: expected a number from 0 to 63",
        ),
        (
            "[threadpool.a]\nthreads = 2\nmessage_buffers = { octets = 4096 }\n",
            "x.toml:3: message buffers must have the form { connections = N, octets = N }",
        ),
        (
            "[threadpool.a]\nfront = { endpoint = \"iiop://:1\" }\n[[threadpool.a.lane]]\npriority = 1\n",
            "x.toml:2: a front must have the form { endpoint = \"iiop://:PORT\", by = \"mark\" }",
        ),
        (
            "[threadpool.a]\nfront = { endpoint = \"iiop://:1\", by = \"hash\" }\n[[threadpool.a.lane]]\npriority = 1\n",
            "x.toml:2: expected \"mark\" or \"processor\"",
        ),
        (
            "[[threadpool.a.lane]]\npriority = 1\npacing = 0\n",
            "x.toml:3: the pacing of a lane must be at least 1 octet per second",
        ),
        (
            "[[threadpool.a.lane]]\npriority = 1\nsocket_priority = 7\n",
            "x.toml:3: expected a number from 0 to 6",
        ),
        (
            "[[threadpool.a.lane]]\npriority = 1\nscheduling = \"FIFO\"\n",
            "x.toml:3: expected \"SCHED_FIFO\", \"SCHED_RR\", \"SCHED_OTHER\", \"SCHED_IDLE\" or, for SCHED_DEADLINE, \
             { runtime = 2000, deadline = 10000, period = 20000 } in microseconds",
        ),
        (
            "[[threadpool.a.lane]]\npriority = 1\nscheduling = { runtime = 5 }\n",
            "x.toml:3: a reservation needs a runtime and a period, in microseconds, and can have a deadline",
        ),
        (
            "[[threadpool.a.lane]]\npriority = 1\nscheduling = { budget = 5 }\n",
            "x.toml:3: there is no entry `budget` here; expected one of runtime, deadline, period",
        ),
        ("[threadpool.a]\nthreads = 2\nborrowing = 1\n", "x.toml:3: expected true or false"),
        (
            "[threadpool.a]\nthreads = 2\nbuffering = { request = 1 }\n",
            "x.toml:3: there is no entry `request` here; expected one of requests, octets, order, drop",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(problem(text), expected, "{text}");
    }
    let missing = Configuration::read(std::path::Path::new("no/such.toml")).unwrap_err();
    assert!(missing.to_string().starts_with("no/such.toml: cannot be read: "));
}

#[test]
fn a_threadpool_names_its_architecture() {
    let text = "
        [threadpool.one]
        concurrency = \"reactive\"
        reactor = \"busy-poll:200\"

        [threadpool.queue]
        threads = 4
        concurrency = \"worker-pool\"
        buffering = { requests = 32 }

        [threadpool.each]
        concurrency = \"thread-per-connection\"

        [threadpool.laned]
        concurrency = \"reactive\"

        [[threadpool.laned.lane]]
        priority = 1000
        threads = 1

        [threadpool.laned-each]
        concurrency = \"thread-per-connection\"

        [[threadpool.laned-each.lane]]
        priority = 1000
        threads = 1

        [[threadpool.rates.rate]]
        hz = 20
        threads = 2
        cpu = 1

        [[threadpool.rates.rate]]
        period = 1000000
    ";
    let orb = oxorb_core::Orb::new({
        let mut options = Options::default();
        options.listen_on("iiop://127.0.0.1:0").unwrap();
        options
    });
    let read = Configuration::parse(text, "x.toml").unwrap();
    for (name, plan) in read.threadpools() {
        let id = orb.create_threadpool(plan.clone()).unwrap();
        let pool = orb.threadpool(id).unwrap();
        let expected = match name.as_str() {
            "one" | "laned" | "rates" => Serving::Reader,
            "queue" => Serving::Queue,
            _ => Serving::ThreadPerConnection,
        };
        assert_eq!(pool.serving, expected, "{name}");
        if name == "rates" {
            assert_eq!(pool.periods, [50, 1000].map(Duration::from_millis));
            assert_eq!(plan.lanes()[0].cpu, Some(1));
        }
    }
    orb.shutdown(true).unwrap();
}

/// A table as `oxorb sched emit --language json` writes it.
const TABLE: &str = r#"{
  "strategy": "MUF",
  "model": "band",
  "operations": [{
    "name": "nav::Display::show", "handle": 1, "os_priority": 98, "preemption_priority": 0, "subpriority": 2,
    "worst_case_ns": 1000, "period_ns": 5000, "deadline_ns": 4000, "criticality": "HIGH", "importance": "LOW",
    "critical": true
  }],
  "queues": [{"preemption_priority": 0, "os_priority": 98, "dispatching": "laxity"}]
}"#;

#[test]
fn a_schedule_is_read_with_its_table() {
    let folder = std::env::temp_dir().join(format!("oxorb-schedule-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("table.json"), TABLE).unwrap();
    let write = |text: &str| {
        let file = folder.join("oxorb.toml");
        std::fs::write(&file, text).unwrap();
        Configuration::read(&file)
    };
    let read = write(
        "[schedule]\ntable = \"table.json\"\nmeasure = true\n\
         modules = { capacity = 3, storage = \"list\", missed = \"drop\", admission = true, cpu = 1 }\n",
    );
    let mut options = Options::default();
    read.unwrap().apply(&mut options).unwrap();
    let scheduler = options.realtime.scheduler.unwrap();
    assert!(scheduler.measure);
    let modules = scheduler.modules.unwrap();
    assert_eq!((modules.capacity, modules.cpu), (3, Some(1)));
    assert!(modules.admission && !modules.reserve);
    let row = &scheduler.table.operations()[0];
    assert_eq!((row.os_priority, row.deadline), (98, 4_000));

    for (text, expected) in [
        ("[schedule]\nmeasure = true\n", "a schedule needs a table"),
        ("[schedule]\ntable = \"no.json\"\n", "no.json: cannot be read"),
        (
            "[schedule]\ntable = \"table.json\"\nmodules = { capacity = 0 }\n",
            "oxorb.toml:3: expected a number, 1 or greater",
        ),
        (
            "[schedule]\ntable = \"table.json\"\nmodules = { missed = \"never\" }\n",
            "expected \"run\", \"demote\" or \"drop\"",
        ),
        (
            "[schedule]\ntable = \"table.json\"\nmodules = { size = 1 }\n",
            "there is no entry `size` here",
        ),
    ] {
        let told = write(text).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }
    for (from, to, expected) in [
        ("\"HIGH\"", "\"HUGE\"", "the criticality of nav::Display::show"),
        ("laxity", "chance", "\"chance\" is not an order of a queue"),
        ("\"band\"", "\"bond\"", "there is no dispatching model \"bond\""),
        // R4: a schedule that cannot be enforced is refused, and so is a table that does not name
        // the model of the analysis.
        ("\"band\"", "\"urgency\"", "analysed with full preemption by laxity (model urgency)"),
        (
            "\"model\": \"band\",",
            "",
            "does not name the analysed dispatching model; generate it again with `oxorb sched emit",
        ),
        (
            "\"preemption_priority\": 0, \"sub",
            "\"preemption_priority\": 4, \"sub",
            "dispatched from queue 4",
        ),
    ] {
        std::fs::write(folder.join("table.json"), TABLE.replace(from, to)).unwrap();
        let told = Configuration::schedule(&folder.join("table.json")).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }
    // Accept an older table, which names no model, if it has only static queues, because these
    // behave the same under every model.
    let older = TABLE.replace("\"model\": \"band\",", "").replace("laxity", "static");
    std::fs::write(folder.join("table.json"), older).unwrap();
    Configuration::schedule(&folder.join("table.json")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark() {
    let path = std::env::temp_dir().join(format!("oxorb-marked-{}.toml", std::process::id()));
    std::fs::write(&path, "\u{feff}[orb]\nRoundTripTimeout = 250\n").unwrap();
    let mut options = Options::default();
    let applied = Configuration::read(&path).and_then(|read| read.apply(&mut options));
    std::fs::remove_file(&path).unwrap();
    applied.unwrap();
    assert_eq!(options.round_trip_timeout, Some(Duration::from_millis(250)));
}

/// Configuration files and tables of schedules are read up to a size limit.
#[test]
fn files_without_end_are_refused() {
    let wrong = Configuration::read(std::path::Path::new("/dev/zero")).unwrap_err();
    assert!(wrong.to_string().contains("16777216 octets"), "{wrong}");
    let text = "[schedule]\ntable = \"/dev/zero\"\n";
    let found =
        Configuration::parse(text, "here").and_then(|read| read.apply(&mut Options::default()));
    let wrong = found.map(drop).unwrap_err();
    assert!(wrong.to_string().contains("16777216 octets"), "{wrong}");
}
