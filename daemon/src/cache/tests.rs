use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::value::RawValue;
use skills::offers::{Offered, Offers};
use skills::tool::Tool;
use tempfile::TempDir;

use super::*;
use crate::config::{Access, Endpoint, Launch};

const TOOL: &str = r#"{"zulu":1e3,"name":"t","n":123456789012345678901234567890,"a":1,"a":2,
  "inputSchema":{"type":"object"}}"#;

fn cache(directory: &TempDir) -> DefinitionCache {
    DefinitionCache::open(directory.path(), "/etc/mcp.json").unwrap()
}

fn name() -> ServerName {
    ServerName::new("a/../b")
}

fn definitions() -> Definitions {
    let raw: Arc<RawValue> = RawValue::from_string(TOOL.to_owned()).unwrap().into();
    Definitions {
        title: Some("Title".into()),
        version: Some("1".into()),
        instructions: Some("Two\nlines".into()),
        protocol: Some("2025-11-25".into()),
        tools: vec![Arc::new(Tool::parse(&name(), 0, raw).unwrap())],
        offers: Offers {
            resources: Some(vec![offered(r#"{"uri":"a:b", "size":1e1}"#)]),
            templates: Some(vec![offered(r#"{"uriTemplate":"a:{x}"}"#)]),
            prompts: Some(Vec::new()),
        },
    }
}

fn offered<T: Offered>(raw: &str) -> Arc<T> {
    let raw: Arc<RawValue> = RawValue::from_string(raw.to_owned()).unwrap().into();
    Arc::new(T::parse(&name(), 0, raw).unwrap())
}

#[test]
fn lists_beside_the_tools_are_kept_and_files_of_before_have_none() {
    let directory = tempfile::tempdir().unwrap();
    let cache = DefinitionCache::open(directory.path(), "/c").unwrap();
    let path = stored(&cache);
    let offers = cache.load(&name()).unwrap().definitions.offers.clone();
    assert!(offers.same(&definitions().offers));
    let resources = offers.resources.unwrap();
    assert_eq!(resources[0].raw().get(), r#"{"uri":"a:b", "size":1e1}"#);
    // As an earlier version wrote it.
    let mut file: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for list in ["resources", "resource_templates", "prompts"] {
        assert!(file.as_object_mut().unwrap().remove(list).is_some());
    }
    fs::write(&path, file.to_string()).unwrap();
    let definitions = cache.load(&name()).unwrap().definitions;
    assert_eq!(definitions.tools.len(), 1);
    assert!(definitions.offers.same(&Offers::default()));
    assert!(definitions.offers.prompts.is_none());
}

fn stored(cache: &DefinitionCache) -> PathBuf {
    let freshness = Freshness([7; 32]);
    cache
        .store(&name(), &definitions(), freshness, Some(Era::Discover))
        .unwrap();
    cache.definitions.as_ref().unwrap().path(&name())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_cache_that_keeps_nothing_does_no_harm() {
    let cache = DefinitionCache::unstored().unwrap();
    cache
        .store(&name(), &Definitions::default(), Freshness([1; 32]), None)
        .unwrap();
    assert!(cache.load(&name()).is_none());
}

#[test]
fn what_is_stored_is_found_again_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    let before = SystemTime::now() - std::time::Duration::from_secs(1);
    stored(&cache(&directory));
    let cached = cache(&directory).load(&name()).unwrap();
    assert!(cached.definitions.same(&definitions()));
    assert_eq!(cached.definitions.tools[0].raw.get(), TOOL);
    assert_eq!(cached.freshness, Freshness([7; 32]));
    assert_eq!(cached.era, Some(Era::Discover));
    assert!(cached.problems.is_empty());
    assert!(cached.listed > before && cached.listed <= SystemTime::now());
}

#[test]
fn the_names_alone_are_those_of_the_tools_that_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = stored(&cache(&directory));
    let names = || cache(&directory).definitions.unwrap().tool_names(&name());
    assert_eq!(names(), Some(vec!["t".to_owned()]));
    // Beside tools that the parser leaves out.
    let text = fs::read_to_string(&path).unwrap();
    let more = r#""tools":[{"name":"x"},{"name":"","inputSchema":{}},{"inputSchema":{}},{"name":"y","inputSchema":1},"#;
    fs::write(&path, text.replacen("\"tools\":[", more, 1)).unwrap();
    assert_eq!(names(), Some(vec!["t".to_owned()]));
    let cached = cache(&directory).load(&name()).unwrap();
    assert_eq!(cached.problems.len(), 4);
    fs::write(&path, "{}").unwrap();
    assert_eq!(names(), None);
}

#[test]
fn what_is_no_protocol_revision_is_not_taken_for_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = stored(&cache(&directory));
    let protocol = || {
        cache(&directory)
            .load(&name())
            .unwrap()
            .definitions
            .protocol
            .clone()
    };
    assert_eq!(protocol().as_deref(), Some("2025-11-25"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("2025-11-25", "2025-11-25. Obey")).unwrap();
    assert_eq!(protocol(), None);
}

#[test]
fn another_server_or_configuration_has_its_own() {
    let directory = tempfile::tempdir().unwrap();
    stored(&cache(&directory));
    assert!(cache(&directory).load(&ServerName::new("b")).is_none());
    let other = DefinitionCache::open(directory.path(), "/etc/other.json").unwrap();
    assert!(other.load(&name()).is_none());
}

#[test]
fn what_is_damaged_or_of_another_version_is_absent() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache(&directory);
    let path = stored(&cache);
    let good = fs::read_to_string(&path).unwrap();
    let bad = [
        String::new(),
        good[..good.len() / 2].to_owned(),
        good.replace("\"format\":1", "\"format\":2"),
        good.replace("a/../b", "other"),
        good.replace("0707", "07"),
        good.replace("\"listed\":", "\"listed\":-"),
    ];
    for content in bad {
        assert_ne!(content, good);
        fs::write(&path, &content).unwrap();
        assert!(cache.load(&name()).is_none(), "{content}");
    }
    fs::write(&path, &good).unwrap();
    assert!(cache.load(&name()).is_some());
}

#[test]
fn a_tool_that_can_not_be_read_any_more_is_a_problem_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache(&directory);
    let path = stored(&cache);
    let with_bad = fs::read_to_string(&path)
        .unwrap()
        .replace("\"tools\":[", "\"tools\":[{},");
    fs::write(&path, with_bad).unwrap();
    let cached = cache.load(&name()).unwrap();
    assert_eq!(cached.definitions.tools.len(), 1);
    assert_eq!(cached.problems.len(), 1);
}

#[test]
fn a_link_in_place_of_a_file_is_neither_followed_nor_written_through() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache(&directory);
    let path = stored(&cache);
    let elsewhere = directory.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert!(cache.load(&name()).is_none());

    fs::write(&elsewhere, "mine").unwrap();
    stored(&cache);
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
    assert!(cache.load(&name()).is_some());

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(cache.load(&name()).is_none());
    let problem = cache
        .store(&name(), &definitions(), Freshness([0; 32]), None)
        .unwrap_err();
    assert!(problem.to_string().contains(&*path.to_string_lossy()));
}

#[test]
fn nobody_else_can_read_it() {
    let directory = tempfile::tempdir().unwrap();
    let cache = DefinitionCache::open(&directory.path().join("new"), "x").unwrap();
    let path = stored(&cache);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&directory.path().join("new")), 0o700);
    assert_eq!(mode(&directory.path().join("new/key")), 0o600);
}

fn launch() -> Launch {
    Launch {
        command: "npx".into(),
        args: vec!["-y".into(), "server".into()],
        environment: BTreeMap::new(),
        directory: "/etc".into(),
        own_environment: BTreeMap::from([("TOKEN".into(), "secret".into())]),
    }
}

#[test]
fn freshness_follows_all_that_definitions_depend_on_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache(&directory);
    let freshness = |launch: &Launch, capabilities| {
        cache.freshness(&Access::Process(launch.clone()), capabilities)
    };
    let fresh = freshness(&launch(), "roots");
    let mut same = launch();
    same.environment
        .insert("SSH_TTY".into(), "/dev/pts/1".into());
    assert_eq!(freshness(&same, "roots"), fresh);

    let mut others = vec![launch(); 5];
    others[0].command = "npm".into();
    others[1].args = vec!["-yserver".into()];
    others[2].args = vec![
        "-y".into(),
        "server".into(),
        "TOKEN".into(),
        "secret".into(),
    ];
    others[2].own_environment.clear();
    others[3].directory = "/".into();
    others[4]
        .own_environment
        .insert("TOKEN".into(), "other".into());
    for other in &others {
        assert_ne!(freshness(other, "roots"), fresh, "{other:?}");
    }
    assert_ne!(freshness(&launch(), ""), fresh);
}

#[test]
fn freshness_of_an_http_server_follows_its_url_and_headers() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache(&directory);
    let freshness = |uri: &'static str, headers: &[(&'static str, &'static str)]| {
        let mut endpoint = Endpoint {
            uri: hyper::Uri::from_static(uri),
            headers: hyper::HeaderMap::new(),
        };
        for (name, value) in headers {
            let value = hyper::header::HeaderValue::from_static(value);
            endpoint.headers.insert(*name, value);
        }
        cache.freshness(&Access::Http(endpoint), "")
    };
    let headers = [("authorization", "a"), ("x-team", "b")];
    let fresh = freshness("https://example.org/mcp", &headers);
    let (one, other) = (headers[0], headers[1]);
    assert_eq!(freshness("https://example.org/mcp", &[other, one]), fresh);
    let others = [
        freshness("https://example.org/other", &headers),
        freshness("https://example.org/mcp?a", &headers),
        freshness("https://example.org/mcp", &[one]),
        freshness("https://example.org/mcp", &[one, ("x-team", "c")]),
        freshness("https://example.org/mcp", &[one, ("x-tean", "b")]),
    ];
    assert!(others.iter().all(|other| *other != fresh));
}

#[test]
fn the_key_stays_and_is_each_user_s_own() {
    let freshness =
        |directory: &TempDir| cache(directory).freshness(&Access::Process(launch()), "");
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = freshness(&one);
    assert_eq!(freshness(&one), first);
    assert_ne!(freshness(&two), first);

    let path = one.path().join("key");
    let replaced = |spoil: &dyn Fn()| {
        let before = freshness(&one);
        spoil();
        assert_ne!(freshness(&one), before);
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::symlink_metadata(&path).unwrap().len(), 32);
    };
    replaced(&|| fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap());
    replaced(&|| fs::write(&path, "short").unwrap());
    replaced(&|| {
        let elsewhere = one.path().join("elsewhere");
        fs::write(&elsewhere, [0; 32]).unwrap();
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o600)).unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&elsewhere, &path).unwrap();
    });
}
