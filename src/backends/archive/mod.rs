//! An archive: a folder with a `manifest.json` and, for each part, a file of JSON lines.
//!
//! The manifest has the format, and count, size and SHA-256 of each file. A folder is an archive from the moment it gets its name,
//! whole; [`ArchiveFolder::open`] reads every byte before it gives a row. It knows nothing of stores.
//!
//! To change the format: raise [`FORMAT`], read the older ones too, and keep a sample as `tests/it/data/archive-vN`.

mod writer;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::{
    fs::File,
    io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, BufReader},
};

pub use self::writer::ArchiveWriter;
use crate::ports::{ArchiveSource, Part, PortError, PortErrorKind, Row, RowPage};

/// The format that is written. Every one up to it is read.
pub const FORMAT: u32 = 3;

const MANIFEST: &str = "manifest.json";

/// A folder that is no archive, or cannot be one.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It has no manifest.
    #[error("{0} is not an archive: it has no manifest.json")]
    NoManifest(PathBuf),
    /// It is of a later program.
    #[error("{path} has format {found}, this program knows up to {known}; use a newer program")]
    Newer {
        /// The folder.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest that is known.
        known: u32,
    },
    /// A file is not what was written.
    #[error("{path} is damaged: {why}; use another copy of the archive, or export again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How one sees it.
        why: String,
    },
    /// The folder to write is there.
    #[error("{0} is there already and not empty; name another folder")]
    Exists(PathBuf),
    /// The file system refused.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ArchiveError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }

    fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.into() }
    }

    fn during(self, operation: &'static str) -> PortError {
        let kind = match self {
            Self::File { .. } => PortErrorKind::Unavailable,
            _ => PortErrorKind::Corrupt,
        };
        PortError::new(kind, "archive", operation, self)
    }
}

/// What an archive says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Of the files.
    pub format: u32,
    /// Name and version of the program that wrote it.
    pub program: String,
    /// When it was finished.
    pub written_at: Timestamp,
    /// Where the store stood.
    pub identity: String,
    /// The files. Tokens and vectors may be missing, the others not.
    pub parts: BTreeMap<Part, PartFile>,
}

/// One file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartFile {
    /// Its lines.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its bytes, hexadecimal.
    pub sha256: String,
}

/// An archive that was found whole.
#[derive(Debug)]
pub struct ArchiveFolder {
    dir: PathBuf,
    manifest: Manifest,
    identity: String,
}

impl ArchiveFolder {
    /// Reads every file and holds it against the manifest; `progress` is told bytes read and in all.
    pub async fn open(dir: &Path, mut progress: impl FnMut(u64, u64)) -> Result<Self, ArchiveError> {
        let path = dir.join(MANIFEST);
        let text = match tokio::fs::read(&path).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ArchiveError::NoManifest(dir.to_owned()));
            }
            read => read.map_err(ArchiveError::at(&path))?,
        };
        let manifest = manifest(dir, &path, &text)?;
        let total = manifest.parts.values().map(|file| file.bytes).sum();
        let mut done = 0;
        for (&part, file) in &manifest.parts {
            check(&dir.join(name(part)), file, |bytes| {
                done += bytes;
                progress(done, total);
            })
            .await?;
        }
        Ok(Self { dir: dir.to_owned(), manifest, identity: hex::encode(Sha256::digest(&text)) })
    }

    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    async fn page(&self, part: Part, from: Option<&str>, limit: usize) -> Result<RowPage, ArchiveError> {
        let mut rows = Vec::new();
        if !self.manifest.parts.contains_key(&part) {
            return Ok(RowPage { rows, next: None });
        }
        let path = self.dir.join(name(part));
        let mut place: u64 = match from {
            Some(from) => from.parse().map_err(|_| ArchiveError::damaged(&path, "it has no such place"))?,
            None => 0,
        };
        let mut file = File::open(&path).await.map_err(ArchiveError::at(&path))?;
        file.seek(io::SeekFrom::Start(place)).await.map_err(ArchiveError::at(&path))?;
        let mut lines = BufReader::new(file);
        let mut line = String::new();
        while rows.len() < limit {
            line.clear();
            let read = lines.read_line(&mut line).await.map_err(ArchiveError::at(&path))?;
            if read == 0 {
                return Ok(RowPage { rows, next: None });
            }
            let row = Row::parse(part, &line)
                .map_err(|error| ArchiveError::damaged(&path, format!("the row at byte {place}: {error}")))?;
            rows.push(row);
            place += read as u64;
        }
        Ok(RowPage { rows, next: Some(place.to_string()) })
    }
}

#[async_trait]
impl ArchiveSource for ArchiveFolder {
    /// Of the manifest, which has the hashes of all files.
    async fn identity(&self) -> Result<String, PortError> {
        Ok(format!("archive {}", self.identity))
    }

    async fn count(&self, part: Part) -> Result<u64, PortError> {
        Ok(self.manifest.parts.get(&part).map_or(0, |file| file.rows))
    }

    async fn rows(&self, part: Part, from: Option<&str>, limit: usize) -> Result<RowPage, PortError> {
        self.page(part, from, limit).await.map_err(|error| error.during("rows"))
    }
}

fn name(part: Part) -> String {
    format!("{part}.jsonl")
}

fn manifest(dir: &Path, path: &Path, text: &[u8]) -> Result<Manifest, ArchiveError> {
    /// All that manifests of later formats are sure to have.
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let unreadable = |error: serde_json::Error| ArchiveError::damaged(path, error.to_string());
    let Format { format } = serde_json::from_slice(text).map_err(unreadable)?;
    if format > FORMAT {
        return Err(ArchiveError::Newer { path: dir.to_owned(), found: format, known: FORMAT });
    }
    let manifest: Manifest = serde_json::from_slice(text).map_err(unreadable)?;
    for part in Part::ALL {
        // The first format is from before the wiki, the second from before the terms of ontologies.
        let is_later = match part {
            Part::Records => manifest.format < 2,
            Part::OntologyVersions | Part::Terms => manifest.format < 3,
            _ => false,
        };
        if !is_later && !matches!(part, Part::Tokens | Part::Vectors) && !manifest.parts.contains_key(part) {
            return Err(ArchiveError::damaged(path, format!("it does not name {}", name(*part))));
        }
    }
    Ok(manifest)
}

async fn check(path: &Path, expected: &PartFile, mut progress: impl FnMut(u64)) -> Result<(), ArchiveError> {
    let mut file = match File::open(path).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ArchiveError::damaged(path, "it is missing"));
        }
        opened => opened.map_err(ArchiveError::at(path))?,
    };
    let mut found = Tally::default();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer).await.map_err(ArchiveError::at(path))?;
        if read == 0 {
            break;
        }
        found.take(&buffer[..read]);
        progress(read as u64);
    }
    let found = found.file();
    if found.bytes != expected.bytes {
        let why = format!("it has {} bytes, the manifest says {}", found.bytes, expected.bytes);
        return Err(ArchiveError::damaged(path, why));
    }
    if found != *expected {
        return Err(ArchiveError::damaged(path, "its SHA-256 is not the manifest's"));
    }
    Ok(())
}

/// What a manifest says of a file, gathered while its bytes pass.
#[derive(Default)]
struct Tally {
    rows: u64,
    bytes: u64,
    hash: Sha256,
}

impl Tally {
    fn take(&mut self, bytes: &[u8]) {
        self.rows += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.bytes += bytes.len() as u64;
        self.hash.update(bytes);
    }

    fn file(self) -> PartFile {
        PartFile { rows: self.rows, bytes: self.bytes, sha256: hex::encode(self.hash.finalize()) }
    }
}
