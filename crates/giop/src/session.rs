//! Sessions without I/O: the state that a connection keeps between messages.
//!
//! Each direction has its own session: [`Outgoing`] belongs to the side that sends requests,
//! [`Incoming`] to the side that serves them. On a connection with requests in both directions,
//! each side has both.

use oxorb_cdr::Dialect;
use oxorb_object::{CodeSetContext, SystemException};

/// Session of the requests that this side sends over a connection: their ids, and the code sets
/// sent to the server.
///
/// If several threads send over one connection under separate locks, each half is protected by its
/// own lock.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Ids of the requests.
    pub ids: RequestIds,
    /// Code sets sent to the server.
    pub told: Told,
}

/// Request ids of one side of a connection: each side uses every second number, so that ids stay
/// unique on a connection with requests in both directions.
///
/// ```
/// use oxorb_giop::RequestIds;
///
/// let mut ids = RequestIds::OF_ACCEPTOR;
/// assert_eq!((ids.next_id(), ids.next_id()), (1, 3));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RequestIds(u32);

/// Code sets sent to the server of a connection, once: sending different ones later is an error.
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
    /// Resulting dialect of text, except for its GIOP version, which is that of each request.
    agreed: Dialect,
}

/// Session of the requests that arrive over a connection: the code sets that the client sent.
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
    /// Resulting dialect of text, except for its GIOP version, which is that of each request; `None` if
    /// the code sets determine none.
    agreed: Option<Dialect>,
}

/// Error for code sets that differ from those that a client sent before.
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
    /// Ids of the side that opened the connection: the even ones.
    pub const OF_OPENER: Self = Self(0);
    /// Ids of the side that accepted the connection: the odd ones.
    pub const OF_ACCEPTOR: Self = Self(1);

    /// Returns the ids of the side that opens a link over which messages may be lost or come late: even ones that
    /// begin at `microseconds`, the time since the system was started.
    ///
    /// A late reply to a request of a socket that was closed may arrive at a new socket, if the system gives it the
    /// same port: with these ids it fits none of the new requests. A server that drops duplicates by their ids (RFC
    /// 1982) sees higher ones. This holds for half an hour, while a socket sends fewer than 500,000 requests per
    /// second.
    ///
    /// ```
    /// use oxorb_giop::RequestIds;
    ///
    /// let mut ids = RequestIds::of_lossy_opener(1_000_001);
    /// assert_eq!((ids.next_id(), ids.next_id()), (1_000_000, 1_000_002));
    /// ```
    pub const fn of_lossy_opener(microseconds: u64) -> Self {
        Self(microseconds as u32 & !1)
    }

    /// Returns the id of the next request.
    #[inline]
    pub fn next_id(&mut self) -> u32 {
        let id = self.0;
        self.0 = id.wrapping_add(2);
        id
    }
}

impl Told {
    /// State before code sets were sent. Wide characters are sent as UTF-16 to a server that
    /// publishes no code sets.
    pub const NOTHING: Self = Self { code_sets: None, agreed: Dialect::GIOP_1_2 };

    /// Returns the state after these code sets were sent.
    pub fn of(code_sets: Option<CodeSetContext>) -> Self {
        let agreed = code_sets.and_then(|sets| sets.dialect(Dialect::GIOP_1_2.giop_minor).ok());
        Self { code_sets, agreed: agreed.unwrap_or(Dialect::GIOP_1_2) }
    }

    /// Returns the code sets that the next request must contain for the server to know `wanted`;
    /// `None` once they were sent.
    #[inline]
    pub fn yet_to_tell(&self, wanted: Option<CodeSetContext>) -> Option<CodeSetContext> {
        match self.code_sets {
            None => wanted,
            Some(_) => None,
        }
    }

    /// Returns the dialect of text in requests and their replies.
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
    /// Returns the session of a connection whose text is in `dialect` until the client sends code
    /// sets.
    pub fn of(dialect: Dialect) -> Self {
        Self { said: None, agreed: Some(dialect) }
    }

    /// Returns the session after the client sent these code sets.
    ///
    /// # Errors
    /// [`Contradiction`] when the client sent others before.
    pub fn hear(self, said: CodeSetContext, giop_minor: u8) -> Result<Self, Contradiction> {
        match self.said {
            Some(before) if before != said => Err(Contradiction),
            Some(_) => Ok(self),
            None => Ok(Self { said: Some(said), agreed: said.dialect(giop_minor).ok() }),
        }
    }

    /// Returns the dialect of text in requests.
    ///
    /// # Errors
    /// CODESET_INCOMPATIBLE when the code sets that the client sent determine no encoding.
    #[inline]
    pub fn dialect(&self, giop_minor: u8) -> Result<Dialect, SystemException> {
        match self.agreed {
            Some(agreed) => Ok(Dialect { giop_minor, ..agreed }),
            None => self.disagreement(giop_minor),
        }
    }

    /// Returns the exception that reports why the client's code sets determine no dialect.
    #[cold]
    fn disagreement(self, giop_minor: u8) -> Result<Dialect, SystemException> {
        self.said.unwrap_or(CodeSetContext::DEFAULT).dialect(giop_minor)
    }
}

impl Default for Incoming {
    /// Returns the session of a client that has sent no code sets. Its wide text is decoded as
    /// UTF-16, as this ORB and others send it if the reference contains no code sets, such as those
    /// of `corbaloc:`.
    fn default() -> Self {
        Self::of(Dialect::GIOP_1_2)
    }
}
