//! Builds anew when the playground was built: its files are embedded (`src/http/playground.rs`).

fn main() {
    println!("cargo::rerun-if-changed=web/playground/dist");
}
