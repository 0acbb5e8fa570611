//! Writing an archive: in a folder beside, which gets its name when everything in it is on disk.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use tokio::{
    fs::{self, File},
    io::{AsyncWriteExt, BufWriter},
};

use super::{ArchiveError, FORMAT, MANIFEST, Manifest, PartFile, Tally, name};
use crate::ports::{Part, Row};

/// An archive that is being written. Without [`Self::finish`] there is none.
pub struct ArchiveWriter {
    dir: PathBuf,
    partial: PathBuf,
    files: BTreeMap<Part, Open>,
}

struct Open {
    path: PathBuf,
    file: BufWriter<File>,
    tally: Tally,
}

impl ArchiveWriter {
    /// Begins an archive of these parts. `dir` must not be there, or be empty; what a write that was cut short left beside it is
    /// removed.
    pub async fn create(dir: &Path, parts: &[Part]) -> Result<Self, ArchiveError> {
        // Without a slash at its end.
        let dir: PathBuf = dir.components().collect();
        let mut partial = dir.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        match fs::read_dir(&dir).await {
            Ok(mut entries) => {
                if entries.next_entry().await.map_err(ArchiveError::at(&dir))?.is_some() {
                    return Err(ArchiveError::Exists(dir));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(ArchiveError::at(&dir)(error)),
        }
        match fs::remove_dir_all(&partial).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(ArchiveError::at(&partial)(error)),
            _ => {}
        }
        // Memories of all scopes: for the owner alone.
        fs::DirBuilder::new().mode(0o700).recursive(true).create(&partial).await.map_err(ArchiveError::at(&partial))?;
        let mut files = BTreeMap::new();
        for &part in parts {
            let path = partial.join(name(part));
            let file = private(&path).await?;
            files.insert(part, Open { path, file: BufWriter::new(file), tally: Tally::default() });
        }
        Ok(Self { dir, partial, files })
    }

    /// Adds rows of a part.
    pub async fn add(&mut self, part: Part, rows: &[Row]) -> Result<(), ArchiveError> {
        let Some(Open { path, file, tally }) = self.files.get_mut(&part) else {
            return Err(ArchiveError::damaged(&self.partial, format!("it has no {part}")));
        };
        for row in rows {
            let mut line =
                serde_json::to_vec(row).map_err(|error| ArchiveError::damaged(path, format!("a row: {error}")))?;
            line.push(b'\n');
            file.write_all(&line).await.map_err(ArchiveError::at(path))?;
            tally.take(&line);
        }
        Ok(())
    }

    /// Makes everything durable and gives the folder its name.
    pub async fn finish(self, identity: String, written_at: Timestamp) -> Result<Manifest, ArchiveError> {
        let mut parts: BTreeMap<Part, PartFile> = BTreeMap::new();
        for (part, Open { path, mut file, tally }) in self.files {
            file.flush().await.map_err(ArchiveError::at(&path))?;
            file.get_ref().sync_all().await.map_err(ArchiveError::at(&path))?;
            parts.insert(part, tally.file());
        }
        let program = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_owned();
        let manifest = Manifest { format: FORMAT, program, written_at, identity, parts };
        let path = self.partial.join(MANIFEST);
        let text =
            serde_json::to_vec_pretty(&manifest).map_err(|error| ArchiveError::damaged(&path, error.to_string()))?;
        let mut file = private(&path).await?;
        file.write_all(&text).await.map_err(ArchiveError::at(&path))?;
        file.sync_all().await.map_err(ArchiveError::at(&path))?;
        sync(&self.partial).await?;
        fs::rename(&self.partial, &self.dir).await.map_err(ArchiveError::at(&self.dir))?;
        let parent = self.dir.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync(parent.unwrap_or(Path::new("."))).await?;
        Ok(manifest)
    }
}

async fn private(path: &Path) -> Result<File, ArchiveError> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).await.map_err(ArchiveError::at(path))
}

async fn sync(folder: &Path) -> Result<(), ArchiveError> {
    let opened = File::open(folder).await.map_err(ArchiveError::at(folder))?;
    opened.sync_all().await.map_err(ArchiveError::at(folder))
}
