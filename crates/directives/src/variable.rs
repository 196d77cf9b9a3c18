//! Every nginx variable that Weir adds.

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct VariableInfo {
    /// The variable.
    pub variable: Variable,
    /// Its name, without `$`.
    pub name: &'static str,
    /// What it holds.
    pub doc: &'static str,
}

macro_rules! variables {
    ($($id:ident $name:literal $doc:literal;)*) => {
        /// A variable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Variable { $(#[doc = $doc] $id,)* }

        /// The table, in the order of [`Variable`].
        pub const VARIABLES: &[VariableInfo] =
            &[$(VariableInfo { variable: Variable::$id, name: $name, doc: $doc },)*];
    };
}

variables! {
    RequestId "weir_request_id" "Request id: a UUIDv7, or the id that a trusted proxy sent.";
    Verdict "weir_verdict" "`pass`, `allow`, `detect`, `redirect`, `rate_limit`, `block` or `fail`; empty if the request was not evaluated.";
    Rule "weir_rule" "Id of the rule that decided; empty if none did.";
    Country "weir_country" "Country code of the client's address; empty if unknown.";
    Score "weir_score" "Sum of the scores of the rules that matched.";
    Tags "weir_tags" "Tags set by rules, separated by commas.";
    Site "weir_site" "Id of the site that the gateway selected; empty if none.";
    Route "weir_route" "Id of the route; empty if none.";
    Upstream "weir_upstream" "Id of the upstream that receives the request; empty if none.";
    Member "weir_member" "Id of the member tried last; empty if none.";
    Worker "weir_worker" "Number of the worker that serves the request.";
    GatewayRevision "weir_gateway_revision" "Revision of the live configuration that the whole request uses.";
    UpstreamHost "weir_upstream_host" "The `Host` header sent to the member. For the gateway's own locations.";
    Connection "weir_connection" "`upgrade` if the connection should be upgraded and the route allows it, otherwise empty. For the gateway's own locations.";
    Upgrade "weir_upgrade" "`websocket`, likewise. For the gateway's own locations.";
    NoCertificate "weir_no_certificate" "Always empty: a placeholder where nginx requires a certificate and the gateway uses its own.";
}

impl Variable {
    /// Every variable by its number in the table.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        VARIABLES.get(index).map(|info| info.variable)
    }
}
