//! docs/config.md matches the table of settings. `BLESS=1` regenerates the page.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it compares a page of the documentation.

use std::fmt::Write as _;

use oxorb_testkit::page::assert_up_to_date;

#[test]
fn the_page_is_up_to_date() {
    let test = "cargo test -p oxorb --test it config_page::";
    assert_up_to_date("docs/config.md", &render(), test);
}

fn render() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         <!-- Written by crates/orb/tests/it/config_page.rs from the table in \
         crates/core/src/options/settings. -->\n\n\
         Each setting can be given as an argument (`-ORBName value` or `-ORBName=value`, taken \
         out of the command line by `Builder::args`), as an environment variable, or to the \
         builder (`Builder::setting`, and methods of its own for most). An argument wins over \
         the environment. An unknown `-ORB` argument is an error.\n\n\
         | argument | environment | takes | |\n|---|---|---|---|\n",
    );
    for setting in oxorb::settings::SETTINGS {
        let value = setting.value.replace('|', "\\|");
        writeln!(
            page,
            "| `-ORB{}` | `OXORB_{}` | `{value}` | {} |",
            setting.name,
            setting.name.to_uppercase(),
            setting.help
        )
        .unwrap();
    }
    page.push_str(
        "\nOptions of TAO and omniORB in start scripts are understood, too: \
         [peer-options.md](peer-options.md).\n",
    );
    page.push_str(FILES);
    page.push_str("\n| personality | |\n|---|---|\n");
    for personality in oxorb::config::PERSONALITIES {
        writeln!(page, "| `{}` | {} |", personality.name, personality.purpose).unwrap();
    }
    page.push_str(AFTER_PERSONALITIES);
    page
}

const FILES: &str = r#"
## Files

`-ORBConfigFile oxorb.toml` (`OXORB_CONFIGFILE`, `Builder::config_file`) reads settings and threadpools from a TOML file:

```toml
personality = "avionics"            # what all else is put over; may be left out

[orb]                               # the settings above, under the same names
RoundTripTimeout = 250
ListenEndpoints = ["iiop://:5000"]  # several
LockMemory = true                   # 1

[threadpool.control]                # Orb::threadpool_named("control")
borrowing = false
stack_size = 262144
buffering = { requests = 64, octets = 65536 }
message_buffers = { connections = 8, octets = 16384 }   # of each lane, made and touched before anybody connects
value_arena = 131072                # octets of each thread for decoded values of @borrowed parameters, there from the start
front = { endpoint = "iiop://:2809", by = "mark" }      # an endpoint of all lanes: by the DSCP of a client's packets, or "processor"

[[threadpool.control.lane]]
name = "50 Hz"                      # for people
priority = 32000                    # CORBA's, 0 to 32767
threads = 2
dynamic = 4
cpu = 1
dscp = 46                           # marks its packets
socket_priority = 5                 # their queue in the network device, 0 to 6
busy_poll = 50                      # microseconds that reads look for packets in the device (SO_BUSY_POLL)
pacing = 5000000                    # octets a second that each connection sends, at most (SO_MAX_PACING_RATE)
napi = "eth0"                       # threads of the kernel at this priority take the packets of the device
scheduling = "SCHED_RR"             # SCHED_FIFO, SCHED_RR, SCHED_OTHER, SCHED_IDLE; otherwise as -ORBSchedPolicy says
#scheduling = { runtime = 2000, deadline = 10000, period = 20000 }   # microseconds (SCHED_DEADLINE); no cpu, no dynamic

[threadpool.rest]                   # without lanes
threads = 4
concurrency = "worker-pool"         # or reactive, leader-followers (default), thread-per-request, thread-per-connection
reactor = "epoll"                   # or busy-poll:MICROSECONDS; otherwise as -ORBReactor says

[[threadpool.sensors.rate]]         # rate groups: lanes whose priorities follow from their rates
hz = 20                             # or period = 50000, in microseconds
threads = 2
cpu = 1

[schedule]                          # enforced: docs/scheduling.md
table = "schedule.json"             # from `oxorb sched emit --language json`; relative to this file
measure = true                      # for `oxorb sched watch` and `calibrate`
modules = { capacity = 64, storage = "heap", missed = "demote", threads = 1, cpu = 1, admission = true }

[access]                            # who may call what: docs/security.md
default = "deny"                    # what no rule matches; has to be said

[[access.rule]]                     # the first that matches decides
allow = ["tls:CN=alice,O=Bank", "uid:1000", "10.0.0.0/8"]
object = "accounts/*"
operation = ["balance", "deposit"]
protected = true                    # over TLS

[[access.rule]]
limit = "10.0.0.0/8"                # allows up to a rate of each client
requests = 100                      # in a second
burst = 20                          # at once
```

The environment wins over the file, arguments win over both, wherever they stand. An error names file and line. Settings
that contradict each other are refused with the reason. `-ORBSchedule schedule.json` (`OXORB_SCHEDULE`) names the table
of `[schedule]` alone. `-ORBAccessRules rules.toml` (`OXORB_ACCESSRULES`) names a file with the table `[access]` alone,
which the ORB [reads again](security.md#reload-of-the-rules) on request.

## Personalities

A personality is a file that comes with OxORB, a combination that was thought through: `-ORBPersonality NAME`
(`OXORB_PERSONALITY`, `Builder::personality`). With a `.` or `/` in it, `NAME` is a file of your own,
which may name a personality itself: up to 16 files, none of them twice.
"#;

const AFTER_PERSONALITIES: &str = "\nTheir texts, with the reasons: \
     [crates/orb/personalities](../crates/orb/personalities).\n";
