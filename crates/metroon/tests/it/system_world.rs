//! The machine as a world: its files, clock, randomness and environment, and that a world in memory is like it.

use metroon::world::{FileId, OpenMode, READ_BYTES_MAX, WorldError};
use metroon::{Engine, MemoryWorld, SystemWorld, World};
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// A folder for one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("metroon-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder can be made");
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("it is UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(letters: &str) -> OpenMode {
    let has = |letter| letters.contains(letter);
    OpenMode { read: has('r'), write: has('w'), create: has('c'), append: has('a'), truncate: has('t') }
}

/// What can be seen of a world by doing things with one file: the same for both worlds.
fn played(world: &mut dyn World, path: &str, letters: &str) -> Vec<String> {
    let opened = world.open_file(path, mode(letters));
    let mut seen = vec![opened.is_ok().to_string()];
    let Ok(file) = opened else { return seen };
    let mut note = |text: Result<String, WorldError>| seen.push(text.unwrap_or_else(|_| "refused".to_owned()));
    let read = |world: &mut dyn World| world.read_file(file, 100).map(|bytes| format!("{bytes:?}"));
    let done = |result: Result<(), WorldError>| result.map(|()| "done".to_owned());
    note(read(world));
    note(done(world.write_file(file, b"abc")));
    note(world.file_size(file).map(|size| size.to_string()));
    note(done(world.seek_file(file, 1)));
    note(world.read_file(file, 2).map(|bytes| format!("{bytes:?}")));
    note(done(world.write_file(file, b"X")));
    note(done(world.seek_file(file, 20)));
    note(read(world));
    note(done(world.write_file(file, b"end")));
    note(done(world.seek_file(file, u64::MAX)));
    note(done(world.seek_file(file, 0)));
    note(read(world));
    note(done(world.close_file(file)));
    note(read(world));
    note(done(world.close_file(file)));
    seen
}

#[test]
fn both_worlds_treat_a_file_alike_in_every_mode() {
    let folder = Folder::new("modes");
    for letters in 0..32_u32 {
        let letters: String =
            "rwcat".chars().enumerate().filter(|(bit, _)| letters >> bit & 1 == 1).map(|(_, c)| c).collect();
        for content in [None, Some("0123456789")] {
            let path = folder.path("file");
            let mut memory = MemoryWorld::default();
            let _ = fs::remove_file(&path);
            if let Some(content) = content {
                fs::write(&path, content).expect("a file can be written");
                memory = memory.with_source(&path, content);
            }
            let output = memory.output();
            let seen = [played(&mut SystemWorld::default(), &path, &letters), played(&mut memory, &path, &letters)];
            assert_eq!(seen[0], seen[1], "{letters} {content:?}");
            assert_eq!(fs::read(&path).ok(), output.file(&path), "{letters} {content:?}");
        }
    }
}

#[test]
fn what_cannot_be_opened_or_read_is_named() {
    let folder = Folder::new("errors");
    let mut world = SystemWorld::default();
    let (missing, inside) = (folder.path("missing"), folder.path("missing/inside"));
    assert_eq!(world.open_file(&missing, mode("r")), Err(WorldError::NotFound { path: missing }));
    assert_eq!(world.open_file(&inside, mode("wc")), Err(WorldError::NotFound { path: inside }));
    let directory = folder.path("");
    for letters in ["r", "rw", "wc"] {
        let error = world.open_file(&directory, mode(letters)).expect_err("it is a directory");
        assert!(matches!(&error, WorldError::NotOpened { path, .. } if *path == directory), "{error}");
        assert!(error.to_string().contains("directory"), "{error}");
    }
    assert!(matches!(world.open_file("a\0b", mode("r")), Err(WorldError::NotOpened { .. })));
    let path = folder.path("file");
    assert_eq!(world.open_file(&path, mode("rwc")), Ok(FileId(1)), "what failed has no id");
    assert_eq!(
        world.read_file(FileId(1), READ_BYTES_MAX + 1),
        Err(WorldError::ReadTooLarge { bytes: READ_BYTES_MAX + 1 })
    );
    for file in [FileId(0), FileId(2), FileId(u64::MAX)] {
        assert_eq!(world.read_file(file, 1), Err(WorldError::FileNotOpen { file }));
        assert_eq!(world.write_file(file, b""), Err(WorldError::FileNotOpen { file }));
        assert_eq!(world.file_size(file), Err(WorldError::FileNotOpen { file }));
        assert_eq!(world.seek_file(file, 0), Err(WorldError::FileNotOpen { file }));
        assert_eq!(world.close_file(file), Err(WorldError::FileNotOpen { file }));
    }
    if cfg!(target_os = "linux") {
        let full = world.open_file("/dev/full", mode("w")).expect("Linux has it");
        let error = world.write_file(full, b"x").expect_err("it is always full");
        assert!(matches!(&error, WorldError::Unwritable { path, .. } if path == "/dev/full"), "{error}");
    }
}

#[test]
fn the_clock_goes_on_and_random_bits_differ() {
    let mut world = SystemWorld::default();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    let (first, second) = (world.now().expect("there is a clock"), world.now().expect("there is a clock"));
    assert!(second >= first && (first - since.as_nanos() as i64).abs() < 60_000_000_000, "{first} {second}");
    let mut drawn: Vec<u64> = (0..100).map(|_| world.random().expect("there are numbers")).collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 100);
}

#[test]
fn variables_and_paths_are_those_of_the_process() {
    let mut world = SystemWorld::default();
    assert_eq!(world.environment("CARGO_PKG_NAME"), Ok(Some("metroon".to_owned())));
    for name in ["METROON_NO_SUCH_VARIABLE", "", "A=B", "A\0B"] {
        assert_eq!(world.environment(name), Ok(None), "{name:?}");
    }
    let here = std::env::current_dir().expect("there is one").to_str().expect("it is UTF-8").to_owned();
    assert_eq!(world.absolute_path("a/./b/../c"), Ok(format!("{here}/a/c")));
    assert_eq!(world.absolute_path("/a//b/.."), Ok("/a".to_owned()));
    assert_eq!(world.absolute_path("../../../../../../../../../.."), Ok("/".to_owned()));
}

/// What a program on the machine comes to.
fn answers(text: &str) -> Vec<String> {
    let mut engine = Engine::new(SystemWorld::default());
    let mut answers = Vec::new();
    engine.run_text(text, &mut |_, answer| {
        answers.push(answer.results[0].to_string());
        Ok(())
    });
    answers
}

#[test]
fn a_program_reads_what_is_no_text_as_an_error() {
    let folder = Folder::new("program");
    let path = folder.path("bytes");
    fs::write(&path, b"ab\xFF\xFEcd").expect("a file can be written");
    let text = format!("!(import! &self fileio) !(bind! &f (file-open! \"{path}\" \"r\"))");
    let read = answers(&format!("{text} !(file-read-exact! &f 2) !(file-read-to-string! &f)"));
    assert_eq!(read[2], "\"ab\"");
    let error =
        "(Error (file-read-to-string! FileHandle-1) Failed to read file contents: stream did not contain valid UTF-8)";
    assert_eq!(read[3], error);
    let cut = answers(&format!("{text} !(file-read-exact! &f 3)"));
    assert!(cut[2].contains("Read exact failed: invalid utf-8 sequence of 1 bytes from index 2"), "{}", cut[2]);
    let folder = answers(&format!("!(import! &self fileio) !(file-open! \"{}\" \"r\")", folder.path("")));
    assert!(folder[1].contains("it is a directory"), "{}", folder[1]);
}

#[test]
fn numbers_from_the_machine_lie_in_their_range() {
    let text = "!(import! &self random) !(let $n (random-int &rng -3 3) (and (<= -3 $n) (< $n 3)))
                !(== (random-int &rng 0 9223372036854775807) (random-int &rng 0 9223372036854775807))";
    assert_eq!(answers(text), ["()", "True", "False"]);
}
