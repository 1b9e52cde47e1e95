//! Settings of the log.

use std::fs::OpenOptions;
use std::sync::Arc;

use super::Setting;

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: "LogLevel",
        value: "off|error|warn|info|debug",
        help: "Least urgent log lines that are written, for incidents that no observer takes. Default warn.",
        apply: |options, text| {
            options.log_level = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "LogFile",
        value: "PATH",
        help: "File that log lines are appended to. Default: standard error.",
        apply: |options, text| {
            let opened = OpenOptions::new().append(true).create(true).open(text);
            options.log_file = Some(Arc::new(opened.map_err(|error| error.to_string())?));
            Ok(())
        },
    },
];
