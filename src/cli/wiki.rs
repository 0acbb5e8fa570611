//! wiki: what people approved, how it came to be, and the way back.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    Context,
    faces::{body, query, tool},
    memory::Target,
    output, pages, paint,
};

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "parsed once")]
pub(super) enum WikiCommand {
    /// Show a page.
    Show(ShowArgs),
    /// Find pages that answer a question.
    Search(SearchArgs),
    /// List the revisions of a page, latest first.
    History(HistoryArgs),
    /// Say for each line of a page with which revision it came, and whose it is.
    Blame(BlameArgs),
    /// Compare two revisions of a page.
    Diff(DiffArgs),
    /// Take a revision of a page back; what came after it stays.
    Revert(RevertArgs),
    /// Propose a new page, or an edit, rename or deletion of one; a person decides.
    Propose(ProposeArgs),
    /// Write all pages to a folder of Markdown, from which `import pages` makes them again.
    Export(pages::ExportPagesArgs),
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Address of the page.
    slug: String,
    /// Number of a revision; by default the head.
    #[arg(long, allow_negative_numbers = true)]
    revision: Option<i64>,
    /// As it was then.
    #[arg(long)]
    as_of: Option<String>,
    /// Of the last answer, for the next part of a long text.
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct SearchArgs {
    /// The question.
    query: String,
    /// How many at most.
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct HistoryArgs {
    /// Address of the page.
    slug: String,
    /// How many at most.
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
    /// The cursor of the last answer, for the next page.
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct BlameArgs {
    /// Address of the page.
    slug: String,
    /// Number of a revision; by default the head.
    #[arg(long, allow_negative_numbers = true)]
    revision: Option<i64>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// Address of the page.
    slug: String,
    /// Number of the earlier revision; 0 is the empty page.
    #[arg(long, allow_negative_numbers = true)]
    from: i64,
    /// Number of the later one; by default the head.
    #[arg(long, allow_negative_numbers = true)]
    to: Option<i64>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct RevertArgs {
    /// Address of the page.
    slug: String,
    /// Number of the revision to take back.
    #[arg(long, allow_negative_numbers = true)]
    revision: i64,
    /// Number of the head that you looked at; another one now is refused.
    #[arg(long, allow_negative_numbers = true)]
    expected_head: Option<i64>,
    /// Why.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct ProposeArgs {
    /// Address of the page.
    slug: String,
    /// Heading.
    #[arg(long)]
    title: Option<String>,
    /// The whole new text in Markdown.
    #[arg(long)]
    body: Option<String>,
    /// The same from a file, or from standard input with -.
    #[arg(long, conflicts_with = "body")]
    file: Option<PathBuf>,
    /// A unified diff against the text of --base-revision, in place of a whole text.
    #[arg(long)]
    patch: Option<String>,
    /// Number of the revision that the edit was written on.
    #[arg(long, allow_negative_numbers = true)]
    base_revision: Option<i64>,
    /// edit, rename, delete or restore.
    #[arg(long)]
    action: Option<String>,
    /// The new address, for a rename.
    #[arg(long)]
    new_slug: Option<String>,
    /// Further addresses that lead to the page, separated by commas.
    #[arg(long, value_delimiter = ',')]
    aliases: Vec<String>,
    /// Labels of concepts that it belongs to, separated by commas.
    #[arg(long, value_delimiter = ',')]
    categories: Vec<String>,
    /// Who may read a new page: global (default), shared or private.
    #[arg(long)]
    scope: Option<String>,
    /// Group of a new page.
    #[arg(long)]
    group: Option<String>,
    /// Why, for the reviewer.
    #[arg(long)]
    rationale: Option<String>,
    /// Ids of memories that bear it out, separated by commas.
    #[arg(long, value_delimiter = ',')]
    evidence: Vec<String>,
    /// The agent run it belongs to.
    #[arg(long)]
    run_id: Option<String>,
    /// An open proposal of yours that this one replaces.
    #[arg(long)]
    replaces: Option<String>,
    /// The same key proposes once.
    #[arg(long)]
    idempotency_key: Option<String>,
    #[command(flatten)]
    target: Target,
}

pub(super) async fn wiki(ctx: Context, command: WikiCommand) -> anyhow::Result<()> {
    match command {
        WikiCommand::Show(args) => show(ctx, args).await,
        WikiCommand::Search(args) => search(ctx, args).await,
        WikiCommand::History(args) => history(ctx, args).await,
        WikiCommand::Blame(args) => blame(ctx, args).await,
        WikiCommand::Diff(args) => diff(ctx, args).await,
        WikiCommand::Revert(args) => revert(ctx, args).await,
        WikiCommand::Propose(args) => propose(ctx, args).await,
        WikiCommand::Export(args) => pages::export(ctx, args).await,
    }
}

async fn show(ctx: Context, args: ShowArgs) -> anyhow::Result<()> {
    let request = json!({"slug": args.slug, "revision": args.revision, "as_of": args.as_of, "cursor": args.cursor});
    let page = tool(&ctx, args.target, "wiki_get", request).await?;
    if ctx.json {
        return output::json(&page);
    }
    println!("{}", paint::shown(text(&page["body"])).trim_end_matches('\n'));
    // Beside the text, which may go to a file.
    eprintln!("{} revision {} of {}", text(&page["slug"]), page["revision"], text(&page["updated_at"]));
    for memory in page["citations"].as_array().into_iter().flatten() {
        eprintln!("cites {}  {}", text(&memory["id"]), paint::shown(text(&memory["summary"])));
    }
    if let Some(cursor) = page["cursor"].as_str() {
        eprintln!("more: --cursor {cursor}");
    }
    Ok(())
}

async fn search(ctx: Context, args: SearchArgs) -> anyhow::Result<()> {
    let request = json!({"query": args.query, "limit": args.limit});
    let found = tool(&ctx, args.target, "wiki_search", request).await?;
    if ctx.json {
        return output::json(&found);
    }
    let pages = found["pages"].as_array().map(Vec::as_slice).unwrap_or_default();
    if pages.is_empty() {
        println!("nothing found");
    }
    for (place, page) in (1..).zip(pages) {
        let weak = if page["weak"] == true { "  (weak)" } else { "" };
        println!("{place:>2}. {:.2}  {}{weak}", page["score"].as_f64().unwrap_or_default(), text(&page["slug"]));
        println!("           {}", paint::shown(text(&page["section"])));
        println!("           {}", paint::shown(&text(&page["snippet"]).replace('\n', " ")));
    }
    for missing in found["degraded"].as_array().into_iter().flatten() {
        println!("left out: {} ({})", text(&missing["part"]), text(&missing["reason"]));
    }
    Ok(())
}

/// Everything of a revision.
const REVISION: &str = "id: uuid slug title number change at author authorKind approvers editor runId rationale reverts
    contentHash size proposal { id: uuid owner } evidence { id: uuid }";

async fn history(ctx: Context, args: HistoryArgs) -> anyhow::Result<()> {
    let document = format!(
        "query($slug: String!, $first: Int, $after: String) {{ pageHistory(slug: $slug, first: $first, after: $after) {{
            nodes {{ {REVISION} }} pageInfo {{ hasNextPage endCursor }} }} }}"
    );
    let wanted = json!({"slug": args.slug, "first": args.limit, "after": args.cursor});
    let found = there(query(&ctx, args.target, &document, wanted).await?)?;
    let more = found["page_info"]["has_next_page"] == true;
    let cursor = found["page_info"]["end_cursor"].as_str().filter(|_| more);
    if ctx.json {
        let mut told = json!({"revisions": found["nodes"]});
        if let Some(cursor) = cursor {
            told["cursor"] = cursor.into();
        }
        return output::json(&told);
    }
    let paint = paint::of_stdout();
    for revision in found["nodes"].as_array().into_iter().flatten() {
        let number = paint.bold(&format!("{:>4}", revision["number"].to_string()));
        println!("{number}  {}  {}  {}", text(&revision["at"]), text(&revision["change"]), whose(revision));
        if let Some(rationale) = revision["rationale"].as_str() {
            println!("      {}", paint::shown(rationale));
        }
    }
    if let Some(cursor) = cursor {
        println!("more: --cursor {cursor}");
    }
    Ok(())
}

/// Author, those who approved, and the proposal.
fn whose(revision: &Value) -> String {
    let by: Vec<&str> = revision["approvers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let editor = revision["editor"].as_str().map(|editor| format!(", edited by {editor}")).unwrap_or_default();
    let approved = if by.is_empty() { String::new() } else { format!(", approved by {}", by.join(", ")) };
    let proposal = revision["proposal"]["id"].as_str().map(|id| format!("  ({id})")).unwrap_or_default();
    paint::shown(&format!("{}{editor}{approved}{proposal}", text(&revision["author"])))
}

async fn blame(ctx: Context, args: BlameArgs) -> anyhow::Result<()> {
    let document = format!(
        "query($slug: String!, $revision: Int) {{ pageBlame(slug: $slug, revision: $revision) {{ slug revision
            lines {{ fromLine toLine text revision {{ {REVISION} }} }} }} }}"
    );
    let wanted = json!({"slug": args.slug, "revision": args.revision});
    let found = there(query(&ctx, args.target, &document, wanted).await?)?;
    if ctx.json {
        return output::json(&found);
    }
    let paint = paint::of_stdout();
    for run in found["lines"].as_array().into_iter().flatten() {
        let revision = &run["revision"];
        let number = revision["number"].to_string();
        let source = format!("{number:>4} {:<16.16}", paint::shown(text(&revision["author"])));
        for (line, said) in (run["from_line"].as_i64().unwrap_or(1)..).zip(text(&run["text"]).lines()) {
            println!("{} {line:>5}  {}", paint.dim(&source), paint::shown(said));
        }
    }
    Ok(())
}

async fn diff(ctx: Context, args: DiffArgs) -> anyhow::Result<()> {
    let document =
        "query($slug: String!, $from: Int!, $to: Int) { pageDiff(slug: $slug, from: $from, to: $to) { slug from to
        diff { inserted deleted hunks { oldLine newLine lines { op parts { text changed } } } } } }";
    let wanted = json!({"slug": args.slug, "from": args.from, "to": args.to});
    let found = there(query(&ctx, args.target, document, wanted).await?)?;
    if ctx.json {
        return output::json(&found);
    }
    print!("{}", paint::diff(&found["diff"], &paint::of_stdout()));
    Ok(())
}

async fn revert(ctx: Context, args: RevertArgs) -> anyhow::Result<()> {
    let document = format!(
        "mutation($input: RevertRevisionInput!) {{ revertRevision(input: $input) {{ outcome operationId
            revision {{ {REVISION} }} userErrors {{ code field message }} }} }}"
    );
    let input = json!({"slug": args.slug, "revision": args.revision, "expectedHead": args.expected_head,
        "reason": args.reason});
    let done = query(&ctx, args.target, &document, json!({"input": input})).await?;
    if ctx.json {
        return output::json(&done);
    }
    println!("{} by revision {}", text(&done["outcome"]), done["revision"]["number"]);
    Ok(())
}

async fn propose(ctx: Context, args: ProposeArgs) -> anyhow::Result<()> {
    let body = body(args.body, args.file.as_deref())?;
    let request = json!({"slug": args.slug, "title": args.title, "body": body, "patch": args.patch,
        "base_revision": args.base_revision, "action": args.action, "new_slug": args.new_slug, "aliases": args.aliases,
        "categories": args.categories, "scope": args.scope, "group": args.group, "rationale": args.rationale,
        "evidence": args.evidence, "run_id": args.run_id, "replaces": args.replaces,
        "idempotency_key": args.idempotency_key});
    let done = tool(&ctx, args.target, "wiki_propose", request).await?;
    if ctx.json {
        return output::json(&done);
    }
    println!("{} {}", text(&done["state"]), text(&done["proposal_id"]));
    let paint = paint::of_stdout();
    for risk in done["risk"].as_array().into_iter().flatten() {
        println!("  {}", paint.warn(&paint::shown(&format!("{}: {}", text(&risk["kind"]), text(&risk["detail"])))));
    }
    Ok(())
}

/// Null is what is not there for the caller.
fn there(found: Value) -> anyhow::Result<Value> {
    if found.is_object() { Ok(found) } else { Err(crate::error::Error::not_found("slug").into()) }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
