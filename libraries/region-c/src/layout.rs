//! A test that structures have the layout here that the header gives them: both compilers are asked.

use std::fmt::Write as _;
use std::io::Write as _;
use std::mem::offset_of;
use std::process::{Command, Stdio};

use crate::heaps::{Builder, Opener, Region};
use crate::lanes::{Lane, Room, View};
use crate::leaving::Report;
use crate::lifetimes::{FrozenCounts, Statistics};
use crate::making::Entry;
use crate::marks::Mark;

/// Statements in C about a structure, which hold if its size, its alignment and the places of its fields are those in Rust.
macro_rules! layout {
    ($text:ident, $in_c:literal, $type:ty, $($field:ident),*) => {
        must(&mut $text, &format!("sizeof({}) == {}", $in_c, size_of::<$type>()));
        must(&mut $text, &format!("MNR_ALIGN({}) == {}", $in_c, align_of::<$type>()));
        $(must(&mut $text, &format!("offsetof({}, {}) == {}", $in_c, stringify!($field), offset_of!($type, $field)));)*
    };
}

fn must(text: &mut String, condition: &str) {
    let _ = writeln!(text, "MNR_MUST({condition}, \"{condition}\");");
}

fn statements() -> String {
    let mut text = String::from(
        "#include <metroon_region.h>\n#ifdef __cplusplus\n#define MNR_MUST static_assert\n#define MNR_ALIGN alignof\n\
         #else\n#define MNR_MUST _Static_assert\n#define MNR_ALIGN _Alignof\n#endif\n",
    );
    layout!(text, "mnr_region", Region, heap, bits);
    layout!(text, "mnr_entry", Entry, key, value);
    layout!(text, "mnr_view", View, words, length);
    layout!(text, "struct mnr_room", Room, cursor, end);
    layout!(text, "struct mnr_lane", Lane, ticket, words, rooms, view, heap, bits, is_open, starts);
    layout!(text, "mnr_builder", Builder, lane, ticket, region);
    layout!(text, "mnr_opener", Opener, lane, heap);
    layout!(text, "mnr_mark", Mark, region, serial, places, check);
    layout!(text, "mnr_report", Report, path, cells, cells_in_vain);
    layout!(
        text,
        "mnr_statistics",
        Statistics,
        cells_handed_out,
        cells_copied,
        cells_left,
        chunks,
        chunks_free,
        bytes_live,
        bytes_live_peak,
        bytes_held,
        bytes_beside,
        regions,
        splices,
        escapes_spliced,
        escapes_copied,
        escapes_copied_by_map,
        limit_failures,
        cells_ahead,
        tethers
    );
    layout!(text, "mnr_frozen_counts", FrozenCounts, regions, tethers, put_off);
    text
}

/// What a compiler says of a text. `None` if there is no such compiler.
fn compile(compiler: &str, language: &str, standard: &str, text: &str) -> Option<(bool, String)> {
    let mut command = Command::new(compiler);
    command.args(["-x", language, standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I"]);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/include")).arg("-");
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    Some((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

const COMPILERS: [(&str, &str, &str); 2] = [("cc", "c", "-std=c11"), ("c++", "c++", "-std=c++11")];

#[test]
fn the_header_has_the_same_layout() {
    for (compiler, language, standard) in COMPILERS {
        let Some((is_right, said)) = compile(compiler, language, standard, &statements()) else {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "there is no {compiler}");
            continue;
        };
        assert!(is_right, "{compiler}: {said}");
        let wrong = statements() + "MNR_MUST(sizeof(mnr_view) == 1, \"it is larger\");\n";
        let said = compile(compiler, language, standard, &wrong).map(|(is_right, _)| is_right);
        assert_eq!(said, Some(false), "{compiler} takes a statement that does not hold");
    }
}
