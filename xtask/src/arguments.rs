//! The words after `cargo xtask TASK`: flags known to the task, or an error that names the word and the next step.
//!
//! A flag is `--name` or, if it takes a value, `--name VALUE` or `--name=VALUE`. A task takes one plain word at most.

use crate::Task;

/// A flag of a task. `value` names what follows it, if anything does.
pub(crate) struct Flag {
    pub(crate) name: &'static str,
    pub(crate) value: Option<&'static str>,
    pub(crate) about: &'static str,
}

/// `--install`, the same for every task that can lack something.
pub(crate) const INSTALL: Flag = Flag {
    name: "--install",
    value: None,
    about: "get what is missing into the target folder; what is still missing is a failure (as under CI=true)",
};

/// The flags that were given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    given: Vec<(&'static str, Option<String>)>,
    word: Option<String>,
}

impl Arguments {
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.given.iter().any(|(name, _)| *name == flag)
    }

    /// The plain word.
    pub(crate) fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }

    /// The value of a flag; the last one wins if it was given twice.
    pub(crate) fn value(&self, flag: &str) -> Option<&str> {
        let found = self.given.iter().rev().find(|(name, _)| *name == flag);
        found.and_then(|(_, value)| value.as_deref())
    }

    /// Whether missing things are to be fetched, and are failures if that does not work.
    pub(crate) fn installs(&self) -> bool {
        self.has(INSTALL.name) || std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1")
    }
}

/// What the words ask for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Help,
    Run(Arguments),
}

/// Reads the words after the task's name.
///
/// # Errors
/// An unknown flag, a plain word too many, or a missing or unwanted value; the message is ready to be shown.
pub(crate) fn parse(task: &Task, words: &[String]) -> Result<Parsed, String> {
    let mut arguments = Arguments::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--help" || word == "-h" {
            return Ok(Parsed::Help);
        }
        if task.word.is_some() && arguments.word.is_none() && !word.starts_with('-') {
            arguments.word = Some(word.clone());
            continue;
        }
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let Some(flag) = task.flags.iter().find(|flag| flag.name == name) else {
            return Err(unknown_flag(task, word));
        };
        let value = match (flag.value, attached) {
            (Some(_), Some(value)) => Some(value),
            (Some(what), None) => Some(following(task, flag, what, words.next())?),
            (None, None) => None,
            (None, Some(_)) => return Err(complaint(task, &format!("{name} takes no value"))),
        };
        arguments.given.push((flag.name, value));
    }
    Ok(Parsed::Run(arguments))
}

fn following(task: &Task, flag: &Flag, what: &str, next: Option<&String>) -> Result<String, String> {
    match next {
        Some(value) if !value.starts_with("--") => Ok(value.clone()),
        _ => Err(complaint(task, &format!("{} needs {what} after it", flag.name))),
    }
}

fn unknown_flag(task: &Task, word: &str) -> String {
    let kind = if word.starts_with('-') { "unknown flag" } else { "unexpected word" };
    complaint(task, &format!("{kind} {word}"))
}

fn complaint(task: &Task, what: &str) -> String {
    format!("cargo xtask {0}: {what}; `cargo xtask {0} --help` lists its flags", task.name)
}

pub(crate) fn unknown_task(name: &str, tasks: &[Task]) -> String {
    let names: Vec<&str> = tasks.iter().map(|task| task.name).collect();
    format!("cargo xtask: unknown task {name}; the tasks are {}", names.join(", "))
}

/// The list of tasks.
pub(crate) fn overview(tasks: &[Task]) -> String {
    let mut text = String::from("The chores of this repository.\n\nUsage: cargo xtask TASK [FLAGS]\n\nTasks:\n");
    for task in tasks {
        text.push_str(&format!("  {:<12} {}\n", task.name, task.about));
    }
    text.push_str("\n`cargo xtask TASK --help` says what a task does and lists its flags.\n");
    text
}

/// The help of one task.
pub(crate) fn help(task: &Task) -> String {
    let word = task.word.map(|word| format!("{word} ")).unwrap_or_default();
    let mut text = format!("{}\n\nUsage: cargo xtask {} {word}[FLAGS]\n\nFlags:\n", task.about, task.name);
    for flag in task.flags {
        let name = match flag.value {
            Some(value) => format!("{} {value}", flag.name),
            None => flag.name.to_owned(),
        };
        text.push_str(&format!("  {name:<16} {}\n", flag.about));
    }
    text.push_str("  --help           show this text\n");
    if !task.details.is_empty() {
        text.push_str(&format!("\n{}\n", task.details.trim_end()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    const FLAGS: &[Flag] = &[
        Flag { name: "--suite", value: Some("DIR"), about: "where" },
        Flag { name: "--fast", value: None, about: "how" },
    ];
    const TASK: Task = Task {
        name: "sample",
        about: "A sample.",
        details: "More.",
        word: None,
        flags: FLAGS,
        run: |_| Ok(Outcome::Good),
    };

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn given(text: &str) -> Arguments {
        match parse(&TASK, &words(text)) {
            Ok(Parsed::Run(arguments)) => arguments,
            other => panic!("{text:?} gave {other:?}"),
        }
    }

    #[test]
    fn flags_and_values_are_read_both_ways() {
        assert_eq!(given("--suite a --fast").value("--suite"), Some("a"));
        assert_eq!(given("--suite=b").value("--suite"), Some("b"));
        assert!(given("--fast").has("--fast"));
        assert!(!given("").has("--fast"));
    }

    #[test]
    fn an_error_names_the_word_and_the_next_step() {
        let error = |text: &str| parse(&TASK, &words(text)).unwrap_err();
        assert_eq!(
            error("--slow"),
            "cargo xtask sample: unknown flag --slow; `cargo xtask sample --help` lists its flags"
        );
        assert!(error("now").contains("unexpected word now"));
        assert!(error("--suite").contains("--suite needs DIR after it"));
        assert!(error("--suite --fast").contains("--suite needs DIR after it"));
        assert!(error("--fast=1").contains("--fast takes no value"));
    }

    #[test]
    fn a_task_takes_a_word_if_it_has_one() {
        let task = Task { word: Some("PLACE"), ..TASK };
        let parsed = |text: &str| parse(&task, &words(text));
        let Ok(Parsed::Run(arguments)) = parsed("--suite a here --fast") else { panic!("it is not read") };
        assert_eq!((arguments.word(), arguments.value("--suite")), (Some("here"), Some("a")));
        assert!(parsed("here there").unwrap_err().contains("unexpected word there"));
        assert!(help(&task).contains("Usage: cargo xtask sample PLACE [FLAGS]"));
    }

    #[test]
    fn help_shows_every_flag() {
        assert_eq!(parse(&TASK, &words("--fast --help")), Ok(Parsed::Help));
        let text = help(&TASK);
        assert!(text.contains("--suite DIR") && text.contains("--fast") && text.ends_with("More.\n"));
        assert!(overview(&[TASK]).contains("sample       A sample."));
        assert_eq!(unknown_task("x", &[TASK]), "cargo xtask: unknown task x; the tasks are sample");
    }
}
