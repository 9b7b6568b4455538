//! Where every entry stands: servers, skills and index texts become one tree.
