//! One delivery: a signed POST to an address that was judged before, on a connection of our own.
//!
//! No client library: none lets its caller choose the address and keep the name for TLS, the header and nothing else. No
//! redirect is followed, no proxy asked, and of the answer only the status is read.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{Request, StatusCode, Uri, header, uri::Scheme},
};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use standardwebhooks::{HEADER_WEBHOOK_ID, HEADER_WEBHOOK_SIGNATURE, HEADER_WEBHOOK_TIMESTAMP, Webhook};
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, pki_types::ServerName},
};

use super::reach::{self, Reach};

/// Why an endpoint cannot be used; it is found out before anything is sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error("not an https:// or http:// address of a host")]
    Address,
    #[error("http:// needs webhooks.allow_private")]
    Plain,
    #[error("at least one secret is needed: whsec_ and base64 of 24 to 64 bytes")]
    Secret,
}

/// Why a delivery failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("its address must not be called: {0:?}")]
    Forbidden(Reach),
    #[error("its name has no address")]
    Nameless(#[source] io::Error),
    #[error("it cannot be reached")]
    Unreachable(#[source] io::Error),
    #[error("the connection broke")]
    Broken(#[source] hyper::Error),
    #[error("it did not answer in time")]
    Silent,
    #[error("it answered {0}")]
    Answered(StatusCode),
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// The same for each try, so that the receiver knows it again.
    pub id: String,
    pub body: String,
}

/// Where messages go, and what they are signed with.
pub(super) struct Sender {
    uri: Uri,
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
    /// The newest first; a receiver that still has an older secret finds its signature too.
    keys: Vec<Webhook>,
    furthest: Reach,
    timeout: Duration,
}

impl Sender {
    pub(super) fn new<'a>(
        url: &str,
        secrets: impl Iterator<Item = &'a str>,
        allow_private: bool,
        timeout: Duration,
    ) -> Result<Self, Unusable> {
        let uri: Uri = url.parse().map_err(|_| Unusable::Address)?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        let host = authority.map(|authority| authority.host()).filter(|host| !host.is_empty());
        let host = host.ok_or(Unusable::Address)?.trim_matches(['[', ']']).to_owned();
        let encrypted = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(Unusable::Address),
        };
        if !encrypted && !allow_private {
            return Err(Unusable::Plain);
        }
        let keys: Vec<Webhook> = secrets.map(key).collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Err(Unusable::Secret);
        }
        Ok(Self {
            port: uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 }),
            tls: encrypted.then(connector),
            furthest: if allow_private { Reach::Private } else { Reach::Public },
            uri,
            host,
            keys,
            timeout,
        })
    }

    /// Delivers once.
    pub(super) async fn send(&self, message: &Message, now: Timestamp) -> Result<(), Failure> {
        tokio::time::timeout(self.timeout, self.exchange(message, now)).await.unwrap_or(Err(Failure::Silent))
    }

    async fn exchange(&self, message: &Message, now: Timestamp) -> Result<(), Failure> {
        let addresses: Vec<SocketAddr> =
            tokio::net::lookup_host((self.host.as_str(), self.port)).await.map_err(Failure::Nameless)?.collect();
        let reach = reach::reach_of(&addresses);
        if reach > self.furthest {
            return Err(Failure::Forbidden(reach));
        }
        let stream = TcpStream::connect(&*addresses).await.map_err(Failure::Unreachable)?;
        let request = self.request(message, now);
        let status = match &self.tls {
            None => post(stream, request).await?,
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other);
                let name = name.map_err(Failure::Unreachable)?;
                post(tls.connect(name, stream).await.map_err(Failure::Unreachable)?, request).await?
            }
        };
        if status.is_success() { Ok(()) } else { Err(Failure::Answered(status)) }
    }

    fn request(&self, message: &Message, now: Timestamp) -> Request<Body> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let host = self.uri.authority().map_or("", |authority| authority.as_str());
        let moment = now.as_second();
        let signatures: Vec<String> = self
            .keys
            .iter()
            .map(|key| key.sign(&message.id, moment, message.body.as_bytes()).expect("the body is text"))
            .collect();
        Request::post(path)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::CONTENT_LENGTH, message.body.len())
            .header(header::CONNECTION, "close")
            .header(header::USER_AGENT, concat!("recollect/", env!("CARGO_PKG_VERSION")))
            .header(HEADER_WEBHOOK_ID, &message.id)
            .header(HEADER_WEBHOOK_TIMESTAMP, moment)
            .header(HEADER_WEBHOOK_SIGNATURE, signatures.join(" "))
            .body(Body::from(message.body.clone()))
            .expect("an address that was parsed, and headers of visible characters")
    }
}

async fn post<T>(stream: T, request: Request<Body>) -> Result<StatusCode, Failure>
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(Failure::Broken)?;
    let answer = sender.send_request(request);
    tokio::pin!(answer, connection);
    let answer = tokio::select! {
        answer = &mut answer => answer,
        ended = connection => {
            ended.map_err(Failure::Broken)?;
            // What came before the end is handed on.
            answer.await
        }
    };
    answer.map(|answer| answer.status()).map_err(Failure::Broken)
}

fn key(secret: &str) -> Result<Webhook, Unusable> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let text = secret.strip_prefix("whsec_").ok_or(Unusable::Secret)?;
    let bytes = STANDARD.decode(text).ok().filter(|bytes| (24..=64).contains(&bytes.len()));
    bytes.and_then(|bytes| Webhook::from_bytes(bytes).ok()).ok_or(Unusable::Secret)
}

/// Trusts whom the machine trusts.
fn connector() -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "a certificate of this machine cannot be read");
    }
    roots.add_parsable_certificates(found.certs);
    TlsConnector::from(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn sender(url: &str, secrets: &[&str], allow_private: bool) -> Result<Sender, Unusable> {
        Sender::new(url, secrets.iter().copied(), allow_private, Duration::from_secs(5))
    }

    #[test]
    fn endpoints_that_cannot_be_used_say_why() {
        for (url, secrets, private, expected) in [
            ("https://hooks.example.org/x?y=1", &[SECRET][..], false, None),
            ("http://hooks.example.org/x", &[SECRET], true, None),
            ("http://hooks.example.org/x", &[SECRET], false, Some(Unusable::Plain)),
            ("ftp://hooks.example.org/x", &[SECRET], true, Some(Unusable::Address)),
            ("hooks.example.org", &[SECRET], true, Some(Unusable::Address)),
            ("/hooks", &[SECRET], true, Some(Unusable::Address)),
            ("https://ann:secret@hooks.example.org/", &[SECRET], true, Some(Unusable::Address)),
            ("https://hooks.example.org/x", &[], false, Some(Unusable::Secret)),
            ("https://hooks.example.org/x", &["whsec_AAEC"], false, Some(Unusable::Secret)),
            (
                "https://hooks.example.org/x",
                &["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="],
                false,
                Some(Unusable::Secret),
            ),
        ] {
            assert_eq!(sender(url, secrets, private).err(), expected, "{url} {secrets:?}");
        }
    }

    #[tokio::test]
    async fn what_must_not_be_called_is_not_called() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let message = Message { id: "m1".to_owned(), body: "{}".to_owned() };
        // The same loopback in spellings that a resolver understands.
        for host in ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"] {
            let sender = sender(&format!("https://{host}:{port}/"), &[SECRET], false).expect("usable");
            let failure = sender.send(&message, Timestamp::UNIX_EPOCH).await.expect_err(host);
            assert!(matches!(failure, Failure::Forbidden(Reach::Private) | Failure::Nameless(_)), "{host}: {failure}");
        }
        for host in ["169.254.169.254", "0.0.0.0", "[fe80::1]"] {
            let sender = sender(&format!("http://{host}:{port}/"), &[SECRET], true).expect("usable");
            let failure = sender.send(&message, Timestamp::UNIX_EPOCH).await.expect_err(host);
            assert!(matches!(failure, Failure::Forbidden(Reach::Never) | Failure::Nameless(_)), "{host}: {failure}");
        }
        let nobody = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(nobody.is_err(), "nothing was connected");
    }
}
