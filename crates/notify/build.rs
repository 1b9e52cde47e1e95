//! Compiles the IDL of the Event Service and of the Notification Service.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new()
        .files([
            "idl/omg/CosNotifyChannelAdmin.idl",
            "idl/omg/TimeBase.idl",
            "idl/oxorb/notify_store.idl",
            "idl/tao/NotifyExt.idl",
        ])
        .joined("notify")
        .compile()
}
