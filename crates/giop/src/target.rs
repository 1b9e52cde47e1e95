//! Target of a Request or LocateRequest.

use core::fmt;

use oxorb_cdr::{ByteOrder, Decode, Decoder, Dialect, Encoder};
use oxorb_object::{Ior, Malformed, UipmcProfile, profile_tag, write_octets};

use crate::{Misbehaviour, Violation};

/// Target of a received Request or LocateRequest.
///
/// GIOP 1.0 and 1.1 support keys only; 1.2 peers may address by profile or by whole reference, and
/// a server must accept all three (CORBA 3.4, 15.4.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'a> {
    /// Object key, as nearly every client sends.
    Key(&'a [u8]),
    /// Profile that the client uses.
    Profile(ProfileView<'a>),
    /// Whole reference, and the profile of it that the client uses.
    Reference {
        /// Index of the profile in use.
        index: u32,
        /// Reference.
        ior: IorView<'a>,
    },
}

impl<'a> Target<'a> {
    /// Returns the object key of any form of target. Costs nothing for `Key`; searches the profile
    /// otherwise. Allocates nothing.
    ///
    /// # Errors
    /// A malformed profile, one without an object key, or an invalid profile index.
    #[inline]
    pub fn object_key(&self) -> Result<&'a [u8], Violation> {
        match self {
            Self::Key(key) => Ok(key),
            Self::Profile(profile) => profile.object_key(),
            Self::Reference { index, ior } => ior.profile(*index)?.object_key(),
        }
    }

    /// Reads a bare object key, for protocols without other addressing, such as GIOP 1.0 and 1.1.
    ///
    /// # Errors
    /// Truncated octets.
    #[inline]
    pub fn read_key(fields: &mut Decoder<'a>) -> Result<Self, Violation> {
        let length = fields.length(None, 1)?;
        Ok(Self::Key(fields.octets(length)?))
    }

    /// Reads a GIOP 1.2 TargetAddress.
    #[inline]
    pub(crate) fn read(message: &'a [u8], fields: &mut Decoder<'a>) -> Result<Self, Violation> {
        match AddressingDisposition(fields.short()?) {
            AddressingDisposition::KEY => Self::read_key(fields),
            AddressingDisposition::PROFILE => Ok(Self::Profile(ProfileView::read(fields)?)),
            AddressingDisposition::REFERENCE => {
                let index = fields.ulong()?;
                Ok(Self::Reference { index, ior: IorView::read(message, fields)? })
            }
            AddressingDisposition(other) => {
                Err(Violation::Peer(Misbehaviour::TargetDiscriminant(other)))
            }
        }
    }
}

/// Target to be written into a Request or LocateRequest.
///
/// GIOP 1.0 and 1.1 support `Key` only; `Profile` and `Reference` then write the object key that
/// they contain, or an empty one if there is none.
#[derive(Clone, Copy, Debug)]
pub enum TargetAddress<'a> {
    /// Object key; the default.
    Key(&'a [u8]),
    /// Tag and octets of a profile; after a NEEDS_ADDRESSING_MODE that requires it.
    Profile {
        /// Tag of the profile.
        tag: u32,
        /// Octets of the profile.
        data: &'a [u8],
    },
    /// Whole reference; after a NEEDS_ADDRESSING_MODE that requires it.
    Reference {
        /// Index of the profile in use.
        index: u32,
        /// Reference.
        ior: &'a Ior,
    },
}

impl TargetAddress<'_> {
    #[inline]
    pub(crate) fn write(&self, e: &mut Encoder<'_>) {
        match *self {
            Self::Key(key) => {
                e.short(AddressingDisposition::KEY.0);
                write_octets(e, key);
            }
            Self::Profile { tag, data } => {
                e.short(AddressingDisposition::PROFILE.0);
                e.ulong(tag);
                write_octets(e, data);
            }
            Self::Reference { index, ior } => {
                e.short(AddressingDisposition::REFERENCE.0);
                e.ulong(index);
                ior.write(e);
            }
        }
    }

    /// Writes the bare key, for protocols without other addressing, such as GIOP 1.0 and 1.1.
    #[inline]
    pub fn write_key(&self, e: &mut Encoder<'_>) {
        write_octets(e, self.key());
    }

    /// Returns the object key; empty if there is none.
    pub fn key(&self) -> &[u8] {
        match *self {
            Self::Key(key) => key,
            Self::Profile { tag, data } => {
                ProfileView { tag, data }.object_key().unwrap_or_default()
            }
            Self::Reference { index, ior } => ior
                .profiles
                .get(index as usize)
                .and_then(|profile| {
                    ProfileView { tag: profile.tag, data: &profile.data }.object_key().ok()
                })
                .unwrap_or_default(),
        }
    }
}

/// Form of addressing: the discriminant of TargetAddress and the body of NEEDS_ADDRESSING_MODE.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddressingDisposition(pub i16);

impl AddressingDisposition {
    /// Addressing by object key.
    pub const KEY: Self = Self(0);
    /// Addressing by profile.
    pub const PROFILE: Self = Self(1);
    /// Addressing by reference.
    pub const REFERENCE: Self = Self(2);
}

/// Profile inside a received message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProfileView<'a> {
    /// Tag of the profile's protocol; see [`profile_tag`].
    pub tag: u32,
    /// Octets of the profile, usually an encapsulation.
    pub data: &'a [u8],
}

impl<'a> ProfileView<'a> {
    /// Returns the object key of an IIOP profile; for a multicast profile (UIPMC), which has none,
    /// the octets of its TAG_GROUP. Allocates nothing.
    ///
    /// # Errors
    /// A profile of another protocol, or a malformed one.
    pub fn object_key(&self) -> Result<&'a [u8], Violation> {
        if self.tag == profile_tag::UIPMC {
            let group = UipmcProfile::find_group(self.data)?;
            return group.ok_or_else(|| Malformed::NoObjectKey { tag: self.tag }.into());
        }
        if self.tag != profile_tag::INTERNET_IOP {
            return Err(Malformed::NoObjectKey { tag: self.tag }.into());
        }
        let mut d = Decoder::encapsulated(self.data, Dialect::GIOP_1_2)?;
        d.octets(2)?; // version
        let host = d.length(None, 1)?;
        d.octets(host)?;
        d.ushort()?; // port
        let key = d.length(None, 1)?;
        Ok(d.octets(key)?)
    }

    #[inline]
    fn read(fields: &mut Decoder<'a>) -> Result<Self, Violation> {
        let tag = fields.ulong()?;
        let length = fields.length(None, 1)?;
        Ok(Self { tag, data: fields.octets(length)? })
    }
}

/// Reference inside a received message, checked but not copied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IorView<'a> {
    /// Octets of the message up to the end of the reference.
    message: &'a [u8],
    order: ByteOrder,
    start: usize,
    profiles_start: usize,
    profiles: u32,
}

impl<'a> IorView<'a> {
    /// Returns a profile of the reference. Skips the earlier ones one by one.
    ///
    /// # Errors
    /// [`Misbehaviour::ProfileIndex`] when there is no such profile.
    pub fn profile(&self, index: u32) -> Result<ProfileView<'a>, Violation> {
        if index >= self.profiles {
            return Err(Violation::Peer(Misbehaviour::ProfileIndex {
                index,
                profiles: self.profiles,
            }));
        }
        let mut d = self.decoder_at(self.profiles_start);
        for _ in 0..index {
            ProfileView::read(&mut d)?;
        }
        ProfileView::read(&mut d)
    }

    /// Returns the number of profiles.
    pub fn profiles(&self) -> u32 {
        self.profiles
    }

    /// Returns an owned copy.
    ///
    /// # Errors
    /// A type id that is not text.
    pub fn to_ior(&self) -> Result<Ior, Violation> {
        Ok(Ior::decode(&mut self.decoder_at(self.start))?)
    }

    fn read(message: &'a [u8], fields: &mut Decoder<'a>) -> Result<Self, Violation> {
        let start = fields.position();
        let type_id = fields.length(None, 1)?;
        fields.octets(type_id)?;
        let profiles = fields.length(None, 8)? as u32;
        let profiles_start = fields.position();
        for _ in 0..profiles {
            ProfileView::read(fields)?;
        }
        let message = &message[..fields.position()];
        Ok(Self { message, order: fields.order(), start, profiles_start, profiles })
    }

    fn decoder_at(&self, position: usize) -> Decoder<'a> {
        Decoder::new(self.message, self.order, Dialect::GIOP_1_2).at(position)
    }
}

impl fmt::Debug for IorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IorView").field("profiles", &self.profiles).finish_non_exhaustive()
    }
}
