//! What the command line prints: JSON for programs, short tables for people, progress bars on a terminal.

use std::{fmt::Write as _, io::IsTerminal, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::{
    error::{Error, ErrorCode},
    read::{AssociateReply, ExplainReply, PathStep, RecallItem, RecallReply, SummarizeReply},
};

/// Prints `value` as one JSON object.
pub(super) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(value)?);
    Ok(())
}

/// Prints an error: to standard error for people, as `{"error":{…}}` on standard output with `--json`.
pub(super) fn failure(error: &anyhow::Error, as_json: bool) {
    if as_json {
        let known = error.downcast_ref::<Error>();
        let code = match known {
            Some(known) => known.code,
            None if super::is_usage(error) => ErrorCode::BadUserInput,
            None => ErrorCode::Internal,
        };
        let message = known.map_or_else(|| format!("{error:#}"), |known| known.message.clone());
        let mut shown = serde_json::json!({"code": code.name(), "field": known.and_then(|known| known.field.as_deref()),
            "message": message, "retryable": code.retryable()});
        if let Some((line, column)) = known.and_then(|known| known.place) {
            (shown["line"], shown["column"]) = (line.into(), column.into());
        }
        println!("{}", serde_json::json!({ "error": shown }));
        return;
    }
    match error.downcast_ref::<Error>() {
        Some(known) => match &known.advice {
            Some(advice) => eprintln!("error: {known} ({advice})"),
            None => eprintln!("error: {known}"),
        },
        None => eprintln!("error: {error:#}"),
    }
}

/// A progress bar of `total` steps; nothing is drawn where standard error is not a terminal.
pub(super) fn progress(total: usize, what: &'static str) -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style =
        ProgressStyle::with_template("{msg:10} {bar:40} {pos}/{len} {eta}").expect("a constant template is valid");
    let bar = ProgressBar::with_draw_target(Some(total as u64), target).with_style(style).with_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A recall answer for people.
pub(super) fn recalled(reply: &RecallReply) -> String {
    let mut text = String::new();
    if reply.items.is_empty() {
        text.push_str("nothing found\n");
    }
    for (place, item) in (1..).zip(&reply.items) {
        one(&mut text, place, item);
        path(&mut text, item.why.as_ref().map_or(&[], |why| &why.path));
    }
    for constraint in &reply.constraints {
        let _ = writeln!(text, "constraint  {}", constraint.summary);
    }
    missing(&mut text, reply.degraded.iter().map(|missing| (&missing.part, &missing.reason)));
    if let Some(prompt) = &reply.prompt {
        let _ = writeln!(text, "{prompt}");
    }
    next_page(&mut text, reply.cursor.as_deref());
    let _ = writeln!(text, "{} in {:.1} ms", reply.understood.mode, reply.took_ms);
    text
}

/// An associate answer for people.
pub(super) fn associated(reply: &AssociateReply) -> String {
    let mut text = String::new();
    let label =
        |id: &str| reply.subgraph.nodes.iter().find(|node| node.id == id).map_or(id, |node| &node.label).to_owned();
    for seed in &reply.seeds {
        let _ = writeln!(text, "from  {:.2}  {}", seed.score, label(&seed.id));
    }
    if reply.items.is_empty() {
        text.push_str("nothing is linked to that\n");
    }
    for (place, found) in (1..).zip(&reply.items) {
        one(&mut text, place, &found.item);
        path(&mut text, &found.path);
    }
    missing(&mut text, reply.degraded.iter().map(|missing| (&missing.part, &missing.reason)));
    next_page(&mut text, reply.cursor.as_deref());
    let _ = writeln!(text, "associated in {:.1} ms", reply.took_ms);
    text
}

fn next_page(text: &mut String, cursor: Option<&str>) {
    if let Some(cursor) = cursor {
        let _ = writeln!(text, "more: --cursor {cursor}");
    }
}

/// A summary for people.
pub(super) fn summarized(reply: &SummarizeReply) -> String {
    if reply.summary.is_empty() {
        return "nothing to sum up\n".to_owned();
    }
    let mut text = format!("{}\n", reply.summary);
    for source in &reply.sources {
        let _ = writeln!(text, "  from {} {}", source.occurred_at, source.id);
    }
    if reply.truncated {
        text.push_str("there is more: narrow the time or the topic\n");
    }
    text
}

/// An explanation for people.
pub(super) fn explained(reply: &ExplainReply) -> String {
    let mut text = String::new();
    match (reply.rank, reply.score) {
        (Some(rank), Some(score)) => {
            let weak = if reply.weak { " (weak)" } else { "" };
            let _ = writeln!(text, "place {rank}, score {score:.2}{weak}");
        }
        _ => text.push_str("not among the candidates\n"),
    }
    for failed in &reply.failed {
        let _ = writeln!(text, "left out for {}: {}", failed.filter, failed.reason);
    }
    for arm in &reply.arms {
        let found = match (arm.found, arm.rank) {
            (true, Some(rank)) => format!("place {rank}"),
            (true, None) => "found".to_owned(),
            (false, _) => "not found".to_owned(),
        };
        let score = arm.score.map(|score| format!(", {score:.2}")).unwrap_or_default();
        let _ = writeln!(text, "  {:8} {found}{score}", arm.arm);
    }
    path(&mut text, &reply.path);
    missing(&mut text, reply.degraded.iter().map(|missing| (&missing.part, &missing.reason)));
    text
}

fn one(text: &mut String, place: usize, item: &RecallItem) {
    let about = item.title.as_ref().map(|title| format!("[{title}] ")).unwrap_or_default();
    let weak = if item.weak { "  (weak)" } else { "" };
    let _ = writeln!(
        text,
        "{place:>2}. {:.2}  {about}{}{weak}\n           {} {}",
        item.score, item.summary, item.kind, item.id
    );
}

fn path(text: &mut String, steps: &[PathStep]) {
    if steps.is_empty() {
        return;
    }
    text.push_str("           reached over");
    for step in steps {
        let _ = write!(text, " {}", step.edge);
        if let Some(label) = &step.label {
            let _ = write!(text, " {label:?}");
        }
    }
    text.push('\n');
}

fn missing<'a>(text: &mut String, parts: impl Iterator<Item = (&'a String, &'a String)>) {
    for (part, reason) in parts {
        let _ = writeln!(text, "left out: {part} ({reason})");
    }
}
