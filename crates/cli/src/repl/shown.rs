//! Answers at the prompt: on one line if they fit, else a line each, and not more of them at a time than anybody reads.

/// How many lines of one answer are shown at a time.
const LINES_SHOWN: usize = 100;

/// The columns that an answer may take on one line.
const WIDTH: usize = 100;

/// Lines that are still to be shown.
#[derive(Default)]
pub(super) struct Rest(Vec<String>);

impl Rest {
    /// Takes lines, and gives those to be shown now. The others come with [`Rest::more`].
    pub(super) fn begin(&mut self, mut lines: Vec<String>) -> Vec<String> {
        // From the end, so that each is taken in constant time.
        lines.reverse();
        self.0 = lines;
        self.more()
    }

    /// The next lines, and a note if there are others.
    pub(super) fn more(&mut self) -> Vec<String> {
        let kept = self.0.len().saturating_sub(LINES_SHOWN);
        let mut now: Vec<String> = self.0.drain(kept..).rev().collect();
        if kept > 0 {
            now.push(format!("… {kept} lines more: `:more` shows them"));
        }
        now
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The lines of an answer.
pub(super) fn lines(results: &[String]) -> Vec<String> {
    let width = results.iter().map(|result| result.chars().count() + 2).sum::<usize>();
    if results.len() < 2 || width <= WIDTH {
        return vec![format!("[{}]", results.join(", "))];
    }
    let last = results.len() - 1;
    let line = |(index, result): (usize, &String)| {
        let begin = if index == 0 { "[" } else { " " };
        let end = if index == last { "]" } else { "," };
        format!("{begin}{result}{end}")
    };
    results.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("(a result {number})")).collect()
    }

    #[test]
    fn a_short_answer_is_a_line_and_a_long_one_has_a_line_for_each_result() {
        assert_eq!(lines(&[]), ["[]"]);
        assert_eq!(lines(&texts(2)), ["[(a result 0), (a result 1)]"]);
        let many = lines(&texts(50));
        assert_eq!((many.len(), many[0].as_str(), many[49].as_str()), (50, "[(a result 0),", " (a result 49)]"));
    }

    #[test]
    fn a_long_answer_is_shown_in_pages() {
        let mut rest = Rest::default();
        let first = rest.begin(lines(&texts(250)));
        assert_eq!((first.len(), first[100].as_str()), (101, "… 150 lines more: `:more` shows them"));
        assert_eq!(rest.more()[0], " (a result 100),");
        let last = rest.more();
        assert_eq!((last.len(), last[49].as_str()), (50, " (a result 249)]"));
        assert!(rest.is_empty() && rest.more().is_empty());
    }
}
