//! The jobs over a graph store that lives in memory and an index that can fail.

mod doctor;
mod drain;
mod fakes;
