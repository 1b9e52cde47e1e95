//! Settings of the log and of metrics.

use std::fs::OpenOptions;
use std::sync::Arc;

use super::Setting;
use crate::options::value::port_or_address;

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: "LogLevel",
        value: "off|error|warn|info|debug",
        help: "Lowest level of log lines that are written, for incidents that no observer handles. Default warn.",
        apply: |options, text| {
            options.log_level = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "LogFile",
        value: "PATH",
        help: "File to which log lines are appended. Default: standard error.",
        apply: |options, text| {
            let opened = OpenOptions::new().append(true).create(true).open(text);
            options.log_file = Some(Arc::new(opened.map_err(|error| error.to_string())?));
            Ok(())
        },
    },
    Setting {
        name: "Metrics",
        value: "[HOST:]PORT",
        help: "Address at which the ORB answers GET /metrics over HTTP with the counts of calls, requests, connections and queues, as OpenMetrics text: a port of 127.0.0.1, or an address of this host and a port. Everyone who can reach the port can read them. Port 0 selects any free port, which the log names (level info). Default: none, and calls and requests are not counted.",
        apply: |options, text| {
            options.metrics = Some(port_or_address(text)?);
            Ok(())
        },
    },
];
