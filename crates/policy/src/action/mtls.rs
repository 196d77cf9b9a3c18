//! `mtls`: a client certificate.

use weir_auth::Replay;
use weir_auth::certificate::ClientCertificate;

use super::ActionKind;
use super::authenticate::{action, keys_of_way, one};
use crate::table::Resource;

pub(super) static MTLS: ActionKind = ActionKind {
    resource: &Resource {
        name: "mtls",
        article: "`mtls`",
        doc: "Asks for the client certificate of a consumer, which the handshake has verified: of a gateway by `tls.client` of the site, of other servers by nginx's `ssl_verify_client`. Without one the answer is 401.",
        short: None,
        one_of: &[],
        keys: keys_of_way![],
    },
    build: |fields, _| Some(action(fields, one(ClientCertificate), Replay::Pass)),
};
