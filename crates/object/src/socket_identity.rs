//! Identity of a UNIX socket.

use crate::prelude::*;
use core::fmt;
use core::str::FromStr;

use oxorb_cdr::{self as cdr, Decoder, Encoder};

/// Identity of a server's UNIX socket and its owner, by which a client verifies that the socket
/// with this name on the client's host is the server's.
///
/// In an address, its text follows the name:
///
/// ```
/// use oxorb_object::SocketIdentity;
///
/// let identity = SocketIdentity { host: [7; 16], users: 1, uid: 1000, device: 0xfd01, inode: 2 };
/// let text = "host=07070707070707070707070707070707,users=1,uid=1000,in=fd01:2";
/// assert_eq!(identity.to_string(), text);
/// assert_eq!(text.parse(), Ok(identity));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SocketIdentity {
    /// Identity of the host since its last start: on Linux its boot id.
    pub host: [u8; 16],
    /// Number of the user namespace to which `uid` belongs.
    pub users: u64,
    /// Effective user of the server.
    pub uid: u32,
    /// Device of the container of the socket's name: the directory of a path, or the network
    /// namespace of an abstract name.
    pub device: u64,
    /// Inode of that container.
    pub inode: u64,
}

impl SocketIdentity {
    pub(crate) fn read(d: &mut Decoder<'_>) -> cdr::Result<Self> {
        let mut host = [0; 16];
        host.copy_from_slice(d.octets(16)?);
        Ok(Self {
            host,
            users: d.ulonglong()?,
            uid: d.ulong()?,
            device: d.ulonglong()?,
            inode: d.ulonglong()?,
        })
    }

    pub(crate) fn write(&self, e: &mut Encoder<'_>) {
        e.copy_octets(&self.host);
        e.ulonglong(self.users);
        e.ulong(self.uid);
        e.ulonglong(self.device);
        e.ulonglong(self.inode);
    }

    /// Returns the identity of the host as text, in hexadecimal.
    pub fn host_text(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.host))
    }
}

impl fmt::Display for SocketIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { users, uid, device, inode, .. } = self;
        let host = self.host_text();
        write!(f, "host={host},users={users:x},uid={uid},in={device:x}:{inode:x}")
    }
}

/// Error for text that is not a [`SocketIdentity`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NotAnIdentity;

impl FromStr for SocketIdentity {
    type Err = NotAnIdentity;

    fn from_str(text: &str) -> Result<Self, NotAnIdentity> {
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let read = || {
            let mut fields = text.split(',');
            let mut field = |name| fields.next()?.strip_prefix(name);
            let host = u128::from_str_radix(field("host=")?, 16).ok()?;
            let users = hex(field("users=")?)?;
            let uid = field("uid=")?.parse().ok()?;
            let (device, inode) = field("in=")?.split_once(':')?;
            Some(Self {
                host: host.to_be_bytes(),
                users,
                uid,
                device: hex(device)?,
                inode: hex(inode)?,
            })
        };
        let read: Option<Self> = read();
        // Only canonical text is accepted, because addresses are compared as text.
        read.filter(|it| it.to_string() == text).ok_or(NotAnIdentity)
    }
}

impl fmt::Display for NotAnIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no identity of a socket: expected host=HEX,users=HEX,uid=NUMBER,in=HEX:HEX")
    }
}

impl fmt::Debug for NotAnIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for NotAnIdentity {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_text_for_the_same_is_none() {
        let good = "host=00000000000000000000000000000001,users=a,uid=0,in=0:ff";
        assert_eq!(good.parse::<SocketIdentity>().unwrap().to_string(), good);
        for wrong in [
            "",
            "trusted",
            "host=1,users=a,uid=0,in=0:ff",
            "host=00000000000000000000000000000001,users=A,uid=0,in=0:ff",
            "host=00000000000000000000000000000001,users=a,uid=00,in=0:ff",
            "host=00000000000000000000000000000001,users=a,uid=0,in=0:ff,",
            "host=00000000000000000000000000000001,users=a,uid=0,in=0",
            "host=00000000000000000000000000000001,users=a,uid=4294967296,in=0:0",
        ] {
            assert_eq!(wrong.parse::<SocketIdentity>(), Err(NotAnIdentity), "{wrong}");
        }
    }
}
