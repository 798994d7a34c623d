//! Polygons as triangles.

/// Polygons with more corners become fans, also if they are not convex.
const MOST_CORNERS: usize = 4096;

/// The triangles of a polygon, by the numbers of its corners: a fan if it is convex; otherwise ears are cut off, one after the other.
pub fn triangles_of(corners: &[[f32; 3]]) -> Vec<[usize; 3]> {
    let n = corners.len();
    let points = in_plane(corners);
    let is_convex = (0..n).all(|i| area(&points, [i, (i + 1) % n, (i + 2) % n]) >= 0.0);
    if is_convex || n > MOST_CORNERS {
        return (2..n).map(|i| [0, i - 1, i]).collect();
    }
    let mut left: Vec<usize> = (0..n).collect();
    let mut triangles = vec![];
    while left.len() >= 3 {
        let m = left.len();
        let corner = |i: usize| [left[(i + m - 1) % m], left[i], left[(i + 1) % m]];
        // A polygon that crosses itself may have no ear.
        let ear = (0..m).find(|&i| is_ear(&points, &left, corner(i))).unwrap_or(0);
        triangles.push(corner(ear));
        left.remove(ear);
    }
    triangles
}

/// The corners without the axis along which the polygon is flattest, in counterclockwise order.
fn in_plane(corners: &[[f32; 3]]) -> Vec<[f64; 2]> {
    let corners: Vec<[f64; 3]> = corners.iter().map(|p| p.map(f64::from)).collect();
    let next = corners.iter().cycle().skip(1);
    // The sum of the normals of all edges with the origin: its length is twice the area.
    let normal = corners.iter().zip(next).fold([0.0; 3], |sum, (a, b)| {
        [0, 1, 2].map(|k| sum[k] + a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
    });
    let axis = (0..3).max_by(|&i, &j| normal[i].abs().total_cmp(&normal[j].abs())).unwrap_or(2);
    let (x, y) = if normal[axis] >= 0.0 { (1, 2) } else { (2, 1) };
    corners.iter().map(|p| [p[(axis + x) % 3], p[(axis + y) % 3]]).collect()
}

/// Twice the area of a triangle, below zero for clockwise order.
fn area(points: &[[f64; 2]], [a, b, c]: [usize; 3]) -> f64 {
    let ([ax, ay], [bx, by], [cx, cy]) = (points[a], points[b], points[c]);
    (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
}

/// Whether a triangle of neighbours lies within the polygon of the corners that are left.
fn is_ear(points: &[[f64; 2]], left: &[usize], [a, b, c]: [usize; 3]) -> bool {
    let is_corner = |i: usize| [a, b, c].iter().any(|&corner| points[corner] == points[i]);
    let is_within =
        |i: usize| [[a, b, i], [b, c, i], [c, a, i]].iter().all(|&part| area(points, part) >= 0.0);
    area(points, [a, b, c]) > 0.0 && !left.iter().any(|&i| !is_corner(i) && is_within(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of the areas of the triangles, if none is clockwise.
    fn covered(corners: &[[f32; 3]]) -> f64 {
        let points = in_plane(corners);
        let parts = triangles_of(corners);
        assert_eq!(parts.len(), corners.len() - 2);
        parts
            .iter()
            .map(|&part| {
                assert!(area(&points, part) >= 0.0, "{part:?} is clockwise");
                0.5 * area(&points, part)
            })
            .sum()
    }

    #[test]
    fn triangles_cover_polygons_that_are_not_convex() {
        // The letter L, an arrow, and a comb, in planes across all axes and in both orders.
        let letter = vec![[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]];
        let arrow = vec![[0.0, 1.0], [1.0, 0.0], [0.0, 3.0], [-1.0, 0.0]];
        let comb = vec![[0.0, 0.0], [5.0, 0.0], [5.0, 3.0], [4.0, 1.0], [3.0, 3.0], [2.0, 1.0], [1.0, 3.0]];
        for (polygon, expected) in [(letter, 4.0), (arrow, 2.0), (comb, 9.5)] {
            for axis in 0..3 {
                let mut corners: Vec<[f32; 3]> = polygon
                    .iter()
                    .map(|&[x, y]| {
                        let mut corner = [0.5; 3];
                        corner[(axis + 1) % 3] = x;
                        corner[(axis + 2) % 3] = y;
                        corner
                    })
                    .collect();
                assert_eq!(covered(&corners), expected);
                corners.reverse();
                assert_eq!(covered(&corners), expected);
            }
        }
    }

    #[test]
    fn convex_and_degenerate_polygons_are_fans() {
        let square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        assert_eq!(triangles_of(&square), [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(triangles_of(&[[1.0; 3]; 4]), [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(triangles_of(&[[f32::NAN; 3]; 5]).len(), 3);
        assert_eq!(triangles_of(&square[..2]).len(), 0);
    }
}
