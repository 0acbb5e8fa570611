//! One table of cases through every face: the command line (the real binary), MCP and GraphQL. Each face has a service of its
//! own with the same clock and counted ids, so that the same calls must give the same answers, the same errors and, byte for
//! byte, the same store.
//!
//! A use case that comes to a face without a row in [`USE_CASES`] or a reason in one of the lists below fails, and so does
//! an error code that no case reaches.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::SignedDuration;
use recollect::{
    domain::{Caller, ProposalState, Right, Visibility},
    error::ErrorCode,
    ports::{Clock, Embedder, Listing, ModelCard, PageQuery, PortError, PortErrorKind, QueueQuery},
    review::{ImportPagesRequest, PageFile},
};
use serde_json::{Map, Value, json};

use crate::support::{
    app::{App, Client},
    clock::FixedClock,
    process::Home,
};

const NOBODY: &str = "01940000-0000-7000-8000-000000000000";

/// A use case and its name in each face.
struct UseCase {
    /// One that agents have no tool for has a name of ours, after a dash.
    tool: &'static str,
    /// With the group of commands it is in.
    verb: &'static str,
    /// What the command line takes without a flag.
    positional: &'static [&'static str],
    /// Field of the schema and the type of its input.
    field: Option<(&'static str, &'static str)>,
    /// Parts of the tool's answer that GraphQL tells of in `memory` or `proposal`; `*` is all.
    lifted: &'static [&'static str],
    /// Parts of the tool's answer that repeat the question or stand in the outcome, and that GraphQL leaves out.
    left_out: &'static [&'static str],
}

const USE_CASES: [UseCase; 26] = [
    UseCase {
        tool: "memory_store",
        verb: "store",
        positional: &["content"],
        field: Some(("storeMemory", "StoreMemoryInput")),
        lifted: &["id"],
        left_out: &[],
    },
    UseCase {
        tool: "memory_recall",
        verb: "recall",
        positional: &["query"],
        field: Some(("recall", "RecallInput")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "memory_associate",
        verb: "associate",
        positional: &["query"],
        field: Some(("associate", "AssociateInput")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "memory_get",
        verb: "get",
        positional: &["ids"],
        field: Some(("memory", "")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "memory_update",
        verb: "update",
        positional: &["id"],
        field: Some(("updateMemory", "UpdateMemoryInput")),
        lifted: &["*"],
        left_out: &[],
    },
    UseCase {
        tool: "memory_forget",
        verb: "forget",
        positional: &["ids"],
        field: Some(("forgetMemories", "ForgetMemoriesInput")),
        lifted: &[],
        left_out: &["strategy"],
    },
    UseCase {
        tool: "memory_link",
        verb: "link",
        positional: &["from", "to"],
        field: Some(("linkMemories", "LinkMemoriesInput")),
        lifted: &[],
        left_out: &["edge"],
    },
    UseCase {
        tool: "memory_feedback",
        verb: "feedback",
        positional: &["id"],
        field: Some(("giveFeedback", "GiveFeedbackInput")),
        lifted: &["id", "useful", "not_useful"],
        left_out: &[],
    },
    UseCase {
        tool: "memory_observe",
        verb: "observe",
        positional: &["event"],
        field: Some(("observe", "ObserveInput")),
        lifted: &[],
        left_out: &[],
    },
    // Curators read the memories themselves.
    UseCase {
        tool: "memory_summarize",
        verb: "summarize",
        positional: &["topic"],
        field: None,
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "memory_explain",
        verb: "explain",
        positional: &["id", "query"],
        field: Some(("explain", "ExplainInput")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "wiki_search",
        verb: "wiki search",
        positional: &["query"],
        field: Some(("searchPages", "SearchPagesInput")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "wiki_get",
        verb: "wiki show",
        positional: &["slug"],
        field: Some(("page", "")),
        lifted: &[],
        left_out: &["cursor"],
    },
    UseCase {
        tool: "wiki_propose",
        verb: "wiki propose",
        positional: &["slug"],
        field: Some(("proposeEdit", "ProposeEditInput")),
        lifted: &["*"],
        left_out: &[],
    },
    UseCase {
        tool: "review_list",
        verb: "review list",
        positional: &[],
        field: Some(("proposals", "ProposalFilter")),
        lifted: &[],
        left_out: &["cursor"],
    },
    UseCase {
        tool: "review_get",
        verb: "review show",
        positional: &["id"],
        field: Some(("proposal", "")),
        lifted: &[],
        left_out: &["diff", "diff_cut", "body", "merged", "base", "current"],
    },
    UseCase {
        tool: "review_revise",
        verb: "review revise",
        positional: &["id"],
        field: Some(("reviseProposal", "ReviseProposalInput")),
        lifted: &["*"],
        left_out: &[],
    },
    UseCase {
        tool: "review_withdraw",
        verb: "review withdraw",
        positional: &["id"],
        field: Some(("withdrawProposal", "WithdrawProposalInput")),
        lifted: &["*"],
        left_out: &[],
    },
    UseCase {
        tool: "-claim",
        verb: "review claim",
        positional: &["id"],
        field: Some(("claimProposal", "ProposalInput")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "-release",
        verb: "review release",
        positional: &["id"],
        field: Some(("releaseProposal", "ProposalInput")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "-approve",
        verb: "review approve",
        positional: &["id"],
        field: Some(("approveProposal", "ApproveProposalInput")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "-reject",
        verb: "review reject",
        positional: &["id"],
        field: Some(("rejectProposal", "RejectProposalInput")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "-request_changes",
        verb: "review request-changes",
        positional: &["id", "note"],
        field: Some(("requestChanges", "RequestChangesInput")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "-comment",
        verb: "review comment",
        positional: &["id", "text"],
        field: Some(("commentOnProposal", "CommentOnProposalInput")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "-claim_next",
        verb: "review claim",
        positional: &[],
        field: Some(("claimNextProposal", "ProposalFilter")),
        lifted: &[],
        left_out: &[],
    },
    UseCase {
        tool: "-revert",
        verb: "wiki revert",
        positional: &["slug"],
        field: Some(("revertRevision", "RevertRevisionInput")),
        lifted: &[],
        left_out: &[],
    },
];

/// Root fields of the schema that have no case here, and why.
const FIELDS_ALONE: &[(&str, &str)] = &[
    ("memories", "lists are for people who look through the store; agents recall"),
    ("session", "the same; an agent reads session://{id}/brief"),
    ("task", "the same"),
    ("events", "the same; an agent reads memory://{id}/trace"),
    ("concept", "the same"),
    ("concepts", "the same"),
    ("conceptTree", "the same"),
    ("ontologyVersions", "for curators"),
    ("importOntology", "see ontology::flows and ontology::proposed; no tool imports"),
    ("rollbackOntology", "the same"),
    ("importPages", "a folder, for people; see review_faces"),
    ("exportPages", "the same"),
    ("node", "another way to `memory`, which has its cases"),
    ("nodes", "another way to `memory`, which has its cases"),
    ("promptBlock", "the prompt of `recall`, which has its cases"),
    ("auditLog", "for admins"),
    ("status", "for people"),
    ("me", "for people"),
    ("tokens", "see tokens_are_refused_alike"),
    ("createToken", "see tokens_are_refused_alike"),
    ("revokeToken", "see tokens_are_refused_alike"),
    ("runJob", "doctor: on the command line it takes the folder for itself"),
    ("pages", "lists are for people who look through the wiki; agents search"),
    ("pageHistory", "`wiki history` asks it; see review_faces.rs"),
    ("pageBlame", "`wiki blame` asks it; see review_faces.rs"),
    ("pageDiff", "`wiki diff` asks it; see review_faces.rs"),
    ("reviewStats", "for people"),
    ("proposeDecision", "for curators; see review_faces.rs"),
    ("resolveProposal", "for reviewers, region by region, in the console"),
    ("undoDecision", "for reviewers, in the console"),
    ("reviewProposals", "for reviewers, in the console"),
    ("revertProposal", "for reviewers, in the console"),
    ("revertRun", "for reviewers, in the console"),
];

/// Commands that have no case here, and why.
const VERBS_ALONE: &[(&str, &str)] = &[
    ("serve", "a face"),
    ("mcp", "a face"),
    ("import", "files are of the command line"),
    ("export", "files are of the command line, and it takes the folder for itself"),
    ("migrate", "takes both stores for itself"),
    ("backup", "files are of the command line"),
    ("restore", "takes the folder for itself"),
    ("eval", "a measurement in a store of its own"),
    ("doctor", "takes the folder for itself"),
    ("reindex", "see damage.rs"),
    ("journal", "files are of the command line"),
    ("ontology", "files are of the command line, and it takes the folder for itself"),
    ("token", "see tokens_are_refused_alike"),
    ("schema", "about the program"),
    ("config", "about the program"),
    ("healthcheck", "about the service"),
    ("help", "about the program"),
];

/// Commands of groups that have no case here, and why.
const SUBVERBS_ALONE: &[(&str, &str)] = &[
    ("wiki history", "a list for people, from GraphQL alone; see review_faces.rs"),
    ("wiki blame", "the same"),
    ("wiki diff", "the same"),
    ("wiki export", "files are of the command line"),
    ("wiki help", "about the program"),
    ("review help", "about the program"),
];

/// Fields of tools that have no flag, and why.
const FLAGLESS: &[(&str, &str, &str)] = &[("store", "event", "an object; `observe` is the command for what happens")];

/// Codes that no case can reach, and why.
const UNREACHED: &[(&str, &str)] = &[
    ("RATE_LIMITED", "of web sockets alone, which one face has: graphql/socket.rs"),
    ("DEGRADED", "answers in part say so in `degraded`; none is refused for it yet"),
];

impl UseCase {
    fn has_tool(&self) -> bool {
        !self.tool.starts_with('-')
    }
}

/// What must come of a case.
enum Then {
    /// An answer with these parts.
    Told(Vec<(&'static str, Value)>),
    /// An error with this code, of this field; no field is "".
    Refused(&'static str, &'static str),
}

struct Case {
    by: &'static str,
    tool: &'static str,
    input: Value,
    then: Then,
    /// Name for the id in the answer, and for the moment: `$name` and `$name_at` in inputs from then on.
    keep: Option<&'static str>,
    /// Whether the command line can say it.
    sayable: bool,
}

fn told(tool: &'static str, input: Value, parts: &[(&'static str, Value)]) -> Case {
    Case { by: "ann", tool, input, then: Then::Told(parts.to_vec()), keep: None, sayable: true }
}

fn refused(tool: &'static str, input: Value, code: &'static str, field: &'static str) -> Case {
    Case { by: "ann", tool, input, then: Then::Refused(code, field), keep: None, sayable: true }
}

impl Case {
    fn by(self, by: &'static str) -> Self {
        Self { by, ..self }
    }

    fn keep(self, name: &'static str) -> Self {
        Self { keep: Some(name), ..self }
    }

    /// The argument parser refuses it before, as wrong usage.
    fn not_on_the_command_line(self) -> Self {
        Self { sayable: false, ..self }
    }
}

fn cases() -> Vec<Case> {
    let stored = ("/outcome", json!("stored"));
    let mut cases = vec![
        told(
            "memory_store",
            json!({"content": "The pump lost pressure.", "title": "Pump", "tags": ["plant"], "session_id": "s1",
                "task_id": "t1", "kind": "episodic", "type": "event", "source": "observed", "importance": 0.6,
                "confidence": 0.9, "summary": "Pressure lost.", "context": "night shift", "speaker": "Mia",
                "occurred_at": "2026-03-01", "valid_from": "2026-03-01", "external_id": "p-1"}),
            std::slice::from_ref(&stored),
        )
        .keep("cause"),
        told(
            "memory_store",
            json!({"content": "The line of the plant stopped at noon.", "source": "observed", "session_id": "s1",
                "caused_by": ["$cause"], "scope": "shared", "group": "blue"}),
            &[],
        )
        .keep("effect"),
        told(
            "memory_store",
            json!({"content": "The valve is red.", "source": "observed", "idempotency_key": "k1"}),
            &[],
        )
        .keep("valve"),
        told(
            "memory_store",
            json!({"content": "The valve is red.", "source": "observed", "idempotency_key": "k1"}),
            &[("/id", json!("$valve"))],
        ),
        told(
            "memory_store",
            json!({"content": "The valve is red.", "source": "observed"}),
            &[("/outcome", json!("refreshed")), ("/id", json!("$valve"))],
        ),
        refused(
            "memory_store",
            json!({"content": "The valve is blue.", "source": "observed", "idempotency_key": "k1"}),
            "IDEMPOTENCY_KEY_REUSED",
            "idempotency_key",
        ),
        told(
            "memory_store",
            json!({"content": "The valve is green now.", "source": "observed", "supersedes": ["$valve"]}),
            &[("/outcome", json!("superseded")), ("/superseded/0", json!("$valve"))],
        )
        .keep("green"),
        told(
            "memory_store",
            json!({"content": "It drizzled.", "source": "observed", "importance": 0.0}),
            &[("/outcome", json!("dropped"))],
        ),
        told(
            "memory_store",
            json!({"content": "Never open the valve under pressure.", "type": "constraint", "source": "user_explicit",
                "causes": ["$effect"], "ttl_secs": 86400, "valid_to": "2027-03-01"}),
            &[],
        )
        .keep("rule"),
        told("memory_store", json!({"content": "Bob's own secret.", "source": "observed", "session_id": "s1"}), &[])
            .by("bob")
            .keep("secret"),
        told(
            "memory_store",
            json!({"content": "All may read this.", "scope": "global", "source": "document"}),
            std::slice::from_ref(&stored),
        )
        .by("root")
        .keep("global"),
        // Changes.
        told(
            "memory_update",
            json!({"id": "$cause", "expected_revision": 1, "content": "The pump lost its seal.", "title": "Pump",
                "tags": ["plant", "night"], "kind": "episodic", "type": "event", "importance": 0.7, "confidence": 0.8,
                "summary": "The seal is gone.", "context": "day shift", "occurred_at": "2026-03-02",
                "valid_from": "2026-03-02", "valid_to": "2027-03-02"}),
            &[("/revision", json!(2))],
        ),
        told("memory_update", json!({"id": "$cause", "importance": 0.7}), &[("/revision", json!(2))]),
        refused(
            "memory_update",
            json!({"id": "$cause", "expected_revision": 1, "content": "x"}),
            "CONFLICT",
            "expected_revision",
        ),
        told("memory_link", json!({"from": "$cause", "to": "$effect", "edge": "CAUSES", "reason": "seen"}), &[]),
        told("memory_link", json!({"from": "$green", "to": "$effect", "edge": "SUPPLEMENTS"}), &[]),
        refused("memory_link", json!({"from": "$cause", "to": "$cause", "edge": "CAUSES"}), "BAD_USER_INPUT", "to"),
        refused("memory_link", json!({"from": "$cause", "to": "$effect", "edge": "KNOWS"}), "BAD_USER_INPUT", "edge"),
        told(
            "memory_feedback",
            json!({"id": "$effect", "useful": true, "note": "it helped"}),
            &[("/useful", json!(1)), ("/not_useful", json!(0))],
        ),
        told("memory_feedback", json!({"id": "$effect", "useful": false}), &[("/not_useful", json!(1))]),
        told("memory_feedback", json!({"id": "$global", "useful": false}), &[("/not_useful", json!(1))]).by("kim"),
    ];
    for (event, made) in [
        (json!({"event": "task_started", "task_id": "t2", "text": "Mend the pump."}), None),
        (json!({"event": "tool_call", "task_id": "t2", "tool": "wrench", "text": "turn left"}), None),
        (json!({"event": "tool_result", "task_id": "t2", "tool": "wrench", "status": "ok"}), None),
        (json!({"event": "user_message", "session_id": "s2", "text": "Is it done?", "feedback": "negative"}), None),
        (
            json!({"event": "user_correction", "session_id": "s2", "text": "The wrench hangs left of the door."}),
            Some("semantic"),
        ),
        (
            json!({"event": "task_succeeded", "task_id": "t2", "session_id": "s2", "text": "The pump runs again.",
                "at": "2026-03-03", "idempotency_key": "k2"}),
            Some("episodic"),
        ),
        (
            json!({"event": "task_failed", "task_id": "t3", "text": "The spare seal did not fit.", "status": "timeout",
                "scope": "shared", "group": "blue"}),
            Some("warning"),
        ),
        (json!({"event": "session_ended", "session_id": "s2"}), Some("episodic")),
    ] {
        let parts = made.map(|kind| ("/memories/0/kind", json!(kind)));
        cases.push(told("memory_observe", event, parts.as_slice()));
    }
    for mode in ["hybrid", "semantic", "keyword", "recent", "associative"] {
        let input = json!({"query": "why did the pump lose pressure", "mode": mode, "limit": 3});
        cases.push(told("memory_recall", input, &[("/understood/mode", json!(mode))]));
    }
    cases.extend([
        told(
            "memory_recall",
            json!({"query": "pump", "kinds": ["episodic"], "types": ["event"], "tags": ["night", "none"],
                "session_id": "s1", "task_id": "t1", "since": "2026-03-01", "until": "2026-04-01", "min_score": 0.01,
                "include_superseded": true, "explain": false, "token_budget": 500}),
            &[("/items/0/id", json!("$cause"))],
        ),
        told("memory_recall", json!({"query": "pump", "as_of": "2026-03-05"}), &[]),
        told(
            "memory_recall",
            json!({"query": "pump pressure", "known_at": "$cause_at"}),
            &[("/items/0/content", json!("The pump lost pressure."))],
        ),
        told("memory_recall", json!({"query": "pump", "format": "prompt", "token_budget": 300}), &[]),
        told("memory_recall", json!({"query": "nobody ever said this", "mode": "keyword"}), &[]),
        told("memory_recall", json!({"query": "secret"}), &[("/items/0/id", json!("$secret"))]).by("bob"),
        told("memory_associate", json!({"query": "why did the line stop", "depth": 3, "limit": 4}), &[]),
        told(
            "memory_associate",
            json!({"ids": ["$effect"], "edges": ["CAUSES"], "direction": "in", "limit": 5, "depth": 1}),
            &[("/seeds/0/id", json!("$effect"))],
        ),
        told("memory_associate", json!({"ids": ["$effect"], "known_at": "$effect_at"}), &[]),
        told("memory_associate", json!({"query": "pump", "as_of": "2026-03-05", "explain": false}), &[]),
        told("memory_get", json!({"ids": ["$cause"]}), &[("/memories/0/revision", json!(2))]),
        told("memory_get", json!({"ids": ["$cause"], "known_at": "$cause_at"}), &[("/memories/0/revision", json!(1))]),
        told("memory_get", json!({"ids": ["$cause"], "as_of": "2026-05-01"}), &[("/memories/0/id", json!("$cause"))]),
        told("memory_get", json!({"ids": ["$valve"]}), &[("/memories/0/status", json!("superseded"))]),
        told("memory_explain", json!({"id": "$valve", "query": "valve"}), &[("/failed/0/filter", json!("status"))]),
        told("memory_explain", json!({"id": "$cause", "query": "pump", "known_at": "$cause_at"}), &[]),
        told("memory_explain", json!({"id": "$cause", "query": "pump", "as_of": "2026-05-01"}), &[]),
        told("memory_summarize", json!({"session_id": "s1"}), &[("/considered", json!(2))]),
        told("memory_summarize", json!({"topic": "pump", "since": "2026-03-01", "until": "2026-12-01"}), &[]),
    ]);
    // Another's id, and one that nobody has.
    for id in ["$secret", NOBODY] {
        for (tool, input, field) in [
            ("memory_get", json!({"ids": [id]}), "ids"),
            ("memory_get", json!({"ids": [id], "known_at": "2027-01-01"}), "ids"),
            ("memory_associate", json!({"ids": [id]}), "ids"),
            ("memory_explain", json!({"id": id, "query": "x"}), "id"),
            ("memory_update", json!({"id": id, "tags": ["x"]}), "id"),
            ("memory_forget", json!({"ids": [id]}), "ids"),
            ("memory_feedback", json!({"id": id, "useful": true}), "id"),
            ("memory_link", json!({"from": id, "to": "$cause", "edge": "CAUSES"}), "from"),
            ("memory_link", json!({"from": "$cause", "to": id, "edge": "CAUSES"}), "to"),
            ("memory_store", json!({"content": "x", "causes": [id]}), "causes"),
            ("memory_store", json!({"content": "x", "caused_by": [id]}), "caused_by"),
            ("memory_store", json!({"content": "x", "supersedes": [id]}), "supersedes"),
        ] {
            cases.push(refused(tool, input, "NOT_FOUND", field));
        }
    }
    for (tool, input, field) in [
        ("memory_store", json!({"content": " "}), "content"),
        ("memory_store", json!({"content": "x", "kind": "dreamt"}), "kind"),
        ("memory_store", json!({"content": "x", "type": "rumour"}), "type"),
        ("memory_store", json!({"content": "x", "source": "hearsay"}), "source"),
        ("memory_store", json!({"content": "x", "scope": "everyone"}), "scope"),
        ("memory_store", json!({"content": "x", "scope": "shared"}), "group"),
        ("memory_store", json!({"content": "x", "importance": 7.0}), "importance"),
        ("memory_store", json!({"content": "x", "confidence": -1.0}), "confidence"),
        ("memory_store", json!({"content": "x", "occurred_at": "yesterday"}), "occurred_at"),
        ("memory_store", json!({"content": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"}), "valid_to"),
        ("memory_store", json!({"content": "x", "ttl_secs": 0}), "ttl_secs"),
        ("memory_store", json!({"content": "x", "causes": ["nonsense"]}), "causes"),
        ("memory_recall", json!({"query": ""}), "query"),
        ("memory_recall", json!({"query": "x", "mode": "psychic"}), "mode"),
        ("memory_recall", json!({"query": "x", "limit": 0}), "limit"),
        ("memory_recall", json!({"query": "x", "limit": -1}), "limit"),
        ("memory_recall", json!({"query": "x", "kinds": ["dreamt"]}), "kinds"),
        ("memory_recall", json!({"query": "x", "since": "soon"}), "since"),
        ("memory_recall", json!({"query": "x", "as_of": "?"}), "as_of"),
        ("memory_recall", json!({"query": "x", "known_at": "12"}), "known_at"),
        ("memory_recall", json!({"query": "x", "min_score": 2.0}), "min_score"),
        ("memory_recall", json!({"query": "x", "format": "poem"}), "format"),
        ("memory_recall", json!({"query": "x", "token_budget": 0}), "token_budget"),
        ("memory_recall", json!({"query": "x", "cursor": "x"}), "cursor"),
        ("memory_associate", json!({"query": ""}), "query"),
        ("memory_associate", json!({"query": "x", "depth": 9}), "depth"),
        ("memory_associate", json!({"query": "x", "edges": ["HATES"]}), "edges"),
        ("memory_associate", json!({"query": "x", "direction": "up"}), "direction"),
        ("memory_associate", json!({"ids": ["nonsense"]}), "ids"),
        ("memory_get", json!({"ids": ["nonsense"]}), "ids"),
        ("memory_get", json!({"ids": ["$cause"], "known_at": "once"}), "known_at"),
        ("memory_update", json!({"id": "nonsense"}), "id"),
        ("memory_update", json!({"id": "$cause", "content": ""}), "content"),
        ("memory_update", json!({"id": "$cause", "importance": 2.0}), "importance"),
        ("memory_forget", json!({"ids": ["nonsense"]}), "ids"),
        ("memory_forget", json!({"ids": ["$cause"], "strategy": "burn"}), "strategy"),
        ("memory_feedback", json!({"id": "nonsense", "useful": true}), "id"),
        ("memory_observe", json!({"event": "party"}), "event"),
        ("memory_observe", json!({"event": "tool_call"}), "tool"),
        ("memory_observe", json!({"event": "session_ended"}), "session_id"),
        ("memory_observe", json!({"event": "user_message"}), "text"),
        ("memory_observe", json!({"event": "task_started", "feedback": "meh"}), "feedback"),
        ("memory_observe", json!({"event": "task_started", "at": "noon"}), "at"),
        ("memory_explain", json!({"id": "nonsense", "query": "x"}), "id"),
        ("memory_explain", json!({"id": "$cause", "query": ""}), "query"),
        ("memory_summarize", json!({"since": "soon"}), "since"),
    ] {
        cases.push(refused(tool, input, "BAD_USER_INPUT", field));
    }
    cases.extend([
        refused("memory_associate", json!({}), "BAD_USER_INPUT", "query").not_on_the_command_line(),
        refused("memory_associate", json!({"query": "x", "ids": ["$cause"]}), "BAD_USER_INPUT", "query")
            .not_on_the_command_line(),
        refused("memory_forget", json!({"ids": []}), "BAD_USER_INPUT", "ids").not_on_the_command_line(),
        refused("memory_store", json!({}), "BAD_USER_INPUT", "content").not_on_the_command_line(),
        refused("memory_feedback", json!({"id": "$cause"}), "BAD_USER_INPUT", "useful").not_on_the_command_line(),
        // No argument of a command may be that long.
        refused("memory_store", json!({"content": "x".repeat(1_100_000)}), "PAYLOAD_TOO_LARGE", "content")
            .not_on_the_command_line(),
        refused("memory_store", json!({"content": "x".repeat(3_100_000)}), "PAYLOAD_TOO_LARGE", "")
            .not_on_the_command_line(),
        refused("memory_store", json!({"content": "x", "title": "x".repeat(600)}), "PAYLOAD_TOO_LARGE", "title"),
        refused("memory_store", json!({"content": "x", "scope": "global"}), "FORBIDDEN", ""),
        refused("memory_store", json!({"content": "x", "group": "red"}), "FORBIDDEN", "group"),
        refused("memory_observe", json!({"event": "task_started", "group": "red"}), "FORBIDDEN", "group"),
    ]);
    let each = [
        ("memory_store", json!({"content": "x"})),
        ("memory_update", json!({"id": "$global", "tags": ["x"]})),
        ("memory_forget", json!({"ids": ["$global"]})),
        ("memory_link", json!({"from": "$global", "to": "$global", "edge": "CAUSES"})),
        ("memory_feedback", json!({"id": "$global", "useful": true})),
        ("memory_observe", json!({"event": "task_started"})),
    ];
    for (tool, input) in each.clone() {
        cases.push(refused(tool, input, "FORBIDDEN", "").by("reader"));
    }
    for (tool, input) in each.into_iter().chain([
        ("memory_recall", json!({"query": "x"})),
        ("memory_associate", json!({"query": "x"})),
        ("memory_get", json!({"ids": ["$global"]})),
        ("memory_explain", json!({"id": "$global", "query": "x"})),
        ("memory_summarize", json!({})),
    ]) {
        cases.push(refused(tool, input, "UNAUTHENTICATED", "").by("stranger"));
    }
    cases.extend([
        told(
            "memory_forget",
            json!({"ids": ["$green"], "strategy": "decay", "reason": "doubtful"}),
            &[("/forgotten", json!(1))],
        ),
        told("memory_forget", json!({"ids": ["$green", "$rule"], "strategy": "archive"}), &[("/forgotten", json!(2))]),
        told("memory_link", json!({"from": "$cause", "to": "$effect", "edge": "SUPERSEDES"}), &[]),
        told("memory_forget", json!({"ids": ["$cause"], "reason": "asked to"}), &[("/forgotten", json!(1))]),
        refused("memory_get", json!({"ids": ["$cause"]}), "NOT_FOUND", "ids"),
    ]);

    cases.extend(wiki_cases());
    cases
}

/// Pages, proposals and decisions. The page ops/crane is there from the beginning.
fn wiki_cases() -> Vec<Case> {
    let pending = ("/state", json!("pending"));
    let gate = |body: &str| {
        json!({"slug": "ops/gate", "title": "The gate", "body": body, "rationale": "It was asked for.", "run_id": "r1",
            "evidence": ["$global"], "aliases": ["gate"], "categories": ["harbour"], "idempotency_key": "w1"})
    };
    let crane = "# Crane\n\nThe crane lifts ten tons.\n";
    let mut cases = vec![
        told("wiki_propose", gate("The gate opens at nine.\n"), std::slice::from_ref(&pending)).keep("gate"),
        told("wiki_propose", gate("The gate opens at nine.\n"), &[("/proposal_id", json!("$gate"))]),
        refused("wiki_propose", gate("The gate opens at ten.\n"), "IDEMPOTENCY_KEY_REUSED", "idempotency_key"),
        told("wiki_propose", json!({"slug": "blue/notes", "body": "Ours.\n", "scope": "shared", "group": "blue"}), &[])
            .keep("notes"),
        told(
            "wiki_propose",
            json!({"slug": "ops/crane", "body": crane, "base_revision": 1}),
            std::slice::from_ref(&pending),
        )
        .keep("crane"),
        told(
            "wiki_propose",
            json!({"slug": "ops/crane", "action": "rename", "new_slug": "ops/hoist", "base_revision": 1}),
            &[],
        )
        .keep("hoist"),
        told("wiki_propose", json!({"slug": "bob/own", "body": "Bob's own.\n", "scope": "private"}), &[])
            .by("bob")
            .keep("own"),
        told("review_list", json!({}), &[("/items/0/id", json!("$gate")), ("/items/0/run_id", json!("r1"))]),
        told(
            "review_list",
            json!({"states": ["pending"], "kinds": ["wiki_edit"], "slug": "ops/crane", "author": "ann", "claimed": false,
                "limit": 1}),
            &[("/items/0/id", json!("$crane"))],
        ),
        told("review_list", json!({"run_id": "r1", "states": ["approved", "rejected"]}), &[]),
        told("review_list", json!({"flagged": true}), &[]),
        told("review_get", json!({"id": "$gate"}), &[("/evidence/0/id", json!("$global"))]),
        told("review_get", json!({"id": "$crane"}), &[("/head_revision", json!(1)), ("/base_revision", json!(1))]),
        told(
            "review_revise",
            json!({"id": "$gate", "body": "The gate opens at nine each day.\n", "title": "Gate",
                "rationale": "Each day.", "evidence": ["$global"], "comment": "Better?"}),
            std::slice::from_ref(&pending),
        )
        .keep("gate"),
        told("review_withdraw", json!({"id": "$notes", "reason": "No longer."}), &[("/state", json!("withdrawn"))]),
        refused("review_withdraw", json!({"id": "$notes"}), "CONFLICT", "id"),
        refused("review_revise", json!({"id": "$notes", "body": "x\n"}), "CONFLICT", "id"),
        // Decisions.
        told("-claim", json!({"id": "$gate"}), &[("/outcome", json!("claimed"))]).by("rita"),
        refused("-claim", json!({"id": "$gate"}), "CONFLICT", "id").by("ralf"),
        told("-release", json!({"id": "$gate"}), &[("/outcome", json!("released"))]).by("rita"),
        told("-comment", json!({"id": "$gate", "text": "Since when?", "line": 1}), &[("/outcome", json!("commented"))])
            .by("rita"),
        told(
            "-request_changes",
            json!({"id": "$gate", "note": "Say since when."}),
            &[("/proposal/state", json!("changes_requested"))],
        )
        .by("rita"),
        told("review_get", json!({"id": "$gate"}), &[("/state", json!("changes_requested"))]),
        told(
            "review_revise",
            json!({"id": "$gate", "body": "Since May the gate opens at nine each day.\n"}),
            std::slice::from_ref(&pending),
        )
        .keep("gate"),
        refused("-approve", json!({"id": "$gate", "content_hash": "0000"}), "CONFLICT", "content_hash").by("rita"),
        refused(
            "-approve",
            json!({"id": "$gate", "content_hash": "$gate_hash", "expected_head": 7}),
            "STALE_BASE",
            "expected_head",
        )
        .by("rita"),
        refused("-approve", json!({"id": "$gate", "content_hash": "$gate_hash"}), "FORBIDDEN", ""),
        told(
            "-approve",
            json!({"id": "$gate", "content_hash": "$gate_hash", "expected_head": 0, "comment": "Good."}),
            &[("/outcome", json!("approved")), ("/proposal/state", json!("approved"))],
        )
        .by("rita"),
        refused("-approve", json!({"id": "$gate", "content_hash": "$gate_hash"}), "CONFLICT", "id").by("ralf"),
        told("wiki_get", json!({"slug": "ops/gate"}), &[("/revision", json!(1))]),
        told("wiki_get", json!({"slug": "GATE"}), &[("/slug", json!("ops/gate"))]),
        told("wiki_search", json!({"query": "when does the gate open", "limit": 2}), &[]),
        told(
            "-reject",
            json!({"id": "$hoist", "reason": "style", "note": "Crane is the word."}),
            &[("/outcome", json!("rejected"))],
        )
        .by("rita"),
        told("review_get", json!({"id": "$hoist"}), &[("/decision/reason", json!("style"))]),
        told("-claim_next", json!({}), &[("/proposal/id", json!("$crane"))]).by("ralf"),
        told(
            "-approve",
            json!({"id": "$crane", "content_hash": "$crane_hash", "body": "# Crane\n\nTen tons, no more.\n"}),
            &[],
        )
        .by("ralf"),
        told("wiki_get", json!({"slug": "ops/crane"}), &[("/revision", json!(2))]),
        told("wiki_get", json!({"slug": "ops/crane", "revision": 1}), &[("/revision", json!(1))]),
        told("wiki_get", json!({"slug": "ops/crane", "as_of": "2026-12-24"}), &[("/revision", json!(2))]),
        refused(
            "-revert",
            json!({"slug": "ops/crane", "revision": 2, "expected_head": 1}),
            "STALE_BASE",
            "expected_head",
        )
        .by("rita"),
        told(
            "-revert",
            json!({"slug": "ops/crane", "revision": 2, "expected_head": 2, "reason": "Nine it was."}),
            &[("/outcome", json!("reverted"))],
        )
        .by("rita"),
        told("wiki_get", json!({"slug": "ops/crane"}), &[("/revision", json!(3))]),
        told(
            "memory_store",
            json!({"content": "The tide turns at six.", "source": "observed", "review": true}),
            &[("/outcome", json!("quarantined"))],
        ),
        told("memory_recall", json!({"query": "when does the gate open", "limit": 3}), &[]),
    ];
    // Another's, and one that nobody has. A reviewer sees another's.
    for id in ["$own", NOBODY] {
        for (tool, input) in [
            ("review_get", json!({"id": id})),
            ("review_revise", json!({"id": id, "body": "x\n"})),
            ("review_withdraw", json!({"id": id})),
        ] {
            cases.push(refused(tool, input, "NOT_FOUND", "id"));
        }
    }
    cases.push(refused("review_withdraw", json!({"id": "$own"}), "FORBIDDEN", "").by("rita"));
    for (tool, input) in [
        ("-claim", json!({"id": NOBODY})),
        ("-release", json!({"id": NOBODY})),
        ("-approve", json!({"id": NOBODY, "content_hash": "x"})),
        ("-reject", json!({"id": NOBODY, "reason": "style"})),
        ("-request_changes", json!({"id": NOBODY, "note": "x"})),
        ("-comment", json!({"id": NOBODY, "text": "x"})),
    ] {
        cases.push(refused(tool, input, "NOT_FOUND", "id").by("rita"));
    }
    for (tool, input, code, field) in [
        ("wiki_get", json!({"slug": "no/page"}), "NOT_FOUND", "slug"),
        ("wiki_get", json!({"slug": "bob/own"}), "NOT_FOUND", "slug"),
        ("wiki_get", json!({"slug": "ops/crane", "revision": 99}), "NOT_FOUND", "slug"),
        ("wiki_get", json!({"slug": "ops/crane", "as_of": "soon"}), "BAD_USER_INPUT", "as_of"),
        ("wiki_search", json!({"query": " "}), "BAD_USER_INPUT", "query"),
        ("wiki_search", json!({"query": "x", "limit": 0}), "BAD_USER_INPUT", "limit"),
        ("wiki_propose", json!({"slug": "a//b", "body": "x\n"}), "BAD_USER_INPUT", "slug"),
        ("wiki_propose", json!({"slug": "x/y"}), "BAD_USER_INPUT", "body"),
        ("wiki_propose", json!({"slug": "x/y", "body": "x\n", "patch": "x"}), "BAD_USER_INPUT", "patch"),
        ("wiki_propose", json!({"slug": "x/y", "body": "x\n", "action": "burn"}), "BAD_USER_INPUT", "action"),
        ("wiki_propose", json!({"slug": "x/y", "body": "x\n", "scope": "all"}), "BAD_USER_INPUT", "scope"),
        ("wiki_propose", json!({"slug": "x/y", "body": "x\n", "group": "red"}), "FORBIDDEN", "group"),
        ("wiki_propose", json!({"slug": "x/y", "body": "x\n", "evidence": ["nonsense"]}), "BAD_USER_INPUT", "evidence"),
        ("wiki_propose", json!({"slug": "ops/crane", "body": "x\n"}), "BAD_USER_INPUT", "base_revision"),
        ("wiki_propose", json!({"slug": "no/page", "action": "delete", "base_revision": 1}), "NOT_FOUND", "slug"),
        ("review_list", json!({"states": ["dreamt"]}), "BAD_USER_INPUT", "states"),
        ("review_list", json!({"limit": 0}), "BAD_USER_INPUT", "limit"),
        ("review_get", json!({"id": "nonsense"}), "BAD_USER_INPUT", "id"),
        ("review_revise", json!({"id": "nonsense", "body": "x\n"}), "BAD_USER_INPUT", "id"),
        ("review_withdraw", json!({"id": "nonsense"}), "BAD_USER_INPUT", "id"),
    ] {
        cases.push(refused(tool, input, code, field));
    }
    for (tool, input) in [
        ("wiki_propose", json!({"slug": "x/y", "body": "x\n"})),
        ("review_revise", json!({"id": "$gate", "body": "x\n"})),
        ("review_withdraw", json!({"id": "$gate"})),
        ("-claim", json!({"id": "$gate"})),
        ("-approve", json!({"id": "$gate", "content_hash": "x"})),
        ("-reject", json!({"id": "$gate", "reason": "style"})),
        ("-request_changes", json!({"id": "$gate", "note": "x"})),
        ("-revert", json!({"slug": "ops/crane", "revision": 3})),
    ] {
        cases.push(refused(tool, input, "FORBIDDEN", "").by("reader"));
    }
    for (tool, input) in [
        ("wiki_get", json!({"slug": "ops/crane"})),
        ("wiki_search", json!({"query": "x"})),
        ("wiki_propose", json!({"slug": "x/y", "body": "x\n"})),
        ("review_list", json!({})),
        ("review_get", json!({"id": "$gate"})),
        ("review_revise", json!({"id": "$gate", "body": "x\n"})),
        ("review_withdraw", json!({"id": "$gate"})),
        ("-approve", json!({"id": "$gate", "content_hash": "x"})),
    ] {
        cases.push(refused(tool, input, "UNAUTHENTICATED", "").by("stranger"));
    }
    cases
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    Mcp,
    CommandLine,
    Graphql,
}

/// What a face says.
#[derive(Debug, Clone, PartialEq)]
enum Said {
    Reply(Value),
    Error { code: String, field: String, message: String },
}

/// A service of its own, spoken to through one face.
struct World {
    face: Face,
    app: App,
    clock: Arc<FixedClock>,
    clients: BTreeMap<&'static str, Client>,
    home: Home,
}

impl World {
    async fn start(face: Face, wrap: fn(Arc<dyn Embedder>) -> Arc<dyn Embedder>) -> Self {
        let clock = Arc::new(FixedClock::at("2026-11-30T12:00:00Z".parse().expect("a moment")));
        let app = App::start_as("[write]\nmin_importance = 0.1\n", |parts| {
            parts.clock = clock.clone();
            parts.embedders = parts.embedders.drain(..).map(wrap).collect();
        })
        .await;
        let mut clients = BTreeMap::new();
        for name in ["ann", "bob", "kim", "stranger"] {
            clients.insert(name, app.client(name, &["blue"], &[Right::WikiPropose]).await);
        }
        let review = [Right::WikiPropose, Right::ReviewRead, Right::ReviewDecide];
        clients.insert("rita", app.client("rita", &["blue"], &review).await);
        clients.insert("ralf", app.client("ralf", &["blue"], &review).await);
        clients.insert("root", app.client("root", &[], &[Right::Admin]).await);
        clients.insert("reader", app.reader("ray", &[]).await);
        clients.get_mut("stranger").expect("there").token = "rc_nobody".to_owned();
        let page =
            PageFile { path: "ops/crane.md".to_owned(), text: "# Crane\n\nThe crane lifts nine tons.\n".to_owned() };
        let pages = ImportPagesRequest { files: vec![page], ..ImportPagesRequest::default() };
        let imported = app.service.import_pages(&Caller::operator("root"), pages).await.expect("imported");
        assert_eq!(imported.files[0].outcome, "created");
        Self { face, app, clock, clients, home: Home::new() }
    }

    /// Runs a case once the index has what came before.
    async fn say(&self, case: &Case, use_case: &UseCase, input: &Value, reply: &Value) -> Option<Said> {
        self.clock.advance(SignedDuration::from_mins(1));
        while self.app.counts().await.outbox > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let client = &self.clients[case.by];
        match self.face {
            // What agents have no tool for is done all the same, so that the stores stay alike.
            Face::Mcp if !use_case.has_tool() => Some(graphql(client, use_case, input, reply).await),
            Face::Mcp => Some(mcp(client, use_case, input).await),
            Face::CommandLine if case.sayable => Some(self.command_line(client, use_case, input)),
            Face::Graphql if use_case.field.is_some() => Some(graphql(client, use_case, input, reply).await),
            _ => None,
        }
    }

    fn command_line(&self, client: &Client, use_case: &UseCase, input: &Value) -> Said {
        let mut args: Vec<String> = use_case.verb.split(' ').map(str::to_owned).collect();
        args.push("--json".to_owned());
        if use_case.tool == "-claim_next" {
            args.push("--next".to_owned());
        }
        args.extend([format!("--url={}", client.url), format!("--token={}", client.token)]);
        args.extend(arguments(use_case, input));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        said_by(&self.home.run(&args))
    }

    /// Everything stored, as text.
    async fn everything(&self) -> String {
        let all = Visibility::system("a test looks at everything");
        let browse = &self.app.parts.browse;
        let memories = browse.list(&Listing::default(), None, 1000, &all).await.expect("memories");
        let ids: Vec<_> = memories.iter().map(|memory| memory.id.0).collect();
        let edges = browse.edges_of_all(&ids, 1000, &all).await.expect("edges");
        let events = browse.events(None, None, 1000, &all).await.expect("events");
        let concepts = browse.find_concepts("", None, 1000, &all).await.expect("concepts");
        let log = browse.audit(None, 1000, &all).await.expect("the audit log");
        let reviews = &self.app.parts.reviews;
        let pages = reviews.pages(&PageQuery::default(), None, 1000, &all).await.expect("pages");
        let states = ProposalState::NAMES.iter().map(|name| name.parse().expect("a state")).collect();
        let queue = QueueQuery { states, ..QueueQuery::default() };
        let queue = reviews.queue(&queue, None, 1000, &all).await.expect("proposals");
        format!("{memories:#?}\n{edges:#?}\n{events:#?}\n{concepts:#?}\n{log:#?}\n{pages:#?}\n{queue:#?}")
    }
}

/// The flags and words that say `input`.
fn arguments(use_case: &UseCase, input: &Value) -> Vec<String> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let listed = |value: &Value| value.as_array().map(|list| list.iter().map(plain).collect::<Vec<_>>());
    let fields = input.as_object().expect("an object");
    let mut args = Vec::new();
    for (name, value) in fields.iter().filter(|(name, _)| !use_case.positional.contains(&name.as_str())) {
        if *value == true && ["include_superseded", "review", "texts", "next"].contains(&name.as_str()) {
            args.push(flag(use_case.verb, name));
        } else {
            let value = listed(value).map_or_else(|| plain(value), |list| list.join(","));
            args.push(format!("{}={value}", flag(use_case.verb, name)));
        }
    }
    args.push("--".to_owned());
    for value in use_case.positional.iter().filter_map(|name| fields.get(*name)) {
        args.extend(listed(value).unwrap_or_else(|| vec![plain(value)]));
    }
    args
}

/// The flag of a field.
fn flag(verb: &str, field: &str) -> String {
    match (verb, field) {
        (_, "session_id") => "--session".to_owned(),
        (_, "task_id") => "--task".to_owned(),
        ("associate", "ids") => "--id".to_owned(),
        _ => format!("--{}", field.replace('_', "-")),
    }
}

fn said_by(output: &std::process::Output) -> Said {
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(output.status.success(), answer.get("error").is_none(), "{answer}");
    match answer.get("error") {
        None => Said::Reply(normal(&answer)),
        Some(error) => error_of(&error["code"], &error["field"], &error["message"]),
    }
}

fn error_of(code: &Value, field: &Value, message: &Value) -> Said {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Said::Error { code: text(code), field: text(field), message: text(message) }
}

async fn mcp(client: &Client, use_case: &UseCase, input: &Value) -> Said {
    let answer = client.rpc("tools/call", json!({"name": use_case.tool, "arguments": input})).await;
    let result = &answer["result"];
    if result["isError"] == true {
        let error = &result["_meta"][recollect::mcp::ERROR];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with(&format!("{}: ", error["code"].as_str().expect("a code"))), "{answer}");
        return error_of(&error["code"], &error["field"], &error["message"]);
    }
    if result.is_object() {
        return Said::Reply(normal(&result["structuredContent"]));
    }
    let error = &answer["error"];
    let code = if error["code"].is_string() { &error["code"] } else { &error["data"]["code"] };
    error_of(code, &Value::Null, &error["message"])
}

async fn graphql(client: &Client, use_case: &UseCase, input: &Value, reply: &Value) -> Said {
    let (field, kind) = use_case.field.expect("a face");
    let get = use_case.verb == "get";
    let selection = match use_case.tool {
        "-revert" => format!("outcome operationId revision {{ {REVISION} }}"),
        "-approve" | "-reject" | "-request_changes" => format!("outcome revision operationId {PROPOSAL}"),
        _ if use_case.has_tool() => selected(use_case, reply),
        _ => format!("outcome {PROPOSAL}"),
    };
    let (query, variables) = if use_case.verb == "wiki show" {
        let query = format!(
            "query($slug: String!, $revision: Int, $asOf: DateTime) {{
                page(slug: $slug, revision: $revision, asOf: $asOf) {{ {selection} }} }}"
        );
        (query, shown(input))
    } else if use_case.verb == "review show" {
        (format!("query($id: ID!) {{ proposal(id: $id) {{ {selection} }} }}"), json!({"id": input["id"]}))
    } else if use_case.verb == "review list" {
        let query = format!(
            "query($filter: ProposalFilter, $first: Int) {{
                proposals(filter: $filter, first: $first) {{ items: nodes {{ {selection} }} }} }}"
        );
        let mut filter = shown(input);
        let first = filter.as_object_mut().and_then(|filter| filter.remove("limit"));
        (query, json!({"filter": filter, "first": first}))
    } else if get {
        let query = format!(
            "query($id: ID!, $asOf: DateTime, $knownAt: DateTime) {{
                memory(id: $id, asOf: $asOf, knownAt: $knownAt) {{ {selection} }} }}"
        );
        (query, json!({"id": input["ids"][0], "asOf": input.get("as_of"), "knownAt": input.get("known_at")}))
    } else {
        let reads = ["recall", "associate", "explain", "wiki search"].contains(&use_case.verb);
        let (operation, errors) = if reads { ("query", "") } else { ("mutation", "userErrors { code field message }") };
        let query = format!("{operation}($input: {kind}!) {{ {field}(input: $input) {{ {selection} {errors} }} }}");
        let mut input = shown(input);
        if use_case.tool == "-reject" {
            // Elsewhere a reason is free text.
            input["reason"] = input["reason"].as_str().expect("a reason").to_uppercase().into();
        }
        (query, json!({"input": input}))
    };
    let response = crate::graphql::post(client, &json!({"query": query, "variables": variables}).to_string()).await;
    let answer: Value = response.json().await.expect("JSON");
    let payload = &answer["data"][field];
    let error = match (&answer["errors"][0], &payload["userErrors"][0]) {
        (Value::Null, Value::Null) if payload.is_null() => {
            // A reader of a graph is told of what is not there by null.
            let field = match use_case.verb {
                "get" => "ids",
                "wiki show" => "slug",
                _ => "id",
            };
            return error_of(&json!("NOT_FOUND"), &json!(field), &json!(format!("{field}: no such record")));
        }
        (Value::Null, Value::Null) => {
            let mut payload = normal(payload);
            lift(&mut payload);
            return Said::Reply(if get { json!({"memories": [payload]}) } else { payload });
        }
        (Value::Null, error) => error.clone(),
        (error, _) => {
            json!({"code": error["extensions"]["code"], "field": error["extensions"]["field"], "message": error["message"]})
        }
    };
    let spelt = error["field"].as_str().map(snake).unwrap_or_default();
    let named = match (use_case.verb, spelt.as_str()) {
        ("get", "id") => "ids".to_owned(),
        ("review list", "first") => "limit".to_owned(),
        _ => spelt,
    };
    let message = error["message"].as_str().unwrap_or_default();
    let message = match error["field"].as_str().and_then(|field| message.strip_prefix(field)) {
        Some(rest) => format!("{named}{rest}"),
        None => message.to_owned(),
    };
    error_of(&error["code"], &json!(named), &json!(message))
}

/// What the command line asks of a proposal that it changes, and of a revision.
const PROPOSAL: &str = "proposal { id: uuid kind state subject contentHash headRevision claimedBy claimedUntil }";
const REVISION: &str = "id: uuid slug title number change at author authorKind approvers editor runId rationale reverts
    contentHash size proposal { id: uuid owner } evidence { id: uuid }";

/// What GraphQL is asked for: all that the tool tells.
fn selected(use_case: &UseCase, reply: &Value) -> String {
    let of = |schema: &Value| {
        let parts = schema["properties"].as_object().expect("properties").iter();
        let told = parts.filter(|(name, _)| !use_case.left_out.contains(&name.as_str()));
        told.map(|(name, schema)| reviewed(name, schema)).collect::<Vec<_>>().join(" ")
    };
    match use_case.verb {
        "wiki show" | "review show" => return of(reply),
        "wiki propose" | "review revise" | "review withdraw" => return format!("proposal {{ {} }}", of(reply)),
        "review list" => return of(&reply["properties"]["items"]["items"]),
        _ => {}
    }
    if use_case.verb == "get" {
        return record(&reply["properties"]["memories"]["items"]);
    }
    let all = use_case.lifted == ["*"];
    if all {
        // Beside the record, since only an update tells it.
        let mut memory = reply.clone();
        memory["properties"].as_object_mut().expect("properties").remove("review_id").expect("what waits");
        return format!("reviewId memory {{ {} }}", record(&memory));
    }
    let (mut own, mut lifted) = (Vec::new(), Vec::new());
    for (name, schema) in reply["properties"].as_object().expect("properties") {
        if use_case.left_out.contains(&name.as_str()) || name == "took_ms" {
            continue;
        }
        if use_case.lifted.contains(&name.as_str()) {
            lifted.push(if name == "id" { "id: uuid".to_owned() } else { camel(name) });
        } else if use_case.verb == "link" && (name == "from" || name == "to") {
            own.push(format!("{name} {{ id: uuid }}"));
        } else {
            own.push(part(name, schema));
        }
    }
    if !lifted.is_empty() {
        own.push(format!("memory {{ {} }}", lifted.join(" ")));
    }
    own.join(" ")
}

/// A part of a page or a proposal: two are named otherwise in the schema, whose ids are global.
fn reviewed(name: &str, schema: &Value) -> String {
    match name {
        "id" => "id: uuid".to_owned(),
        "proposal_id" => "proposalId: uuid".to_owned(),
        "risk" => "risk: riskFlags { kind detail }".to_owned(),
        _ => part(name, schema),
    }
}

fn record(schema: &Value) -> String {
    let parts = schema["properties"].as_object().expect("properties").iter();
    parts
        .map(|(name, schema)| if name == "id" { "id: uuid".to_owned() } else { part(name, schema) })
        .collect::<Vec<_>>()
        .join(" ")
}

fn part(name: &str, schema: &Value) -> String {
    let within = if schema["type"] == "array" { &schema["items"] } else { schema };
    match within["properties"].as_object() {
        Some(parts) => {
            let parts: Vec<String> = parts.iter().map(|(name, schema)| part(name, schema)).collect();
            format!("{} {{ {} }}", camel(name), parts.join(" "))
        }
        None => camel(name),
    }
}

/// Parts that stand in `memory` belong to the answer; an end of an edge is its id.
fn lift(payload: &mut Value) {
    let Some(fields) = payload.as_object_mut() else { return };
    if let Some(Value::Object(memory)) = fields.remove("memory") {
        fields.extend(memory);
    }
    // A decision tells of its proposal as the command line does, with what it did beside it.
    if !fields.contains_key("outcome")
        && let Some(Value::Object(proposal)) = fields.remove("proposal")
    {
        fields.extend(proposal);
    }
    for end in ["from", "to"] {
        if let Some(id) = fields.get(end).and_then(|end| end.get("id")).cloned() {
            fields.insert(end.to_owned(), id);
        }
    }
}

/// Closed lists, which GraphQL writes in capitals.
const LISTS: &[&str] = &[
    "action",
    "direction",
    "event",
    "feedback",
    "format",
    "kind",
    "kinds",
    "mode",
    "outcome",
    "scope",
    "source",
    "state",
    "states",
    "status",
    "strategy",
    "type",
    "types",
    "verification",
];

/// The same in answers; in inputs these can be free text.
const ANSWERED: &[&str] = &["change", "reason", "author_kind"];

/// An input as the schema spells it. The status of an event is free text.
fn shown(input: &Value) -> Value {
    let fields = input.as_object().expect("an object").iter();
    fields
        .map(|(name, value)| {
            let value = match value {
                Value::String(text) if LISTS.contains(&name.as_str()) && name != "status" => json!(text.to_uppercase()),
                Value::Array(items) if LISTS.contains(&name.as_str()) => {
                    items.iter().map(|item| json!(item.as_str().unwrap_or_default().to_uppercase())).collect()
                }
                other => other.clone(),
            };
            (camel(name), value)
        })
        .collect::<Map<_, _>>()
        .into()
}

/// An answer in the one form in which all faces must agree: names in snake_case, plain ids, nothing where there is nothing.
fn normal(value: &Value) -> Value {
    use base64::{Engine, engine::general_purpose::STANDARD};
    match value {
        Value::Object(fields) => {
            let empty = |value: &Value| value.is_null() || *value == json!([]) || *value == false;
            let mut found = Map::new();
            for (name, value) in fields.iter().filter(|(name, _)| *name != "tookMs" && *name != "took_ms") {
                let name = snake(name);
                let mut value = normal(value);
                if (LISTS.contains(&name.as_str()) || ANSWERED.contains(&name.as_str()))
                    && let Some(text) = value.as_str()
                {
                    // How soon the index takes it is a matter of time.
                    value = json!(text.to_lowercase().replace("pending_index", "indexed"));
                }
                if !empty(&value) && name != "user_errors" {
                    found.insert(name, value);
                }
            }
            found.into()
        }
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::String(text) => {
            let global = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let plain = global.as_deref().and_then(|global| {
                ["Memory:", "Concept:", "Event:", "Page:", "Proposal:"]
                    .into_iter()
                    .find_map(|of| global.strip_prefix(of))
            });
            json!(plain.unwrap_or(text))
        }
        Value::Number(number) => json!(number.as_f64()),
        other => other.clone(),
    }
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| format!("{name}{}{}", word[..1].to_uppercase(), &word[1..]))
}

fn snake(name: &str) -> String {
    name.chars().fold(String::new(), |name, letter| match letter {
        'A'..='Z' => format!("{name}_{}", letter.to_ascii_lowercase()),
        _ => format!("{name}{letter}"),
    })
}

/// `$name` stands for what an earlier answer was kept as.
fn filled(input: &Value, kept: &BTreeMap<String, String>) -> Value {
    match input {
        Value::String(text) => match text.strip_prefix('$') {
            Some(name) => json!(kept[name]),
            None => input.clone(),
        },
        Value::Array(items) => items.iter().map(|item| filled(item, kept)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), filled(value, kept))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// The tools as they are listed, by name.
async fn listing(client: &Client) -> BTreeMap<String, Value> {
    let listed = client.rpc("tools/list", json!({})).await["result"]["tools"].clone();
    let tools = listed.as_array().expect("tools").iter();
    tools.map(|tool| (tool["name"].as_str().expect("a name").to_owned(), tool.clone())).collect()
}

fn same<T>(embedder: T) -> T {
    embedder
}

#[tokio::test(flavor = "multi_thread")]
async fn every_case_is_the_same_through_every_face() {
    let worlds = [
        World::start(Face::Mcp, same).await,
        World::start(Face::CommandLine, same).await,
        World::start(Face::Graphql, same).await,
    ];
    let reader = App::start().await;
    let tools = listing(&reader.client("ann", &[], &[]).await).await;
    let mut kept = BTreeMap::new();
    let mut before = worlds[0].everything().await;
    let mut wrong = Vec::new();
    for (number, case) in (1..).zip(cases()) {
        let input = filled(&case.input, &kept);
        let use_case = USE_CASES.iter().find(|use_case| use_case.tool == case.tool).expect("a row");
        let mut first: Option<(Said, String)> = None;
        for world in &worlds {
            // What is refused takes more ids in one face than in another.
            world.clock.count_from(number * 1000);
            let tool = tools.get(case.tool).unwrap_or(&Value::Null);
            let said = world.say(&case, use_case, &input, &tool["outputSchema"]).await;
            let reads = tool["annotations"]["readOnlyHint"] == true;
            let after = if reads { before.clone() } else { world.everything().await };
            let mut problems: Vec<String> = Vec::new();
            if matches!(case.then, Then::Refused(..)) {
                problems.extend(difference(&before, &after).map(|lines| format!("refused, and changed {lines}")));
            }
            if let Some((_, first)) = &first {
                problems.extend(difference(first, &after).map(|lines| format!("has another effect: {lines}")));
            }
            if let Some(said) = said {
                problems.extend(case.then.missed(world.face, &said, &kept));
                match &first {
                    None => first = Some((said, after)),
                    Some((told, _)) => problems.extend(told.unlike(&said, world.face, use_case)),
                }
            }
            let shown: String = input.to_string().chars().take(300).collect();
            wrong.extend(
                problems.iter().map(|what| format!("{:?} {} {} {shown}: {what}", world.face, case.by, case.tool)),
            );
        }
        let (said, after) = first.expect("MCP says everything");
        before = after;
        if let (Some(name), Said::Reply(reply)) = (case.keep, said) {
            let id = [&reply["id"], &reply["proposal_id"]].into_iter().find_map(Value::as_str).expect("an id");
            kept.insert(name.to_owned(), id.to_owned());
            kept.insert(format!("{name}_at"), worlds[0].clock.now().to_string());
            if let Some(hash) = reply["content_hash"].as_str() {
                kept.insert(format!("{name}_hash"), hash.to_owned());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

impl Then {
    /// What `said` lacks.
    fn missed(&self, face: Face, said: &Said, kept: &BTreeMap<String, String>) -> Option<String> {
        let met = match (self, said) {
            (Self::Refused(code, field), Said::Error { code: found, field: of, .. }) => {
                found == code && (of == field || said.is_of_the_schema(face, field))
            }
            (Self::Told(parts), Said::Reply(reply)) => {
                parts.iter().all(|(place, part)| reply.pointer(place) == Some(&normal(&filled(part, kept))))
            }
            _ => false,
        };
        (!met).then(|| format!("{said:?}"))
    }
}

impl Said {
    /// Whether the schema itself refused: then there is no field, but the message names it.
    fn is_of_the_schema(&self, face: Face, of: &str) -> bool {
        matches!(self, Self::Error { field, message, .. }
            if face == Face::Graphql && field.is_empty() && !of.is_empty() && message.contains(&camel(of)))
    }

    /// How `other`, through `face`, differs from this, which MCP says.
    fn unlike(&self, other: &Self, face: Face, use_case: &UseCase) -> Option<String> {
        let mut told = self.clone();
        match &mut told {
            Self::Error { field, .. } if other.is_of_the_schema(face, field) => return None,
            Self::Reply(Value::Object(parts)) if face == Face::Graphql => {
                parts.retain(|name, _| !use_case.left_out.contains(&name.as_str()));
            }
            _ => {}
        }
        (told != *other).then(|| format!("{other:?} instead of {told:?}"))
    }
}

/// The first line in which two dumps differ.
fn difference(one: &str, other: &str) -> Option<String> {
    let mut pairs = one.lines().zip(other.lines());
    let differing = pairs.find(|(one, other)| one != other).map(|(one, other)| format!("{one} is {other}"));
    differing.or_else(|| (one != other).then(|| "one has more".to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_use_case_of_a_face_has_its_cases_or_a_reason() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let of =
        |names: &[(&'static str, &'static str)]| names.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    let tools = listing(&ann).await;
    let served: BTreeSet<String> = tools.keys().cloned().collect();
    let with_tool = || USE_CASES.iter().filter(|row| row.has_tool());
    assert_eq!(served, with_tool().map(|row| row.tool.to_owned()).collect());

    let schema = crate::graphql::data(
        &ann,
        "{ __schema { queryType { fields { name } } mutationType { fields { name } } } }",
        json!({}),
    )
    .await;
    let fields: BTreeSet<String> = ["queryType", "mutationType"]
        .iter()
        .flat_map(|root| schema["__schema"][root]["fields"].as_array().expect("fields"))
        .map(|field| field["name"].as_str().expect("a name").to_owned())
        .collect();
    let expected = USE_CASES.iter().filter_map(|row| row.field).map(|(field, _)| field.to_owned());
    assert_eq!(fields, expected.chain(of(FIELDS_ALONE)).collect());

    let home = Home::new();
    let help = |args: &[&str]| String::from_utf8(home.run(args).stdout).expect("text");
    let commands = |group: &[&str]| -> BTreeSet<String> {
        let listed = help(&[group, &["--help"]].concat());
        let commands = listed.split("Commands:").nth(1).and_then(|rest| rest.split("Options:").next());
        let lines =
            commands.expect("commands").lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = lines.filter_map(|line| line.split_whitespace().next());
        names.map(|name| [group, &[name]].concat().join(" ")).collect()
    };
    let first = |verb: &str| verb.split(' ').next().expect("a word").to_owned();
    assert_eq!(commands(&[]), USE_CASES.iter().map(|row| first(row.verb)).chain(of(VERBS_ALONE)).collect());
    for group in ["wiki", "review"] {
        let verbs = USE_CASES.iter().map(|row| row.verb.to_owned()).chain(of(SUBVERBS_ALONE));
        assert_eq!(commands(&[group]), verbs.filter(|verb| verb.starts_with(&format!("{group} "))).collect());
    }
    for row in with_tool() {
        let help = help(&row.verb.split(' ').chain(["--help"]).collect::<Vec<_>>());
        for field in tools[row.tool]["inputSchema"]["properties"].as_object().expect("properties").keys() {
            if row.positional.contains(&field.as_str()) {
                continue;
            }
            let there = help.contains(&format!("{} ", flag(row.verb, field)))
                || help.contains(&format!("{}\n", flag(row.verb, field)));
            let excused = FLAGLESS.iter().any(|(verb, name, _)| *verb == row.verb && name == field);
            assert!(there != excused, "{} {field}", row.verb);
        }
    }

    let mut reached: BTreeSet<String> =
        of(UNREACHED).into_iter().chain(FAULTS.map(|(.., code)| code.to_owned())).collect();
    let tested: BTreeSet<&str> = cases().iter().map(|case| case.tool).collect();
    assert_eq!(tested.len(), USE_CASES.len(), "every use case has a case");
    reached.extend(cases().into_iter().filter_map(|case| match case.then {
        Then::Refused(code, _) => Some(code.to_owned()),
        Then::Told(_) => None,
    }));
    assert_eq!(reached, ErrorCode::TABLE.iter().map(|(_, name, _)| (*name).to_owned()).collect());
}

const FAULTS: [(&str, PortErrorKind, &str); 4] = [
    ("unavailable", PortErrorKind::Unavailable, "UNAVAILABLE"),
    ("timeout", PortErrorKind::Timeout, "TIMEOUT"),
    ("conflict", PortErrorKind::Conflict, "CONFLICT"),
    ("internal", PortErrorKind::Internal, "INTERNAL"),
];

/// Fails at a text that names a fault.
struct Faulty(Arc<dyn Embedder>);

#[async_trait::async_trait]
impl Embedder for Faulty {
    fn card(&self) -> &ModelCard {
        self.0.card()
    }
    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
        match FAULTS.iter().find(|(name, ..)| texts.iter().any(|text| text.contains(name))) {
            Some((_, kind, _)) => Err(PortError::new(*kind, "models", "embed", "no such table: secret_plans")),
            None => self.0.embed_passages(texts).await,
        }
    }
    async fn embed_query(&self, text: &str) -> Result<Vec<f32>, PortError> {
        self.0.embed_query(text).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_has_the_same_code_through_every_face_and_tells_nothing() {
    let use_case = &USE_CASES[0];
    let mut said: BTreeMap<&str, Vec<Said>> = BTreeMap::new();
    for face in [Face::Mcp, Face::CommandLine, Face::Graphql] {
        let world = World::start(face, |embedder| Arc::new(Faulty(embedder))).await;
        let tools = listing(&world.clients["ann"]).await;
        let before = world.app.counts().await.memories;
        for (name, _, code) in FAULTS {
            let input = json!({"content": format!("a text of the {name} kind"), "source": "observed"});
            let case = refused("memory_store", input.clone(), code, "");
            let answer = world.say(&case, use_case, &input, &tools["memory_store"]["outputSchema"]).await;
            let answer = answer.expect("every face stores");
            let Said::Error { code: found, field, message } = &answer else { panic!("{face:?} {name}: {answer:?}") };
            assert_eq!((found.as_str(), field.as_str()), (code, ""), "{face:?} {name}");
            assert!(!message.contains("secret") && !message.contains("table"), "{face:?}: {message}");
            said.entry(name).or_default().push(answer);
        }
        assert_eq!(world.app.counts().await.memories, before, "{face:?}");
    }
    for (name, said) in said {
        assert!(said.iter().all(|one| *one == said[0]), "{name}: {said:?}");
    }
}

/// The command line answers alike with and without a service.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_answers_as_a_service_does() {
    let app = App::start().await;
    let admin = app.client("admin", &[], &[Right::Admin]).await;
    let home = Home::new();
    let mut ids = Vec::new();
    let both = |args: &[&str]| {
        let service = ["--json", "--url", &admin.url, "--token", &admin.token];
        [home.run(&[args, &service[..1]].concat()), home.run(&[args, &service].concat())].map(|output| said_by(&output))
    };
    for said in both(&["store", "The gate opens at nine.", "--idempotency-key", "k"]) {
        let Said::Reply(reply) = said else { panic!("{said:?}") };
        ids.push(reply["id"].as_str().expect("an id").to_owned());
    }
    for (args, code) in [
        (&["store", "The gate opens at ten.", "--idempotency-key", "k"][..], "IDEMPOTENCY_KEY_REUSED"),
        (&["store", "x", "--kind", "dreamt"], "BAD_USER_INPUT"),
        (&["store", "x", "--title", &"x".repeat(600)], "PAYLOAD_TOO_LARGE"),
        (&["get", NOBODY], "NOT_FOUND"),
        (&["store", "x", "--group", "red"], "FORBIDDEN"),
    ] {
        let [folder, service] = both(args);
        assert_eq!(folder, service, "{args:?}");
        assert!(matches!(&folder, Said::Error { code: found, .. } if found == code), "{args:?}: {folder:?}");
    }
    let [here, there] = [&ids[0], &ids[1]];
    let url = format!("--url={}", admin.url);
    let token = format!("--token={}", admin.token);
    let stale = |id: &str, more: &[&str]| {
        let args = [&["update", id, "--expected-revision", "7", "--content", "x", "--json"], more].concat();
        said_by(&home.run(&args))
    };
    let folder = stale(here, &[]);
    assert!(matches!(&folder, Said::Error { code, .. } if code == "CONFLICT"), "{folder:?}");
    assert_eq!(folder, stale(there, &[&url, &token]));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_refused_alike() {
    let app = App::start().await;
    let root = app.client("root", &[], &[Right::Admin]).await;
    let home = Home::new();
    let create = "mutation($input: CreateTokenInput!) { createToken(input: $input) { userErrors { code } } }";
    for (principal, kind, right) in [
        ("bot", "agent", "admin"),
        ("bot", "robot", "memory:read"),
        ("", "human", "memory:read"),
        ("bot", "human", "fly"),
    ] {
        let capitals = |name: &str| name.to_uppercase().replace(':', "_");
        let input = json!({"principal": principal, "kind": capitals(kind), "rights": [capitals(right)]});
        let body = json!({"query": create, "variables": {"input": input}}).to_string();
        let answer: Value = crate::graphql::post(&root, &body).await.json().await.expect("JSON");
        let codes =
            [&answer["errors"][0]["extensions"]["code"], &answer["data"]["createToken"]["userErrors"][0]["code"]];
        assert!(codes.contains(&&json!("BAD_USER_INPUT")), "{answer}");
        let args = ["token", "create", "--json", "--principal", principal, "--kind", kind, "--rights", right];
        let output = home.run(&args);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(matches!(said_by(&output), Said::Error { code, .. } if code == "BAD_USER_INPUT"), "{output:?}");
    }
    assert_eq!(home.json(&["token", "list"]), json!({"tokens": []}));
    assert_eq!(app.service.tokens().tokens().await.expect("tokens").len(), 1);
}
