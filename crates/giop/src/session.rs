//! Sessions without I/O: what a connection remembers from message to message.
//!
//! Each direction has its own: [`Outgoing`] belongs to the side that sends requests, [`Incoming`] to the side that serves
//! them. A connection that carries requests both ways has both on each side.

use oxorb_cdr::Dialect;
use oxorb_object::{CodeSetContext, SystemException};

/// Session of the requests that this side sends over a connection: their numbers, and what the server was told.
///
/// Where several threads send over one connection under locks of their own, each half lives under its lock.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Numbers of the requests.
    pub ids: RequestIds,
    /// Code sets, as the server was told.
    pub told: Told,
}

/// Numbers for the requests of one side of a connection: each side has every second one, so that a connection which
/// carries requests both ways has none twice.
///
/// ```
/// use oxorb_giop::RequestIds;
///
/// let mut ids = RequestIds::OF_ACCEPTOR;
/// assert_eq!((ids.next_id(), ids.next_id()), (1, 3));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RequestIds(u32);

/// Code sets that the server of a connection was told, once: a second, different word about them is an error there.
///
/// ```
/// use oxorb_giop::Told;
/// use oxorb_object::CodeSetContext;
///
/// let mut told = Told::default();
/// let wanted = Some(CodeSetContext::DEFAULT);
/// let tell = told.yet_to_tell(wanted);
/// assert_eq!(tell, wanted);
/// told = Told::of(tell);
/// assert_eq!(told.yet_to_tell(wanted), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    code_sets: Option<CodeSetContext>,
    /// Rules for text that follow, but for the GIOP version of each request.
    agreed: Dialect,
}

/// Session of the requests that come over a connection: what the client said of its text.
///
/// ```
/// use oxorb_giop::{Contradiction, Incoming};
/// use oxorb_object::CodeSetContext;
///
/// let latin = CodeSetContext::DEFAULT;
/// let session = Incoming::default().hear(latin, 2)?;
/// assert_eq!(session.hear(latin, 2), Ok(session));
/// let other = CodeSetContext { char_data: 0x0501_0001, ..latin };
/// assert_eq!(session.hear(other, 2), Err(Contradiction));
/// # Ok::<(), Contradiction>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Incoming {
    said: Option<CodeSetContext>,
    /// Rules for text that follow, but for the GIOP version of each request; `None` where none do.
    agreed: Option<Dialect>,
}

/// Second word of a client about its code sets that differs from the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contradiction;

impl Outgoing {
    /// Session of the side that opened the connection.
    pub const OF_OPENER: Self = Self { ids: RequestIds::OF_OPENER, told: Told::NOTHING };
}

impl Default for Outgoing {
    fn default() -> Self {
        Self::OF_OPENER
    }
}

impl RequestIds {
    /// Numbers of the side that opened the connection: the even ones.
    pub const OF_OPENER: Self = Self(0);
    /// Numbers of the side that accepted the connection: the odd ones.
    pub const OF_ACCEPTOR: Self = Self(1);

    /// Returns the number of the next request.
    #[inline]
    pub fn next_id(&mut self) -> u32 {
        let id = self.0;
        self.0 = id.wrapping_add(2);
        id
    }
}

impl Told {
    /// State before anything was told. Wide characters go as UTF-16 to a server that published
    /// nothing about them.
    pub const NOTHING: Self = Self { code_sets: None, agreed: Dialect::GIOP_1_2 };

    /// Returns the state in which the server was told these.
    pub fn of(code_sets: Option<CodeSetContext>) -> Self {
        let agreed = code_sets.and_then(|sets| sets.dialect(Dialect::GIOP_1_2.giop_minor).ok());
        Self { code_sets, agreed: agreed.unwrap_or(Dialect::GIOP_1_2) }
    }

    /// Returns what the next request has to tell where the server is to know `wanted`; `None`: nothing any more.
    #[inline]
    pub fn yet_to_tell(&self, wanted: Option<CodeSetContext>) -> Option<CodeSetContext> {
        match self.code_sets {
            None => wanted,
            Some(_) => None,
        }
    }

    /// Returns how text is encoded in requests, and in their replies.
    #[inline]
    pub fn dialect(&self, giop_minor: u8) -> Dialect {
        Dialect { giop_minor, ..self.agreed }
    }
}

impl Default for Told {
    fn default() -> Self {
        Self::NOTHING
    }
}

impl Incoming {
    /// Returns the session of a connection whose text is in `dialect` until the client says something else.
    pub fn of(dialect: Dialect) -> Self {
        Self { said: None, agreed: Some(dialect) }
    }

    /// Returns the session once the client said these code sets.
    ///
    /// # Errors
    /// [`Contradiction`] when it said others before.
    pub fn hear(self, said: CodeSetContext, giop_minor: u8) -> Result<Self, Contradiction> {
        match self.said {
            Some(before) if before != said => Err(Contradiction),
            Some(_) => Ok(self),
            None => Ok(Self { said: Some(said), agreed: said.dialect(giop_minor).ok() }),
        }
    }

    /// Returns how text in requests is encoded.
    ///
    /// # Errors
    /// CODESET_INCOMPATIBLE when no rules follow from what the client said.
    #[inline]
    pub fn dialect(&self, giop_minor: u8) -> Result<Dialect, SystemException> {
        match self.agreed {
            Some(agreed) => Ok(Dialect { giop_minor, ..agreed }),
            None => self.disagreement(giop_minor),
        }
    }

    /// Returns why no rules follow from what the client said.
    #[cold]
    fn disagreement(self, giop_minor: u8) -> Result<Dialect, SystemException> {
        self.said.unwrap_or(CodeSetContext::DEFAULT).dialect(giop_minor)
    }
}

impl Default for Incoming {
    /// Session of a client that has said nothing yet. Its wide text is taken as UTF-16: so it is sent, by this ORB as by
    /// others, where the reference names no code sets, as those of `corbaloc:` do.
    fn default() -> Self {
        Self::of(Dialect::GIOP_1_2)
    }
}
