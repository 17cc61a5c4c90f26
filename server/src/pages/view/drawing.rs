//! Where the pieces of work stand in a drawing: what is needed stands left of what waits for it.

/// The size of a box, and the space between two, in pixels.
const BOX: (usize, usize) = (208, 48);
const SPACE: (usize, usize) = (56, 16);
/// The space around the drawing, in pixels.
const MARGIN: usize = 8;

/// A drawing of pieces of work.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The upper left corner of each box.
    pub(super) boxes: Vec<(usize, usize)>,
    /// The line from each piece of work to the one that waits for it.
    pub(super) lines: Vec<String>,
}

impl Drawing {
    /// Draws `count` pieces of work. Each edge is from one that is needed to the one that waits for it.
    pub(super) fn of(count: usize, edges: &[(usize, usize)]) -> Self {
        let columns = columns(count, edges);
        let mut filled = vec![0; count + 1];
        let boxes: Vec<(usize, usize)> = columns
            .iter()
            .map(|column| {
                let row = filled[*column];
                filled[*column] += 1;
                (MARGIN + column * (BOX.0 + SPACE.0), MARGIN + row * (BOX.1 + SPACE.1))
            })
            .collect();
        let lines = edges.iter().filter_map(|(from, to)| Some(line(*boxes.get(*from)?, *boxes.get(*to)?))).collect();
        let most = |side: fn(&(usize, usize)) -> usize, size| boxes.iter().map(side).max().map_or(0, |at| at + size + MARGIN);
        Self { width: most(|at| at.0, BOX.0), height: most(|at| at.1, BOX.1), lines, boxes: boxes.clone() }
    }
}

/// The column of each piece of work: one more than the last of those that it needs. Pieces that need each other never close a circle, so
/// this ends; the number of rounds is bounded all the same.
fn columns(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut columns = vec![0; count];
    for _ in 0..count {
        let mut changed = false;
        for (from, to) in edges {
            let least = columns[*from] + 1;
            if columns[*to] < least && least < count {
                columns[*to] = least;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    columns
}

/// A curve from the right side of one box to the left side of another.
fn line(from: (usize, usize), to: (usize, usize)) -> String {
    let (x, y) = (from.0 + BOX.0, from.1 + BOX.1 / 2);
    let (end, height) = (to.0.saturating_sub(6), to.1 + BOX.1 / 2);
    let bend = SPACE.0 / 2;
    format!("M{x} {y}C{} {y} {} {height} {end} {height}", x + bend, end.saturating_sub(bend))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece of work stands right of everything that it needs, however long the way is, and no two boxes cover each other.
    #[test]
    fn what_waits_stands_right_of_what_it_needs() {
        let edges = [(1, 0), (2, 1), (2, 0), (0, 3), (0, 4)];
        let drawing = Drawing::of(5, &edges);
        for (from, to) in edges {
            assert!(drawing.boxes[from].0 < drawing.boxes[to].0, "{from} {to}");
        }
        let mut places = drawing.boxes.clone();
        places.sort_unstable();
        places.dedup();
        assert_eq!((places.len(), drawing.lines.len()), (5, 5));
        assert!(drawing.boxes.iter().all(|at| at.0 + BOX.0 < drawing.width && at.1 + BOX.1 < drawing.height));
        assert_eq!(Drawing::of(1, &[]).boxes, [(MARGIN, MARGIN)]);
    }

    /// Even edges that close a circle, which the server never lets in, come to an end.
    #[test]
    fn a_circle_comes_to_an_end() {
        assert_eq!(Drawing::of(3, &[(0, 1), (1, 2), (2, 0)]).boxes.len(), 3);
    }
}
