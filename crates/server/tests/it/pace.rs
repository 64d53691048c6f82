//! How fast a replay gives answers in their order: it pauses only where an order could be lost, and stops as soon as the program has gone on.

use crate::fixture::{Client, Trip, client, say};
use crate::order::{exchange_us, on_cassette, replay};
use cassette::Exchange;
use server::Proxy;
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Clients that each ask for several things, one after the other.
#[derive(Clone, Copy, Debug)]
struct Program {
    clients: u64,
    asks: u64,
    /// How many microseconds lay between the ends of two answers when it was recorded.
    gap_us: u64,
    /// Whether the first client to ask is the last to be answered.
    turns_round: bool,
}

impl Program {
    fn question(client: u64, ask: u64) -> String {
        format!(r#"{{"client": {client}, "ask": {ask}}}"#)
    }

    /// What was recorded: whoever is answered asks again before the next one is answered.
    fn recorded(self) -> Vec<Exchange<'static>> {
        let mut exchanges: Vec<_> = (0..self.asks * self.clients)
            .map(|place| {
                let (ask, at) = (place / self.clients, place % self.clients);
                let client = if self.turns_round { self.clients - 1 - at } else { at };
                let ended = 1_000 + (place + 1) * self.gap_us;
                let asked = if ask == 0 { client } else { ended - self.clients * self.gap_us + 5 };
                exchange_us(0, &Self::question(client, ask), (asked, ended), format!("of {client}, {ask}"))
            })
            .collect();
        exchanges.sort_by_key(|exchange| exchange.started_ns);
        (0..).zip(&mut exchanges).for_each(|(number, exchange)| exchange.number = number);
        exchanges
    }

    fn run(self, ask: impl Fn(&mut Client<TcpStream>, &str) -> String + Sync, proxy: &Proxy) {
        std::thread::scope(|scope| {
            for number in 0..self.clients {
                let ask = &ask;
                scope.spawn(move || {
                    let mut client = client(proxy);
                    for at in 0..self.asks {
                        let answer = ask(&mut client, &Self::question(number, at));
                        assert_eq!(answer, format!("of {number}, {at}"));
                    }
                });
            }
        });
    }

    /// How long it takes by a replay, the shortest of some.
    fn shortest(self) -> Duration {
        let trip: Trip = on_cassette(&self.recorded());
        let once = || {
            let mut elapsed = Duration::ZERO;
            let report = replay(
                &trip,
                |options| options,
                |proxy| {
                    let begun = Instant::now();
                    self.run(crate::order::ask, proxy);
                    elapsed = begun.elapsed();
                },
            );
            assert_eq!((report.replayed, report.missed), (self.clients * self.asks, 0));
            elapsed
        };
        let shortest = std::iter::repeat_with(once).take(5).min().unwrap_or_default();
        let rate = (self.clients * self.asks) as f64 / shortest.as_secs_f64();
        say(format_args!("{self:?}: {shortest:?}, {rate:.0} answers a second"));
        shortest
    }
}

/// Times are compared by one test after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn clients_that_go_on_are_not_held_up() {
    let _alone = alone();
    let all = [(1, 400), (64, 40), (4, 200), (16, 80)];
    let tried = if std::env::var_os("METROON_EXHAUSTIVE").is_some() { 4 } else { 2 };
    for (clients, asks) in all.into_iter().take(tried) {
        let program = Program { clients, asks, gap_us: 1_000, turns_round: true };
        // Nothing pauses where answers had no certain order. A busy machine is slow at both, but not always alike.
        let paused = Duration::from_millis(clients * asks);
        let mut seen = Vec::new();
        let goes_on = (0..3).any(|_| {
            let (free, taken) = (Program { gap_us: 20, ..program }.shortest(), program.shortest());
            seen.push((free, taken));
            taken < free + paused / 2
        });
        assert!(goes_on, "{program:?} without any pause, and with them: {seen:?}");
    }
}

/// The only client asks for the next thing when it has this answer, which waits for that request.
#[test]
fn a_client_that_asks_for_one_thing_after_the_other_is_not_held_up_by_what_was_recorded_at_once() {
    let _alone = alone();
    let recorded = Program { clients: 16, asks: 250, gap_us: 1_000, turns_round: true };
    let trip: Trip = on_cassette(&recorded.recorded());
    let mut elapsed = Duration::ZERO;
    let report = replay(
        &trip,
        |options| options,
        |proxy| {
            let (begun, mut client) = (Instant::now(), client(proxy));
            for number in 0..recorded.clients * recorded.asks {
                let (asked, at) = (number % recorded.clients, number / recorded.clients);
                let answer = crate::order::ask(&mut client, &Program::question(asked, at));
                assert_eq!(answer, format!("of {asked}, {at}"));
            }
            elapsed = begun.elapsed();
        },
    );
    say(format_args!("{elapsed:?}, {} late", report.late));
    assert_eq!((report.replayed, report.missed), (recorded.clients * recorded.asks, 0));
    assert!(report.late > 1_000 && elapsed < Duration::from_secs(15), "{elapsed:?}, {} late", report.late);
}

#[test]
fn what_had_no_certain_order_is_not_held_up() {
    let _alone = alone();
    let program = Program { clients: 64, asks: 1, gap_us: 20, turns_round: false };
    // With a millisecond between them each is left alone, since none of them asks for more.
    let apart = Program { gap_us: 1_000, ..program };
    let mut seen = Vec::new();
    let is_sooner = (0..3).any(|_| {
        seen.push((program.shortest(), apart.shortest()));
        seen.last().is_some_and(|(together, apart)| together < apart)
    });
    assert!(is_sooner, "{program:?}, and with a millisecond between the ends: {seen:?}");
}
