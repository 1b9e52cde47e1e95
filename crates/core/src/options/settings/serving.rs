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
        help: "Maximum number of requests that wait at a holding POA manager, for their turn in a POA with a single thread, or for the main thread; further requests fail with TRANSIENT. Default 256.",
        apply: |options, text| {
            options.max_held = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: "HoldTime",
        value: "MILLISECONDS",
        help: "Time for which a request of MaxHeld waits before it fails with TRANSIENT, and for which the object \
               adapter waits for requests to end, in milliseconds. Default 30000.",
        apply: |options, text| {
            options.hold_time = milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "CallbackThreads",
        value: CALLBACK_THREADS,
        help: "Threads that run the reply handlers of asynchronous calls: callback threads of the ORB, one for each CORBA priority, or, for calls from threads of a lane, the threads of this lane. Default shared.",
        apply: |options, text| {
            options.callback_threads = CallbackThreads::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ValueArena",
        value: "OCTETS",
        help: "Memory in octets that each serving thread keeps for decoded values of @borrowed parameters, at least \
               1024. Default 65536.",
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
        help: "Treatment of a request whose values need more memory than ValueArena: it uses memory of the heap until it ends, or is rejected with NO_MEMORY. Default heap.",
        apply: |options, text| {
            options.value_arena_full = ArenaFull::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "SchedPolicy",
        value: "SCHED_OTHER|SCHED_FIFO|SCHED_RR",
        help: "Scheduling class of the ORB's threads, and of application threads with a CORBA priority. Default SCHED_OTHER: priorities do not affect the scheduler.",
        apply: |options, text| {
            options.realtime.class = scheduling_class(text)?;
            Ok(())
        },
    },
    Setting {
        name: "PriorityMapping",
        value: "direct|linear|continuous",
        help: "Mapping of CORBA priorities to priorities of the scheduling class. Default linear.",
        apply: |options, text| {
            options.realtime.mapping = priority_mapping(text)?;
            Ok(())
        },
    },
    Setting {
        name: "TimeProbes",
        value: "0|1",
        help: "Whether requests record the time of each stage that they pass (less than 50 ns for each). Default 0.",
        apply: |options, text| {
            options.time_probes = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxUnanswered",
        value: "N",
        help: "Maximum number of requests that servants answer later (AMH); further requests fail with TRANSIENT. \
               Default 10000.",
        apply: |options, text| {
            options.max_unanswered = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: LANE_ENDPOINTS,
        value: "POOL:LANE=ENDPOINTS",
        help: "Endpoints of a lane of a threadpool (TAO's form with a space is also accepted); * stands for all. Default: the ports that follow those of -ORBListenEndpoints, in the order in which threadpools are created, if these are fixed; otherwise ports that the system chooses.",
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
        help: "Whether all lanes share the ports of -ORBListenEndpoints, which must then be TCP or TLS ports: the first message of a connection selects its lane, and requests for objects of other lanes are passed to those lanes. Default 0.",
        apply: |options, text| {
            options.realtime.lanes_on_one_port = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "LaneCPU",
        value: "POOL:LANE=CPU",
        help: "Processor of the threads of a lane whose threadpool specifies none; * stands for all lanes. Default: \
               any processor.",
        apply: |options, text| {
            let cpu = LaneNumber::parse(text, u16::MAX)?;
            options.realtime.lane_cpus.push(cpu);
            Ok(())
        },
    },
    Setting {
        name: "LaneDSCP",
        value: "POOL:LANE=DSCP",
        help: "DSCP mark of the packets of a lane's connections, 0 to 63, if its threadpool specifies none; * stands \
               for all lanes. Default: the mark that the system uses.",
        apply: |options, text| {
            let dscp = LaneNumber::parse(text, 63)?;
            options.realtime.lane_dscps.push(dscp);
            Ok(())
        },
    },
    Setting {
        name: "DynamicThreadIdleTimeout",
        value: "MICROSECONDS",
        help: "Time without work after which a dynamic thread of a lane ends, in microseconds; 0: never. Default 0.",
        apply: |options, text| {
            let idle: u64 = number(text)?;
            options.realtime.dynamic_idle = (idle != 0).then(|| Duration::from_micros(idle));
            Ok(())
        },
    },
    Setting {
        name: "MaxBufferedOctets",
        value: "OCTETS",
        help: "Maximum memory of the requests that wait in a lane whose threadpool specifies no limit. Default 64 MiB.",
        apply: |options, text| {
            options.realtime.max_buffered_octets = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "Budgets",
        value: "0|1",
        help: "Whether the application can set budgets of operations, objects, POAs and clients while the ORB runs. Default 0, or 1 if -ORBBudget sets some.",
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
        help: "Budget of an owner: `operation Radar::Track::update`, `object KEY`, `poa PATH`, `client ADDRESS` or `clients` (each), then requests=N (each second), burst=N, time=TIME/PERIOD of processor time, longest=TIME of one request, beyond=refuse, demote, throttle or pause. Several are separated by `;`.",
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
        help: "Admission of operations, objects, POAs and clients while the ORB runs, served as the object OxorbAdmission: late=refuse or share (treatment of requests that cannot be guaranteed), urgency=deadline or priority (order of urgency), beyond=refuse, demote, throttle or pause (requests beyond their budgets), guarantee=N% (maximum share of guarantees), period=TIME (of shares), look=TIME (longest check by the thread that watches budgets; the analysis includes it if threads have real-time priorities). Default: no admission.",
        apply: |options, text| {
            let plan = text.parse().map_err(|error: BudgetError| error.to_string())?;
            options.realtime.admission = Some(plan);
            Ok(())
        },
    },
    Setting {
        name: "BudgetQuantum",
        value: "MICROSECONDS",
        help: "Interval in microseconds between two checks of running requests with budgets of processor time, from \
               50. Default 1000.",
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
        help: "Whether the process locks its memory in RAM when the first threadpool is created. Default 0.",
        apply: |options, text| {
            options.realtime.lock_memory = zero_or_one(text)?;
            Ok(())
        },
    },
];
