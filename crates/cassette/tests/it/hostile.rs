//! Documents of others that are broken, huge or made to do harm: an error, in little memory, and never a panic.

use crate::exchanges::{Folder, of_the_report};
use crate::har::foreign;
use cassette::{Content, Form, SealOptions, VcrStyle};

/// Reads as whatever it is, and writes what was read in every form.
fn read(bytes: &[u8]) -> Option<Content> {
    let form = Form::of_content(bytes)?;
    Content::decode(bytes, form).ok()
}

fn write_all(content: &Content) {
    let (har, _) = content.to_har().unwrap();
    Content::from_har(&har).unwrap();
    for style in [VcrStyle::Python, VcrStyle::Ruby] {
        Content::from_vcr_yaml(&content.to_vcr_yaml(style).unwrap().0).unwrap();
        Content::from_vcr_json(&content.to_vcr_json(style).unwrap().0).unwrap();
    }
}

const FILES: [&str; 7] =
    ["chrome.har", "firefox.har", "vcrpy-6.yaml", "vcrpy-httpx-4.yaml", "vcrpy-8.json", "ruby-6.yml", "ruby-6.json"];

#[test]
fn format_is_found_by_content() {
    let forms = [Form::Har, Form::Har, Form::Vcr, Form::Vcr, Form::VcrJson, Form::VcrRuby, Form::VcrJson];
    for (name, form) in FILES.iter().zip(forms) {
        assert_eq!(Form::of_content(&foreign(name)), Some(form), "{name}");
        write_all(&read(&foreign(name)).unwrap());
    }
}

#[test]
fn format_is_chosen_by_name() {
    for (name, form) in [
        ("a.har", Form::Har),
        ("a.YAML", Form::Vcr),
        ("a.yml", Form::Vcr),
        ("a.vcr.json", Form::VcrJson),
        ("vcr.json", Form::Json),
        ("har", Form::Cassette),
    ] {
        assert_eq!(Form::of_name(std::path::Path::new(name)), form, "{name}");
    }
    let folder = Folder::new();
    let content = Content { exchanges: vec![of_the_report(0)], meta: Vec::new() };
    for name in ["a.har", "a.yaml", "a.vcr.json"] {
        // When the exchange was over is not known, and nothing else is missing.
        assert_eq!(content.write(folder.join(name), SealOptions::default()).unwrap(), [""; 0], "{name}");
        assert_eq!(Content::read(folder.join(name)).unwrap(), content, "{name}");
    }
    std::fs::write(folder.join("broken.yml"), "interaction: [").unwrap();
    let error = Content::read(folder.join("broken.yml")).unwrap_err().to_string();
    assert!(error.contains("broken.yml: no cassette in VCR YAML: ") && error.contains("line 1 column"), "{error}");
}

#[test]
fn documents_cut_anywhere_are_errors() {
    for name in FILES {
        let bytes = foreign(name);
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            let read = if name.ends_with(".har") { Content::from_har } else { Content::from_vcr_json };
            if name.contains(".y") {
                // The end of a list of YAML is anywhere.
                let _ = Content::from_vcr_yaml(cut);
            } else {
                assert!(read(cut).is_err() || bytes[length..].trim_ascii().is_empty(), "{name} {length}");
            }
            let _ = Form::of_content(cut);
        }
    }
}

/// A generator of numbers that are not random.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// What is put in: what means something in JSON or YAML.
const PIECES: [&str; 28] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "'",
    "null",
    "-1",
    "1e999",
    "99999999999999999999",
    "\n",
    "\n  ",
    "- ",
    "&a ",
    "*a",
    "!!binary ",
    "? ",
    "| \n",
    "\\",
    "\\ud800",
    "\0",
    "\u{FEFF}",
    "true",
    "{}",
    "[]",
    "\"x\": 1,",
];

/// The bytes with a few changes.
pub(crate) fn mutated(bytes: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(bytes.len());
        let end = (at + numbers.below(40)).min(bytes.len());
        match numbers.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, PIECES[numbers.below(PIECES.len())].bytes())),
            2 => drop(bytes.splice(at..end, PIECES[numbers.below(PIECES.len())].bytes())),
            3 => bytes[at] = numbers.below(256) as u8,
            _ => {
                let copy = bytes[at..end].to_vec();
                let to = numbers.below(bytes.len());
                bytes.splice(to..to, copy);
            }
        }
    }
    bytes
}

#[test]
fn aliases_repeat_so_much_and_no_more() {
    let mut laughs = "a: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs.push_str(&format!("b{level}: &a{level} [{aliases}]\n"));
    }
    laughs.push_str("interactions: []\n");
    let error = Content::from_vcr_yaml(laughs.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("aliases repeat more than"), "{error}");
    // Long texts, many times.
    let long = format!("a: &a {}\ninteractions: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(1000));
    let error = Content::from_vcr_yaml(long.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("aliases repeat more than"), "{error}");
    let own = Content::from_vcr_yaml(b"interactions: &a [*a]\n").unwrap_err().to_string();
    assert!(own.contains("an alias stands in what it stands for"), "{own}");
    // Anchors around anchors, each of which is kept.
    let nested = format!("interactions: {}{}", "&a [x, ".repeat(200), "]".repeat(200));
    assert!(Content::from_vcr_yaml(nested.as_bytes()).is_err());
}

#[test]
fn nesting_is_limited() {
    for open in ["[", "{\"a\":", "- ", "? ", "{a: "] {
        let deep = open.repeat(100_000);
        let yaml = format!("interactions:\n  {deep}");
        assert!(Content::from_vcr_yaml(yaml.as_bytes()).is_err());
        let json = format!("{{\"log\": {{\"entries\": {deep}");
        assert!(Content::from_har(json.as_bytes()).is_err());
        assert!(Content::from_vcr_json(json.as_bytes()).is_err());
        assert!(Content::from_json(json.as_bytes()).is_err());
    }
}

#[test]
fn numbers_of_any_size_are_taken() {
    let har = String::from_utf8(foreign("firefox.har")).unwrap();
    for number in ["1e308", "-1e308", "99999999999999999999999999", "0.1", "-0"] {
        let changed = har.replacen("\"wait\": 45", &format!("\"wait\": {number}"), 1);
        let changed = changed.replacen("\"time\": 48", &format!("\"time\": {number}"), 1);
        write_all(&Content::from_har(changed.as_bytes()).unwrap());
    }
    let chrome = String::from_utf8(foreign("chrome.har")).unwrap();
    for time in ["1e308", "-1e308"] {
        let changed =
            chrome.replacen("1772442907.5", time, 1).replacen("2026-03-02T09:15:07", "1700-03-02T09:15:07", 1);
        write_all(&Content::from_har(changed.as_bytes()).unwrap());
    }
    assert!(Content::from_har(har.replacen("\"wait\": 45", "\"wait\": 1e999", 1).as_bytes()).is_err());
}
