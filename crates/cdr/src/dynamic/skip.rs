use super::RawReference;
use crate::{Decode, Decoder, ErrorKind, Result, Shape, TcKind, TypeCode, TypeRef};

/// Skips a value of a type without building it: octets, numbers, and structs, arrays and sequences
/// of them in one step.
///
/// The octets are checked only as far as needed to find the end, so a boolean may later turn out to
/// be invalid. Time is proportional to the octets. Allocates only for the types within an `any`.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Decoder, Dialect, TypeCode, skip};
///
/// let octets = [0, 0, 0, 2, 8, 9, 1];
/// let mut decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2));
/// skip(&TypeCode::sequence(TypeCode::OCTET), &mut decoder)?;
/// assert_eq!(decoder.octet()?, 1);
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
pub fn skip(ty: &TypeCode, d: &mut Decoder<'_>) -> Result<()> {
    ty.as_ref().skip(d)
}

impl TypeRef<'_> {
    /// Skips a value of the type, as [`skip`] does, without counting references to the type.
    pub fn skip(self, d: &mut Decoder<'_>) -> Result<()> {
        Walk::new(self, d)?.skip(self, d)
    }
}

/// Limits of a walk through a value, which the number of octets alone does not limit.
pub(crate) struct Walk {
    /// Number of further values allowed without any octets.
    empty: u32,
    /// Number of further nesting levels allowed.
    levels: u16,
    /// Whether a value of a valuetype was skipped.
    pub(crate) met_value: bool,
}

impl Walk {
    /// Levels of structs, unions, arrays and the like. Sequences and anys also count against
    /// `max_depth`.
    const LEVELS: u16 = 250;

    pub(super) fn new(ty: TypeRef<'_>, d: &Decoder<'_>) -> Result<Self> {
        match ty.is_complete() {
            true => Ok(Self::within(d)),
            false => Err(d.error(ErrorKind::BadTypeCode)),
        }
    }

    /// Creates a walk without a type.
    pub(crate) fn within(d: &Decoder<'_>) -> Self {
        Self { empty: d.limits().max_empty_elements, levels: Self::LEVELS, met_value: false }
    }

    /// Enters the next level; [`leave`](Self::leave) must follow unless there was an error.
    pub(super) fn enter(&mut self, d: &Decoder<'_>) -> Result<()> {
        match self.levels.checked_sub(1) {
            Some(levels) => {
                self.levels = levels;
                Ok(())
            }
            None => Err(d.error(ErrorKind::TooDeep { limit: Self::LEVELS })),
        }
    }

    pub(super) fn leave(&mut self) {
        self.levels += 1;
    }

    /// Counts a value without octets.
    pub(super) fn empty(&mut self, d: &Decoder<'_>) -> Result<()> {
        match self.empty.checked_sub(1) {
            Some(empty) => {
                self.empty = empty;
                Ok(())
            }
            None => Err(d.error(ErrorKind::LengthImplausible {
                length: d.limits().max_empty_elements as usize,
                left: d.remaining(),
            })),
        }
    }

    pub(crate) fn skip(&mut self, ty: TypeRef<'_>, d: &mut Decoder<'_>) -> Result<()> {
        let facts = ty.facts();
        if facts.min == 0 {
            self.empty(d)?;
        }
        if let Some(sizes) = facts.layout {
            if d.is_chunked() {
                // A chunk may end between any two items, so the items must be read one by one.
                return self.read(ty, d).map(drop).map_err(|error| error.to_cdr(d.position()));
            }
            return d.octets(sizes[d.phase() & 7] as usize).map(drop);
        }
        self.enter(d)?;
        match ty.shape() {
            Shape::Simple(kind) => match kind {
                TcKind::Any => d.nested(|d| {
                    let ty = TypeCode::decode(d)?;
                    self.skip(ty.as_ref(), d)
                })?,
                TcKind::TypeCode => TypeCode::decode(d).map(drop)?,
                TcKind::Wchar => d.wchar().map(drop)?,
                TcKind::Principal => skip_octets(d)?,
                _ => return Err(d.error(ErrorKind::BadTypeCode)),
            },
            Shape::String { .. } => skip_octets(d)?,
            Shape::Wstring { .. } => d.wstring().map(drop)?,
            Shape::Fixed { digits, scale } => {
                let scale = u8::try_from(scale).unwrap_or(u8::MAX); // refused below
                d.decimal(digits, scale).map(drop)?;
            }
            Shape::Sequence { element, bound } => {
                let n = d.length(bound, element.min_size())?;
                d.nested(|d| self.skip_elements(element, n, d))?;
            }
            Shape::Array { element, length } => self.skip_elements(element, length as usize, d)?,
            Shape::Alias(content) => self.skip(content, d)?,
            Shape::Except => {
                skip_exception_id(ty.id(), d)?;
                self.skip_members(ty, d)?;
            }
            Shape::Struct => self.skip_members(ty, d)?,
            Shape::Union { discriminator, .. } => {
                let label = read_label(discriminator.resolved(), d)?;
                if let Some(member) = ty.select(label) {
                    self.skip(member.ty, d)?;
                }
            }
            Shape::Enum => d.ulong().map(drop)?,
            Shape::Named(kind) => match kind {
                TcKind::AbstractInterface => {
                    if d.boolean()? {
                        RawReference::skip(d)?;
                    } else {
                        self.skip_value(ty, d)?;
                    }
                }
                TcKind::Native | TcKind::LocalInterface => {
                    return Err(d.error(ErrorKind::NotMarshallable));
                }
                _ => RawReference::skip(d)?,
            },
            Shape::ValueBox(_) | Shape::Value { .. } => self.skip_value(ty, d)?,
            Shape::Open => return Err(d.error(ErrorKind::BadTypeCode)),
        }
        self.leave();
        Ok(())
    }

    fn skip_members(&mut self, ty: TypeRef<'_>, d: &mut Decoder<'_>) -> Result<()> {
        ty.members().try_for_each(|member| self.skip(member.ty, d))
    }

    fn skip_elements(&mut self, element: TypeRef<'_>, n: usize, d: &mut Decoder<'_>) -> Result<()> {
        let facts = element.facts();
        let Some(rest) = n.checked_sub(1) else {
            return Ok(());
        };
        if facts.is_empty() {
            return Ok(()); // however many: there is nothing to go past
        }
        if let Some(size) = number_size(element)
            && d.block_of(size, n)?.is_some()
        {
            return Ok(());
        }
        match facts.stride() {
            Some(stride) if !d.is_chunked() => {
                self.skip(element, d)?;
                d.octets(rest.saturating_mul(stride as usize)).map(drop)
            }
            _ => (0..n).try_for_each(|_| self.skip(element, d)),
        }
    }
}

/// Returns the size of a number in octets; `None` for other types.
pub(super) fn number_size(ty: TypeRef<'_>) -> Option<usize> {
    Some(match ty.resolved().kind() {
        TcKind::Short | TcKind::Ushort => 2,
        TcKind::Long | TcKind::Ulong | TcKind::Float => 4,
        TcKind::Longlong | TcKind::Ulonglong | TcKind::Double => 8,
        _ => return None,
    })
}

/// Maximum length, in octets, of a repository id that an exception may omit. Without a limit, a few
/// octets of a message would cause a comparison and a copy of a long id for each such exception.
const LEFT_OUT: usize = 256;

/// Skips the repository id before the members of an exception. omniORB omits it.
pub(crate) fn skip_exception_id(id: Option<&str>, d: &mut Decoder<'_>) -> Result<()> {
    let id = id.unwrap_or_default().as_bytes();
    let found = d.peek(|d| {
        let length = d.ulong()?;
        d.octets(length as usize)
    });
    if id.is_empty() || found.is_ok_and(|found| found.strip_suffix(&[0]) == Some(id)) {
        return skip_octets(d);
    }
    match id.len() > LEFT_OUT {
        true => Err(d.error(ErrorKind::TooMuchShared)),
        false => Ok(()),
    }
}

fn skip_octets(d: &mut Decoder<'_>) -> Result<()> {
    let length = d.length(None, 1)?;
    d.octets(length).map(drop)
}

/// Reads a discriminant of this type, which must not be an alias.
pub(super) fn read_label(ty: TypeRef<'_>, d: &mut Decoder<'_>) -> Result<i128> {
    Ok(match ty.kind() {
        TcKind::Short => d.short()?.into(),
        TcKind::Long => d.long()?.into(),
        TcKind::Ushort => d.ushort()?.into(),
        TcKind::Ulong => d.ulong()?.into(),
        TcKind::Longlong => d.longlong()?.into(),
        TcKind::Ulonglong => d.ulonglong()?.into(),
        TcKind::Boolean => d.boolean()?.into(),
        TcKind::Octet => d.octet()?.into(),
        TcKind::Char => u32::from(d.char()?).into(),
        TcKind::Wchar => u32::from(d.wchar()?).into(),
        TcKind::Enum => {
            let ordinal = d.ulong()?;
            if ordinal as usize >= ty.enumerators().len() {
                return Err(d.error_back(4, ErrorKind::BadEnumerator(ordinal)));
            }
            ordinal.into()
        }
        _ => return Err(d.error(ErrorKind::BadTypeCode)),
    })
}
