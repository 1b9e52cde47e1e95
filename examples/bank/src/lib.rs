//! What `build.rs` made of `idl/bank.idl`, for client and server.

oxorb::include_idl!("bank");
