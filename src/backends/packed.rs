//! A row of the outbox as stores keep it: JSON, and apart from it the numbers of its vectors, which JSON would bloat.

use crate::domain::IndexOp;

/// An operation as JSON without its vectors' numbers, and those numbers: for each vector its length (u32) and its f32s,
/// little-endian. `None` for what cannot be written so.
pub(super) fn pack(mut op: IndexOp) -> Option<(String, Option<Vec<u8>>)> {
    let numbers = match &mut op {
        IndexOp::Upsert(point) => {
            let mut packed = Vec::new();
            for named in &mut point.vectors {
                let vector = std::mem::take(&mut named.vector);
                packed.extend_from_slice(&u32::try_from(vector.len()).ok()?.to_le_bytes());
                packed.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
            }
            Some(packed)
        }
        IndexOp::Retire { .. } | IndexOp::SetPayload { .. } | IndexOp::Delete { .. } => None,
    };
    Some((serde_json::to_string(&op).ok()?, numbers))
}

/// The reverse of [`pack`]; `None` for what it did not write.
pub(super) fn unpack(op: &str, numbers: Option<&[u8]>) -> Option<IndexOp> {
    let mut op: IndexOp = serde_json::from_str(op).ok()?;
    if let IndexOp::Upsert(point) = &mut op {
        let mut rest = numbers?;
        for named in &mut point.vectors {
            let (length, tail) = rest.split_first_chunk()?;
            let bytes = u32::from_le_bytes(*length) as usize * size_of::<f32>();
            let (vector, tail) = tail.split_at_checked(bytes)?;
            named.vector = vector.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect();
            rest = tail;
        }
    }
    Some(op)
}
