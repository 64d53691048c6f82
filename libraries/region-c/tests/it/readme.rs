//! The commands of README.md work, in order and in one shell.

use std::process::Command;

use crate::tools;

/// The blocks of a document that are for a shell.
fn blocks(document: &str) -> Vec<&str> {
    let fenced = document.split("```").skip(1).step_by(2);
    fenced.filter_map(|block| block.strip_prefix("sh\n")).collect()
}

#[test]
fn its_commands_work() {
    let tools = [("gcc", "gcc"), ("pkg-config", "pkg-config"), ("sed", "sed")];
    if !tools.iter().all(|(tool, package)| tools::has(tool, package)) {
        return;
    }
    let folder = tools::folder("readme");
    let commands = blocks(include_str!("../../README.md")).concat();
    // What is built goes where this test may write.
    let commands = commands.replace("$PWD/target/c", &folder.join("c").display().to_string());
    let commands = commands.replace("target/release/", "$CARGO_TARGET_DIR/release/");
    let mut shell = Command::new("sh");
    shell.current_dir(tools::package().join("../..")).args(["-e", "-u", "-c", &commands]);
    // HeapEntry from one run to the next, and not the folder that the cargo which runs this has locked.
    shell.env("CARGO_TARGET_DIR", folder.with_file_name("readme-target")).env_remove("PKG_CONFIG_PATH");
    let printed = tools::expect(&mut shell);
    assert!(printed.contains("sum of 1000 elements: 499500"), "{printed}");
    assert!(printed.contains("reader 3, without a tether: 499500"), "{printed}");
}

/// The program in C prints what the page says.
#[test]
fn its_program_prints_what_it_says() {
    if !tools::has("gcc", "gcc") {
        return;
    }
    let document = include_str!("../../README.md");
    let block = |language: &str| document.split(language).nth(1).and_then(|rest| rest.split("```").next());
    let (source, printed) = (block("```c\n").expect("a program"), block("```text\n").expect("what it prints"));
    let folder = tools::folder("readme-program");
    let (file, program) = (folder.join("requests.c"), folder.join("requests"));
    std::fs::write(&file, source).expect("a file can be written");
    let mut compiler = Command::new("gcc");
    compiler.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-I"]);
    compiler.arg(tools::package().join("include")).arg(&file).arg(tools::libraries().join("libmetroon_region.a"));
    tools::expect(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    assert_eq!(tools::expect(&mut Command::new(program)), printed);
}

#[test]
fn the_version_of_the_package_is_there() {
    let version = concat!("@version@|", env!("CARGO_PKG_VERSION"), "|");
    assert!(include_str!("../../README.md").contains(version), "{version}");
}
