//! Supported subset of AADL, and constructs that are refused with their name and position.

use oxorb_sched::import::aadl::{SchedulingProtocol, read};
use proptest::prelude::*;

/// Threads of two processors, with properties at every supported level.
const WHOLE: &str = r#"
-- A comment.
package Avionics::Model
public
  with Base_Types, Timing;
  data State
  end State;
  thread Sensor
    features
      out_port: out event data port Base_Types::Integer;
    properties
      Dispatch_Protocol => Periodic;
      Compute_Execution_Time => 1 ms .. 2500 us;
      Timing::Period => 50ms;
      Source_Text => ("sensor.c", "more.c");
  end Sensor;
  thread implementation Sensor.fast
    properties
      Period => 10 ms;
  end Sensor.fast;
  thread Alarm
    properties
      Dispatch_Protocol => Sporadic;
      Compute_Execution_Time => 0.5 ms .. 1 ms;
    annex behavior_specification {** states s : initial complete final state; **};
  end Alarm;
  process Flight
  end Flight;
  process implementation Flight.impl
    subcomponents
      fast: thread Sensor.fast { Deadline => 8 ms; };
      slow: thread Sensor;
      alarm: thread Alarm;
      state: data State;
    connections
      c1: port fast.out_port -> slow.in_port;
    flows
      f1: end to end flow fast.f -> c1 -> slow.f;
    properties
      Period => 100 ms applies to alarm;
      Dispatch_Offset => 3 ms applies to slow;
  end Flight.impl;
  processor Cpu
    properties
      Scheduling_Protocol => (RMS);
  end Cpu;
  system Plane
  end Plane;
  system implementation Plane.impl
    subcomponents
      flight: process Flight.impl;
      left: processor Cpu { Thread_Swap_Execution_Time => 2 us .. 3 us; };
      right: processor Cpu { Scheduling_Protocol => (EDF); };
      wire: bus;
    properties
      Actual_Processor_Binding => (reference (left)) applies to flight;
      Actual_Processor_Binding => (reference (right)) applies to flight.alarm;
      Compute_Deadline => 20 ms applies to flight.slow;
  end Plane.impl;
end Avionics::Model;
"#;

#[test]
fn threads_and_processors() {
    let model = read(&[WHOLE]).unwrap();
    let processors: Vec<_> =
        model.processors.iter().map(|it| (it.path.as_str(), it.protocol, it.switch)).collect();
    assert_eq!(
        processors,
        [
            ("left", Some(SchedulingProtocol::RateMonotonic), Some(3_000)),
            ("right", Some(SchedulingProtocol::Deadline), None),
        ]
    );
    let threads: Vec<_> = model
        .threads
        .iter()
        .map(|it| {
            (
                it.path.as_str(),
                it.best_case,
                it.worst_case,
                it.period,
                it.deadline,
                it.offset,
                it.processor,
            )
        })
        .collect();
    const MS: u64 = 1_000_000;
    assert_eq!(
        threads,
        [
            ("flight.fast", MS, 2_500_000, 10 * MS, Some(8 * MS), None, Some(0)),
            ("flight.slow", MS, 2_500_000, 50 * MS, Some(20 * MS), Some(3 * MS), Some(0)),
            ("flight.alarm", 500_000, MS, 100 * MS, None, None, Some(1)),
        ]
    );
    assert_eq!(model.threads[0].place.line, 31);
}

/// Returns the error for the model with one text replaced.
fn refused(from: &str, to: &str) -> String {
    assert!(WHOLE.contains(from), "{from}");
    read(&[&WHOLE.replacen(from, to, 1)]).unwrap_err().to_string()
}

#[test]
fn what_is_not_read_is_refused_by_name_and_place() {
    let cases = [
        (
            "thread Alarm\n",
            "thread Alarm extends Sensor\n",
            "21:16: extends is not supported: Alarm",
        ),
        ("Periodic;", "Aperiodic;", "12:28: the dispatch protocol Aperiodic is not supported"),
        ("slow: thread Sensor;", "slow: thread Sensor[3];", "arrays are not supported: slow"),
        (
            "slow: thread Sensor;",
            "slow: thread Sensor in modes (a);",
            "in modes is not supported: slow",
        ),
        (
            "slow: thread Sensor;",
            "slow: thread Missing;",
            "slow of Flight.impl: missing is declared nowhere",
        ),
        (
            "slow: thread Sensor;",
            "slow: virtual processor Cpu;",
            "virtual processors are not supported: slow",
        ),
        ("connections", "modes m: mode;\n connections", "modes are not supported"),
        (
            "10 ms;\n  end Sensor.fast",
            "fast_period;\n  end Sensor.fast",
            "period must be a time with a unit",
        ),
        (
            "10 ms;\n  end Sensor.fast",
            "10 days;\n  end Sensor.fast",
            "\"days\" is not a unit of time",
        ),
        ("10 ms;\n  end Sensor.fast", "0 ms;\n  end Sensor.fast", "a period cannot be 0"),
        ("1 ms .. 2500 us", "3 ms .. 2500 us", "the range ends before it begins"),
        ("      Period => 100 ms applies to alarm;\n", "", "flight.alarm has no Period"),
        (
            "Compute_Execution_Time => 0.5 ms .. 1 ms;",
            "",
            "flight.alarm has no Compute_Execution_Time",
        ),
        (
            "Actual_Processor_Binding => (reference (left)) applies to flight;",
            "",
            "flight.fast has no Actual_Processor_Binding",
        ),
        ("reference (left)", "reference (wire)", "wire is not a processor of the system"),
        ("(RMS)", "(ARINC653)", "the scheduling protocol ARINC653 is not supported"),
        (
            "applies to flight.slow",
            "applies to flight.slower",
            "compute_deadline applies to flight.slower, which does not exist",
        ),
        (
            "out_port: out",
            "shared: requires data access State;\n out_port: out",
            "data access is not supported",
        ),
        ("Period => 100 ms applies", "Time_Slot => (1); Period => 100 ms applies", ""),
        (
            "end Avionics::Model;",
            "",
            "expected \"end\" of the package here, not the end of the text",
        ),
        ("{** states", "{* states", ""),
    ];
    for (from, to, expected) in cases {
        if expected.is_empty() {
            // Some of these texts are skipped and others refused; check only that parsing ends.
            let _ = read(&[&WHOLE.replacen(from, to, 1)]);
            continue;
        }
        let told = refused(from, to);
        assert!(told.contains(expected), "{from} -> {to}\n{told}");
    }
    let slot = refused("Period => 10 ms;", "Time_Slot => (1);");
    assert!(slot.contains("time_slot is not supported, and would change the timing"), "{slot}");
}

#[test]
fn rings_and_towers_come_to_an_end() {
    let ring = "package P public system S end S; system implementation S.a subcomponents b: system S.b; end S.a;
        system implementation S.b subcomponents a: system S.b; end S.b; end P;";
    assert!(read(&[ring]).unwrap_err().why.contains("deep, or contain themselves"));
    // Each level has ten times the components of the next lower one.
    let mut tower = String::from("package P public thread T end T; process L0 end L0; ");
    tower.push_str("system L end L; system implementation L.l0 end L.l0; ");
    for level in 1..12 {
        tower.push_str(&format!("system implementation L.l{level} subcomponents "));
        (0..10).for_each(|at| tower.push_str(&format!("c{at}: system L.l{}; ", level - 1)));
        tower.push_str(&format!("end L.l{level}; "));
    }
    tower.push_str("end P;");
    assert!(read(&[&tower]).unwrap_err().why.contains("more than 20000 components"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// The parser never panics: pieces of the model in any order, cut anywhere.
    #[test]
    fn any_text_is_read_or_refused(pieces in prop::collection::vec((0..WHOLE.len(), 0..80usize), 0..30), noise in ".{0,20}") {
        let mut text = String::new();
        for (begin, length) in pieces {
            text.extend(WHOLE.chars().skip(begin).take(length));
        }
        text.push_str(&noise);
        let _ = read(&[&text]);
        // Remove a piece from the complete model.
        if let Some((first, _)) = text.char_indices().nth(5) {
            let _ = read(&[&WHOLE.replacen(&text[..first], "", 1)]);
        }
    }
}
