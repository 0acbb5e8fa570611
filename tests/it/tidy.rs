//! The house rules that no compiler checks: who may use whom, doors, lints, settings, links.
//!
//! Each check is a function from text to complaints; one test runs it over the repository, another feeds it a line it must
//! catch. Comments and the contents of strings are blanked before code is searched, so a rule may be named freely. To add
//! a room: a row in [`EDGES`]. To add a rule: a function, a test over the files, a bad line for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex},
};

use regex::Regex;

/// Which room uses which, in the code itself; tests in a file may use more. ARCHITECTURE.md gives the reasons.
const EDGES: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("ports", &["domain"]),
    ("scoring", &["domain", "ports"]),
    ("text", &["domain"]),
    ("error", &["ports"]),
    ("input", &["domain", "error"]),
    ("telemetry", &[]),
    ("config", &["mcp", "models", "ontology", "read", "review", "telemetry", "write"]),
    ("backends", &["domain", "ports", "telemetry"]),
    ("models", &["domain", "ports", "text"]),
    ("jobs", &["domain", "ports", "telemetry"]),
    ("wiki", &["domain"]),
    ("ontology", &["domain", "error", "input", "ports", "telemetry", "text"]),
    ("write", &["domain", "error", "input", "jobs", "ontology", "ports", "telemetry", "text"]),
    ("read", &["domain", "error", "input", "ontology", "ports", "scoring", "telemetry", "text"]),
    ("review", &["domain", "error", "input", "ontology", "ports", "read", "telemetry", "text", "wiki", "write"]),
    (
        "service",
        &["auth", "domain", "error", "input", "jobs", "ontology", "ports", "read", "review", "telemetry", "write"],
    ),
    ("auth", &["domain", "ports"]),
    ("eval", &["domain", "error", "ports", "read", "service", "write"]),
    ("webhooks", &["config", "domain", "ports", "telemetry"]),
    ("mcp", &["domain", "error", "input", "read", "review", "service", "telemetry", "write"]),
    (
        "graphql",
        &["config", "domain", "error", "input", "ontology", "ports", "read", "review", "service", "telemetry", "wiki"],
    ),
    ("http", &["auth", "config", "domain", "error", "graphql", "mcp", "service", "telemetry"]),
    (
        "cli",
        &[
            "auth",
            "backends",
            "config",
            "domain",
            "error",
            "eval",
            "graphql",
            "http",
            "jobs",
            "mcp",
            "models",
            "ontology",
            "ports",
            "read",
            "review",
            "service",
            "telemetry",
            "webhooks",
            "wiki",
            "write",
        ],
    ),
];

type Edge = (String, String);

#[test]
fn rooms_use_only_what_the_table_allows_and_the_table_lists_only_what_is_used() {
    let sources = sources("src");
    let rooms: BTreeSet<String> = sources.iter().filter_map(|(path, _)| room_of(path)).collect();
    let used = sources.iter().flat_map(|(path, text)| edges(path, text, &rooms)).collect();
    let complaints = compare(&used, &rooms, EDGES);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn source_files_keep_the_rules() {
    let in_src = sources("src").into_iter().flat_map(|(path, text)| {
        [missing_door(&text), unwraps(&text), lints(&text), skipped_tests(&text), stray_sql(&path, &text)]
            .concat()
            .into_iter()
            .map(move |complaint| format!("{}: {complaint}", path.display()))
            .collect::<Vec<_>>()
    });
    let in_tests = sources("tests").into_iter().flat_map(|(path, text)| {
        [missing_door(&text), lints(&text), skipped_tests(&text)]
            .concat()
            .into_iter()
            .map(move |complaint| format!("{}: {complaint}", path.display()))
            .collect::<Vec<_>>()
    });
    let complaints: Vec<String> = in_src.chain(in_tests).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_setting_has_a_comment_above_it() {
    let text = read(&root().join("config.default.toml"));
    assert_eq!(uncommented_settings(&text), Vec::<String>::new());
}

#[test]
fn links_in_documents_lead_to_files_of_the_repository() {
    let documents = files(&root(), "md");
    assert!(documents.iter().any(|path| path.ends_with("README.md")), "the README is among {documents:?}");
    let complaints: Vec<String> = documents
        .iter()
        .flat_map(|path| {
            let folder = path.parent().expect("a file has a folder").to_owned();
            dead_links(&read(path), |link| folder.join(link).exists())
                .into_iter()
                .map(move |link| format!("{}: {link}", path.display()))
        })
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The room a file of `src` belongs to; the two crate roots belong to none.
fn room_of(path: &Path) -> Option<String> {
    let first = path.strip_prefix("src").ok()?.components().next()?;
    let name = Path::new(&first).file_stem()?.to_str()?.to_owned();
    (name != "lib" && name != "main").then_some(name)
}

/// The edges that the code of a file makes, its tests left out.
fn edges(path: &Path, text: &str, rooms: &BTreeSet<String>) -> BTreeSet<Edge> {
    let Some(room) = room_of(path) else { return BTreeSet::new() };
    let code = without_tests(&code_of(text));
    let mut used = BTreeSet::new();
    for start in regex(r"\bcrate::").find_iter(&code) {
        used.extend(heads(&code[start.end()..]));
    }
    // As many `super` as the module is deep lead to the crate's root.
    let depth = path.components().count() - 1 - usize::from(path.ends_with("mod.rs"));
    for chain in regex(r"\b(?:super::)+").find_iter(&code) {
        if chain.as_str().matches("super").count() >= depth {
            used.extend(heads(&code[chain.end()..]).into_iter().filter(|name| rooms.contains(name)));
        }
    }
    used.remove(&room);
    used.into_iter().map(|used| (room.clone(), used)).collect()
}

/// The first names of a path or of a group of paths: `a::b` gives a, `{a::{b, c}, d}` gives a and d.
fn heads(path: &str) -> BTreeSet<String> {
    let name =
        |text: &str| -> String { text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let Some(group) = path.strip_prefix('{') else { return BTreeSet::from([name(path)]) };
    let (mut depth, mut start, mut found) = (0, 0, BTreeSet::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.insert(name(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found.remove("");
    found
}

fn compare(used: &BTreeSet<Edge>, rooms: &BTreeSet<String>, table: &[(&str, &[&str])]) -> Vec<String> {
    let allowed: BTreeMap<&str, &[&str]> = table.iter().copied().collect();
    let mut complaints = Vec::new();
    for room in rooms.iter().filter(|room| !allowed.contains_key(room.as_str())) {
        complaints.push(format!("the room {room} has no row in the table"));
    }
    for (from, to) in used {
        if !allowed.get(from.as_str()).is_some_and(|allowed| allowed.contains(&to.as_str())) {
            complaints.push(format!("{from} uses {to}, which the table does not allow"));
        }
    }
    for (from, targets) in table {
        if !rooms.contains(*from) {
            complaints.push(format!("the table has a row for {from}, which is not there"));
        }
        for to in *targets {
            if !used.contains(&((*from).to_owned(), (*to).to_owned())) {
                complaints.push(format!("the table lets {from} use {to}, which it no longer does"));
            }
        }
    }
    complaints
}

fn missing_door(text: &str) -> Vec<String> {
    if text.starts_with("//!") { Vec::new() } else { vec!["does not start with `//!`".to_owned()] }
}

fn unwraps(text: &str) -> Vec<String> {
    let code = without_tests(&code_of(text));
    hits(&code, r"\.unwrap\(\)", "unwrap outside of tests")
}

/// A lint is silenced by `expect` with a reason, never by `allow`.
fn lints(text: &str) -> Vec<String> {
    let code = code_of(text);
    let mut complaints = hits(&code, r"#!?\[[^\]]*\ballow\s*\(", "`allow` in an attribute; use `expect` with a reason");
    for found in regex(r"#!?\[(?:cfg_attr\([^\]]*,\s*)?expect\([^\]]*\]").find_iter(&code) {
        if !found.as_str().contains("reason") {
            complaints.push(format!("line {}: `expect` without a reason", line_of(&code, found.start())));
        }
    }
    complaints
}

fn skipped_tests(text: &str) -> Vec<String> {
    hits(&code_of(text), r"#\[\s*(?:ignore|should_panic)\b", "a test that is skipped or that wants a panic")
}

/// SQL lives beside the adapter that speaks it.
fn stray_sql(path: &Path, text: &str) -> Vec<String> {
    if path.starts_with("src/backends/sqlite") {
        return Vec::new();
    }
    let pattern =
        r"\b(?:SELECT\s[^;]*\sFROM|INSERT (?:OR \w+ )?INTO|DELETE FROM|CREATE (?:VIRTUAL )?TABLE|UPDATE \w+ SET)\b";
    hits(text, pattern, "SQL away from its adapter")
}

/// Keys that stand in a block of lines without a comment at its head. Further entries of a list need none.
fn uncommented_settings(text: &str) -> Vec<String> {
    let (key, header) = (regex(r"^([a-z_]+)\s*="), regex(r"^\[+([a-z_.]+)\]+"));
    let (mut explained, mut section, mut seen, mut complaints) = (false, String::new(), BTreeSet::new(), Vec::new());
    for line in text.lines() {
        if line.trim().is_empty() {
            explained = false;
        } else if line.starts_with('#') {
            explained = true;
        } else if let Some(found) = header.captures(line) {
            section = found[1].to_owned();
            // The comment of a list stands above its first entry.
            explained |= line.starts_with("[[") && !seen.insert(section.clone());
        } else if let Some(found) = key.captures(line).filter(|_| !explained) {
            complaints.push(format!("{section}.{}", &found[1]));
        }
    }
    complaints
}

/// Targets of Markdown links to files for which `exists` says no.
fn dead_links(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    regex(r"\]\(([^)\s]+)\)")
        .captures_iter(text)
        .map(|link| link[1].to_owned())
        .filter(|link| !regex(r"^(?:[a-z]+:|#)").is_match(link))
        .filter(|link| !exists(link.split('#').next().unwrap_or(link)))
        .collect()
}

fn hits(text: &str, pattern: &str, what: &str) -> Vec<String> {
    regex(pattern).find_iter(text).map(|found| format!("line {}: {what}", line_of(text, found.start()))).collect()
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The code before the tests, which stand last in a file.
fn without_tests(code: &str) -> String {
    let tests = regex(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([a-z]+\))? )?mod \w+ \{");
    code[..tests.find(code).map_or(code.len(), |found| found.start())].to_owned()
}

/// `text` with comments and the contents of strings and characters as blanks; lines stay where they are.
fn code_of(text: &str) -> String {
    let literal = regex(
        r####"(?s)//[^\n]*|/\*.*?\*/|b?r###".*?"###|b?r##".*?"##|b?r#".*?"#|\bb?r"[^"]*"|"(?:\\.|[^"\\])*"|'(?:\\[^\n]+?|[^'\\\n])'"####,
    );
    let blank = |found: &regex::Captures<'_>| -> String {
        found[0].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect()
    };
    literal.replace_all(text, blank).into_owned()
}

/// Compiled once for each pattern: that is slow in a debug build.
fn regex(pattern: &str) -> Regex {
    static KNOWN: LazyLock<Mutex<BTreeMap<String, Regex>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().expect("no check panics in here");
    known.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).expect("the pattern is a constant")).clone()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Rust files below a folder of the repository, by their path in it.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let found: Vec<(PathBuf, String)> = files(&root().join(folder), "rs")
        .into_iter()
        .map(|path| (path.strip_prefix(root()).expect("below the root").to_owned(), read(&path)))
        .collect();
    assert!(!found.is_empty(), "{folder} has Rust files");
    found
}

/// Files with an extension, in order; build output, data and what is not the repository's own left out.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "data", "node_modules"].contains(&name) {
                found.extend(files(&path, extension));
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Each check catches a bad line and lets its good twin through.
mod catches {
    use super::*;

    fn rooms() -> BTreeSet<String> {
        ["domain", "ports", "read"].map(str::to_owned).into()
    }

    fn found(path: &str, text: &str) -> Vec<String> {
        edges(Path::new(path), text, &rooms()).into_iter().map(|(from, to)| format!("{from} {to}")).collect()
    }

    #[test]
    fn uses_in_every_spelling() {
        assert_eq!(found("src/domain/id.rs", "use crate::ports::Clock;"), ["domain ports"]);
        assert_eq!(
            found("src/domain/id.rs", "use crate::{\n    ports::{self, Clock},\n    read,\n    domain::Id,\n};"),
            ["domain ports", "domain read"]
        );
        assert_eq!(found("src/domain/id.rs", "fn f() { crate::read::get() }"), ["domain read"]);
        assert_eq!(found("src/domain/id.rs", "use super::super::ports::Clock;"), ["domain ports"]);
        assert_eq!(found("src/domain/mod.rs", "use super::ports::Clock;"), ["domain ports"]);
        assert_eq!(found("src/read.rs", "use super::{ports, domain};"), ["read domain", "read ports"]);
    }

    #[test]
    fn no_uses_where_there_are_none() {
        assert_eq!(found("src/read/get.rs", "use super::{ports, domain};"), Vec::<String>::new());
        assert_eq!(
            found("src/read/get.rs", "// crate::ports\n/* crate::ports */ const X: &str = \"crate::ports\";"),
            Vec::<String>::new()
        );
        assert_eq!(
            found("src/read/get.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n use crate::ports::Clock;\n}"),
            Vec::<String>::new()
        );
        assert_eq!(found("src/lib.rs", "pub use crate::ports::Clock;"), Vec::<String>::new());
    }

    #[test]
    fn an_edge_that_is_not_in_the_table_a_row_no_longer_used_and_a_room_without_a_row() {
        let used = BTreeSet::from([("domain".to_owned(), "ports".to_owned())]);
        let table: &[(&str, &[&str])] = &[("domain", &[]), ("ports", &["domain"])];
        let complaints = compare(&used, &rooms(), table);
        assert_eq!(
            complaints,
            [
                "the room read has no row in the table",
                "domain uses ports, which the table does not allow",
                "the table lets ports use domain, which it no longer does",
            ]
        );
        let gone: &[(&str, &[&str])] = &[("domain", &["ports"]), ("ports", &[]), ("read", &[]), ("attic", &[])];
        assert_eq!(compare(&used, &rooms(), gone), ["the table has a row for attic, which is not there"]);
    }

    #[test]
    fn a_file_without_a_door() {
        assert_eq!(missing_door("use std::fs;").len(), 1);
        assert_eq!(missing_door("//! What it is."), Vec::<String>::new());
    }

    #[test]
    fn an_unwrap_outside_of_tests() {
        assert_eq!(unwraps("fn f() {\n    x.unwrap();\n}"), ["line 2: unwrap outside of tests"]);
        assert_eq!(unwraps("let q = '\"'; x.unwrap(); // \"").len(), 1);
        assert_eq!(unwraps("let a: &'static str = y.unwrap();").len(), 1);
        assert_eq!(
            unwraps("x.unwrap_or(1); // .unwrap()\n#[cfg(test)]\nmod tests { fn f() { x.unwrap(); } }"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_lint_silenced_without_a_reason() {
        for bad in [
            "#[allow(dead_code)]",
            "#![allow(missing_docs)]",
            "#[cfg_attr(test, allow(unused))]",
            "#[expect(dead_code)]",
        ] {
            assert_eq!(lints(bad).len(), 1, "{bad}");
        }
        for good in
            ["#[expect(dead_code, reason = \"later [sic]\")]", "x.expect(\"a reason\")", "// #[allow(x)]", "allow(x)"]
        {
            assert_eq!(lints(good), Vec::<String>::new(), "{good}");
        }
    }

    #[test]
    fn a_test_that_is_skipped_or_wants_a_panic() {
        for bad in ["#[ignore]", "#[ignore = \"slow\"]", "#[test]\n#[should_panic(expected = \"x\")]"] {
            assert_eq!(skipped_tests(bad).len(), 1, "{bad}");
        }
        assert_eq!(skipped_tests("// #[ignore]\nlet ignore = \"#[should_panic]\";"), Vec::<String>::new());
    }

    #[test]
    fn sql_away_from_its_adapter() {
        for bad in
            ["\"SELECT id FROM memory\"", "\"INSERT OR REPLACE INTO x\"", "\"DELETE FROM x\"", "\"UPDATE x SET y\""]
        {
            assert_eq!(stray_sql(Path::new("src/read/get.rs"), bad).len(), 1, "{bad}");
            assert_eq!(stray_sql(Path::new("src/backends/sqlite/read.rs"), bad), Vec::<String>::new());
        }
        assert_eq!(stray_sql(Path::new("src/read/get.rs"), "\"select the best from these\""), Vec::<String>::new());
    }

    #[test]
    fn a_setting_without_a_comment() {
        assert_eq!(uncommented_settings("[a]\n# One.\nx = 1\ny = 2\n\nz = 3\n"), ["a.z"]);
        assert_eq!(uncommented_settings("[a]\nx = 1\n"), ["a.x"]);
        assert_eq!(uncommented_settings("# Entries.\n[[a]]\nx = 1\n\n[[a]]\nx = 2\n"), Vec::<String>::new());
    }

    #[test]
    fn a_link_to_a_file_that_is_not_there() {
        let text = "[a](gone.md#x) [b](there.md#y) [c](https://example.org) [d](#e) `[f](not-code)`";
        assert_eq!(dead_links(text, |link| link == "there.md"), ["gone.md#x", "not-code"]);
    }
}
