//! Common Data Representation: the octets of every CORBA type.
#![forbid(unsafe_code)]
