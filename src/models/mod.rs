//! Adapters for the [`Embedder`](crate::ports::Embedder) port.
//!
//! `open` turns settings into embedders; only it knows which kinds there are. `local` and `hub` both end in an
//! [`onnx`](self::onnx) worker, `hashing` needs no weights, `cached` wraps any of them. A model that is not there is an
//! error that says how to get it, never a switch to another.
//!
//! To add a model that the set-up fetches: its sums in `scripts/fetch-models`, a row in [`card::SHIPPED`]. To add a kind:
//! a file here, a variant of [`EmbedderKind`], an arm in `open`.

mod cached;
mod calibrate;
mod card;
mod error;
mod hashing;
#[cfg(feature = "hub")]
#[path = "hub_enabled.rs"]
mod hub;
#[cfg(not(feature = "hub"))]
#[path = "hub_disabled.rs"]
mod hub;
mod local;
mod onnx;
mod open;
mod runtime;

pub use cached::CachedEmbedder;
pub use calibrate::measure_calibration;
pub use error::ModelError;
pub use hashing::HashingEmbedder;
pub use open::{CalibrationEntry, EmbedderEntry, EmbedderKind, ModelOptions, Pooling, open};
pub use runtime::runtime_file;
