//! The texts of the index: INDEX.md, ALL.md, README.md, the groups' INDEX.md, SERVER.md, STATUS, CHANGES.md.
