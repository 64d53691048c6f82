//! The messages a person sees, word for word: what is wrong, where, and what to do next.

use std::path::Path;

use crate::harness::{Ended, file, run, run_with_input};

/// Runs a text from the standard input, which must not parse.
fn refused(text: &str) -> Ended {
    let ended = run_with_input(&["run", "-"], text.as_bytes());
    assert_eq!(ended.code, Some(3), "{text:?}: {}", ended.err);
    ended
}

#[test]
fn a_missing_bracket() {
    assert_eq!(
        refused("! (+ 1 2)\n! (foo (bar\n").err,
        "\
error[unclosed-expression]: Unexpected end of expression: 2 `)` are missing
 --> standard input:2:3
  |
2 | ! (foo (bar
  |   ^    - the innermost expression left open begins here
  |   |
  |   this expression is never closed
  |
help: add the 2 missing `)` where the expression should end
"
    );
}

#[test]
fn a_missing_bracket_before_the_next_form() {
    let ended = refused("(= (f $x)\n   (g $x)\n\n(= (g $x) 1)\n! (f 1)\n");
    let expected = "\
error[unclosed-expression]: Unexpected end of expression: a `)` is missing
 --> standard input:1:1
  |
1 | (= (f $x)
  | ^ this expression is never closed
...
4 | (= (g $x) 1)
  | - this line begins at the margin while the expression is still open
  |
help: add the missing `)` before the line that begins at the margin
";
    assert_eq!(ended.err, expected);
}

#[test]
fn a_bracket_too_many() {
    assert_eq!(
        refused("! (+ 1 2))\n").err,
        "\
error[unexpected-close]: Unexpected right bracket: no expression is open here
 --> standard input:1:10
  |
1 | ! (+ 1 2))
  |          ^ closes nothing
  |
help: delete this `)`, or add the `(` that it should close
"
    );
}

#[test]
fn a_string_without_an_end() {
    assert_eq!(
        refused("! (say \"hello)\n").err,
        "\
error[unclosed-string]: Unclosed String Literal: the text ends before the closing `\"`
 --> standard input:1:8
  |
1 | ! (say \"hello)
  |        ^ the string begins here
  |
help: add the closing `\"` (within a string, a quote is written `\\\"`)
"
    );
}

#[test]
fn an_escape_that_is_none() {
    assert_eq!(
        refused("! \"a\\qb\"").err,
        "\
error[invalid-escape]: Invalid escape sequence `\\q`
 --> standard input:1:5
  |
1 | ! \"a\\qb\"
  |     ^^ stands for no character
  |
help: write one of \\' \\\" \\\\ \\n \\r \\t \\xHH \\u{...}; for a backslash itself, write it twice
"
    );
}

#[test]
fn a_reserved_character_in_a_variable() {
    assert_eq!(
        refused("! (f $x#1)").err,
        "\
error[reserved-in-variable]: '#' char is reserved for internal usage: `$x#1` cannot be a variable
 --> standard input:1:6
  |
1 | ! (f $x#1)
  |      ^^^^ `#` in the name of a variable
  |
help: rename the variable, for example to `$x_1`
"
    );
}

#[test]
fn a_nul_byte() {
    assert_eq!(
        refused("! (a \0)").err,
        "\
error[nul-byte]: NUL byte in the source
 --> standard input:1:6
  |
1 | ! (a ␀)
  |      ^ a byte with the value 0
  |
help: delete it (in a string, write `\\x00`); if the file is UTF-16, save it as UTF-8
"
    );
}

#[test]
fn a_bang_at_the_end() {
    assert_eq!(
        refused("(a)\n! ; nothing\n").err,
        "\
error[bang-without-atom]: `!` without an atom: the text ends after it
 --> standard input:2:1
  |
2 | ! ; nothing
  | ^ marks nothing for evaluation
  |
help: write the atom to evaluate after the `!`, or delete the `!`
"
    );
}

#[test]
fn a_bang_without_a_space() {
    assert_eq!(
        run(&["run", "-e", "!foo"]).err,
        "\
warning[bang-symbol]: `!foo` is a symbol: it is added to the space and not evaluated
 --> -e:1:1
  |
1 | !foo
  | ^^^^ no space between `!` and the word
  |
help: write `! foo` to evaluate it, or `foo` if it is meant as a fact
"
    );
}

#[test]
fn a_comment_that_is_part_of_a_variable() {
    let ended = run(&["run", "-e", "(f $x;no comment\n)"]);
    assert_eq!(
        ended.err,
        "\
warning[semicolon-in-variable]: `;` is part of the variable `$x;no` and begins no comment
 --> -e:1:4
  |
1 | (f $x;no comment
  |    ^^^^^ a variable ends only at white space or a bracket
  |
help: put a space before `;` if a comment was meant
"
    );
}

#[test]
fn the_end_of_a_line_is_not_shown() {
    let ended = refused("\u{feff}! (+ 1 2)\r\n! (x\r\n");
    assert_eq!(ended.out, "[3]\n");
    assert!(ended.err.contains("2 | ! (x\n") && ended.err.contains("standard input:2:3"), "{}", ended.err);
}

#[test]
fn characters_that_a_terminal_would_obey_are_shown_by_name() {
    let ended = run_with_input(&["run", "-"], "!\u{1b}[31mfoo\n(\u{7f}\u{1b}]0;".as_bytes());
    assert!(!ended.err.contains('\u{1b}') && !ended.err.contains('\u{7}'), "{:?}", ended.err);
    assert!(ended.err.contains("`!\\u{1b}[31mfoo` is a symbol"), "{}", ended.err);
}

#[test]
fn a_line_too_long_to_show_is_named_by_its_place() {
    let ended = refused(&format!("! ok\n(a {})) (b\n", "x".repeat(5_000)));
    assert_eq!(ended.out, "[ok]\n");
    let expected = "\
error[unexpected-close]: Unexpected right bracket: no expression is open here
 |
note: at standard input:2:5005
help: delete this `)`, or add the `(` that it should close
error[unclosed-expression]: Unexpected end of expression: a `)` is missing
 |
note: at standard input:2:5007
help: add the missing `)` where the expression should end
";
    assert_eq!(ended.err, expected);
}

#[test]
fn a_source_that_is_not_utf8_runs_up_to_the_line_that_is_not() {
    let path = file("no-text", "program.metta", b"! (+ 1 2)\n; gr\xfc\xdfe\n! (+ 1 3)\n");
    let path = path.to_string_lossy();
    let ended = run(&["run", &path]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(3), "[3]\n"));
    let expected = format!(
        "\
error[invalid-utf8]: The source is not valid UTF-8: byte 0xFC at offset 14
 --> {path}:2:5
  |
2 | ; gr\u{FFFD}\u{FFFD}e
  |     ^ not a character in UTF-8
  |
help: save the file as UTF-8, or check that it is a text file
"
    );
    assert_eq!(ended.err, expected);
}

#[test]
fn an_example_without_its_data_names_the_task_that_gets_it() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wordnet.metta");
    let path = file("no-wordnet", "wordnet.metta", std::fs::read(example).expect("the example is there"));
    let ended = run(&["run", &path.to_string_lossy()]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.out.contains("\"`cargo xtask wordnet` gets the facts: run it in the root of the repository\""),
        "{}",
        ended.out
    );
}

#[test]
fn a_source_in_utf_16() {
    let ended = run_with_input(&["run", "-"], b"\xff\xfe!\0 \0a\0");
    assert!(ended.err.contains("help: the file looks like UTF-16; save it as UTF-8"), "{}", ended.err);
}

#[test]
fn a_file_that_is_not_there() {
    let ended = run(&["run", "no/such.metta"]);
    assert_eq!(
        ended.err,
        "error: there is no file no/such.metta\nhelp: check the path; `metroon run --help` shows the usage\n"
    );
}

#[test]
fn the_help_names_the_command_that_was_called() {
    for command in ["check", "fmt", "repl"] {
        let ended = run(&[command, "no/such.metta"]);
        let help = format!("help: check the path; `metroon {command} --help` shows the usage\n");
        assert_eq!((ended.code, ended.err), (Some(2), format!("error: there is no file no/such.metta\n{help}")));
    }
    let ended = run(&["replay", "no-such-tape"]);
    assert!(ended.err.starts_with("error: there is no tape no-such-tape\nhelp: "), "{}", ended.err);
}

#[test]
fn a_folder_instead_of_a_file() {
    let ended = run(&["run", env!("CARGO_TARGET_TMPDIR")]);
    assert_eq!(ended.code, Some(2));
    let is_told = |said: &str| said.contains(" is a folder, and there is no metroon.toml in it");
    assert!(ended.err.starts_with("error: ") && is_told(&ended.err), "{}", ended.err);
}

#[test]
fn limits_name_the_place_and_the_flag() {
    let endless = "(= (loop $n) (loop $n))\n(= (deep $n) (+ 1 (deep $n)))\n! ok\n! (loop 0)";
    let ended = run(&["run", "--steps", "99", "-e", endless]);
    assert_eq!(
        ended.err,
        "error: the evaluation at -e:4 took all of its 99 steps\n\
         help: look for a loop that does not end, or allow more with --steps\n"
    );
    let ended = run(&["run", "--timeout", "0.3", "-e", endless]);
    assert_eq!(
        ended.err,
        "error: the evaluation at -e:4 did not end in time\n\
         help: look for a loop that does not end, or allow more with --timeout\n"
    );
}

#[test]
fn wrong_values_of_flags_are_explained() {
    for (flag, value, reason) in [
        ("--steps", "0", "expected a whole number above 0, such as 1000000"),
        ("--steps", "many", "expected a whole number above 0, such as 1000000"),
        ("--steps", "-5", "expected a whole number above 0, such as 1000000"),
        ("--timeout", "-1", "expected a number of seconds above 0, such as 10 or 0.5"),
        ("--timeout", "0", "expected a number of seconds above 0, such as 10 or 0.5"),
        ("--timeout", "soon", "expected a number of seconds above 0, such as 10 or 0.5"),
        ("--timeout", "inf", "expected a number of seconds above 0, such as 10 or 0.5"),
    ] {
        let ended = run(&["run", flag, value, "-e", "! a"]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
        assert!(ended.err.starts_with(&format!("error: invalid value '{value}' for '{flag} <")), "{}", ended.err);
        assert!(ended.err.contains(reason), "{}", ended.err);
    }
}

#[test]
fn an_unknown_command_is_named() {
    let ended = run(&["rnu", "program.metta"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.starts_with("error: unrecognized subcommand 'rnu'"), "{}", ended.err);
}
