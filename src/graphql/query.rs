//! What can be asked.

use async_graphql::{Context, ID, MergedObject, Object, Result};

use super::{
    convert::{self, NodeType, plain, reply, request},
    input::{AssociateInput, ExplainInput, MemoryFilter, RecallInput},
    loader::{ConceptOf, MemoryOf, PageOf, ProposalOf, asking, service},
    names::{DateTime, Format},
    page::{
        self, ConceptConnection, EventConnection, MemoryConnection, RowConnection, Total, TreeConceptConnection, page,
    },
    review_query::ReviewQuery,
    types::{
        Association, Concept, Event, Explanation, Me, Memory, Node, OntologyVersion, PromptBlock, Recall,
        ServiceStatus, Session, Task, Token,
    },
};
use crate::{
    domain::{ConceptId, EventId, MemoryId, PageId, ProposalId},
    error::{Error, ErrorCode},
    ports::Group,
    read::{GetRequest, browse::ListRequest},
};

/// Nodes that one request reads by their ids.
const NODES_MAX: usize = 100;

/// Everything that can be asked of the memory. A caller sees its own records, those of its groups and the global ones; the
/// id of another's record answers as an unknown one.
#[derive(MergedObject, Default)]
pub(super) struct Query(MemoryQuery, ReviewQuery);

/// Questions to memories, and about the service.
#[derive(Default)]
pub(super) struct MemoryQuery;

#[Object]
impl MemoryQuery {
    /// A memory by its id, whatever its status.
    async fn memory(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "A global or a plain id.")] id: ID,
        #[graphql(desc = "Only if it was true in the world then.")] as_of: Option<DateTime>,
        #[graphql(desc = "As it was believed then.")] known_at: Option<DateTime>,
    ) -> Result<Option<Memory>> {
        let id = plain(NodeType::Memory, &id);
        if as_of.is_none() && known_at.is_none() {
            return asking(ctx)?.loader.load_one(MemoryOf(crate::input::memory_id("id", &id)?)).await;
        }
        let [as_of, known_at] = [as_of, known_at].map(|moment| moment.map(|moment| moment.0));
        let request = GetRequest { ids: vec![id], as_of, known_at, cursor: None };
        match service(ctx)?.get(&asking(ctx)?.caller, request).await {
            Ok(found) => Ok(found.memories.first().map(reply).transpose()?),
            Err(error) if error.code == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Memories that meet the conditions, latest first.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn memories(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Conditions. Default none.")] filter: Option<MemoryFilter>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<MemoryConnection> {
        let request: ListRequest = request(&filter.unwrap_or_default())?;
        let found = service(ctx)?.list(&asking(ctx)?.caller, &request, &page(first, after)).await?;
        page::memories(found, Total::Listed(request))
    }

    /// Memories that answer a question, best first, each with its score and why.
    #[graphql(complexity = "10 + 10 * child_complexity")]
    async fn recall(&self, ctx: &Context<'_>, #[graphql(desc = "The question.")] input: RecallInput) -> Result<Recall> {
        Ok(reply(&service(ctx)?.recall(&asking(ctx)?.caller, request(&input)?).await?)?)
    }

    /// What a question, or given memories, bring to mind through the graph, each with the path that leads to it.
    #[graphql(complexity = "10 + 10 * child_complexity")]
    async fn associate(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Where to start, and how far to go.")] input: AssociateInput,
    ) -> Result<Association> {
        Ok(reply(&service(ctx)?.associate(&asking(ctx)?.caller, request(&input)?).await?)?)
    }

    /// Where a memory stands for a question: its place, what each arm makes of it, and what keeps it back.
    async fn explain(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The memory and the question.")] input: ExplainInput,
    ) -> Result<Explanation> {
        Ok(reply(&service(ctx)?.explain(&asking(ctx)?.caller, request(&input)?).await?)?)
    }

    /// What a recall gives, as a block of text to put into a prompt. `format` of the input is taken as PROMPT.
    async fn prompt_block(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The question.")] input: RecallInput,
    ) -> Result<PromptBlock> {
        let input = RecallInput { format: Some(Format::Prompt), ..input };
        Ok(reply(&service(ctx)?.recall(&asking(ctx)?.caller, request(&input)?).await?)?)
    }

    /// A session by the name clients give it; null if the caller sees nothing in it.
    async fn session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Its name or its global id.")] id: ID,
    ) -> Result<Option<Session>> {
        let name = plain(NodeType::Session, &id);
        let group = Group::Session(name.clone());
        Ok(service(ctx)?.group(&asking(ctx)?.caller, &group).await?.map(|_| Session(name)))
    }

    /// A task by the name clients give it; null if the caller sees nothing in it.
    async fn task(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Its name or its global id.")] id: ID,
    ) -> Result<Option<Task>> {
        let name = plain(NodeType::Task, &id);
        let group = Group::Task(name.clone());
        Ok(service(ctx)?.group(&asking(ctx)?.caller, &group).await?.map(|_| Task(name)))
    }

    /// Raw events, earliest first. Give `session` or `task`, or neither for all.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn events(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Name of a session.")] session: Option<String>,
        #[graphql(desc = "Name of a task.")] task: Option<String>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<EventConnection> {
        let group = match (session, task) {
            (Some(_), Some(_)) => return Err(Error::bad_input("task", "give session or task, not both").into()),
            (Some(name), None) => Some(Group::Session(name)),
            (None, Some(name)) => Some(Group::Task(name)),
            (None, None) => None,
        };
        page::events(service(ctx)?.events(&asking(ctx)?.caller, group.as_ref(), &page(first, after)).await?)
    }

    /// Concepts of ontologies: those right below one, those at the top, or those with a name; by name.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn concept_tree(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "IRI of the concept to look below. Default: the top.")] below: Option<String>,
        #[graphql(desc = "Instead: those one of whose names contains this.")] search: Option<String>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<TreeConceptConnection> {
        let (below, search) = (below.as_deref(), search.as_deref());
        let found = service(ctx)?.concept_tree(&asking(ctx)?.caller, below, search, &page(first, after)).await?;
        page::tree(found)
    }

    /// Versions of all ontologies, latest first.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn ontology_versions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "Only those before this number.")] before: Option<i64>,
    ) -> Result<Vec<OntologyVersion>> {
        let first = crate::input::count("first", first.unwrap_or(20), 100)?;
        let first = i64::try_from(first).expect("at most a hundred");
        let versions = service(ctx)?.ontology_versions(&asking(ctx)?.caller, before, first).await?;
        versions.iter().map(|version| Ok(reply(version)?)).collect()
    }

    /// A concept by its id or by its name, if a visible memory names it or an ontology has it.
    async fn concept(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "A global or a plain id.")] id: Option<ID>,
        #[graphql(desc = "Its name in any spelling, or its IRI.")] label: Option<String>,
    ) -> Result<Option<Concept>> {
        match (id, label) {
            (Some(id), None) => {
                let id = plain(NodeType::Concept, &id);
                let id: ConceptId = id.parse().map_err(|error| Error::bad_input("id", error))?;
                match asking(ctx)?.loader.load_one(ConceptOf(id)).await? {
                    Some(concept) => Ok(Some(concept)),
                    None => unused(ctx, &id.to_string()).await,
                }
            }
            (None, Some(label)) => match service(ctx)?.concept_named(&asking(ctx)?.caller, &label).await? {
                Some(found) => Ok(Some(Concept::try_from(found)?)),
                None => unused(ctx, &label).await,
            },
            _ => Err(Error::bad_input("id", "give id or label, not both").into()),
        }
    }

    /// Concepts that a visible memory names, by name.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn concepts(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only those whose name contains this.")] search: Option<String>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<ConceptConnection> {
        page::concepts(service(ctx)?.concepts(&asking(ctx)?.caller, search.as_deref(), &page(first, after)).await?)
    }

    /// Who changed what, when and why, latest first. Needs the right ADMIN.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn audit_log(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<RowConnection> {
        page::rows(service(ctx)?.audit(&asking(ctx)?.caller, &page(first, after)).await?)
    }

    /// Bearer tokens, oldest first, without their secrets. Needs the right ADMIN.
    async fn tokens(&self, ctx: &Context<'_>) -> Result<Vec<Token>> {
        let tokens = service(ctx)?.list_tokens(&asking(ctx)?.caller).await?;
        Ok(tokens.into_iter().map(Token::try_from).collect::<std::result::Result<_, _>>()?)
    }

    /// How the service is.
    async fn status(&self, ctx: &Context<'_>) -> Result<ServiceStatus> {
        Ok(reply(&service(ctx)?.status(&asking(ctx)?.caller).await?)?)
    }

    /// Who is asking, and what it may do.
    async fn me(&self, ctx: &Context<'_>) -> Result<Me> {
        Ok(Me::try_from(&*asking(ctx)?.caller)?)
    }

    /// A record by its global id.
    async fn node(&self, ctx: &Context<'_>, #[graphql(desc = "A global id.")] id: ID) -> Result<Option<Node>> {
        node(ctx, &id).await
    }

    /// Records by their global ids, in the order asked; null for those that are unknown.
    #[graphql(complexity = "1 + ids.len() * child_complexity")]
    async fn nodes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Global ids, at most 100.")] ids: Vec<ID>,
    ) -> Result<Vec<Option<Node>>> {
        if ids.len() > NODES_MAX {
            return Err(Error::bad_input("ids", format!("at most {NODES_MAX} ids")).into());
        }
        // Side by side, so that the loader reads them together.
        futures::future::try_join_all(ids.iter().map(|id| node(ctx, id))).await
    }
}

/// A concept of an ontology that no memory names yet.
async fn unused(ctx: &Context<'_>, name: &str) -> Result<Option<Concept>> {
    match service(ctx)?.show_concept(&asking(ctx)?.caller, name).await {
        Ok(record) => Ok(Some(Concept::try_from(&record)?)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn node(ctx: &Context<'_>, id: &ID) -> Result<Option<Node>> {
    let unknown = || Error::bad_input("id", "not a global id").advise("take the id field of a record");
    let (of, key) = convert::parts(id).ok_or_else(unknown)?;
    let asking = asking(ctx)?;
    Ok(match of {
        NodeType::Memory => {
            let id: MemoryId = key.parse().map_err(|_| unknown())?;
            asking.loader.load_one(MemoryOf(id)).await?.map(Node::Memory)
        }
        NodeType::Concept => {
            let id: ConceptId = key.parse().map_err(|_| unknown())?;
            match asking.loader.load_one(ConceptOf(id)).await? {
                Some(concept) => Some(concept),
                None => unused(ctx, &key).await?,
            }
            .map(Node::Concept)
        }
        NodeType::Event => {
            let id: EventId = key.parse().map_err(|_| unknown())?;
            let found = service(ctx)?.events_by_id(&asking.caller, &[id]).await?;
            found.into_iter().next().map(Event::try_from).transpose()?.map(Node::Event)
        }
        NodeType::Session => {
            let group = Group::Session(key.clone());
            service(ctx)?.group(&asking.caller, &group).await?.map(|_| Node::Session(Session(key)))
        }
        NodeType::Task => {
            let group = Group::Task(key.clone());
            service(ctx)?.group(&asking.caller, &group).await?.map(|_| Node::Task(Task(key)))
        }
        NodeType::Page => {
            let id: PageId = key.parse().map_err(|_| unknown())?;
            asking.loader.load_one(PageOf(id)).await?.map(Node::Page)
        }
        NodeType::Proposal => {
            let id: ProposalId = key.parse().map_err(|_| unknown())?;
            asking.loader.load_one(ProposalOf(id)).await?.map(Node::Proposal)
        }
    })
}
