//! The tools' schemas, made ready for checking, one for each definition.
//!
//! Arguments are checked before a call, results after it: only the first may stop anything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use skills::arguments::{ResultValidator, Validator};
use skills::problem::{Problem, ProblemKind};
use skills::tool::Tool;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// More definitions than any catalog that was measured; beyond it, those of earlier versions are what fills the map.
const MOST: usize = 4_096;

/// How many results are checked side by side. A check can't be broken off, so a schema that takes long keeps its thread; it must not
/// get more of them.
const CHECKS: usize = 2;

/// How long a result waits for its check.
const PATIENCE: Duration = Duration::from_secs(1);

/// Validators by the hash of their tool's definition.
#[derive(Debug)]
pub struct Validators {
    arguments: Ready<Validator>,
    results: Arc<Ready<ResultValidator>>,
    checks: Arc<Semaphore>,
    patience: Duration,
}

impl Default for Validators {
    fn default() -> Self {
        Self {
            arguments: Ready::default(),
            results: Arc::default(),
            checks: Arc::new(Semaphore::new(CHECKS)),
            patience: PATIENCE,
        }
    }
}

impl Validators {
    /// The validator of the tool's arguments, compiled when it is needed first.
    ///
    /// # Errors
    /// When the schema itself can't be used.
    pub fn get(&self, tool: &Tool) -> Result<Arc<Validator>, Problem> {
        self.arguments.get(tool.hash, || Validator::new(tool))
    }

    /// Checks the result of a call that worked, and gives what is to be said of it: that it does not fit the tool's `outputSchema`, or
    /// could not be checked.
    pub async fn doubts(&self, tool: &Arc<Tool>, result: &RawValue) -> Option<Problem> {
        tool.output_schema.as_ref()?;
        if let Err(problem) = ResultValidator::takes(result.get().len()) {
            return Some(problem);
        }
        let (tool, result) = (Arc::clone(tool), result.to_owned());
        let (ready, checks) = (Arc::clone(&self.results), Arc::clone(&self.checks));
        let work = async move {
            let permit = checks.acquire_owned().await;
            let check = move || {
                let _permit = permit;
                ready.check(&tool, &result).err()
            };
            spawn_blocking(check).await.unwrap_or_else(|error| {
                let message = format!("the check of the result broke down: {error}");
                Some(Problem::new(ProblemKind::Internal, message))
            })
        };
        let patience = self.patience;
        timeout(patience, work).await.unwrap_or_else(|_| {
            Some(Problem::new(
                ProblemKind::ResultKind,
                format!(
                    "the result was not checked against the outputSchema: it took more than {patience:?}"
                ),
            ))
        })
    }
}

impl Ready<ResultValidator> {
    fn check(&self, tool: &Tool, result: &RawValue) -> Result<(), Problem> {
        if let Some(validator) = self.find(tool.hash) {
            return validator.check(result);
        }
        match ResultValidator::new(tool).transpose()? {
            Some(validator) => self.insert(tool.hash, validator).check(result),
            None => Ok(()),
        }
    }
}

/// What was compiled, by the hash of the definition.
#[derive(Debug)]
struct Ready<T>(Mutex<HashMap<[u8; 32], Arc<T>>>);

impl<T> Default for Ready<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Ready<T> {
    /// Compiled without the lock: two callers may do it twice, none waits for another's schema.
    fn get(
        &self,
        hash: [u8; 32],
        compile: impl FnOnce() -> Result<T, Problem>,
    ) -> Result<Arc<T>, Problem> {
        match self.find(hash) {
            Some(ready) => Ok(ready),
            None => Ok(self.insert(hash, compile()?)),
        }
    }

    fn find(&self, hash: [u8; 32]) -> Option<Arc<T>> {
        let ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ready.get(&hash).cloned()
    }

    fn insert(&self, hash: [u8; 32], compiled: T) -> Arc<T> {
        let compiled = Arc::new(compiled);
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ready.len() >= MOST {
            ready.clear();
        }
        ready.insert(hash, Arc::clone(&compiled));
        compiled
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::value::RawValue;
    use serde_json::{Value, json};
    use skills::entry_id::ServerName;
    use skills::tool::Tool;

    use super::{CHECKS, Validators};

    fn raw(json: &Value) -> Box<RawValue> {
        RawValue::from_string(json.to_string()).unwrap()
    }

    fn tool(output: &Value) -> Arc<Tool> {
        let json = json!({"name": "t", "inputSchema": {}, "outputSchema": output});
        Arc::new(Tool::parse(&ServerName::new("s"), 0, Arc::from(raw(&json))).unwrap())
    }

    #[tokio::test]
    async fn a_result_is_checked_by_a_schema_that_is_compiled_once() {
        let validators = Validators::default();
        let tool = tool(&json!({"type": "object", "required": ["a"]}));
        let good = raw(&json!({"structuredContent": {"a": 1}}));
        let bad = raw(&json!({"structuredContent": {"b": 1}}));
        assert_eq!(validators.doubts(&tool, &good).await, None);
        let first = validators.results.find(tool.hash).unwrap();
        let problem = validators.doubts(&tool, &bad).await.unwrap();
        assert!(problem.message.contains("/a: missing"), "{problem}");
        let second = validators.results.find(tool.hash).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[tokio::test]
    async fn without_a_schema_there_is_nothing_to_check() {
        let json = json!({"name": "t", "inputSchema": {}});
        let tool = Tool::parse(&ServerName::new("s"), 0, Arc::from(raw(&json))).unwrap();
        let result = raw(&json!({}));
        let doubts = Validators::default().doubts(&Arc::new(tool), &result).await;
        assert_eq!(doubts, None);
    }

    #[tokio::test]
    async fn a_result_does_not_wait_for_ever_for_its_check() {
        let validators = Validators {
            patience: Duration::from_millis(10),
            ..Validators::default()
        };
        let all = u32::try_from(CHECKS).unwrap();
        let _taken = validators.checks.acquire_many(all).await.unwrap();
        let result = raw(&json!({"structuredContent": {}}));
        let problem = validators.doubts(&tool(&json!({})), &result).await.unwrap();
        assert!(problem.message.contains("more than 10ms"), "{problem}");
    }
}
