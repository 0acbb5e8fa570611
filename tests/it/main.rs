//! Everything that needs the whole: flows, contracts, house rules.

mod tidy;
