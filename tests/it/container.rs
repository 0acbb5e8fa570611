//! The container files, as far as they can be checked without an engine: what they name is there, no secret has a default, and,
//! where the client is present, it takes them.

use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

use regex::Regex;

const COMPOSE: [&str; 2] = ["docker-compose.yml", "docker-compose.embedded.yml"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn settings_of_the_containers_are_settings_of_the_program() {
    let defaults: toml::Table = toml::from_str(&read("config.default.toml")).unwrap();
    let variable = Regex::new(r"\bRECOLLECT_([A-Z0-9_]+)").unwrap();
    let mut found = BTreeSet::new();
    for name in COMPOSE.into_iter().chain(["Dockerfile"]) {
        let text = read(name);
        found.extend(variable.captures_iter(&text).map(|found| found[1].to_owned()));
    }
    // The one variable that is no key: where the models are.
    assert!(found.remove("MODELS"));
    assert!(found.len() > 5, "{found:?}");
    for variable in found {
        let mut value = toml::Value::Table(defaults.clone());
        for key in variable.to_lowercase().split("__") {
            value = value.get(key).unwrap_or_else(|| panic!("RECOLLECT_{variable}: there is no {key}")).clone();
        }
        assert!(!value.is_table(), "RECOLLECT_{variable} is a section");
    }
}

#[test]
fn secrets_have_no_default_and_ports_are_of_loopback() {
    let (secret, port) = (
        Regex::new(r"(?mi)^\s*\S*(?:password|auth|api_?key|secret|token)\S*:\s*(\S.*)$").unwrap(),
        Regex::new(r#"(?m)^\s*- "([\d.]+:)?\d+:\d+"$"#).unwrap(),
    );
    let mut secrets = 0;
    for name in COMPOSE {
        let text = read(name);
        for found in secret.captures_iter(&text) {
            assert!(found[1].contains(":?"), "{name}: {} has no variable that must be set", &found[0]);
            secrets += 1;
        }
        let ports: Vec<_> = port.captures_iter(&text).collect();
        assert_eq!(ports.len(), 1, "{name}: the service alone is published");
        assert_eq!(ports[0].get(1).map(|host| host.as_str()), Some("127.0.0.1:"), "{name}");
    }
    assert_eq!(secrets, 4);
}

#[test]
fn what_the_image_copies_is_there_and_it_does_not_run_as_root() {
    let dockerfile = read("Dockerfile");
    let copied = Regex::new(r"(?m)^COPY (\S+) \S+$").unwrap();
    for found in copied.captures_iter(&dockerfile) {
        assert!(root().join(&found[1]).exists(), "{}", &found[0]);
    }
    let last = dockerfile.rsplit("\nFROM ").next().unwrap();
    assert!(last.contains("\nUSER recollect\n") && last.contains("\nHEALTHCHECK "), "{last}");
}

#[test]
fn compose_takes_its_files() {
    let compose = |program: &str, args: &[&str]| Command::new(program).args(args).output();
    let client: Option<&[&str]> = [&["docker", "compose"][..], &["docker-compose"]].into_iter().find(|client| {
        compose(client[0], &[&client[1..], &["version"]].concat()).is_ok_and(|output| output.status.success())
    });
    let Some(client) = client else {
        println!("skipped: neither `docker compose` nor docker-compose is here to read {COMPOSE:?}");
        return;
    };
    for name in COMPOSE {
        let file = root().join(name);
        let run = |secret: Option<&str>| {
            let mut command = Command::new(client[0]);
            command.args(&client[1..]).arg("-f").arg(&file).args(["config", "-q"]).current_dir(root());
            for variable in ["NEO4J_PASSWORD", "QDRANT_API_KEY"] {
                match secret {
                    Some(secret) => command.env(variable, secret),
                    None => command.env_remove(variable),
                };
            }
            command.output().unwrap()
        };
        let taken = run(Some("a-test-alone"));
        assert!(taken.status.success(), "{name}: {taken:?}");
        if name == "docker-compose.yml" && !root().join(".env").exists() {
            let refused = run(None);
            assert!(!refused.status.success(), "{name} starts without its secrets");
        }
    }
}
