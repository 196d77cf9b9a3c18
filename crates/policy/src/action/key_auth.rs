//! `key_auth`: a key in a header field, query parameter or cookie.

use weir_auth::Replay;
use weir_auth::api_key::ApiKey;
use weir_auth::place::Place;

use super::ActionKind;
use super::authenticate::{action, keys_of_way, one};
use crate::check::Fields;
use crate::table::{Key, Kind, Need, Resource, form};

pub(super) const HEADERS: Key = Key {
    name: "headers",
    kind: Kind::List(&Kind::Form(&form::TOKEN), false),
    need: Need::Default("see above"),
    doc: "Header fields that may hold the credential.",
};

pub(super) const PARAMETERS: Key = Key {
    name: "parameters",
    kind: Kind::List(&Kind::Form(&form::ARGUMENT), false),
    need: Need::Default("none"),
    doc: "Query parameters that may hold it. URLs end up in logs and histories: prefer a header field. `hide_credentials` leaves them in the URL.",
};

pub(super) const COOKIES: Key = Key {
    name: "cookies",
    kind: Kind::List(&Kind::Form(&form::TOKEN), false),
    need: Need::Default("none"),
    doc: "Cookies that may hold it. `hide_credentials` leaves them in the request.",
};

pub(super) static KEY_AUTH: ActionKind = ActionKind {
    resource: &Resource {
        name: "key_auth",
        article: "`key_auth`",
        doc: "Asks for the API key of a consumer, in `apikey` or `X-API-Key` unless said otherwise; without a valid key the answer is 401. A key in two places is refused.",
        short: None,
        one_of: &[],
        keys: keys_of_way![HEADERS, PARAMETERS, COOKIES,],
    },
    build: |fields, _| Some(action(fields, one(options(fields)), Replay::Pass)),
};

/// Where keys may be.
pub(crate) fn options(fields: &Fields<'_>) -> ApiKey {
    let places = places(fields);
    if places.is_empty() { ApiKey::default() } else { ApiKey { places } }
}

/// The places that an action names.
pub(super) fn places(fields: &Fields<'_>) -> Vec<Place> {
    let headers = fields.texts("headers").into_iter().map(|name| Place::Header(name.to_ascii_lowercase()));
    let parameters = fields.texts("parameters").into_iter().map(Place::Query);
    headers.chain(parameters).chain(fields.texts("cookies").into_iter().map(Place::Cookie)).collect()
}
