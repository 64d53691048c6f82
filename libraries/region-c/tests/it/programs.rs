//! Programs in C: each is built with the static and with the shared library, and with sanitizers, and prints the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools;

const STRICT: &[&str] = &["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-pedantic"];

/// The ways to build: name, options of the compiler, and whether the shared library is taken.
const WAYS: &[(&str, &[&str], bool)] = &[
    ("static", &["-O2"], false),
    ("shared", &["-O2"], true),
    ("address", &["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"], false),
    ("thread", &["-O1", "-g", "-fsanitize=thread"], false),
];

/// Builds a program; gives its path.
fn built(source: &Path, folder: &Path, (way, options, shared): &(&str, &[&str], bool)) -> PathBuf {
    let (libraries, program) = (tools::libraries(), folder.join(way));
    let mut compiler = Command::new("gcc");
    compiler.args(STRICT).args(*options).arg("-I").arg(tools::package().join("include")).arg(source);
    if *shared {
        compiler.arg("-L").arg(&libraries).arg("-lmetroon_region");
    } else {
        compiler.arg(libraries.join("libmetroon_region.a"));
    }
    tools::expect(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    program
}

/// Whether programs with a sanitizer can be built and run here.
fn can(way: &str, options: &[&str], folder: &Path) -> bool {
    let (source, program) = (folder.join("empty.c"), folder.join("empty"));
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("a file can be written");
    let works = |command: &mut Command| tools::run(command).is_some_and(|output| output.status.success());
    let is_there = works(Command::new("gcc").args(options).arg(&source).arg("-o").arg(&program));
    (is_there && works(&mut Command::new(&program)))
        || tools::skip(&format!(
            "gcc builds nothing with the sanitizer `{way}`: libasan, libubsan or libtsan is missing"
        ))
}

/// Builds and runs a program in every way. Gives what it prints.
fn in_every_way(source: &str, name: &str) -> Option<String> {
    if !tools::has("gcc", "gcc") {
        return None;
    }
    let (folder, mut printed) = (tools::folder(name), None::<String>);
    for way in WAYS {
        if !can(way.0, way.1, &folder) {
            continue;
        }
        let program = built(&tools::package().join(source), &folder, way);
        // Cargo has set it to folders of which one may have an older library.
        let text = tools::expect(Command::new(program).env("LD_LIBRARY_PATH", tools::libraries()));
        assert_eq!(*printed.get_or_insert(text.clone()), text, "{source}, {}", way.0);
    }
    printed
}

#[test]
fn the_list_program() {
    let Some(printed) = in_every_way("examples/list.c", "list") else { return };
    let sums = printed.matches("499500").count();
    assert_eq!(sums, 3, "{printed}");
    assert!(printed.contains("closed twice: the region was freed"), "{printed}");
}

#[test]
fn the_readers_program() {
    let Some(printed) = in_every_way("examples/readers.c", "readers") else { return };
    assert_eq!(printed.matches("499500 in each of 200 rounds").count(), 4, "{printed}");
}

/// Double closes, foreign handles, use after close, limits, sizes: each has its error, and no sanitizer has anything to say.
#[test]
fn misuse_has_errors() {
    let Some(printed) = in_every_way("tests/misuse.c", "misuse") else { return };
    assert_eq!(printed, "every misuse has its error\n");
}

/// What the inline functions make, read, open and close is what the calls do.
#[test]
fn inline_functions_do_what_calls_do() {
    let Some(printed) = in_every_way("tests/inline.c", "inline") else { return };
    assert_eq!(printed, "the inline functions do what the calls do\n");
}

/// Shared maps and graphs hold what tables in C hold.
#[test]
fn shared_maps_and_graphs_are_what_tables_say() {
    let Some(printed) = in_every_way("tests/shared.c", "shared") else { return };
    assert_eq!(printed, "shared maps and graphs are what the tables say\n");
}

/// Every function with references, regions, marks and tethers that are old or made up: each call ends, and with the same status in
/// every way of building.
#[test]
fn calls_with_forged_references_end() {
    let Some(printed) = in_every_way("tests/stress.c", "stress") else { return };
    assert!(printed.contains(" calls, of which "), "{printed}");
}

/// The header is one of C++ too.
#[test]
fn the_header_is_cpp() {
    if !tools::has("g++", "g++") {
        return;
    }
    let source = tools::folder("cpp").join("empty.cpp");
    std::fs::write(&source, "#include <metroon_region.h>\nint main() { return mnr_tag(mnr_immediate(2, 3)) - 2; }\n")
        .expect("a file can be written");
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I"]);
    tools::expect(compiler.arg(tools::package().join("include")).arg(source));
}
