//! Settings of serving: requests that wait, priorities, lanes and budgets.

use std::time::Duration;

use super::Setting;
use crate::options::LANE_ENDPOINTS;
use crate::options::lane_resources::{ARENA_FULL, ArenaFull, CALLBACK_THREADS, CallbackThreads};
use crate::options::value::{
    milliseconds, number, positive, priority_mapping, scheduling_class, zero_or_one,
};
use crate::scheduler::budget::{BudgetError, parse_rule};
use crate::threads::rt::{LaneEndpoints, LaneNumber};

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: "MaxHeld",
        value: "N",
        help: "Most requests that wait at a holding POA manager, for their turn in a POA with a single thread, or for the main thread; more are TRANSIENT. Default 256.",
        apply: |options, text| {
            options.max_held = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: "HoldTime",
        value: "MILLISECONDS",
        help: "How long each of them waits before it is TRANSIENT, and how long the object adapter waits for requests to end. Default 30000.",
        apply: |options, text| {
            options.hold_time = milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "CallbackThreads",
        value: CALLBACK_THREADS,
        help: "Which threads run the reply handlers of asynchronous calls: callback threads of the ORB, one for each CORBA priority, or for calls from threads of a lane that lane's. Default shared.",
        apply: |options, text| {
            options.callback_threads = CallbackThreads::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ValueArena",
        value: "OCTETS",
        help: "Memory that each thread which serves requests keeps for decoded values of @borrowed parameters, at least 1024. Default 65536.",
        apply: |options, text| {
            options.value_arena = match number(text)? {
                octets @ 1024.. => octets,
                _ => return Err("expected at least 1024 octets".to_owned()),
            };
            Ok(())
        },
    },
    Setting {
        name: "ValueArenaFull",
        value: ARENA_FULL,
        help: "What becomes of a request whose values need more: the heap gives more until it ends, or it is refused with NO_MEMORY. Default heap.",
        apply: |options, text| {
            options.value_arena_full = ArenaFull::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "SchedPolicy",
        value: "SCHED_OTHER|SCHED_FIFO|SCHED_RR",
        help: "Scheduling class of the ORB's threads, and of application threads that are given a priority. Default SCHED_OTHER: priorities do not reach the scheduler.",
        apply: |options, text| {
            options.realtime.class = scheduling_class(text)?;
            Ok(())
        },
    },
    Setting {
        name: "PriorityMapping",
        value: "direct|linear|continuous",
        help: "Which priority of the scheduling class stands for a CORBA priority. Default linear.",
        apply: |options, text| {
            options.realtime.mapping = priority_mapping(text)?;
            Ok(())
        },
    },
    Setting {
        name: "TimeProbes",
        value: "0|1",
        help: "Whether requests leave behind when they passed which stage (under 50 ns for each). Default 0.",
        apply: |options, text| {
            options.time_probes = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxUnanswered",
        value: "N",
        help: "Most requests that servants keep to answer them later (AMH); more are TRANSIENT. Default 10000.",
        apply: |options, text| {
            options.max_unanswered = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: LANE_ENDPOINTS,
        value: "POOL:LANE=ENDPOINTS",
        help: "Where a lane of a threadpool listens (TAO's form with a space is understood, too); * for all. Default: the ports that follow those of -ORBListenEndpoints, in the order in which threadpools are created, where these are fixed; otherwise ports that the system chooses.",
        apply: |options, text| {
            if !options.keep_unread(LANE_ENDPOINTS, text) {
                let lane = LaneEndpoints::parse(text, &options.protocols)?;
                options.realtime.lane_endpoints.push(lane);
            }
            Ok(())
        },
    },
    Setting {
        name: "LanesOnOnePort",
        value: "0|1",
        help: "Whether all lanes share the ports of -ORBListenEndpoints, which are of TCP or TLS then: the first message of a connection selects its lane, and requests for objects of other lanes are passed to these. Default 0.",
        apply: |options, text| {
            options.realtime.lanes_on_one_port = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "LaneCPU",
        value: "POOL:LANE=CPU",
        help: "The only processor that threads of a lane run on, where its threadpool does not say; * for all. Default: any.",
        apply: |options, text| {
            let cpu = LaneNumber::parse(text, u16::MAX)?;
            options.realtime.lane_cpus.push(cpu);
            Ok(())
        },
    },
    Setting {
        name: "LaneDSCP",
        value: "POOL:LANE=DSCP",
        help: "Marks the packets of a lane's connections, 0 to 63, where its threadpool does not say; * for all. Default: as the system does.",
        apply: |options, text| {
            let dscp = LaneNumber::parse(text, 63)?;
            options.realtime.lane_dscps.push(dscp);
            Ok(())
        },
    },
    Setting {
        name: "DynamicThreadIdleTimeout",
        value: "MICROSECONDS",
        help: "How long a dynamic thread of a lane waits in vain before it ends; 0: for ever. Default 0.",
        apply: |options, text| {
            let idle: u64 = number(text)?;
            options.realtime.dynamic_idle = (idle != 0).then(|| Duration::from_micros(idle));
            Ok(())
        },
    },
    Setting {
        name: "MaxBufferedOctets",
        value: "OCTETS",
        help: "Most that requests waiting in a lane may hold where its threadpool does not say. Default 64 MiB.",
        apply: |options, text| {
            options.realtime.max_buffered_octets = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "Budgets",
        value: "0|1",
        help: "Whether operations, objects, POAs and clients can be given budgets while the ORB runs. Default 0, and 1 where -ORBBudget gives some.",
        apply: |options, text| {
            options.realtime.budgets = match zero_or_one(text)? {
                true => Some(options.realtime.budgets.take().unwrap_or_default()),
                false => None,
            };
            Ok(())
        },
    },
    Setting {
        name: "Budget",
        value: "WHOSE LIMITS",
        help: "What somebody may use: `operation Radar::Track::update`, `object KEY`, `poa PATH`, `client ADDRESS` or `clients` (each), then requests=N (each second), burst=N, time=TIME/PERIOD of processor time, longest=TIME of one request, beyond=refuse, demote, throttle or pause. Several are separated by `;`.",
        apply: |options, text| {
            let budgets = options.realtime.budgets.get_or_insert_default();
            for rule in text.split(';').filter(|rule| !rule.trim().is_empty()) {
                budgets.push(parse_rule(rule).map_err(|error| error.to_string())?);
            }
            Ok(())
        },
    },
    Setting {
        name: "Admission",
        value: "HOW",
        help: "Admits operations, objects, POAs and clients while the ORB runs, and serves that as OxorbAdmission: late=refuse or share (what becomes of those who come too late), urgency=deadline or priority (who goes first), beyond=refuse, demote, throttle or pause (their budgets), guarantee=N% (most that guarantees take), period=TIME (of shares), look=TIME (longest look of the thread that watches budgets, which counts where threads have real-time priorities). Default: none is asked.",
        apply: |options, text| {
            let plan = text.parse().map_err(|error: BudgetError| error.to_string())?;
            options.realtime.admission = Some(plan);
            Ok(())
        },
    },
    Setting {
        name: "BudgetQuantum",
        value: "MICROSECONDS",
        help: "How often requests with budgets of processor time are looked at while they run, from 50. Default 1000.",
        apply: |options, text| {
            let quantum: u64 = number(text)?;
            if quantum < 50 {
                return Err("expected a number of microseconds of at least 50".to_owned());
            }
            options.realtime.budget_quantum = Duration::from_micros(quantum);
            Ok(())
        },
    },
    Setting {
        name: "LockMemory",
        value: "0|1",
        help: "Whether the process keeps its memory in RAM from the first threadpool on. Default 0.",
        apply: |options, text| {
            options.realtime.lock_memory = zero_or_one(text)?;
            Ok(())
        },
    },
];
