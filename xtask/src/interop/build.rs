//! Building of the three ORBs' programs, if their sources are newer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Places;
use super::orb::Orb;
use super::process::tool;

/// Locations of the built programs.
pub(super) struct Programs {
    /// Directory of `interop-server`, `interop-client`, `interop-naming` and `interop-components`.
    pub(super) omniorb: PathBuf,
    /// Directory of the same programs, and of `oxorb`.
    pub(super) oxorb: PathBuf,
    /// Directory of the first two programs, for [`FOREIGN`].
    pub(super) foreign: PathBuf,
    pub(super) java_class_path: OsString,
    /// Directory of `ca.pem`, `server.pem` and `server.jks`.
    pub(super) certificates: PathBuf,
}

/// Target of the big-endian column, run by an emulator with Debian's libraries for it.
const FOREIGN: &str = "s390x-unknown-linux-gnu";
pub(super) const EMULATOR: [&str; 3] = ["qemu-s390x-static", "-L", "/usr/s390x-linux-gnu"];

/// Builds the programs of these ORBs; those for [`FOREIGN`] only if they will run.
pub(super) fn build(places: &Places, orbs: &[Orb], foreign: bool) -> Result<Programs, String> {
    let mut programs = Programs {
        omniorb: PathBuf::new(),
        oxorb: PathBuf::new(),
        foreign: PathBuf::new(),
        java_class_path: OsString::new(),
        certificates: PathBuf::new(),
    };
    if !orbs.is_empty() {
        eprintln!("building the {} programs", Orb::Ox.name());
        // Includes the command, which prints the equivalent IDL of components for the other ORBs.
        programs.oxorb = oxorb(places)?;
        programs.certificates = certificates(places, &programs.oxorb, orbs.contains(&Orb::Jac))?;
        if foreign {
            programs.foreign = oxorb_for_foreign(places)?;
        }
    }
    for orb in orbs.iter().filter(|orb| **orb != Orb::Ox) {
        eprintln!("building the {} programs", orb.name());
        match orb {
            Orb::Omni => programs.omniorb = omniorb(places, &programs.oxorb)?,
            Orb::Jac => programs.java_class_path = jacorb(places, &programs.oxorb)?,
            Orb::Ox => {}
        }
    }
    Ok(programs)
}

/// Returns the equivalent IDL of the components.
fn equivalent(places: &Places, oxorb: &Path) -> Result<String, String> {
    let command = oxorb.join("oxorb");
    let mut line = args("idl show --equivalent");
    line.push(places.sources.join("interop_components.idl").into());
    tool(&command.to_string_lossy(), &line, &places.root)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

fn oxorb(places: &Places) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    tool(
        &cargo,
        &args("build --quiet --package oxorb-interop --package oxorb-cli --features oxorb-cli/tls"),
        &places.root,
    )?;
    // Next to this program: both are built in the same target directory.
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    Ok(own.parent().ok_or("xtask has no directory")?.to_owned())
}

/// Builds the programs for the emulated processor; `install-peers.sh` lists the requirements.
fn oxorb_for_foreign(places: &Places) -> Result<PathBuf, String> {
    let work = places.work.join("foreign");
    let mut line = args("cargo build --quiet --package oxorb-interop --target");
    line.extend([FOREIGN.into(), "--target-dir".into(), work.clone().into()]);
    let compiler = "s390x-linux-gnu-gcc";
    let mut command = args(&format!(
        "CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER={compiler} CC_s390x_unknown_linux_gnu={compiler}"
    ));
    command.extend(line);
    tool("env", &command, &places.root)?;
    Ok(work.join(FOREIGN).join("debug"))
}

/// Makes new certificates for all programs, with `oxorb cert new`.
fn certificates(places: &Places, oxorb: &Path, java: bool) -> Result<PathBuf, String> {
    let out = places.work.join("certificates");
    if out.exists() {
        std::fs::remove_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    }
    create(&out)?;
    let command = oxorb.join("oxorb");
    let line = args("cert new --host 127.0.0.1 --host localhost --lifetime 7d");
    tool(&command.to_string_lossy(), &line, &out)?;
    if java {
        let export = "pkcs12 -export -in server.pem -inkey server.pem -certfile ca.pem -name server -passout pass:changeit -out server.p12";
        tool("openssl", &args(export), &out)?;
        let import = "-importkeystore -noprompt -srckeystore server.p12 -srcstoretype PKCS12 -srcstorepass changeit \
                      -destkeystore server.jks -deststoretype JKS -deststorepass changeit";
        tool("keytool", &args(import), &out)?;
        let trust =
            "-importcert -noprompt -alias ca -file ca.pem -keystore server.jks -storepass changeit";
        tool("keytool", &args(trust), &out)?;
    }
    Ok(out)
}

fn omniorb(places: &Places, oxorb: &Path) -> Result<PathBuf, String> {
    let out = places.work.join("cpp");
    let sources = places.sources.join("cpp");
    let idl = [
        "interop.idl",
        "interop_omniorb.idl",
        "interop_any.idl",
        "interop_values.idl",
        "interop_values_far.idl",
        "interop_async.idl",
    ];
    create(&out)?;
    if !is_newer(&out.join("interop-components"), &[&places.sources, &sources])? {
        let system = tool("pkg-config", &args("--variable=idldir omniORB4"), &out)?;
        for file in idl {
            let mut command = args("-bcxx -Wba -Wbh=.hh -Wbs=SK.cc -Wbd=DynSK.cc -C. -I");
            command.push(system.trim().into());
            command.push(places.sources.join(file).into());
            tool("omniidl", &command, &out)?;
        }
        let library = places.root.join("idl/omg");
        write(&out.join("equivalent.idl"), &equivalent(places, oxorb)?)?;
        for file in [out.join("equivalent.idl"), library.join("Components.idl")] {
            let mut command = args("-bcxx -Wbh=.hh -Wbs=SK.cc -C. -I");
            command.extend([library.clone().into(), "-I".into(), system.trim().into()]);
            command.push(file.into());
            tool("omniidl", &command, &out)?;
        }
        let flags = tool("pkg-config", &args("--cflags --libs omniORB4 omniDynamic4"), &out)?;
        // The transport over TLS, which pkg-config omits.
        let flags = format!("-lomnisslTP4 {}", flags.trim());
        let units = [
            (out.join("interopSK.cc"), "interopSK.o"),
            (out.join("interopDynSK.cc"), "interopDynSK.o"),
            (out.join("interop_omniorbSK.cc"), "interop_omniorbSK.o"),
            (out.join("interop_omniorbDynSK.cc"), "interop_omniorbDynSK.o"),
            (out.join("interop_anySK.cc"), "interop_anySK.o"),
            (out.join("interop_anyDynSK.cc"), "interop_anyDynSK.o"),
            (out.join("interop_valuesSK.cc"), "interop_valuesSK.o"),
            (out.join("interop_valuesDynSK.cc"), "interop_valuesDynSK.o"),
            (out.join("interop_values_farSK.cc"), "interop_values_farSK.o"),
            (out.join("interop_values_farDynSK.cc"), "interop_values_farDynSK.o"),
            (out.join("interop_asyncSK.cc"), "interop_asyncSK.o"),
            (out.join("interop_asyncDynSK.cc"), "interop_asyncDynSK.o"),
            (sources.join("server.cc"), "server.o"),
            (sources.join("server_async.cc"), "server_async.o"),
            (sources.join("server_any.cc"), "server_any.o"),
            (sources.join("server_values.cc"), "server_values.o"),
            (sources.join("client.cc"), "client.o"),
            (sources.join("client_async.cc"), "client_async.o"),
            (sources.join("client_any.cc"), "client_any.o"),
            (sources.join("client_values.cc"), "client_values.o"),
            (sources.join("naming.cc"), "naming.o"),
            (sources.join("components.cc"), "components.o"),
            (out.join("equivalentSK.cc"), "equivalentSK.o"),
            (out.join("ComponentsSK.cc"), "ComponentsSK.o"),
        ];
        let compile = |source: &Path, object: &str| {
            // -w: omniidl's generated code causes warnings that cannot be fixed here.
            let mut command = args("-std=c++17 -O1 -w -pthread -I. -c");
            command.extend([source.into(), "-o".into(), object.into()]);
            tool("g++", &command, &out)
        };
        std::thread::scope(|scope| {
            let running: Vec<_> = units
                .iter()
                .map(|(source, object)| scope.spawn(|| compile(source, object)))
                .collect();
            running
                .into_iter()
                .try_for_each(|unit| unit.join().expect("compiling does not panic").map(drop))
        })?;
        for (objects, program) in [
            ("server.o server_async.o server_any.o server_values.o", "interop-server"),
            ("client.o client_async.o client_any.o client_values.o", "interop-client"),
        ] {
            let mut command = args(&format!("-pthread -o {program} {objects}"));
            command.extend(units[..units.len() - 12].iter().map(|(_, object)| (*object).into()));
            command.extend(args(&flags));
            tool("g++", &command, &out)?;
        }
        for (program, objects) in [
            ("interop-naming", "naming.o"),
            ("interop-components", "components.o equivalentSK.o ComponentsSK.o"),
        ] {
            let mut command = args(&format!("-pthread -o {program} {objects}"));
            command.extend(args(&flags));
            tool("g++", &command, &out)?;
        }
    }
    Ok(out)
}

fn jacorb(places: &Places, oxorb: &Path) -> Result<OsString, String> {
    let jars = places.work.join("jars");
    let names = std::fs::read_dir(&jars)
        .map_err(|_| "no JacORB: run tests/interop/install-peers.sh".to_owned())?;
    let mut class_path: Vec<PathBuf> = names
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "jar"))
        .collect();
    class_path.sort();
    let (generated, classes) = (places.work.join("java"), places.work.join("classes"));
    let stamp = classes.join("stamp");
    class_path.push(classes.clone());
    let class_path = std::env::join_paths(&class_path).map_err(|e| e.to_string())?;
    let sources = places.sources.join("java");
    if !is_newer(&stamp, &[&places.sources, &sources])? {
        for directory in [&generated, &classes] {
            let _ = std::fs::remove_dir_all(directory);
            create(directory)?;
        }
        // JacORB's jars do not contain its orb.idl; its compiler knows the type by this name.
        std::fs::write(generated.join("orb.idl"), "module CORBA { interface TypeCode {}; };\n")
            .map_err(|e| format!("{}: {e}", generated.display()))?;
        for idl in [
            "interop.idl",
            "interop_jacorb.idl",
            "interop_any.idl",
            "interop_values.idl",
            "interop_values_far.idl",
            "interop_async.idl",
        ] {
            let mut command: Vec<OsString> = vec!["-cp".into(), class_path.clone()];
            command.push("org.jacorb.idl.parser".into());
            if idl == "interop_async.idl" {
                command.push("-ami_callback".into());
            }
            for directory in [&generated, &places.sources] {
                command.push(format!("-I{}", directory.display()).into());
            }
            command.extend(["-d".into(), generated.clone().into()]);
            command.push(places.sources.join(idl).into());
            tool("java", &command, &places.root)?;
        }
        components(places, oxorb, &class_path, &generated)?;
        let mut command: Vec<OsString> = vec![
            "-nowarn".into(),
            "-encoding".into(),
            "UTF-8".into(),
            "-cp".into(),
            class_path.clone(),
        ];
        command.extend(["-d".into(), classes.clone().into()]);
        for directory in [&generated, &sources] {
            java_files(directory, &mut command)?;
        }
        tool("javac", &command, &places.root)?;
        std::fs::write(&stamp, "").map_err(|e| format!("{}: {e}", stamp.display()))?;
    }
    Ok(class_path)
}

/// Compiles the equivalent IDL of components with JacORB.
fn components(
    places: &Places,
    oxorb: &Path,
    class_path: &OsString,
    generated: &Path,
) -> Result<(), String> {
    let library = places.root.join("idl/omg/Components.idl");
    let text =
        std::fs::read_to_string(&library).map_err(|e| format!("{}: {e}", library.display()))?;
    // JacORB's compiler lacks definitions of CORBA that the module uses, and distributes those with prefix omg.org over
    // two packages.
    let text = text
        .replace("#include <orb.idl>", "")
        .replace("#pragma prefix \"omg.org\"", "")
        .replace("CORBA::RepositoryId", "string")
        .replace(
            "module Components {",
            "module Components {\n    typedef sequence<octet> OctetSeq;",
        )
        .replace("CORBA::OctetSeq", "OctetSeq");
    let folder = generated.join("component_idl");
    create(&folder)?;
    write(&folder.join("Components.idl"), &text)?;
    write(&folder.join("equivalent.idl"), &equivalent(places, oxorb)?)?;
    for file in ["Components.idl", "equivalent.idl"] {
        let mut command: Vec<OsString> = vec!["-cp".into(), class_path.clone()];
        command.push("org.jacorb.idl.parser".into());
        command.push(format!("-I{}", folder.display()).into());
        command.extend(["-d".into(), generated.into()]);
        command.push(folder.join(file).into());
        tool("java", &command, &places.root)?;
    }
    let mut made = Vec::new();
    for package in ["Components", "InteropComponents"] {
        java_files(&generated.join(package), &mut made)?;
    }
    for file in made.iter().map(Path::new) {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let with_prefix = text.replace("\"IDL:Components/", "\"IDL:omg.org/Components/");
        write(file, &with_prefix)?;
    }
    Ok(())
}

/// Adds every Java source below a directory.
fn java_files(directory: &Path, found: &mut Vec<OsString>) -> Result<(), String> {
    for entry in
        std::fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?
    {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            java_files(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "java") {
            found.push(path.into());
        }
    }
    Ok(())
}

/// Reports whether `built` exists and is newer than every file directly in these directories.
fn is_newer(built: &Path, sources: &[&Path]) -> Result<bool, String> {
    let time = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified());
    let Ok(built) = time(built) else {
        return Ok(false);
    };
    let mut newest = SystemTime::UNIX_EPOCH;
    for directory in sources {
        for entry in
            std::fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?
        {
            let path = entry.map_err(|e| e.to_string())?.path();
            if path.is_file() {
                newest = newest.max(time(&path).map_err(|e| e.to_string())?);
            }
        }
    }
    Ok(built > newest)
}

fn create(directory: &Path) -> Result<(), String> {
    std::fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))
}

fn args(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}
