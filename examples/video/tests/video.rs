//! The program, as a user would run it.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;

const LIMIT: Duration = Duration::from_secs(60);

fn video(arguments: &[&str]) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb-example-video"));
    command.args(arguments);
    Process::spawn(command)
}

#[test]
fn both_streams_are_shown_and_compared() {
    let mut video = video(&["1"]);
    let lines = video.wait_success(LIMIT);
    let rows: Vec<Vec<&str>> =
        lines.iter().map(|line| line.text.split_whitespace().collect()).collect();
    assert_eq!((rows[1][0], rows[2][0]), ("UDP", "TCP"));
    for row in &rows[1..] {
        assert_eq!(row[1], "25", "pictures in a second");
        assert!(row[2].parse::<u32>().unwrap() > 10, "{row:?}");
    }
    assert_eq!(rows[2][3], "0", "TCP loses nothing");
}

#[test]
fn a_stream_between_two_processes_is_reported() {
    let mut watch = video(&["watch"]);
    let reference = watch.wait_for_line("IOR:", LIMIT);
    let mut send = video(&["send", &reference, "1"]);
    let lines = send.wait_success(LIMIT);
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert!(text[0].starts_with("25 pictures"), "{text:?}");
    assert!(text[1].starts_with("there: "), "{text:?}");
    assert!(text[1].contains(" received, "), "{text:?}");
}
