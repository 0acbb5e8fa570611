//! Everything that needs the whole, in one binary: flows, contracts, house rules. `contract` runs each port's suite on
//! each backend.

// Tests await whole use cases: the types of their futures nest deeply.
#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops; helpers of tests count")]
#![expect(clippy::type_complexity, reason = "tables of cases are read, not passed on")]
#![expect(clippy::disallowed_methods, reason = "tests are told by the environment what they may use")]

mod amend;
mod cli;
mod container;
mod contract;
mod crash;
mod damage;
mod faces;
mod graphql;
mod index_outage;
mod instances;
mod jobs;
mod limits;
mod look_back;
mod models;
mod moving;
mod ontology;
mod outage;
mod parity;
mod recall;
mod review;
mod review_faces;
mod stores;
mod support;
mod telemetry;
mod tidy;
mod webhooks;
mod wiki_visibility;
