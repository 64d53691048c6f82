//! Files that are loaded: what a row of each format becomes, and what a base makes of the same file, an edited one, a broken one.

use crate::history::{engine, run_source};
use crate::tapes::Nobody;
use generate::Dice;
use journal::{Disk, MemoryDisk};
use metroon::load::{FileFormat, Format, LoadError, LoadFailure, LoadOptions, LoadOptionsError, LoadReport, Out};
use metroon::run::{RunRequest, Source};
use metroon::tape::TapeReader;
use metroon::{Atom, Engine, MemoryWorld, Tape};
use std::sync::Arc;

fn world(files: &[(&str, &str)]) -> MemoryWorld {
    files.iter().fold(MemoryWorld::default(), |world, (path, content)| world.with_source(path, *content))
}

fn load(engine: &mut Engine, file: &str, options: &LoadOptions) -> LoadReport {
    engine.load(file, options, &mut |_| {}).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The results of all forms of a text.
fn results(engine: &mut Engine, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    engine.run_text(text, &mut |_, answer| {
        found.extend(answer.results.iter().map(|atom| atom.to_string()));
        Ok(())
    });
    found
}

/// The atoms of a file, and what was left out.
fn read_as(file: &str, content: &str, options: &LoadOptions) -> (Vec<String>, Vec<(u64, u64, bool)>) {
    let mut engine = Engine::new(world(&[(file, content)]));
    let report = load(&mut engine, file, options);
    let atoms = results(&mut engine, "!(get-atoms &self)");
    assert_eq!(report.added, atoms.len() as u64);
    (atoms, report.skipped.iter().map(|skipped| (skipped.line, skipped.count, skipped.is_error)).collect())
}

fn read(file: &str, content: &str) -> (Vec<String>, Vec<(u64, u64, bool)>) {
    read_as(file, content, &LoadOptions::default())
}

const HEADINGS: (u64, u64, bool) = (1, 1, false);

#[test]
fn a_line_of_csv_is_an_expression() {
    let text = "name,city,age\r\nAnn,Boston,41\r\n\"Bob, Jr.\",New York,38.5\r\n\"two\nlines\",\"say \"\"hi\"\"\",\r\nCid,x\r\n\r\nDan,y,-1\r\n";
    let (atoms, skipped) = read("some/people.csv", text);
    let expected = [
        "(people Ann Boston 41)",
        "(people \"Bob, Jr.\" \"New York\" 38.5)",
        "(people \"two\\nlines\" \"say \\\"hi\\\"\" \"\")",
        "(people Dan y -1)",
    ];
    assert_eq!(atoms, expected);
    assert_eq!(skipped, [HEADINGS, (6, 1, true)]);
}

#[test]
fn a_value_is_a_number_a_symbol_or_a_string() {
    let values = [
        "7", "-7", "0", "0.5", "1e3", "True", "007", "+7", "-", "+", "a b", "$x", "&self", "(", "!", "true", "é",
        "1.2.3", "12x", "=", "0x",
    ];
    let text: String = values.iter().map(|value| format!("{value}\n")).collect();
    let (atoms, skipped) = read_as("v.csv", &text, &LoadOptions { has_no_headings: true, ..LoadOptions::default() });
    let expected = [
        "7",
        "-7",
        "0",
        "0.5",
        "1000.0",
        "True",
        "\"007\"",
        "\"+7\"",
        "\"-\"",
        "\"+\"",
        "\"a b\"",
        "\"$x\"",
        "\"&self\"",
        "\"(\"",
        "\"!\"",
        "true",
        "é",
        "1.2.3",
        "12x",
        "=",
        "0x",
    ];
    assert_eq!(atoms, expected.map(|value| format!("(v {value})")));
    assert_eq!(skipped, []);
}

#[test]
fn quotes_mean_nothing_between_tabs() {
    let (atoms, skipped) = read("t.tsv", "a\tb\n\"x\ty\n");
    assert_eq!(atoms, ["(t \"\\\"x\" y)"]);
    assert_eq!(skipped, [HEADINGS]);
}

#[test]
fn a_triple_is_an_expression() {
    let text = "# comment\n<http://e/a> <http://e/p> _:b .\n_:b <p> \"5\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n\
        _:b <p> \"true\"^^<http://www.w3.org/2001/XMLSchema#boolean> .\n_:b <p> \"B b\"@en .\n_:b <p> \"2020\"^^<http://t> .\nbad\n\
        <http://e/f_(x)> <p> \"plain\" .";
    let (atoms, skipped) = read("g.nt", text);
    let node = atoms[0].rsplit(' ').next().unwrap().trim_end_matches(')').to_owned();
    assert!(node.starts_with("_:b@") && node.len() == 12, "{node}");
    let expected = [
        format!("(triple http://e/a http://e/p {node})"),
        format!("(triple {node} p 5)"),
        format!("(triple {node} p True)"),
        format!("(triple {node} p (lang \"B b\" en))"),
        format!("(triple {node} p (typed \"2020\" http://t))"),
        "(triple (iri \"http://e/f_(x)\") p \"plain\")".to_owned(),
    ];
    assert_eq!(atoms, expected);
    assert_eq!(skipped, [(7, 1, true)]);
    // A blank node means something to its file only.
    let (others, _) = read("h.nt", text);
    assert_ne!(others[0], atoms[0]);
}

#[test]
fn a_line_of_json_is_an_expression() {
    let text = "{\"name\":\"Ann\",\"b\":[1,true,null,{\"k\":-1.5}],\"first name\":\"x\"}\n\n[1,2]\n\"t\"\nnope\n18446744073709551615\n{}";
    let (atoms, skipped) = read("ev.jsonl", text);
    let expected = [
        "(ev (name \"Ann\") (b (1 True null ((k -1.5)))) (\"first name\" \"x\"))",
        "(ev (1 2))",
        "(ev \"t\")",
        "(ev 18446744073709551615)",
        "(ev)",
    ];
    assert_eq!(atoms, expected);
    assert_eq!(skipped, [(5, 1, true)]);
}

#[test]
fn a_quote_that_is_not_closed_is_an_error_and_nothing_is_given_up() {
    for (text, atoms, line) in [
        ("a,b\n1,2\n\"3,4\n5,6\n", vec!["(q 1 2)"], 3),
        ("a,b\n1,2\n\"3\",\"4", vec!["(q 1 2)"], 3),
        ("a,\"b\n1,2", vec![], 1),
    ] {
        let (found, skipped) = read("q.csv", text);
        assert_eq!(found, atoms, "{text}");
        assert_eq!(skipped.last(), Some(&(line, 1, true)), "{text}");
    }
    for sound in ["a,b\n1,\"2\"", "a,b\n1,\"2\"\n", "a,b\n1,2\n\n"] {
        assert_eq!(read("q.csv", sound), (vec!["(q 1 2)".to_owned()], vec![HEADINGS]), "{sound}");
    }
    let disk = disk();
    for (content, removed) in [("a\n1\n2\n", 0), ("a\n\"1\n2\n", 0)] {
        let mut engine = engine(&disk, world(&[("/q.csv", content)]));
        assert_eq!(load(&mut engine, "/q.csv", &LoadOptions::default()).removed, removed);
        assert_eq!(atoms(&mut engine), ["(q 1)", "(q 2)"]);
        engine.finish().expect("the base closes");
    }
}

#[test]
fn a_text_that_no_float_holds_stays_a_text() {
    let options = LoadOptions { has_no_headings: true, ..LoadOptions::default() };
    let (atoms, _) = read_as("v.tsv", "8e12345\n0e462097\n1e-400\n0.0\n1e308\n-0.0\n", &options);
    assert_eq!(atoms, ["(v \"8e12345\")", "(v \"0e462097\")", "(v \"1e-400\")", "(v 0.0)", "(v 1e308)", "(v -0.0)"]);
}

#[test]
fn numbers_of_json_are_read_exactly() {
    let digits = "9".repeat(308);
    let text = format!(
        "[123456789012345678901234567890,-9223372036854775809,\"-1 \\\" 2\",1e25,-0,0.1,{{\"7\":{digits}}}]\n5.012040680606287e-308\n\
        1e400\n{digits}99\n"
    );
    let (atoms, skipped) = read("n.jsonl", &text);
    let list = "123456789012345678901234567890 -9223372036854775809 \"-1 \\\" 2\" 1e25 0 0.1";
    assert_eq!(atoms[0], format!("(n ({list} ((\"7\" {digits}))))"));
    assert_eq!(atoms[1], "(n 5.012040680606287e-308)");
    assert_eq!(skipped, [(3, 2, true)]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_json() {
    let (atoms, skipped) = read("m.jsonl", "\u{feff}{\"a\":1}\n2\n\u{feff}3\n");
    assert_eq!((atoms, skipped), (vec!["(m (a 1))".to_owned(), "(m 2)".to_owned()], vec![(3, 1, true)]));
}

#[test]
fn a_literal_is_a_value_if_it_is_one_of_its_type() {
    let cases = [
        ("+", "integer", "(typed \"+\" T)"),
        ("1.5", "integer", "(typed \"1.5\" T)"),
        ("True", "int", "(typed \"True\" T)"),
        ("-5", "long", "-5"),
        ("1e3", "decimal", "(typed \"1e3\" T)"),
        ("1.5", "decimal", "1.5"),
        ("1e3", "double", "1000.0"),
        ("1e400", "double", "(typed \"1e400\" T)"),
        ("get-type", "double", "(typed \"get-type\" T)"),
        ("1", "boolean", "True"),
        ("True", "boolean", "(typed \"True\" T)"),
    ];
    for (text, name, expected) in cases {
        let iri = format!("http://www.w3.org/2001/XMLSchema#{name}");
        let (atoms, _) = read("g.nt", &format!("<s> <p> \"{text}\"^^<{iri}> ."));
        assert_eq!(atoms, [format!("(triple s p {})", expected.replace(" T)", &format!(" {iri})")))]);
    }
}

#[test]
fn blank_nodes_are_told_apart_by_absolute_path_or_content() {
    let text = "_:b <p> <o> .";
    let mut engine = Engine::new(world(&[("sub/g.nt", text), ("/e/g.nt", text)]));
    load(&mut engine, "sub/g.nt", &LoadOptions::default());
    results(&mut engine, "!(import! &self sub:g.nt)");
    load(&mut engine, "/e/g.nt", &LoadOptions::default());
    let mut found = atoms(&mut engine);
    found.dedup();
    assert_eq!(found.len(), 2, "{found:?}");
    let options = LoadOptions { format: Some(FileFormat::NTriples), ..LoadOptions::default() };
    let piped = |text: &str| {
        let mut engine = Engine::new(MemoryWorld::default().with_standard_input(text));
        load(&mut engine, "-", &options);
        atoms(&mut engine)
    };
    assert_eq!(piped(text), piped(text));
    assert_ne!(piped(text)[0], piped("_:b <p> <o> . # other")[0]);
}

#[test]
fn formats_are_known_by_the_ending_and_heads_by_the_name() {
    assert_eq!(FileFormat::of("a/b.CSV"), Some(FileFormat::Csv));
    assert_eq!(FileFormat::of("b.ndjson"), Some(FileFormat::JsonLines));
    assert_eq!(FileFormat::of("csv"), None);
    let mut engine = Engine::new(world(&[("my data.csv", "a\n1\n"), ("match.csv", "a\n1\n"), ("x.dat", "a\n1\n")]));
    load(&mut engine, "my data.csv", &LoadOptions::default());
    assert_eq!(results(&mut engine, "!(get-atoms &self)"), ["(my-data 1)"]);
    let failed = |engine: &mut Engine, file: &str| match engine.load(file, &LoadOptions::default(), &mut |_| {}) {
        Err(LoadFailure::Options(error)) => error,
        other => panic!("{file}: {other:?}"),
    };
    assert_eq!(failed(&mut engine, "match.csv"), LoadOptionsError::BadHead { head: "match".to_owned() });
    assert_eq!(failed(&mut engine, "x.dat"), LoadOptionsError::UnknownFormat { file: "x.dat".to_owned() });
    let options = LoadOptions { format: Some(FileFormat::Csv), head: Some("d".to_owned()), has_no_headings: true };
    assert_eq!(load(&mut engine, "x.dat", &options).added, 2);
    assert!(matches!(
        engine.load("gone.csv", &LoadOptions::default(), &mut |_| {}),
        Err(LoadFailure::Load(LoadError::World(_)))
    ));
}

fn disk() -> Arc<dyn Disk> {
    Arc::new(MemoryDisk::new())
}

fn atoms(engine: &mut Engine) -> Vec<String> {
    let mut atoms = results(engine, "!(get-atoms &self)");
    atoms.sort();
    atoms
}

#[test]
fn a_base_loads_what_differs() {
    let disk = disk();
    let step = |content: &str, expected: (u64, u64, u64, bool), after: &[&str]| {
        let mut engine = engine(&disk, world(&[("/edges.csv", content)]));
        let report = load(&mut engine, "/edges.csv", &LoadOptions::default());
        assert_eq!((report.added, report.removed, report.kept, report.is_unchanged), expected, "{content:?}");
        assert_eq!(atoms(&mut engine), after, "{content:?}");
        engine.finish().expect("the base closes");
    };
    let all = ["(edges a b)", "(edges b c)", "(edges b c)"];
    step("x,y\na,b\nb,c\nb,c\n", (3, 0, 0, false), &all);
    step("x,y\na,b\nb,c\nb,c\n", (0, 0, 0, true), &all);
    let edited = ["(edges b c)", "(edges c d)"];
    step("x,y\nc,d\nb,c\n", (1, 2, 1, false), &edited);
    // Nobody knows what the broken line was to state, so nothing is given up.
    step("x,y\nc\nb,c\n", (0, 0, 1, false), &edited);
    step("x,y\nb,c\n", (0, 1, 1, false), &["(edges b c)"]);
    step("x,y\nb,c\n", (0, 0, 0, true), &["(edges b c)"]);
}

#[test]
fn another_way_of_loading_is_another_content() {
    let disk = disk();
    let mut engine = engine(&disk, world(&[("/e.csv", "a,b\n")]));
    assert_eq!(load(&mut engine, "/e.csv", &LoadOptions::default()).added, 0);
    let options = LoadOptions { has_no_headings: true, ..LoadOptions::default() };
    assert_eq!(load(&mut engine, "/e.csv", &options).added, 1);
    let options = LoadOptions { head: Some("f".to_owned()), ..options };
    let report = load(&mut engine, "/e.csv", &options);
    assert_eq!((report.added, report.removed), (1, 1));
    assert_eq!(atoms(&mut engine), ["(f a b)"]);
}

/// Loading a program's file and running it are the same to a base, and come to the same state.
#[test]
fn a_text_that_was_loaded_is_known_when_it_runs() {
    let text = "(edge a b) (= (f $x) $x) (edge a b) (n 1.0) \"s\"";
    let source = Source { origin: "/f.metta", file: Some("/f.metta"), ..Source::text(text) };
    let (loaded, ran) = (disk(), disk());
    let mut loads = engine(&loaded, world(&[("/f.metta", text)]));
    assert_eq!(load(&mut loads, "/f.metta", &LoadOptions::default()).added, 5);
    loads.finish().expect("the base closes");
    let mut runs = engine(&ran, world(&[("/f.metta", text)]));
    run_source(&mut runs, &source);
    runs.finish().expect("the base closes");
    let mut again = engine(&loaded, world(&[("/f.metta", text)]));
    run_source(&mut again, &source);
    assert_eq!(atoms(&mut again).len(), 5);
}

/// Any sequence of edits comes to the lines that the file has last.
#[test]
fn edits_come_to_the_last_content() {
    const LINES: [&str; 6] = ["a,1", "a,1.0", "b c,2", "\"x\ny\",3", "é,", "a,1"];
    for seed in 0..60 {
        let (mut dice, disk) = (Dice::new(seed), disk());
        for _ in 0..5 {
            let lines: Vec<&str> = (0..dice.below(8)).map(|_| dice.pick(&LINES)).collect();
            let content = format!("k,v\n{}", lines.iter().map(|line| format!("{line}\n")).collect::<String>());
            let mut engine = engine(&disk, world(&[("/t.csv", &content)]));
            let report = load(&mut engine, "/t.csv", &LoadOptions::default());
            assert!(report.is_unchanged || report.added + report.kept == lines.len() as u64, "seed {seed}: {report:?}");
            let (mut expected, _) = read("t.csv", &content);
            expected.sort();
            let found = atoms(&mut engine);
            assert_eq!(found, expected, "seed {seed}");
            engine.finish().expect("the base closes");
        }
    }
}

#[test]
fn places_are_lines() {
    let disk = disk();
    let mut engine = engine(&disk, world(&[("/t.csv", "k\na\n\nc\n\"b\nb\"\nd\n")]));
    load(&mut engine, "/t.csv", &LoadOptions::default());
    assert_eq!(results(&mut engine, "!(why &self (t c))"), ["(because (t c) (commit 1) (at \"/t.csv\" 4 1))"]);
    assert_eq!(results(&mut engine, "!(why &self (t d))"), ["(because (t d) (commit 1) (at \"/t.csv\" 7 1))"]);
}

#[test]
fn files_of_data_are_imported() {
    let files = [("people.csv", "n,z\nAnn,02134\n"), ("sub/g.nt", "<a> <p> <b> .\n"), ("e.jsonl", "{\"a\":1}\n")];
    let mut engine = Engine::new(world(&files));
    let program = "!(import! &self people.csv) !(import! &self sub:g.nt) !(import! &e e.jsonl)
        !(match &self (people $n $z) ($n $z)) !(match &self (triple $s p $o) ($s $o)) !(match &e (e (a $x)) $x)";
    assert_eq!(results(&mut engine, program), ["()", "()", "()", "(Ann \"02134\")", "(a b)", "1"]);
    // Importing once more adds nothing.
    assert_eq!(results(&mut engine, "!(import! &self people.csv) !(match &self (people $n $z) $n)"), ["()", "Ann"]);
    let mut missing = Engine::new(world(&[]));
    assert!(results(&mut missing, "!(import! &self gone.csv)")[0].contains("there is no gone.csv"));
}

#[test]
fn a_replay_needs_no_file_that_was_imported() {
    let tape: Arc<dyn Disk> = disk();
    let program = RunRequest {
        expressions: vec!["!(import! &self people.csv) !(match &self (people $n $a) ($n $a))".to_owned()],
        ..RunRequest::default()
    };
    let mut reporter = Nobody;
    let recorded = world(&[("people.csv", "n,a\nAnn,41\nBob,x\n")]);
    let printed = recorded.output();
    let made = Tape::on_disk(Arc::clone(&tape)).expect("the tape begins");
    let mut engine = Engine::remembering(recorded, None, Some(made), &program).expect("it runs");
    engine.run_program(&program, &mut reporter);
    engine.finish().expect("the tape ends");
    assert_eq!(printed.printed(), ["[()]", "[(Ann 41), (Bob x)]"]);
    let output = MemoryWorld::default();
    let shown = output.output();
    let reader = TapeReader::on_disk(tape).expect("the tape opens");
    let (mut engine, program) = Engine::replaying(output, reader, None).expect("it replays");
    engine.run_program(&program, &mut reporter);
    engine.finish().expect("all is the same");
    assert_eq!(shown.printed(), printed.printed());
}

#[test]
fn a_large_load_has_several_commits() {
    let text: String = (0..250_000).map(|number| format!("(edge a{number} b)\n")).collect();
    let disk = disk();
    let mut engine = engine(&disk, world(&[("/f.metta", &text)]));
    let mut heard = 0;
    let report = engine.load("/f.metta", &LoadOptions::default(), &mut |_| heard += 1).expect("it is loaded");
    assert_eq!(report.added, 250_000);
    assert!(heard > 1 && engine.epoch().unwrap() >= 2, "{heard} pieces, {:?} commits", engine.epoch());
}

/// What is read for a record of four pieces has many records behind it, which are no one commit.
#[test]
fn what_follows_a_huge_record_has_several_commits() {
    let small: String = (0..350_000).map(|number| format!("(e a{number})\n")).collect();
    let text = format!("(huge {})\n{small}", "x".repeat(4 << 20));
    let disk = disk();
    let mut engine = engine(&disk, world(&[("/f.metta", &text)]));
    let report = engine.load("/f.metta", &LoadOptions::default(), &mut |_| {}).expect("it is loaded");
    assert_eq!(report.added, 350_001);
    assert!(engine.epoch().unwrap() >= 4, "{:?} commits", engine.epoch());
}

/// A frame, as a host hands it over: rows `(head N textN)` for these numbers, without a text to read.
struct Frame {
    head: &'static str,
    numbers: std::ops::Range<i64>,
    /// A row that is no row.
    broken: Option<i64>,
}

impl Format for Frame {
    fn read(&mut self, _: &[u8], is_end: bool, out: &mut dyn Out) -> usize {
        while is_end && !self.numbers.is_empty() && !out.is_full() {
            let number = self.numbers.start;
            self.numbers.start += 1;
            out.record(number as u64 + 1);
            if self.broken == Some(number) {
                out.skip("it is broken", true);
                continue;
            }
            out.open();
            out.symbol(self.head);
            out.leaf(Atom::from(number));
            out.leaf(Atom::from(format!("text{number}").as_str()));
            out.close();
        }
        0
    }

    fn manner(&self) -> String {
        "rows".to_owned()
    }
}

fn frame(head: &'static str, numbers: std::ops::Range<i64>) -> Frame {
    Frame { head, numbers, broken: None }
}

/// Loads a frame as a part of a transaction, unless a row of it is refused.
fn load_frame(engine: &mut Engine, mut frame: Frame) -> bool {
    let loaded = engine.load_records("a frame", &mut frame);
    loaded.is_ok_and(|report| !report.skipped.iter().any(|skipped| skipped.is_error))
}

fn count(engine: &mut Engine, pattern: &str) -> String {
    results(engine, &format!("!(count-results (match &self {pattern} found))")).remove(0)
}

#[test]
fn frames_of_a_transaction_are_one_commit() {
    let disk = disk();
    let mut engine = engine(&disk, world(&[]));
    engine.run_text("(before 1)", &mut |_, _| Ok(()));
    let before = engine.epoch().expect("it is in a base");
    let done = engine.transaction(|engine| {
        // More rows than a load of a file commits at once.
        let is_loaded = load_frame(engine, frame("a", 0..150_000)) && load_frame(engine, frame("b", 0..10));
        // What the transaction has done so far is seen inside it.
        (count(engine, "(b $n $text)"), is_loaded)
    });
    assert_eq!(done.expect("the commit is kept"), "10");
    assert_eq!(engine.epoch(), Some(before + 1), "all of it is one commit");
    engine.finish().expect("it closes");
    let mut again = self::engine(&disk, world(&[]));
    assert_eq!(
        (count(&mut again, "(a $n $text)").as_str(), count(&mut again, "(b $n $text)").as_str()),
        ("150000", "10")
    );
    assert_eq!(results(&mut again, "!(match &self (a 149999 $text) $text)"), ["\"text149999\""]);
}

#[test]
fn a_transaction_that_is_not_kept_leaves_nothing_of_its_frames() {
    let disk = disk();
    let mut engine = engine(&disk, world(&[]));
    engine.run_text("(a 1 kept)", &mut |_, _| Ok(()));
    let epoch = engine.epoch();
    for broken in [Some(70_000), None] {
        let done = engine.transaction(|engine| {
            let is_loaded = load_frame(engine, Frame { broken, ..frame("a", 0..80_000) });
            assert_eq!(is_loaded, broken.is_none());
            assert!(count(engine, "(a $n $text)").parse::<u32>().expect("it is a number") > 79_000);
            ((), false)
        });
        done.expect("nothing is to be kept");
        assert_eq!(engine.epoch(), epoch, "{broken:?}");
        assert_eq!(results(&mut engine, "!(match &self (a $n $text) ($n $text))"), ["(1 kept)"]);
    }
    // The engine goes on, and the frame can be loaded after all.
    assert!(load_frame(&mut engine, frame("a", 0..100)));
    engine.finish().expect("it closes");
    let mut again = self::engine(&disk, world(&[]));
    assert_eq!(count(&mut again, "(a $n $text)"), "101");
}

#[test]
fn an_inner_transaction_is_undone_alone() {
    let disk = disk();
    let mut engine = engine(&disk, world(&[]));
    let before = engine.epoch().expect("it is in a base");
    let done = engine.transaction(|engine| {
        let outer = load_frame(engine, frame("outer", 0..1_000));
        let inner = engine.transaction(|engine| (load_frame(engine, frame("inner", 0..1_000)), false));
        assert!(inner.expect("it is undone"));
        engine.transaction(|engine| ((), load_frame(engine, frame("second", 0..5)))).expect("it is kept");
        ((), outer)
    });
    done.expect("the commit is kept");
    assert_eq!(engine.epoch(), Some(before + 1));
    let counts = ["(outer $n $t)", "(inner $n $t)", "(second $n $t)"].map(|pattern| count(&mut engine, pattern));
    assert_eq!(counts, ["1000", "0", "5"]);
}
