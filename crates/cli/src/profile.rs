//! `--profile FILE`: how often each function was called, which of its rules were entered, and where the time went, as a table and as a
//! flame graph.

use crate::render;
use metroon::Engine;
use metroon::observe::ProfileNode;
use metroon::why::Place;
use space::{Atom, as_written, brief};
use std::cmp::Reverse;
use std::fmt::Write;
use std::io::{ErrorKind, Write as _};
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
/// How much of the left side of a rule is shown, in characters.
const HEAD_MAX: usize = 40;

/// Whether the picture can be a new file: one that is there is never overwritten. Tells if it cannot.
pub(crate) fn is_new(file: &Path) -> bool {
    let is_new = std::fs::symlink_metadata(file).is_err();
    if !is_new {
        refuse(file);
    }
    is_new
}

fn refuse(file: &Path) {
    let help = "choose another name for the flame graph, or remove the file first: it is never overwritten";
    render::error(&format!("{} exists already", file.display()), Some(help));
}

/// Begins a profile of all that the engine evaluates.
pub(crate) fn begin(engine: &mut Engine) {
    let began = Instant::now();
    engine.session_mut().begin_profile(Box::new(move || u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)));
}

/// Prints the table on the standard error, and writes the picture to a file; tells why if it cannot, and gives whether it could.
pub(crate) fn end(engine: &mut Engine, file: &Path) -> bool {
    let nodes = engine.session_mut().take_profile();
    table(engine, &nodes).iter().for_each(|line| render::say(line));
    let names: Vec<String> = nodes.iter().map(|node| name_of(engine, node)).collect();
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(file);
    match made.and_then(|mut made| made.write_all(flame_graph(&nodes, &names).as_bytes())) {
        Ok(()) => render::say(&format!("flame graph  {}", file.display())),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            refuse(file);
            return false;
        }
        Err(error) => {
            let message = format!("cannot write the flame graph to {}: {error}", file.display());
            render::error(&message, Some("name a file in a folder that is there"));
            return false;
        }
    }
    true
}

/// A function in all places where it was called, or one of its rules.
struct Row<'n> {
    function: &'n str,
    rule: Option<&'n Atom>,
    calls: u64,
    own: u64,
    whole: u64,
    /// Those of the rules of a function that has several, the one that took most time first.
    rules: Vec<Row<'n>>,
}

impl<'n> Row<'n> {
    fn new(node: &'n ProfileNode) -> Self {
        let (function, rule) = (&*node.function, node.rule.as_ref());
        Self { function, rule, calls: 0, own: 0, whole: 0, rules: Vec::new() }
    }

    fn add(&mut self, node: &ProfileNode, whole: u64) {
        self.calls += node.calls;
        self.own += node.nanoseconds;
        self.whole += whole;
    }
}

/// A place as people read it.
fn shown(place: &Place) -> String {
    format!("{}:{}", place.origin, place.position().line)
}

/// What a node is called in the picture.
fn name_of(engine: &Engine, node: &ProfileNode) -> String {
    let Some(rule) = &node.rule else { return node.function.to_string() };
    match engine.session().place_of_rule(rule) {
        Some(place) => format!("{} {}", node.function, shown(&place)),
        None => head_of(rule),
    }
}

/// The left side of a rule, its variables without numbers, cut if it is long.
fn head_of(rule: &Atom) -> String {
    let head = as_written(rule).children().and_then(|parts| parts.get(1)).map(|head| brief(head, HEAD_MAX));
    head.unwrap_or_default()
}

/// The functions, those that took most time themselves first.
fn rows(nodes: &[ProfileNode]) -> Vec<Row<'_>> {
    let wholes = wholes(nodes);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (node, whole) in nodes.iter().zip(wholes).skip(1) {
        // No function is below itself, so that the times of its nodes do not overlap. A rule comes after its function.
        let known = rows.iter().position(|row| *row.function == *node.function).unwrap_or(rows.len());
        if known == rows.len() {
            rows.push(Row::new(node));
        }
        let row = &mut rows[known];
        if node.rule.is_none() {
            row.add(node, whole);
            continue;
        }
        // The function's own time is that of all its rules.
        row.own += node.nanoseconds;
        let known = row.rules.iter().position(|rule| rule.rule == node.rule.as_ref()).unwrap_or(row.rules.len());
        if known == row.rules.len() {
            row.rules.push(Row::new(node));
        }
        row.rules[known].add(node, whole);
    }
    rows.sort_by(|left, right| right.own.cmp(&left.own).then_with(|| left.function.cmp(right.function)));
    // Rules that took the same stay in the order in which they were first entered.
    rows.iter_mut().for_each(|row| row.rules.sort_by_key(|rule| Reverse(rule.own)));
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
        let place = engine.session().place_of_function(row.function);
        let place = place.map(|place| format!("  {}", shown(&place))).unwrap_or_default();
        lines.push(line_of(row, &format!("{}{place}", row.function)));
        for rule in &row.rules {
            let Some(atom) = rule.rule else { continue };
            let place =
                engine.session().place_of_rule(atom).map(|place| format!("  {}", shown(&place))).unwrap_or_default();
            lines.push(line_of(rule, &format!("  {}{place}", head_of(atom))));
        }
    }
    if let Some(others) = rows.get(FUNCTIONS_SHOWN..).filter(|others| !others.is_empty()) {
        let own = milliseconds(others.iter().map(|row| row.own).sum());
        let calls: u64 = others.iter().map(|row| row.calls).sum();
        lines.push(format!("{own:>12} {:>12} {calls:>12}  {} other functions", "", others.len()));
    }
    lines
}

fn line_of(row: &Row<'_>, said: &str) -> String {
    format!("{:>12} {:>12} {:>12}  {said}", milliseconds(row.own), milliseconds(row.whole), row.calls)
}

/// A box of the picture.
struct Bar<'n> {
    node: &'n ProfileNode,
    name: &'n str,
    level: usize,
    left: f64,
    width: f64,
    whole: u64,
}

/// Where each node is drawn: beside the others of its caller, in the order in which they were first called.
fn boxes<'n>(nodes: &'n [ProfileNode], names: &'n [String]) -> Vec<Bar<'n>> {
    let wholes = wholes(nodes);
    let Some(&all) = wholes.first() else { return Vec::new() };
    let scale = WIDTH / (all.max(1)) as f64;
    let mut drawn: Vec<Bar<'_>> = Vec::with_capacity(nodes.len());
    // Where the next box above each node begins.
    let mut next = vec![0.0; nodes.len()];
    for (place, (node, name)) in nodes.iter().zip(names).enumerate() {
        let width = wholes[place] as f64 * scale;
        let (left, level) = match place {
            0 => (0.0, 0),
            _ => (next[node.caller], drawn[node.caller].level + 1),
        };
        next[node.caller] = left + width;
        next[place] = left;
        drawn.push(Bar { node, name, level, left, width, whole: wholes[place] });
    }
    drawn
}

/// The picture: a box for each way of calls, as wide as the time that it took, above that of its caller.
fn flame_graph(nodes: &[ProfileNode], names: &[String]) -> String {
    let boxes = boxes(nodes, names);
    let levels = boxes.iter().map(|one| one.level + 1).max().unwrap_or(0);
    let height = levels * ROW_HEIGHT + 2 * MARGIN;
    let mut svg = String::new();
    let frame = WIDTH as usize + 2 * MARGIN;
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{frame}\" height=\"{height}\" viewBox=\"0 0 {frame} {height}\" \
         font-family=\"monospace\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    );
    for Bar { node, name, level, left, width, whole } in boxes.iter().filter(|one| one.width >= WIDTH_MIN) {
        let (x, y) = (MARGIN as f64 + left, height - MARGIN - (level + 1) * ROW_HEIGHT);
        let title = escaped(name);
        let _ = writeln!(
            svg,
            "<g><title>{title}: {} calls, {} with callees, {} itself</title>\
             <rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" fill=\"{}\" rx=\"1\"/>\
             <text x=\"{:.1}\" y=\"{}\">{}</text></g>",
            node.calls,
            milliseconds(*whole),
            milliseconds(node.nanoseconds),
            ROW_HEIGHT - 1,
            colour(&node.function),
            x + 3.0,
            y + ROW_HEIGHT - 5,
            label(name, *width),
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
            rule: None,
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

    fn names() -> Vec<String> {
        nodes().iter().map(|node| node.function.to_string()).collect()
    }

    #[test]
    fn rules_are_added_up_below_their_function() {
        let rule = |name: &str| Atom::expression([Atom::symbol("="), Atom::symbol(name), Atom::unit()]);
        let mut nodes = nodes();
        for (caller, name, nanoseconds) in [(2, "first", 1), (2, "second", 5), (4, "first", 2)] {
            let function = "a<b".into();
            nodes.push(ProfileNode { function, rule: Some(rule(name)), caller, calls: 1, nanoseconds });
        }
        let rows = rows(&nodes);
        assert_eq!((rows[0].function, rows[0].calls, rows[0].own, rows[0].whole), ("a<b", 8, 6_000_008, 6_000_008));
        let rules: Vec<_> = rows[0].rules.iter().map(|rule| (rule.calls, rule.own, rule.whole)).collect();
        assert_eq!(rules, [(1, 5, 5), (2, 3, 3)]);
    }

    #[test]
    fn boxes_lie_above_their_callers_and_beside_each_other() {
        let (nodes, names) = (nodes(), names());
        let shown: Vec<_> = boxes(&nodes, &names).iter().map(|one| (one.level, one.left, one.width)).collect();
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
        let svg = flame_graph(&nodes(), &names());
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!(svg.matches("<g>").count(), 5);
        assert!(svg.contains("<title>a&lt;b: 7 calls, 4.0 ms with callees, 4.0 ms itself</title>"), "{svg}");
        assert!(flame_graph(&[], &[]).ends_with("</svg>\n"));
    }
}
