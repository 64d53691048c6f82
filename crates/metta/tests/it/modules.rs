//! Modules: what an import brings, where its file is looked for, and what is said when it cannot be had.

use crate::harness::{Program, Ran, answers, on_stack};
use metta::{MemoryWorld, ModuleSearch, Session};

/// Runs a program beside these files.
fn run_with(text: &str, files: &[(&str, &str)]) -> Ran {
    files.iter().fold(Program::new(text), |program, (path, content)| program.with_file(path, *content)).run()
}

/// The program gives these answers beside these files.
#[track_caller]
fn check(text: &str, files: &[(&str, &str)], expected: &[&str]) {
    let ran = run_with(text, files);
    assert_eq!(ran.answers, expected, "{text} with {files:?}");
}

/// The message of the error that ends the program.
#[track_caller]
fn message(text: &str, files: &[(&str, &str)]) -> String {
    let ran = run_with(text, files);
    match ran.last.first().and_then(|error| error.children()) {
        Some([head, _, message]) if head.is_symbol("Error") => message.to_string(),
        _ => panic!("{:?} has no error", ran.answers),
    }
}

const ANIMALS: &str = "(= (sound cat) meow) (animal cat) (animal dog)";

#[test]
fn an_import_into_self_makes_a_module_answer_here() {
    check(
        "! (import! &self animals) ! (sound cat) ! (match &self (animal $x) $x) ! (get-atoms &self)",
        &[("animals.metta", ANIMALS)],
        &["[()]", "[meow]", "[cat, dog]", "[]"],
    );
}

#[test]
fn an_import_as_a_name_binds_its_space_only() {
    check(
        "! (import! &m animals) ! (sound cat) ! (match &m (animal $x) $x) ! (evalc (sound cat) &m) ! (import! zoo animals)
         ! (match &zoo (animal $x) $x)",
        &[("animals.metta", ANIMALS)],
        &["[()]", "[(sound cat)]", "[cat, dog]", "[meow]", "[()]", "[cat, dog]"],
    );
}

#[test]
fn a_second_import_does_nothing() {
    let ran = run_with(
        "! (import! &self a) ! (import! &self a) ! (import! &self top:a) ! (import! &self self:a) ! (import! &m a)
         ! (match &self (fact $x) $x)",
        &[("a.metta", "(fact 1) ! (println! loaded)")],
    );
    assert_eq!(ran.lines, ["loaded", "[()]", "[()]", "[()]", "[()]", "[()]", "[1]"]);
}

#[test]
fn a_diamond_of_imports_loads_and_answers_once() {
    let ran = run_with(
        "! (import! &self left) ! (import! &self right) ! (match &self (base $x) $x) ! (both)",
        &[
            ("left.metta", "! (import! &self base) (= (both) (f l))"),
            ("right.metta", "! (import! &self base) (= (both) (f r))"),
            ("base.metta", "(base 1) (= (f $x) (got $x)) ! (println! loaded)"),
        ],
    );
    assert_eq!(ran.lines, ["loaded", "[()]", "[()]", "[1]", "[(got l), (got r)]"]);
}

#[test]
fn names_are_paths_from_the_top_or_from_the_importer() {
    let files = [
        ("kit.metta", "(kit) ! (import! &self kit:inner)"),
        ("kit/inner.metta", "(inner) ! (import! &self self:deep:most) ! (import! &self top:other)"),
        ("kit/deep/most.metta", "(most)"),
        ("other.metta", "(other)"),
    ];
    check(
        "! (import! &self kit) ! (match &self (kit) 1) ! (match &self (inner) 2) ! (match &self (most) 3) ! (match &self (other) 4)",
        &files,
        &["[()]", "[1]", "[2]", "[3]", "[4]"],
    );
    check("! (import! &self kit:deep:most) ! (match &self (most) 3)", &files, &["[()]", "[3]"]);
    check("! (import! &self \"other\") ! (match &self (other) 4)", &files, &["[()]", "[4]"]);
}

#[test]
fn a_directory_is_a_module_when_it_has_a_module_file() {
    let files = [("d/module.metta", "(here) ! (import! &self part)"), ("d/part.metta", "(part)")];
    check("! (import! &self d) ! (match &self (here) 1) ! (match &self (part) 2)", &files, &["[()]", "[1]", "[2]"]);
    check(
        "! (import! &self e) ! (match &self ($x) $x)",
        &[("e.metta", "(file)"), ("e/module.metta", "(directory)")],
        &["[()]", "[file]"],
    );
}

#[test]
fn a_missing_module_names_the_files_that_were_tried() {
    assert_eq!(
        message("! (import! &self nowhere)", &[]),
        "Failed to resolve module top:nowhere: there is no nowhere.metta or nowhere/module.metta"
    );
    assert_eq!(
        message("! (import! &self kit:part)", &[]),
        "Failed to resolve module top:kit:part: there is no kit/part.metta or kit/part/module.metta"
    );
    let from_inside = message("! (import! &self d)", &[("d/module.metta", "! (import! &self gone)")]);
    assert!(
        from_inside.contains("there is no d/gone.metta or d/gone/module.metta or gone.metta or gone/module.metta"),
        "{from_inside}"
    );
}

#[test]
fn a_file_name_where_a_module_name_is_expected_is_explained() {
    assert_eq!(
        message("! (import! &self kit:part.metta)", &[("kit/part.metta", "(part)")]),
        "Failed to resolve module top:kit:part.metta: there is no kit/part.metta.metta or kit/part.metta/module.metta; \
         a module is named without the ending of its file: part"
    );
}

#[test]
fn a_name_that_is_no_module_name_is_explained() {
    for name in ["a/b", "..", "a::b", "\"../secret\"", "\"a\\\\b\""] {
        let message = message(&format!("! (import! &self {name})"), &[]);
        assert!(
            message.ends_with(
                "is not the name of a module: write words joined by ':', such as a:b for the file a/b.metta"
            ),
            "{message}"
        );
    }
    assert_eq!(message("! (import! &self 5)", &[]), "import! expects a destination &space and a module name argument");
}

#[test]
fn a_circular_import_shows_the_circle() {
    let files =
        [("a.metta", "! (import! &self b)"), ("b.metta", "! (import! &self c)"), ("c.metta", "! (import! &self a)")];
    let message = message("! (import! &self a)", &files);
    assert!(
        message.contains(
            "circular import: top:a -> top:a:b -> top:a:b:c -> top:a; move what both need into a module of its own"
        ),
        "{message}"
    );
}

#[test]
fn a_module_may_not_import_itself() {
    let message = message("! (import! &self a)", &[("a.metta", "! (import! &self a)")]);
    assert!(message.contains("circular import: top:a -> top:a;"), "{message}");
}

#[test]
fn a_parse_error_in_a_module_has_its_place() {
    assert_eq!(
        message("! (import! &self bad)", &[("bad.metta", "(fine)\n  (never closed\n")]),
        "bad.metta:2:3: Unexpected end of expression: a `)` is missing"
    );
    assert_eq!(
        message("! (include bad)", &[("bad.metta", "é \"\\q\"")]),
        "bad.metta:1:4: Invalid escape sequence `\\q`"
    );
}

#[test]
fn a_module_that_is_not_utf8_has_its_place_and_runs_up_to_it() {
    for call in ["import! &self bad", "include bad"] {
        let text = format!("! ({call}) ! (match &self (ran) yes)");
        let ran = Program::new(&text).with_file("bad.metta", *b"! (add-atom &self (ran))\n(a \xff)").run();
        let expected = "bad.metta:2:4: The source is not valid UTF-8: byte 0xFF at offset 28";
        assert!(ran.answers[0].contains(expected), "{:?}", ran.answers);
    }
}

#[test]
fn an_error_in_a_module_fails_its_import() {
    let files = [("bad.metta", "(before) ! (/ 1 0) (after)")];
    assert_eq!(
        message("! (import! &self bad)", &files),
        "module top:bad ended in an error: (Error (/ 1 0) DivisionByZero)"
    );
    check(
        "! (case (import! &self bad) (((Error $call $why) failed) ($else loaded))) ! (match &self (before) found)
         ! (case (import! &self bad) (((Error $call $why) failed) ($else loaded)))",
        &files,
        &["[failed]", "[]", "[failed]"],
    );
}

#[test]
fn answers_of_a_module_are_not_printed_but_its_printing_is() {
    let ran = run_with("! (import! &self a)", &[("a.metta", "! (+ 1 2) ! (println! hello)")]);
    assert_eq!(ran.lines, ["hello", "[()]"]);
}

#[test]
fn include_runs_a_file_here_each_time() {
    check(
        "! (include a) ! (match &self (fact $x) $x) ! (include a) ! (match &self (fact $x) $x)",
        &[("a.metta", "(fact 1) ! (+ 1 2) ! (superpose (x y))")],
        &["[x, y]", "[1]", "[x, y]", "[1, 1]"],
    );
    check("! (include a) ! magic", &[("a.metta", "! (bind! magic 42)")], &["[()]", "[42]"]);
    check("! (include a) ! (f)", &[("a.metta", "(= (f) ! ) (= (f) 2)")], &["[]", "[!, 2]"]);
}

#[test]
fn imports_and_includes_nest_only_so_deep() {
    const MODULES: usize = 70;
    for verb in ["import! &self", "include"] {
        let mut program = Program::new(format!("! ({verb} m0)"));
        for module in 0..MODULES {
            program = program.with_file(&format!("m{module}.metta"), format!("! ({verb} m{})", module + 1));
        }
        let ran = on_stack(2 << 20, || program.with_file(&format!("m{MODULES}.metta"), "(end)").run());
        assert!(ran.answers[0].contains("imports are nested deeper than 64"), "{verb}: {:?}", ran.answers);
    }
    let endless = on_stack(2 << 20, || run_with("! (include again)", &[("again.metta", "! (include again)")]));
    assert!(endless.answers[0].contains("imports are nested deeper than 64"), "{:?}", endless.answers);
}

#[test]
fn sixty_modules_in_a_row_are_not_too_many() {
    let mut program = Program::new("! (import! &self m0) ! (match &self (end) reached)");
    for module in 0..60 {
        program = program.with_file(&format!("m{module}.metta"), format!("! (import! &self m{})", module + 1));
    }
    let ran = on_stack(2 << 20, || program.with_file("m60.metta", "(end)").run());
    assert_eq!(ran.answers, ["[()]", "[reached]"]);
}

#[test]
fn the_latest_token_wins() {
    check(
        "! (bind! a.c 1) ! abc ! (bind! a[a-z]c 2) ! abc ! axc ! a.c",
        &[],
        &["[()]", "[1]", "[()]", "[2]", "[2]", "[1]"],
    );
    check(
        "! (bind! ab+ 1) ! (bind! abb 2) ! abb ! ab ! abbb",
        &[],
        &["[()]", "[(Error (bind! 1 2) (BadArgType 1 Symbol Number))]"],
    );
    check("! (bind! x 1) ! (quote (x xx $x \"x\"))", &[], &["[()]", "[(quote (1 xx $x \"x\"))]"]);
    check("! (bind! x (+ 1 2)) ! x ! (bind! y (superpose (1 2))) ! y", &[], &["[()]", "[3]", "[(), ()]", "[2]"]);
}

#[test]
fn a_token_must_be_a_symbol_and_a_regular_expression() {
    check("! (bind! \"x\" 5)", &[], &["[(Error (bind! \"x\" 5) (BadArgType 1 Symbol String))]"]);
    let ran = run_with("! (bind! [z 5)", &[]);
    assert!(ran.answers[0].contains("[z is not a regular expression: "), "{:?}", ran.answers);
}

#[test]
fn tokens_of_a_module_stay_in_it() {
    check(
        "! (import! &self m) ! magic ! (match &self (uses $x) $x) ! (get)",
        &[("m.metta", "! (bind! magic 42) (uses magic) ! (bind! &st (new-state 7)) (= (get) (get-state &st))")],
        &["[()]", "[magic]", "[42]", "[7]"],
    );
}

#[test]
fn self_is_the_module_in_which_it_is_written() {
    check(
        "! (import! &self m) (local top) ! (ask) ! (match &self (local $x) $x) ! (put) ! (match &self (put-by $x) $x)",
        &[("m.metta", "(local m) (= (ask) (match &self (local $x) $x)) (= (put) (add-atom &self (put-by m)))")],
        &["[()]", "[m]", "[top, m]", "[()]", "[m]"],
    );
}

#[test]
fn a_registered_path_is_a_module_of_the_top() {
    let files = [("lib/tool/module.metta", "(tool)"), ("lib/extra.metta", "(extra)")];
    check(
        "! (register-module! \"lib/tool\") ! (import! &self tool) ! (register-module! lib/extra) ! (import! &self extra)
         ! (match &self ($x) $x)",
        &files,
        &["[()]", "[()]", "[()]", "[()]", "[tool, extra]"],
    );
    assert_eq!(
        message("! (register-module! nowhere)", &[]),
        "Failed to resolve module nowhere: there is no file nowhere or nowhere.metta or nowhere/module.metta; \
         a folder is a module if it has a file module.metta"
    );
}

#[test]
fn the_space_of_a_module_is_had_without_importing_it() {
    let files = [("animals.metta", ANIMALS)];
    check(
        "! (match (mod-space! animals) (animal $x) $x) ! (match &self (animal $x) $x) ! (mod-space! top)",
        &files,
        &["[cat, dog]", "[]", "[ModuleSpace(GroundingSpace-top)]"],
    );
    check(
        "! (import! &self animals) (own) ! (match (module-space-no-deps &self) (animal $x) $x)
         ! (match (module-space-no-deps &self) (own) mine)",
        &files,
        &["[()]", "[]", "[mine]"],
    );
    let ran = run_with("! (import! &self animals) ! (print-mods!)", &files);
    assert_eq!(ran.lines, ["[()]", "corelib", "top", "top:animals", "[()]"]);
}

#[test]
fn the_library_can_be_imported_and_changes_nothing() {
    check("! (import! &self corelib) ! (import! &self stdlib) ! (if True 1 2)", &[], &["[()]", "[()]", "[1]"]);
}

#[test]
fn names_that_are_not_supported_yet_say_so() {
    for (call, name, origin) in
        [("(new-das! a b)", "new-das!", "the module das"), ("(py-atom math.sin)", "py-atom", "the Python host")]
    {
        let error = format!("[(Error {call} {name} (of {origin}) is not supported yet)]");
        check(&format!("! {call} ! unreached"), &[], &[&error]);
    }
    for module in ["das", "skel"] {
        assert_eq!(
            message(&format!("! (import! &self {module})"), &[]),
            format!("module {module} is not supported yet")
        );
    }
}

/// The catalog of a package has what it lists, in its order, and the folders in which it looks.
#[test]
fn the_catalog_of_a_package_has_what_it_lists() {
    let mut search = ModuleSearch::default();
    search.name("shapes", "src/shapes.metta");
    search.name("people", "src/people");
    search.folder("vendor");
    let world = MemoryWorld::default();
    let output = world.output();
    let mut session = Session::new(Box::new(world));
    session.program_mut().search_modules(search);
    session.run("! (import! &self catalog) ! (catalog-list! package)", &mut |_, _| Ok(()));
    assert_eq!(output.printed(), ["package:", "   shapes", "   people", "   each file of vendor"]);
}

#[test]
fn a_program_may_declare_a_name_that_is_not_supported() {
    check(
        "(= (das-services!) keys) ! (das-services!) ! (das-services! 1)",
        &[],
        &["[keys]", "[(Error (das-services! 1) das-services! (of the module das) is not supported yet)]"],
    );
    check("(: das-services! (-> Keys)) ! (das-services!)", &[], &["[(das-services!)]"]);
    check(
        "! (das-services-of) ! das-services! ! (quote (das-services!))",
        &[],
        &["[(das-services-of)]", "[das-services!]", "[(quote (das-services!))]"],
    );
    check("! (import! &self das) ! (match &self ($x) $x)", &[("das.metta", "(mine)")], &["[()]", "[mine]"]);
}

#[test]
fn a_module_that_is_imported_again_is_loaded_once_and_included_each_time() {
    let module = "(fact 1) (= (mf) here) !(println! loading)";
    let other = "!(import! &self m) (fact 2)";
    let run = |text: &str| Program::new(text).with_file("m.metta", module).with_file("n.metta", other).run().lines;
    for (text, expected) in [
        ("!(import! &self m) !(import! &self m) !(match &self (fact $x) $x)", &["loading", "[()]", "[()]", "[1]"][..]),
        ("!(import! &self m) !(import! &self n) !(match &self (fact $x) $x)", &["loading", "[()]", "[()]", "[1, 2]"]),
        (
            "!(import! &a m) !(import! &b m) !(add-atom &a (fact 9)) !(match &b (fact $x) $x)",
            &["loading", "[()]", "[()]", "[()]", "[1, 9]"],
        ),
        ("!(import! &self m) !(include m) !(mf)", &["loading", "[()]", "loading", "[()]", "[here, here]"]),
        // A rule above the import of what it calls.
        ("(= (g) (mf)) !(import! &self m) !(g)", &["loading", "[()]", "[here]"]),
    ] {
        assert_eq!(run(text), expected, "{text}");
    }
}

#[test]
fn a_word_above_the_import_that_gives_it_a_meaning_stays_a_symbol() {
    let text = "(= (g) (json-encode (1))) !(import! &self json) !(g) !(json-encode (1))";
    assert_eq!(answers(text), ["[()]", "[(json-encode (1))]", "[\"[1]\"]"]);
}
