//! `docs/benchmarks/chart.svg`: the ratio of each action of the first page, on a logarithmic scale.
//!
//! 1. A line a row, in the order of the page, below the heading of its kind: a bar from 1 to the median, and a thin line from the smallest to
//!    the largest ratio of the rounds.
//! 2. Bars to the right are where Metroon is faster, those to the left where it is slower; the colours say the same once more. Grey is
//!    what something costs, beside Metroon without it.
//! 3. The picture has a background of its own and follows the colour scheme that the reader prefers. A title and a description
//!    say what it shows to those who cannot see it.
//!
//! An action that was not measured is left out.

use std::fmt::Write as _;

use super::first_page::{Measured, named};
use super::tables::short;

const WIDTH: f64 = 920.0;
const MARGIN: f64 = 16.0;
/// Where the scale begins and ends. To the right of it is room for the last ratio.
const SCALE_LEFT: f64 = 470.0;
const SCALE_RIGHT: f64 = 850.0;
const HEAD_HEIGHT: f64 = 74.0;
const KIND_HEIGHT: f64 = 30.0;
const ROW_HEIGHT: f64 = 34.0;
const FOOT_HEIGHT: f64 = 14.0;
const BAR_HEIGHT: f64 = 12.0;

const STYLE: &str = "\
text { font-family: system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; font-size: 12px; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.kind { font-size: 13px; font-weight: 600; }
.small { font-size: 11px; fill: #59636e; }
.paper { fill: #ffffff; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.one { stroke: #59636e; stroke-width: 1.5; }
.range { stroke: #1f2328; stroke-width: 1.5; }
.faster { fill: #1a7f64; }
.slower { fill: #c4532b; }
.cost { fill: #7d8894; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .small { fill: #a3adb8; }
  .paper { fill: #0d1117; }
  .grid { stroke: #30363d; }
  .one { stroke: #a3adb8; }
  .range { stroke: #f0f6fc; }
  .faster { fill: #2fa583; }
  .slower { fill: #e2703f; }
  .cost { fill: #7d8894; }
}
";

/// A measured action with its ratios.
struct Bar<'a> {
    row: &'a Measured<'a>,
    ratio: f64,
    min: f64,
    max: f64,
}

/// The powers of ten between which all ratios lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    lowest: i32,
    highest: i32,
}

impl Scale {
    fn of(bars: &[Bar<'_>]) -> Self {
        let (low, high) =
            bars.iter().fold((1.0_f64, 1.0_f64), |(low, high), bar| (low.min(bar.min), high.max(bar.max)));
        // There is a decade on each side of 1 at least, whatever was measured.
        let (lowest, highest) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        Self { lowest: lowest.min(-1), highest: highest.max(1) }
    }

    fn x(self, ratio: f64) -> f64 {
        let (lowest, highest) = (f64::from(self.lowest), f64::from(self.highest));
        let share = (ratio.log10() - lowest) / (highest - lowest);
        SCALE_LEFT + share.clamp(0.0, 1.0) * (SCALE_RIGHT - SCALE_LEFT)
    }
}

/// The picture.
pub(super) fn svg(measured: &[Measured<'_>]) -> String {
    let bars: Vec<Bar<'_>> = measured.iter().filter_map(bar).collect();
    let scale = Scale::of(&bars);
    let (mut body, mut y) = (String::new(), HEAD_HEIGHT);
    for of_kind in bars.chunk_by(|one, next| one.row.action.kind == next.row.action.kind) {
        let kind = of_kind[0].row.action.kind.shown();
        let _ = writeln!(body, "<text class=\"kind\" x=\"{MARGIN}\" y=\"{:.1}\">{kind}</text>", y + 20.0);
        y += KIND_HEIGHT;
        for bar in of_kind {
            body.push_str(&bar.shown(scale, y));
            y += ROW_HEIGHT;
        }
    }
    let height = y + FOOT_HEIGHT;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-labelledby=\"title description\">\n<title id=\"title\">What a user does: Metroon beside others</title>\n\
         <desc id=\"description\">{}</desc>\n<style>\n{STYLE}</style>\n<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>\n\
         {}{body}</svg>\n",
        escaped(&description(&bars)),
        head(scale, y)
    )
}

fn bar<'a>(row: &'a Measured<'a>) -> Option<Bar<'a>> {
    let case = row.case?;
    let is_shown = |ratio: &f64| *ratio > 0.0;
    let ratio = case.ratio.filter(is_shown)?;
    let (min, max) = (case.ratio_min.filter(is_shown)?, case.ratio_max.filter(is_shown)?);
    Some(Bar { row, ratio, min, max })
}

/// The title, and the scale down to `bottom`.
fn head(scale: Scale, bottom: f64) -> String {
    let mut text = format!(
        "<text class=\"title\" x=\"{MARGIN}\" y=\"30\">How many times as fast as the peer</text>\n\
         <text class=\"small\" x=\"{MARGIN}\" y=\"50\">Median of the rounds; the thin line is their range. Grey: beside Metroon itself.</text>\n"
    );
    for power in scale.lowest..=scale.highest {
        let (x, top) = (scale.x(10.0_f64.powi(power)), HEAD_HEIGHT - 8.0);
        let class = if power == 0 { "one" } else { "grid" };
        let _ = write!(
            text,
            "<line class=\"{class}\" x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>\n\
             <text class=\"small\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            top - 6.0,
            tick(power)
        );
    }
    let one = scale.x(1.0);
    let _ = write!(
        text,
        "<text class=\"small\" x=\"{:.1}\" y=\"30\" text-anchor=\"end\">◀ slower</text>\n\
         <text class=\"small\" x=\"{:.1}\" y=\"30\">faster ▶</text>\n",
        one - 8.0,
        one + 8.0
    );
    text
}

/// A power of ten: 0.01, 1, 1k.
fn tick(power: i32) -> String {
    match power {
        ..0 => format!("0.{}1", "0".repeat(power.unsigned_abs() as usize - 1)),
        0..3 => format!("1{}", "0".repeat(power as usize)),
        3..6 => format!("1{}k", "0".repeat(power as usize - 3)),
        6.. => format!("1{}M", "0".repeat(power as usize - 6)),
    }
}

impl Bar<'_> {
    /// The row at a height.
    fn shown(&self, scale: Scale, y: f64) -> String {
        let (one, end) = (scale.x(1.0), scale.x(self.ratio));
        let (left, right) = (scale.x(self.min), scale.x(self.max));
        let class = match self.ratio >= 1.0 {
            _ if self.row.action.is_beside_itself() => "cost",
            true => "faster",
            false => "slower",
        };
        let (middle, top) = (y + ROW_HEIGHT / 2.0 - 2.0, y + ROW_HEIGHT / 2.0 - 2.0 - BAR_HEIGHT / 2.0);
        // What is slower has its figure on the other side of 1, where there is room.
        let figure_at = one.max(end).max(right) + 6.0;
        let action = self.row.action;
        format!(
            "<text x=\"{MARGIN}\" y=\"{:.1}\">{}</text>\n<text class=\"small\" x=\"{MARGIN}\" y=\"{:.1}\">beside {}</text>\n\
             <rect class=\"{class}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR_HEIGHT}\"/>\n\
             <line class=\"range\" x1=\"{left:.1}\" y1=\"{middle:.1}\" x2=\"{right:.1}\" y2=\"{middle:.1}\"/>\n\
             <text x=\"{figure_at:.1}\" y=\"{:.1}\">{}</text>\n",
            y + 12.0,
            escaped(action.words),
            y + 26.0,
            escaped(named(action.peer)),
            one.min(end),
            (end - one).abs().max(1.0),
            middle + 4.0,
            short(self.ratio),
        )
    }
}

/// What the picture shows, in words.
fn description(bars: &[Bar<'_>]) -> String {
    let lines = bars.iter().map(|bar| {
        let action = bar.row.action;
        format!("{}, beside {}: {} times.", action.words, named(action.peer), short(bar.ratio))
    });
    let intro = "A bar a row: how many times as fast as the peer Metroon is; less than 1 is slower.";
    [intro.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::actions::ACTIONS;
    use super::super::runs::Case;
    use super::*;

    fn case(ratio: f64) -> Case {
        Case {
            name: String::new(),
            n: 1.0,
            ours: Some(1.0),
            peer: String::new(),
            peer_figure: Some(ratio),
            ratio: Some(ratio),
            ratio_min: Some(ratio / 2.0),
            ratio_max: Some(ratio * 2.0),
            rounds: 5.0,
            unit: None,
            note: String::new(),
        }
    }

    #[test]
    fn bars_lie_on_their_side_of_one_and_within_the_scale() {
        let cases = [case(0.03), case(1.0), case(30_000.0)];
        let measured: Vec<_> =
            ACTIONS.iter().zip(&cases).map(|(action, case)| Measured { action, case: Some(case) }).collect();
        let bars: Vec<_> = measured.iter().filter_map(bar).collect();
        let scale = Scale::of(&bars);
        assert_eq!(scale, Scale { lowest: -2, highest: 5 });
        assert!(scale.x(0.03) < scale.x(1.0) && scale.x(1.0) < scale.x(60_000.0) && scale.x(60_000.0) <= SCALE_RIGHT);
        let svg = svg(&measured);
        assert_eq!((svg.matches("class=\"slower\"").count(), svg.matches("class=\"faster\"").count()), (1, 2));
        assert_eq!(svg.matches("class=\"kind\"").count(), 1);
    }

    #[test]
    fn an_action_without_a_figure_is_left_out() {
        let nothing = Case { ratio: None, ..case(1.0) };
        let measured =
            [Measured { action: &ACTIONS[0], case: None }, Measured { action: &ACTIONS[1], case: Some(&nothing) }];
        let svg = svg(&measured);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("class=\"faster\""));
        assert!(svg.contains("<title id=\"title\">") && svg.contains("<desc id=\"description\">"));
    }

    #[test]
    fn powers_of_ten_are_short() {
        let ticks: Vec<String> = (-3..=6).map(tick).collect();
        assert_eq!(ticks, ["0.001", "0.01", "0.1", "1", "10", "100", "1k", "10k", "100k", "1M"]);
    }
}
