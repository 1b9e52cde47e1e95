//! Settings from files: personalities, configurations, schedules, access rules. Requires the feature `files`.

use std::path::Path;

use crate::config::{ConfigError, Configuration};
use oxorb_core::{FILE_SETTINGS, SetupError};

use super::Builder;

/// Readers in the order of the [`FILE_SETTINGS`].
const READERS: [Read; FILE_SETTINGS.len()] = [
    |name| Configuration::personality(name),
    |path| Configuration::read(Path::new(path)),
    |path| Configuration::schedule(Path::new(path)),
    |path| Configuration::access_rules(Path::new(path)),
];

type Read = fn(&str) -> Result<Configuration, ConfigError>;

impl Builder {
    /// Applies a personality, which is a combination of settings and threadpools: one of the
    /// [`PERSONALITIES`](crate::config::PERSONALITIES) or, if the name contains `.` or `/`, the file with this path.
    /// Equivalent to `-ORBPersonality` and `OXORB_PERSONALITY`. Requires the feature `files`, which is on by default.
    ///
    /// Call it first: later settings override it.
    #[must_use]
    pub fn personality(mut self, name: &str) -> Self {
        self.take(Configuration::personality(name));
        self
    }

    /// Applies settings and threadpools from a TOML file: [`config`](crate::config). Equivalent to `-ORBConfigFile` and
    /// `OXORB_CONFIGFILE`. Requires the feature `files`, which is on by default.
    ///
    /// Call it first: later settings override it.
    #[must_use]
    pub fn config_file(mut self, path: impl AsRef<Path>) -> Self {
        self.take(Configuration::read(path.as_ref()));
        self
    }

    /// Applies access rules from a TOML file that contains only the table `[access]`. They replace those of earlier
    /// files. [`Orb::reload_access_rules`](crate::Orb::reload_access_rules) reads the file again. Equivalent to
    /// `-ORBAccessRules` and `OXORB_ACCESSRULES`. Requires the feature `files`, which is on by default.
    #[must_use]
    pub fn access_rules_file(mut self, path: impl AsRef<Path>) -> Self {
        self.take(Configuration::access_rules(path.as_ref()));
        self
    }

    /// Applies the content of a file that was read before.
    #[cfg(feature = "gateway")]
    pub(crate) fn configuration(mut self, configuration: Configuration) -> Self {
        self.take(Ok(configuration));
        self
    }

    /// Applies the content of a file; `setting` is the index in [`FILE_SETTINGS`] of the setting
    /// that names the file.
    pub(super) fn take_file(&mut self, setting: usize, value: &str) {
        self.take(READERS[setting](value));
    }

    fn take(&mut self, read: Result<Configuration, ConfigError>) {
        let applied = read.and_then(|configuration| {
            configuration.apply(&mut self.options)?;
            for (name, plan) in configuration.threadpools() {
                self.threadpools.retain(|(known, _)| known != name);
                self.threadpools.push((name.clone(), plan.clone()));
            }
            Ok(())
        });
        self.note(applied.map_err(|error| SetupError::Configuration(error.into())));
    }
}
