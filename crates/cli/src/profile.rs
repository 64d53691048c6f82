//! `--profile FILE`: how often each function was called and where the time went, as a table and as a flame graph.

use crate::render;
use metroon::{Engine, ProfileNode};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// How many functions the table shows.
const FUNCTIONS_SHOWN: usize = 25;
/// The picture, in pixels.
const WIDTH: f64 = 1200.0;
const ROW_HEIGHT: usize = 18;
const MARGIN: usize = 10;
/// What is narrower is left out: nobody sees it.
const WIDTH_MIN: f64 = 0.2;
/// A character of the labels.
const CHARACTER_WIDTH: f64 = 7.0;

/// Begins a profile of all that the engine evaluates.
pub(crate) fn begin(engine: &mut Engine) {
    let began = Instant::now();
    engine.begin_profile(Box::new(move || u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)));
}

/// Prints the table on the standard error, and writes the picture to a file; tells why if it cannot, and gives whether it could.
pub(crate) fn end(engine: &mut Engine, file: &Path) -> bool {
    let nodes = engine.take_profile();
    table(engine, &nodes).iter().for_each(|line| render::say(line));
    match std::fs::write(file, flame_graph(&nodes)) {
        Ok(()) => render::say(&format!("flame graph  {}", file.display())),
        Err(error) => {
            let message = format!("cannot write the flame graph to {}: {error}", file.display());
            render::error(&message, Some("name a file in a folder that is there"));
            return false;
        }
    }
    true
}

/// A function in all places where it was called.
struct Row<'n> {
    function: &'n str,
    calls: u64,
    own: u64,
    whole: u64,
}

/// The functions, those that took most time themselves first.
fn rows(nodes: &[ProfileNode]) -> Vec<Row<'_>> {
    let wholes = wholes(nodes);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (node, whole) in nodes.iter().zip(wholes).skip(1) {
        // No function is below itself, so that the times of its nodes do not overlap.
        match rows.iter_mut().find(|row| *row.function == *node.function) {
            Some(row) => {
                row.calls += node.calls;
                row.own += node.nanoseconds;
                row.whole += whole;
            }
            None => {
                rows.push(Row { function: &node.function, calls: node.calls, own: node.nanoseconds, whole });
            }
        }
    }
    rows.sort_by(|left, right| right.own.cmp(&left.own).then_with(|| left.function.cmp(right.function)));
    rows
}

/// What each node took with all below it: those come later in the list.
fn wholes(nodes: &[ProfileNode]) -> Vec<u64> {
    let mut wholes: Vec<u64> = nodes.iter().map(|node| node.nanoseconds).collect();
    for place in (1..nodes.len()).rev() {
        wholes[nodes[place].caller] += wholes[place];
    }
    wholes
}

fn milliseconds(nanoseconds: u64) -> String {
    format!("{:.1} ms", nanoseconds as f64 / 1e6)
}

fn table(engine: &Engine, nodes: &[ProfileNode]) -> Vec<String> {
    let rows = rows(nodes);
    let whole: u64 = nodes.iter().map(|node| node.nanoseconds).sum();
    let calls: u64 = rows.iter().map(|row| row.calls).sum();
    let mut lines = vec![
        format!("profile      {calls} calls, {}", milliseconds(whole)),
        format!("{:>12} {:>12} {:>12}  function", "itself", "with callees", "calls"),
    ];
    for row in rows.iter().take(FUNCTIONS_SHOWN) {
        let place = engine.place_of_function(row.function);
        let place = place.map(|place| format!("  {}:{}", place.origin, place.position().line)).unwrap_or_default();
        let (own, whole) = (milliseconds(row.own), milliseconds(row.whole));
        lines.push(format!("{own:>12} {whole:>12} {:>12}  {}{place}", row.calls, row.function));
    }
    if let Some(others) = rows.get(FUNCTIONS_SHOWN..).filter(|others| !others.is_empty()) {
        let own = milliseconds(others.iter().map(|row| row.own).sum());
        let calls: u64 = others.iter().map(|row| row.calls).sum();
        lines.push(format!("{own:>12} {:>12} {calls:>12}  {} other functions", "", others.len()));
    }
    lines
}

/// A box of the picture.
struct Bar<'n> {
    node: &'n ProfileNode,
    level: usize,
    left: f64,
    width: f64,
    whole: u64,
}

/// Where each node is drawn: beside the others of its caller, in the order in which they were first called.
fn boxes(nodes: &[ProfileNode]) -> Vec<Bar<'_>> {
    let wholes = wholes(nodes);
    let Some(&all) = wholes.first() else { return Vec::new() };
    let scale = WIDTH / (all.max(1)) as f64;
    let mut drawn: Vec<Bar<'_>> = Vec::with_capacity(nodes.len());
    // Where the next box above each node begins.
    let mut next = vec![0.0; nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        let width = wholes[place] as f64 * scale;
        let (left, level) = match place {
            0 => (0.0, 0),
            _ => (next[node.caller], drawn[node.caller].level + 1),
        };
        next[node.caller] = left + width;
        next[place] = left;
        drawn.push(Bar { node, level, left, width, whole: wholes[place] });
    }
    drawn
}

/// The picture: a box for each way of calls, as wide as the time that it took, above that of its caller.
fn flame_graph(nodes: &[ProfileNode]) -> String {
    let boxes = boxes(nodes);
    let levels = boxes.iter().map(|one| one.level + 1).max().unwrap_or(0);
    let height = levels * ROW_HEIGHT + 2 * MARGIN;
    let mut svg = String::new();
    let frame = WIDTH as usize + 2 * MARGIN;
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{frame}\" height=\"{height}\" viewBox=\"0 0 {frame} {height}\" \
         font-family=\"monospace\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    );
    for Bar { node, level, left, width, whole } in boxes.iter().filter(|one| one.width >= WIDTH_MIN) {
        let (x, y) = (MARGIN as f64 + left, height - MARGIN - (level + 1) * ROW_HEIGHT);
        let name = escaped(&node.function);
        let _ = writeln!(
            svg,
            "<g><title>{name}: {} calls, {} with callees, {} itself</title>\
             <rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" fill=\"{}\" rx=\"1\"/>\
             <text x=\"{:.1}\" y=\"{}\">{}</text></g>",
            node.calls,
            milliseconds(*whole),
            milliseconds(node.nanoseconds),
            ROW_HEIGHT - 1,
            colour(&node.function),
            x + 3.0,
            y + ROW_HEIGHT - 5,
            label(&node.function, *width),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// As much of a name as fits a box.
fn label(name: &str, width: f64) -> String {
    let room = ((width - 6.0) / CHARACTER_WIDTH).max(0.0) as usize;
    match name.chars().count() {
        length if length <= room => escaped(name),
        _ if room < 3 => String::new(),
        _ => escaped(&name.chars().take(room - 1).chain(['…']).collect::<String>()),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A warm colour, the same for a name in every picture.
fn colour(name: &str) -> String {
    let hash = name.bytes().fold(17_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
    format!("hsl({}, 85%, {}%)", 10 + hash % 45, 62 + hash / 64 % 14)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Vec<ProfileNode> {
        let node = |function: &str, caller, calls, nanoseconds| ProfileNode {
            function: function.into(),
            caller,
            calls,
            nanoseconds,
        };
        vec![
            node("all", 0, 1, 1_000_000),
            node("plan", 0, 2, 3_000_000),
            node("a<b", 1, 7, 4_000_000),
            node("step", 0, 1, 0),
            node("a<b", 3, 1, 2_000_000),
        ]
    }

    #[test]
    fn boxes_lie_above_their_callers_and_beside_each_other() {
        let shown: Vec<_> = boxes(&nodes()).iter().map(|one| (one.level, one.left, one.width)).collect();
        assert_eq!(shown, [(0, 0.0, 1200.0), (1, 0.0, 840.0), (2, 0.0, 480.0), (1, 840.0, 240.0), (2, 840.0, 240.0)]);
    }

    #[test]
    fn functions_are_added_up_over_their_callers() {
        let nodes = nodes();
        let rows = rows(&nodes);
        let shown: Vec<_> = rows.iter().map(|row| (row.function, row.calls, row.own, row.whole)).collect();
        assert_eq!(
            shown,
            [("a<b", 8, 6_000_000, 6_000_000), ("plan", 2, 3_000_000, 7_000_000), ("step", 1, 0, 2_000_000)]
        );
    }

    #[test]
    fn the_picture_is_well_formed() {
        let svg = flame_graph(&nodes());
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!(svg.matches("<g>").count(), 5);
        assert!(svg.contains("<title>a&lt;b: 7 calls, 4.0 ms with callees, 4.0 ms itself</title>"), "{svg}");
        assert!(flame_graph(&[]).ends_with("</svg>\n"));
    }
}
