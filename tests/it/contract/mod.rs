//! What every adapter of a port must do: one suite a port, run on each backend.
//!
//! A case is `pub async fn sentence(store: &dyn Port)` and a line in the list of its file. A backend runs the suite in a
//! file of its own here, with a function that opens a fresh store; `None` skips, and that function says why.

/// A test for each case named, each on a fresh store.
macro_rules! suite {
    ($open:path, $port:ident, [$($case:ident),+ $(,)?]) => {
        mod $port {
            $(#[tokio::test]
            async fn $case() {
                if let Some((store, _keep)) = $open().await {
                    crate::contract::$port::$case(&store).await;
                }
            })+
        }
    };
}
pub(crate) use suite;

pub mod archive;
mod browse;
mod graph_store;
mod journal;
pub mod neo4j;
pub mod ontology_store;
mod qdrant;
mod review_store;
mod sqlite;
mod token_store;
mod vector_index;
