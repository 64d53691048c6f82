//! What must hold before a change is taken: `cargo xtask test`, and `cargo xtask test --all`.
//!
//! 1. The steps of [`STEPS`] run in order, all of them whatever comes of the ones before: those that a change is likely to break, or all.
//! 2. A step gets what it lacks from PyPI, npm and crates.io, below the target folder. With `--offline` it gets nothing. If something is
//!    still missing, it says what and how to get it, and is skipped.
//! 3. With `CI=true` a skip is a failure, except for the suite of the reference implementation and the database of vulnerabilities, which
//!    no package manager has, and a driver for Vulkan where the system's gives none.
//! 4. The last line printed is `N passed, N failed, N skipped`, counting steps.
//!
//! `cargo xtask test CRATE` runs the tests of one crate.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::install::is_continuous_integration;
use crate::process::{self, cargo};
use crate::{Outcome, clients, conformance, python, repository, supply, tidy, vcrpy, vulkan, wordnet};

/// Run what must hold before a change is taken.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Steps: format, lints, rules, tests, documents, python, examples, conformance; with --all also models, dependencies, \
                        advisories, clients, vcrpy, editors, gpu, wordnet, program, benches.\n\
                        A step gets what it lacks into the target folder. If that does not work, it says so and counts as skipped; the \
                        last line is `N passed, N failed, N skipped`."
)]
pub(crate) struct Flags {
    /// Run the tests of these crates alone, by the names of their folders
    #[arg(value_name = "CRATE", conflicts_with_all = ["all", "only"])]
    crates: Vec<String>,
    /// Run every step
    #[arg(long)]
    all: bool,
    /// Get nothing over the network: skip what lacks something
    #[arg(long)]
    offline: bool,
    /// Run this step alone; may be given more than once
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
}

/// A step: its name, and what it does.
struct Step {
    name: &'static str,
    run: fn(&Context) -> Verdict,
    /// Whether it runs without `--all`.
    is_usual: bool,
}

const fn usual(name: &'static str, run: fn(&Context) -> Verdict) -> Step {
    Step { name, run, is_usual: true }
}

const fn thorough(name: &'static str, run: fn(&Context) -> Verdict) -> Step {
    Step { name, run, is_usual: false }
}

const STEPS: &[Step] = &[
    usual("format", format),
    usual("lints", lints),
    usual("rules", rules),
    usual("tests", tests),
    usual("documents", documents),
    usual("python", package_for_python),
    usual("examples", examples),
    usual("conformance", suite),
    thorough("generators", generators),
    thorough("exhaustive", exhaustive),
    thorough("models", models),
    thorough("dependencies", dependencies),
    thorough("advisories", advisories),
    thorough("clients", clients_of_the_proxy),
    thorough("vcrpy", cassettes_of_vcrpy),
    thorough("editors", grammar_for_editors),
    thorough("gpu", sets_on_a_gpu),
    thorough("wordnet", wordnet_example),
    thorough("program", |_| of_result(conformance::build().map(|_| Outcome::Good))),
    thorough("benches", benches),
];

/// The longest an example other than WordNet may run.
const EXAMPLE_LIMIT: Duration = Duration::from_secs(60);
/// WordNet loads and its questions answer within this.
const WORDNET_LIMIT: Duration = Duration::from_secs(60);
const WORDNET_EXAMPLE: &str = "examples/wordnet.metta";

/// Where property tests that draw their inputs at random begin to draw: `PROPTEST_RNG_SEED`.
const SEED_VARIABLE: &str = "PROPTEST_RNG_SEED";
const SEED: &str = "20251";

/// What the steps need to know.
struct Context {
    /// Whether what is missing is got.
    installs: bool,
    /// Whether what is still missing is a failure.
    is_strict: bool,
    /// Whether every step runs.
    runs_all: bool,
    /// The program that the tests are built with.
    program: PathBuf,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed(String),
    /// Something is missing that could be installed.
    Skipped(String),
    /// Something is missing that no package manager has.
    Absent(String),
}

impl Verdict {
    /// Whether the step failed, given that skips may count as failures.
    fn settled(self, is_strict: bool) -> Verdict {
        match self {
            Verdict::Skipped(reason) if is_strict => Verdict::Failed(reason),
            other => other,
        }
    }
}

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    if !flags.crates.is_empty() {
        return tests_of(&flags.crates);
    }
    let program = repository::target().join("debug").join(format!("metroon{}", std::env::consts::EXE_SUFFIX));
    let context =
        Context { installs: !flags.offline, is_strict: is_continuous_integration(), runs_all: flags.all, program };
    if let Some(unknown) = flags.only.iter().find(|wanted| !STEPS.iter().any(|step| step.name == *wanted)) {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("there is no step `{unknown}`; the steps are {}", names.join(", ")));
    }
    let is_wanted = |step: &&Step| match flags.only.is_empty() {
        true => flags.all || step.is_usual,
        false => flags.only.iter().any(|wanted| wanted == step.name),
    };
    let mut lines = Vec::new();
    for Step { name, run, .. } in STEPS.iter().filter(is_wanted) {
        println!("== {name}");
        let started = Instant::now();
        let verdict = run(&context).settled(context.is_strict);
        let line = Line { name, verdict, seconds: started.elapsed().as_secs_f64() };
        println!("{line}");
        lines.push(line);
    }
    println!("== summary");
    for line in &lines {
        println!("{line}");
    }
    println!("{:>8.1} s  together", lines.iter().map(|line| line.seconds).sum::<f64>());
    let totals = Totals::of(&lines);
    println!("{totals}");
    Ok(if totals.failed == 0 { Outcome::Good } else { Outcome::Bad })
}

/// Where crates lie.
const SHELVES: [&str; 2] = ["crates", "libraries"];

/// Runs the tests of crates alone.
fn tests_of(crates: &[String]) -> Result<Outcome, String> {
    let mut command = cargo(&["test", "--no-fail-fast"]);
    for name in crates {
        let is_there = |shelf: &&str| repository::root().join(shelf).join(name).join("Cargo.toml").is_file();
        if !SHELVES.iter().any(is_there) {
            return Err(format!("there is no crate `{name}` in {}", SHELVES.join(" or ")));
        }
        let package = if name == "metroon" { name.clone() } else { format!("metroon-{name}") };
        command.arg("--package").arg(package);
    }
    command.envs(clients::variables(false));
    let is_good = process::shown(command.current_dir(repository::root()))?;
    Ok(if is_good { Outcome::Good } else { Outcome::Bad })
}

struct Line {
    name: &'static str,
    verdict: Verdict,
    seconds: f64,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, reason) = match &self.verdict {
            Verdict::Passed => ("passed", ""),
            Verdict::Failed(reason) => ("failed", reason.as_str()),
            Verdict::Skipped(reason) | Verdict::Absent(reason) => ("skipped", reason.as_str()),
        };
        let reason = reason.lines().next().unwrap_or("");
        let line = format!("{:>8.1} s  {word:<8} {:<12} {reason}", self.seconds, self.name);
        f.write_str(line.trim_end())
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Totals {
    fn of(lines: &[Line]) -> Totals {
        let mut totals = Totals::default();
        for line in lines {
            match line.verdict {
                Verdict::Passed => totals.passed += 1,
                Verdict::Failed(_) => totals.failed += 1,
                Verdict::Skipped(_) | Verdict::Absent(_) => totals.skipped += 1,
            }
        }
        totals
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// All workspaces: those that only later steps build, or none, must be in order too.
fn format(context: &Context) -> Verdict {
    let of_workspace = |manifest: &&str| {
        with_component(context, "rustfmt", "fmt", &["fmt", "--all", "--manifest-path", manifest, "--", "--check"])
    };
    let verdicts = repository::WORKSPACES.iter().map(of_workspace);
    first_failure(verdicts)
}

fn lints(context: &Context) -> Verdict {
    with_component(context, "clippy", "clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// Runs cargo with a subcommand that rustup calls a component of the toolchain.
fn with_component(context: &Context, component: &str, subcommand: &str, words: &[&str]) -> Verdict {
    let present =
        || process::bounded(&mut cargo(&[subcommand, "--version"]), EXAMPLE_LIMIT).is_ok_and(|run| run.succeeded());
    if !present() && context.is_strict && process::exists("rustup", "--version") {
        // Whether it worked shows in what follows.
        let _ = process::shown(Command::new("rustup").args(["component", "add", component]));
    }
    if !present() {
        return Verdict::Skipped(format!(
            "`cargo {subcommand}` is missing: `rustup component add {component}` gets it"
        ));
    }
    of_cargo(words)
}

/// With `CI=true` the generated inputs are the same each time, so that what comes of a commit depends on the commit alone.
/// Otherwise they are others in each run; the variable decides if it is set. The clients of the proxy that are missing are skipped there,
/// and run by a step of their own. With `--all`, tests that other steps go through whole are left to them.
fn tests(context: &Context) -> Verdict {
    const WORKSPACE: [&str; 3] = ["test", "--workspace", "--no-fail-fast"];
    let of_targets = |targets: &[&'static str]| [&WORKSPACE[..], targets].concat();
    let runs = match context.runs_all {
        true => {
            let elsewhere = [GENERATED, WITH_CLIENTS].into_iter().chain(IN_PART);
            let skips: Vec<_> = elsewhere.flat_map(|module| ["--skip", module]).collect();
            let integration = of_targets(&[&["--test", "it", "--"], &skips[..]].concat());
            vec![of_targets(&["--lib", "--bins", "--examples"]), integration, of_targets(&["--doc"])]
        }
        false => vec![of_targets(&[])],
    };
    let is_seeded = context.is_strict && std::env::var_os(SEED_VARIABLE).is_none();
    let verdicts = runs.iter().map(|words| {
        let mut command = cargo(words);
        command.envs(clients::variables(false));
        command.envs(is_seeded.then_some((SEED_VARIABLE, SEED)));
        of_command(&mut command)
    });
    first_failure(verdicts)
}

/// The tests that run programs made from seeds in two ways.
const GENERATED: &str = "differential::";
/// The tests that clients of the proxy take part in, if they are there.
const WITH_CLIENTS: &str = "proxy::";
/// The tests that go through a part of their cases, unless `METROON_EXHAUSTIVE` is set.
const IN_PART: [&str; 10] = [
    "power::",
    "retention::",
    "checkpoints::",
    "pieces::",
    "outline::",
    "selecting::",
    "pace::",
    "shared_arguments::",
    "crash::a_base_that_is_killed",
    "crash::a_writer_with_a_live_query",
];

/// How many programs each comparison of two ways to run one is given, beside those of `tests`.
const THOROUGH_SEEDS: u64 = 300;
/// The first of them with `CI=true`, where what comes of a commit depends on the commit alone.
const THOROUGH_FROM: u64 = 1_000;

/// Programs are made from seeds and run in two ways: more of them than in `tests`, and other ones each day.
fn generators(context: &Context) -> Verdict {
    let days = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / (24 * 60 * 60));
    let from = if context.is_strict { THOROUGH_FROM } else { THOROUGH_FROM + days * THOROUGH_SEEDS };
    let seeds = format!("{from}..{}", from + THOROUGH_SEEDS);
    println!("METROON_SEEDS={seeds}");
    let mut command = cargo(&["test", "--workspace", "--test", "it", "--no-fail-fast", GENERATED]);
    of_command(command.env("METROON_SEEDS", seeds))
}

/// What tests go through in part only, whole: each operation of a disk at which the power may be lost, each place at which a secret may be cut,
/// each function with shared arguments, each program of the corpus in each mode.
fn exhaustive(_: &Context) -> Verdict {
    let words = ["test", "--workspace", "--test", "it", "--no-fail-fast", "--"];
    let corpus = cargo(&["test", "--workspace", "--test", "corpus", "--no-fail-fast"]);
    let runs = [cargo(&[&words[..], &IN_PART].concat()), corpus];
    first_failure(runs.into_iter().map(|mut command| of_command(command.env("METROON_EXHAUSTIVE", "1"))))
}

/// What threads do to a tether, in every interleaving.
fn models(_: &Context) -> Verdict {
    of_cargo(&[
        "test",
        "--locked",
        "--manifest-path",
        "crates/region/models/Cargo.toml",
        "--target-dir",
        "target/models",
    ])
}

/// Gets all clients of the proxy, and runs the tests with them.
fn clients_of_the_proxy(context: &Context) -> Verdict {
    let missing = clients::prepare(context.installs).err();
    let mut command = cargo(&["test", "--workspace", "--test", "it", "--no-fail-fast", WITH_CLIENTS]);
    match (of_command(command.envs(clients::variables(missing.is_none()))), missing) {
        (Verdict::Passed, Some(missing)) => Verdict::Skipped(missing),
        (verdict, _) => verdict,
    }
}

fn rules(_: &Context) -> Verdict {
    of_result(tidy::check())
}

/// Licences, sources and bans of all dependencies.
fn dependencies(context: &Context) -> Verdict {
    match supply::prepare(context.installs) {
        Ok(program) => of_result(supply::check(&program)),
        Err(missing) => Verdict::Skipped(missing),
    }
}

/// Known vulnerabilities of all dependencies, by the database that is there.
fn advisories(_: &Context) -> Verdict {
    match supply::prepare(false) {
        Ok(program) if supply::has_advisories() => of_result(supply::check_advisories(&program)),
        _ => Verdict::Absent(supply::HOW_TO_GET_ADVISORIES.to_owned()),
    }
}

/// The tests of cassettes that need vcrpy, which are skipped elsewhere.
fn cassettes_of_vcrpy(context: &Context) -> Verdict {
    match vcrpy::prepare(context.installs) {
        Ok(python) => {
            let mut command = cargo(&["test", "--workspace", "--test", "it", "vcrpy::"]);
            of_command(command.env(vcrpy::VARIABLE, python))
        }
        Err(missing) => Verdict::Skipped(missing),
    }
}

/// The wheel of the package for Python, and its tests.
fn package_for_python(context: &Context) -> Verdict {
    match python::prepare(context.installs) {
        Ok(()) => of_result(python::check()),
        Err(missing) => Verdict::Skipped(missing),
    }
}

fn documents(_: &Context) -> Verdict {
    // Libraries only: the program and the library `metroon` would write to one folder.
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--lib"]);
    of_command(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// The workspace of comparisons, which is not run here but must stay in order.
fn benches(context: &Context) -> Verdict {
    const MANIFEST: &str = "bench/Cargo.toml";
    const CONFIG: &str = "bench/.cargo/config.toml";
    let lints = [
        "clippy",
        "--config",
        CONFIG,
        "--locked",
        "--manifest-path",
        MANIFEST,
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    let verdicts = [
        with_component(context, "clippy", "clippy", &lints),
        of_cargo(&["test", "--config", CONFIG, "--locked", "--manifest-path", MANIFEST]),
    ];
    first_failure(verdicts.into_iter())
}

/// The grammar that editors read, against the parser of the engine.
fn grammar_for_editors(_: &Context) -> Verdict {
    const MANIFEST: &str = "editors/tree-sitter-metta/Cargo.toml";
    if !process::exists("cc", "--version") {
        return Verdict::Skipped(
            "`cc` is missing: the parser for editors is C; the package gcc or clang of the system has it".to_owned(),
        );
    }
    of_cargo(&["test", "--locked", "--manifest-path", MANIFEST])
}

/// Operations over sets of pages on a GPU, or on a processor that does the work of one.
fn sets_on_a_gpu(context: &Context) -> Verdict {
    match vulkan::prepare(context.is_strict) {
        Err(missing) if context.is_strict => return Verdict::Absent(missing),
        Err(missing) => return Verdict::Skipped(missing),
        Ok(()) => {}
    }
    const FEATURE: [&str; 4] = ["--package", "metroon-reactive", "--features", "gpu"];
    let lints = with_component(
        context,
        "clippy",
        "clippy",
        &[&["clippy"], &FEATURE[..], &["--all-targets", "--", "-D", "warnings"]].concat(),
    );
    let mut command = cargo(&[&["test"], &FEATURE[..], &["--lib", "sets::"]].concat());
    first_failure([lints, of_command(command.env("METROON_GPU", "required"))].into_iter())
}

/// Runs every example but WordNet; each checks itself by assertions, and the exit status tells.
fn examples(context: &Context) -> Verdict {
    if let verdict @ Verdict::Failed(_) = of_cargo(&["build", "--workspace", "--bin", "metroon"]) {
        return verdict;
    }
    let folder = repository::root().join("examples");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.path()),
        Err(error) => {
            return Verdict::Failed(format!("cannot read {}: {error}", repository::shown(&folder)));
        }
    };
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "metta")).collect();
    paths.retain(|path| repository::shown(path) != WORDNET_EXAMPLE);
    paths.sort();
    let verdicts = paths.iter().map(|path| example(context, path, EXAMPLE_LIMIT));
    first_failure(verdicts)
}

fn wordnet_example(context: &Context) -> Verdict {
    let fetch = if context.installs { wordnet::Fetch::WithLists } else { wordnet::Fetch::Nothing };
    match wordnet::prepare(fetch) {
        Ok(Outcome::Good) => example(context, &repository::root().join(WORDNET_EXAMPLE), WORDNET_LIMIT),
        Ok(Outcome::Bad) => Verdict::Failed("the dictionary is not WordNet 3.0".to_owned()),
        Err(missing) => Verdict::Skipped(missing),
    }
}

/// Runs one example from the root, as README.md says, and shows what it prints.
fn example(context: &Context, path: &Path, limit: Duration) -> Verdict {
    let name = repository::shown(path);
    let mut command = Command::new(&context.program);
    command.current_dir(repository::root()).args(["run", &name]);
    let finished = match process::bounded(&mut command, limit) {
        Ok(finished) => finished,
        Err(message) => return Verdict::Failed(message),
    };
    println!("-- metroon run {name}");
    print!("{}", finished.stdout);
    eprint!("{}", finished.stderr);
    println!("-- {}, {:.1} s", finished.ending(), finished.elapsed.as_secs_f64());
    if finished.succeeded() {
        return Verdict::Passed;
    }
    Verdict::Failed(format!("{name}: {}", finished.ending()))
}

fn suite(context: &Context) -> Verdict {
    match conformance::suite() {
        Some(folder) => of_result(conformance::check(&folder, &context.program)),
        None => {
            println!("{}", conformance::HOW_TO_GET);
            Verdict::Absent("no suite at target/suite; `cargo xtask conformance --help` says how to get one".to_owned())
        }
    }
}

/// What comes of all of them, each of which is done whatever comes of the ones before.
fn first_failure(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    verdicts.fold(Verdict::Passed, |all, one| if all == Verdict::Passed { one } else { all })
}

fn of_cargo(words: &[&str]) -> Verdict {
    of_command(&mut cargo(words))
}

fn of_command(command: &mut Command) -> Verdict {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let outcome = process::shown(command.current_dir(repository::root()));
    match outcome {
        Ok(true) => Verdict::Passed,
        Ok(false) => Verdict::Failed(format!("`cargo {}` found something", words.join(" "))),
        Err(message) => Verdict::Failed(message),
    }
}

fn of_result(result: Result<Outcome, String>) -> Verdict {
    match result {
        Ok(Outcome::Good) => Verdict::Passed,
        Ok(Outcome::Bad) => Verdict::Failed("see above".to_owned()),
        Err(message) => Verdict::Failed(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(verdict: Verdict) -> Line {
        Line { name: "sample", verdict, seconds: 1.25 }
    }

    #[test]
    fn a_skip_is_a_failure_where_things_are_installed() {
        let skipped = Verdict::Skipped("no dictionary".to_owned());
        assert_eq!(skipped.clone().settled(false), skipped);
        assert_eq!(skipped.settled(true), Verdict::Failed("no dictionary".to_owned()));
        let absent = Verdict::Absent("no suite".to_owned());
        assert_eq!(absent.clone().settled(true), absent);
    }

    #[test]
    fn the_totals_count_steps() {
        let verdicts =
            [Verdict::Passed, Verdict::Passed, Verdict::Failed(String::new()), Verdict::Absent(String::new())];
        assert_eq!(Totals::of(&verdicts.map(line)).to_string(), "2 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn a_line_holds_one_line_of_the_reason() {
        assert_eq!(line(Verdict::Passed).to_string(), "     1.2 s  passed   sample");
        let failed = line(Verdict::Failed("first\nsecond".to_owned()));
        assert_eq!(failed.to_string(), "     1.2 s  failed   sample       first");
    }
}
