//! Unchanged servers of other ORBs behind a gateway, and their clients before it.

use std::fs;
use std::process::{Command, Stdio};

use oxorb::Orb;
use oxorb::bridge::Interfaces;
use oxorb::gateway::{Gateway, GatewaySettings};
use oxorb::ior::Ior;
use oxorb::{Interface as _, ObjectRef};
use oxorb_testkit::net::free_port;
use oxorb_testkit::peers::is_there;
use oxorb_testkit::process::Process;
use oxorb_testkit::watchdog;

use crate::bridge::{LONG, TCP, interfaces, listening};
use crate::gateway::{calling_back, port, target};

/// Runs omniORB's client of name servers.
fn nameclt(root: &str, args: &[&str]) -> String {
    let output = Command::new("nameclt")
        .args(["-ior", root])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("nameclt starts");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn omniorbs_name_server_is_used_by_omniorbs_clients_through_a_gateway() {
    if !is_there("omniNames") || !is_there("nameclt") {
        return;
    }
    let _guard = watchdog(LONG);
    let naming = || interfaces(include_bytes!("../../../../idl/omg/CosNaming.idl"));
    for (round, interfaces) in [naming(), Interfaces::default()].into_iter().enumerate() {
        let folder = format!("oxorb-gateway-names-{}-{round}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder for temporary files");
        let at = free_port().to_string();
        let mut command = Command::new("omniNames");
        command
            .args(["-always", "-start", &at, "-logdir"])
            .arg(&folder)
            .args(["-ORBendPoint", &format!("giop:tcp:127.0.0.1:{at}")]);
        let mut names = Process::spawn(command);
        names.wait_for_line("Checkpointing Phase 2", LONG);

        let settings = GatewaySettings { interfaces, ..calling_back() };
        let url = format!("corbaloc::1.2@127.0.0.1:{at}/NameService");
        // Without IDL, text passes as it is, so that both sides need the code set of omniORB and of `corbaloc:` URLs.
        let side = || listening(TCP).setting("NativeCharCodeSet", "ISO-8859-1");
        let gateway = Gateway::new(side(), side(), settings).unwrap();
        gateway.open("Target", &url).unwrap();
        gateway.listen().unwrap();
        let here = target(&gateway);
        let root = here.to_string();
        let client = listening(TCP).build().unwrap();
        let object: ObjectRef = client.root_poa().create_reference().unwrap();

        nameclt(&root, &["bind_new_context", "folder"]);
        nameclt(&root, &["bind", "folder/object", &object.to_ior()]);
        assert!(nameclt(&root, &["list", "folder"]).contains("object"));
        let context: Ior = nameclt(&root, &["resolve", "folder"]).trim().parse().unwrap();
        assert_eq!(port(&context), port(&here), "contexts lead through the gateway");
        let found: Ior = nameclt(&root, &["resolve", "folder/object"]).trim().parse().unwrap();
        assert_eq!(port(&found), port(object.reference().ior()), "what came from outside");

        // The server itself has a reference to the gateway.
        let direct = Orb::builder().build().unwrap();
        let inside: ObjectRef = direct
            .resolve(&format!("corbaname::127.0.0.1:{at}#folder/object"))
            .expect("the object is bound");
        assert_ne!(port(inside.reference().ior()), port(object.reference().ior()));
        gateway.shutdown().unwrap();
        for orb in [&client, &direct] {
            orb.shutdown(true).unwrap();
        }
        names.kill();
        let _ = fs::remove_dir_all(&folder);
    }
}
