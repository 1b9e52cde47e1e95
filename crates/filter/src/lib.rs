//! Filters of the Notification Service: the extended trader constraint language (Notification Service 1.1, section 2.4).
#![forbid(unsafe_code)]
