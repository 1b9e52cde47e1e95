//! Page with which people try operations. It loads nothing from other hosts.

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};

use super::content::{Answer, typed};

const HTML: &str = include_str!("page/page.html");
const SCRIPT: &str = include_str!("page/page.js");
const STYLE: &str = include_str!("page/page.css");

/// Permits only the script and the style of this gateway, and requests to it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns a file of the page, if the path names one.
pub(super) fn file(path: &str) -> Option<Answer> {
    let (media_type, text) = match path {
        "/" => ("text/html; charset=utf-8", HTML),
        "/page.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "/page.css" => ("text/css; charset=utf-8", STYLE),
        _ => return None,
    };
    let mut answer = typed(StatusCode::OK, media_type, Bytes::from_static(text.as_bytes()));
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_writes_data_as_text_and_names_no_other_host() {
        let forbidden = ["innerHTML", "outerHTML", "insertAdjacentHTML", "write(", "eval(", "://"];
        for text in [HTML, SCRIPT, STYLE] {
            for word in forbidden {
                assert!(!text.contains(word), "{word}");
            }
        }
        for inline in ["onclick", "onload", "onsubmit", "style=", "<style", "<script>"] {
            assert!(!HTML.contains(inline), "{inline}");
        }
    }
}
