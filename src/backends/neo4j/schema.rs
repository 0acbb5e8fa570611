//! Opening a database: what server it is, what format it has, and migrations.
//!
//! To change the schema: a new file in `cypher/schema`, one line in `statements::MIGRATIONS`; landed ones are never edited.

use std::time::Duration;

use neo4rs::Query;
use serde::Deserialize;

use super::{
    connection::{Connection, Nothing},
    error::Neo4jError,
    statements,
};

/// `CALL (x) { … }` came with 5.23.
const NEEDED: (u32, u32) = (5, 23);
const NEEDED_NAME: &str = "5.23";
/// An index of a full database is not made within the time of a call.
const PATIENCE: Duration = Duration::from_secs(300);

/// Checks the server and brings the database to this program's format.
pub(super) async fn open(connection: &Connection) -> Result<(), Neo4jError> {
    check_version(connection).await?;
    let connection = &connection.patient(PATIENCE)?;
    // The one constraint that the format is read by.
    connection.run(statements::STORE_KEY.query()).await?;
    let known = i64::try_from(statements::MIGRATIONS.len()).unwrap_or(i64::MAX);
    let found = format(connection).await?;
    if found > known {
        return Err(Neo4jError::Newer { found, known });
    }
    for (migration, number) in statements::MIGRATIONS.iter().zip(1..).skip(usize::try_from(found).unwrap_or(0)) {
        for statement in parts(migration) {
            connection.run(Query::new(statement)).await?;
        }
        let set = statements::SCHEMA_SET_FORMAT.query().param("format", number);
        connection.write_one::<Nothing>(set).await?;
    }
    connection.run(statements::SCHEMA_AWAIT_INDEXES.query()).await
}

async fn check_version(connection: &Connection) -> Result<(), Neo4jError> {
    #[derive(Deserialize)]
    struct Component {
        version: String,
    }
    let components: Vec<Component> = connection.read(statements::SCHEMA_COMPONENTS.query()).await?;
    let found = components.into_iter().next().map(|component| component.version).unwrap_or_default();
    if version(&found).is_none_or(|version| version < NEEDED) {
        return Err(Neo4jError::Old { found, needed: NEEDED_NAME });
    }
    Ok(())
}

async fn format(connection: &Connection) -> Result<i64, Neo4jError> {
    #[derive(Deserialize)]
    struct Format {
        format: i64,
    }
    let found: Vec<Format> = connection.read(statements::SCHEMA_FORMAT.query()).await?;
    Ok(found.first().map_or(0, |found| found.format))
}

/// `5.26.16`, `5.27-aura`, `2025.06.0`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(['.', '-']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The statements of a migration, without its comments.
fn parts(migration: &str) -> Vec<String> {
    let lines: Vec<&str> = migration.lines().filter(|line| !line.starts_with("//")).collect();
    lines.join("\n").split(';').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_servers_are_compared_by_number() {
        for (text, expected) in [
            ("5.26.16", true),
            ("5.27-aura", true),
            ("2025.06.0", true),
            ("5.23.0", true),
            ("5.9.0", false),
            ("4.4.40", false),
            ("", false),
            ("five", false),
        ] {
            assert_eq!(version(text).is_some_and(|version| version >= NEEDED), expected, "{text}");
        }
    }

    #[test]
    fn migration_is_cut_into_its_statements() {
        assert_eq!(parts("// a; b\n\nONE\nMORE\n;\n\n// c\nTWO;\n"), ["ONE\nMORE", "TWO"]);
    }
}
