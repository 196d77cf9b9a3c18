//! Layout of boxes, shared by plain and differential graphs.
//!
//! A tree has as many nodes as a program has call paths; a picture has room for some thousands. The
//! heaviest are kept and the other children of a node become one grey `…`, so that the size of a
//! graph is bounded; in a picture a `…` that is too narrow to see is omitted too.

/// Maximum number of rows; deeper frames are merged. Equals the maximum unwinding depth.
pub(super) const MAX_ROWS: u32 = 1024;

/// A tree for drawing; node 0 is the root, and parents come before their children.
pub(super) struct TreeShape {
    pub children: Vec<Vec<u32>>,
    /// Width of each node, at least the sum of its children's widths.
    pub width: Vec<u64>,
}

/// The content of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoxContent {
    /// A node.
    Node(u32),
    /// This many children of a node, with their descendants.
    Merged { parent: u32, nodes: usize },
}

/// A box with its position, in the unit of widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacedBox {
    pub content: BoxContent,
    pub depth: u32,
    pub start: u64,
    pub width: u64,
}

/// Places boxes, parents before their children and from left to right: at most `most`, and none for
/// a node narrower than `narrowest`.
pub(super) fn place(shape: &TreeShape, most: usize, narrowest: f64) -> Vec<PlacedBox> {
    let keep = keep(shape, most, narrowest);
    let mut placed = Vec::new();
    let mut open = vec![PlacedBox { content: BoxContent::Node(0), depth: 0, start: 0, width: shape.width[0] }];
    while let Some(next) = open.pop() {
        placed.push(next);
        let BoxContent::Node(node) = next.content else { continue };
        let (depth, mut start) = (next.depth + 1, next.start);
        let (mut merged, mut nodes) = (0_u64, 0);
        let first = open.len();
        for &child in &shape.children[node as usize] {
            let width = shape.width[child as usize];
            if keep[child as usize] && depth + 1 < MAX_ROWS {
                open.push(PlacedBox { content: BoxContent::Node(child), depth, start, width });
                start += width;
            } else {
                merged += width;
                nodes += 1;
            }
        }
        if merged > 0 && merged as f64 >= narrowest {
            open.push(PlacedBox { content: BoxContent::Merged { parent: node, nodes }, depth, start, width: merged });
        }
        open[first..].reverse();
    }
    placed
}

/// The heaviest nodes that are wide enough: half of `most`, because each may add one `…`. A parent
/// is never lighter than its child and comes before it, so the kept nodes form a tree.
fn keep(shape: &TreeShape, most: usize, narrowest: f64) -> Vec<bool> {
    let mut order: Vec<u32> = (0..).take(shape.width.len()).collect();
    order.retain(|node| *node == 0 || shape.width[*node as usize] as f64 >= narrowest.max(1.0));
    let room = (most / 2).max(1);
    if order.len() > room {
        let weight = |node: &u32| (std::cmp::Reverse(shape.width[*node as usize]), *node);
        order.select_nth_unstable_by_key(room, weight);
        order.truncate(room);
    }
    let mut keep = vec![false; shape.width.len()];
    order.into_iter().for_each(|node| keep[node as usize] = true);
    keep[0] = true;
    keep
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with three children of 6, 3 and 1; the first has one child of 6.
    fn shape() -> TreeShape {
        TreeShape { children: vec![vec![1, 2, 3], vec![4], vec![], vec![], vec![]], width: vec![10, 6, 3, 1, 6] }
    }

    fn contents(placed: &[PlacedBox]) -> Vec<(BoxContent, u64, u64)> {
        placed.iter().map(|one| (one.content, one.start, one.width)).collect()
    }

    #[test]
    fn boxes_stand_on_their_parents() {
        let node = BoxContent::Node;
        let want = [(node(0), 0, 10), (node(1), 0, 6), (node(4), 0, 6), (node(2), 6, 3), (node(3), 9, 1)];
        assert_eq!(contents(&place(&shape(), 100, 0.0)), want);
    }

    #[test]
    fn narrow_boxes_become_one() {
        let rest = BoxContent::Merged { parent: 0, nodes: 2 };
        let want =
            [(BoxContent::Node(0), 0, 10), (BoxContent::Node(1), 0, 6), (BoxContent::Node(4), 0, 6), (rest, 6, 4)];
        assert_eq!(contents(&place(&shape(), 100, 3.5)), want);
    }

    #[test]
    fn no_more_than_asked_for_however_large_the_tree() {
        let children = std::iter::once((1..=100_000).collect()).chain(std::iter::repeat_n(vec![], 100_000)).collect();
        let width = std::iter::once(100_000).chain(std::iter::repeat_n(1, 100_000)).collect();
        let placed = place(&TreeShape { children, width }, 1000, 0.0);
        assert!(placed.len() <= 1000, "{}", placed.len());
        assert_eq!(placed.iter().filter(|one| one.depth == 1).map(|one| one.width).sum::<u64>(), 100_000);
    }

    #[test]
    fn a_chain_deeper_than_the_rows_ends_in_a_merged_box() {
        let length = MAX_ROWS + 100;
        let children = (1..=length).map(|next| if next < length { vec![next] } else { vec![] }).collect();
        let placed = place(&TreeShape { children, width: vec![1; length as usize] }, 100_000, 0.0);
        assert_eq!(placed.len(), MAX_ROWS as usize);
        assert!(matches!(placed.last().map(|one| one.content), Some(BoxContent::Merged { .. })));
    }
}
