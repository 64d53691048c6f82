//! Connections on several threads.

use crate::fixture::{Mode, Trip, client, client_of};
use cassette::Cassette;
use server::Proxy;
use std::time::Duration;

#[test]
fn connections_are_spread_over_threads() {
    let trip = Trip::new();
    let proxy = Proxy::start(trip.options(Mode::All).threads(3)).unwrap();
    // Each of them stays, so the next one goes to a thread that has fewer.
    let mut clients: Vec<_> = (0..9).map(|_| client(&proxy)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.get(&format!("/bytes/{}", number + 1)).body.len(), number + 1);
    }
    let report = proxy.stop().unwrap();
    assert_eq!((report.connections, report.recorded), (9, 9));
    assert_eq!(Cassette::open(trip.cassette()).unwrap().len(), 9);
}

/// All of them answer, however many threads there are, and while some wait.
#[test]
fn one_thread_serves_many_connections() {
    for threads in [1, 2] {
        let trip = Trip::new();
        let proxy = Proxy::start(trip.options(Mode::All).threads(threads)).unwrap();
        let address = proxy.address();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(move || assert_eq!(client_of(address).get("/slow?ms=300").text(), "at last"));
            }
            std::thread::sleep(Duration::from_millis(50));
            for _ in 0..4 {
                scope.spawn(move || {
                    let mut client = client_of(address);
                    (0..50).for_each(|_| assert_eq!(client.get("/bytes/10").body.len(), 10));
                });
            }
        });
        assert_eq!(proxy.stop().unwrap().recorded, 208);
    }
}
