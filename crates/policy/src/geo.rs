//! Geographic data from MMDB files.
//!
//! A record of a City database has some fifty fields in eight languages; a look-up decodes only
//! the two or three that rules can read, borrowed from the file's memory. Which field holds what
//! differs between publishers, so the layout is found once, when the file is loaded.
//!
//! Country, continent and autonomous system of one address cost 150 ns of CPU (two databases of
//! half a million networks, the address in the cache; 1.2 µs if each address is another one and
//! the core shares its cache with busy neighbours): `lookup_cost` in `tests.rs`. 30 ns of each
//! are the walk, about 35 ns each field. The engine asks once per request, and only if a rule does.

mod cache;
mod layout;
pub mod writer;

use std::net::IpAddr;
use std::sync::Arc;

use maxminddb::{MaxMindDbError, Reader};
use weir_engine::{Geo, GeoLocation};

use crate::build::Builder;
use crate::check::Fields;
use crate::files::Content;
use crate::loaded::Loaded;
use layout::{ASN, Asn, CONTINENT, COUNTRY, Path};

/// Largest MMDB file; the largest City databases have 150 MB.
pub const MAX_GEO_BYTES: u64 = 1 << 30;

/// Keys of `geo`, each with a database.
pub(crate) const DATABASES: [&str; 2] = ["country", "asn"];

/// A database and the paths of what is read from it.
struct Database {
    reader: Reader<Content>,
    paths: Vec<Path>,
}

/// Country, continent and autonomous system from up to two databases.
struct GeoTables {
    country: Option<Arc<Database>>,
    asn: Option<Arc<Database>>,
    /// Tells this data from another policy's in the cache.
    owner: cache::Owner,
}

/// Reads the files that `geo` names, or `None` after reporting what is wrong.
pub(crate) fn build(fields: &Fields<'_>, builder: &mut Builder<'_>) -> Option<Arc<dyn Geo>> {
    if fields.lacks(&DATABASES) {
        builder.fault(
            fields.node,
            "`geo` needs `country` or `asn`",
            Some("remove `geo` if there is no data".to_owned()),
        );
    }
    let country = open(fields, "country", &[COUNTRY, CONTINENT], builder);
    let asn = open(fields, "asn", &[ASN], builder);
    Some(Arc::new(GeoTables::new(country, asn)))
}

fn open(
    fields: &Fields<'_>,
    key: &'static str,
    wanted: &[&'static [Path]],
    builder: &mut Builder<'_>,
) -> Option<Arc<Database>> {
    static LOADED: Loaded<Database> = Loaded::new();
    let item = fields.get(key)?;
    let file = builder.named(item, "MMDB", MAX_GEO_BYTES)?;
    if let Some(database) = LOADED.get(file.hash, key) {
        return Some(database);
    }
    let (content, hash) = builder.read(&file)?;
    match read(content, wanted) {
        Ok(database) => {
            let database = Arc::new(database);
            LOADED.keep(hash, key, &database);
            Some(database)
        }
        Err((reason, hint)) => {
            builder.fault(item.node, format!("cannot use `{}`: {reason}", file.path.display()), Some(hint));
            None
        }
    }
}

fn read(content: Content, wanted: &[&'static [Path]]) -> Result<Database, (String, String)> {
    let broken = |error: MaxMindDbError| {
        let hint = "expected an MMDB file, unpacked and downloaded whole".to_owned();
        (format!("it is not a sound MMDB file: {error}"), hint)
    };
    let reader = Reader::from_source(content).map_err(broken)?;
    let paths: Vec<Path> = layout::find(&reader, wanted).map_err(broken)?;
    if paths.iter().all(|path| path.is_empty()) {
        let found = format!("it is a database of type `{}`", reader.metadata().database_type);
        let fields: Vec<String> = wanted.iter().flat_map(|paths| paths.iter()).map(|path| layout::show(path)).collect();
        return Err((
            format!("{found}, and none of its records has what is needed"),
            format!("expected one of the fields {}", fields.join(", ")),
        ));
    }
    Ok(Database { reader, paths })
}

impl GeoTables {
    fn new(country: Option<Arc<Database>>, asn: Option<Arc<Database>>) -> Self {
        Self { country, asn, owner: cache::Owner::new() }
    }

    fn look_up(&self, address: IpAddr) -> GeoLocation {
        let mut place = GeoLocation::default();
        if let Some(Database { reader, paths }) = self.country.as_deref()
            && let Ok(found) = reader.lookup(address)
        {
            let text = |path: Path| if path.is_empty() { None } else { found.decode_path::<&str>(path).ok().flatten() };
            place.country = text(paths[0]).unwrap_or_default().into();
            place.continent = text(paths[1]).unwrap_or_default().into();
        }
        if let Some(Database { reader, paths }) = self.asn.as_deref()
            && let Ok(found) = reader.lookup(address)
        {
            place.asnum = found.decode_path::<Asn>(paths[0]).ok().flatten().unwrap_or_default().0;
        }
        place
    }
}

impl Geo for GeoTables {
    fn locate(&self, address: IpAddr) -> GeoLocation {
        cache::place(self.owner, address, || self.look_up(address))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
