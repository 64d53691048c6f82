//! Relative links in Markdown lead to a file or folder of the repository.
//!
//! Looks at `[text](target)` and `[name]: target` outside fenced blocks and inline code. Other sites are not asked.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.under("", ".md") {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in targets(text) {
            if !is_elsewhere(&target) && !leads_somewhere(tree, folder, &target) {
                found.push(Finding::new(path, line, format!("the link to {target} leads nowhere")));
            }
        }
    }
    found
}

fn is_elsewhere(target: &str) -> bool {
    target.is_empty() || target.starts_with('#') || target.contains("://") || target.starts_with("mailto:")
}

fn leads_somewhere(tree: &Tree, folder: &str, target: &str) -> bool {
    let path = target.split(['#', '?']).next().unwrap_or(target);
    match resolved(folder, path) {
        Some(path) => path.is_empty() || tree.holds(&path),
        None => false,
    }
}

/// `target` as seen from `folder`, without `.` and `..`; none if it leaves the repository.
fn resolved(folder: &str, target: &str) -> Option<String> {
    let from = if target.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in from.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The targets of all links with their lines.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => found.extend(line_targets(line).map(|target| (index + 1, target))),
            _ => {}
        }
    }
    found
}

fn line_targets(line: &str) -> impl Iterator<Item = String> {
    // Every second part between backticks is code.
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let definition =
        prose.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target.to_owned());
    let inline: Vec<String> =
        prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect();
    // A title may follow the target.
    let bare = |target: String| target.split_whitespace().next().unwrap_or("").trim_matches(['<', '>']).to_owned();
    inline.into_iter().chain(definition).map(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let files = [("docs/a.md", text), ("docs/b.md", ""), ("README.md", ""), ("crates/x/src/lib.rs", "")];
        check(&Tree::of(&files)).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text =
            "[b](b.md) [r](../README.md#top) [x](../crates/x) [w](https://example.org/y) [s](#s)\n[b]: b.md \"B\"\n";
        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        assert_eq!(found("ok\n[c](c.md)"), ["docs/a.md:2: the link to c.md leads nowhere"]);
        assert_eq!(found("[c](../../etc)").len(), 1);
        assert_eq!(found("[c]: c.md").len(), 1);
        assert_eq!(found("![i](i.png) [b](b.md)").len(), 1);
    }

    #[test]
    fn code_is_not_looked_at() {
        assert!(found("`[c](c.md)` and\n```\n[c](c.md)\n```\n").is_empty());
        assert_eq!(found("```\n~~~\n```\n[c](c.md)").len(), 1);
    }
}
