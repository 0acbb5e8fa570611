//! The wiki as a folder of files.

use recollect::{
    domain::Right,
    error::ErrorCode,
    review::{ImportPagesRequest, PageFile},
};

use super::refused;
use crate::support::desk::{Desk, agent, edit, reviewer};

fn file(path: &str, text: &str) -> PageFile {
    PageFile { path: path.to_owned(), text: text.to_owned() }
}

async fn import(desk: &Desk, files: Vec<PageFile>, dry_run: bool) -> Vec<(String, String)> {
    let request = ImportPagesRequest { files, dry_run, ..ImportPagesRequest::default() };
    let reply = desk.service.import_pages(&reviewer("rita"), request).await.unwrap();
    reply.files.into_iter().map(|file| (file.outcome, file.message.unwrap_or_default())).collect()
}

fn outcomes(files: &[(String, String)]) -> Vec<&str> {
    files.iter().map(|(outcome, _)| outcome.as_str()).collect()
}

#[tokio::test]
async fn folder_comes_back_byte_for_byte() {
    let desk = Desk::open().await;
    let files = vec![
        file(
            "Ops/on-call.md",
            "---\ntitle: \"On call\" # quoted\naliases: [rota]\ncategories: [值班]\nowner: mia\n---\n\n# x\n",
        ),
        file("crlf.md", "---\r\ntitle: Windows\r\n---\r\nline\r\nno end"),
        file("plain.md", "# Plain\n\n[[ops/on-call]] `code`\n"),
        file("数论/二次剩余.md", "模 $p$\n\n\n"),
    ];
    assert_eq!(outcomes(&import(&desk, files.clone(), true).await), ["created"; 4]);
    assert!(desk.service.export_pages(&reviewer("rita")).await.unwrap().is_empty(), "a dry run does nothing");
    assert_eq!(outcomes(&import(&desk, files.clone(), false).await), ["created"; 4]);
    let mut exported = desk.service.export_pages(&reviewer("rita")).await.unwrap();
    exported.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(exported, files);
    assert_eq!(outcomes(&import(&desk, exported, false).await), ["unchanged"; 4]);
    let page = desk.page("rota").await;
    assert_eq!((page.slug.as_str(), page.title.as_str()), ("Ops/on-call", "On call"));
    // An edit keeps what the file said beside it.
    let proposed = desk.propose(&agent("scribe"), edit("rota", "new\n", Some(1))).await;
    desk.approve(&reviewer("rita"), &proposed.id).await;
    let exported = desk.service.export_pages(&reviewer("rita")).await.unwrap();
    let changed = exported.iter().find(|file| file.path == "Ops/on-call.md").unwrap();
    assert_eq!(changed.text, files[0].text.replace("\n# x\n", "new\n"));
}

#[tokio::test]
async fn bad_files_are_named_and_the_good_ones_kept() {
    let desk = Desk::open().await;
    let files = vec![
        file("good.md", "text\n"),
        file("../evil.md", "text\n"),
        file("alias.md", "---\naliases: [GOOD]\n---\ntext\n"),
        file("group.md", "---\nscope: shared\ngroup: crew\n---\ntext\n"),
        file("yaml.md", "---\ntitle: [\n---\ntext\n"),
        file("empty.md", ""),
    ];
    let done = import(&desk, files, false).await;
    assert_eq!(outcomes(&done), ["created", "failed", "failed", "failed", "failed", "failed"]);
    for ((_, message), words) in done[1..].iter().zip(["address", "good", "group", "front matter", "body"]) {
        assert!(message.contains(words), "{message}");
    }
    let agent = recollect::domain::Caller { rights: [Right::ReviewDecide].into(), ..agent("scribe") };
    let request = ImportPagesRequest { files: vec![file("a.md", "x")], ..ImportPagesRequest::default() };
    assert_eq!(refused(desk.service.import_pages(&agent, request).await).0, ErrorCode::Forbidden);
}
