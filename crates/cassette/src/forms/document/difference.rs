//! What one tree has that another one has not, and putting it back.

use super::Node;

/// What is in a document and not in what we would write for it; `None` if we would write the same or more.
///
/// Maps are compared member by member, except those that are left out; lists of equal length element by element, with `null` where
/// nothing is missing; everything else is the same or not.
pub(crate) fn difference(theirs: &Node, ours: &Node, left_out: &[&str]) -> Option<Node> {
    match (theirs, ours) {
        (Node::Map(theirs), Node::Map(_)) => {
            let missing = |(name, node): &(String, Node)| {
                let missing = match own(ours, name) {
                    _ if left_out.contains(&&**name) => None,
                    Some(ours) => difference(node, ours, &[]),
                    None => Some(node.clone()),
                };
                missing.map(|missing| (name.clone(), missing))
            };
            let missing: Vec<_> = theirs.iter().filter_map(missing).collect();
            (!missing.is_empty()).then_some(Node::Map(missing))
        }
        (Node::List(theirs), Node::List(ours)) if theirs.len() == ours.len() => {
            let missing: Vec<_> = theirs.iter().zip(ours).map(|(theirs, ours)| difference(theirs, ours, &[])).collect();
            let is_any = missing.iter().any(Option::is_some);
            is_any.then(|| Node::List(missing.into_iter().map(|missing| missing.unwrap_or(Node::Null)).collect()))
        }
        _ => (!means_the_same(theirs, ours)).then(|| theirs.clone()),
    }
}

/// Puts back what [`difference`] took out.
pub(crate) fn merge(ours: &mut Node, missing: Node) {
    match (ours, missing) {
        (Node::Map(ours), Node::Map(missing)) => {
            // What is put in was not there: only what was there before is looked through.
            let before = ours.len();
            for (name, missing) in missing {
                match ours[..before].iter_mut().find(|(other, _)| *other == name) {
                    Some((_, ours)) => merge(ours, missing),
                    None => ours.push((name, missing)),
                }
            }
        }
        (Node::List(ours), Node::List(missing)) if ours.len() == missing.len() => {
            let changed = ours.iter_mut().zip(missing).filter(|(_, missing)| *missing != Node::Null);
            changed.for_each(|(ours, missing)| merge(ours, missing));
        }
        (ours, missing) => *ours = missing,
    }
}

/// A member, be it `null`.
fn own<'n>(map: &'n Node, name: &str) -> Option<&'n Node> {
    let Node::Map(members) = map else { return None };
    members.iter().find(|(other, _)| other == name).map(|(_, node)| node)
}

/// `1` and `1.0` do, and so do a text with quotes and without.
fn means_the_same(one: &Node, other: &Node) -> bool {
    match (one, other) {
        _ if one == other || one.is_null() && other.is_null() => true,
        (Node::Text(one) | Node::Plain(one), Node::Text(other) | Node::Plain(other)) => one == other,
        (Node::Number(_) | Node::Plain(_), Node::Number(_) | Node::Plain(_)) => {
            matches!((one.number(), other.number()), (Ok(one), Ok(other)) if one == other)
        }
        _ => false,
    }
}
