//! The wiki as a folder of Markdown files, and back. A person's import goes live at once, as a person's decision.

use super::{
    FileOutcome, ImportPagesReply, ImportPagesRequest, PageFile, ReviewContext,
    access::{page_in_scope, reader},
    candidate::{State, text_of},
    land::{Origin, Target, land, prepare},
    propose::{NOTE_BYTES, body, page_scope},
};
use crate::{
    domain::{Caller, PageChange, PageId, Right, Scope, Visibility},
    error::Error,
    input,
    ports::PageQuery,
    wiki::{FileScope, PageFields, parse_file, write_file},
    write::undisturbed,
};

/// Pages that are read at once.
const PAGES: usize = 200;

/// Takes files in as pages, each on its own: bad ones are named, the good ones are kept.
pub async fn import_pages(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: ImportPagesRequest,
) -> Result<ImportPagesReply, Error> {
    input::require(caller, Right::ReviewDecide)?;
    let scope = page_scope(caller, request.scope.as_deref(), request.group.clone())?;
    let reason = input::optional_text("reason", request.reason, NOTE_BYTES)?;
    let mut files = Vec::with_capacity(request.files.len());
    for PageFile { path, text } in request.files {
        let imported = match parse_file(&path, &text) {
            Ok(fields) => {
                let slug = fields.meta.slug.clone();
                let done = undisturbed!(
                    ctx.write,
                    import_once(ctx, caller, fields.clone(), &scope, reason.clone(), request.dry_run)
                );
                done.map_err(|error| (slug.clone(), error)).map(|outcome| (slug, outcome))
            }
            Err(error) => Err((String::new(), Error::bad_input("files", error))),
        };
        files.push(match imported {
            Ok((slug, outcome)) => FileOutcome { path, slug, outcome: outcome.to_owned(), message: None },
            Err((_, error)) if error.code.is_failure() => return Err(error),
            Err((slug, error)) => {
                FileOutcome { path, slug, outcome: "failed".to_owned(), message: Some(error.message) }
            }
        });
    }
    Ok(ImportPagesReply { files, dry_run: request.dry_run })
}

async fn import_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    fields: PageFields,
    default_scope: &Scope,
    reason: Option<String>,
    dry_run: bool,
) -> Result<&'static str, Error> {
    let scope = match fields.scope {
        FileScope { scope: None, group: None } => default_scope.clone(),
        FileScope { scope, group } => page_scope(caller, scope.as_deref(), group)?,
    };
    let state = State { meta: fields.meta, text: body(ctx, Some(fields.body))? };
    let page = page_in_scope(ctx, &state.meta.slug, &scope).await?;
    let (id, change, outcome) = match &page {
        None => (PageId(ctx.write.clock.next_id()), PageChange::Create, "created"),
        Some(page) => {
            let everything = Visibility::system("an import compares with what is there");
            if page.meta == state.meta && text_of(ctx, page.head.0, &everything).await? == state.text {
                return Ok("unchanged");
            }
            let change = match (page.meta.deleted, page.meta.slug == state.meta.slug) {
                (true, _) => PageChange::Restore,
                (false, true) => PageChange::Edit,
                (false, false) => PageChange::Rename,
            };
            (page.id, change, "changed")
        }
    };
    if dry_run {
        super::land::check_names(ctx, id, &scope, &state).await?;
        return Ok(outcome);
    }
    let at = ctx.write.clock.now();
    let target = Target { id, scope: &scope, head: page.as_ref(), state };
    let landing = prepare(ctx, target, Origin::of(caller, change, reason.clone()), at).await?;
    land(ctx, caller, "import_pages", reason, landing, Vec::new()).await?;
    Ok(outcome)
}

/// Every page that the caller sees, as a file.
pub async fn export_pages(ctx: &ReviewContext<'_>, caller: &Caller) -> Result<Vec<PageFile>, Error> {
    let visibility = reader(caller)?;
    let query = PageQuery::default();
    let mut files: Vec<PageFile> = Vec::new();
    let mut after = None;
    loop {
        let found = ctx.reviews.pages(&query, after, PAGES, &visibility).await?;
        let Some(last) = found.last() else { return Ok(files) };
        after = Some((crate::domain::PageMeta::name_of(&last.meta.slug), last.id));
        for page in found {
            let scope = match &page.scope {
                Scope::Global => FileScope::default(),
                Scope::Private(_) => FileScope { scope: Some("private".to_owned()), group: None },
                Scope::Shared(group) => FileScope { scope: Some("shared".to_owned()), group: Some(group.clone()) },
            };
            let text = text_of(ctx, page.head.0, &visibility).await?;
            let (path, text) = write_file(&PageFields { meta: page.meta, scope, body: text });
            // One folder holds one page of a name: the one of the narrowest scope is the one a link leads to.
            match files.last_mut().filter(|file| file.path == path) {
                Some(file) if matches!(page.scope, Scope::Private(_)) => file.text = text,
                Some(_) if page.scope == Scope::Global => {}
                Some(file) => file.text = text,
                None => files.push(PageFile { path, text }),
            }
        }
    }
}
