//! The text of pages: differences, merges, blame, links and citations, front matter, marks, rendering.
//!
//! Pure: texts in, values out. Knows nothing of stores, callers and proposals. To add a mark for reviewers: a case in
//! `marks.rs` and a kind of risk in the domain.

mod blame;
mod diff;
mod folder;
mod marks;
mod markup;
mod merge;
mod passage;
mod patch;
mod render;
mod words;

pub use blame::{blame_first, blame_next};
pub use diff::{Diff, DiffLine, DiffPart, Hunk};
pub use folder::{FileError, FileScope, PageFields, parse_file, write_file};
pub use marks::{Marks, first_few, marks};
pub use markup::{Reference, citations, is_slug, links, slug_of, title_of_slug};
pub use merge::{Clash, Merge, Piece, Resolution, merge, resolve};
pub use passage::{Part, parts};
pub use patch::apply_patch;
pub use render::html;
