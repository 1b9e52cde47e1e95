//! Protocol of a client process on standard input and output:
//!
//! ```text
//! < ready
//! > load 5000 0:60:0:50000:0:1 1:20:0:0:200:0    how long (ms), then for each client: object, priority, first call,
//!                                                period (0: back to back) and work (us), 1: each call counts from its
//!                                                release
//! < 50312 49873 ...                          for each client a line: nanoseconds of each call
//! < 91000 90312 ...
//! ```

use std::fmt::Write as _;
use std::io::{BufRead, BufWriter, Write};
use std::time::Duration;

use super::{Samples, Task};
use crate::Result;
use crate::process::Process;
use crate::session::no_command;

/// Serves standard input until it closes; `run` performs one load.
pub(super) fn serve(run: impl Fn(&[Task], Duration) -> Result<Vec<Samples>>) -> Result {
    // Writing samples must cost next to no allocations and system calls, which are counted.
    let mut output = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    writeln!(output, "ready")?;
    output.flush()?;
    for line in std::io::stdin().lock().lines() {
        let (tasks, duration) = parse(&line?)?;
        for samples in run(&tasks, duration)? {
            for sample in samples {
                write!(output, "{sample} ")?;
            }
            writeln!(output)?;
        }
        output.flush()?;
    }
    Ok(())
}

/// Makes a client process begin with the calls of one load.
pub(super) fn tell(client: &mut Process, tasks: &[Task], duration: Duration) -> Result {
    client.tell(&command(tasks, duration))
}

/// Waits for the samples of `tasks` clients.
pub(super) fn hear(client: &mut Process, tasks: usize) -> Result<Vec<Samples>> {
    let hear = |_| -> Result<Samples> {
        let line = client.hear()?;
        let samples = line.split_whitespace().map(str::parse);
        Ok(samples.collect::<Result<_, _>>()?)
    };
    (0..tasks).map(hear).collect()
}

fn command(tasks: &[Task], duration: Duration) -> String {
    let mut line = format!("load {}", duration.as_millis());
    for task in tasks {
        let Task { object, priority, .. } = task;
        let from_release = u8::from(task.from_release);
        let [phase, period, work] = [task.phase, task.period, task.work].map(|t| t.as_micros());
        let _ = write!(line, " {object}:{priority}:{phase}:{period}:{work}:{from_release}");
    }
    line
}

fn parse(line: &str) -> Result<(Vec<Task>, Duration)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["load", duration, tasks @ ..] = &words[..] else {
        return Err(no_command(line, "load MILLISECONDS TASK...").into());
    };
    let tasks = tasks.iter().copied().map(parse_task).collect::<Result<_>>()?;
    Ok((tasks, Duration::from_millis(duration.parse()?)))
}

fn parse_task(word: &str) -> Result<Task> {
    let parts: Vec<&str> = word.split(':').collect();
    let [object, priority, phase, period, work, from_release] = parts[..] else {
        return Err(format!("a client is six numbers, not {word:?}").into());
    };
    let time = |text: &str| -> Result<Duration> { Ok(Duration::from_micros(text.parse()?)) };
    Ok(Task {
        object: object.parse()?,
        priority: priority.parse()?,
        phase: time(phase)?,
        period: time(period)?,
        work: time(work)?,
        from_release: from_release == "1",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_arrives_as_it_was_told() {
        let high = Task {
            object: 0,
            priority: 60,
            phase: Duration::ZERO,
            period: Duration::from_millis(50),
            work: Duration::ZERO,
            from_release: true,
        };
        let low = Task {
            object: 1,
            priority: 20,
            phase: Duration::from_micros(7),
            period: Duration::ZERO,
            work: Duration::from_micros(200),
            from_release: false,
        };
        let line = command(&[high, low], Duration::from_secs(5));
        assert_eq!(line, "load 5000 0:60:0:50000:0:1 1:20:7:0:200:0");
        assert_eq!(parse(&line).unwrap(), (vec![high, low], Duration::from_secs(5)));
        assert!(parse("load 1 2:3").is_err());
        assert!(parse("laod 1").is_err());
    }
}
