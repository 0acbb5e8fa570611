//! The wiki as a folder of Markdown that a git repository can hold: `import pages DIR` and `wiki export DIR`, in this process or
//! through the service that has the pages.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use serde_json::{Value, json};

use super::{
    Context,
    faces::{capitals, query},
    memory::Target,
    output,
    remote::Remote,
    wire,
};
use crate::{
    review::{FileOutcome, ImportPagesReply, ImportPagesRequest, PageFile},
    service::Service,
};

/// Bytes of the files that are sent at once, as far as a single one is not larger.
const SENT: usize = 1_000_000;

/// The only files of a folder that are pages.
const PAGE: &str = "md";

#[derive(Debug, Args)]
pub(super) struct ImportPagesArgs {
    /// The folder; the path of a file in it, without .md, is the address of its page.
    dir: PathBuf,
    /// Who may read pages whose file does not say so: global (default), shared or private.
    #[arg(long)]
    scope: Option<String>,
    /// Group to share them with.
    #[arg(long)]
    group: Option<String>,
    /// Why, for the history.
    #[arg(long)]
    reason: Option<String>,
    /// Only say what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct ExportPagesArgs {
    /// The folder; files of pages are written anew, others stay as they are.
    dir: PathBuf,
    #[command(flatten)]
    target: Target,
}

const IMPORT: &str = "mutation($input: ImportPagesInput!) { importPages(input: $input) {
    files { path slug outcome message } userErrors { code field message } } }";

pub(super) async fn import(ctx: Context, args: ImportPagesArgs) -> anyhow::Result<()> {
    let ImportPagesArgs { dir, scope, group, reason, dry_run, target } = args;
    let request = ImportPagesRequest { files: read(&dir)?, scope, group, reason, dry_run };
    let done = if Remote::of(&ctx, target.clone())?.is_some() {
        through_service(&ctx, &target, request).await?
    } else {
        let opened = wire::open(&ctx.config, wire::Models::MustMatch).await?;
        let done = opened.service.import_pages(&wire::operator(), request).await;
        opened.close().await?;
        done?
    };
    let failed = done.files.iter().filter(|file| file.outcome == "failed").count();
    if ctx.json {
        output::json(&done)?;
    } else {
        told(&done);
    }
    anyhow::ensure!(failed == 0, "{failed} files were not taken");
    Ok(())
}

async fn through_service(
    ctx: &Context,
    target: &Target,
    request: ImportPagesRequest,
) -> anyhow::Result<ImportPagesReply> {
    let ImportPagesRequest { files, scope, group, reason, dry_run } = request;
    let scope = scope.as_deref().map(capitals);
    let mut done: Vec<FileOutcome> = Vec::new();
    for part in parts(files) {
        let input = json!({"files": part, "scope": scope, "group": group, "reason": reason, "dryRun": dry_run});
        let answer = query(ctx, target.clone(), IMPORT, json!({"input": input})).await?;
        done.extend(serde_json::from_value::<Vec<FileOutcome>>(answer["files"].clone())?);
    }
    Ok(ImportPagesReply { files: done, dry_run })
}

/// Files that go together; none at all are asked about too, since the rest of the request may be wrong.
fn parts(files: Vec<PageFile>) -> Vec<Vec<PageFile>> {
    let (mut parts, mut size) = (vec![Vec::new()], 0);
    for file in files {
        size += file.text.len();
        let last = parts.last_mut().expect("there is one");
        if size > SENT && !last.is_empty() {
            size = file.text.len();
            parts.push(vec![file]);
        } else {
            last.push(file);
        }
    }
    parts
}

/// Imports the pages of a folder as the operator; fails at the first file that is not taken.
pub(super) async fn seed(service: &Service, dir: &Path) -> anyhow::Result<()> {
    let request = ImportPagesRequest { files: read(dir)?, ..ImportPagesRequest::default() };
    let done = service.import_pages(&wire::operator(), request).await?;
    match done.files.iter().find(|file| file.outcome == "failed") {
        Some(file) => anyhow::bail!("{}: {}", file.path, file.message.as_deref().unwrap_or("was not taken")),
        None => Ok(()),
    }
}

fn told(done: &ImportPagesReply) {
    for file in done.files.iter().filter(|file| file.outcome != "unchanged") {
        let why = file.message.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        println!("{:9} {}{why}", file.outcome, file.path);
    }
    let unchanged = done.files.iter().filter(|file| file.outcome == "unchanged").count();
    let dry = if done.dry_run { "; nothing was done" } else { "" };
    println!("{} files, {unchanged} unchanged{dry}", done.files.len());
}

pub(super) async fn export(ctx: Context, args: ExportPagesArgs) -> anyhow::Result<()> {
    let found: Value = query(&ctx, args.target, "{ exportPages { path text } }", json!({})).await?;
    let files: Vec<PageFile> = serde_json::from_value(found)?;
    for file in &files {
        let path = args.dir.join(&file.path);
        let folder = path.parent().unwrap_or(&args.dir);
        std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        std::fs::write(&path, &file.text).with_context(|| format!("write {}", path.display()))?;
    }
    if ctx.json {
        return output::json(&json!({"files": files.len()}));
    }
    println!("{} pages", files.len());
    Ok(())
}

/// The pages of a folder and those below it, by path; what begins with a dot is none of them.
fn read(dir: &Path) -> anyhow::Result<Vec<PageFile>> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
            let path = entry.with_context(|| format!("read {}", folder.display()))?.path();
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == PAGE) {
                let text = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
                let below = path.strip_prefix(dir).expect("it was found below it");
                let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
                let parts = parts.with_context(|| format!("{}: the name is not UTF-8", path.display()))?;
                files.push(PageFile { path: parts.join("/"), text });
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_in_parts_that_a_request_can_hold() {
        let file = |size: usize| PageFile { path: "a.md".to_owned(), text: "x".repeat(size) };
        let sizes = |files: Vec<PageFile>| -> Vec<Vec<usize>> {
            parts(files).iter().map(|part| part.iter().map(|file| file.text.len()).collect()).collect()
        };
        assert_eq!(sizes(Vec::new()), [Vec::<usize>::new()]);
        assert_eq!(
            sizes(vec![file(2 * SENT), file(1), file(SENT - 1), file(1), file(3)]),
            [vec![2 * SENT], vec![1, SENT - 1], vec![1, 3]]
        );
    }
}
