//! The `recollect` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    recollect::cli::main()
}
