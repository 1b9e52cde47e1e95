//! OxORB: a real-time CORBA ORB.
#![forbid(unsafe_code)]
