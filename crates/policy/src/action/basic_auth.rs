//! `basic_auth`: a user name and a password.

use weir_auth::Replay;
use weir_auth::immediate::Passwords;

use super::ActionKind;
use super::authenticate::{action, keys_of_way, one};
use crate::table::Resource;

pub(super) static BASIC_AUTH: ActionKind = ActionKind {
    resource: &Resource {
        name: "basic_auth",
        article: "`basic_auth`",
        doc: "Asks for the user name and password of a consumer (`Authorization: Basic`, RFC 7617); without the right ones the answer is 401. Passwords are verified beside the event loop, two at a time in each worker; past a queue of 64 the answer is 503. A right password is remembered for five minutes by a keyed hash.",
        short: None,
        one_of: &[],
        keys: keys_of_way![],
    },
    build: |fields, _| Some(action(fields, one(Passwords::default()), Replay::Pass)),
};
