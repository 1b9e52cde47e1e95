//! Hosts and networks of a test: network namespaces, veth pairs, and routes without a destination.
//!
//! A test that [enters](World::enter) a world is run again in a process with separate network, mount and process
//! namespaces (`unshare`); all of them end with that process, however it ends, and are invisible outside.

use std::process::{Command, Stdio};

use oxorb_testkit::peers::missing;
use oxorb_testkit::process::{Process, rerun};

use super::LONG;

/// Variable set in the process in a world: the name of its test.
const WORLD: &str = "OXORB_FAULTS_WORLD";

/// Hosts by name; the test itself runs on an unnamed one.
pub(crate) struct World;

impl World {
    /// Returns the world to a test that runs in it. Outside, runs the test of that name in one and returns `None`. If
    /// the system permits no namespaces, reports so and tests nothing.
    ///
    /// # Panics
    /// If `OXORB_REQUIRE_TOOLS` requires it and the system permits no namespaces.
    pub(crate) fn enter(test: &str) -> Option<World> {
        World::enter_by(
            test,
            &["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
        )
    }

    /// Enters a world as [`enter`](World::enter) does, but with the kernel's processes visible, such as threads that
    /// take packets.
    pub(crate) fn enter_with_kernel(test: &str) -> Option<World> {
        World::enter_by(test, &["--net", "--mount", "--fork", "--kill-child"])
    }

    fn enter_by(test: &str, apart: &[&str]) -> Option<World> {
        if std::env::var(WORLD).is_ok_and(|inside| inside == test) {
            // Names of namespaces are files.
            command("mount", &["-t", "tmpfs", "none", "/run"]);
            command("ip", &["link", "set", "lo", "up"]);
            return Some(World);
        }
        let permitted =
            Command::new("unshare").args(apart).args(["ip", "link"]).stdout(Stdio::null()).output();
        let refused = match permitted {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = refused {
            missing("network namespaces (unshare and ip, as root)", &why);
            return None;
        }
        let inner = rerun(test);
        let mut outer = Command::new("unshare");
        outer.args(apart).arg(inner.get_program()).args(inner.get_args()).env(WORLD, test);
        let mut process = Process::spawn(outer);
        process.wait_for_line("test result: ok. 1 passed", 2 * LONG);
        assert!(process.wait(LONG).success());
        None
    }

    /// Creates a new, unconnected host.
    pub(crate) fn host(&self, name: &str) {
        command("ip", &["netns", "add", name]);
        command("ip", &["-n", name, "link", "set", "lo", "up"]);
    }

    /// Returns the name of the device at that address.
    pub(crate) fn device(address: &str) -> String {
        // Named after the addresses, which are unique.
        format!("to{}", address.replace('.', "-"))
    }

    /// Runs a system program on a host, and returns its output; the error is its standard error.
    pub(crate) fn run(
        &self,
        host: &str,
        program: &str,
        arguments: &[&str],
    ) -> Result<String, String> {
        let mut command = match host {
            "" => Command::new(program),
            host => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", host, program]);
                command
            }
        };
        let output = command.args(arguments).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        let text = |octets| String::from_utf8_lossy(octets).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(text(&output.stderr)),
        }
    }

    /// Connects two hosts by a cable; the empty name is the test's own host. Each end has its address, in a network of
    /// 256 addresses.
    pub(crate) fn cable(&self, ends: [(&str, &str); 2]) {
        let [(first, first_address), (second, second_address)] = ends;
        let devices = [World::device(first_address), World::device(second_address)];
        let (one, other) = (&devices[0], &devices[1]);
        command("ip", &["link", "add", one, "type", "veth", "peer", "name", other]);
        for ((host, address), device) in
            [(first, first_address), (second, second_address)].into_iter().zip(&devices)
        {
            if !host.is_empty() {
                command("ip", &["link", "set", device, "netns", host]);
            }
            ip(host, &["addr", "add", &format!("{address}/24"), "dev", device]);
            ip(host, &["link", "set", device, "up"]);
        }
    }

    /// Routes `host`'s packets for `network` through `gateway`.
    pub(crate) fn route(&self, host: &str, network: &str, gateway: &str) {
        ip(host, &["route", "add", network, "via", gateway]);
    }

    /// Makes `host` forward packets for others.
    pub(crate) fn forward(&self, host: &str) {
        let forward = "echo 1 > /proc/sys/net/ipv4/ip_forward";
        command("ip", &["netns", "exec", host, "sh", "-c", forward]);
    }

    /// Makes `router` translate addresses by rules of nftables: `inwards` before it chooses a route, such as `dnat`,
    /// and
    /// `outwards` afterwards, such as `masquerade`. If the system cannot do this, reports so and returns false.
    ///
    /// # Panics
    /// If `OXORB_REQUIRE_TOOLS` requires it and the system cannot translate addresses.
    pub(crate) fn translate(&self, router: &str, inwards: &[&str], outwards: &[&str]) -> bool {
        let mut commands = vec![
            "add table ip nat".to_owned(),
            "add chain ip nat inwards { type nat hook prerouting priority -100 ; }".to_owned(),
            "add chain ip nat outwards { type nat hook postrouting priority 100 ; }".to_owned(),
        ];
        commands.extend(inwards.iter().map(|rule| format!("add rule ip nat inwards {rule}")));
        commands.extend(outwards.iter().map(|rule| format!("add rule ip nat outwards {rule}")));
        let mut made = commands.iter().map(|command| self.run(router, "nft", &[command]));
        match made.find_map(Result::err) {
            None => true,
            Some(why) => {
                missing("address translation (nft, as root)", &why);
                false
            }
        }
    }

    /// Makes `router` silently drop packets for `address`.
    pub(crate) fn swallow(&self, router: &str, address: &str) {
        ip(router, &["route", "add", "blackhole", &format!("{address}/32")]);
    }

    /// Undoes [`swallow`](Self::swallow).
    pub(crate) fn release(&self, router: &str, address: &str) {
        ip(router, &["route", "del", "blackhole", &format!("{address}/32")]);
    }
}

/// Returns `inner`, run on that host.
pub(super) fn on(host: &str, inner: &Command) -> Command {
    let mut outer = Command::new("ip");
    outer.args(["netns", "exec", host]).arg(inner.get_program()).args(inner.get_args());
    outer
}

/// Returns another role of this test program, run on that host.
pub(crate) fn role(host: &str, test: &str) -> Command {
    on(host, &rerun(test))
}

fn ip(host: &str, arguments: &[&str]) {
    let mut all = vec![];
    if !host.is_empty() {
        all.extend(["-n", host]);
    }
    all.extend(arguments);
    command("ip", &all);
}

#[track_caller]
fn command(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}
