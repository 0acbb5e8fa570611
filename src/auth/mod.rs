//! A bearer token becomes a [`Caller`]; new tokens are made here, the first ones at the first start.
//!
//! Only the hash of a secret is kept. The secret has 256 random bits, so SHA-256 is enough. Knows the token store and
//! nothing of HTTP. To add a right to the first tokens: the table in [`first_start`].

mod remembered;

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use rand::{TryRngCore, rngs::OsRng};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{
    domain::{Caller, PrincipalKind, Right},
    ports::{Clock, PortError, StoredToken, TokenStore},
};

pub use remembered::Remembered;

/// What every secret starts with, so that scanners find leaked ones.
const PREFIX: &str = "rcl_";
/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;
/// Longest name of a principal or a group, in bytes.
pub const NAME_BYTES: usize = 128;
/// What a name must be.
pub const NAME_RULE: &str = "must have between 1 and 128 bytes, no control characters and no blanks at its ends";
/// The file of the first tokens, in the data folder, and its name until they are all stored.
const FILE: &str = "tokens.json";
const DRAFT: &str = "tokens.json.new";
/// The group of the first tokens.
const FIRST_GROUP: &str = "team";

/// A token that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// People decide: no agent holds a right that lets it decide, or make a token that does.
    #[error("rights: an agent can never hold {0}")]
    RightOfPeople(Right),
    /// A principal or group name that cannot be one.
    #[error("{0}: {NAME_RULE}")]
    Name(&'static str),
    /// The operating system gives no random bytes.
    #[error("no random bytes from the operating system")]
    Random,
    /// The file of the first tokens cannot be written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The token store failed.
    #[error(transparent)]
    Store(#[from] PortError),
}

/// The secrets of the first tokens, as they stand in `tokens.json`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstTokens {
    /// A person who may do everything.
    pub admin: String,
    /// A person who reads, writes and decides.
    pub reviewer: String,
    /// An agent that reads, writes, forgets and proposes.
    pub agent: String,
}

/// The caller behind a bearer token; `None` if it is not one of ours or was revoked.
pub async fn authenticate(tokens: &dyn TokenStore, bearer: &str) -> Result<Option<Caller>, PortError> {
    if !bearer.starts_with(PREFIX) {
        return Ok(None);
    }
    Ok(tokens.token_by_hash(&hash(bearer)).await?.map(|token| token.caller))
}

/// A new token and its secret, which is nowhere else. It speaks for nobody until it is added to the store.
pub fn mint(
    principal: &str,
    kind: PrincipalKind,
    groups: BTreeSet<String>,
    rights: BTreeSet<Right>,
    now: Timestamp,
    id: Uuid,
) -> Result<(StoredToken, String), TokenError> {
    let secret = secret()?;
    Ok((token(principal, kind, groups, rights, now, id, &secret)?, secret))
}

/// At the very first start on a data folder (no token in the store, no `tokens.json`): makes the tokens of an admin, a
/// reviewer and an agent, and writes their secrets to `tokens.json`, readable by its owner only.
///
/// A start that was cut off is finished by the next one: the secrets are durable in a draft before any of them is stored,
/// and the draft gets its name after all are.
pub async fn first_start(
    tokens: &dyn TokenStore,
    dir: &Path,
    clock: &dyn Clock,
) -> Result<Option<FirstTokens>, TokenError> {
    use Right::{Admin, MemoryForget, MemoryGlobal, MemoryRead, MemoryWrite, ReviewDecide, ReviewRead, WikiPropose};
    let (file, draft) = (dir.join(FILE), dir.join(DRAFT));
    if file.exists() {
        return Ok(None);
    }
    let known = fs::read(&draft).ok().and_then(|bytes| serde_json::from_slice::<FirstTokens>(&bytes).ok());
    let first = match known {
        Some(first) => first,
        None if !tokens.tokens().await?.is_empty() => return Ok(None),
        None => {
            let first = FirstTokens { admin: secret()?, reviewer: secret()?, agent: secret()? };
            write_private(&draft, &first).map_err(|source| TokenError::File { path: draft.clone(), source })?;
            first
        }
    };
    let table: [(&str, PrincipalKind, &str, &[Right]); 3] = [
        ("admin", PrincipalKind::Human, &first.admin, &[Admin]),
        (
            "reviewer",
            PrincipalKind::Human,
            &first.reviewer,
            &[MemoryRead, MemoryWrite, MemoryGlobal, WikiPropose, ReviewRead, ReviewDecide],
        ),
        ("agent", PrincipalKind::Agent, &first.agent, &[MemoryRead, MemoryWrite, MemoryForget, WikiPropose]),
    ];
    for (principal, kind, secret, rights) in table {
        if tokens.token_by_hash(&hash(secret)).await?.is_none() {
            let (groups, rights) = (BTreeSet::from([FIRST_GROUP.to_owned()]), rights.iter().copied().collect());
            let token = token(principal, kind, groups, rights, clock.now(), clock.next_id(), secret)?;
            tokens.add_token(&token).await?;
        }
    }
    fs::rename(&draft, &file)
        .and_then(|()| fs::File::open(dir)?.sync_all())
        .map_err(|source| TokenError::File { path: file, source })?;
    Ok(Some(first))
}

fn token(
    principal: &str,
    kind: PrincipalKind,
    groups: BTreeSet<String>,
    rights: BTreeSet<Right>,
    now: Timestamp,
    id: Uuid,
    secret: &str,
) -> Result<StoredToken, TokenError> {
    check_name("principal", principal)?;
    groups.iter().try_for_each(|group| check_name("groups", group))?;
    if kind == PrincipalKind::Agent
        && let Some(right) = [Right::ReviewDecide, Right::Admin].into_iter().find(|right| rights.contains(right))
    {
        return Err(TokenError::RightOfPeople(right));
    }
    let caller = Caller { principal: principal.to_owned(), kind, groups, rights, owner: None };
    Ok(StoredToken { id: id.to_string(), secret_hash: hash(secret), caller, created_at: now })
}

fn check_name(field: &'static str, name: &str) -> Result<(), TokenError> {
    let fits = (1..=NAME_BYTES).contains(&name.len()) && name.trim() == name && !name.contains(char::is_control);
    if fits { Ok(()) } else { Err(TokenError::Name(field)) }
}

fn secret() -> Result<String, TokenError> {
    let mut random = [0; SECRET_BYTES];
    OsRng.try_fill_bytes(&mut random).map_err(|_| TokenError::Random)?;
    Ok(format!("{PREFIX}{}", hex::encode(random)))
}

fn hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret))
}

/// Durable when it returns. A draft that is there is a torn one.
fn write_private(path: &Path, tokens: &FirstTokens) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(&serde_json::to_vec_pretty(tokens)?)?;
    file.write_all(b"\n")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt, sync::Mutex};

    use super::*;

    #[derive(Default)]
    struct InMemory(Mutex<Vec<StoredToken>>);

    #[async_trait::async_trait]
    impl TokenStore for InMemory {
        async fn add_token(&self, token: &StoredToken) -> Result<(), PortError> {
            self.0.lock().expect("not poisoned").push(token.clone());
            Ok(())
        }
        async fn token_by_hash(&self, hash: &str) -> Result<Option<StoredToken>, PortError> {
            Ok(self.0.lock().expect("not poisoned").iter().find(|token| token.secret_hash == hash).cloned())
        }
        async fn tokens(&self) -> Result<Vec<StoredToken>, PortError> {
            Ok(self.0.lock().expect("not poisoned").clone())
        }
        async fn revoke_token(&self, id: &str) -> Result<bool, PortError> {
            let mut tokens = self.0.lock().expect("not poisoned");
            let before = tokens.len();
            tokens.retain(|token| token.id != id);
            Ok(tokens.len() < before)
        }
    }

    struct Frozen;

    impl Clock for Frozen {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
        fn next_id(&self) -> Uuid {
            Uuid::nil()
        }
    }

    fn minted(kind: PrincipalKind, rights: &[Right]) -> Result<(StoredToken, String), TokenError> {
        mint("ann", kind, BTreeSet::new(), rights.iter().copied().collect(), Timestamp::UNIX_EPOCH, Uuid::nil())
    }

    #[tokio::test]
    async fn a_secret_leads_to_its_caller_and_nothing_else_does() {
        let store = InMemory::default();
        let (token, secret) = minted(PrincipalKind::Human, &[Right::MemoryRead]).expect("minted");
        assert_eq!(secret.len(), PREFIX.len() + 2 * SECRET_BYTES);
        assert!(!format!("{token:?}").contains(&secret));
        store.add_token(&token).await.expect("added");
        let caller = authenticate(&store, &secret).await.expect("store answers");
        assert_eq!(caller.as_ref(), Some(&token.caller));
        let (_, other) = minted(PrincipalKind::Human, &[]).expect("minted");
        for wrong in ["", "rcl_", &token.secret_hash, &format!("{secret}0"), &secret[..secret.len() - 1], &other] {
            assert_eq!(authenticate(&store, wrong).await.expect("store answers"), None, "{wrong:?}");
        }
        assert!(store.revoke_token(&token.id).await.expect("revoked"));
        assert_eq!(authenticate(&store, &secret).await.expect("store answers"), None);
    }

    #[test]
    fn an_agent_is_refused_the_rights_of_people() {
        for right in [Right::ReviewDecide, Right::Admin] {
            let refused = minted(PrincipalKind::Agent, &[Right::MemoryRead, right]);
            assert!(matches!(refused, Err(TokenError::RightOfPeople(named)) if named == right), "{right}");
            assert!(minted(PrincipalKind::Human, &[right]).is_ok(), "{right}");
        }
    }

    #[test]
    fn names_that_cannot_be_told_apart_are_refused() {
        for name in ["", " ", "ann ", "an\nn", "an\0n", &"x".repeat(NAME_BYTES + 1)] {
            let refused =
                mint(name, PrincipalKind::Human, BTreeSet::new(), BTreeSet::new(), Timestamp::UNIX_EPOCH, Uuid::nil());
            assert!(matches!(refused, Err(TokenError::Name("principal"))), "{name:?}");
        }
    }

    #[tokio::test]
    async fn the_first_start_makes_three_tokens_once() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let store = InMemory::default();
        let first = first_start(&store, dir.path(), &Frozen).await.expect("started").expect("first");
        let mode = fs::metadata(dir.path().join(FILE)).expect("file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let written: FirstTokens =
            serde_json::from_slice(&fs::read(dir.path().join(FILE)).expect("read")).expect("three secrets");
        assert!(written == first);
        let agent = authenticate(&store, &first.agent).await.expect("store answers").expect("known");
        assert!(
            agent.kind == PrincipalKind::Agent && agent.may(Right::MemoryForget) && !agent.may(Right::ReviewDecide)
        );
        let reviewer = authenticate(&store, &first.reviewer).await.expect("store answers").expect("known");
        assert!(reviewer.may(Right::ReviewDecide) && !reviewer.may(Right::Admin) && reviewer.groups.contains("team"));
        let admin = authenticate(&store, &first.admin).await.expect("store answers").expect("known");
        assert!(admin.may(Right::Admin));
        assert!(first_start(&store, dir.path(), &Frozen).await.expect("started").is_none());
        assert_eq!(store.tokens().await.expect("tokens").len(), 3);
    }

    #[tokio::test]
    async fn a_first_start_that_was_cut_off_is_finished_with_the_same_secrets() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let store = InMemory::default();
        let first = first_start(&store, dir.path(), &Frozen).await.expect("started").expect("first");
        // As if it had stopped before the last token was stored and the draft named.
        fs::rename(dir.path().join(FILE), dir.path().join(DRAFT)).expect("renamed");
        store.0.lock().expect("not poisoned").pop();
        let again = first_start(&store, dir.path(), &Frozen).await.expect("started").expect("finished");
        assert!(again == first);
        assert_eq!(store.tokens().await.expect("tokens").len(), 3);
        // A draft torn while it was written is no draft: nothing had been stored by then.
        let (store, torn) = (InMemory::default(), tempfile::tempdir().expect("temporary folder"));
        fs::write(torn.path().join(DRAFT), "{\"admin\":\"rc").expect("written");
        assert!(first_start(&store, torn.path(), &Frozen).await.expect("started").is_some());
    }

    #[tokio::test]
    async fn tokens_made_by_hand_are_no_first_start() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let store = InMemory::default();
        store.add_token(&minted(PrincipalKind::Human, &[]).expect("minted").0).await.expect("added");
        assert!(first_start(&store, dir.path(), &Frozen).await.expect("started").is_none());
        assert!(!dir.path().join(FILE).exists());
    }
}
