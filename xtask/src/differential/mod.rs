//! Generated programs in the engine and in Hyperon 0.2.10, compared.
//!
//! 1. The crate `generate` makes a program of each seed, without the features in [`NOT_HYPERONS`]; or, of each seed, a mutant
//!    of a program of the corpus: one with a few small changes; or one spliced together from several programs of the corpus.
//! 2. `metroon run --json` runs it, once with each evaluator it has; both must print the same lines.
//! 3. [`hyperon`] runs it in the package from PyPI. The results of each form are compared as multisets, with variables
//!    renamed; so is all that the program printed.
//! 4. A program that differs is made smaller and shown.

mod hyperon;
pub(crate) mod oracle;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use generate::{Feature, Features, Ran, as_multiset, nameless};

use crate::conformance::record::{self, Record};
use crate::install::Install;
use crate::{Outcome, conformance, process, repository};
use hyperon::Hyperon;

/// Run generated programs in both evaluators and in Hyperon, and compare.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Hyperon is the package hyperon 0.2.10 of PyPI, below the target folder; --install gets it. Without it the \
                        evaluators are compared with each other, if there are two."
)]
pub(crate) struct Flags {
    /// The programs to run
    #[arg(long, value_name = "A..B", default_value = "0..300", value_parser = generate::range)]
    seeds: Range<u64>,
    /// Instead: mutants of these numbers of the programs of the corpus
    #[arg(long, value_name = "A..B", value_parser = generate::range)]
    mutants: Option<Range<u64>>,
    /// Instead: programs of these seeds, spliced together from those of the corpus
    #[arg(long, value_name = "A..B", value_parser = generate::range, conflicts_with = "mutants")]
    spliced: Option<Range<u64>>,
    /// How long they are, in functions and questions
    #[arg(long, value_name = "N", default_value_t = 3)]
    size: usize,
    /// `types,match`: only these; `-types,-match`: all but these
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    features: String,
    /// The program to test (built from here if not given)
    #[arg(long, value_name = "PATH")]
    metroon: Option<PathBuf>,
    /// Print the programs, run nothing
    #[arg(long)]
    show: bool,
    #[command(flatten)]
    install: Install,
}

/// What Hyperon does otherwise, as docs/compat.md says, or leaves open: it wraps integers around, ends its process at
/// `(% n 0)`, promises no order of alternatives or types, goes wrong in some runs with dependent types, takes `1` for
/// `1.0` once a space holds that, does not remove every rule it is asked to, has no tables, and looks at a metatype too early.
/// What an alternative changes, its siblings see in an order of their own.
const NOT_HYPERONS: &[Feature] = &[
    Feature::WideIntegers,
    Feature::ModuloByZero,
    Feature::NarrowMetatypes,
    Feature::Order,
    Feature::Dependent,
    Feature::WholeFloats,
    Feature::RuleRemovals,
    Feature::SeveralTypes,
    Feature::Transactions,
    Feature::TypeCheckAuto,
    Feature::UntypedStates,
    Feature::Tables,
    Feature::Siblings,
    Feature::Patterns,
    Feature::SomeResults,
];
/// What brings files and modules into a program.
const REACHES_OUT: &[&str] =
    &["import!", "include", "register-module!", "git-module!", "mod-space!", "module-space-no-deps"];
/// Names that differ in what mutants rarely show, or what [`is_comparable`] leaves out.
const COMPARED_ANYWAY: &[&str] =
    &["+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "let*", "function", "get-type", "is-function"];
/// A program that asks for more is stopped, and counted.
const STEPS_MAX: &str = "100000";
const LIMIT: Duration = Duration::from_secs(20);
/// How many programs are compared before what differs is shown.
const BLOCK: usize = 20;

/// What a program came to: the results of each form after `!`, and what it printed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answers {
    forms: Vec<Vec<String>>,
    printed: Vec<String>,
}

/// A way of running a program with the engine.
struct Evaluator {
    name: &'static str,
    flags: &'static [&'static str],
}

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    let features = Features::all().without(NOT_HYPERONS).narrowed(&flags.features)?;
    let of_corpus = flags.mutants.as_ref().or(flags.spliced.as_ref());
    let originals = if of_corpus.is_some() { originals()? } else { Vec::new() };
    let seeds = of_corpus.unwrap_or(&flags.seeds).clone();
    let made = |seed: u64, originals: &[String]| match originals {
        [] => generate::program(seed, features, flags.size),
        originals if flags.spliced.is_some() => generate::spliced(seed, originals),
        originals => generate::mutant(seed, originals),
    };
    if flags.show {
        seeds.for_each(|seed| println!("; seed {seed}\n{}", made(seed, &originals)));
        return Ok(Outcome::Good);
    }
    let program = conformance::given_or_built(flags.metroon.as_deref())?;
    if flags.install.is_wanted() && !hyperon::is_there() {
        hyperon::install()?;
    }
    let mut is_good = true;
    let evaluators = evaluators(&program)?;
    if let [one, other] = evaluators.as_slice() {
        println!("== {} and {}", one.name, other.name);
        let lines = |evaluator: &Evaluator, text: &str| exact(&program, evaluator, text);
        let make = |seed| made(seed, &originals);
        is_good &= compare(seeds.clone(), make, |text| lines(one, text), |text| lines(other, text));
    }
    if hyperon::is_there() {
        println!("== hyperon and {}", evaluators[0].name);
        let kind = if originals.is_empty() { Compared::All } else { Compared::ButErrors };
        let agreed = agreed(&originals, &program, &evaluators[0])?;
        is_good &= beside_hyperon(seeds, |seed| made(seed, &agreed), (&program, &evaluators[0]), kind)?;
    } else {
        println!("skipped: {}", hyperon::how_to_get());
    }
    Ok(if is_good { Outcome::Good } else { Outcome::Bad })
}

/// What of the answers is compared with Hyperon.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compared {
    All,
    /// An error stands for any error: of mutants most come to one, and what it says of a call differs where the library is
    /// written otherwise.
    ButErrors,
}

impl Compared {
    fn of(self, lines: Vec<String>) -> Vec<String> {
        let plain = |line: String| match line.contains("(Error") {
            true if self == Self::ButErrors => "an error".to_owned(),
            _ => line,
        };
        lines.into_iter().map(plain).collect()
    }
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter.is_whitespace() || letter == '(' || letter == ')').filter(|word| !word.is_empty())
}

/// The names of the library that docs/compat.md says differ in more than numbers, or are not there, in one of the two.
fn names_that_differ() -> Result<Vec<String>, String> {
    let path = repository::root().join("docs").join("compat.md");
    let text =
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", repository::shown(&path)))?;
    let differs = |line: &str| {
        let (name, says) = line.strip_prefix("| `")?.split_once("` | ")?;
        let is_same = says.starts_with("works |") || !says.contains(" | ") || says.starts_with('`');
        let is_looked_at = COMPARED_ANYWAY.contains(&name);
        (!is_same && !is_looked_at).then(|| name.to_owned())
    };
    Ok(text.lines().filter_map(differs).collect())
}

/// The programs of the corpus that keep to themselves: a mutant is not to read or write files, nor to look for modules.
fn originals() -> Result<Vec<String>, String> {
    let folder = repository::root().join("corpus");
    let unread = |error| format!("cannot read {}: {error}", repository::shown(&folder));
    let entries = fs::read_dir(&folder).map_err(unread)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry.map_err(unread)?.path())).collect::<Result<_, String>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "metta"));
    paths.sort();
    let mut programs: Vec<String> =
        paths.iter().map(|path| fs::read_to_string(path).map_err(unread)).collect::<Result<_, _>>()?;
    programs.retain(|program| !words(program).any(|word| REACHES_OUT.contains(&word)));
    Ok(programs)
}

/// Those of some programs about which Hyperon and an evaluator agree: only what is made of them is compared.
///
/// # Errors
/// The process of Hyperon cannot be started, or does not answer any more.
fn agreed(originals: &[String], program: &Path, evaluator: &Evaluator) -> Result<Vec<String>, String> {
    let mut process = Hyperon::start()?;
    let mut agreed = Vec::new();
    for original in originals {
        let text = generate::one_form_a_line(original);
        match theirs_of(&mut process, &text) {
            Ok(lines) if unordered(program, evaluator, &text) == Ran::Printed(lines.clone()) => {
                agreed.push(text);
            }
            Ok(_) | Err(NoAnswer::LeftOut(_)) => {}
            Err(NoAnswer::Lost(why)) => return Err(why),
        }
    }
    if !originals.is_empty() {
        println!("{} of {} programs of the corpus come to the same in hyperon", agreed.len(), originals.len());
    }
    Ok(agreed)
}

/// Compares Hyperon with an evaluator, and says what was left out.
///
/// # Errors
/// The process of Hyperon cannot be started, or does not answer any more.
fn beside_hyperon(
    seeds: Range<u64>,
    make: impl Fn(u64) -> String,
    (program, evaluator): (&Path, &Evaluator),
    kind: Compared,
) -> Result<bool, String> {
    let left_out = RefCell::new(BTreeMap::<&'static str, usize>::new());
    let leave_out = |reason| {
        *left_out.borrow_mut().entry(reason).or_default() += 1;
        Ran::Stopped
    };
    let (mut process, mut lost) = (Hyperon::start()?, None);
    let differing = if kind == Compared::All { Vec::new() } else { names_that_differ()? };
    let theirs = RefCell::new(Vec::new());
    let ask = |text: &str| {
        if words(text).any(|word| differing.iter().any(|name| name == word)) {
            return leave_out(DIFFERS);
        }
        match theirs_of(&mut process, text) {
            Ok(lines) => {
                theirs.borrow_mut().clone_from(&lines);
                Ran::Printed(kind.of(lines))
            }
            Err(NoAnswer::LeftOut(reason)) => leave_out(reason),
            Err(NoAnswer::Lost(why)) => {
                lost = Some(why);
                Ran::Stopped
            }
        }
    };
    let ours = |text: &str| match unordered(program, evaluator, text) {
        Ran::Printed(lines) if shares_variables(text, &theirs.borrow(), &lines) => leave_out(SHARES_VARIABLES),
        Ran::Stopped => leave_out(TOO_LONG),
        Ran::Printed(lines) => Ran::Printed(kind.of(lines)),
    };
    let is_good = compare(seeds, make, ask, ours);
    println!("left out, see docs/compat.md (smaller versions of a program count):");
    left_out.borrow().iter().for_each(|(reason, count)| println!("  {count} {reason}"));
    lost.map_or(Ok(is_good), Err)
}

/// Compares block by block, so that a long run shows what it finds. True if nothing differs and most programs ended.
fn compare(
    seeds: Range<u64>,
    make: impl Fn(u64) -> String,
    mut one: impl FnMut(&str) -> Ran,
    mut other: impl FnMut(&str) -> Ran,
) -> bool {
    let (mut compared, mut stopped, mut differ) = (0, 0, 0);
    for first in seeds.clone().step_by(BLOCK) {
        let block = first..seeds.end.min(first + BLOCK as u64);
        let report = generate::compare(block, &make, &mut one, &mut other);
        report.differences.iter().for_each(|difference| println!("{difference}\n"));
        compared += report.compared;
        stopped += report.stopped;
        differ += report.differences.len();
    }
    println!("{compared} programs compared, {differ} differ, {stopped} stopped");
    differ == 0 && stopped * 10 <= compared
}

/// The evaluators of the program: two once it can be asked for the reference interpreter.
fn evaluators(program: &Path) -> Result<Vec<Evaluator>, String> {
    let help = process::bounded(Command::new(program).args(["run", "--help"]), LIMIT)?;
    let interpreter = |flags| Evaluator { name: "the interpreter", flags };
    Ok(match help.stdout.contains("--interpreter") {
        true => vec![Evaluator { name: "the machine", flags: &[] }, interpreter(&["--interpreter"])],
        false => vec![interpreter(&[])],
    })
}

/// What must follow a word so that Hyperon and Metroon agree about it.
const FOLLOWED_BY: &[(&str, &[&str])] =
    &[("(let* ", &["((", "()"]), ("(new-state ", &["0", "1", "2", "3", "5", "7", "-"]), ("(function ", &["(chain "])];

/// What may not follow: it asks for all that a library holds, or for the text of an error.
const NOT_COMPARED: &[&str] = &["(function)", "(eval $", "(evalc $", "(chain $", "(match &self $"];

/// Whether two engines promise to agree about a program. What is generated is of that kind, but made smaller it may
/// show something else: the order of a `collapse`, a `let*` without a list, a state without a type, or every rule of a
/// library.
fn is_comparable(text: &str) -> bool {
    let order_shows = |at: usize| {
        let before = &text[..at];
        let last = before.trim_end().rsplit(' ').next().unwrap_or("");
        !(before.ends_with("(bag ") || last.starts_with("$all"))
    };
    let follows = |word: &str, wanted: &[&str]| {
        let mut rests = text.match_indices(word).map(|(at, _)| &text[at + word.len()..]);
        rests.all(|rest| wanted.iter().any(|start| rest.starts_with(start)))
    };
    // What of a tuple begins with the word is an error there, see docs/compat.md.
    let has_bare_error = text.match_indices("Error").any(|(at, word)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        before.ends_with([' ', '\n']) && after.starts_with([' ', ')', '\n'])
    });
    !has_bare_error
        && FOLLOWED_BY.iter().all(|(word, wanted)| follows(word, wanted))
        && !NOT_COMPARED.iter().any(|found| text.contains(found))
        && !text.match_indices("(collapse ").any(|(at, _)| order_shows(at))
}

/// Whether an answer is an error about a type that holds `%Undefined%` inside: Hyperon takes that for a type like any
/// other where it was declared.
fn blames_undefined(answer: &str) -> bool {
    let mut heads: Vec<&str> = Vec::new();
    let mut rest = answer;
    while let Some(at) = rest.find(['(', ')', '%']) {
        let (sign, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        match sign {
            b'(' => heads.push(after.split([' ', '(', ')']).next().unwrap_or("")),
            b')' => drop(heads.pop()),
            _ if after.starts_with("Undefined%") => {
                let is_inside = heads.last().is_some_and(|head| !head.starts_with("Bad"));
                if is_inside && heads.iter().any(|head| ["BadArgType", "BadType"].contains(head)) {
                    return true;
                }
            }
            _ => {}
        }
        rest = after;
    }
    false
}

/// Whether answers differ because alternatives of one call share their variables in Hyperon, which a `collapse` shows:
/// only in which variables are one, or in what a rule with a variable for a head makes of a tuple of them.
fn shares_variables(text: &str, theirs: &[String], ours: &[String]) -> bool {
    let nameless = |lines: &[String]| -> Vec<String> {
        let plain = |line: &String| line.split('$').map(|part| part.trim_start_matches(char::is_numeric)).collect();
        lines.iter().map(plain).collect()
    };
    text.contains("(collapse ")
        && theirs != ours
        && (nameless(theirs) == nameless(ours) || text.contains("(= ($") && has_open_rules(text))
}

/// Whether two rules say that a call is a variable that their heads do not have.
fn has_open_rules(text: &str) -> bool {
    let is_open = |line: &&str| {
        let Some((head, body)) = line.strip_prefix("(= (").and_then(|rule| rule.rsplit_once(' ')) else { return false };
        let body = body.trim_end_matches(')');
        body.starts_with('$') && !head.split(['(', ')', ' ']).any(|word| word == body)
    };
    text.lines().filter(is_open).count() > 1
}

const DIFFERS: &str = "with a name that differs";
const SHARES_VARIABLES: &str = "whose alternatives share a variable in hyperon";
const TOO_LONG: &str = "took too long or too many steps";

/// Why Hyperon has no answer that can be compared.
enum NoAnswer {
    LeftOut(&'static str),
    /// Its process does not answer any more.
    Lost(String),
}

/// What Hyperon prints.
fn theirs_of(process: &mut Hyperon, text: &str) -> Result<Vec<String>, NoAnswer> {
    if !is_comparable(text) {
        return Err(NoAnswer::LeftOut("that show what neither promises"));
    }
    match process.run(text).map_err(NoAnswer::Lost)? {
        hyperon::Ran::Finished(answers) if answers.forms.iter().flatten().any(|text| blames_undefined(text)) => {
            Err(NoAnswer::LeftOut("with an error about a type that holds %Undefined%"))
        }
        hyperon::Ran::Finished(answers) => Ok(without_order(&answers)),
        hyperon::Ran::Stopped => Err(NoAnswer::LeftOut(TOO_LONG)),
        hyperon::Ran::Ended => Err(NoAnswer::LeftOut("ended the process of hyperon")),
    }
}

/// What the engine makes of a program; none if it asked for more than it may have.
fn answers(program: &Path, evaluator: &Evaluator, text: &str) -> Option<(Answers, Vec<String>)> {
    let mut command = Command::new(program);
    command.args(["run", "--json", "--steps", STEPS_MAX]).args(evaluator.flags).args(["-e", text]);
    let run = process::bounded(&mut command, LIMIT).ok()?;
    let is_limit = run.stdout.contains("(StepLimit ") || run.stdout.contains("StackOverflow");
    if is_limit || run.status.is_none() {
        return None;
    }
    let ending = run.ending();
    let lines =
        run.stdout.lines().chain([ending.as_str()]).flat_map(|line| nameless(text, &without_cut_texts(line))).collect();
    Some((forms_of(&run.stdout), lines))
}

/// A line without the texts in it that were cut: where depends on the names of fresh variables. They tell of results, which are there whole.
fn without_cut_texts(line: &str) -> String {
    let pieces: Vec<&str> = line.split("\",\"").collect();
    pieces.iter().map(|piece| piece.split_once('…').map_or(*piece, |_| "…")).collect::<Vec<_>>().join("\",\"")
}

/// The answers in what `run --json` printed.
fn forms_of(output: &str) -> Answers {
    let mut forms: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut printed = Vec::new();
    for line in output.lines() {
        match record::record(line) {
            Some(Record::Result { form, text }) => forms.entry(form).or_default().push(text),
            Some(Record::Done { form, .. }) => drop(forms.entry(form).or_default()),
            Some(Record::Failure) => {}
            None => printed.push(line.to_owned()),
        }
    }
    Answers { forms: forms.into_values().collect(), printed }
}

/// All lines as they were printed.
fn exact(program: &Path, evaluator: &Evaluator, text: &str) -> Ran {
    answers(program, evaluator, text).map_or(Ran::Stopped, |(_, lines)| Ran::Printed(lines))
}

fn unordered(program: &Path, evaluator: &Evaluator, text: &str) -> Ran {
    answers(program, evaluator, text).map_or(Ran::Stopped, |(answers, _)| Ran::Printed(without_order(&answers)))
}

/// A line for each form, then what was printed.
fn without_order(answers: &Answers) -> Vec<String> {
    let texts = |lines: &[String]| as_multiset(lines.iter().map(String::as_str));
    let forms = answers.forms.iter().map(|results| format!("[{}]", texts(results).join(", ")));
    forms.chain(texts(&answers.printed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_an_order_is_not_compared() {
        for text in ["!(bag (collapse (f)))", "(let $all1 (collapse (f)) (size-atom $all1))", "(let* (($x 1)) $x)"] {
            assert!(is_comparable(text), "{text}");
        }
        assert!(is_comparable("(= (f) (Error a b))") && !is_comparable("!(f a Error)"));
        for text in ["!(collapse (f))", "!(new-state a)", "!(let* $x 1)", "!(eval $x)", "!(bag (f (collapse (f))))"] {
            assert!(!is_comparable(text), "{text}");
        }
    }

    #[test]
    fn what_is_left_out_is_told_by_its_answers() {
        assert!(blames_undefined("(Error (f a) (BadArgType 2 (List Number) (%Undefined% Number)))"));
        assert!(blames_undefined("(bag ((Error a (BadType (List %Undefined%) Nat))))"));
        assert!(!blames_undefined("(Error (f a) (BadArgType 2 %Undefined% Number))"));
        assert!(!blames_undefined("(P %Undefined%)"));
        let lines = |text: &str| vec![text.to_owned()];
        assert!(shares_variables("(collapse (f))", &lines("[($0 $0)]"), &lines("[($0 $1)]")));
        assert!(!shares_variables("(f)", &lines("[($0 $0)]"), &lines("[($0 $1)]")));
        assert!(!shares_variables("(collapse (f))", &lines("[($0 a)]"), &lines("[($0 $1)]")));
        let rules = "(= (f) $a)\n(= (f) $b)\n(= ($f (Key $x)) $x)\n!(bag (collapse (f)))";
        assert!(shares_variables(rules, &lines("[Key]"), &lines("[$0]")));
        assert!(!shares_variables(&rules.replace("(f) $b", "($b) $b"), &lines("[Key]"), &lines("[$0]")));
    }

    #[test]
    fn answers_are_compared_without_order_and_names() {
        let of = |forms: &[&[&str]], printed: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            without_order(&Answers { forms: forms.iter().map(|form| owned(form)).collect(), printed: owned(printed) })
        };
        assert_eq!(of(&[&["a", "(b $x#2)"], &[]], &["y", "x"]), ["[(b $0), a]", "[]", "x", "y"]);
        assert_ne!(of(&[&["a"], &["b"]], &[]), of(&[&["b"], &["a"]], &[]));
    }
}
