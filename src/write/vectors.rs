//! Memories to vectors: which spaces a memory is in, and what text each space is given.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use crate::{
    domain::{Language, Memory, NamedVector},
    ports::{Embedder, PortError, SpaceSpec},
};

/// The embedders, in the order of the settings. The first takes every memory.
#[derive(Clone)]
pub struct Vectors {
    /// At least one.
    pub embedders: Vec<Arc<dyn Embedder>>,
    /// Whether turns of a dialogue get a window vector.
    pub window: bool,
    /// Microseconds spent in models so far, for reports.
    pub spent_micros: Arc<AtomicU64>,
}

/// Every space these embedders fill.
pub fn spaces(embedders: &[Arc<dyn Embedder>]) -> Vec<SpaceSpec> {
    embedders
        .iter()
        .map(|embedder| embedder.card())
        .flat_map(|card| {
            [card.id.clone(), card.window_space()].map(|name| SpaceSpec { name, dimension: card.dimension })
        })
        .collect()
}

impl Vectors {
    /// Whether a memory gets its meaning also from the one before it: turns of a dialogue do; facts, which have no speaker,
    /// and titled passages do not.
    pub fn has_window(&self, memory: &Memory) -> bool {
        self.window && memory.speaker.is_some() && memory.session_id.is_some() && memory.title.is_none()
    }

    /// The vectors of each of `memories`, given the memory before it in its session where [`Self::has_window`] holds and
    /// there is one. One batch per model.
    pub async fn embed(&self, memories: &[(&Memory, Option<&Memory>)]) -> Result<Vec<Vec<NamedVector>>, PortError> {
        let mut vectors: Vec<Vec<NamedVector>> = vec![Vec::new(); memories.len()];
        for embedder in &self.embedders {
            let card = embedder.card();
            let mut texts = Vec::new();
            let mut places = Vec::new();
            for (place, (memory, before)) in memories.iter().enumerate() {
                if !takes(card.language, memory) {
                    continue;
                }
                let own = memory.passage();
                if let Some(before) = before.filter(|_| self.has_window(memory)) {
                    texts.push(format!("{}\n{own}", before.passage()));
                    places.push((place, card.window_space()));
                }
                texts.push(own);
                places.push((place, card.id.clone()));
            }
            let started = Instant::now();
            let embedded = embedder.embed_passages(&texts).await?;
            let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.spent_micros.fetch_add(micros, Ordering::Relaxed);
            for ((place, space), vector) in places.into_iter().zip(embedded) {
                vectors[place].push(NamedVector { space, vector });
            }
        }
        Ok(vectors)
    }
}

fn takes(language: Option<Language>, memory: &Memory) -> bool {
    language.is_none_or(|language| memory.language == language)
}
