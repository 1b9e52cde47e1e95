//! Errors as problem details (RFC 9457).

use std::fmt::Display;

use hyper::StatusCode;
use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use oxorb::{CompletionStatus, SystemException, SystemExceptionKind as Kind};
use oxorb_dynamic::Exception;
use oxorb_dynamic::json::Names;
use serde_json::{Map, Value, json};

use super::content::{Answer, typed};
use crate::call::ExceptionJson;

/// Media type of problem details.
const MEDIA_TYPE: &str = "application/problem+json";

/// Seconds after which a client may repeat a request that failed for a while.
const RETRY_SECONDS: &str = "1";

/// Error of a request.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    /// Repository id of the exception; `None` for errors of the gateway itself.
    exception: Option<String>,
    /// Further members.
    members: Map<String, Value>,
    /// Methods of the resource, for 405.
    allow: Option<&'static str>,
    /// Challenge for 401.
    challenge: Option<&'static str>,
}

impl Problem {
    /// Creates an error of the gateway itself.
    pub(super) fn new(status: StatusCode, detail: impl Display) -> Problem {
        Problem {
            status,
            detail: detail.to_string(),
            exception: None,
            members: Map::new(),
            allow: None,
            challenge: None,
        }
    }

    /// Creates the error of a request that is not valid.
    pub(super) fn bad_request(detail: impl Display) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Creates the error of a resource that is missing.
    pub(super) fn not_found(detail: impl Display) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, detail)
    }

    /// Creates the error of a resource that lacks the method.
    pub(super) fn not_allowed(allow: &'static str, detail: impl Display) -> Problem {
        Problem { allow: Some(allow), ..Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    /// Creates the error of a client without a valid token.
    pub(super) fn unauthorized(challenge: &'static str, detail: impl Display) -> Problem {
        Problem { challenge: Some(challenge), ..Problem::new(StatusCode::UNAUTHORIZED, detail) }
    }

    /// Creates the error of an exception.
    pub(super) fn raised(exception: &Exception, names: &dyn Names) -> Problem {
        let plain = match exception {
            Exception::System(exception) => Some(Exception::System(without_note(exception))),
            _ => None,
        };
        let exception = plain.as_ref().unwrap_or(exception);
        let mut members = match serde_json::to_value(ExceptionJson(exception, names)) {
            Ok(Value::Object(members)) => members,
            _ => Map::new(),
        };
        members.remove("attempts");
        let status = match exception {
            Exception::User(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Exception::Unlisted(_) => StatusCode::BAD_GATEWAY,
            other => status_of(&other.to_system()),
        };
        Problem {
            exception: members.get("exception").and_then(Value::as_str).map(str::to_owned),
            members,
            ..Problem::new(status, exception)
        }
    }

    /// Creates the error of a system exception.
    pub(super) fn system(exception: SystemException) -> Problem {
        Problem::raised(&exception.into(), &oxorb_dynamic::json::Plain)
    }

    /// Returns the answer to the client.
    pub(super) fn into_answer(self) -> Answer {
        let mut document = Map::new();
        if let Some(exception) = self.exception {
            // A repository id has the form of a URI with the scheme `IDL` or `RMI`.
            document.insert("type".to_owned(), json!(exception));
        }
        let title = self.status.canonical_reason().unwrap_or("Error");
        document.insert("title".to_owned(), json!(title));
        document.insert("status".to_owned(), json!(self.status.as_u16()));
        document.insert("detail".to_owned(), json!(self.detail));
        document.extend(self.members);
        let octets = serde_json::to_vec(&document).unwrap_or_default();
        let mut answer = typed(self.status, MEDIA_TYPE, octets.into());
        let headers = answer.headers_mut();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
        }
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        if let Some(challenge) = self.challenge {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        answer
    }
}

/// Returns the exception without its note. The text of a note names the addresses that were tried, and addresses of
/// servers behind the gateway are no concern of its clients.
pub(super) fn without_note(exception: &SystemException) -> SystemException {
    SystemException::new(exception.kind, exception.minor, exception.completed)
}

/// Returns the status for a system exception. BAD_PARAM, MARSHAL and DATA_CONVERSION are errors of the request if the
/// operation did not run.
fn status_of(exception: &SystemException) -> StatusCode {
    match exception.kind {
        Kind::BadParam | Kind::Marshal | Kind::DataConversion
            if exception.completed == CompletionStatus::No =>
        {
            StatusCode::BAD_REQUEST
        }
        Kind::NoPermission => StatusCode::FORBIDDEN,
        Kind::ObjectNotExist | Kind::BadOperation => StatusCode::NOT_FOUND,
        Kind::Internal | Kind::Initialize | Kind::NoMemory => StatusCode::INTERNAL_SERVER_ERROR,
        Kind::NoImplement => StatusCode::NOT_IMPLEMENTED,
        Kind::Transient | Kind::CommFailure | Kind::NoResources | Kind::ImpLimit => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Kind::Timeout | Kind::NoResponse => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_an_error_of_the_request_only_if_nothing_ran() {
        let status = |kind, completed| status_of(&SystemException::new(kind, 0, completed));
        assert_eq!(status(Kind::Marshal, CompletionStatus::No), StatusCode::BAD_REQUEST);
        assert_eq!(status(Kind::Marshal, CompletionStatus::Yes), StatusCode::BAD_GATEWAY);
        assert_eq!(status(Kind::Timeout, CompletionStatus::Maybe), StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(status(Kind::ObjectNotExist, CompletionStatus::No), StatusCode::NOT_FOUND);
    }
}
