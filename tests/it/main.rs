//! Everything that needs the whole, in one binary: flows, contracts, house rules. `contract` runs each port's suite on
//! each backend.

mod amend;
mod cli;
mod contract;
mod crash;
mod faces;
mod jobs;
mod models;
mod recall;
mod support;
mod tidy;
