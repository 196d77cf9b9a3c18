//! The resources as workers get them: checked, with all defaults filled in.
//!
//! People write a shorter form (`crates/resource/src/table/`), which the checker turns into these types. Ids are
//! 1 to 128 bytes of `A-Z a-z 0-9 . _ -`. Times are milliseconds, sizes bytes.

mod certificate;
mod kind;
mod route;
mod settings;
mod site;
mod upstream;

pub use certificate::Certificate;
pub use kind::{MAX_ID_BYTES, RESERVED_POLICY_ID, ResourceKind};
pub use route::{
    Condition, Forward, HeaderChanges, Mirror, PathMatch, RequestMatch, Retries, RetryOn, Rewrite, Route, RouteAction,
    Split, Stickiness, Test, Timeouts,
};
pub use settings::Settings;
pub use site::{Site, SiteTls, TlsVersion};
pub use upstream::{
    ActiveHealth, Balance, CheckKind, HashKey, HostHeader, KeepAlive, Member, PassiveHealth, Protocol, Upstream,
    UpstreamTls,
};
