//! What every journal does.

use recollect::{
    domain::{NamedVector, Op, Scope},
    ports::Journal,
};

use crate::support::{change, id, memory};

macro_rules! journal_suite {
    ($open:path) => {
        crate::contract::suite!(
            $open,
            journal,
            [
                entries_come_back_whole_and_in_order,
                done_entry_is_gone_and_its_number_is_not_reused,
                dead_letter_blocks_nobody_and_waits_for_a_person
            ]
        );
    };
}
pub(crate) use journal_suite;

fn entry(n: u64) -> recollect::domain::ChangeSet {
    let memory = Box::new(memory(n, &Scope::Global, "记住 \"this\"\u{0}"));
    let vectors = vec![NamedVector { space: "e5".to_owned(), vector: vec![0.1, -f32::MIN_POSITIVE, 1.0 / 3.0] }];
    change(n, vec![Op::PutMemory { memory, expected_revision: 0, vectors }, Op::Touch { ids: vec![id(n)] }])
}

pub async fn entries_come_back_whole_and_in_order(journal: &dyn Journal) {
    journal.append(&[]).await.unwrap();
    journal.append(&[entry(2), entry(1)]).await.unwrap();
    journal.append(&[entry(3)]).await.unwrap();
    let pending = journal.pending(10).await.unwrap();
    assert_eq!(
        pending.iter().map(|waiting| waiting.change.clone()).collect::<Vec<_>>(),
        [entry(2), entry(1), entry(3)]
    );
    assert!(pending.is_sorted_by(|a, b| a.seq < b.seq));
    assert!(pending.iter().all(|waiting| waiting.attempts == 0 && !waiting.dead));
    assert_eq!(journal.pending(2).await.unwrap(), pending[..2]);
    assert_eq!(journal.entries(0, 10).await.unwrap(), pending);
    assert_eq!(journal.entries(pending[0].seq, 1).await.unwrap(), pending[1..2]);
}

pub async fn done_entry_is_gone_and_its_number_is_not_reused(journal: &dyn Journal) {
    journal.append(&[entry(1), entry(2)]).await.unwrap();
    let seqs: Vec<u64> = journal.pending(10).await.unwrap().iter().map(|waiting| waiting.seq).collect();
    journal.done(&seqs).await.unwrap();
    journal.done(&seqs).await.unwrap();
    assert_eq!(journal.pending(10).await.unwrap(), []);
    journal.append(&[entry(3)]).await.unwrap();
    assert!(journal.pending(1).await.unwrap()[0].seq > seqs[1]);
}

pub async fn dead_letter_blocks_nobody_and_waits_for_a_person(journal: &dyn Journal) {
    journal.append(&[entry(1), entry(2)]).await.unwrap();
    let seqs: Vec<u64> = journal.pending(10).await.unwrap().iter().map(|waiting| waiting.seq).collect();
    let (poison, good) = (seqs[0], seqs[1]);
    journal.failed(poison, false).await.unwrap();
    let pending = journal.pending(10).await.unwrap();
    assert_eq!(
        pending.iter().map(|waiting| (waiting.seq, waiting.attempts)).collect::<Vec<_>>(),
        [(poison, 1), (good, 0)]
    );
    journal.failed(poison, true).await.unwrap();
    journal.failed(poison, false).await.unwrap();
    let pending = journal.pending(10).await.unwrap();
    assert_eq!(pending.iter().map(|waiting| waiting.seq).collect::<Vec<_>>(), [good]);
    assert_eq!(journal.lengths().await.unwrap(), (1, 1));
    let all = journal.entries(0, 10).await.unwrap();
    assert_eq!(all.iter().map(|entry| (entry.seq, entry.dead)).collect::<Vec<_>>(), [(poison, true), (good, false)]);
    journal.done(&[poison]).await.unwrap();
    assert_eq!(journal.lengths().await.unwrap(), (1, 1), "a dead letter is not done");

    assert_eq!(journal.retry(Some(good)).await.unwrap(), 0, "it is not dead");
    assert_eq!(journal.retry(Some(poison)).await.unwrap(), 1);
    let pending = journal.pending(10).await.unwrap();
    assert_eq!(
        pending.iter().map(|waiting| (waiting.seq, waiting.attempts)).collect::<Vec<_>>(),
        [(poison, 0), (good, 0)]
    );
    journal.failed(poison, true).await.unwrap();
    assert_eq!(journal.discard(Some(good)).await.unwrap(), 0, "it is not dead");
    assert_eq!(journal.discard(None).await.unwrap(), 1);
    assert_eq!(journal.lengths().await.unwrap(), (1, 0));
}
