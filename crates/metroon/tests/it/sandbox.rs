//! What a program may reach holds whatever names it uses, and whatever another program does to the links on the way meanwhile.

use metroon::world::{FileId, OpenMode, WorldError};
use metroon::{Permissions, PermittedWorld, SystemWorld, World};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const READ: OpenMode = OpenMode { read: true, write: false, create: false, append: false, truncate: false };
const WRITE: OpenMode = OpenMode { read: false, write: true, create: true, append: false, truncate: true };
const APPEND: OpenMode = OpenMode { read: false, write: false, create: true, append: true, truncate: false };

/// A folder with `inside`, which is permitted, and `outside`, which is not.
struct Sandbox(PathBuf);

impl Sandbox {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("metroon-sandbox-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        for folder in ["inside/folder", "outside/folder"] {
            fs::create_dir_all(path.join(folder)).expect("a folder can be made");
        }
        let at = fs::canonicalize(&path).expect("it is there");
        for place in ["inside", "outside"] {
            for file in ["file", "folder/file"] {
                fs::write(at.join(place).join(file), place).expect("a file can be written");
            }
            fs::write(at.join(place).join("module.metta"), format!("({place})")).expect("a file can be written");
        }
        Self(at)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("it is UTF-8").to_owned()
    }

    /// A world whose program may read and write `inside`, and import what lies beside `inside/program.metta`.
    fn world(&self) -> PermittedWorld<SystemWorld> {
        let inside = self.path("inside");
        let permissions = Permissions::nothing()
            .read(&inside)
            .and_then(|permissions| permissions.write(&inside))
            .and_then(|permissions| permissions.program(self.path("inside/program.metta")));
        PermittedWorld::new(SystemWorld::default(), permissions.expect("the folders are there"))
    }

    /// What lies outside, by name.
    fn outside(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.0.join("outside")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("it is there") {
                let path = entry.expect("it can be read").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push((path.clone(), fs::read(&path).expect("it can be read")));
                }
            }
        }
        found.sort();
        found
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn read(world: &mut dyn World, path: &str) -> Result<Vec<u8>, WorldError> {
    let file = world.open_file(path, READ)?;
    let bytes = world.read_file(file, 100);
    world.close_file(file).expect("it is open");
    bytes
}

fn write(world: &mut dyn World, path: &str, mode: OpenMode) -> Result<(), WorldError> {
    let file: FileId = world.open_file(path, mode)?;
    let written = world.write_file(file, b"written");
    world.close_file(file).expect("it is open");
    written
}

/// Puts something in the place of a name, at once.
fn put(folder: &Path, name: &str, make: impl FnOnce(&Path)) {
    let new = folder.join(format!(".{name}.new"));
    let _ = fs::remove_file(&new);
    make(&new);
    let _ = fs::rename(&new, folder.join(name));
}

/// Exchanges a file with a link to one outside, and a folder with a link to one, again and again until it is told to end.
fn exchange(at: &Path, ends: &AtomicBool) {
    let inside = at.join("inside");
    while !ends.load(Ordering::Relaxed) {
        put(&inside, "swapped", |new| symlink("../outside/file", new).expect("a link is made"));
        put(&inside, "swapped", |new| fs::write(new, "inside").expect("a file is written"));
        put(&inside, "swapped.metta", |new| symlink("../outside/module.metta", new).expect("a link is made"));
        put(&inside, "swapped.metta", |new| fs::write(new, "(inside)").expect("a file is written"));
        let folder = inside.join("swap");
        put(&inside, "swap", |new| symlink("../outside/folder", new).expect("a link is made"));
        fs::remove_file(&folder).expect("it is a link");
        fs::rename(inside.join("folder"), &folder).expect("it is there");
        fs::rename(&folder, inside.join("folder")).expect("it is there");
    }
}

/// Ends the exchanging, also if the test fails.
struct Ending<'e>(&'e AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The reads and writes of the test below; `METROON_SANDBOX_ROUNDS` makes it many times as many.
const READS: u64 = 3_000;
const WRITES: u64 = 2_000;

#[test]
fn no_link_that_is_exchanged_meanwhile_leads_out() {
    let rounds = std::env::var("METROON_SANDBOX_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    let at = Sandbox::new("exchanged");
    let before = at.outside();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let exchanging = scope.spawn(|| exchange(&at.0, &ends));
        let ending = Ending(&ends);
        let mut world = at.world();
        let (mut reads, mut writes) = ([0, 0], [0, 0]);
        for _ in 0..READS * rounds {
            for (path, is_source) in [("swapped", false), ("swap/file", false), ("swapped.metta", true)] {
                let path = at.path(&format!("inside/{path}"));
                let read = if is_source {
                    world.read_source(&path).map(|bytes| bytes.to_vec())
                } else {
                    read(&mut world, &path)
                };
                reads[usize::from(read.is_ok())] += 1;
                if let Ok(read) = read {
                    // A file of the folder may just have been made anew by a write.
                    assert!(!read.windows(7).any(|part| part == b"outside"), "{}", String::from_utf8_lossy(&read));
                }
            }
        }
        for number in 0..WRITES * rounds {
            let mode = if number.is_multiple_of(3) { APPEND } else { WRITE };
            for path in ["swapped", "swap/file", "swap/new"] {
                let written = write(&mut world, &at.path(&format!("inside/{path}")), mode);
                writes[usize::from(written.is_ok())] += 1;
            }
        }
        drop(ending);
        exchanging.join().expect("links were exchanged to the end");
        // Both happened, or nothing was tried.
        assert!(reads.iter().chain(&writes).all(|count| *count > 0), "{reads:?} {writes:?}");
    });
    assert_eq!(at.outside(), before);
}

#[test]
fn no_name_leads_out() {
    let at = Sandbox::new("names");
    let inside = at.0.join("inside");
    let secret = at.path("outside/file");
    symlink("../outside", inside.join("up")).expect("a link is made");
    symlink(&secret, inside.join("absolute")).expect("a link is made");
    symlink("absolute", inside.join("twice")).expect("a link is made");
    symlink("../outside/new", inside.join("dangling")).expect("a link is made");
    symlink("/proc/self/root", inside.join("root")).expect("a link is made");
    symlink("/dev/fd", inside.join("numbers")).expect("a link is made");
    symlink("loop", inside.join("loop")).expect("a link is made");
    // A file that this process has open is known by a number.
    let open = fs::File::open(&secret).expect("it is there");
    let number = std::os::fd::AsRawFd::as_raw_fd(&open);
    let from_inside = |name: &str| at.path(&format!("inside/{name}"));
    let mut names: Vec<String> = [
        "../outside/file",
        "folder/../../outside/file",
        "missing/../../outside/file",
        "up/file",
        "up/../outside/file",
        "absolute",
        "twice",
        "dangling",
        "loop",
        "root/etc/hostname",
        &format!("numbers/{number}"),
        "//../outside/file",
        "./../outside/./file",
        "../outside/file/",
        "absolute/",
        "../outside/file\0",
        "../INSIDE/file",
        "../Outside/file",
    ]
    .iter()
    .map(|name| from_inside(name))
    .collect();
    names.extend([secret.clone(), at.path("outside/new"), String::new(), "\0".to_owned()]);
    names.extend([format!("/proc/self/root{secret}"), format!("/proc/self/fd/{number}"), format!("/dev/fd/{number}")]);
    names.extend([format!("/proc/self/cwd/../../../..{secret}"), format!("/proc/{}/fd/{number}", std::process::id())]);
    names.extend(
        ["/dev/null", "/dev/zero", "/dev/mem", "/dev/tty", "/proc/self/environ", "/proc/self/mem", "/"]
            .map(str::to_owned),
    );
    names.extend([format!("//{secret}"), format!("{}/../../outside/file", from_inside("file"))]);
    let before = at.outside();
    let mut world = at.world();
    for name in &names {
        let refused = |outcome: Result<(), WorldError>, what: &str| {
            assert!(matches!(outcome, Err(WorldError::NotPermitted { .. })), "{what} {name:?}: {outcome:?}");
        };
        refused(read(&mut world, name).map(drop), "reading");
        refused(write(&mut world, name, WRITE), "writing");
        refused(write(&mut world, name, APPEND), "appending to");
        refused(world.read_source(name).map(drop), "importing");
        refused(world.has_source(name).map(drop), "looking for");
    }
    assert_eq!(at.outside(), before);
    drop(open);
}

#[test]
fn names_that_stay_inside_are_opened() {
    let at = Sandbox::new("inside");
    let inside = at.0.join("inside");
    symlink("folder/file", inside.join("link")).expect("a link is made");
    symlink(&inside, inside.join("self")).expect("a link is made");
    let mut world = at.world();
    for name in ["file", "link", "self/self/link", "folder/../file", "missing/../file", "./folder/./file", "//file"] {
        let path = at.path(&format!("inside/{name}"));
        assert_eq!(read(&mut world, &path), Ok(b"inside".to_vec()), "{name}");
        assert_eq!(world.has_source(&path), Ok(true), "{name}");
        assert_eq!(world.read_source(&path).map(|bytes| bytes.to_vec()), Ok(b"inside".to_vec()), "{name}");
    }
    for (name, is_there) in
        [("folder", false), ("none", false), ("file/below", false), ("file/", false), ("none/none", false)]
    {
        assert_eq!(world.has_source(&at.path(&format!("inside/{name}"))), Ok(is_there), "{name}");
    }
    assert_eq!(write(&mut world, &at.path("inside/self/new"), WRITE), Ok(()));
    assert_eq!(fs::read(inside.join("new")).expect("it was written"), b"written");
    // What is wrong with it is said as without permissions.
    for (name, word) in [("folder", "directory"), ("file/below", "ot a directory"), ("file/", "ot a directory")] {
        let error = read(&mut world, &at.path(&format!("inside/{name}"))).expect_err(name).to_string();
        assert!(error.contains(word), "{name}: {error}");
    }
    // A hard link is the file itself.
    fs::hard_link(at.0.join("outside/file"), inside.join("hard")).expect("a link is made");
    assert_eq!(read(&mut world, &at.path("inside/hard")), Ok(b"outside".to_vec()));
}

#[test]
fn what_could_wait_for_ever_is_refused_at_once() {
    let at = Sandbox::new("waiting");
    let pipe = at.path("inside/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()), "a pipe can be made");
    let socket = at.path("inside/socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket can be made");
    let began = Instant::now();
    let worlds: [&mut dyn World; 2] = [&mut at.world(), &mut SystemWorld::default()];
    for world in worlds {
        for (path, word) in [(&pipe, "pipe"), (&socket, "socket")] {
            for mode in [READ, WRITE, APPEND, OpenMode { read: true, ..WRITE }] {
                let error = world.open_file(path, mode).expect_err("it is no file").to_string();
                assert!(error.contains(word) && error.contains("not a file"), "{error}");
            }
            assert_eq!(world.has_source(path), Ok(false));
        }
    }
    let error = at.world().read_source(&pipe).expect_err("it is no file").to_string();
    assert!(error.contains("named pipe"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(10), "nothing waits");
}
