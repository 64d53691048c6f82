//! `metroon watch`: follows a live query of a knowledge base, also while another process writes to it.

use crate::counts;
use crate::end::End;
use crate::output::{Ended, Out, counted, fail};
use crate::render;
use crate::run::base_failed;
use clap::Args;
use metroon::history::Moment;
use metroon::live::{AnswerChange, FollowError, LiveFollower, LiveRequestError};
use metroon::{LiveEvent, LiveRequest, ViewError};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::json;
use statistics::{Entries, Statistics};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

/// How long it waits before it looks again whether something was committed.
const LOOKS_AGAIN_AFTER: Duration = Duration::from_millis(20);

pub(crate) const ABOUT: &str = "\
Prints the answers of PATTERN in the knowledge base, a line that says how many there are, and then, until Ctrl-C, a line for each answer that
a commit adds, takes away or changes. It works while another process writes. A line begins with the number of the commit:

  2 + (road Oslo Bergen)          came
  2 . 1 answer                    all answers that there are after commit 2 have been printed
  3 - (road Oslo Bergen)          went
  4 ~ (spent Ann 5) -> (spent Ann 8)    is another one now

  5 ! the rules cannot be followed: …    with --result, if rows do not answer the rules any more; a later line goes on

TEMPLATE is what to print for each match, and may begin with tests: '(if (> $price 3) (dear $item) (empty))'. With --count, --sum, --min or
--max, matches are taken together that agree in the other variables of TEMPLATE. --from N goes on as if it had been watched until commit N;
a date, such as 2026-11-20 or 2026-11-20T10:00:00Z, means the last commit that was made by then, 2026-11-20 by the end of that day.
--live NAME follows a query that is registered, in the place of PATTERN and what belongs to it.

Exit code: 0 it ended by --to, --limit or because nobody reads the output; 2 wrong usage, no knowledge base there, or a query that cannot be
kept up to date; 3 PATTERN or TEMPLATE does not parse; 4 the knowledge base is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub(crate) struct WatchArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// What to look for, in quotes for the shell: '(parent $who Bob)', or '(, P1 P2 …)' for several at once
    #[arg(value_name = "PATTERN", allow_hyphen_values = true, required_unless_present = "live")]
    pattern: Option<String>,

    /// What to print for each match, such as '$who'; PATTERN if it is left out
    #[arg(value_name = "TEMPLATE", allow_hyphen_values = true)]
    template: Option<String>,

    /// Follow the live query of this name, which the program or `metroon kb live add` has registered
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pattern", "template", "LiveOptions"])]
    live: Option<String>,

    /// Print only what came after this commit, or after this date
    #[arg(long, value_name = "WHEN")]
    from: Option<Moment>,

    /// End after this commit
    #[arg(long, value_name = "N")]
    to: Option<u64>,

    /// End after N lines of answers
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Say of commits that change nothing that they were looked at
    #[arg(long)]
    progress: bool,

    /// Print on the standard error, at the end, what following took; with --json as the last object of the output
    #[arg(long)]
    stats: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    options: LiveOptions,
}

/// What a live query asks beside its pattern and template.
#[derive(Debug, Args)]
pub(crate) struct LiveOptions {
    /// PATTERN is a call of a function with rules of Datalog shape, which may be recursive; in TEMPLATE, this variable stands for what the call
    /// comes to. Each answer is there once
    #[arg(long, value_name = "$VAR")]
    result: Option<String>,

    /// If what goes and what comes agree in this variable, print it as a change; may be given more than once
    #[arg(long, value_name = "$VAR")]
    key: Vec<String>,

    /// Count matches: in TEMPLATE, this variable stands for their number
    #[arg(long, value_name = "$VAR", group = "aggregate")]
    count: Option<String>,

    /// Add up what this variable is; in TEMPLATE, it stands for the sum
    #[arg(long, value_name = "$VAR", group = "aggregate")]
    sum: Option<String>,

    /// The least of what this variable is
    #[arg(long, value_name = "$VAR", group = "aggregate")]
    min: Option<String>,

    /// The greatest of what this variable is
    #[arg(long, value_name = "$VAR", group = "aggregate")]
    max: Option<String>,

    /// Only the K matches in which a variable is greatest
    #[arg(long, num_args = 2, value_names = ["K", "$VAR"], group = "aggregate")]
    greatest: Option<Vec<String>>,

    /// Only the K matches in which a variable is least
    #[arg(long, num_args = 2, value_names = ["K", "$VAR"], group = "aggregate")]
    least: Option<Vec<String>>,

    /// K for each value of this variable; may be given more than once
    #[arg(long, value_name = "$VAR", conflicts_with_all = ["count", "sum", "min", "max"])]
    within: Vec<String>,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: &WatchArguments) -> End {
    watch(arguments).unwrap_or_else(|end| end)
}

fn watch(arguments: &WatchArguments) -> Ended {
    let request = request(arguments)?;
    let from = arguments.from.map(|from| from.epoch_in(&arguments.directory)).transpose();
    let from = from.map_err(|error| base_failed(&arguments.directory, &error))?;
    let mut follower =
        LiveFollower::open(&arguments.directory, &request, from).map_err(|error| not_followed(arguments, error))?;
    if let (None, Some(to)) = (from, arguments.to)
        && to < follower.epoch()
    {
        let message = format!("commit {to} is over: the knowledge base is at commit {}", follower.epoch());
        return Err(fail(&message, "name with --from after which commit to begin; 0 is the beginning", End::Usage));
    }
    let mut printer = Printer { out: Out::new(), arguments, left: arguments.limit.unwrap_or(u64::MAX) };
    if printer.left == 0 {
        return Ok(End::Fine);
    }
    let followed = follow(arguments, &mut follower, &mut printer);
    follower.warnings().iter().for_each(|warning| render::say(&format!("warning: {warning}")));
    if arguments.stats {
        print_statistics(&follower, &mut printer)?;
    }
    let ended = followed?;
    printer.out.end()?;
    Ok(ended)
}

/// Prints what happens until it is to end.
fn follow(arguments: &WatchArguments, follower: &mut LiveFollower, printer: &mut Printer<'_>) -> Ended {
    loop {
        let event = follower.next_event().map_err(|error| base_failed(&arguments.directory, &error))?;
        let is_last = match event {
            Some(event) if arguments.to.is_some_and(|to| event.epoch() > to) => true,
            Some(event) => printer.print(&event)?,
            None => {
                printer.out.end()?;
                std::thread::sleep(LOOKS_AGAIN_AFTER);
                false
            }
        };
        let has_ended = arguments.to.is_some_and(|to| follower.epoch() >= to) && !follower.has_waiting();
        if is_last || has_ended || (is_closed() && printer.out.end().is_ok()) {
            return printer.out.end();
        }
    }
}

/// What following a query took.
struct Followed<'a>(&'a LiveFollower);

impl Statistics for Followed<'_> {
    fn what(&self) -> &'static str {
        "watch"
    }

    fn entries(&self, to: &mut Entries) {
        self.0.queries_statistics().entries(to);
        to.part("query", "What keeping its answers took.", Some(&self.0.statistics()));
        let rules = self.0.rules_statistics();
        let rules = rules.as_ref().map(|rules| rules as &dyn Statistics);
        to.part("rules", "What keeping the rows of its rules took, if it is a call.", rules);
    }
}

/// Prints it on the standard error, or with `--json` as the last object of the output.
fn print_statistics(follower: &LiveFollower, printer: &mut Printer<'_>) -> Result<(), End> {
    if printer.arguments.json {
        return counts::print(&mut printer.out, &Followed(follower), true);
    }
    Followed(follower).report().to_string().lines().for_each(render::say);
    Ok(())
}

/// Whether nobody reads the standard output any more.
fn is_closed() -> bool {
    let output = std::io::stdout();
    let mut looked_at = [PollFd::new(output.as_fd(), PollFlags::empty())];
    let is_news = poll(&mut looked_at, PollTimeout::ZERO).is_ok_and(|count| count > 0);
    is_news && looked_at[0].revents().is_some_and(|found| found.intersects(PollFlags::POLLERR | PollFlags::POLLHUP))
}

fn request(arguments: &WatchArguments) -> Result<LiveRequest, End> {
    match (&arguments.live, &arguments.pattern) {
        (Some(name), _) => Ok(LiveRequest::named(name)),
        (None, pattern) => {
            arguments.options.request(pattern.as_deref().unwrap_or_default(), arguments.template.as_deref())
        }
    }
}

impl LiveOptions {
    /// The query of a pattern and a template with these options.
    pub(crate) fn request(&self, pattern: &str, template: Option<&str>) -> Result<LiveRequest, End> {
        let mut request = match &self.result {
            Some(result) => LiveRequest::call(pattern, result),
            None => LiveRequest::new(pattern),
        };
        if let Some(template) = template {
            request = request.template(template);
        }
        request = self.key.iter().fold(request, LiveRequest::key);
        let Self { count, sum, min, max, .. } = self;
        request = match (count, sum, min, max) {
            (Some(variable), ..) => request.count(variable),
            (_, Some(variable), ..) => request.sum(variable),
            (_, _, Some(variable), _) => request.min(variable),
            (_, _, _, Some(variable)) => request.max(variable),
            _ => request,
        };
        let number = |text: &String| {
            let help = "write how many matches are wanted, and then the variable: --greatest 3 '$price'";
            text.parse::<usize>().map_err(|_| fail(&format!("{text} is not a number of matches"), help, End::Usage))
        };
        if let Some([most, by]) = self.greatest.as_deref() {
            request = request.greatest(number(most)?, by);
        }
        if let Some([most, by]) = self.least.as_deref() {
            request = request.least(number(most)?, by);
        }
        Ok(self.within.iter().fold(request, LiveRequest::within))
    }
}

fn not_followed(arguments: &WatchArguments, error: FollowError) -> End {
    match error {
        FollowError::KnowledgeBase(error) => base_failed(&arguments.directory, &error),
        FollowError::Request(error) => {
            let pattern = arguments.pattern.as_deref().unwrap_or_default();
            not_a_query(pattern, arguments.template.as_deref(), error)
        }
        other => fail(&other.to_string(), "", End::Usage),
    }
}

/// Says why a pattern and a template are not a live query.
pub(crate) fn not_a_query(pattern: &str, template: Option<&str>, error: LiveRequestError) -> End {
    let (name, text, error) = match error {
        LiveRequestError::Pattern(error) => ("PATTERN", pattern, error),
        LiveRequestError::Template(error) => ("TEMPLATE", template.unwrap_or(pattern), error),
        LiveRequestError::Unknown(message) => {
            return fail(&message, "`metroon kb live list DIR` prints those that there are", End::Usage);
        }
        other => return fail(&other.to_string(), "", End::Usage),
    };
    match error {
        ViewError::NotParsed { diagnostic, .. } => {
            render::diagnostics(name, text, [&*diagnostic]);
            End::NotParsed
        }
        _ => fail(&format!("{name} must be one atom"), "write it in quotes: '(parent $who Bob)'", End::Usage),
    }
}

/// Prints what happens, as long as lines are left.
struct Printer<'a> {
    out: Out,
    arguments: &'a WatchArguments,
    left: u64,
}

impl Printer<'_> {
    /// Prints an event; gives whether it was the last.
    fn print(&mut self, event: &LiveEvent) -> Result<bool, End> {
        let is_json = self.arguments.json;
        match event {
            LiveEvent::Answers { epoch, changes } | LiveEvent::Changes { epoch, changes } => {
                for change in changes {
                    self.out.line(&if is_json { change_json(*epoch, change) } else { change_line(*epoch, change) })?;
                    self.left -= 1;
                    if self.left == 0 {
                        return Ok(true);
                    }
                }
            }
            LiveEvent::SnapshotEnd { epoch, answers } => self.out.line(&if is_json {
                json!({ "commit": epoch, "change": "end-of-snapshot", "answers": answers }).to_string()
            } else {
                format!("{epoch} . {}", counted(*answers, "answer"))
            })?,
            LiveEvent::Stopped { epoch, reason } => self.out.line(&if is_json {
                json!({ "commit": epoch, "change": "stopped", "reason": reason }).to_string()
            } else {
                format!("{epoch} ! the rules cannot be followed: {reason}")
            })?,
            LiveEvent::Progress { epoch } if self.arguments.progress => self.out.line(&if is_json {
                json!({ "commit": epoch, "change": "none" }).to_string()
            } else {
                format!("{epoch} .")
            })?,
            _ => {}
        }
        Ok(false)
    }
}

fn change_line(epoch: u64, change: &AnswerChange) -> String {
    let text = LiveFollower::text;
    let what = match (&change.before, &change.after) {
        (Some(before), Some(after)) => format!("~ {} -> {}", text(before), text(after)),
        (Some(gone), None) => format!("- {}", text(gone)),
        (None, Some(come)) => format!("+ {}", text(come)),
        (None, None) => String::new(),
    };
    let times = if change.copies > 1 { format!("  ({} times)", change.copies) } else { String::new() };
    format!("{epoch} {what}{times}")
}

fn change_json(epoch: u64, change: &AnswerChange) -> String {
    let what = match (&change.before, &change.after) {
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "removed",
        (None, _) => "added",
    };
    let answer = change.after.as_ref().or(change.before.as_ref()).map(LiveFollower::text);
    let mut object = json!({ "commit": epoch, "change": what, "answer": answer, "copies": change.copies });
    if let (Some(before), Some(_)) = (&change.before, &change.after) {
        object["before"] = json!(LiveFollower::text(before));
    }
    object.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, Parser};

    #[derive(Debug, Parser)]
    struct Watch {
        #[command(flatten)]
        arguments: WatchArguments,
    }

    #[test]
    fn a_registered_query_takes_none_of_the_options_of_another_one() {
        let options = LiveOptions::augment_args(Command::new("options"));
        for option in options.get_arguments() {
            let name = format!("--{}", option.get_long().expect("each has a long name"));
            let values = option.get_num_args().map_or(1, |values| values.max_values());
            let given = ["watch", "kb", "--live", "low", &name].into_iter().chain(std::iter::repeat_n("$x", values));
            let refused = Watch::try_parse_from(given).expect_err(&name);
            assert_eq!(refused.kind(), clap::error::ErrorKind::ArgumentConflict, "{name}");
        }
        assert!(Watch::try_parse_from(["watch", "kb", "--live", "low", "--from", "2026-11-20"]).is_ok());
    }
}
