//! Child processes that end with their parent, watched and signalled without races on process ids.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getppid, kill_process_group, pidfd_open,
    pidfd_send_signal, set_parent_process_death_signal, waitid,
};

use crate::sync::{Condvar, Mutex};
use crate::thread::Builder;

/// Number of times that the start of a process is tried again while its file is open for writing.
const BUSY_TRIES: u32 = 100;

/// Pause before each of these.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// Child process with a thread that waits for its end. Dropping it kills the process.
///
/// The kernel kills the process when this one ends for any reason (`PR_SET_PDEATHSIG`), unless the
/// executed program has the set-user-ID or set-group-ID bit or file capabilities (`setcap`): the
/// kernel clears the signal for those. Processes that the child started itself do not receive the
/// signal.
///
/// The child leads a separate process group: a terminal's Ctrl-C reaches the parent alone. Killing
/// the child kills its group, and the rest of the group is killed when the child ends.
///
/// ```
/// use std::process::Command;
/// use std::time::Duration;
///
/// let child = oxorb_sys::process::Child::start(Command::new("true"), |_| ())?;
/// let end = child.wait(Duration::from_secs(30)).expect("`true` ends at once");
/// assert!(end.status.is_some_and(|status| status.success()));
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Child {
    pid: u32,
    handle: OwnedFd,
    ended: Arc<Ended>,
}

/// End of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Exit status; `None` if the kernel did not report one (`SIGCHLD` is ignored).
    pub status: Option<ExitStatus>,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.status {
            Some(status) => status.fmt(f),
            None => f.write_str("an unknown exit status"),
        }
    }
}

#[derive(Debug, Default)]
struct Ended {
    end: Mutex<Option<End>>,
    changed: Condvar,
}

impl Child {
    /// Starts a process, and calls `at_end` on a separate thread once it has ended.
    ///
    /// Forks, and uses one thread and one descriptor until the process ends. While the file is open for writing, the
    /// start is tried again, for a second.
    ///
    /// # Errors
    /// Those of `Command::spawn`, of starting a thread, and of opening a descriptor.
    pub fn start(
        mut command: Command,
        at_end: impl FnOnce(End) + Send + 'static,
    ) -> io::Result<Child> {
        end_with_parent(&mut command);
        command.process_group(0);
        let ended = Arc::new(Ended::default());
        let told = Arc::clone(&ended);
        let (sender, started) = mpsc::sync_channel(1);
        // For PR_SET_PDEATHSIG, the parent is the thread that forked, not the process. This thread therefore runs until
        // the child has ended.
        Builder::new("oxorb-child")
            .spawn(move || {
                let mut child = match unless_busy(|| command.spawn()) {
                    Ok(child) => child,
                    Err(error) => return drop(sender.send(Err(error))),
                };
                // The child is not reaped yet, so its id still belongs to it.
                let opened = pidfd(child.id());
                let failed = opened.is_err();
                if failed {
                    let _ = child.kill();
                }
                let _ = sender.send(opened.map(|handle| (child.id(), handle)));
                let group = id_of(child.id()).filter(|&id| has_ended(id));
                let mut told_end = told.end.lock();
                // The child is not reaped yet, so the id of the group still belongs to the child's group.
                if let Some(group) = group {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let end = End { status: child.wait().ok() };
                *told_end = Some(end);
                drop(told_end);
                told.changed.notify_all();
                if !failed {
                    at_end(end);
                }
            })
            .map(drop)?;
        let gone = || io::Error::other("the thread that starts a process ended");
        let (pid, handle) = started.recv().map_err(|_| gone())??;
        Ok(Child { pid, handle, ended })
    }

    /// Returns the id of the process; it may name another process once this one has ended.
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// Returns how the process ended; `None` while it runs.
    pub fn ended(&self) -> Option<End> {
        *self.ended.end.lock()
    }

    /// Waits for the end of the process, for `limit` at most; `None` on a time-out.
    pub fn wait(&self, limit: Duration) -> Option<End> {
        let deadline = Instant::now().checked_add(limit);
        let mut end = self.ended.end.lock();
        while end.is_none() {
            let left = deadline.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                break;
            }
            end = self.ended.changed.wait_timeout(end, left).0;
        }
        *end
    }

    /// Asks the process to end (SIGTERM). Does nothing after its end.
    pub fn terminate(&self) {
        let _ = pidfd_send_signal(&self.handle, Signal::TERM);
    }

    /// Kills the process and its process group (SIGKILL). Does nothing after its end.
    pub fn kill(&self) {
        // While this lock is held, the child is not reaped, so its id cannot come to denote another group.
        let ended = self.ended.end.lock();
        if ended.is_some() {
            return;
        }
        if let Some(group) = id_of(self.pid) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

fn id_of(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// Waits for the end of a child without reaping it. Returns `false` if the child was already reaped, which the kernel
/// does if `SIGCHLD` is ignored.
fn has_ended(id: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    rustix::io::retry_on_intr(|| waitid(WaitId::Pid(id), options)).is_ok()
}

fn pidfd(id: u32) -> io::Result<OwnedFd> {
    let pid = id_of(id);
    let pid = pid.ok_or_else(|| io::Error::other(format!("{id} is not a process id")))?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Makes the kernel kill the process of `command` once the thread that starts it ends.
fn end_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the parent ended before the line above, the kernel sends no signal for that.
        let now = getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
        match now == Some(parent) {
            true => Ok(()),
            false => Err(rustix::io::Errno::SRCH.into()),
        }
    };
    // SAFETY: between fork and exec the closure makes two system calls and neither allocates nor locks.
    unsafe {
        command.pre_exec(tie);
    }
}

/// Tries again while a file that is executed is open for writing. If this process has just written the file, another
/// thread may have forked meanwhile: its child has the descriptor until it executes a program itself.
fn unless_busy<T>(mut start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..BUSY_TRIES {
        match start() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(BUSY_PAUSE);
            }
            done => return done,
        }
    }
    start()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_file_that_is_still_being_written_is_tried_again_for_a_while() {
        let busy = || io::Error::from(ErrorKind::ExecutableFileBusy);
        let mut tries = 0;
        let started = unless_busy(|| {
            tries += 1;
            if tries < 3 { Err(busy()) } else { Ok(tries) }
        });
        assert_eq!(started.unwrap(), 3);
        let mut tries = 0;
        let failed = unless_busy(|| {
            tries += 1;
            Err::<(), _>(busy())
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::ExecutableFileBusy);
        assert_eq!(tries, BUSY_TRIES + 1);
        let mut tries = 0;
        let failed = unless_busy(|| {
            tries += 1;
            Err::<(), _>(io::Error::from(ErrorKind::NotFound))
        });
        assert_eq!((failed.unwrap_err().kind(), tries), (ErrorKind::NotFound, 1));
    }

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("1000");
        command
    }

    #[test]
    fn the_end_of_a_process_is_reported_with_its_status() {
        let (sender, ends) = mpsc::channel();
        let mut command = Command::new("sh");
        command.args(["-c", "exit 3"]);
        let child = Child::start(command, move |end| sender.send(end).unwrap()).unwrap();
        let end = ends.recv_timeout(LONG).unwrap();
        assert_eq!(end.status.and_then(|status| status.code()), Some(3));
        assert_eq!(child.ended(), Some(end));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = Child::start(Command::new("/nonexistent/program"), |_| ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_running_process_has_no_end_and_is_killed_on_demand() {
        let child = Child::start(sleeper(), |_| ()).unwrap();
        assert_eq!(child.wait(Duration::ZERO), None);
        child.kill();
        let end = child.wait(LONG).expect("it was killed");
        assert!(!end.status.unwrap().success());
        assert!(end.to_string().contains("signal"), "{end}");
    }

    #[test]
    fn a_dropped_process_ends() {
        let (sender, ends) = mpsc::channel();
        drop(Child::start(sleeper(), move |end| sender.send(end).unwrap()).unwrap());
        ends.recv_timeout(LONG).unwrap();
    }

    #[test]
    fn a_wait_without_a_limit_that_time_can_hold_ends_with_the_process() {
        let child = Child::start(Command::new("true"), |_| ()).unwrap();
        let end = child.wait(Duration::MAX).expect("`true` ends at once");
        assert!(end.status.unwrap().success());
    }

    /// Starts a shell that runs as the parent of a `sleep`, and returns it with the id of the
    /// latter.
    fn wrapper(name: &str, then: &str) -> (Child, String) {
        let file = std::env::temp_dir().join(format!("oxorb-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        let mut command = Command::new("sh");
        let script = format!("sleep 1000 & echo \"$!.\" > \"$0\"; {then}");
        command.arg("-c").arg(script).arg(&file);
        let child = Child::start(command, |_| ()).unwrap();
        let end = Instant::now() + LONG;
        let id = loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some((id, _)) = text.split_once('.') {
                break id.to_owned();
            }
            assert!(Instant::now() < end, "the shell wrote no id");
            std::thread::sleep(Duration::from_millis(5));
        };
        let _ = std::fs::remove_file(&file);
        (child, id)
    }

    #[test]
    fn the_child_of_a_killed_wrapper_is_killed_with_it() {
        let (child, id) = wrapper("killed-wrapper", "wait");
        assert!(runs(&id), "it runs");
        child.kill();
        child.wait(LONG).expect("it was killed");
        wait_for_end(&id);
    }

    #[test]
    fn what_an_ended_process_left_in_its_group_is_killed() {
        let (child, id) = wrapper("ended-wrapper", "exit 0");
        let end = child.wait(LONG).expect("it ends");
        assert!(end.status.unwrap().success());
        wait_for_end(&id);
    }

    /// Reports whether a process runs. An unreaped zombie, as in a container, counts as ended.
    fn runs(id: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        !(state.is_empty() || state.starts_with('Z') || state.starts_with('X'))
    }

    fn wait_for_end(id: &str) {
        let end = Instant::now() + LONG;
        while runs(id) {
            assert!(Instant::now() < end, "process {id} outlived its parent");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a process in a parent that is killed: the process must end with it.
    #[test]
    fn a_process_ends_with_its_killed_parent() {
        const ROLE: &str = "OXORB_TEST_PARENT";
        if std::env::var_os(ROLE).is_some() {
            let child = Child::start(sleeper(), |_| ()).unwrap();
            println!("child {}", child.id());
            child.wait(Duration::from_secs(1000));
            return;
        }
        let mut command =
            oxorb_testkit::process::rerun("process::tests::a_process_ends_with_its_killed_parent");
        command.env(ROLE, "1");
        let mut parent = oxorb_testkit::process::Process::spawn(command);
        let line = parent.wait_for_line("child ", LONG);
        let id = line.rsplit(' ').next().unwrap().to_owned();
        assert!(runs(&id), "it runs");
        parent.kill();
        wait_for_end(&id);
    }
}
