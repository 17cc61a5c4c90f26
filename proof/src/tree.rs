//! The Merkle tree over all events (RFC 9162 §2.1), stored as tiles of 256 hashes.
//!
//! A tile at level 0 holds the hashes of 256 consecutive leaves, a tile at level 1 the roots of 256 full tiles of level 0, and so
//! on, as in C2SP's tlog-tiles. So a proof in a tree of millions of leaves reads a tile of each level, and each leaf costs 32 bytes
//! and a little.

use std::collections::BTreeMap;

use ct_merkle::digest::Output;
use ct_merkle::{ConsistencyProof, InclusionProof, RootHash, indices_for_consistency_proof, indices_for_inclusion_proof};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The hash of a leaf or a node.
pub type NodeHash = [u8; 32];

/// The number of hashes in a full tile.
pub const TILE_HASHES: u64 = 256;
/// The number of levels of the tree that one level of tiles spans.
const TILE_HEIGHT: u32 = 8;
/// The number of bytes of a hash.
const HASH_BYTES: usize = 32;
/// The most leaves of a tree. No deployment comes near it; it keeps the arithmetic from overflowing.
pub const LEAVES_MAX: u64 = 1 << 48;

/// A place where tiles are stored.
pub trait Tiles {
    /// The error if the place cannot be read.
    type Error: From<Damaged>;

    /// The hashes of the tile, one after the other; empty if there is no such tile. The last tile of a level may hold fewer than
    /// [`TILE_HASHES`].
    ///
    /// # Errors
    ///
    /// The place cannot be read.
    fn tile(&mut self, level: u8, number: u64) -> Result<Vec<u8>, Self::Error>;
}

/// The tiles of a tree that is not stored, by level and number.
pub type TilesInMemory = BTreeMap<(u8, u64), Vec<u8>>;

impl Tiles for TilesInMemory {
    type Error = Damaged;

    fn tile(&mut self, level: u8, number: u64) -> Result<Vec<u8>, Damaged> {
        Ok(self.get(&(level, number)).cloned().unwrap_or_default())
    }
}

/// The stored tiles are not those of a tree of that size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("tile {number} of level {level} of the stored tree lacks hashes")]
pub struct Damaged {
    /// The tile's level, from 0.
    pub level: u8,
    /// The tile's number on its level, from 0.
    pub number: u64,
}

/// A question about a tree that no tree answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no leaf {index} in a tree of {size} leaves")]
pub struct Beyond {
    /// The leaf, from 0.
    pub index: u64,
    /// The number of leaves.
    pub size: u64,
}

/// The hash of a leaf: SHA-256 of a zero byte and the leaf.
pub fn leaf_hash(leaf: &[u8]) -> NodeHash {
    Sha256::new_with_prefix([0]).chain_update(leaf).finalize().into()
}

/// The hash of a node: SHA-256 of a byte 1 and both hashes below it.
pub(crate) fn node_hash(left: &NodeHash, right: &NodeHash) -> NodeHash {
    Sha256::new_with_prefix([1]).chain_update(left).chain_update(right).finalize().into()
}

/// The root of the empty tree: SHA-256 of no bytes.
pub fn empty_root() -> NodeHash {
    Sha256::digest([]).into()
}

/// The root over 2, 4, 8 … 256 hashes of one level.
fn fold(hashes: &[u8]) -> NodeHash {
    let mut row: Vec<NodeHash> = hashes.as_chunks::<HASH_BYTES>().0.to_vec();
    while row.len() > 1 {
        row = row.as_chunks::<2>().0.iter().map(|[left, right]| node_hash(left, right)).collect();
    }
    row.first().copied().unwrap_or_else(empty_root)
}

/// A stored tree of `size` leaves.
pub struct Tree<T: Tiles> {
    tiles: T,
    size: u64,
    read: TilesInMemory,
}

impl<T: Tiles> Tree<T> {
    /// The tree of the first `size` leaves; the stored tree may have more.
    pub fn new(tiles: T, size: u64) -> Self {
        Self { tiles, size: size.min(LEAVES_MAX), read: BTreeMap::new() }
    }

    /// The root.
    ///
    /// # Errors
    ///
    /// Tiles that cannot be read or lack hashes.
    pub fn root(&mut self) -> Result<NodeHash, T::Error> {
        self.range(0, self.size)
    }

    /// The hashes that lead from a leaf to the root, lowest first.
    ///
    /// # Errors
    ///
    /// As [`Tree::root`]; the inner error is a leaf that the tree does not have.
    pub fn inclusion(&mut self, index: u64) -> Result<Result<Vec<NodeHash>, Beyond>, T::Error> {
        if index >= self.size {
            return Ok(Err(Beyond { index, size: self.size }));
        }
        self.nodes(indices_for_inclusion_proof(self.size, index)).map(Ok)
    }

    /// The hashes that show that the tree of the first `old` leaves is the beginning of this one.
    ///
    /// # Errors
    ///
    /// As [`Tree::root`]; the inner error is an old size that is zero or larger than the tree.
    pub fn consistency(&mut self, old: u64) -> Result<Result<Vec<NodeHash>, Beyond>, T::Error> {
        if old == 0 || old > self.size {
            return Ok(Err(Beyond { index: old, size: self.size }));
        }
        self.nodes(indices_for_consistency_proof(old, self.size - old)).map(Ok)
    }

    /// The hash of one leaf.
    ///
    /// # Errors
    ///
    /// As [`Tree::root`].
    pub fn leaf(&mut self, index: u64) -> Result<NodeHash, T::Error> {
        self.range(index, index + 1)
    }

    /// Reads the nodes that stand at these places of an array-based tree (RFC 9420, appendix C): a node at height *h* has *h*
    /// trailing ones.
    fn nodes(&mut self, places: Vec<u64>) -> Result<Vec<NodeHash>, T::Error> {
        let node = |place: u64| {
            let height = place.trailing_ones();
            let first = (place >> (height + 1)) << height;
            self.range(first, self.size.min(first + (1 << height)))
        };
        places.into_iter().map(node).collect()
    }

    /// The root over the leaves from `first` to before `end`. `first` is a multiple of the smallest power of two that is not less
    /// than their number.
    fn range(&mut self, first: u64, end: u64) -> Result<NodeHash, T::Error> {
        let leaves = end - first;
        if leaves == 0 {
            return Ok(empty_root());
        }
        if leaves.is_power_of_two() {
            return self.full(first, leaves.trailing_zeros());
        }
        let left = 1 << leaves.ilog2();
        let (left, right) = (self.range(first, first + left)?, self.range(first + left, end)?);
        Ok(node_hash(&left, &right))
    }

    /// The root over the `2^height` leaves from `first` on.
    fn full(&mut self, first: u64, height: u32) -> Result<NodeHash, T::Error> {
        let (level, within) = (height / TILE_HEIGHT, height % TILE_HEIGHT);
        let place = first >> (level * TILE_HEIGHT);
        let (number, from) = (place / TILE_HASHES, usize::try_from(place % TILE_HASHES).unwrap_or(0) * HASH_BYTES);
        let level = u8::try_from(level).unwrap_or(u8::MAX);
        let tile = match self.read.entry((level, number)) {
            std::collections::btree_map::Entry::Occupied(kept) => kept.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => place.insert(self.tiles.tile(level, number)?),
        };
        let hashes = tile.get(from..from + (HASH_BYTES << within)).ok_or(Damaged { level, number })?;
        Ok(fold(hashes))
    }
}

/// New leaves at the end of a stored tree.
#[derive(Debug)]
pub struct Growth {
    size: u64,
    tiles: TilesInMemory,
}

impl Growth {
    /// Begins behind the last of `size` leaves.
    ///
    /// # Errors
    ///
    /// Tiles that cannot be read, or do not hold as many hashes as the tree has.
    pub fn begin<T: Tiles>(tiles: &mut T, size: u64) -> Result<Self, T::Error> {
        let mut last = BTreeMap::new();
        for level in 0_u8.. {
            let Some(hashes) = size.checked_shr(u32::from(level) * TILE_HEIGHT).filter(|hashes| *hashes > 0) else { break };
            let (number, partial) = (hashes / TILE_HASHES, usize::try_from(hashes % TILE_HASHES).unwrap_or(0) * HASH_BYTES);
            if partial > 0 {
                let mut tile = tiles.tile(level, number)?;
                if tile.len() < partial {
                    return Err(Damaged { level, number }.into());
                }
                tile.truncate(partial);
                last.insert((level, number), tile);
            }
        }
        Ok(Self { size, tiles: last })
    }

    /// Adds a leaf by its hash.
    pub fn push(&mut self, leaf: NodeHash) {
        let (mut level, mut place, mut hash) = (0, self.size, leaf);
        loop {
            let tile = self.tiles.entry((level, place / TILE_HASHES)).or_default();
            tile.extend_from_slice(&hash);
            if !(place + 1).is_multiple_of(TILE_HASHES) {
                break;
            }
            hash = fold(tile);
            place /= TILE_HASHES;
            level += 1;
        }
        self.size += 1;
    }

    /// The number of leaves, with the new ones.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The tiles to store.
    pub fn into_tiles(self) -> TilesInMemory {
        self.tiles
    }
}

/// Computes the root over leaves that come one after the other, and keeps only the roots of the full subtrees so far.
#[derive(Clone, Debug, Default)]
pub struct Rooting {
    size: u64,
    full: Vec<NodeHash>,
}

impl Rooting {
    /// Adds the next leaf by its hash.
    pub fn push(&mut self, leaf: NodeHash) {
        let mut hash = leaf;
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.full.pop() {
                hash = node_hash(&left, &hash);
            }
        }
        self.full.push(hash);
        self.size += 1;
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root over all leaves so far.
    pub fn root(&self) -> NodeHash {
        self.full.iter().rev().copied().reduce(|right, left| node_hash(&left, &right)).unwrap_or_else(empty_root)
    }
}

fn root_of(root: NodeHash, size: u64) -> RootHash<Sha256> {
    RootHash::new(Output::<Sha256>::from(root), size)
}

/// Whether these hashes lead from the leaf at `index` to the root of a tree of `size` leaves.
pub fn is_included(leaf: &[u8], index: u64, proof: &[NodeHash], size: u64, root: NodeHash) -> bool {
    size <= LEAVES_MAX
        && index < size
        && InclusionProof::<Sha256>::try_from_bytes(proof.concat())
            .is_ok_and(|proof| root_of(root, size).verify_inclusion(&leaf, index, &proof).is_ok())
}

/// Whether these hashes show that the tree of `old` leaves is the beginning of the tree of `size` leaves. Two trees of one size are
/// consistent if they have one root.
pub fn is_consistent((old, old_root): (u64, NodeHash), (size, root): (u64, NodeHash), proof: &[NodeHash]) -> bool {
    if old == size {
        return proof.is_empty() && old_root == root;
    }
    size <= LEAVES_MAX
        && ConsistencyProof::<Sha256>::try_from_bytes(proof.concat())
            .is_ok_and(|proof| root_of(root, size).verify_consistency(&root_of(old_root, old), &proof).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(index: u64) -> Vec<u8> {
        index.to_be_bytes().to_vec()
    }

    /// A tree by the words of RFC 9162 §2.1.1, for comparison.
    fn by_the_words(leaves: &[Vec<u8>]) -> NodeHash {
        match leaves {
            [] => empty_root(),
            [only] => leaf_hash(only),
            _ => {
                let half = 1 << (leaves.len() - 1).ilog2();
                node_hash(&by_the_words(&leaves[..half]), &by_the_words(&leaves[half..]))
            }
        }
    }

    /// Builds a tree in growths of unequal length.
    fn grown(size: u64) -> TilesInMemory {
        let (mut kept, mut at) = (TilesInMemory::new(), 0);
        for step in (1..).map(|step| step * 37 % 300 + 1) {
            let mut growth = Growth::begin(&mut kept, at).unwrap();
            (at..size.min(at + step)).for_each(|index| growth.push(leaf_hash(&leaf(index))));
            at = growth.size();
            kept.extend(growth.into_tiles());
            if at == size {
                break;
            }
        }
        kept
    }

    /// The vectors of Certificate Transparency's own tests.
    #[test]
    fn the_roots_are_those_of_the_published_vectors() {
        let leaves: [&[u8]; 8] = [
            b"",
            b"\x00",
            b"\x10",
            b"\x20\x21",
            b"\x30\x31",
            b"\x40\x41\x42\x43",
            b"\x50\x51\x52\x53\x54\x55\x56\x57",
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        let roots = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let hex = |hash: NodeHash| hash.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        assert_eq!(hex(empty_root()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let mut rooting = Rooting::default();
        for (leaf, root) in leaves.iter().zip(roots) {
            rooting.push(leaf_hash(leaf));
            assert_eq!(hex(rooting.root()), root);
        }
    }

    #[test]
    fn a_tree_of_tiles_has_the_root_of_its_leaves_at_each_size() {
        for size in (0..300).chain([511, 512, 513, 65_535, 65_536, 65_537]) {
            let (mut rooting, leaves) = (Rooting::default(), (0..size).map(leaf).collect::<Vec<_>>());
            for leaf in &leaves {
                rooting.push(leaf_hash(leaf));
            }
            assert_eq!(rooting.root(), by_the_words(&leaves));
            let mut tree = Tree::new(grown(size), size);
            assert_eq!(tree.root().unwrap(), rooting.root(), "of {size} leaves");
        }
    }

    #[test]
    fn each_leaf_is_proved_and_no_other_leaf_or_place_is() {
        let kept = grown(700);
        for size in [1, 2, 3, 7, 255, 256, 257, 511, 699, 700] {
            let mut tree = Tree::new(kept.clone(), size);
            let root = tree.root().unwrap();
            for index in (0..size).filter(|index| index % 5 == 0 || index + 3 > size) {
                let proof = tree.inclusion(index).unwrap().unwrap();
                assert!(is_included(&leaf(index), index, &proof, size, root));
                assert!(!is_included(&leaf(index + 1), index, &proof, size, root));
                assert!(!is_included(&leaf(index), index + 1, &proof, size, root));
                assert!(size == 1 || !is_included(&leaf(index), index, &proof[1..], size, root));
                let (mut longer, mut other) = (proof.clone(), root);
                longer.push(root);
                other[0] ^= 1;
                assert!(!is_included(&leaf(index), index, &longer, size, root));
                assert!(!is_included(&leaf(index), index, &proof, size, other));
            }
            assert_eq!(tree.inclusion(size).unwrap(), Err(Beyond { index: size, size }));
        }
    }

    #[test]
    fn an_older_tree_is_proved_to_be_the_beginning_and_no_other_tree_is() {
        let kept = grown(700);
        let root = |size| Tree::new(kept.clone(), size).root().unwrap();
        for size in [2, 3, 256, 257, 700] {
            for old in (1..=size).filter(|old| old % 7 == 0 || *old < 4 || old + 3 > size) {
                let proof = Tree::new(kept.clone(), size).consistency(old).unwrap().unwrap();
                assert!(is_consistent((old, root(old)), (size, root(size)), &proof), "{old} and {size}");
                let mut other = root(old);
                other[31] ^= 1;
                assert!(!is_consistent((old, other), (size, root(size)), &proof));
                assert!(old == size || !is_consistent((old, root(old)), (size, other), &proof));
            }
            let mut tree = Tree::new(kept.clone(), size);
            for old in [0, size + 1] {
                assert_eq!(tree.consistency(old).unwrap(), Err(Beyond { index: old, size }));
            }
        }
    }

    #[test]
    fn a_tile_that_lacks_hashes_is_an_error_and_no_root() {
        let mut kept = grown(300);
        kept.get_mut(&(0, 1)).unwrap().pop();
        assert_eq!(Tree::new(kept.clone(), 300).root(), Err(Damaged { level: 0, number: 1 }));
        assert_eq!(Growth::begin(&mut kept, 300).map(|growth| growth.size()), Err(Damaged { level: 0, number: 1 }));
    }
}
