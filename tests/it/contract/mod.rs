//! One suite of bodies for each port, run on every adapter of it.

mod vector_index;
