//! The modules that come with the program: `random`, `fileio`, `system`.

use crate::harness::{Program, answers, check};
use metta::{
    FILE_TEXT_BYTES_MAX, FILES_OPEN_MAX, FileId, Generator, MemoryWorld, OpenMode, RunEnd, World, WorldError,
    clean_path,
};
use std::collections::BTreeSet;

/// The answers of a program that begins with an import, without the import's own.
fn with_import(module: &str, text: &str) -> Vec<String> {
    answers(&format!("!(import! &self {module}) {text}")).split_off(1)
}

fn check_random(cases: &[(&str, &str)]) {
    for (call, expected) in cases {
        assert_eq!(with_import("random", &format!("!{call}")).join(" "), *expected, "{call}");
    }
}

#[test]
fn words_of_a_module_are_symbols_until_it_is_imported() {
    check(&[
        ("!(flip)", &["[(flip)]"]),
        ("!(get-metatype flip) !(import! &self random) !(get-metatype flip)", &["[Symbol]", "[()]", "[Grounded]"]),
        ("!(import! &self random) !(get-type random-int)", &["[()]", "[(-> RandomGenerator Number Number Number)]"]),
        ("!(import! r random) !(flip) &r", &["[()]", "[(flip)]"]),
        ("!(import! &self top:random) !(get-type &rng)", &["[()]", "[RandomGenerator]"]),
        ("!(import! &self random) !(import! &self random) !(get-type (flip))", &["[()]", "[()]", "[Bool]"]),
    ]);
}

#[test]
fn a_module_in_a_file_imports_words_for_itself_only() {
    let file = "!(import! &self random) (= (die) (random-int &rng 4 5))";
    let program = "!(import! &self dice) !(die) !(flip) !(import! &self random) !(get-type (flip))";
    let ran = Program::new(program).with_file("dice.metta", file).run();
    assert_eq!(ran.answers, ["[()]", "[4]", "[(flip)]", "[()]", "[Bool]"]);
}

#[test]
fn a_file_comes_before_a_module_of_ours_and_after_one_of_hyperon() {
    let files = |program: &str| {
        let program = Program::new(program).with_file("random.metta", "(mine)").with_file("system.metta", "(mine)");
        program.run().answers
    };
    assert_eq!(files("!(import! &self random) !(match &self ($x) $x)"), ["[()]", "[]"]);
    assert_eq!(files("!(import! &self system) !(match &self ($x) $x)"), ["[()]", "[mine]"]);
}

#[test]
fn a_seed_gives_the_same_numbers_for_ever() {
    let drawn = with_import(
        "random",
        "!(bind! &g (new-random-generator 42))
         !(random-int &g 0 1000000) !(random-int &g 0 1000000) !(random-float &g 0 1)
         !(set-random-seed &g 42) !(random-int &g 0 1000000)
         !(set-random-seed &rng 42) !(random-int &rng 0 1000000) !(flip) !(flip)",
    );
    let expected = [
        "[()]",
        "[596118]",
        "[160365]",
        "[0.16639780398145976]",
        "[()]",
        "[596118]",
        "[()]",
        "[596118]",
        "[False]",
        "[False]",
    ];
    assert_eq!(drawn, expected);
}

#[test]
fn a_seed_is_forgotten_after_a_reset() {
    let text = "!(bind! &g (new-random-generator 1)) !(reset-random-generator &g)
                !(== (random-int &g 0 1000000000) (random-int (new-random-generator 1) 0 1000000000))";
    assert_eq!(with_import("random", text), ["[()]", "[()]", "[False]"]);
    let drawn = |seed: u64| {
        let text = "!(import! &self random) !(random-int &rng 0 1000000000)";
        Program::new(text).with_world(MemoryWorld::default().with_seed(seed)).run().answers.remove(1)
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn ranges_hold() {
    check_random(&[
        ("(random-int &rng 7 8)", "[7]"),
        ("(random-int &rng -8 -7)", "[-8]"),
        ("(random-int &rng 7.9 8.2)", "[7]"),
        ("(random-int &rng 9223372036854775806 9223372036854775807)", "[9223372036854775806]"),
        ("(get-type (random-int &rng -9223372036854775808 9223372036854775807))", "[Number]"),
        ("(random-float &rng 1.0 1.0000000000000002)", "[1.0]"),
        ("(< (random-float &rng -1.7e308 1.7e308) 1.7e308)", "[True]"),
        ("(random-int &rng 5 5)", "[(Error (random-int RandomGenerator-0 5 5) RangeIsEmpty)]"),
        ("(random-int &rng 5 0)", "[(Error (random-int RandomGenerator-0 5 0) RangeIsEmpty)]"),
        ("(random-float &rng 0 0)", "[(Error (random-float RandomGenerator-0 0 0) RangeIsEmpty)]"),
    ]);
}

#[test]
fn what_is_no_range_is_an_error() {
    let errors = |call: &str| with_import("random", &format!("!{call}")).join(" ");
    let big = "99999999999999999999";
    for (call, message) in [
        (format!("(random-int &rng 0 {big})"), "random-int expects a range from -2^63 to 2^63 - 1"),
        (
            format!("(set-random-seed &rng {big})"),
            "set-random-seed expects an integer from -2^63 to 2^63 - 1 as a seed",
        ),
        (
            format!("(new-random-generator {big})"),
            "new-random-generator expects an integer from -2^63 to 2^63 - 1 as a seed",
        ),
        ("(random-float &rng 0 1e999)".to_owned(), "RangeIsInfinite"),
        ("(random-float &rng 0 (/ 0.0 0.0))".to_owned(), "RangeIsEmpty"),
        ("(random-int 1 0 5)".to_owned(), "BadArgType 1 RandomGenerator Number"),
        ("(random-int &rng 0 a b)".to_owned(), "IncorrectNumberOfArguments"),
        ("(set-random-seed &rng x y)".to_owned(), "IncorrectNumberOfArguments"),
        (
            "(eval (random-int 1 2 a))".to_owned(),
            "random-int expects three arguments: random generator, number (start) and number (end)",
        ),
        ("(eval (random-int 1 2 3))".to_owned(), "random-int expects a random generator as its argument"),
        ("(eval (reset-random-generator 1))".to_owned(), "reset-random-generator expects a random generator"),
    ] {
        let answer = errors(&call);
        assert!(answer.starts_with("[(Error ") && answer.contains(message), "{call}: {answer}");
    }
}

#[test]
fn generators_are_told_apart() {
    let text = "!(new-random-generator 1) !(== &rng &rng) !(== &rng (new-random-generator 1))
                !(add-atom &self (generator &rng)) !(match &self (generator $g) $g)";
    assert_eq!(
        with_import("random", text),
        ["[RandomGenerator-1]", "[True]", "[False]", "[()]", "[RandomGenerator-0]"]
    );
}

/// Runs a text and gives its last answer.
fn last(session: &mut metta::Session, text: &str) -> String {
    let mut last = String::new();
    session.run(text, &mut |_, answer| {
        last = answer.results[0].to_string();
        Ok(())
    });
    last
}

#[test]
fn generators_that_were_stored_go_on_where_they_were() {
    let new = || metta::Session::new(Box::new(MemoryWorld::default()));
    let mut first = new();
    last(&mut first, "!(import! &self random) !(bind! &g (new-random-generator 5)) !(random-int &g 0 100)");
    assert_eq!(first.program().generators(), [Generator::World, Generator::Seeded { seed: 5, drawn: 1 }]);
    let mut second = new();
    second.set_generators(first.program().generators().to_vec());
    second.top_space().add(&space::Atom::expression([space::Atom::symbol("kept"), metta::generator_atom(1)]));
    let drawn = last(&mut second, "!(import! &self random) !(match &self (kept $g) (random-int $g 0 1000000))");
    assert_eq!(drawn, last(&mut first, "!(random-int &g 0 1000000)"));
    // A number for which there is no generator, and a table without any.
    second.set_generators(Vec::new());
    assert_eq!(second.program().generators(), [Generator::World]);
    let error = last(&mut second, "!(match &self (kept $g) (random-int $g 0 1))");
    assert!(error.contains("there is no random generator with number 1"), "{error}");
}

#[test]
fn what_is_written_is_read() {
    let text = r#"!(bind! &f (file-open! "notes.txt" "rwc"))
        !(file-write! &f "check write/read") !(file-read-to-string! &f)
        !(file-seek! &f 0) !(file-read-to-string! &f)
        !(file-seek! &f 4) !(file-read-exact! &f 3) !(file-read-exact! &f 99) !(file-read-exact! &f 1)
        !(file-get-size! &f) !(file-seek! &f 20) !(file-read-to-string! &f) !(file-write! &f "!") !(file-get-size! &f)
        !(file-close! &f)"#;
    let world = MemoryWorld::default();
    let ran = Program::new(format!("!(import! &self fileio) {text}")).with_world(world).run();
    let expected = [
        "[()]",
        "[()]",
        "[()]",
        "[\"\"]",
        "[()]",
        "[\"check write/read\"]",
        "[()]",
        "[\"k w\"]",
        "[\"rite/read\"]",
        "[\"\"]",
        "[16]",
        "[()]",
        "[\"\"]",
        "[()]",
        "[21]",
        "[()]",
    ];
    assert_eq!(ran.answers, expected);
    assert_eq!(ran.outside.file("notes.txt").as_deref(), Some(&b"check write/read\0\0\0\0!"[..]));
    assert_eq!(ran.outside.paths(), ["notes.txt"]);
}

#[test]
fn options_say_what_happens_to_the_file() {
    let after = |options: &str| {
        let world = MemoryWorld::default().with_source("f", "0123");
        let text = format!(r#"!(import! &self fileio) !(file-write! (file-open! "f" "{options}") "ab")"#);
        let ran = Program::new(text).with_world(world).run();
        String::from_utf8(ran.outside.file("f").expect("the file is there")).expect("it is text")
    };
    assert_eq!([after("w"), after("wt"), after("a"), after("rac")], ["ab23", "ab", "0123ab", "0123ab"]);
    assert_eq!(after("r"), "0123");
}

/// The answer to a call among a few files, the last of a program.
fn with_files(text: &str) -> String {
    let world = MemoryWorld::default().with_source("d/f", "0123").with_source("bad", b"ab\xFFcd".to_vec());
    let world = world.with_source("umlaut", "aä");
    let ran = Program::new(format!("!(import! &self fileio) {text}")).with_world(world).run();
    ran.answers.last().expect("there is an answer").clone()
}

#[test]
fn what_cannot_be_opened_says_why() {
    for (path, options, reason) in [
        ("nowhere", "r", "there is no file nowhere"),
        ("d", "r", "cannot open d: it is a directory"),
        ("", "rw", "it is a directory"),
        ("new", "rc", "the mode creates a file that it does not write"),
        ("d/f", "", "the mode neither reads, writes nor appends"),
        ("d/f", "xyz", "the mode neither reads, writes nor appends"),
        ("d/f", "rt", "the mode truncates a file that it does not write"),
        ("d/f", "wat", "the mode both truncates and appends"),
    ] {
        let answer = with_files(&format!(r#"!(file-open! "{path}" "{options}")"#));
        let message = format!("Failed to open file with provided path={path} and options={options}: ");
        assert!(answer.contains(&message) && answer.contains(reason), "{path} {options}: {answer}");
    }
}

#[test]
fn calls_that_make_no_sense_are_errors() {
    for (text, message) in [
        (r#"!(file-read-to-string! (file-open! "bad" "r"))"#, "contents: stream did not contain valid UTF-8"),
        (r#"!(file-read-exact! (file-open! "umlaut" "r") 2)"#, "Read exact failed: incomplete utf-8 byte sequence"),
        (r#"!(file-read-to-string! (file-open! "d/f" "w"))"#, "cannot read d/f: it was not opened to be read"),
        (r#"!(file-write! (file-open! "d/f" "r") "x")"#, "cannot write d/f: it was not opened to be written"),
        (r#"!(file-seek! (file-open! "d/f" "r") -1)"#, "file-seek! expects filehandle and start byte"),
        (r#"!(file-seek! (file-open! "d/f" "r") (/ 0.0 0.0))"#, "file-seek! expects filehandle and start byte"),
        (r#"!(file-seek! (file-open! "d/f" "r") 1e30)"#, "Seek operation failed: cannot go to a position in d/f"),
        (r#"!(file-read-exact! (file-open! "d/f" "r") -1)"#, "file-read-exact! expects filehandle and number"),
        (r#"!(file-read-exact! (file-open! "d/f" "r") 999999999)"#, "999999999 bytes are more than 268435456"),
        (r#"!(file-get-size! 1)"#, "BadArgType 1 FileHandle Number"),
        (r#"!(eval (file-get-size! 1))"#, "file-get-size! expects filehandle as an argument"),
        (r#"!(file-write! (file-open! "d/f" "w") 5)"#, "BadArgType 2 String Number"),
        (r#"!(file-open! f "r")"#, "file-open! expects filepath and options in form of string atoms"),
        (
            r#"!(bind! &f (file-open! "d/f" "r")) !(file-close! &f) !(file-read-to-string! &f)"#,
            "Failed to read file contents: file 1 is not open",
        ),
        (r#"!(bind! &f (file-open! "d/f" "r")) !(file-close! &f) !(file-close! &f)"#, "file 1 is not open"),
    ] {
        let answer = with_files(text);
        assert!(answer.starts_with("[(Error ") && answer.contains(message), "{text}: {answer}");
    }
    assert_eq!(FILE_TEXT_BYTES_MAX, 268_435_456);
}

#[test]
fn a_file_that_nobody_holds_makes_room_for_another() {
    let many = r#"!(file-get-size! (file-open! "d/f" "r"))"#.repeat(2 * FILES_OPEN_MAX + 1);
    assert_eq!(with_files(&many), "[4]");
    let keep = r#"(= (keep $n) (if (== $n 0) done
        (let $f (file-open! "d/f" "r") (let () (add-atom &self (kept $f)) (keep (- $n 1))))))"#;
    let answer = with_files(&format!("{keep} !(keep {})", FILES_OPEN_MAX + 1));
    assert!(answer.contains(&format!("{FILES_OPEN_MAX} files are open; close one with file-close!")), "{answer}");
}

#[test]
fn long_files_are_read_whole() {
    let long = "0123456789".repeat(300_000);
    let world = MemoryWorld::default().with_source("long", long.clone());
    let text = r#"!(import! &self fileio) !(== (file-read-to-string! (file-open! "long" "r")) (file-read-exact! (file-open! "long" "r") 3000000))
        !(file-read-to-string! (file-open! "long" "r"))"#;
    let ran = Program::new(text).with_world(world).run();
    assert_eq!(ran.answers[1], "[True]");
    assert!(ran.answers[2] == format!("[\"{long}\"]"));
}

/// Without a look at types, as `eval` calls a function, each takes whatever it is given.
#[test]
fn any_arguments_come_to_an_answer() {
    let functions = [
        "random-int",
        "random-float",
        "set-random-seed",
        "new-random-generator",
        "reset-random-generator",
        "flip",
        "file-open!",
        "file-read-to-string!",
        "file-write!",
        "file-seek!",
        "file-read-exact!",
        "file-get-size!",
        "file-close!",
        "current-time",
        "environment-variable",
    ];
    let atoms = [
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "99999999999999999999",
        "1e300",
        "&nan",
        "\"f\"",
        "\"rw\"",
        "\"\"",
        "a",
        "()",
        "&self",
        "$x",
        "&rng",
        "&f",
        "flip",
    ];
    let world = MemoryWorld::default().with_source("f", "0123");
    let mut session = metta::Session::new(Box::new(world));
    let mut answers = 0;
    let mut run = |text: &str| {
        let run = session.run(text, &mut |_, answer| {
            assert_eq!(answer.results.len(), 1, "{text}");
            answers += 1;
            Ok(())
        });
        assert!(matches!(run.end, RunEnd::Finished | RunEnd::Error), "{text}: {:?}", run.end);
    };
    run("!(import! &self random) !(import! &self fileio) !(import! &self system) !(bind! &nan (/ 0.0 0.0))");
    for function in functions {
        run(&format!("!(eval ({function}))"));
        for first in atoms {
            run("!(bind! &f (file-open! \"f\" \"rw\"))");
            run(&format!("!(eval ({function} {first}))"));
            for second in atoms {
                run(&format!("!(eval ({function} {first} {second}))"));
                run(&format!("!(eval ({function} {first} 0 {second}))"));
            }
        }
    }
    assert_eq!(answers, 4 + functions.len() * (1 + atoms.len() * (2 + 2 * atoms.len())));
}

#[test]
fn the_clock_and_the_environment_are_the_world_s() {
    let world = MemoryWorld::default().with_clock(1_500_000_000, 250_000_000).with_variable("NAME", "value");
    let text = "!(import! &self system) !(current-time) !(current-time) !(environment-variable \"NAME\")
                !(environment-variable \"OTHER\")";
    let ran = Program::new(text).with_world(world).run();
    let unset = "[(Error (environment-variable \"OTHER\") VariableIsNotSet)]";
    assert_eq!(ran.answers, ["[()]", "[1.5]", "[1.75]", "[\"value\"]", unset]);
    assert_eq!(answers("!(environment-variable \"A\")"), ["[(environment-variable \"A\")]"]);
}

#[test]
fn paths_are_cleaned_without_a_look_at_the_disk() {
    for (directory, path, clean) in [
        ("/a/b", "c", "/a/b/c"),
        ("/a/b", "./c/../d//e/", "/a/b/d/e"),
        ("/a/b", "../../../../x", "/x"),
        ("/a/b", "/x/./y/..", "/x"),
        ("/", "", "/"),
        ("/a", "...", "/a/..."),
    ] {
        assert_eq!(clean_path(directory, path), clean, "{directory} {path}");
    }
}

#[test]
fn a_world_in_memory_gives_ids_in_order_and_never_twice() {
    let mut world = MemoryWorld::default().with_source("f", "x");
    let mode = OpenMode { read: true, ..OpenMode::default() };
    let ids: Vec<_> = (0..3).map(|_| world.open_file("f", mode)).collect();
    assert_eq!(ids, [Ok(FileId(1)), Ok(FileId(2)), Ok(FileId(3))]);
    assert_eq!(world.close_file(FileId(3)), Ok(()));
    assert_eq!(world.close_file(FileId(3)), Err(WorldError::FileNotOpen { file: FileId(3) }));
    assert_eq!(world.open_file("f", mode), Ok(FileId(4)));
    let most = metta::READ_BYTES_MAX;
    assert_eq!(world.read_file(FileId(4), most), Ok(b"x".to_vec()));
    assert_eq!(world.read_file(FileId(4), most + 1), Err(WorldError::ReadTooLarge { bytes: most + 1 }));
    let drawn: BTreeSet<u64> = (0..100).map(|_| world.random().expect("there are numbers")).collect();
    assert_eq!(drawn.len(), 100);
}

/// Asking where one person lived takes that person's intervals from an index, however many people there are.
#[test]
fn what_was_believed_of_a_key_is_found_by_an_index() {
    let asked = |people: usize| {
        let mut session = metta::Session::new(Box::new(MemoryWorld::default()));
        let facts: String = (0..people).map(|n| format!("(valid (lives p{n} t{n}) {n} forever)\n")).collect();
        let mut run = |text: &str| {
            let mut results = Vec::new();
            let run = session.run(text, &mut |_, answer| {
                results.extend(answer.results.iter().map(ToString::to_string));
                Ok(())
            });
            assert!(matches!(run.end, RunEnd::Finished), "{text}: {:?}", run.end);
            results
        };
        run("!(import! &self valid-time)");
        run(&facts);
        // The first question makes the index.
        assert_eq!(run("!(believed-at &self (lives p7 $town) $town 7)"), ["t7"]);
        assert!(run("!(believed-at &self (lives p7 $town) $town 6)").is_empty());
        let begun = std::time::Instant::now();
        for n in 0..200 {
            let found = run(&format!("!(believed-at &self (lives p{n} $town) $town {people})"));
            assert_eq!(found, [format!("t{n}")]);
        }
        begun.elapsed()
    };
    let (few, many) = (asked(400), asked(40_000));
    // A walk through all rows would take a hundred times as long.
    assert!(many < 20 * few, "{few:?} of 400 people, {many:?} of 40,000");
}

/// A native function that takes large data and gives it back with a few parts exchanged costs what is new, not what there is.
#[test]
fn data_of_native_functions_is_shared_with_what_it_was_made_of() {
    let cells = |pushes: usize| {
        let text = format!(
            "!(import! &self queues)\n\
             (= (fill $n $queue) (if (== $n 0) (queue-size $queue) (fill (- $n 1) (queue-push $queue $n x))))\n\
             !(fill {pushes} (new-queue))"
        );
        let ran = Program::new(text).run();
        assert_eq!(ran.answers.last().map(String::as_str), Some(format!("[{pushes}]").as_str()));
        ran.statistics.cells
    };
    let (some, more) = (cells(500), cells(2_000));
    assert!(more < 8 * some, "{some} cells for 500 pushes, {more} for 2,000");
}
