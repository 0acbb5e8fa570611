//! The face for curators and their programs: GraphQL.
//!
//! Resolvers translate and decide nothing: each calls one method of the façade. Requests and replies of the use cases are
//! turned into the types of the schema and back in `convert`, by their field names. `answer` has the one way from a request
//! to a response: parse, limits, then execution, every error with its code. Knows nothing of HTTP.
//!
//! To add a field: a method in `query`, `mutation` or `subscription`, its types in `types` or `input`, each with a
//! description; then `recollect schema > graphql/schema.graphql`.

mod answer;
mod convert;
mod input;
mod limits;
mod loader;
mod mutation;
mod names;
mod page;
mod query;
mod review;
mod review_input;
mod review_mutation;
mod review_payload;
mod review_query;
mod subscription;
mod types;
mod wiki;

use std::sync::Arc;

use async_graphql::{ID, SDLExportOptions, Schema, SchemaBuilder};

pub use answer::{Answer, Graphql, Operations, Request, failure};
use mutation::Mutation;
use query::Query;
use subscription::Subscription;

type Whole = Schema<Query, Mutation, Subscription>;

fn builder() -> SchemaBuilder<Query, Mutation, Subscription> {
    use page::{
        ConceptConnection, ConceptMemoryConnection, EventConnection, MemoryConnection, PageConnection,
        ProposalConnection, RevisionConnection, RowConnection, TreeConceptConnection,
    };
    Schema::build(Query::default(), Mutation::default(), Subscription)
        .override_output_type_description::<ID>(
            "An id: global ones (base64 of the type and the plain id) are given, plain ones are taken as well.",
        )
        .override_output_type_description::<MemoryConnection>("A page of memories.")
        .override_output_type_description::<ConceptMemoryConnection>("A page of the memories that name a concept.")
        .override_output_type_description::<ConceptConnection>("A page of concepts.")
        .override_output_type_description::<TreeConceptConnection>("A page of the concepts of ontologies.")
        .override_output_type_description::<EventConnection>("A page of raw events.")
        .override_output_type_description::<RowConnection>("A page of the audit log.")
        .override_output_type_description::<PageConnection>("A page of a list of wiki pages.")
        .override_output_type_description::<RevisionConnection>("A page of the history of a wiki page.")
        .override_output_type_description::<ProposalConnection>("A page of the review queue.")
}

/// The schema in its own language, sorted, as `graphql/schema.graphql` holds it.
pub fn sdl() -> String {
    let options = SDLExportOptions::new()
        .sorted_fields()
        .sorted_arguments()
        .sorted_enum_items()
        .prefer_single_line_descriptions()
        .include_specified_by()
        .use_space_ident();
    let sdl = builder().finish().sdl_with_options(options);
    // The exporter leaves blank lines at ends and in between as its own sorting falls.
    let mut lines: Vec<&str> = sdl.lines().map(str::trim_end).collect();
    lines.dedup_by(|a, b| a.is_empty() && b.is_empty());
    format!("{}\n", lines.join("\n").trim())
}

/// Who asks, and the loaders of one request.
struct Asking {
    caller: Arc<crate::domain::Caller>,
    loader: async_graphql::dataloader::DataLoader<loader::Loader>,
}
