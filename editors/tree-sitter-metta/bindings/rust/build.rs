//! Makes the parser of the grammar and compiles it: what is generated is not kept with the sources.

use std::path::Path;

use tree_sitter_generate::{OptLevel, generate_parser_in_directory};

/// The version of the format of parse tables: that of Tree-sitter 0.25 and later.
const ABI_VERSION: usize = 15;

fn main() {
    println!("cargo::rerun-if-changed=grammar.js");
    println!("cargo::rerun-if-changed=tree-sitter.json");
    let folder = std::env::var_os("OUT_DIR").expect("Cargo names the folder for what is generated");
    let folder = Path::new(&folder);
    let mut remarks = Vec::new();
    let generated = generate_parser_in_directory(
        ".",
        Some(folder),
        Some("grammar.js"),
        ABI_VERSION,
        None,
        Some("native"),
        true,
        OptLevel::default(),
        &mut remarks,
    );
    if let Err(error) = generated {
        panic!("grammar.js: {error}");
    }
    assert!(remarks.is_empty(), "grammar.js: {remarks:?}");
    cc::Build::new().include(folder).file(folder.join("parser.c")).std("c11").compile("tree-sitter-metta");
}
