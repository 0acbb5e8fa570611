//! The derived index of vectors. It can always be rebuilt from the graph store and the embedders.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;

use super::{PortError, Scored};
use crate::domain::{Filter, IndexOp, MemoryId, Payload, Visibility};

/// A named space of vectors of one length, compared by cosine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceSpec {
    /// Its name.
    pub name: String,
    /// Length of its vectors.
    pub dimension: usize,
}

/// A nearest-neighbour question.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorQuery {
    /// The space to look in. Memories without a vector there are not found.
    pub space: String,
    /// Unit vector, as long as the space's dimension.
    pub vector: Vec<f32>,
    /// Conditions, applied inside the search.
    pub filter: Filter,
    /// At most this many answers.
    pub limit: usize,
}

/// Vectors by memory id, with the filter fields of [`crate::domain::Payload`] and nothing else.
#[async_trait]
pub trait VectorIndex: Send + Sync {
    /// Applies the operations in order. Each is idempotent; a later one for the same id wins. When it returns, searches
    /// see the result; after [`Self::flush`] it is durable. On `Mismatch` (a vector of no known space, or of the wrong
    /// length) none was applied; after any other error some may have been, and applying all again is right.
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError>;
    /// The nearest visible points that meet the filter, best first; scores are raw cosines. Ties by id.
    async fn search(&self, query: &VectorQuery, visibility: &Visibility) -> Result<Vec<Scored>, PortError>;
    /// The vectors in `space` of those of `ids` that are visible and have one there.
    async fn vectors(
        &self,
        space: &str,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Vec<f32>>, PortError>;
    /// The filter fields of those of `ids` that are visible and have a point.
    async fn payloads(
        &self,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Payload>, PortError>;
    /// Up to `limit` ids above `after`, ascending, whatever their filter fields: for the doctor.
    async fn ids(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, PortError>;
    /// Number of points.
    async fn count(&self) -> Result<usize, PortError>;
    /// Makes everything applied so far durable.
    async fn flush(&self) -> Result<(), PortError>;
    /// Builds what makes searches fast, if it is worth it by now. Slow; searches go on meanwhile.
    async fn optimize(&self) -> Result<(), PortError>;
    /// Starts an empty index with the same spaces beside this one, which serves on. A second call gives up the first's.
    async fn rebuild(&self) -> Result<Arc<dyn Rebuild>, PortError>;
    /// What is there is not whole: from now on every call but [`Self::rebuild`] answers `Corrupt`, until a rebuild has
    /// switched. An index that was found damaged when it was opened begins so.
    async fn withdraw(&self);
}

/// An index being filled beside the one that serves. Searches find nothing of it before [`Self::switch`]; if that never
/// comes, for whatever reason, nothing has changed, and the next rebuild or the next start removes what was left.
#[async_trait]
pub trait Rebuild: Send + Sync {
    /// As [`VectorIndex::apply`].
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError>;
    /// Builds what makes searches fast, if it is worth it. Slow; [`Self::apply`] goes on meanwhile.
    async fn optimize(&self) -> Result<(), PortError>;
    /// Makes everything applied so far durable, puts this index in the place of the one that serves, at once, and removes
    /// that one. After an error the old one serves, or after a crash one of the two, whole.
    async fn switch(&self) -> Result<(), PortError>;
}
