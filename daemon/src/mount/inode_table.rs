//! Nodes by inode number: a table of pages that two generations share as long as nothing in the page changes.

use std::sync::Arc;

/// Small enough that a publish which touches a page copies little, large enough that cloning the list of pages is cheap.
const PAGE: usize = 256;

type Slots<T> = [Option<Arc<T>>; PAGE];

#[derive(Debug)]
struct Page<T> {
    slots: Slots<T>,
    used: usize,
}

impl<T> Page<T> {
    fn empty() -> Self {
        Self {
            slots: [const { None }; PAGE],
            used: 0,
        }
    }
}

// Derived `Clone` would ask for `T: Clone`; only the pointers are cloned.
impl<T> Clone for Page<T> {
    fn clone(&self) -> Self {
        Self {
            slots: self.slots.clone(),
            used: self.used,
        }
    }
}

/// An immutable-by-convention map from inode numbers; a clone costs a pointer a page.
///
/// Numbers are never used twice, so a page whose nodes are all gone is given back and only its pointer stays.
#[derive(Debug)]
pub(super) struct InodeTable<T> {
    pages: Vec<Option<Arc<Page<T>>>>,
}

impl<T> Clone for InodeTable<T> {
    fn clone(&self) -> Self {
        Self {
            pages: self.pages.clone(),
        }
    }
}

impl<T> InodeTable<T> {
    pub(super) fn new() -> Self {
        Self { pages: Vec::new() }
    }

    pub(super) fn get(&self, inode: u64) -> Option<&Arc<T>> {
        let (page, slot) = place(inode)?;
        self.pages.get(page)?.as_ref()?.slots[slot].as_ref()
    }

    pub(super) fn insert(&mut self, inode: u64, value: Arc<T>) {
        let (page, slot) = place(inode).expect("an inode number counts up from 1");
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| Arc::new(Page::empty()));
        let page = Arc::make_mut(page);
        if page.slots[slot].replace(value).is_none() {
            page.used += 1;
        }
    }

    pub(super) fn remove(&mut self, inode: u64) {
        let Some((index, slot)) = place(inode) else {
            return;
        };
        let Some(Some(page)) = self.pages.get_mut(index) else {
            return;
        };
        let page = Arc::make_mut(page);
        if page.slots[slot].take().is_some() {
            page.used -= 1;
        }
        if page.used == 0 {
            self.pages[index] = None;
        }
    }
}

fn place(inode: u64) -> Option<(usize, usize)> {
    let inode = usize::try_from(inode).ok()?;
    Some((inode / PAGE, inode % PAGE))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{InodeTable, PAGE};

    #[test]
    fn a_clone_keeps_what_the_original_loses() {
        let mut table = InodeTable::new();
        for inode in 1..=3 * PAGE as u64 {
            table.insert(inode, Arc::new(inode));
        }
        let old = table.clone();
        table.remove(7);
        table.insert(8, Arc::new(800));

        assert_eq!(table.get(7), None);
        assert_eq!(table.get(8).map(|value| **value), Some(800));
        assert_eq!(old.get(7).map(|value| **value), Some(7));
        assert_eq!(old.get(8).map(|value| **value), Some(8));
        assert_eq!(table.get(u64::MAX), None);
    }

    #[test]
    fn untouched_pages_are_shared_and_empty_ones_given_back() {
        let mut table = InodeTable::new();
        for inode in 1..3 * PAGE as u64 {
            table.insert(inode, Arc::new(inode));
        }
        let old = table.clone();
        for inode in PAGE as u64..2 * PAGE as u64 {
            table.remove(inode);
        }
        assert!(table.pages[1].is_none());
        let shared = |index: usize| {
            Arc::ptr_eq(
                table.pages[index].as_ref().unwrap(),
                old.pages[index].as_ref().unwrap(),
            )
        };
        assert!(shared(0) && shared(2));
    }
}
