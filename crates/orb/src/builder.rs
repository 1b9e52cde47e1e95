//! Builder of an ORB: from configuration to a running ORB.

#[cfg(feature = "files")]
mod files;
#[cfg(not(feature = "files"))]
mod no_files;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oxorb_cdr::{ByteOrder, CharSet};
use oxorb_core::interceptor::{
    ClientInterceptor, Interceptors, SchedulingInterceptor, ServerInterceptor,
};
use oxorb_core::protocol::ProtocolStack;
use oxorb_core::{
    ClientConnections, Concurrency, FILE_SETTINGS, IncompatibleOptions, Options, RunTimeScheduler,
    SchedulingClass, SettingError, SetupError, ThreadFilter, Threadpool,
};
use oxorb_object::Version;
use oxorb_poa::AdapterObserver;

use crate::Orb;

/// Whether an ORB of this process has warned of unknown variables of the environment, which all of them share.
static WARNED: AtomicBool = AtomicBool::new(false);

/// Configures and starts an [`Orb`]. Later settings override earlier ones; methods and `-ORB`
/// arguments set the same options.
///
/// ```
/// use std::time::Duration;
///
/// let orb = oxorb::Orb::builder()
///     .listen("iiop://127.0.0.1:0")
///     .round_trip_timeout(Duration::from_secs(2))
///     .args(["server", "-ORBClientConnections", "private", "--verbose"].map(String::from))
///     .build()?;
/// assert_eq!(orb.args(), ["server", "--verbose"]);
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Builder {
    options: Options,
    interceptors: Interceptors,
    observers: Vec<Arc<dyn AdapterObserver>>,
    args: Vec<String>,
    error: Option<SetupError>,
    listens_late: bool,
    threadpools: Vec<(String, Threadpool)>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        let mut builder = Builder::default();
        builder.options.protocols = crate::protocols::table();
        for (at, name) in FILE_SETTINGS.iter().enumerate() {
            if let Ok(named) = std::env::var(format!("OXORB_{}", name.to_uppercase())) {
                builder.take_file(at, &named);
            }
        }
        builder.take_env();
        builder
    }

    /// Removes the `-ORB...` arguments from a command line and applies them; [`Orb::args`] returns
    /// the rest. Unknown `-ORB` arguments are an error of [`build`](Self::build).
    ///
    /// Settings of files that arguments name (`-ORBPersonality`, `-ORBConfigFile`, `-ORBSchedule`, `-ORBAccessRules`)
    /// are overridden by the environment and by the other arguments, regardless of the order of the arguments. A
    /// `-ORBConfigFile` whose name ends in `.cfg` is read as an `omniORB.cfg`. Options of TAO and omniORB are mapped,
    /// ignored with a line in the log, or rejected: [`PEER_OPTIONS`](crate::settings::PEER_OPTIONS).
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = String>) -> Self {
        let args = self.take_files(args.into_iter().collect());
        match self.options.take_args(args) {
            Ok(rest) => self.args = rest,
            Err(error) => self.note(Err(error.into())),
        }
        self
    }

    /// Applies the files that arguments name, and returns the other arguments.
    fn take_files(&mut self, mut args: Vec<String>) -> Vec<String> {
        let mut named = false;
        for (at, setting) in FILE_SETTINGS.into_iter().enumerate() {
            let is_it = |arg: &String| {
                let name = arg.strip_prefix("-ORB").unwrap_or_default();
                let name = name.split('=').next().unwrap_or_default();
                name.eq_ignore_ascii_case(setting)
            };
            while let Some(place) = args.iter().position(is_it) {
                let arg = args.remove(place);
                let value = match arg.split_once('=') {
                    Some((_, value)) => Some(value.to_owned()),
                    None => (place < args.len()).then(|| args.remove(place)),
                };
                match value {
                    Some(value) if setting == "ConfigFile" && value.ends_with(".cfg") => {
                        self.take_omniorb_file(&value);
                    }
                    Some(value) => self.take_file(at, &value),
                    None => self.note(Err(SetupError::Setting(SettingError {
                        setting: arg,
                        problem: "needs a value: NAME|FILE".to_owned(),
                    }))),
                }
                named = true;
            }
        }
        if named {
            self.take_env();
        }
        args
    }

    fn take_omniorb_file(&mut self, path: &str) {
        let read = self.options.take_omniorb_file(path);
        self.note(read.map_err(|problem| {
            SetupError::Setting(SettingError { setting: format!("-ORBConfigFile {path}"), problem })
        }));
    }

    /// Changes the default of a setting: the environment still takes precedence.
    #[cfg(feature = "gateway")]
    pub(crate) fn default_setting(self, name: &str, value: &str) -> Self {
        let mut builder = self.setting(name, value);
        builder.take_env();
        builder
    }

    fn take_env(&mut self) {
        let read = self.options.take_env();
        self.note(read.map_err(SetupError::Setting));
    }

    /// Adds a protocol after those that the ORB already speaks; IIOP is the first.
    ///
    /// Endpoints of this protocol in earlier settings (environment, file or arguments) are parsed
    /// now. Unsupported combinations are errors of [`build`](Self::build).
    ///
    /// ```
    /// use oxorb::protocol::ProtocolStack;
    /// use oxorb::transport::mem::Memory;
    ///
    /// let orb = oxorb::Orb::builder()
    ///     .listen("iiop://127.0.0.1:0;mem://bank")
    ///     .protocol(ProtocolStack::memory(Memory::new()))
    ///     .build()?;
    /// # orb.shutdown(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn protocol(mut self, protocol: ProtocolStack) -> Self {
        let added = self.options.add_protocol(protocol);
        self.note(added);
        self
    }

    /// Adds endpoints to listen on, `iiop://HOST:PORT`, several separated by `;`.
    #[must_use]
    pub fn listen(self, endpoints: &str) -> Self {
        self.setting("ListenEndpoints", endpoints)
    }

    /// Adds an initial reference.
    #[must_use]
    pub fn init_ref(mut self, name: &str, url: &str) -> Self {
        self.options.init_refs.push((name.to_owned(), url.to_owned()));
        self
    }

    /// Adds an object, by name of an initial reference or by URL, to whose server the ORB connects when it is built
    /// ([`preconnect`](oxorb_core::Orb::preconnect)); an unreachable server is an error of [`build`](Self::build).
    #[must_use]
    pub fn preconnect(mut self, object: &str) -> Self {
        self.options.preconnect.push(object.to_owned());
        self
    }

    /// Sets the time limit of a two-way call; `None` for no limit.
    #[must_use]
    pub fn round_trip_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.options.round_trip_timeout = limit.into();
        self
    }

    /// Sets the time limit of connecting to a server.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.options.connect_timeout = limit;
        self
    }

    /// Sets the strategy by which client threads share connections.
    #[must_use]
    pub fn client_connections(mut self, strategy: ClientConnections) -> Self {
        self.options.client_connections = strategy;
        self
    }

    /// Sets the concurrency strategy of the threads that serve requests.
    #[must_use]
    pub fn concurrency(mut self, strategy: Concurrency) -> Self {
        self.options.concurrency = strategy;
        self
    }

    /// Adds a filter that selects the threads which serve requests; it runs after the filters that were added earlier.
    #[must_use]
    pub fn thread_filter(mut self, filter: impl ThreadFilter + 'static) -> Self {
        self.options.thread_filters.add(filter);
        self
    }

    /// Sets whether all lanes of threadpools share the ports of the ORB; see the setting `LanesOnOnePort`.
    #[must_use]
    pub fn lanes_on_one_port(mut self, share: bool) -> Self {
        self.options.realtime.lanes_on_one_port = share;
        self
    }

    /// Adds a threadpool that is created with the ORB; [`threadpool_named`](Orb::threadpool_named)
    /// returns it by this name, as it does the threadpools of configuration files.
    #[must_use]
    pub fn threadpool(mut self, name: &str, plan: Threadpool) -> Self {
        self.threadpools.retain(|(known, _)| known != name);
        self.threadpools.push((name.to_owned(), plan));
        self
    }

    /// Sets the highest GIOP version to publish and to use.
    #[must_use]
    pub fn max_giop(mut self, version: Version) -> Self {
        self.options.max_giop = version;
        self
    }

    /// Sets the native code set of `char` and `string`; see the setting `NativeCharCodeSet`.
    #[must_use]
    pub fn native_chars(mut self, set: CharSet) -> Self {
        self.options.native_chars = set;
        self
    }

    /// Sets whether strings are sent in UTF-8 if the server supports it; see the setting `PreferUtf8`.
    #[must_use]
    pub fn prefer_utf8(mut self, prefer: bool) -> Self {
        self.options.prefer_utf8 = prefer;
        self
    }

    /// Sets the byte order of sent messages. An order other than the machine's own is for testing peers.
    #[must_use]
    pub fn byte_order(mut self, order: ByteOrder) -> Self {
        self.options.byte_order = order;
        self
    }

    /// Adds an interceptor of the requests this ORB sends.
    #[must_use]
    pub fn client_interceptor(mut self, interceptor: impl ClientInterceptor) -> Self {
        let added = self.interceptors.add_client(Arc::new(interceptor));
        self.note(added.map_err(SetupError::DuplicateInterceptor));
        self
    }

    /// Sets the interceptor of a scheduler of distributable threads. An ORB has at most one such interceptor.
    #[must_use]
    pub fn scheduling_interceptor(mut self, interceptor: Arc<dyn SchedulingInterceptor>) -> Self {
        let set = self.interceptors.set_scheduling(interceptor);
        self.note(set.map_err(SetupError::DuplicateInterceptor));
        self
    }

    /// Adds an interceptor of the requests this ORB serves.
    #[must_use]
    pub fn server_interceptor(mut self, interceptor: impl ServerInterceptor) -> Self {
        let added = self.interceptors.add_server(Arc::new(interceptor));
        self.note(added.map_err(SetupError::DuplicateInterceptor));
        self
    }

    /// Adds an observer of POAs, which can add components to their references (`IORInterceptor`).
    #[must_use]
    pub fn adapter_observer(mut self, observer: impl AdapterObserver) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Changes any other option.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Applies a setting by its `-ORB` name. The settings that name files have methods of their own, `personality`,
    /// `config_file` and `access_rules_file`, with the feature `files`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        let arg = [format!("-ORB{name}"), value.to_owned()];
        let read = self.options.take_args(arg).map(drop);
        self.note(read.map_err(SetupError::Setting));
        self
    }

    /// Defers listening until the first object needs an address, even if endpoints were given. Use it for a server
    /// whose clients know fixed addresses and must not receive OBJECT_NOT_EXIST while the server starts. An error in
    /// the endpoints is then an error of the first activation.
    #[must_use]
    pub fn listen_late(mut self) -> Self {
        self.listens_late = true;
        self
    }

    /// Builds the ORB. It listens at once if endpoints were given, unless [`listen_late`](Self::listen_late) was
    /// called; otherwise it listens when the first object needs an address.
    ///
    /// The first ORB of a process logs a warning for each variable `OXORB_...` of the environment that nothing reads.
    pub fn build(mut self) -> Result<Orb, SetupError> {
        if !WARNED.swap(true, Ordering::Relaxed) {
            self.options.warn_of_unknown_variables();
        }
        if let Some(rules) = self.options.access_rules.clone() {
            self.interceptors.set_access_rules(&rules);
        }
        match self.error {
            Some(error) => Err(error),
            None => {
                self.check()?;
                let listens = !self.options.listen.is_empty() && !self.listens_late;
                let (interceptors, observers) = (self.interceptors, self.observers);
                Orb::start(
                    self.options,
                    listens,
                    interceptors,
                    observers,
                    self.threadpools,
                    self.args,
                )
            }
        }
    }

    /// Checks that settings and threadpools are compatible.
    fn check(&self) -> Result<(), SetupError> {
        self.options.check_protocols().map_err(SetupError::Setting)?;
        self.options.check().map_err(SetupError::Incompatible)?;
        self.options.prepare_security().map_err(SetupError::Setting)?;
        if let Some(scheduler) = &self.options.realtime.scheduler {
            let enforceable = scheduler.table.enforceable();
            enforceable.map_err(SetupError::Schedule)?;
        }
        let several = |(_, plan): &(String, Threadpool)| plan.lanes().len() > 1;
        if self.options.realtime.class == SchedulingClass::Other
            && self.threadpools.iter().any(several)
        {
            return Err(SetupError::Incompatible(IncompatibleOptions {
                one: "a threadpool with several lanes",
                other: "-ORBSchedPolicy SCHED_OTHER",
                reason: "priorities of lanes do not affect the scheduler then; set SCHED_FIFO or SCHED_RR: without the \
                         privilege for it the ORB runs nevertheless, and logs one warning",
            }));
        }
        Ok(())
    }

    /// Sets the [`RunTimeScheduler`] that enforces an analysed schedule. Equivalent to `[schedule]` in a configuration
    /// file, and to `-ORBSchedule` and `OXORB_SCHEDULE`, which name only the table.
    #[must_use]
    pub fn scheduler(mut self, scheduler: RunTimeScheduler) -> Self {
        self.options.realtime.scheduler = Some(Arc::new(scheduler));
        self
    }

    /// Returns the first error in the settings so far, which [`build`](Self::build) would return.
    pub fn problem(&self) -> Option<&SetupError> {
        self.error.as_ref()
    }

    fn note(&mut self, read: Result<(), SetupError>) {
        if let Err(error) = read {
            self.error.get_or_insert(error);
        }
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("options", &self.options)
            .field("interceptors", &self.interceptors)
            .field("args", &self.args)
            .finish_non_exhaustive()
    }
}
