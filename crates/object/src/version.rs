//! Version of a message or profile.

use core::fmt;

/// GIOP or IIOP version, `major.minor`.
///
/// OxORB supports 1.0, 1.1 and 1.2; a reply has the request's version, and a request the lower of
/// OxORB's highest and the profile's version (CORBA 3.4, 15.7.1).
///
/// ```
/// use oxorb_object::Version;
/// assert!(Version::V1_0 < Version::V1_2);
/// assert_eq!(Version::V1_1.to_string(), "1.1");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    /// Major version.
    pub major: u8,
    /// Minor version.
    pub minor: u8,
}

impl Version {
    /// GIOP 1.0: no fragments, no wide characters.
    pub const V1_0: Self = Self { major: 1, minor: 0 };
    /// GIOP 1.1: fragments without a request id.
    pub const V1_1: Self = Self { major: 1, minor: 1 };
    /// GIOP 1.2: target addresses, aligned bodies, fragments that may interleave.
    pub const V1_2: Self = Self { major: 1, minor: 2 };

    /// Reports whether OxORB supports the version.
    pub const fn is_supported(self) -> bool {
        self.major == 1 && self.minor <= 2
    }

    /// Returns the version to use with a peer that offers `self`: never above 1.2. `None` if the
    /// major version differs.
    pub fn usable(self) -> Option<Self> {
        (self.major == 1).then(|| self.min(Self::V1_2))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
