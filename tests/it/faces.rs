//! The faces for programs, through real HTTP and stdio: MCP, its errors and its limits, access, probes.

mod bad_input;
mod bridge;
mod calls;
mod http;
mod pages;
mod protocol;
mod resources;
mod stdio;
mod strings;
mod tools;
mod use_cases;
mod visibility;
