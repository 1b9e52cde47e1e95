//! The forty standard exceptions.

use core::fmt;

use oxorb_cdr::{self as cdr, Decode, Decoder, Encode, Encoder, ErrorKind};

use crate::minor;
use crate::note::ExceptionNote;

/// CORBA system exception: kind, minor code, and whether the operation ran (CORBA 3.4, 8.4.3).
///
/// `Copy` and sixteen octets at most, so it is cheap to pass. `Display` explains the minor code if
/// it is in the table of [`minor`]:
///
/// ```
/// use oxorb_object::{CompletionStatus, SystemException, minor};
/// let e = SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);
/// assert_eq!(e.to_string(), "OBJECT_NOT_EXIST (minor OMG 1: no such object), completed NO");
/// ```
///
/// `Debug` prints the same, so that a `main` which returns the exception prints a readable message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SystemException {
    /// Kind of exception.
    pub kind: SystemExceptionKind,
    /// Vendor in the upper twenty bits and number in the lower twelve; see [`minor`].
    pub minor: u32,
    /// Whether the operation ran on the target.
    pub completed: CompletionStatus,
    /// Reference to details about this occurrence, such as the addresses that were tried.
    pub note: ExceptionNote,
}

impl SystemException {
    /// Creates an exception of any kind.
    pub const fn new(kind: SystemExceptionKind, minor: u32, completed: CompletionStatus) -> Self {
        Self { kind, minor, completed, note: ExceptionNote::NONE }
    }

    /// Returns `IDL:omg.org/CORBA/<NAME>:1.0`.
    pub const fn repository_id(&self) -> &'static str {
        self.kind.repository_id()
    }

    /// Returns the exception for data that cannot be encoded or decoded.
    ///
    /// Returns DATA_CONVERSION for characters outside a code set, BAD_PARAM 23 for wide characters without a code set,
    /// BAD_PARAM for values to be sent that their type does not allow, and MARSHAL for everything else.
    pub fn from_cdr(error: cdr::Error, completed: CompletionStatus) -> Self {
        let mut exception = from_cdr(error.kind, completed);
        if let ErrorKind::NotInCodeSet(outside) = error.kind {
            exception.note = ExceptionNote::about(outside);
        }
        exception
    }

    /// Reports whether the request may be sent again without the risk of running twice.
    pub const fn is_safe_to_retry(&self) -> bool {
        matches!(self.completed, CompletionStatus::No)
            && matches!(
                self.kind,
                SystemExceptionKind::Transient | SystemExceptionKind::CommFailure
            )
    }

    /// Writes the body of a SYSTEM_EXCEPTION reply: repository id, minor code, completion status.
    /// Copies everything.
    #[inline]
    pub fn write(&self, e: &mut Encoder<'_>) {
        let id = self.repository_id();
        e.ulong(id.len() as u32 + 1);
        e.copy_octets(id.as_bytes());
        e.octet(0);
        e.ulong(self.minor);
        e.ulong(self.completed as u32);
    }
}

impl Encode for SystemException {
    /// Writes the body of a SYSTEM_EXCEPTION reply: repository id, minor code, completion status.
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> cdr::Result<()> {
        self.write(e);
        Ok(())
    }
}

impl<'de> Decode<'de> for SystemException {
    const MIN_SIZE: usize = 16;

    /// Reads unknown repository ids as UNKNOWN, minor OMG 2.
    fn decode(d: &mut Decoder<'de>) -> cdr::Result<Self> {
        let length = d.length(None, 1)?;
        let id = d.octets(length)?;
        let minor = d.ulong()?;
        let at = d.position();
        let completed = match d.ulong()? {
            0 => CompletionStatus::Yes,
            1 => CompletionStatus::No,
            2 => CompletionStatus::Maybe,
            other => {
                return Err(cdr::Error { kind: ErrorKind::BadEnumerator(other), at });
            }
        };
        let id = core::str::from_utf8(id.strip_suffix(&[0]).unwrap_or(id)).unwrap_or_default();
        Ok(match SystemExceptionKind::from_repository_id(id) {
            Some(kind) => Self::new(kind, minor, completed),
            None => Self::unknown(minor::unknown::NON_STANDARD_SYSTEM_EXCEPTION, completed),
        })
    }
}

impl core::error::Error for SystemException {}

impl fmt::Debug for SystemException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SystemException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (minor {}), completed {}",
            self.kind,
            minor::Explained(self.kind, self.minor),
            self.completed
        )?;
        self.note.explain(f)
    }
}

/// Whether the operation ran on the target before the exception.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub enum CompletionStatus {
    /// The operation completed.
    Yes = 0,
    /// The operation did not start.
    No = 1,
    /// The operation may or may not have run.
    Maybe = 2,
}

impl fmt::Display for CompletionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Yes => "YES",
            Self::No => "NO",
            Self::Maybe => "MAYBE",
        })
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $function:ident $name:literal;)*) => {
        /// Kind of a standard exception.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum SystemExceptionKind {
            $($(#[$doc])* $variant,)*
        }

        impl SystemExceptionKind {
            /// List of all forty kinds.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the IDL name, such as `BAD_PARAM`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns `IDL:omg.org/CORBA/<NAME>:1.0`.
            pub const fn repository_id(self) -> &'static str {
                match self { $(Self::$variant => concat!("IDL:omg.org/CORBA/", $name, ":1.0"),)* }
            }

            /// Returns the kind with this IDL name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        /// Constructors, a function for each kind.
        impl SystemException {
            $($(#[$doc])* pub const fn $function(minor: u32, completed: CompletionStatus) -> Self {
                Self::new(SystemExceptionKind::$variant, minor, completed)
            })*
        }
    };
}

kinds! {
    /// UNKNOWN: an exception that the operation does not raise, or a servant that failed.
    Unknown unknown "UNKNOWN";
    /// BAD_PARAM: an argument is outside its range.
    BadParam bad_param "BAD_PARAM";
    /// NO_MEMORY: memory is exhausted.
    NoMemory no_memory "NO_MEMORY";
    /// IMP_LIMIT: a limit of the implementation is exceeded.
    ImpLimit imp_limit "IMP_LIMIT";
    /// COMM_FAILURE: the connection was lost while a request was outstanding.
    CommFailure comm_failure "COMM_FAILURE";
    /// INV_OBJREF: the reference is malformed.
    InvObjref inv_objref "INV_OBJREF";
    /// OBJECT_NOT_EXIST: the object no longer exists.
    ObjectNotExist object_not_exist "OBJECT_NOT_EXIST";
    /// NO_PERMISSION: the caller may not do this.
    NoPermission no_permission "NO_PERMISSION";
    /// INTERNAL: the ORB itself is broken.
    Internal internal "INTERNAL";
    /// MARSHAL: data could not be encoded or decoded.
    Marshal marshal "MARSHAL";
    /// INITIALIZE: the ORB could not start.
    Initialize initialize "INITIALIZE";
    /// NO_IMPLEMENT: the operation exists without an implementation.
    NoImplement no_implement "NO_IMPLEMENT";
    /// BAD_TYPECODE: a TypeCode is malformed.
    BadTypecode bad_typecode "BAD_TYPECODE";
    /// BAD_OPERATION: the object has no such operation.
    BadOperation bad_operation "BAD_OPERATION";
    /// NO_RESOURCES: a resource other than memory is exhausted.
    NoResources no_resources "NO_RESOURCES";
    /// NO_RESPONSE: a deferred reply has not arrived yet.
    NoResponse no_response "NO_RESPONSE";
    /// PERSIST_STORE: persistent storage failed.
    PersistStore persist_store "PERSIST_STORE";
    /// BAD_INV_ORDER: something was called in the wrong order.
    BadInvOrder bad_inv_order "BAD_INV_ORDER";
    /// TRANSIENT: the object cannot be reached now; a retry may succeed.
    Transient transient "TRANSIENT";
    /// FREE_MEM: memory could not be freed.
    FreeMem free_mem "FREE_MEM";
    /// INV_IDENT: an IDL identifier is malformed.
    InvIdent inv_ident "INV_IDENT";
    /// INV_FLAG: a flag is invalid.
    InvFlag inv_flag "INV_FLAG";
    /// INTF_REPOS: the interface repository failed.
    IntfRepos intf_repos "INTF_REPOS";
    /// BAD_CONTEXT: a context object lacks a property.
    BadContext bad_context "BAD_CONTEXT";
    /// OBJ_ADAPTER: the object adapter rejected the request.
    ObjAdapter obj_adapter "OBJ_ADAPTER";
    /// DATA_CONVERSION: a value cannot be represented on the other side.
    DataConversion data_conversion "DATA_CONVERSION";
    /// INV_POLICY: policies contradict each other.
    InvPolicy inv_policy "INV_POLICY";
    /// REBIND: the route changed, and policy forbids following it.
    Rebind rebind "REBIND";
    /// TIMEOUT: a deadline has passed.
    Timeout timeout "TIMEOUT";
    /// TRANSACTION_UNAVAILABLE: the transaction service is not available.
    TransactionUnavailable transaction_unavailable "TRANSACTION_UNAVAILABLE";
    /// TRANSACTION_MODE: the transaction policy of the target does not allow the caller's transaction mode.
    TransactionMode transaction_mode "TRANSACTION_MODE";
    /// TRANSACTION_REQUIRED: the operation needs a transaction.
    TransactionRequired transaction_required "TRANSACTION_REQUIRED";
    /// TRANSACTION_ROLLEDBACK: the transaction was rolled back.
    TransactionRolledback transaction_rolledback "TRANSACTION_ROLLEDBACK";
    /// INVALID_TRANSACTION: the transaction context is malformed.
    InvalidTransaction invalid_transaction "INVALID_TRANSACTION";
    /// CODESET_INCOMPATIBLE: client and server share no code set.
    CodesetIncompatible codeset_incompatible "CODESET_INCOMPATIBLE";
    /// BAD_QOS: the requested quality of service is not available.
    BadQos bad_qos "BAD_QOS";
    /// INVALID_ACTIVITY: the operation is not valid in the current activity context.
    InvalidActivity invalid_activity "INVALID_ACTIVITY";
    /// ACTIVITY_COMPLETED: the activity has ended.
    ActivityCompleted activity_completed "ACTIVITY_COMPLETED";
    /// ACTIVITY_REQUIRED: the operation needs an activity.
    ActivityRequired activity_required "ACTIVITY_REQUIRED";
    /// THREAD_CANCELLED: the distributable thread was cancelled.
    ThreadCancelled thread_cancelled "THREAD_CANCELLED";
}

impl SystemExceptionKind {
    /// Returns the kind with this repository id of any version.
    pub fn from_repository_id(id: &str) -> Option<Self> {
        let (name, _version) = id.strip_prefix("IDL:omg.org/CORBA/")?.split_once(':')?;
        Self::from_name(name)
    }
}

impl fmt::Display for SystemExceptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn from_cdr(kind: ErrorKind, completed: CompletionStatus) -> SystemException {
    use minor::marshal;

    let code = match kind {
        ErrorKind::NotInCodeSet(_) => {
            return SystemException::data_conversion(
                minor::data_conversion::NOT_IN_CODE_SET,
                completed,
            );
        }
        ErrorKind::WcharUnsupported => {
            return SystemException::bad_param(minor::bad_param::WCHAR_CODE_SET_MISSING, completed);
        }
        ErrorKind::BadValue => {
            return SystemException::bad_param(minor::bad_param::NOT_ENCODABLE, completed);
        }
        ErrorKind::BadTypeCode | ErrorKind::BadTypeKind(_) => {
            return SystemException::bad_typecode(minor::bad_typecode::MALFORMED, completed);
        }
        ErrorKind::TooMuchMemory { .. } => {
            return SystemException::imp_limit(minor::imp_limit::DECODED, completed);
        }
        ErrorKind::NoMemoryLeft => {
            return SystemException::no_memory(minor::no_memory::CLIENT_SHARE, completed);
        }
        ErrorKind::ArenaFull { .. } => {
            return SystemException::no_memory(minor::no_memory::ARENA, completed);
        }
        ErrorKind::NotInPlace { .. } => {
            return SystemException::no_resources(minor::no_resources::NOT_IN_PLACE, completed);
        }
        ErrorKind::NotAlike => marshal::NOT_ALIKE,
        ErrorKind::BadIndirection(_) => marshal::INDIRECTION,
        ErrorKind::BadFixed => marshal::FIXED,
        ErrorKind::BadValueTag(_) | ErrorKind::BadChunk | ErrorKind::ValueMismatch => {
            marshal::VALUE
        }
        ErrorKind::NotMarshallable => marshal::LOCAL_OBJECT,
        ErrorKind::WcharForbidden => marshal::WCHAR_FROM_1_0_CLIENT,
        ErrorKind::Truncated { .. } => marshal::TRUNCATED,
        ErrorKind::BoundExceeded { .. } => marshal::BOUND_EXCEEDED,
        ErrorKind::LengthImplausible { .. } => marshal::IMPLAUSIBLE_LENGTH,
        ErrorKind::BadBoolean(_) => marshal::BOOLEAN,
        ErrorKind::BadEnumerator(_) => marshal::ENUMERATOR,
        ErrorKind::BadLabel => marshal::LABEL,
        ErrorKind::BadString => marshal::STRING,
        ErrorKind::NoValueFactory => marshal::NO_VALUE_FACTORY,
        ErrorKind::NoCustomMarshal => marshal::NO_CUSTOM_MARSHAL,
        ErrorKind::TooDeep { .. } => marshal::TOO_DEEP,
        ErrorKind::TrailingOctets(_) => marshal::TRAILING,
        _ => marshal::OTHER,
    };
    SystemException::marshal(code, completed)
}
