//! Compiles the interfaces of the event and notification services.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new()
        .files([
            "../../idl/omg/CosNotifyChannelAdmin.idl",
            "../../idl/omg/TimeBase.idl",
            "../../idl/oxorb/notify_store.idl",
            "../../idl/tao/NotifyExt.idl",
        ])
        .joined("notify")
        .compile()
}
