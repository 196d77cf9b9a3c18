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
    RequestId "weir_request_id" "Request id: a UUIDv7, or what a trusted proxy sent.";
    Verdict "weir_verdict" "`pass`, `allow`, `detect`, `redirect`, `rate_limit`, `block` or `fail`; empty if the request was not evaluated.";
    Rule "weir_rule" "Id of the rule that decided; empty if none did.";
    Country "weir_country" "Country code of the client's address; empty if unknown.";
    Score "weir_score" "Sum of the scores of the rules that matched.";
    Tags "weir_tags" "Tags set by rules, separated by commas.";
}

impl Variable {
    /// Every variable by its number in the table.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        VARIABLES.get(index).map(|info| info.variable)
    }
}
