//! Recording anew: what is there already is lost for nothing less than a complete new cassette, and a proxy that does not start
//! leaves nothing.

use crate::fixture::{Mode, Trip, client};
use cassette::{Cassette, Exchange, Recorder, RecorderOptions, Request};
use server::{ControlOptions, Proxy, ProxyError};
use std::fs;
use std::path::{Path, PathBuf};

/// A cassette with one exchange for each target, or a recording that nobody has sealed.
fn record(path: &Path, targets: &[&'static str], is_sealed: bool) {
    let recorder = Recorder::open(path, RecorderOptions::default()).unwrap();
    for &target in targets {
        let request = Request { target: target.into(), ..Request::default() };
        recorder.record(Exchange { request, ..Exchange::default() }).unwrap();
    }
    if is_sealed { recorder.finish() } else { recorder.stop() }.unwrap();
}

fn targets(path: &Path) -> Vec<String> {
    let cassette = Cassette::open(path).unwrap();
    cassette.exchanges().map(|one| one.unwrap().request.target.as_text().unwrap().to_owned()).collect()
}

fn beside(trip: &Trip) -> PathBuf {
    trip.folder.path("trip.cassette.new")
}

#[test]
fn recording_anew_replaces_a_cassette_when_it_is_complete() {
    let trip = Trip::new();
    record(&trip.cassette(), &["/a", "/b"], true);
    let proxy = trip.record();
    client(&proxy).get("/json");
    assert_eq!(targets(&trip.cassette()), ["/a", "/b"]);
    proxy.stop().unwrap();
    assert_eq!(targets(&trip.cassette()), ["/json"]);
}

#[test]
fn a_cassette_stays_if_nothing_is_recorded() {
    let trip = Trip::new();
    record(&trip.cassette(), &["/old"], true);
    trip.record().stop().unwrap();
    assert_eq!(targets(&trip.cassette()), ["/old"]);
    assert!(!beside(&trip).exists());
}

#[test]
fn what_a_crash_left_of_the_old_cassette_does_not_follow_the_new_one() {
    let trip = Trip::new();
    record(&trip.cassette(), &["/old"], true);
    record(&trip.cassette(), &["/left"], false);
    record(&beside(&trip), &["/earlier"], false);
    let proxy = trip.record();
    client(&proxy).get("/json");
    proxy.stop().unwrap();
    assert_eq!(targets(&trip.cassette()), ["/json"]);
    let names = fs::read_dir(trip.cassette().parent().unwrap()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.contains("trip.cassette")).collect::<Vec<_>>(), ["trip.cassette"]);
}

#[test]
fn a_cassette_that_somebody_records_to_is_not_recorded_anew() {
    let trip = Trip::new();
    record(&trip.cassette(), &["/old"], true);
    let other = Recorder::open(trip.cassette(), RecorderOptions::default()).unwrap();
    other.record(Exchange::default()).unwrap();
    other.sync(journal::Durability::Os).unwrap();
    assert!(matches!(Proxy::start(trip.options(Mode::All)), Err(ProxyError::Record(_))));
    other.finish().unwrap();
    assert_eq!(targets(&trip.cassette()).len(), 2);
}

#[test]
fn a_file_of_the_name_of_the_new_cassette_is_not_taken_away() {
    let trip = Trip::new();
    record(&trip.cassette(), &["/old"], true);
    record(&beside(&trip), &["/mine"], true);
    let error = Proxy::start(trip.options(Mode::All)).unwrap_err().to_string();
    assert!(error.contains("trip.cassette.new: it is there already; move it away"), "{error}");
    assert_eq!(
        (targets(&trip.cassette()), targets(&beside(&trip))),
        (vec!["/old".to_owned()], vec!["/mine".to_owned()])
    );
}

#[test]
fn a_proxy_that_does_not_start_leaves_nothing_at_the_place_of_its_cassette() {
    let trip = Trip::new();
    let nobody = trip.folder.path("nobody.pem");
    assert!(Proxy::start(trip.options(Mode::Once).upstream_roots(nobody)).is_err());
    let taken = trip.folder.path("taken");
    fs::write(&taken, "").unwrap();
    let control = ControlOptions { socket: Some(taken), cassettes: None };
    assert!(Proxy::start(trip.options(Mode::Once).control(control)).is_err());
    assert!(!trip.cassette().exists() && !trip.folder.path("trip.cassette.recording").exists());
    trip.record().stop().unwrap();
}
