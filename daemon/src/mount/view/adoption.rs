//! From one view and the next tree to the next view, with the list of what the kernel must forget.

use std::cmp::Ordering;
use std::sync::Arc;

use skills::tree::{Directory, FileName, Node};

use super::{Body, Change, DirectoryBody, FIRST_COOKIE, ROOT, Usage, View, ViewNode};
use crate::mount::inode_table::InodeTable;

impl View {
    /// The first view.
    pub(in crate::mount) fn new(tree: &Arc<Directory>) -> Self {
        let mut adoption = Adoption {
            nodes: InodeTable::new(),
            next_inode: ROOT,
            usage: Usage::default(),
            changes: Vec::new(),
        };
        adoption.insert(ROOT, &FileName::default(), &Node::Directory(tree.clone()));
        adoption.finish().0
    }

    /// The next view and what changed, directories before those below them.
    pub(in crate::mount) fn adopt(&self, tree: &Arc<Directory>) -> (Self, Vec<Change>) {
        let mut adoption = Adoption {
            nodes: self.nodes.clone(),
            next_inode: self.next_inode,
            usage: self.usage,
            changes: Vec::new(),
        };
        adoption.update_directory(ROOT, tree);
        adoption.finish()
    }
}

/// A view in the making.
struct Adoption {
    nodes: InodeTable<ViewNode>,
    next_inode: u64,
    usage: Usage,
    /// Directories after those below them.
    changes: Vec<Change>,
}

impl Adoption {
    fn finish(mut self) -> (View, Vec<Change>) {
        self.changes.reverse();
        let view = View {
            nodes: self.nodes,
            next_inode: self.next_inode,
            usage: self.usage,
        };
        (view, self.changes)
    }

    /// Takes in a node that has no number yet, with all that is below it.
    fn insert(&mut self, parent: u64, name: &FileName, node: &Node) -> u64 {
        let inode = self.next_inode;
        self.next_inode += 1;
        let body = match node {
            Node::File(file) => Body::File(file.clone()),
            Node::Link(link) => Body::Link(link.clone()),
            Node::Directory(tree) => {
                let children = tree.children();
                let inodes: Box<[u64]> = children
                    .iter()
                    .map(|(name, child)| self.insert(inode, name, child))
                    .collect();
                let order = (FIRST_COOKIE..).zip(0..children.len()).collect();
                Body::Directory(DirectoryBody {
                    tree: tree.clone(),
                    subdirectories: tree.subdirectories(),
                    inodes,
                    order,
                    next_cookie: FIRST_COOKIE + children.len() as u64,
                })
            }
        };
        self.place(ViewNode {
            inode,
            parent,
            name: name.clone(),
            body,
        });
        inode
    }

    /// Puts a node into the table, in place of what had its number.
    fn place(&mut self, node: ViewNode) {
        if let Some(old) = self.nodes.get(node.inode) {
            self.usage.blocks -= old.blocks();
            self.usage.nodes -= 1;
        }
        self.usage.blocks += node.blocks();
        self.usage.nodes += 1;
        self.nodes.insert(node.inode, Arc::new(node));
    }

    /// Drops a node with all that is below it.
    fn remove(&mut self, inode: u64) {
        let Some(node) = self.nodes.get(inode).cloned() else {
            return;
        };
        if let Body::Directory(directory) = &node.body {
            for child in &directory.inodes {
                self.remove(*child);
            }
        }
        self.usage.blocks -= node.blocks();
        self.usage.nodes -= 1;
        self.nodes.remove(inode);
    }

    /// Gives a directory, which keeps its number, its new contents.
    fn update_directory(&mut self, inode: u64, tree: &Arc<Directory>) {
        let Some(node) = self.nodes.get(inode).cloned() else {
            return;
        };
        let Body::Directory(old) = &node.body else {
            return;
        };
        if Arc::ptr_eq(&old.tree, tree) {
            return;
        }
        let mut old_cookies = vec![0; old.inodes.len()];
        for (cookie, place) in &old.order {
            old_cookies[*place] = *cookie;
        }
        let mut next_cookie = old.next_cookie;
        let mut inodes = Vec::with_capacity(tree.children().len());
        let mut order = Vec::with_capacity(tree.children().len());
        let mut names = Vec::new();
        for pair in merge(old.tree.children(), tree.children()) {
            match pair {
                Pair::Removed(place, name) => {
                    self.remove(old.inodes[place]);
                    names.push(name.clone());
                }
                Pair::Added(name, child) => {
                    order.push((next_cookie, inodes.len()));
                    next_cookie += 1;
                    inodes.push(self.insert(inode, name, child));
                    names.push(name.clone());
                }
                Pair::Both(place, name, before, after) => {
                    let old_inode = old.inodes[place];
                    let new_inode = self.update(inode, name, old_inode, before, after);
                    order.push((old_cookies[place], inodes.len()));
                    inodes.push(new_inode);
                    if new_inode != old_inode {
                        names.push(name.clone());
                    }
                }
            }
        }
        order.sort_unstable();
        let said = |tree: &Directory| (tree.modified, tree.mode, tree.owner);
        if !names.is_empty() || said(&old.tree) != said(tree) {
            self.changes.push(Change {
                directory: inode,
                names,
            });
        }
        self.place(ViewNode {
            inode,
            parent: node.parent,
            name: node.name.clone(),
            body: Body::Directory(DirectoryBody {
                tree: tree.clone(),
                subdirectories: tree.subdirectories(),
                inodes: inodes.into(),
                order: order.into(),
                next_cookie,
            }),
        });
    }

    /// Brings a name that stayed up to date; returns the number that it leads to now.
    fn update(
        &mut self,
        parent: u64,
        name: &FileName,
        inode: u64,
        before: &Node,
        after: &Node,
    ) -> u64 {
        match (before, after) {
            (Node::Directory(_), Node::Directory(tree)) => {
                self.update_directory(inode, tree);
                inode
            }
            (Node::File(old), Node::File(new)) if old.same_version(new) => {
                // The same version can come with a newer stat of the file that its bytes were read from.
                if !Arc::ptr_eq(old, new) {
                    self.place(ViewNode {
                        inode,
                        parent,
                        name: name.clone(),
                        body: Body::File(new.clone()),
                    });
                }
                inode
            }
            (Node::Link(old), Node::Link(new))
                if old.target == new.target && old.modified == new.modified =>
            {
                inode
            }
            (Node::Directory(_) | Node::File(_) | Node::Link(_), _) => {
                self.remove(inode);
                self.insert(parent, name, after)
            }
        }
    }
}

/// What became of a name; places count in the old list.
enum Pair<'a> {
    Removed(usize, &'a FileName),
    Added(&'a FileName, &'a Node),
    Both(usize, &'a FileName, &'a Node, &'a Node),
}

/// Pairs two lists that are both in byte order of their names.
fn merge<'a>(
    old: &'a [(FileName, Node)],
    new: &'a [(FileName, Node)],
) -> impl Iterator<Item = Pair<'a>> {
    let mut old = old.iter().enumerate().peekable();
    let mut new = new.iter().peekable();
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (Some((_, (before, _))), Some((after, _))) => before.cmp(after),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        match order {
            Ordering::Less => old
                .next()
                .map(|(place, (name, _))| Pair::Removed(place, name)),
            Ordering::Greater => new.next().map(|(name, child)| Pair::Added(name, child)),
            Ordering::Equal => {
                let (place, (name, before)) = old.next()?;
                let (_, after) = new.next()?;
                Some(Pair::Both(place, name, before, after))
            }
        }
    })
}
