//! The tools' schemas, made ready for checking, one for each definition.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use skills::arguments::Validator;
use skills::problem::Problem;
use skills::tool::Tool;

/// More definitions than any catalog that was measured; beyond it, those of earlier versions are what fills the map.
const MOST: usize = 4_096;

/// Validators by the hash of their tool's definition.
#[derive(Debug, Default)]
pub struct Validators {
    ready: Mutex<HashMap<[u8; 32], Arc<Validator>>>,
}

impl Validators {
    /// The tool's validator, compiled when it is needed first.
    ///
    /// # Errors
    /// When the schema itself can't be used.
    pub fn get(&self, tool: &Tool) -> Result<Arc<Validator>, Problem> {
        let ready = || self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(validator) = ready().get(&tool.hash) {
            return Ok(validator.clone());
        }
        // Compiled without the lock: two callers may do it twice, none waits for another's schema.
        let validator = Arc::new(Validator::new(tool)?);
        let mut ready = ready();
        if ready.len() >= MOST {
            ready.clear();
        }
        ready.insert(tool.hash, validator.clone());
        Ok(validator)
    }
}
