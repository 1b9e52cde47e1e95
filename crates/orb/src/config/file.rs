//! Reader of configuration files: from text to settings and threadpools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxorb_core::{AccessRules, Options, RunTimeScheduler, Threadpool};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::access::{self, About};
use crate::config::{ConfigError, PERSONALITIES};
use crate::config::{schedule, threadpool};

/// Maximum number of files in a chain, in which each file names the next one as its personality.
const MAX_FILES: usize = 16;

/// Parsed content of a configuration file. The settings of `[orb]` are checked when [`apply`](Self::apply) sets them.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// Settings; those of the personality precede those of the file.
    settings: Vec<Setting>,
    threadpools: Vec<(String, Threadpool)>,
    schedule: Option<Arc<RunTimeScheduler>>,
    access: Option<Arc<AccessRules>>,
    /// File of `access`, if it contains nothing else.
    access_file: Option<PathBuf>,
}

/// Setting of `[orb]`, with its value as the text of an argument.
#[derive(Clone, Debug)]
struct Setting {
    place: (String, usize),
    name: String,
    value: String,
}

impl Configuration {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, does not have the form that [`config`](crate::config) describes, or is its own
    /// personality, directly or through other files.
    pub fn read(path: &Path) -> Result<Configuration, ConfigError> {
        Configuration::read_over(path, &mut Vec::new())
    }

    /// Reads a file that is the personality of the last of `files`.
    fn read_over(path: &Path, files: &mut Vec<PathBuf>) -> Result<Configuration, ConfigError> {
        let origin = path.display().to_string();
        let failed = |problem| ConfigError { origin: origin.clone(), line: None, problem };
        // Compare canonical paths, because a file can be named by several paths.
        let file = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let again = files.iter().position(|known| *known == file);
        if again.is_some() || files.len() == MAX_FILES {
            return Err(failed(endless(&files[again.unwrap_or(0)..], again.is_some())));
        }
        let text = crate::config::text::read(path).map_err(failed)?;
        files.push(file);
        Configuration::parse_over(&text, &origin, files)
    }

    /// Returns a personality by its name or, if the name contains `.` or `/`, reads the file of
    /// that name.
    ///
    /// # Errors
    /// An unknown name (the error lists the known ones); for a file, the errors of
    /// [`read`](Self::read).
    pub fn personality(name: &str) -> Result<Configuration, ConfigError> {
        Configuration::personality_over(name, &mut Vec::new())
    }

    fn personality_over(
        name: &str,
        files: &mut Vec<PathBuf>,
    ) -> Result<Configuration, ConfigError> {
        if let Some(known) = PERSONALITIES.iter().find(|known| known.name == name) {
            return Configuration::parse_over(known.text, &format!("personality {name}"), files);
        }
        if name.contains(['.', '/']) {
            return Configuration::read_over(Path::new(name), files);
        }
        let names = PERSONALITIES.map(|known| known.name).join(", ");
        Err(ConfigError {
            origin: format!("personality {name}"),
            line: None,
            problem: format!(
                "there is no such personality; the built-in ones are {names}, and a file name selects another one"
            ),
        })
    }

    /// Reads the table of an analysed schedule, as `oxorb sched emit --language json` writes it and `[schedule]` names
    /// it.
    ///
    /// # Errors
    /// The file cannot be read, or does not contain the table of a schedule.
    pub fn schedule(path: &Path) -> Result<Configuration, ConfigError> {
        Ok(Configuration {
            schedule: Some(Arc::new(schedule::load(path)?)),
            ..Configuration::default()
        })
    }

    /// Reads a file with only access rules, the table `[access]`. An ORB with this configuration can [read it
    /// again](crate::Orb::reload_access_rules).
    ///
    /// # Errors
    /// The file cannot be read, or contains anything else than valid access rules.
    pub fn access_rules(path: &Path) -> Result<Configuration, ConfigError> {
        // The path is absolute, so that a change of the working directory does not affect a later reload.
        let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Configuration {
            access: Some(read_access_rules(&file, About::Giop)?),
            access_file: Some(file),
            ..Configuration::default()
        })
    }

    /// Reads a file with only the table `[access]`, whose rules are about requests of HTTP: a rule may have the
    /// condition
    /// `token`, and no `limit`. For gateways, which evaluate the rules by [`AccessRules::decide`].
    ///
    /// # Errors
    /// The file cannot be read, or contains anything else than such rules.
    pub fn http_access_rules(path: &Path) -> Result<Arc<AccessRules>, ConfigError> {
        read_access_rules(path, About::Http)
    }

    /// Parses the text of a file; `origin` is the file's name in errors.
    ///
    /// ```
    /// use oxorb::config::Configuration;
    ///
    /// let read = Configuration::parse("[orb]\nRoundTripTimeout = 250\n", "oxorb.toml")?;
    /// let mut options = oxorb_core::Options::default();
    /// read.apply(&mut options)?;
    /// assert_eq!(options.round_trip_timeout.unwrap().as_millis(), 250);
    ///
    /// let error = Configuration::parse("[orb\n", "oxorb.toml").unwrap_err();
    /// assert!(error.to_string().starts_with("oxorb.toml:1: "));
    /// # Ok::<(), oxorb::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// Text that is not TOML, or unknown keys, with the line; for its personality, the errors of
    /// [`personality`](Self::personality).
    pub fn parse(text: &str, origin: &str) -> Result<Configuration, ConfigError> {
        Configuration::parse_over(text, origin, &mut Vec::new())
    }

    /// Parses the text of the last of `files`, each of which is the personality of the one before.
    fn parse_over(
        text: &str,
        origin: &str,
        files: &mut Vec<PathBuf>,
    ) -> Result<Configuration, ConfigError> {
        let source = Source { text, origin };
        let table = source.parse()?;
        Configuration::of_table(&source, table.get_ref(), files)
    }

    /// Reads a table with the content of a file, the last of `files`.
    pub(crate) fn of_table(
        source: &Source<'_>,
        table: &DeTable<'_>,
        files: &mut Vec<PathBuf>,
    ) -> Result<Configuration, ConfigError> {
        let mut read = match table.get("personality") {
            None => Configuration::default(),
            Some(name) => Configuration::personality_over(source.text(name)?, files)?,
        };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "personality" => {}
                "orb" => read.take_settings(source, source.table(value)?)?,
                "threadpool" => {
                    for (name, pool) in source.table(value)? {
                        let plan = threadpool::read(source, source.table(pool)?, key.span().start)?;
                        let name = name.get_ref().to_string();
                        read.threadpools.retain(|(known, _)| *known != name);
                        read.threadpools.push((name, plan));
                    }
                }
                "schedule" => {
                    let folder = Path::new(source.origin).parent().unwrap_or(Path::new(""));
                    let (table, at) = (source.table(value)?, key.span().start);
                    let scheduler = schedule::read(source, table, at, folder)?;
                    read.schedule = Some(Arc::new(scheduler));
                }
                "access" => {
                    let rules =
                        access::read(source, source.table(value)?, key.span().start, About::Giop)?;
                    read.access = Some(Arc::new(rules));
                }
                _ => {
                    let known = ["personality", "orb", "threadpool", "schedule", "access"];
                    return Err(source.unknown(key, &known));
                }
            }
        }
        Ok(read)
    }

    fn take_settings(
        &mut self,
        source: &Source<'_>,
        table: &DeTable<'_>,
    ) -> Result<(), ConfigError> {
        for (key, value) in table {
            let values = match value.get_ref() {
                DeValue::Array(several) => several.iter().collect(),
                _ => vec![value],
            };
            for value in values {
                self.settings.push(Setting {
                    place: (source.origin.to_owned(), source.line(key.span().start)),
                    name: key.get_ref().to_string(),
                    value: source.argument(value)?,
                });
            }
        }
        Ok(())
    }

    /// Applies the configuration to `options`; other options keep their values.
    ///
    /// # Errors
    /// An unknown name or an invalid value, with file and line.
    pub fn apply(&self, options: &mut Options) -> Result<(), ConfigError> {
        for setting in &self.settings {
            let Setting { place: (origin, line), name, value } = setting;
            options.set(name, value).map_err(|error| ConfigError {
                origin: origin.clone(),
                line: Some(*line),
                problem: format!("{name} = {value}: {}", error.problem),
            })?;
        }
        if let Some(scheduler) = &self.schedule {
            options.realtime.scheduler = Some(Arc::clone(scheduler));
        }
        if let Some(access) = &self.access {
            options.access_rules = Some(Arc::clone(access));
            options.access_file.clone_from(&self.access_file);
        }
        Ok(())
    }

    /// Returns the threadpools with their names, in the order in which the ORB creates them.
    pub fn threadpools(&self) -> &[(String, Threadpool)] {
        &self.threadpools
    }

    /// Adds `over` to this configuration. Its settings override the present ones, and its threadpools replace those of
    /// the same name.
    pub fn extend(&mut self, over: Configuration) {
        self.settings.extend(over.settings);
        self.schedule = over.schedule.or(self.schedule.take());
        if over.access.is_some() {
            (self.access, self.access_file) = (over.access, over.access_file);
        }
        for (name, plan) in over.threadpools {
            self.threadpools.retain(|(known, _)| *known != name);
            self.threadpools.push((name, plan));
        }
    }
}

/// Reads the access rules of a file that contains nothing else.
pub(crate) fn read_access_rules(
    path: &Path,
    about: About,
) -> Result<Arc<AccessRules>, ConfigError> {
    let origin = path.display().to_string();
    let failed = |problem| ConfigError { origin: origin.clone(), line: None, problem };
    let text = crate::config::text::read(path).map_err(failed)?;
    parse_access_rules(&text, &origin, about)
}

/// Parses the access rules of a text that contains nothing else; `origin` is its file in errors.
pub(crate) fn parse_access_rules(
    text: &str,
    origin: &str,
    about: About,
) -> Result<Arc<AccessRules>, ConfigError> {
    let source = Source { text, origin };
    let mut rules = None;
    for (key, value) in source.parse()?.get_ref() {
        match key.get_ref().as_ref() {
            "access" => {
                let (table, at) = (source.table(value)?, key.span().start);
                rules = Some(access::read(&source, table, at, about)?);
            }
            _ => return Err(source.unknown(key, &["access"])),
        }
    }
    let missing = || ConfigError {
        origin: origin.to_owned(),
        line: None,
        problem: "has no table [access]".to_owned(),
    };
    rules.map(Arc::new).ok_or_else(missing)
}

/// Describes a chain of personalities that is circular or too long.
fn endless(files: &[PathBuf], circle: bool) -> String {
    let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let names = names.join(", ");
    match circle {
        true => format!(
            "is its own personality, through {names}; remove `personality` from one of them"
        ),
        false => format!(
            "is the personality of too many files, at most {MAX_FILES} can be combined: {names}; join some of them"
        ),
    }
}

/// Text that is being parsed. Errors get their line numbers from it.
pub(crate) struct Source<'s> {
    pub(crate) text: &'s str,
    pub(crate) origin: &'s str,
}

impl<'s> Source<'s> {
    /// Parses the text as TOML.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'s>>, ConfigError> {
        DeTable::parse(self.text).map_err(|error| ConfigError {
            origin: self.origin.to_owned(),
            line: error.span().map(|span| self.line(span.start)),
            problem: error.message().to_owned(),
        })
    }

    pub(crate) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        1 + before.iter().filter(|&&octet| octet == b'\n').count()
    }

    pub(crate) fn error(&self, at: usize, problem: impl Into<String>) -> ConfigError {
        ConfigError {
            origin: self.origin.to_owned(),
            line: Some(self.line(at)),
            problem: problem.into(),
        }
    }

    pub(crate) fn unknown<K: AsRef<str>>(&self, key: &Spanned<K>, known: &[&str]) -> ConfigError {
        let name = key.get_ref().as_ref();
        let known = known.join(", ");
        self.error(
            key.span().start,
            format!("there is no entry `{name}` here; expected one of {known}"),
        )
    }

    pub(crate) fn text<'v>(&self, value: &'v Spanned<DeValue<'_>>) -> Result<&'v str, ConfigError> {
        let wrong = || self.error(value.span().start, "expected a text in quotes");
        value.get_ref().as_str().ok_or_else(wrong)
    }

    pub(crate) fn yes_or_no(&self, value: &Spanned<DeValue<'_>>) -> Result<bool, ConfigError> {
        let wrong = || self.error(value.span().start, "expected true or false");
        value.get_ref().as_bool().ok_or_else(wrong)
    }

    pub(crate) fn table<'v, 'i>(
        &self,
        value: &'v Spanned<DeValue<'i>>,
    ) -> Result<&'v DeTable<'i>, ConfigError> {
        let wrong = || self.error(value.span().start, "expected a table");
        value.get_ref().as_table().ok_or_else(wrong)
    }

    pub(crate) fn number(
        &self,
        value: &Spanned<DeValue<'_>>,
        most: u64,
    ) -> Result<u64, ConfigError> {
        let read = value
            .get_ref()
            .as_integer()
            .and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok());
        let wrong = || {
            let range = format!("expected a number from 0 to {most}");
            self.error(value.span().start, range)
        };
        read.filter(|number| *number <= most).ok_or_else(wrong)
    }

    /// Returns the value as the text of a `-ORB` argument.
    fn argument(&self, value: &Spanned<DeValue<'_>>) -> Result<String, ConfigError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Boolean(is) => Ok(u8::from(*is).to_string()),
            DeValue::Integer(_) => self.number(value, u64::MAX).map(|number| number.to_string()),
            _ => Err(self.error(
                value.span().start,
                "expected a text, a number, true or false, or several of these in brackets",
            )),
        }
    }
}
