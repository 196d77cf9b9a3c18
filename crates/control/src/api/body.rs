//! Bodies of requests.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;
use weir_resource::Fault;

use super::Problem;
use super::unique_json::{self, JsonError};

/// Accepted media types.
const TYPES: [&str; 2] = ["application/json", "application/merge-patch+json"];

/// A whole body that is not longer than `limit`.
pub(super) async fn collect(body: Body, limit: usize) -> Result<Bytes, Problem> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            let detail = format!("the body is longer than {limit} bytes");
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail).hint("split the change into several"))
        }
        Err(error) => Err(Problem::malformed(format!("the body could not be read: {error}"))),
    }
}

/// A body of JSON; `None` for an empty one.
pub(super) fn json(headers: &HeaderMap, bytes: &[u8]) -> Result<Option<Value>, Problem> {
    if bytes.is_empty() {
        return Ok(None);
    }
    // A page of another site can send a body without a type, but none of JSON, unless it is asked first.
    let given = headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if !TYPES.iter().any(|known| known.eq_ignore_ascii_case(essence)) {
        let detail = format!("a body of `{}` is not taken, only JSON", essence.escape_default());
        let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail);
        return Err(problem.hint("send `Content-Type: application/json` (curl: --json instead of --data)"));
    }
    unique_json::parse(bytes).map(Some).map_err(|error| match error {
        JsonError::Syntax(error) => Problem::malformed(format!("the body is not JSON: {error}")),
        JsonError::Duplicate(pointer) => {
            Problem::malformed(format!("{pointer} is given twice in the body")).fault(Fault {
                pointer,
                message: "the key is given twice".to_owned(),
                hint: Some("keep one of them".to_owned()),
                ..Fault::default()
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_given_twice_is_refused_with_its_pointer() {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, header::HeaderValue::from_static(TYPES[0]))]);
        let text = r#"{"changes": [{"method": "PUT", "body": {"weight": 1, "weight": 2}}]}"#;
        let problem = json(&headers, text.as_bytes()).expect_err("a duplicate");
        assert_eq!(problem.status(), StatusCode::BAD_REQUEST);
        assert_eq!(problem.line(), "/changes/0/body/weight: the key is given twice");
        let good = json(&headers, br#"{"a": 1}"#).expect("it is good");
        assert_eq!(good, Some(serde_json::json!({"a": 1})));
    }
}
