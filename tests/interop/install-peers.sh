#!/bin/sh
# Installs the foreign ORBs and tools that `cargo xtask interop` talks to:
# omniORB, a JDK and Maven, tshark, a cross compiler and an emulator of s390x
# (Debian packages), Rust's library for it, the JacORB jars and OpenJDK's IDL
# (Maven Central, into target/interop). Run as root on Debian 12 or later;
# quick when everything is there already.
set -eu
cd "$(dirname "$0")/../.."
jars=target/interop/jars
idl=target/interop/idl

packages="g++ pkg-config libomniorb4-dev omniidl omniorb omniorb-idl omniorb-nameserver tshark default-jdk-headless maven
    qemu-user-static gcc-s390x-linux-gnu libc6-dev-s390x-cross"
missing=""
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
# Any JDK and any Maven will do, packaged or not.
command -v javac >/dev/null && missing=$(printf '%s' "$missing" | sed 's/ default-jdk-headless//')
command -v mvn >/dev/null && missing=$(printf '%s' "$missing" | sed 's/ maven//')
if [ -n "$missing" ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    # shellcheck disable=SC2086 # a list of words
    apt-get install -qy --no-install-recommends $missing
fi

rustup target list --installed | grep -q s390x-unknown-linux-gnu || rustup target add s390x-unknown-linux-gnu

# JacORB 3.9 needs javax.rmi, which JDKs since 11 no longer bring.
pom=tests/interop/java/pom.xml
if ! cmp -s "$pom" "$jars/pom.xml"; then
    rm -rf "$jars" "$idl" target/interop/maven
    mkdir -p "$jars"
    mvn -q -B -f "$pom" dependency:copy-dependencies -DexcludeClassifiers=sources "-DoutputDirectory=$PWD/$jars"
    mvn -q -B -f "$pom" dependency:unpack-dependencies -DincludeClassifiers=sources '-Dmdep.unpack.includes=**/*.idl' \
        "-DoutputDirectory=$PWD/$idl"
    cp "$pom" "$jars/pom.xml"
fi
echo "peers installed: omniORB $(dpkg-query -W -f '${Version}' libomniorb4-dev), JacORB in $jars, OpenJDK's IDL in $idl"
