//! The policy `rs`, which the bench measures and `weir ablate --policy rs` takes apart: a list of
//! addresses, a blocked country, and 40 rules over all parts of a request.
//!
//! The policy lies in the repository; the list and the country database beside it are generated,
//! because together they are a few megabytes that always come out the same.

use std::path::PathBuf;

use crate::addresses;
use crate::error::MeasureError;
use crate::geo;
use crate::site::Site;

/// The policy.
pub const POLICY: &str = include_str!("../../../bench/policies/rs.yaml");
/// Name of the policy.
pub const NAME: &str = "rs";
/// Entries of its address list.
pub const LIST_LENGTH: usize = 1_000;
/// Countries that it blocks. The generated database knows one network of theirs, 175.0.0.0/8, from
/// which the load never comes.
pub const BLOCKED_COUNTRIES: &[&str] = &["KP"];
/// Name of the country database beside it.
const COUNTRY_FILE: &str = "country.mmdb";

/// Writes the policy and its data; the policy's path.
pub fn write(site: &Site) -> Result<PathBuf, MeasureError> {
    let path = site.write_policy(NAME, POLICY, &addresses::list(LIST_LENGTH))?;
    geo::write_country_database(&country_database(site))?;
    Ok(path)
}

/// Where the country database lies once the policy has been written.
#[must_use]
pub fn country_database(site: &Site) -> PathBuf {
    site.policy(NAME).with_file_name(COUNTRY_FILE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::Placement;
    use weir_policy::Snapshot;

    #[test]
    fn weir_accepts_the_policy_with_its_data() {
        let site = Site::create(Placement::default(), None, PathBuf::new()).unwrap();
        let snapshot = Snapshot::load(&write(&site).unwrap()).unwrap();
        assert_eq!(snapshot.rules().len(), 42);
        assert!(snapshot.plan(&[NAME]).is_ok());
    }
}
