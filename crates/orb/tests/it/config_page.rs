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
         A setting can be an argument (`-ORBName value` or `-ORBName=value`, which `Builder::args` removes \
         from the command\nline), an environment variable, or a call of the builder (`Builder::setting`, or the method \
         of this setting). Arguments\ntake precedence over the environment. An unknown `-ORB` argument is an error. An \
         unknown variable `OXORB_...` is\nignored, with one warning in the log that names the most similar one.\n\n\
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
        "\nOptions of TAO and omniORB in start scripts are also accepted: \
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

`-ORBConfigFile oxorb.toml` (`OXORB_CONFIGFILE`, `Builder::config_file`) reads a TOML file of settings and threadpools:

```toml
personality = "avionics"            # base that the other tables override; optional

[orb]                               # the settings above, under the same names
RoundTripTimeout = 250
ListenEndpoints = ["iiop://:5000"]  # a list
LockMemory = true                   # 1

[threadpool.control]                # Orb::threadpool_named("control")
borrowing = false
stack_size = 262144
buffering = { requests = 64, octets = 65536 }
message_buffers = { connections = 8, octets = 16384 }   # of each lane, created and touched before clients connect
value_arena = 131072                # octets of each thread for decoded values of @borrowed parameters, allocated at the start
front = { endpoint = "iiop://:2809", by = "mark" }      # an endpoint of all lanes: by the DSCP of a client's packets, or "processor"

[[threadpool.control.lane]]
name = "50 Hz"                      # shown in messages
priority = 32000                    # CORBA priority, 0 to 32767
threads = 2
dynamic = 4
cpu = 1
dscp = 46                           # mark of the lane's packets
socket_priority = 5                 # queue of the packets in the network device, 0 to 6
busy_poll = 50                      # microseconds for which reads poll the device (SO_BUSY_POLL)
pacing = 5000000                    # maximum octets per second of each connection (SO_MAX_PACING_RATE)
napi = "eth0"                       # kernel threads with this priority process the packets of the device
scheduling = "SCHED_RR"             # SCHED_FIFO, SCHED_RR, SCHED_OTHER, SCHED_IDLE; default: -ORBSchedPolicy
#scheduling = { runtime = 2000, deadline = 10000, period = 20000 }   # microseconds (SCHED_DEADLINE); no cpu, no dynamic

[threadpool.rest]                   # without lanes
threads = 4
concurrency = "worker-pool"         # or reactive, leader-followers (default), thread-per-request, thread-per-connection
reactor = "epoll"                   # or busy-poll:MICROSECONDS; default: -ORBReactor

[[threadpool.sensors.rate]]         # rate groups: lanes whose priorities follow from their rates
hz = 20                             # or period = 50000, in microseconds
threads = 2
cpu = 1

[schedule]                          # enforced: docs/scheduling.md
table = "schedule.json"             # from `oxorb sched emit --language json`; relative to this file
measure = true                      # for `oxorb sched watch` and `calibrate`
modules = { capacity = 64, storage = "heap", missed = "demote", threads = 1, cpu = 1, admission = true }

[access]                            # permitted calls: docs/security.md
default = "deny"                    # for requests that no rule matches; required

[[access.rule]]                     # the first rule that matches decides
allow = ["tls:CN=alice,O=Bank", "uid:1000", "10.0.0.0/8"]
object = "accounts/*"
operation = ["balance", "deposit"]
protected = true                    # only over TLS

[[access.rule]]
limit = "10.0.0.0/8"                # allows requests up to a rate for each client
requests = 100                      # per second
burst = 20                          # that may arrive together
```

The environment overrides the file, and arguments override both, regardless of their order. An error names the file and
the line. Settings that contradict each other are rejected with the reason. `-ORBSchedule schedule.json`
(`OXORB_SCHEDULE`) names only the table of `[schedule]`. `-ORBAccessRules rules.toml` (`OXORB_ACCESSRULES`) names a file
that contains only the table `[access]`, which the ORB [reads again](security.md#reload-of-the-rules) on request.

## Personalities

A personality is a consistent set of settings that is built into OxORB: `-ORBPersonality NAME` (`OXORB_PERSONALITY`,
`Builder::personality`). If `NAME` contains a `.` or `/`, it is a file of the user, which can name a personality itself.
At most 16 files can be combined, and none of them can occur twice.
"#;

const AFTER_PERSONALITIES: &str = "\n[crates/orb/personalities](../crates/orb/personalities) \
     contains the files, with the reasons for their settings.\n";
