//! Conditions of strangers' machines.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

use super::{Folder, Setting, WITHOUT_INET6};

/// Condition in which the tests run.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
}

const fn condition(name: &'static str, what: &'static str) -> Condition {
    Condition { name, what }
}

/// All conditions. The second user comes last, when the folder for temporary files contains leftovers of root's runs.
pub(super) const CONDITIONS: [Condition; 18] = [
    condition("no-ipv6", "no IPv6, and no network but 127.0.0.1"),
    condition("no-af-inet6", "a kernel that does not know IPv6"),
    condition("long-tmpdir", "a TMPDIR of 150 octets: too long for sockets"),
    condition("space-in-tmpdir", "a TMPDIR with a space"),
    condition("no-sys-nice", "root without CAP_SYS_NICE"),
    condition("no-strace", "neither strace nor valgrind"),
    condition("no-iproute2", "neither ip, ss nor tc"),
    condition("one-core", "one processor"),
    condition("many-cores", "64 tests at once, as on a machine with so many processors"),
    condition("no-cpu-0", "a cpuset without the first processor"),
    condition("no-home", "HOME is not set"),
    condition("no-term", "TERM is not set, as below a service manager"),
    condition("ci", "CI=true"),
    condition("nice", "nice 19"),
    condition("load", "beside eight busy processes"),
    condition(
        "space-in-path",
        "a clone of the last commit, below a folder with a space, built there",
    ),
    condition("release", "built as a release"),
    condition("other-user", "a user without any privilege, after root"),
];

/// User and group of `other-user`: those of `nobody`.
const NOBODY: u32 = 65534;

/// Script that runs a command in a cpuset with all processors but the first, in either version of cgroups.
const CPUSET: &str = "\
    set -e; v1=/sys/fs/cgroup/cpuset v2=/sys/fs/cgroup\n\
    if test -d $v1; then root=$v1; effective=; else root=$v2; effective=.effective\n\
        echo +cpuset >$root/cgroup.subtree_control; fi\n\
    last=$(cat $root/cpuset.cpus$effective); last=${last##*[-,]}\n\
    test $last != 0 || { echo 'there is one processor' >&2; exit 1; }\n\
    group=$root/oxorb-strangers; mkdir -p $group\n\
    cat $root/cpuset.mems$effective >$group/cpuset.mems; echo 1-$last >$group/cpuset.cpus\n\
    echo $$ >$group/cgroup.procs; set +e; \"$@\"; code=$?\n\
    echo $$ >$root/cgroup.procs; rmdir $group; exit $code";

/// Script that runs a command in its own network namespace.
const NETWORK: &str = "\
    set -e; ip link set lo up; for conf in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 >$conf; done; exec \"$@\"";

impl Condition {
    /// Returns the setup, and makes the required files.
    pub(super) fn setting(&self, folder: &Folder) -> Result<Setting, String> {
        let mut setting = Setting::default();
        let words = |text: &[&str]| text.iter().map(|&word| word.to_owned()).collect();
        match self.name {
            "no-ipv6" => setting.wrapper = words(&["unshare", "--net", "sh", "-c", NETWORK, "sh"]),
            "no-af-inet6" => setting.wrapper = words(&[&this_program()?, WITHOUT_INET6]),
            "long-tmpdir" => set(&mut setting, "TMPDIR", &folder.long(150)?),
            "space-in-tmpdir" => set(&mut setting, "TMPDIR", &folder.inner("a space")?),
            "no-sys-nice" => {
                let less = ["--inh-caps=-sys_nice", "--bounding-set=-sys_nice"];
                setting.runner = words(&["setpriv", less[0], less[1], "--"]);
            }
            "no-strace" => without(&mut setting, folder, &["strace", "valgrind"])?,
            "no-iproute2" => without(&mut setting, folder, &["ip", "ss", "tc"])?,
            "one-core" => setting.wrapper = words(&["taskset", "-c", &last_processor()?]),
            "many-cores" => setting.more = words(&["--test-threads", "64"]),
            "no-cpu-0" => setting.wrapper = words(&["sh", "-c", CPUSET, "sh"]),
            "no-home" => setting.variables.push(("HOME", None)),
            "no-term" => setting.variables.push(("TERM", None)),
            "ci" => setting.variables.push(("CI", Some("true".to_owned()))),
            "nice" => setting.wrapper = words(&["nice", "-n", "19"]),
            "load" => setting.busy = 8,
            "space-in-path" => {
                setting.folder = Some(folder.clone_of_the_workspace("a path")?);
                setting.variables.push(("CARGO_TARGET_DIR", None));
            }
            "release" => setting.more = words(&["--release"]),
            _ => setting.runner = other_user(folder)?,
        }
        Ok(setting)
    }
}

fn this_program() -> Result<String, String> {
    let path = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(path.to_string_lossy().into_owned())
}

fn set(setting: &mut Setting, name: &'static str, path: &Path) {
    let value = path.to_string_lossy().into_owned();
    setting.variables.push((name, Some(value)));
}

fn without(setting: &mut Setting, folder: &Folder, names: &[&str]) -> Result<(), String> {
    set(setting, "PATH", &folder.programs_without(names)?);
    Ok(())
}

/// Returns the number of the last processor that this process may use. It is not the first one, unless there is only
/// one.
fn last_processor() -> Result<String, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let allowed =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0");
    let last = allowed.trim().rsplit([',', '-']).next();
    Ok(last.unwrap_or_default().to_owned())
}

/// Returns a command that runs another command as a user with a home folder, who shares /tmp with root.
fn other_user(folder: &Folder) -> Result<Vec<String>, String> {
    let home = folder.inner("home")?;
    // Without the privilege to change the owner of the folder, this process cannot change its user either.
    let _ = chown(&home, Some(NOBODY), Some(NOBODY));
    let user = format!("--reuid={NOBODY} --regid={NOBODY} --clear-groups");
    let none = "--inh-caps=-all --bounding-set=-all";
    // The work tree belongs to another user, and git refuses to read it without this setting.
    let git = "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=*";
    let variables = format!("--unset=TMPDIR HOME={} {git}", home.display());
    let command = format!("setpriv {user} {none} -- env {variables}");
    Ok(command.split(' ').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_removed() {
        let folder = Folder::new().unwrap();
        for (name, variable) in [("no-home", "HOME"), ("no-term", "TERM")] {
            let condition = CONDITIONS.iter().find(|condition| condition.name == name).unwrap();
            let setting = condition.setting(&folder).unwrap();
            assert_eq!(setting.variables, [(variable, None)]);
        }
    }

    #[test]
    fn every_condition_has_a_setting_of_its_own() {
        let folder = Folder::new().unwrap();
        for condition in &CONDITIONS {
            let setting = condition.setting(&folder).unwrap();
            let is_empty = setting.wrapper.is_empty()
                && setting.runner.is_empty()
                && setting.variables.is_empty()
                && setting.more.is_empty()
                && setting.busy == 0;
            assert!(!is_empty, "{}", condition.name);
        }
    }
}
