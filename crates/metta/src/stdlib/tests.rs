//! The library, its documentation and `docs/compat.md` speak of the same names.

use super::forms;
use super::{DOCUMENTATION, NOT_SUPPORTED, PRELUDE, documentation_facts, every_operation, operations, read_type};
use crate::bundled::{BUNDLES, LACKING};
use crate::lowering::Lowering;
use crate::operation::OperationSpec;
use crate::reader::read_atom;
use crate::session::Session;
use crate::types;
use crate::{MemoryWorld, ModuleId, Tokenizer, names, syntax};
use space::Atom;
use std::collections::{BTreeMap, BTreeSet};

/// What a program printed, and its last answer as the command line shows it.
fn run(program: &str) -> (Vec<String>, String) {
    let world = MemoryWorld::default();
    let output = world.output();
    let mut session = Session::new(Box::new(world));
    let mut last = String::new();
    session.run(program, &mut |_, answer| {
        let results: Vec<String> = answer.results.iter().map(Atom::to_string).collect();
        last = format!("[{}]", results.join(", "));
        Ok(())
    });
    (output.printed(), last)
}

/// The forms of a part of the library, every word a symbol.
fn forms(text: &str) -> Vec<Atom> {
    let parsed = syntax::parse(text);
    let words = Tokenizer::default();
    parsed.tree.forms().iter().map(|form| read_atom(&parsed.tree, form.node, &words)).collect()
}

/// What the prelude declares or gives rules for.
fn names_of_prelude() -> BTreeSet<String> {
    names_of_rules(PRELUDE)
}

/// What a text declares or gives rules for; what it documents is left out.
fn names_of_rules(text: &str) -> BTreeSet<String> {
    let name = |form: Atom| match form.children() {
        Some([statement, subject, _]) if statement.is_symbol(names::HAS_TYPE) => subject.to_string(),
        Some([_, call, _]) => call.head().expect("a rule is for a call").to_string(),
        _ => panic!("{form} is neither a type nor a rule"),
    };
    forms(text).into_iter().filter(|form| !is_documentation(form)).map(name).collect()
}

fn is_documentation(form: &Atom) -> bool {
    form.head().is_some_and(|head| head.is_symbol("@doc"))
}

fn library() -> BTreeSet<String> {
    let values = BUNDLES.iter().flat_map(|bundle| bundle.values).map(|(word, _)| (*word).to_owned());
    let native = every_operation().map(|spec| spec.name.to_owned());
    let of_bundles = BUNDLES.iter().flat_map(|bundle| names_of_rules(bundle.source));
    native.chain(values).chain(names_of_prelude()).chain(of_bundles).collect()
}

/// A program that imports every bundled module.
fn imports() -> String {
    BUNDLES.iter().map(|bundle| format!("!(import! &self {})", bundle.name)).collect()
}

/// How many parameters each documented name has, once for each fact about it; `None` for what is no function.
fn documented() -> BTreeMap<String, Vec<Option<usize>>> {
    let mut found = documented_in_library();
    for bundle in BUNDLES {
        found.extend(documented_by(bundle.source, bundle.operations.iter()));
    }
    found
}

fn documented_in_library() -> BTreeMap<String, Vec<Option<usize>>> {
    documented_by(DOCUMENTATION, operations())
}

fn documented_by(
    text: &str,
    operations: impl Iterator<Item = &'static OperationSpec>,
) -> BTreeMap<String, Vec<Option<usize>>> {
    let mut found: BTreeMap<String, Vec<Option<usize>>> = BTreeMap::new();
    let facts = documentation_facts(text, operations, &Tokenizer::default());
    for form in facts.into_iter().filter(|form| text == DOCUMENTATION || is_documentation(form)) {
        let parameters = match form.children() {
            Some([_, _, description]) if has_text(description, "@desc") => None,
            Some([_, _, description, parameters, result])
                if has_text(description, "@desc") && has_text(result, "@return") =>
            {
                Some(texts_of_parameters(parameters))
            }
            _ => panic!("{form} is not in one of the two forms of documentation"),
        };
        assert!(form.head().is_some_and(|head| head.is_symbol("@doc")), "{form}");
        found.entry(form.children().expect("it has parts")[1].to_string()).or_default().push(parameters);
    }
    found
}

/// Whether an atom is `(head "text")` with a text on one line.
fn has_text(atom: &Atom, head: &str) -> bool {
    match atom.children() {
        Some([found, Atom::Grounded(space::Grounded::Text(text))]) => {
            found.is_symbol(head) && !text.is_empty() && !text.contains('\n')
        }
        _ => false,
    }
}

fn texts_of_parameters(atom: &Atom) -> usize {
    let Some([head, parameters]) = atom.children() else { panic!("{atom} has other parts than its parameters") };
    let parameters = parameters.children().expect("the parameters are an expression");
    assert!(head.is_symbol("@params") && parameters.iter().all(|one| has_text(one, "@param")), "{atom}");
    parameters.len()
}

/// The numbers of arguments that the types of a name allow in the program; none without a function type.
fn arities(session: &mut Session, name: &str) -> BTreeSet<usize> {
    let parsed = syntax::parse(name);
    let atom = read_atom(
        &parsed.tree,
        parsed.tree.forms()[0].node,
        session.program().tokenizer_of(ModuleId::TOP).expect("the program has words"),
    );
    let program = session.top_space();
    let found = types::types_of(&program, &atom, session.program_mut().variables());
    found.iter().filter(|found| found.is_function()).map(|found| types::function_parts(&found.atom).0.len()).collect()
}

#[test]
fn every_name_of_the_library_is_documented() {
    let documented = documented();
    let undocumented: Vec<_> = library().into_iter().filter(|name| !documented.contains_key(name)).collect();
    assert!(
        undocumented.is_empty(),
        "undocumented: {undocumented:?}; an operation says .documented(…), other names have a @doc fact in documentation.metta"
    );
}

#[test]
fn each_operation_has_a_type_of_functions_and_a_text_for_each_parameter() {
    for spec in every_operation() {
        let documentation = spec.documentation.unwrap_or_else(|| panic!("{} says no .documented(…)", spec.name));
        let Some(signature) = spec.signature else { continue };
        let parsed = syntax::parse(signature);
        let is_one = parsed.diagnostics.is_empty() && parsed.tree.forms().len() == 1;
        let type_atom = read_type(signature);
        assert!(is_one && types::is_function(&type_atom), "{}: {signature} is not a type of functions", spec.name);
        let (parameters, _) = types::function_parts(&type_atom);
        assert_eq!(documentation.parameters.len(), parameters.len(), "{}: {signature}", spec.name);
    }
}

#[test]
fn an_operation_that_no_list_names_is_documented_after_the_others() {
    let facts = documentation_facts("(operations %) (@doc a (@desc \"b\"))", operations(), &Tokenizer::default());
    let names: Vec<String> = facts.iter().map(|fact| fact.children().expect("it has parts")[1].to_string()).collect();
    assert_eq!(names[..4], ["%", "a", "+", "-"]);
    assert_eq!(names.len(), operations().count() + 1);
}

#[test]
fn documented_parameters_are_those_of_the_types() {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.run(&imports(), &mut |_, _| Ok(()));
    for (name, facts) in documented() {
        let arities = arities(&mut session, &name);
        let shown: BTreeSet<usize> = facts.iter().flatten().copied().collect();
        if !arities.is_empty() {
            assert_eq!(shown, arities, "{name}: documented parameters and those of its types");
        }
        let expected = if facts.iter().all(Option::is_none) { 1 } else { shown.len() };
        assert_eq!(facts.len(), expected, "{name}: one fact for each way of calling it");
    }
}

#[test]
fn help_shows_what_is_documented() {
    for name in documented().into_keys() {
        let (printed, last) = run(&format!("{}!(help! {name})", imports()));
        let first = printed.first().expect("help! prints something");
        let kind = ["Function", "Atom"].iter().any(|kind| first.starts_with(&format!("{kind} {name}: ")));
        assert!(kind && last == "[()]", "{name}: {first} {last}");
    }
    let (overview, _) = run("!(help!)");
    let listed: BTreeSet<String> = overview.into_iter().step_by(2).collect();
    assert_eq!(listed, documented_in_library().into_keys().collect());
}

#[test]
fn documentation_of_a_program_comes_before_that_of_the_library() {
    let (printed, _) = run(r#"(@doc if (@desc "mine")) (@doc &self (@desc "my space")) !(help! &self)"#);
    assert_eq!(printed, ["Atom &self: SpaceType my space"]);
    let (_, last) = run(r#"(@doc f (@desc "d") (@params ((@param "p"))) (@return "r")) !(get-doc &self f)"#);
    let parts = r#"(@params ((@param (@type %Undefined%) (@desc "p")))) (@return (@type %Undefined%) (@desc "r"))"#;
    let formal = format!(r#"(@doc-formal (@item f) (@kind function) (@type %Undefined%) (@desc "d") {parts})"#);
    assert_eq!(last, format!("[{formal}]"));
}

/// A line of a table of `docs/compat.md`.
struct Row {
    heading: String,
    cells: Vec<String>,
}

/// The rows of all tables, with the headings they stand under.
fn rows() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compat.md");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut heading = String::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut heading);
        }
        if let Some(row) = line.strip_prefix("| `").and_then(|row| row.strip_suffix(" |")) {
            let cells = format!("`{row}").split(" | ").map(str::to_owned).collect();
            rows.push(Row { heading: heading.clone(), cells });
        }
    }
    rows
}

/// What stands in code in a cell.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The names in the table of names, with what is said about them.
fn table() -> Vec<(String, String)> {
    let rows: Vec<Row> = rows().into_iter().filter(|row| row.heading == "Every name").collect();
    let entries = rows.iter().flat_map(|row| code(&row.cells[0]).into_iter().map(|name| (name, &row.cells[1])));
    let entries: Vec<_> = entries.map(|(name, says)| (name.to_owned(), says.clone())).collect();
    assert!(!entries.is_empty(), "docs/compat.md has no table of names");
    entries
}

#[test]
fn every_name_has_one_row_in_the_table_of_compatibility() {
    let mut listed = BTreeSet::new();
    for (name, says) in table() {
        assert!(["works", "differs", "not yet", "Metroon only"].contains(&says.as_str()), "{name}: {says}");
        assert!(listed.insert(name.clone()), "{name} has two rows");
    }
    let lacking = NOT_SUPPORTED.iter().flat_map(|(_, names)| names.iter().copied()).chain(LACKING);
    let lacking = lacking.chain(BUNDLES.map(|bundle| bundle.name)).map(str::to_owned);
    let unlisted: Vec<_> = library()
        .into_iter()
        .chain(documented().into_keys())
        .chain(lacking)
        .filter(|name| !listed.contains(name))
        .collect();
    assert!(unlisted.is_empty(), "docs/compat.md has no row for {unlisted:?}");
}

#[test]
fn rows_of_the_table_of_compatibility_tell_what_there_is() {
    let documented = documented();
    for (name, says) in table() {
        let is_module = LACKING.contains(&name.as_str()) || BUNDLES.iter().any(|bundle| bundle.name == name);
        let program = if is_module { format!("!(import! &self {name})") } else { format!("!({name} x)") };
        let (_, answer) = run(&program);
        if says == "not yet" {
            assert!(answer.starts_with("[(Error ") && answer.contains("not supported yet"), "{program}: {answer}");
        } else if is_module {
            assert_eq!(answer, "[()]", "{program}");
        } else {
            assert!(documented.contains_key(&name), "{name} is in docs/compat.md and not in the library");
        }
    }
}

#[test]
fn answers_in_the_document_of_compatibility_are_given() {
    let rows: Vec<Row> = rows().into_iter().filter(|row| row.heading != "Every name").collect();
    assert!(!rows.is_empty(), "docs/compat.md shows no answers");
    for Row { cells, .. } in rows {
        let ([program], [answer]) = (&code(&cells[0])[..], &code(&cells[2])[..]) else {
            panic!("a row shows a program, Hyperon's answer and ours: {cells:?}")
        };
        assert_eq!(run(program).1, *answer, "docs/compat.md: {program}");
    }
}

/// What the machine makes of the lines of `corpus/compiled.tsv` about a name.
fn code_for(name: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/compiled.tsv");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let lines = lines.filter(|cells| cells.len() == 4 && cells[0] == name && cells[1] == "compiled");
    let explained = lines.map(|cells| {
        let mut session = Session::new(Box::new(MemoryWorld::default()));
        session.run(&format!("{}{} (= (explained $n) {})", imports(), cells[3], cells[2]), &mut |_, _| Ok(()));
        session.explain("explained", crate::Explained::Code).expect("it has a rule")
    });
    explained.collect()
}

#[test]
fn each_lowering_belongs_to_one_operation_and_is_reached() {
    let special: Vec<_> = operations().filter(|spec| spec.lowering != Lowering::Call).collect();
    for spec in &special {
        let same: Vec<_> =
            special.iter().filter(|other| other.lowering == spec.lowering).map(|spec| spec.name).collect();
        assert_eq!(same, [spec.name], "one lowering, several operations");
        if spec.name.starts_with('_') {
            continue;
        }
        let code = code_for(spec.name);
        let is_reached = match spec.lowering.instruction() {
            Some(instruction) => {
                let is_named = matches!(instruction, "compute" | "native");
                let shows = |line: &str| {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    words.contains(&instruction) && (!is_named || words.contains(&spec.name))
                };
                code.iter().any(|code| code.lines().any(shows))
            }
            None => code.iter().any(|code| !code.contains(&format!("native {}", spec.name))),
        };
        assert!(is_reached, "{}: no line of corpus/compiled.tsv shows {:?}: {code:#?}", spec.name, spec.lowering);
    }
}

#[test]
fn minimal_code_that_calls_a_function_is_explained() {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    let program = "(= (f $x) (+ $x 1)) (= (g $n) (function (chain (eval (f $n)) $y (return $y))))";
    session.run(program, &mut |_, _| Ok(()));
    let code = session.explain("g", crate::Explained::Code).expect("it has a rule");
    assert!(code.contains("load open -> "), "{code}");
}

#[test]
fn functions_that_evaluate_what_they_take_as_it_stands_are_put_in_place() {
    let inlined: Vec<&str> = forms::read_off(&forms(PRELUDE)).iter().map(|form| form.name).collect();
    for name in ["unique", "subtraction", "assert", "assertEqual", "assertAlphaEqualToResultMsg", "assertIncludes"] {
        assert!(inlined.contains(&name), "{name} is not among {inlined:?}");
    }
    // They evaluate nothing that they take, call themselves, or have code of their own.
    for name in ["quote", "noeval", "for-each-in-atom", "switch-minimal", "collapse", "return-on-error"] {
        assert!(!inlined.contains(&name), "{name} is among {inlined:?}");
    }
}

#[test]
fn each_special_form_is_a_word_of_the_library() {
    let prelude = names_of_prelude();
    let documented = documented();
    forms::read_off(&forms(PRELUDE));
    for form in forms::all() {
        let parts = form.parts.iter().map(|(part, _)| *part);
        for name in parts.chain([form.name]) {
            let is_known = prelude.contains(name) || crate::instructions::is_instruction_name(name);
            assert!(is_known && documented.contains_key(name), "{name} is neither an instruction nor in the prelude");
        }
        let facts = &documented[form.name];
        assert!(facts.contains(&Some(form.arity)), "{} takes {} arguments, {facts:?} says", form.name, form.arity);
        assert!(!code_for(form.name).is_empty(), "corpus/compiled.tsv has no line for {}", form.name);
    }
}
