//! Every trap that was met in the field, one test each.
