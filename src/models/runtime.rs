//! ONNX Runtime: found, checked and loaded before the first model, so that a fault is a message and not a hang or a panic
//! inside the first inference.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, mpsc},
    time::Duration,
};

use super::error::ModelError;

/// A library that takes longer to load hangs.
const DEADLINE: Duration = Duration::from_secs(20);

/// The library that this process uses; there can be only one.
static LOADED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Where the library is looked for: `chosen` unless empty, else in the models folder.
pub fn runtime_file(chosen: &Path, models_dir: &Path) -> PathBuf {
    if chosen.as_os_str().is_empty() {
        let name = format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        models_dir.join("onnxruntime").join(name)
    } else {
        chosen.to_owned()
    }
}

/// Loads the library at `path`, once for the process. Blocks, at most 20 s.
pub(super) fn load(path: &Path) -> Result<(), ModelError> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.as_deref() == Some(path) {
        return Ok(());
    }
    let wrong = |reason: String| ModelError::Runtime { path: path.to_owned(), reason };
    if !path.exists() {
        return Err(ModelError::MissingRuntime { path: path.to_owned() });
    }
    if !path.is_file() {
        return Err(wrong("it is not a file".to_owned()));
    }
    if let Some(other) = &*loaded {
        return Err(wrong(format!("this process has loaded {} already", other.display())));
    }
    let (sender, receiver) = mpsc::channel();
    // Relative paths would be taken from the folder of the program.
    let library = std::path::absolute(path).map_err(|error| wrong(error.to_string()))?;
    std::thread::spawn(move || {
        let result = ort::init_from(&library).map(drop).map_err(|error| error.to_string());
        // Nobody listens after the deadline.
        let _ = sender.send(result);
    });
    match receiver.recv_timeout(DEADLINE) {
        Ok(Ok(())) => {
            *loaded = Some(path.to_owned());
            Ok(())
        }
        Ok(Err(reason)) => Err(wrong(reason)),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(wrong(format!("it did not load within {} s", DEADLINE.as_secs()))),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(wrong("loading it panicked".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_that_cannot_be_used_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = runtime_file(Path::new(""), dir.path());
        let message = load(&missing).unwrap_err().to_string();
        assert!(message.contains("missing") && message.contains("make models") && message.contains("onnxruntime"), "{message}");

        let garbage = dir.path().join("garbage.so");
        std::fs::write(&garbage, "not a library").unwrap();
        let message = load(&runtime_file(&garbage, dir.path())).unwrap_err().to_string();
        assert!(message.contains("cannot be used") && message.contains("garbage.so"), "{message}");

        let message = load(dir.path()).unwrap_err().to_string();
        assert!(message.contains("not a file"), "{message}");
    }
}
