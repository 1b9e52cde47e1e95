//! Command-line tools with which people and scripts use name servers.

use std::ffi::OsString;
use std::path::Path;

use crate::interop::build::Programs;
use crate::interop::orb::Orb;
use crate::interop::process::tool;

/// ORB and name of each tool.
pub(super) const TOOLS: [(Orb, &str); 3] =
    [(Orb::Ox, "oxorb name"), (Orb::Omni, "nameclt"), (Orb::Jac, "lsns")];

/// Tests the functions of a tool.
pub(super) fn run(name: &str, programs: &Programs, server: &str) -> Result<(), String> {
    match name {
        "oxorb name" => oxorb(programs, server),
        "nameclt" => nameclt(server),
        _ => lsns(programs, server),
    }
}

fn oxorb(programs: &Programs, server: &str) -> Result<(), String> {
    let program = programs.oxorb.join("oxorb").display().to_string();
    let say = |line: &str| call(&program, &format!("name {line} --at {server}"));
    say("mkcontext tool/inner -p")?;
    say(&format!("bind tool/inner/self.context {server}"))?;
    say(&format!("bind tool/loop {server} --context"))?;
    // JacORB, for example, resolves this at its own published address.
    contains(&say("tree tool")?, "├── inner/\n│   └── self.context\n└── loop/")?;
    contains(&say("ls tool")?, "inner/\nloop/\n")?;
    contains(&say("resolve tool/inner/self.context --corbaloc")?, "NameService\n")?;
    say("bind tool/gone corbaloc::127.0.0.1:1/Gone")?;
    contains(&say("prune tool --yes")?, "removed gone\n")?;
    say("unbind tool/loop")?;
    say("unbind tool/inner/self.context")?;
    say("unbind tool/inner --destroy")?;
    say("unbind tool --destroy")?;
    Ok(())
}

fn nameclt(server: &str) -> Result<(), String> {
    let say = |line: &str| call("nameclt", &format!("-ior {server} {line}"));
    let made = say("bind_new_context clt.dir")?;
    contains(&made, "IOR:")?;
    say(&format!("bind clt.dir/self {server}"))?;
    contains(&say("list")?, "clt.dir/\n")?;
    contains(&say("list clt.dir")?, "self\n")?;
    contains(&say("resolve clt.dir/self")?, "IOR:")?;
    say("unbind clt.dir/self")?;
    say("remove_context clt.dir")?;
    let left = say("list")?;
    match left.contains("clt.dir") {
        true => Err(format!("expected clt.dir to be removed, got {left}")),
        false => Ok(()),
    }
}

fn lsns(programs: &Programs, server: &str) -> Result<(), String> {
    call("nameclt", &format!("-ior {server} bind_new_context lsns"))?;
    call("nameclt", &format!("-ior {server} bind lsns/self {server}"))?;
    let mut args: Vec<OsString> = vec!["-cp".into(), programs.java_class_path.clone()];
    args.extend([
        "-Dorg.omg.CORBA.ORBClass=org.jacorb.orb.ORB".into(),
        "-Dorg.omg.CORBA.ORBSingletonClass=org.jacorb.orb.ORBSingleton".into(),
        "org.jacorb.naming.ContextLister".into(),
        "-url".into(),
        server.into(),
    ]);
    let shown = tool("java", &args, Path::new("."))?;
    contains(&shown, "lsns/\n")?;
    contains(&shown, "\tself\n")?;
    call("nameclt", &format!("-ior {server} unbind lsns/self"))?;
    call("nameclt", &format!("-ior {server} remove_context lsns"))?;
    Ok(())
}

fn call(program: &str, line: &str) -> Result<String, String> {
    let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    tool(program, &args, Path::new("."))
}

fn contains(text: &str, part: &str) -> Result<(), String> {
    match text.contains(part) {
        true => Ok(()),
        false => Err(format!("expected {part:?} in {text:?}")),
    }
}
