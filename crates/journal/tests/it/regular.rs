//! Files that are no files, locks that are no locks: an error at once, and nothing of others changed.

use crate::folder::Folder;
use journal::{
    Access, Directory, Disk, Durability, FolderLock, Journal, LockError, Mapping, Options, Reader, SingleFile,
    open_regular, read_regular,
};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const SEGMENT: &str = "00000000000000000000.segment";

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo can be run");
    assert!(made.success());
}

fn folder() -> (Folder, PathBuf) {
    let folder = Folder::new();
    fs::create_dir_all(folder.path()).unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}

#[test]
fn a_pipe_is_not_waited_for() {
    let (_folder, path) = folder();
    let name = path.join(SEGMENT);
    pipe(&name);
    let expected = "it is a named pipe, not a regular file";
    for access in [Access::Read, Access::Write] {
        assert_eq!(open_regular(&name, access).unwrap_err().to_string(), expected);
        assert_eq!(Directory::open(&path).unwrap().open(SEGMENT, access).err().unwrap().to_string(), expected);
    }
    assert_eq!(read_regular(&name, 10).unwrap_err().to_string(), expected);
    assert_eq!(Mapping::open(&name).unwrap_err().to_string(), expected);
    assert!(SingleFile::open(&name).unwrap_err().to_string().ends_with(expected));
    let disk: Arc<dyn Disk> = Arc::new(Directory::open(&path).unwrap());
    assert!(Reader::from_frame(disk.clone(), 0).unwrap_err().to_string().contains(expected));
    assert!(Journal::open(disk, Options::default()).unwrap_err().to_string().contains(expected));
    assert_eq!(open_regular("/dev/null", Access::Read).unwrap_err().to_string(), "it is a device, not a regular file");
}

#[test]
fn a_file_is_read_up_to_a_limit() {
    let (_folder, path) = folder();
    let name = path.join("file");
    fs::write(&name, "0123456789").unwrap();
    assert_eq!(read_regular(&name, 10).unwrap(), b"0123456789");
    assert!(read_regular(&name, 9).unwrap_err().to_string().contains("longer than 9 bytes"));
    // Three gigabytes that take no room on the disk.
    fs::File::options().write(true).open(&name).unwrap().set_len(3 << 30).unwrap();
    assert!(read_regular(&name, 4096).unwrap_err().to_string().contains("longer than 4096 bytes"));
}

#[test]
fn a_segment_is_made_beside_what_has_its_name_and_not_through_it() {
    let (_folder, path) = folder();
    fs::write(path.join("mine"), "precious").unwrap();
    symlink("mine", path.join(format!("{SEGMENT}.new"))).unwrap();
    let directory = Directory::open(&path).unwrap();
    directory.create(&format!("{SEGMENT}.new")).unwrap().write_full(0, b"other").unwrap();
    assert_eq!(fs::read_to_string(path.join("mine")).unwrap(), "precious");
    directory.remove(&format!("{SEGMENT}.new")).unwrap();
    let (journal, _) = Journal::open(Arc::new(directory), Options::default()).unwrap();
    journal.append(b"one", Durability::Fsync).unwrap();
}

#[test]
fn a_lock_names_its_holder_and_ends_with_it() {
    let (_folder, path) = folder();
    let lock = FolderLock::take(&path, "LOCK").unwrap();
    assert!(lock.is_of_folder());
    let process = std::process::id();
    assert_eq!(fs::read_to_string(path.join("LOCK")).unwrap(), format!("{process}\n"));
    let is_held = |found: Result<FolderLock, LockError>| matches!(found, Err(LockError::Held { process: Some(number) }) if number == process);
    assert!(is_held(FolderLock::take(&path, "LOCK")));
    drop(lock);
    FolderLock::take(&path, "LOCK").unwrap();
}

#[test]
fn a_lock_holds_when_its_file_is_taken_away_or_exchanged() {
    let (_folder, path) = folder();
    let _lock = FolderLock::take(&path, "LOCK").unwrap();
    fs::remove_file(path.join("LOCK")).unwrap();
    assert!(matches!(FolderLock::take(&path, "LOCK"), Err(LockError::Held { process: None })));
    fs::write(path.join("LOCK"), "").unwrap();
    assert!(matches!(FolderLock::take(&path, "LOCK"), Err(LockError::Held { process: None })));
    fs::rename(&path, path.with_extension("moved")).unwrap();
    let moved = FolderLock::take(&path.with_extension("moved"), "LOCK");
    assert!(matches!(moved, Err(LockError::Held { .. })));
    fs::rename(path.with_extension("moved"), &path).unwrap();
}

#[test]
fn what_is_not_a_lock_is_left_as_it_is() {
    let (_folder, path) = folder();
    let (lock, mine) = (path.join("LOCK"), path.join("mine"));
    fs::write(&mine, "precious").unwrap();
    let refused = |what: &str| {
        let error = FolderLock::take(&path, "LOCK").unwrap_err();
        assert!(matches!(&error, LockError::Foreign { path, .. } if *path == lock), "{error}");
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(fs::read_to_string(&mine).unwrap(), "precious");
        fs::remove_file(&lock).unwrap();
    };
    symlink("mine", &lock).unwrap();
    refused("a symbolic link");
    symlink("not-there", &lock).unwrap();
    refused("a symbolic link");
    assert!(!path.join("not-there").exists());
    fs::hard_link(&mine, &lock).unwrap();
    refused("something other than the number of a process");
    pipe(&lock);
    refused("a named pipe");
    fs::write(&lock, "123456789012345678901234567890").unwrap();
    refused("something other than");
}

#[test]
fn what_a_process_leaves_in_its_lock_when_it_dies_does_not_hold_the_next() {
    let (_folder, path) = folder();
    let lock = path.join("LOCK");
    // Nothing, a number, a number that is cut off, and what a system that crashed has not written yet.
    for left in ["", "123\n", "12", "\0\0\0\0"] {
        fs::write(&lock, left).unwrap();
        let taken = FolderLock::take(&path, "LOCK").unwrap();
        assert_eq!(fs::read_to_string(&lock).unwrap(), format!("{}\n", std::process::id()), "{left:?}");
        drop(taken);
    }
}
