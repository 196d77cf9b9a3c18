//! The rows of consumers and their credentials, in a policy file and in a gateway.

use super::{Key, Kind, Need, Resource, form};

/// Most groups of a consumer, and most credentials: rotation needs two of a kind.
const MAX_ITEMS: usize = 64;

/// A consumer.
pub static CONSUMER: Resource = Resource {
    name: "consumer",
    article: "a consumer",
    doc: "A known sender of requests: a partner, an application, a person. Secrets are accepted and never shown.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "groups",
            kind: Kind::AtMost(&Kind::List(&Kind::Form(&form::CONSUMER_NAME), false), MAX_ITEMS),
            need: Need::Default("none"),
            doc: "Groups of the consumer, for `groups` and `denied_groups` of actions and for `consumer.groups` in expressions.",
        },
        Key {
            name: "credentials",
            kind: Kind::AtMost(&Kind::List(&Kind::Resource(&CREDENTIAL), false), MAX_ITEMS),
            need: Need::Default("none"),
            doc: "Live credentials. Several of one kind may be live at once: to replace one, add the new one, wait for the clients, remove the old one.",
        },
    ],
};

/// A credential.
pub static CREDENTIAL: Resource = Resource {
    name: "credential",
    article: "a credential",
    doc: "One credential of a consumer, for the action of that name.",
    short: None,
    one_of: &["key_auth", "signature", "jwt", "basic_auth", "mtls"],
    keys: &[
        Key {
            name: "key_auth",
            kind: Kind::Resource(&KEY_CREDENTIAL),
            need: Need::Default("none"),
            doc: "For the action `key_auth`.",
        },
        Key {
            name: "signature",
            kind: Kind::Resource(&SIGNATURE_CREDENTIAL),
            need: Need::Default("none"),
            doc: "For the action `verify_signature`.",
        },
        Key {
            name: "jwt",
            kind: Kind::Resource(&JWT_CREDENTIAL),
            need: Need::Default("none"),
            doc: "For the action `jwt`.",
        },
        Key {
            name: "basic_auth",
            kind: Kind::Resource(&PASSWORD_CREDENTIAL),
            need: Need::Default("none"),
            doc: "For the action `basic_auth`.",
        },
        Key {
            name: "mtls",
            kind: Kind::Resource(&CERTIFICATE_CREDENTIAL),
            need: Need::Default("none"),
            doc: "For the action `mtls`.",
        },
    ],
};

/// A secret by value, environment or file.
pub static SECRET: Resource = Resource {
    name: "secret",
    article: "a secret",
    doc: "A secret. A text is short for `{value: TEXT}`. The API shows `{sha256: HASH}` instead of a value. A gateway reads `env` and `file` when the change is accepted.",
    short: Some("value"),
    one_of: &["value", "env", "file", "sha256"],
    keys: &[
        Key { name: "value", kind: Kind::Form(&form::SECRET), need: Need::Default("none"), doc: "The secret itself." },
        Key {
            name: "env",
            kind: Kind::Word(super::Word::Variable),
            need: Need::Default("none"),
            doc: "The environment variable that holds the secret: of `weir control`, or of nginx for a policy file.",
        },
        Key {
            name: "file",
            kind: Kind::File,
            need: Need::Default("none"),
            doc: "The file that holds the secret; a line end after it is not part of it.",
        },
        Key {
            name: "sha256",
            kind: Kind::Form(&form::SHA256),
            need: Need::Default("none"),
            doc: "The SHA-256 of a secret that the consumer has, as answers show it in place of the secret.",
        },
        Key {
            name: "captured",
            kind: Kind::Form(&form::SECRET),
            need: Need::Default("none"),
            doc: "What the gateway has read and keeps. Never shown, and ignored in changes.",
        },
    ],
};

static KEY_CREDENTIAL: Resource = Resource {
    name: "key_credential",
    article: "a key",
    doc: "A key that requests carry.",
    short: None,
    one_of: &[],
    keys: &[Key {
        name: "key",
        kind: Kind::Resource(&SECRET),
        need: Need::Required,
        doc: "The key, at least 16 bytes. Workers keep only its SHA-256.",
    }],
};

const ID: Key = Key {
    name: "id",
    kind: Kind::Form(&form::CREDENTIAL_ID),
    need: Need::Required,
    doc: "What requests name the credential by; no other credential of this kind may have it.",
};

const SHARED: Key = Key {
    name: "secret",
    kind: Kind::Resource(&SECRET),
    need: Need::Default("`public_key`"),
    doc: "The shared secret. Either `secret` or `public_key` is required.",
};

const PUBLIC: Key = Key {
    name: "public_key",
    kind: Kind::Form(&form::PEM),
    need: Need::Default("`secret`"),
    doc: "The public key in PEM, with its `algorithm`.",
};

static SIGNATURE_CREDENTIAL: Resource = Resource {
    name: "signature_credential",
    article: "a signing key",
    doc: "A key that requests are signed with.",
    short: None,
    one_of: &["secret", "public_key"],
    keys: &[
        ID,
        SHARED,
        PUBLIC,
        Key {
            name: "algorithm",
            kind: Kind::Choice(&[
                ("ed25519", "Ed25519"),
                ("ecdsa-p256-sha256", "ECDSA on P-256 with SHA-256"),
                ("ecdsa-p384-sha384", "ECDSA on P-384 with SHA-384"),
                ("rsa-pss-sha512", "RSASSA-PSS with SHA-512"),
                ("rsa-v1_5-sha256", "RSASSA-PKCS1-v1_5 with SHA-256"),
            ]),
            need: Need::Default("none"),
            doc: "The algorithm of `public_key`, and the only one that signatures with it may have.",
        },
    ],
};

static JWT_CREDENTIAL: Resource = Resource {
    name: "jwt_credential",
    article: "a token key",
    doc: "A key that JSON Web Tokens are signed with.",
    short: None,
    one_of: &["secret", "public_key"],
    keys: &[
        Key {
            name: "id",
            kind: Kind::Form(&form::CREDENTIAL_ID),
            need: Need::Required,
            doc: "The `kid` of its tokens or, of tokens without one, their `iss`; no other token key may have it.",
        },
        SHARED,
        PUBLIC,
        Key {
            name: "algorithm",
            kind: Kind::Choice(&[
                ("HS256", "HMAC-SHA256"),
                ("HS384", "HMAC-SHA384"),
                ("HS512", "HMAC-SHA512"),
                ("RS256", "RSASSA-PKCS1-v1_5 with SHA-256"),
                ("RS384", "RSASSA-PKCS1-v1_5 with SHA-384"),
                ("RS512", "RSASSA-PKCS1-v1_5 with SHA-512"),
                ("PS256", "RSASSA-PSS with SHA-256"),
                ("PS384", "RSASSA-PSS with SHA-384"),
                ("PS512", "RSASSA-PSS with SHA-512"),
                ("ES256", "ECDSA on P-256 with SHA-256"),
                ("ES384", "ECDSA on P-384 with SHA-384"),
                ("EdDSA", "Ed25519"),
            ]),
            need: Need::Required,
            doc: "The algorithm of the key, and the only one that its tokens may have.",
        },
    ],
};

static PASSWORD_CREDENTIAL: Resource = Resource {
    name: "password_credential",
    article: "a password",
    doc: "A user name and the hash of its password.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "username",
            kind: Kind::Form(&form::CREDENTIAL_ID),
            need: Need::Required,
            doc: "The user name; no other consumer may have it.",
        },
        Key {
            name: "password_hash",
            kind: Kind::Resource(&SECRET),
            need: Need::Required,
            doc: "The hash of the password: argon2id (`$argon2id$...`), or bcrypt as `htpasswd -B` makes it (`$2y$...`).",
        },
    ],
};

const fn certificate_name(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, need: Need::Default("none"), doc }
}

static CERTIFICATE_CREDENTIAL: Resource = Resource {
    name: "certificate_credential",
    article: "a client certificate",
    doc: "A client certificate, by one of its names. No other consumer may have the name; what authorities may issue it is a setting of the site or of nginx.",
    short: None,
    one_of: &["subject", "dns", "uri", "email", "sha256"],
    keys: &[
        certificate_name(
            "subject",
            Kind::Form(&form::CREDENTIAL_ID),
            "The subject as RFC 4514 writes it, such as `CN=shop,O=Shop Ltd`: what `openssl x509 -noout -subject -nameopt RFC2253,-esc_msb,utf8` prints after `subject=`.",
        ),
        certificate_name(
            "dns",
            Kind::Form(&form::CREDENTIAL_ID),
            "A DNS name among the alternative names of the subject.",
        ),
        certificate_name(
            "uri",
            Kind::Form(&form::CREDENTIAL_ID),
            "A URI among them, such as `spiffe://shop.example/orders`.",
        ),
        certificate_name("email", Kind::Form(&form::CREDENTIAL_ID), "An e-mail address among them."),
        certificate_name("sha256", Kind::Form(&form::SHA256), "The SHA-256 of the certificate in DER."),
    ],
};

/// The tables of all mappings in a consumer.
pub static CONSUMER_TABLES: [&Resource; 7] = [
    &CREDENTIAL,
    &KEY_CREDENTIAL,
    &SIGNATURE_CREDENTIAL,
    &JWT_CREDENTIAL,
    &PASSWORD_CREDENTIAL,
    &CERTIFICATE_CREDENTIAL,
    &SECRET,
];
