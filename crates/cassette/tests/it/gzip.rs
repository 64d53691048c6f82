//! Forms in gzip: written by name, read by content, and said to be broken if they are.

use crate::exchanges::{Folder, of_the_report, with_everything};
use cassette::{Cassette, Content, Form, FormError, Note, ReadOptions, SealOptions};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::path::Path;

fn content() -> Content {
    Content { exchanges: vec![with_everything(0), of_the_report(1)], meta: vec![Note::new("name", "a")] }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_form_may_be_in_gzip() {
    let folder = Folder::new();
    for (name, form) in [("a.json.gz", Form::Json), ("a.mp.GZ", Form::MessagePack), ("a.txt.gz", Form::Text)] {
        assert_eq!(Form::of_name(Path::new(name)), form);
        let path = folder.join(name);
        content().write(&path, SealOptions::default().keep_secrets()).unwrap();
        assert!(cassette::is_gzip(&path).unwrap(), "{name}");
        assert_eq!(Content::read(&path).unwrap(), content(), "{name}");
        // It is told by its content, whatever it is called, and a name without the ending is not compressed.
        let renamed = folder.join("renamed.json");
        fs::rename(&path, &renamed).unwrap();
        let (opened, found) = Cassette::open_any(&renamed).unwrap();
        assert_eq!((opened.len(), found), (2, form), "{name}");
        content().write(&renamed, SealOptions::default().keep_secrets()).unwrap();
        assert!(!cassette::is_gzip(&renamed).unwrap(), "{name}");
    }
}

#[test]
fn equal_contents_are_equal_files() {
    let folder = Folder::new();
    let write = |name: &str| {
        content().write(folder.join(name), SealOptions::default().keep_secrets()).unwrap();
        fs::read(folder.join(name)).unwrap()
    };
    assert_eq!(write("a.json.gz"), write("b.json.gz"));
}

/// As `cat` puts two files together, and what a cassette is when somebody else has compressed it.
#[test]
fn members_are_joined_and_a_cassette_may_be_within() {
    let folder = Folder::new();
    let json = content().to_json(true).unwrap();
    let (one, other) = json.split_at(json.len() / 2);
    fs::write(folder.join("joined.gz"), [gzip(one), gzip(other)].concat()).unwrap();
    assert_eq!(Content::read(folder.join("joined.gz")).unwrap(), content());
    content().write(folder.join("a.cassette"), SealOptions::default().keep_secrets()).unwrap();
    fs::write(folder.join("b"), gzip(&fs::read(folder.join("a.cassette")).unwrap())).unwrap();
    let (within, form) = Cassette::open_any(folder.join("b")).unwrap();
    assert_eq!((within.len(), form), (2, Form::Cassette));
}

/// 1 MB that becomes 1 GB: no more is made of it than is allowed, and the limit is named.
#[test]
fn decompression_limit() {
    let folder = Folder::new();
    let path = folder.join("bomb.json.gz");
    let mut encoder = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::default());
    let blanks = vec![b' '; 1 << 20];
    (0..48).for_each(|_| encoder.write_all(&blanks).unwrap());
    encoder.finish().unwrap();
    let error = Cassette::open_any_with(&path, ReadOptions::default().bytes_max(32 << 20)).unwrap_err();
    let FormError::TooMuch(excess) = &error else { panic!("{error}") };
    assert_eq!((excess.what, excess.most), ("what the gzip file is decompressed to", 32 << 20));
    assert!(excess.file.ends_with("bomb.json.gz"));
}

#[test]
fn a_file_that_is_cut_says_what_was_read() {
    let folder = Folder::new();
    let path = folder.join("cut.json.gz");
    let json = content().to_json(true).unwrap();
    // Stored as it is, so that a cut is a cut of the text.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(&json).unwrap();
    let whole = encoder.finish().unwrap();
    fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let error = Content::read(&path).unwrap_err();
    let FormError::Gzip { bytes, exchanges, .. } = &error else { panic!("{error}") };
    assert!(*bytes > 1000 && *bytes < json.len() as u64 && *exchanges == Some(1), "{error}");
    let said = format!(
        "cut.json.gz: the end of the gzip file is missing; {bytes} bytes could be decompressed, with 1 whole exchange; \
         restore the file from a copy, or record it again"
    );
    assert!(error.to_string().ends_with(&said), "{error}");
    // One bit that is another.
    let mut damaged = whole;
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&path, damaged).unwrap();
    let error = Content::read(&path).unwrap_err().to_string();
    assert!(error.contains("the gzip file is damaged; "), "{error}");
}

/// Cut anywhere, it is never read as less.
#[test]
fn no_cut_goes_unnoticed() {
    let folder = Folder::new();
    let path = folder.join("a.json.gz");
    content().write(&path, SealOptions::default().keep_secrets()).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 2..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(matches!(Content::read(&path), Err(FormError::Gzip { .. })), "{length} of {}", whole.len());
    }
}
