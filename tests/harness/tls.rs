//! A self-signed certificate, created when a test needs one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths of a certificate and its key.
pub struct Certificate {
    /// PEM certificate.
    pub certificate: PathBuf,
    /// PEM key.
    pub key: PathBuf,
}

impl Certificate {
    /// Creates a certificate for `localhost` and `weir.test` in `directory`.
    ///
    /// # Panics
    /// If `openssl` is missing or fails.
    #[must_use]
    pub fn create(directory: &Path) -> Self {
        let this = Self { certificate: directory.join("tls.crt"), key: directory.join("tls.key") };
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
            .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,DNS:weir.test,IP:127.0.0.1"])
            .arg("-keyout")
            .arg(&this.key)
            .arg("-out")
            .arg(&this.certificate)
            .output()
            .expect("openssl is installed");
        assert!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
        this
    }

    /// The directives that make a server use it.
    #[must_use]
    pub fn directives(&self) -> String {
        format!("ssl_certificate {};\nssl_certificate_key {};\n", self.certificate.display(), self.key.display())
    }
}
