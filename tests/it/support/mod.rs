//! What the tests share: a clock one can set, ids one can count on, and plain records to start from.

pub mod app;
pub mod away;
pub mod bolt;
pub mod clock;
pub mod desk;
pub mod house;
pub mod proxy;
pub mod qdrant;
mod records;

pub mod process;

pub use records::{at, change, id, memory};
