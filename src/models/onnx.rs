//! A thread that owns one ONNX session and answers in turn, queries before passages.
//!
//! The session is not shared: one inference already uses all cores. A store of many passages goes through in small
//! batches, so that a query waits for one batch and not for the import.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use fastembed::TextEmbedding;
use tokio::sync::oneshot;

use super::error::ModelError;
use crate::ports::{Calibration, Embedder, ModelCard, PortError, PortErrorKind};

/// Name of the adapter in errors.
const BACKEND: &str = "onnx";

type Answer = Result<Vec<Vec<f32>>, fastembed::Error>;

/// Texts with their prefixes, and where their vectors go.
struct Job {
    texts: Vec<String>,
    reply: oneshot::Sender<Answer>,
}

#[derive(Default)]
struct Queue {
    queries: VecDeque<Job>,
    passages: VecDeque<Job>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        loop {
            if let Some(job) = queue.queries.pop_front().or_else(|| queue.passages.pop_front()) {
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What the model wants before each text.
pub(super) struct Prefixes {
    pub query: String,
    pub passage: String,
}

/// An embedder over a fastembed model.
pub(super) struct OnnxEmbedder {
    card: ModelCard,
    prefixes: Prefixes,
    batch: usize,
    shared: Arc<Shared>,
}

impl OnnxEmbedder {
    /// Starts the thread; it ends when the embedder is dropped.
    pub(super) fn start(
        mut model: TextEmbedding,
        card: ModelCard,
        prefixes: Prefixes,
        batch: usize,
    ) -> Result<Self, ModelError> {
        let shared = Arc::new(Shared::default());
        let working = shared.clone();
        std::thread::Builder::new()
            .name(format!("embed-{}", card.id))
            .spawn(move || {
                while let Some(job) = working.next() {
                    if !job.reply.is_closed() {
                        // The receiver may have gone meanwhile: nobody waits for the answer then.
                        let _ = job.reply.send(model.embed(&job.texts, None));
                    }
                }
            })
            .map_err(|error| ModelError::Load { name: card.id.clone(), reason: error.to_string() })?;
        Ok(Self { card, prefixes, batch: batch.max(1), shared })
    }

    /// The same model on another scale.
    pub(super) fn with_calibration(mut self, calibration: Calibration) -> Self {
        self.card.calibration = calibration;
        self
    }

    async fn run(&self, texts: Vec<String>, is_query: bool, operation: &'static str) -> Result<Vec<Vec<f32>>, PortError> {
        let (reply, answer) = oneshot::channel();
        {
            let mut queue = self.shared.queue();
            if is_query { &mut queue.queries } else { &mut queue.passages }.push_back(Job { texts, reply });
        }
        self.shared.changed.notify_one();
        let gone = |error| PortError::new(PortErrorKind::Unavailable, BACKEND, operation, error);
        let failed = |error| PortError::new(PortErrorKind::Internal, BACKEND, operation, error);
        answer.await.map_err(gone)?.map_err(failed)
    }
}

impl Drop for OnnxEmbedder {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
    }
}

#[async_trait]
impl Embedder for OnnxEmbedder {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
        // Texts of like length share a batch: each is padded to the longest.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|at| texts[*at].len());
        let mut vectors = vec![Vec::new(); texts.len()];
        for batch in order.chunks(self.batch) {
            let prefixed = batch.iter().map(|at| format!("{}{}", self.prefixes.passage, texts[*at])).collect();
            for (at, vector) in batch.iter().zip(self.run(prefixed, false, "embed passages").await?) {
                vectors[*at] = vector;
            }
        }
        Ok(vectors)
    }

    async fn embed_query(&self, text: &str) -> Result<Vec<f32>, PortError> {
        let prefixed = vec![format!("{}{text}", self.prefixes.query)];
        let vector = self.run(prefixed, true, "embed query").await?.pop();
        vector.ok_or_else(|| PortError::new(PortErrorKind::Internal, BACKEND, "embed query", "the model gave no vector"))
    }
}
