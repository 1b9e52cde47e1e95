//! Views of an ORB for an operator: log lines, incidents, connections, threads.

use std::io;

use oxorb_sys::thread::{OrbThread, ThreadPurpose};

use crate::{ConnectionEvent, ConnectionStatistics, Incident, LogLevel, Orb};

impl Orb {
    /// Passes log lines to `sink` instead of writing them to standard error or the file of `LogFile`: for `tracing`,
    /// `log` or a system's journal. Lines above the level of `LogLevel` are not made. The sink runs in the thread that
    /// noticed the event; it should be quick, and must not wait for this ORB. If it panics, the line is lost. Text of
    /// peers in a line is not escaped: see [`Printable`](oxorb_cdr::Printable). The first call decides; returns false
    /// if there is a sink already.
    ///
    /// ```
    /// let orb = oxorb_core::Orb::new(oxorb_core::Options::default());
    /// assert!(orb.log_to(|level, line| eprintln!("[{level}] {line}")));
    /// ```
    pub fn log_to(&self, sink: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> bool {
        self.watch().log.hand_to(Box::new(sink))
    }

    /// Logs a line that concerns no connection.
    #[cold]
    pub(crate) fn log(&self, level: LogLevel, line: &str) {
        self.watch().log.write(level, line);
    }

    /// Returns the counts of the events so far on connections of this ORB's server side.
    ///
    /// ```
    /// use oxorb_core::{Incident, Options, Orb};
    ///
    /// let orb = Orb::new(Options::default());
    /// let now = orb.connection_statistics();
    /// assert_eq!((now.open, now.count(Incident::TooManyConnections)), (0, 0));
    /// ```
    ///
    /// Takes no lock. Reads the counts one after the other, so they may be of slightly different times.
    pub fn connection_statistics(&self) -> ConnectionStatistics {
        let registry = self.registry();
        self.watch().statistics(registry.len(), registry.octets_held())
    }

    /// Calls `observer` for each incident instead of logging it, in the thread that noticed it: it should be quick, and
    /// must not wait for this ORB. An incident for which it panics is logged. The first call decides; returns false if
    /// there is an observer already.
    ///
    /// ```
    /// let orb = oxorb_core::Orb::new(oxorb_core::Options::default());
    /// assert!(orb.observe_connections(|event| eprintln!("{event}")));
    /// ```
    pub fn observe_connections(
        &self,
        observer: impl Fn(&ConnectionEvent) + Send + Sync + 'static,
    ) -> bool {
        self.watch().observe(Box::new(observer))
    }

    /// Counts and reports an incident, but only the first time that it occurs.
    #[doc(hidden)]
    #[cold]
    pub fn note_once(
        &self,
        incident: Incident,
        about: impl FnOnce() -> String,
        detail: impl FnOnce() -> String,
    ) {
        self.watch().note_once(incident, about, detail);
    }

    /// Counts and reports an incident.
    #[cold]
    pub(crate) fn note(
        &self,
        incident: Incident,
        peer: impl FnOnce() -> String,
        detail: impl FnOnce() -> String,
    ) {
        self.watch().note(incident, peer, detail);
    }

    /// Returns the threads that this ORB runs at the moment, by purpose and name, each with its configured class and
    /// priority and those of the kernel. Not for the path of a request: takes a lock and two system calls for each
    /// thread.
    ///
    /// No thread of an ORB inherits its class, priority or processors from the thread that starts it:
    ///
    /// | threads | class and priority | processors |
    /// |---|---|---|
    /// | lanes, their acceptors and takeover threads | the lane's | the lane's |
    /// | dispatching modules | their queue's | the module's |
    /// | readers, callbacks, reply handlers, alarms | those of the calls that they serve | the ORB's |
    /// | all others | the ORB's class, at the native priority of CORBA priority 0 | the ORB's |
    ///
    /// The ORB's processors are those of the thread that made it.
    ///
    /// ```
    /// use oxorb_core::{Options, Orb, ThreadPurpose};
    ///
    /// let mut options = Options::default();
    /// options.listen_on("iiop://127.0.0.1:0")?;
    /// let orb = Orb::new(options);
    /// orb.listen()?;
    /// let threads = orb.threads();
    /// assert_eq!(threads[0].purpose, ThreadPurpose::Acceptor);
    /// assert_eq!(threads[0].configured.scheduling.to_string(), "SCHED_OTHER 0");
    /// # orb.shutdown(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn threads(&self) -> Vec<OrbThread> {
        self.thread_factory().registry().threads()
    }

    /// Starts a thread for the object adapter, at the ORB's least priority.
    ///
    /// # Errors
    /// The system cannot start a thread.
    #[doc(hidden)]
    pub fn start_thread(
        &self,
        purpose: ThreadPurpose,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let threads = self.thread_factory();
        threads.spawn(purpose, name, None, work).map(drop)
    }
}
