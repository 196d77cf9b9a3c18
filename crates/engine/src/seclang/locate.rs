//! Locations of addresses: the operator `@geoLookup`, which fills `GEO`.

use super::run::Machine;

/// Units of work for finding an address in the database of countries.
const LOOKUP: u64 = 4000;

impl Machine<'_, '_, '_> {
    /// Whether the value is an address of a known country, which is in `GEO` from here on.
    #[cold]
    #[inline(never)]
    pub(super) fn locate(&mut self, value: &[u8]) -> bool {
        let address = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        let (Some(geo), Some(address)) = (&self.run.geo, address) else { return false };
        if !self.scratch().work.charge(LOOKUP) {
            return false;
        }
        let location = geo.locate(address);
        let is_known = !location.country.is_empty();
        if is_known {
            self.run.state.location = Some(location);
        }
        is_known
    }
}
