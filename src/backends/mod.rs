//! (room)
pub mod edge;
pub mod exact;
