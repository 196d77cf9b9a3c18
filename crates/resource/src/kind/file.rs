//! Captured files. Control writes these documents, nobody else; they are checked when a store is read.

use weir_policy::table::{Key, Kind, Need, Resource};

use super::{Descriptor, Example};

pub(super) static FILES: Descriptor = Descriptor {
    table: &FILE,
    nested: &[],
    secret: None,
    example: Example { id: "", document: "", patch: "" },
    convert: |converter, _| converter.document(weir_gateway::resource::Resource::File),
};

/// A captured file.
static FILE: Resource = Resource {
    name: "file",
    article: "a captured file",
    doc: "The content of a file, or of a folder, that resources name, as captured when the revision was accepted.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "path",
            kind: Kind::Text,
            need: Need::Required,
            doc: "The absolute path; that of a folder ends in `/`.",
        },
        Key { name: "sha256", kind: Kind::Text, need: Need::Required, doc: "The SHA-256 of the content." },
        Key { name: "size", kind: Kind::Integer(0, i64::MAX), need: Need::Required, doc: "The length in bytes." },
    ],
};
