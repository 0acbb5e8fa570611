//! The integration tests: one binary. `contract` runs each port's suite on each backend.

mod contract;
mod support;
