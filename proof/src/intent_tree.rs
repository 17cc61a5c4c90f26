//! RFC-0019's tree over the events of one intent, as the OpenIntent client verifies it: the leaves are the hashes of the events, and a
//! node is SHA-256 of both hashes below it, without a byte in front.
//!
//! Without that byte a node could pass for a leaf, so this tree proves less than the tree over all events. It is computed on request, from
//! events that the tree over all events contains.

use sha2::{Digest, Sha256};

use crate::tree::NodeHash;

/// The side of a path's node on which the other hash stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The other hash comes first.
    Left,
    /// The other hash comes second.
    Right,
}

fn node(left: &NodeHash, right: &NodeHash) -> NodeHash {
    Sha256::new_with_prefix(left).chain_update(right).finalize().into()
}

/// The root over these hashes; `None` if there is none.
pub fn root(hashes: &[NodeHash]) -> Option<NodeHash> {
    match hashes {
        [] => None,
        [only] => Some(*only),
        _ => {
            let (left, right) = hashes.split_at(1 << (hashes.len() - 1).ilog2());
            Some(node(&root(left)?, &root(right)?))
        }
    }
}

/// The hashes that lead from the one at `index` to the root, lowest first; `None` if there is no hash at `index`.
pub fn path(hashes: &[NodeHash], index: usize) -> Option<Vec<(NodeHash, Side)>> {
    if index >= hashes.len() {
        return None;
    }
    if hashes.len() == 1 {
        return Some(Vec::new());
    }
    let (left, right) = hashes.split_at(1 << (hashes.len() - 1).ilog2());
    let (mut path, other) = if index < left.len() {
        (path(left, index)?, (root(right)?, Side::Right))
    } else {
        (path(right, index - left.len())?, (root(left)?, Side::Left))
    };
    path.push(other);
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_leads_to_the_root_the_way_the_client_walks_it() {
        for size in 1..40_u8 {
            let hashes: Vec<NodeHash> = (0..size).map(|index| [index; 32]).collect();
            for index in 0..usize::from(size) {
                let walk = |hash: NodeHash, (other, side): (NodeHash, Side)| match side {
                    Side::Left => node(&other, &hash),
                    Side::Right => node(&hash, &other),
                };
                let end = path(&hashes, index).unwrap().into_iter().fold(hashes[index], walk);
                assert_eq!(Some(end), root(&hashes));
            }
            assert_eq!(path(&hashes, usize::from(size)), None);
        }
        assert_eq!(root(&[]), None);
    }
}
