//! Pages as files of a folder: Markdown with front matter, as a git repository can hold them.
//!
//! A file that was read is written again byte for byte: of the ways to write a page, the one is taken that reads back as
//! what the page says, the file's own beginning first.

use serde::{Deserialize, Serialize};

use super::markup::{is_slug, slug_of, title_of_slug};
use crate::domain::PageMeta;

/// Ending of the files.
const ENDING: &str = ".md";

/// A file that is no page; says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FileError(String);

/// Who may read a page, as its file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileScope {
    /// private, shared or global.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// For shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// A page as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFields {
    /// Slug, title, aliases, categories.
    pub meta: PageMeta,
    /// Who may read it, if the file says so.
    pub scope: FileScope,
    /// Its text.
    pub body: String,
}

/// The known fields of front matter; others are left as they are.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Front {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    categories: Vec<String>,
    #[serde(flatten)]
    scope: FileScope,
}

/// Reads the file at `path`, which is its slug with `.md` after it.
pub fn parse_file(path: &str, text: &str) -> Result<PageFields, FileError> {
    let slug = path.strip_suffix(ENDING).ok_or_else(|| FileError(format!("does not end with {ENDING}")))?;
    if !is_slug(slug) {
        return Err(FileError("its path is no address: letters, digits and -_.+ between slashes".to_owned()));
    }
    if text.contains('\0') {
        return Err(FileError("contains a NUL character".to_owned()));
    }
    let (front, body) = split(text);
    let fields: Front = match front {
        None => Front::default(),
        Some(front) => serde_yaml_ng::from_str::<Option<Front>>(yaml_of(front))
            .map_err(|error| FileError(format!("front matter: {error}")))?
            .unwrap_or_default(),
    };
    let aliases = fields.aliases.iter().map(|alias| slug_of(alias)).collect::<Vec<_>>();
    if let Some(bad) = aliases.iter().find(|alias| !is_slug(alias)) {
        return Err(FileError(format!("front matter: the alias {bad:?} is no address")));
    }
    let title = fields.title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| title_of(slug, body));
    Ok(PageFields {
        meta: PageMeta {
            slug: slug.to_owned(),
            title,
            aliases,
            categories: fields.categories,
            front: front.map(str::to_owned),
            deleted: false,
        },
        scope: fields.scope,
        body: body.to_owned(),
    })
}

/// The file of a page: its path and all of it.
pub fn write_file(page: &PageFields) -> (String, String) {
    let path = format!("{}{ENDING}", page.meta.slug);
    let says_the_same = |text: &str| {
        let without_front = |page: &PageFields| {
            let meta = PageMeta { front: None, ..page.meta.clone() };
            let scope =
                FileScope { scope: page.scope.scope.clone().filter(|scope| scope != "global"), ..page.scope.clone() };
            PageFields { meta, scope, body: page.body.clone() }
        };
        parse_file(&path, text).is_ok_and(|read| without_front(&read) == without_front(page))
    };
    let as_it_was = page.meta.front.as_ref().map(|front| format!("{front}{}", page.body));
    let text = as_it_was
        .filter(|text| says_the_same(text))
        .or_else(|| Some(page.body.clone()).filter(|text| says_the_same(text)))
        .unwrap_or_else(|| format!("{}{}", front_of(page), page.body));
    (path, text)
}

/// The heading of a page that gives none: its first heading, or the last part of its address.
pub(super) fn title_of(slug: &str, body: &str) -> String {
    let heading =
        body.lines().find_map(|line| line.strip_prefix("# ").map(str::trim).filter(|title| !title.is_empty()));
    heading.map_or_else(|| title_of_slug(slug), str::to_owned)
}

fn front_of(page: &PageFields) -> String {
    let front = Front {
        title: Some(page.meta.title.clone()),
        aliases: page.meta.aliases.clone(),
        categories: page.meta.categories.clone(),
        scope: page.scope.clone(),
    };
    let yaml = serde_yaml_ng::to_string(&front).expect("texts and lists are YAML");
    format!("---\n{yaml}---\n")
}

/// The front matter with its fences and line ends, and the text after it.
fn split(text: &str) -> (Option<&str>, &str) {
    let is_fence = |line: &str| line.trim_end_matches(['\r', '\n']) == "---";
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_fence(line)) else { return (None, text) };
    let mut end = first.len();
    for line in lines {
        end += line.len();
        if is_fence(line) {
            let (front, body) = text.split_at(end);
            return (Some(front), body);
        }
    }
    (None, text)
}

fn yaml_of(front: &str) -> &str {
    let inner = front.trim_end_matches(['\r', '\n']).trim_end_matches('-');
    inner.split_once('\n').map_or("", |(_, yaml)| yaml)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_is_written_as_it_was_read() {
        for text in [
            "no front matter\n",
            "# Heading\n\ntext without end",
            "",
            "---\ntitle: On call\naliases: [rota, 'night shift']\n# a comment\nother: {kept: true}\n---\n\ntext\n",
            "---\r\ntitle: On call\r\n---\r\ntext\r\n",
            "---\n---\n# x\n",
            "---\nnot front matter, since nothing closes it\n",
            "---\ntitle: \"\"\nscope: shared\ngroup: ops\n---\ntext",
        ] {
            let read = parse_file("ops/on-call.md", text).expect(text);
            assert_eq!(write_file(&read), ("ops/on-call.md".to_owned(), text.to_owned()));
        }
    }

    #[test]
    fn what_has_changed_since_is_written_anew() {
        let mut page = parse_file("ops/on-call.md", "---\ntitle: Old\nother: 1\n---\ntext\n").expect("a page");
        page.meta.title = "New: with a colon".to_owned();
        page.meta.categories = vec!["ops".to_owned()];
        let (path, text) = write_file(&page);
        assert!(!text.contains("other"), "{text}");
        let read = parse_file(&path, &text).expect("a page");
        assert_eq!(
            (read.meta.title, read.meta.categories, read.body),
            (page.meta.title, page.meta.categories, page.body)
        );
    }

    #[test]
    fn bad_files_say_what_is_wrong() {
        for (path, text, words) in [
            ("a.txt", "", ".md"),
            ("../a.md", "", "no address"),
            ("a.md", "x\0", "NUL"),
            ("a.md", "---\ntitle: [\n---\n", "front matter"),
            ("a.md", "---\naliases: ['/etc']\n---\n", "/etc"),
        ] {
            let error = parse_file(path, text).expect_err(path).to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    proptest! {
        #[test]
        fn every_page_reads_back(title in "[ -~]{1,20}", category in "[a-z: '#]{1,8}", body in "(---\n)?[a-z#\n -]{0,40}") {
            prop_assume!(!title.trim().is_empty());
            let meta = PageMeta {
                slug: "a/b".to_owned(), title, aliases: vec!["c".to_owned()], categories: vec![category], front: None, deleted: false,
            };
            let page = PageFields { meta, scope: FileScope::default(), body };
            let (path, text) = write_file(&page);
            let read = parse_file(&path, &text).expect("what we wrote");
            prop_assert_eq!((read.meta.title, read.meta.categories, read.body), (page.meta.title, page.meta.categories, page.body));
        }
    }
}
