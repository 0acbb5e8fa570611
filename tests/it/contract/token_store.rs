//! What every token store does.

use std::collections::BTreeSet;

use recollect::{
    domain::{Caller, PrincipalKind, Right},
    ports::{PortErrorKind, StoredToken, TokenStore},
};

use crate::support::at;

macro_rules! token_store_suite {
    ($open:path) => {
        crate::contract::suite!(
            $open,
            token_store,
            [
                token_is_found_by_the_hash_of_its_secret,
                tokens_are_listed_oldest_first,
                revoked_token_is_gone,
                id_and_hash_are_unique
            ]
        );
    };
}
pub(crate) use token_store_suite;

fn token(n: i64, principal: &str) -> StoredToken {
    StoredToken {
        id: format!("token-{n}"),
        secret_hash: format!("{n:064x}"),
        caller: Caller {
            principal: principal.to_owned(),
            kind: PrincipalKind::Agent,
            groups: BTreeSet::from(["ops".to_owned(), "研发".to_owned()]),
            rights: BTreeSet::from([Right::MemoryRead, Right::MemoryWrite]),
            owner: Some("ann".to_owned()),
        },
        created_at: at(n),
    }
}

pub async fn token_is_found_by_the_hash_of_its_secret(store: &dyn TokenStore) {
    let (one, two) = (token(1, "alice"), token(2, "o'brien \"x\""));
    store.add_token(&one).await.unwrap();
    store.add_token(&two).await.unwrap();
    assert_eq!(store.token_by_hash(&one.secret_hash).await.unwrap(), Some(one));
    assert_eq!(store.token_by_hash(&two.secret_hash).await.unwrap(), Some(two));
    assert_eq!(store.token_by_hash("").await.unwrap(), None);
    assert_eq!(store.token_by_hash("token-1").await.unwrap(), None);
}

pub async fn tokens_are_listed_oldest_first(store: &dyn TokenStore) {
    for n in [3, 1, 2] {
        store.add_token(&token(n, "alice")).await.unwrap();
    }
    assert_eq!(store.tokens().await.unwrap(), [token(1, "alice"), token(2, "alice"), token(3, "alice")]);
}

pub async fn revoked_token_is_gone(store: &dyn TokenStore) {
    store.add_token(&token(1, "alice")).await.unwrap();
    assert!(store.revoke_token("token-1").await.unwrap());
    assert!(!store.revoke_token("token-1").await.unwrap());
    assert_eq!(store.token_by_hash(&token(1, "alice").secret_hash).await.unwrap(), None);
    assert_eq!(store.tokens().await.unwrap(), []);
}

pub async fn id_and_hash_are_unique(store: &dyn TokenStore) {
    store.add_token(&token(1, "alice")).await.unwrap();
    for again in [
        StoredToken { id: "other".to_owned(), ..token(1, "bob") },
        StoredToken { id: "token-1".to_owned(), ..token(2, "bob") },
    ] {
        assert_eq!(store.add_token(&again).await.unwrap_err().kind, PortErrorKind::Conflict);
    }
    assert_eq!(store.tokens().await.unwrap(), [token(1, "alice")]);
}
