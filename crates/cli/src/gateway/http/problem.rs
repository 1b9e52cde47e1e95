//! Errors as problem details (RFC 9457).

use std::fmt::Display;

use hyper::StatusCode;
use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use oxorb::{CompletionStatus, SystemException, SystemExceptionKind as Kind};
use oxorb_dynamic::Exception;
use oxorb_dynamic::json::Names;
use serde::Serialize;

use super::content::{Answer, typed};
use crate::call::ExceptionJson;

/// Media type of problem details.
const MEDIA_TYPE: &str = "application/problem+json";

/// Reason of a call that the access rules deny.
const DENIED: &str = "urn:oxorb:access-rules";

/// Seconds after which a client may repeat a request that failed for a while.
const RETRY_SECONDS: &str = "1";

/// Error of a request.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    /// Whether the access rules deny the call.
    is_denied: bool,
    /// Exception; `None` for errors of the gateway itself.
    raised: Option<Raised>,
    /// Methods of the resource, for 405.
    allow: Option<&'static str>,
    /// Challenge for 401.
    challenge: Option<&'static str>,
}

/// Exception as part of a problem.
#[derive(Debug)]
struct Raised {
    repository_id: String,
    /// JSON object, whose members are in the order of the IDL; `None` if they cannot be written as JSON.
    json: Option<String>,
}

/// Members of all problem details.
#[derive(Serialize)]
struct Details<'d> {
    /// Repository id of the exception, which has the form of a URI with the scheme `IDL` or `RMI`, or another reason.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    reason: Option<&'d str>,
    title: &'static str,
    status: u16,
    detail: &'d str,
}

impl Problem {
    /// Creates an error of the gateway itself.
    pub(super) fn new(status: StatusCode, detail: impl Display) -> Problem {
        Problem {
            status,
            detail: detail.to_string(),
            is_denied: false,
            raised: None,
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

    /// Creates the error of a call that the access rules deny.
    pub(super) fn denied(detail: impl Display) -> Problem {
        Problem { is_denied: true, ..Problem::new(StatusCode::FORBIDDEN, detail) }
    }

    /// Creates the error of a client that has exhausted the rate of an access rule.
    pub(super) fn limited(detail: impl Display) -> Problem {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, detail)
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
        let repository_id = match exception {
            Exception::User(user) => user.id().to_owned(),
            Exception::Unlisted(id) => id.clone(),
            other => other.to_system().kind.repository_id().to_owned(),
        };
        let json = serde_json::to_string(&ExceptionJson(exception, names)).ok();
        let status = match exception {
            Exception::User(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Exception::Unlisted(_) => StatusCode::BAD_GATEWAY,
            other => status_of(&other.to_system()),
        };
        Problem { raised: Some(Raised { repository_id, json }), ..Problem::new(status, exception) }
    }

    /// Creates the error of a system exception.
    pub(super) fn system(exception: SystemException) -> Problem {
        Problem::raised(&exception.into(), &oxorb_dynamic::json::Plain)
    }

    /// Returns the answer to the client.
    pub(super) fn into_answer(self) -> Answer {
        let repository_id = self.raised.as_ref().map(|raised| raised.repository_id.as_str());
        let mut octets = serde_json::to_vec(&Details {
            reason: repository_id.or(self.is_denied.then_some(DENIED)),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
        })
        .unwrap_or_default();
        // The members of both objects become those of one.
        if let Some(json) = self.raised.and_then(|raised| raised.json)
            && octets.pop() == Some(b'}')
        {
            octets.push(b',');
            octets.extend_from_slice(json.strip_prefix('{').unwrap_or("}").as_bytes());
        }
        let mut answer = typed(self.status, MEDIA_TYPE, octets.into());
        let headers = answer.headers_mut();
        if matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
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
    use oxorb_dynamic::TypeCode;
    use oxorb_dynamic::json::Plain;

    #[test]
    fn an_exception_is_an_error_of_the_request_only_if_nothing_ran() {
        let status = |kind, completed| status_of(&SystemException::new(kind, 0, completed));
        assert_eq!(status(Kind::Marshal, CompletionStatus::No), StatusCode::BAD_REQUEST);
        assert_eq!(status(Kind::Marshal, CompletionStatus::Yes), StatusCode::BAD_GATEWAY);
        assert_eq!(status(Kind::Timeout, CompletionStatus::Maybe), StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(status(Kind::ObjectNotExist, CompletionStatus::No), StatusCode::NOT_FOUND);
    }

    #[test]
    fn members_of_an_exception_follow_the_details_in_the_order_of_the_idl() {
        let members = [("to", TypeCode::STRING), ("at", TypeCode::LONG)];
        let sold = TypeCode::exception("IDL:shop/Sold:1.0", "Sold", members);
        let json = serde_json::json!({ "to": "Ada", "at": 7 });
        let value = oxorb_dynamic::json::from_json(&json, &sold, &Plain).unwrap();
        let problem = Problem::raised(&Exception::user(sold, value).unwrap(), &Plain);
        let octets = problem.into_answer().into_body().known().unwrap();
        let text = String::from_utf8(octets.to_vec()).unwrap();
        let places =
            ["type", "title", "status", "detail", "exception", "name", "members", "to", "at"]
                .map(|name| text.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{text}")));
        assert!(places.is_sorted(), "{text}");
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["exception"], json["type"]);
    }
}
