//! Cassettes of programs that ask for several things at once, made from seeds, and programs that ask for the same again: threads, one thread
//! with tasks, and the streams of one connection by HTTP/2.
//!
//! A program has workers; each takes the next item of a list, asks, notes what it was answered, and goes on. The cassette is what such a
//! program would have recorded; answers end at different times, and the next request of a worker comes before another answer ends. Items may
//! ask the same, and equal questions may have different answers. A replay must give all answers in their order, however fast it is, and
//! name the equal questions that were asked at once and answered differently: with these, and no others, items may change places.
//!
//! `METROON_SEEDS=A..B` runs other seeds than usual.

use crate::fixture::{Folder, Mode, client, trusting};
use cassette::{Body, Exchange, Header, Request, Response, SealOptions, write_cassette};
use generate::Dice;
use server::{Latency, Proxy, ProxyOptions, Report, Traffic};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How many microseconds lie between the ends of two answers.
const SLOT_US: u64 = 1_000;
const JSON: &str = "Content-Type: application/json\r\n";

/// What was recorded.
struct Recorded {
    kind: ClientKind,
    workers: usize,
    /// What each item asks.
    questions: Vec<usize>,
    answers: Vec<String>,
    exchanges: Vec<Exchange<'static>>,
    /// The items in the order in which they were answered.
    order: Vec<usize>,
    /// From when to when each was under way.
    spans: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientKind {
    Threads,
    Tasks,
    Http2,
}

/// An item and its answer, when that was there.
type Noted = (usize, String);

impl Recorded {
    fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let kind = [ClientKind::Threads, ClientKind::Tasks, ClientKind::Http2][(seed % 3) as usize];
        let items = 4 + dice.below(14);
        let workers = if dice.one_in(4) { items } else { 2 + dice.below(6) };
        let pool = 1 + dice.below(2 * items);
        let questions: Vec<_> = (0..items).map(|_| dice.below(pool)).collect();
        let differ = dice.below(3);
        let answers = (0..items).map(|item| match differ {
            0 => format!("answer {}", questions[item]),
            1 => format!("answer {} of item {item}", questions[item]),
            _ => format!("answer {}.{}", questions[item], dice.below(2)),
        });
        let answers: Vec<_> = answers.collect();
        let mut recorded =
            Self { kind, workers, questions, answers, exchanges: Vec::new(), order: Vec::new(), spans: Vec::new() };
        recorded.run(&mut dice);
        recorded
    }

    /// Runs the program on a clock of its own.
    fn run(&mut self, dice: &mut Dice) {
        let mut free_us: Vec<u64> = (0..self.workers as u64).map(|worker| 10 * worker).collect();
        let mut taken = HashSet::new();
        for item in 0..self.questions.len() {
            let worker = (0..self.workers).min_by_key(|&worker| free_us[worker]).expect("there is a worker");
            let asked = free_us[worker];
            let first = asked / SLOT_US + 1 + dice.below(9) as u64;
            let slot = (first..).find(|slot| taken.insert(*slot)).expect("slots do not end");
            let ended = slot * SLOT_US;
            self.spans.push((asked, ended));
            free_us[worker] = ended + 10 + worker as u64;
            let exchange = self.exchange(item, (asked, ended), dice);
            self.exchanges.push(exchange);
        }
        self.order = (0..self.questions.len()).collect();
        self.order.sort_by_key(|&item| self.spans[item].1);
        // A client that has nothing left to do says so, and is answered when all are there.
        free_us.sort_unstable();
        let last = free_us.last().map_or(0, |last| last + SLOT_US);
        for (number, asked) in free_us.into_iter().enumerate() {
            let request = self.request("GET", format!("/end/{number}"), None);
            let number = self.exchanges.len() as u64;
            self.exchanges.push(exchange(
                number,
                request,
                (asked, last + number),
                vec![(last - asked, "end".into())],
                false,
            ));
        }
        self.exchanges.sort_by_key(|exchange| exchange.started_ns);
        (0..).zip(&mut self.exchanges).for_each(|(number, exchange)| exchange.number = number);
    }

    fn request(&self, method: &'static str, target: String, body: Option<String>) -> Request<'static> {
        let is_secure = self.kind == ClientKind::Http2;
        let (scheme, port) = if is_secure { ("https", 443) } else { ("http", 80) };
        Request {
            method: method.into(),
            scheme: scheme.into(),
            host: origin::NAME.into(),
            port,
            target: target.into(),
            headers: body.iter().map(|_| Header::new("Content-Type", "application/json")).collect(),
            body: body.map(|body| Body::new(0, body.into_bytes())),
            ..Request::default()
        }
    }

    fn exchange(&self, item: usize, (asked, ended): (u64, u64), dice: &mut Dice) -> Exchange<'static> {
        let request = self.request("POST", "/ask".to_owned(), Some(self.question(item)));
        let answer = &self.answers[item];
        let streams = dice.one_in(3);
        let pieces = if streams {
            let (begin, end) = answer.split_at(1 + dice.below(answer.len() - 1));
            let at = 1 + dice.below((ended - asked) as usize - 1) as u64;
            vec![(at, begin.to_owned()), (ended - asked - 1, end.to_owned())]
        } else {
            vec![(ended - asked - 1, answer.clone())]
        };
        exchange(item as u64, request, (asked, ended), pieces, streams)
    }

    fn question(&self, item: usize) -> String {
        format!(r#"{{"question": {}}}"#, self.questions[item])
    }

    /// Whether something about this question has to be named: those that ask it at once, and those that they meet, have several answers.
    fn must_name(&self, question: usize) -> bool {
        let asking: Vec<_> = (0..self.questions.len()).filter(|&item| self.questions[item] == question).collect();
        let meets = |one: usize, other: usize| {
            let ((a, b), (c, d)) = (self.spans[one], self.spans[other]);
            a < d && c < b
        };
        asking.iter().any(|&one| {
            asking.iter().any(|&other| one != other && meets(one, other) && self.answers[one] != self.answers[other])
        })
    }

    /// What is noted of a run: questions and answers in order, and the answer of each item.
    fn compared(&self, noted: &[Noted]) -> (Vec<(usize, String)>, Vec<String>) {
        let mut answers = vec![String::new(); self.questions.len()];
        noted.iter().for_each(|(item, answer)| answers[*item].clone_from(answer));
        (noted.iter().map(|(item, answer)| (self.questions[*item], answer.clone())).collect(), answers)
    }

    fn noted(&self) -> Vec<Noted> {
        self.order.iter().map(|&item| (item, self.answers[item].clone())).collect()
    }
}

fn exchange(
    number: u64,
    request: Request<'static>,
    (asked, ended): (u64, u64),
    pieces: Vec<(u64, String)>,
    streams: bool,
) -> Exchange<'static> {
    let mut body = Body::default();
    pieces.iter().for_each(|(at_us, piece)| body.push(*at_us, piece.as_bytes()));
    let headers = match streams {
        true => Vec::new(),
        false => vec![Header::new("Content-Length", body.bytes().len().to_string())],
    };
    let at_us = pieces[0].0;
    Exchange {
        number,
        started_ns: 1_760_000_000_000_000_000 + asked as i64 * 1_000,
        ended_us: Some(ended - asked),
        request,
        response: Some(Response { status: 200, at_us, headers, body: Some(body), ..Response::default() }),
        ..Exchange::default()
    }
}

/// What workers share.
struct Work {
    next: AtomicUsize,
    ended: AtomicUsize,
    noted: Mutex<Vec<Noted>>,
}

impl Work {
    fn new() -> Self {
        Self { next: AtomicUsize::new(0), ended: AtomicUsize::new(0), noted: Mutex::default() }
    }

    fn take(&self, recorded: &Recorded) -> Option<usize> {
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|item| *item < recorded.questions.len())
    }

    fn end(&self) -> String {
        format!("/end/{}", self.ended.fetch_add(1, Ordering::Relaxed))
    }

    fn note(&self, item: usize, answer: String) {
        self.noted.lock().unwrap().push((item, answer));
    }
}

fn threads(proxy: &Proxy, recorded: &Recorded, work: &Work) {
    std::thread::scope(|scope| {
        for _ in 0..recorded.workers {
            scope.spawn(|| {
                let mut client = client(proxy);
                while let Some(item) = work.take(recorded) {
                    let answer = client.ask("POST", "/ask", JSON, recorded.question(item).as_bytes());
                    work.note(item, answer.text());
                }
                assert_eq!(client.get(&work.end()).text(), "end");
            });
        }
    });
}

/// A client that speaks HTTP/1 in a task.
struct TaskClient {
    stream: TcpStream,
    read: Vec<u8>,
}

impl TaskClient {
    async fn ask(&mut self, method: &str, target: &str, body: &str) -> String {
        let name = origin::NAME;
        let length = body.len();
        let head = format!(
            "{method} http://{name}{target} HTTP/1.1\r\nHost: {name}\r\n{JSON}Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(head.as_bytes()).await.unwrap();
        loop {
            if let Some((answer, used)) = whole(&self.read) {
                self.read.drain(..used);
                return answer;
            }
            assert!(self.stream.read_buf(&mut self.read).await.unwrap() > 0, "the connection ended");
        }
    }
}

/// The body of an answer that is there to its end, and how long it is on the wire.
fn whole(read: &[u8]) -> Option<(String, usize)> {
    let text = std::str::from_utf8(read).unwrap();
    let at = text.find("\r\n\r\n")? + 4;
    let (head, mut rest) = (text[..at].to_ascii_lowercase(), &text[at..]);
    if let Some((_, length)) = head.split_once("content-length: ") {
        let length: usize = length.split("\r\n").next()?.parse().unwrap();
        return rest.get(..length).map(|body| (body.to_owned(), at + length));
    }
    let mut body = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n")?;
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(after.get(..size)?);
        rest = after.get(size + 2..)?;
        if size == 0 {
            return Some((body, read.len() - rest.len()));
        }
    }
}

async fn tasks(proxy: &Proxy, recorded: &Recorded, work: &Work) {
    let worker = || async {
        let mut client = TaskClient { stream: TcpStream::connect(proxy.address()).await.unwrap(), read: Vec::new() };
        while let Some(item) = work.take(recorded) {
            let answer = client.ask("POST", "/ask", &recorded.question(item)).await;
            work.note(item, answer);
        }
        assert_eq!(client.ask("GET", &work.end(), "").await, "end");
    };
    all((0..recorded.workers).map(|_| worker())).await;
}

/// Runs all of them at once.
async fn all(futures: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut running: Vec<_> = futures.map(|future| Some(Box::pin(future))).collect();
    std::future::poll_fn(|context| {
        let mut is_over = true;
        for slot in &mut running {
            match slot.as_mut().map(|future| future.as_mut().poll(context)) {
                Some(std::task::Poll::Pending) => is_over = false,
                _ => *slot = None,
            }
        }
        if is_over { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

async fn http2(proxy: &Proxy, recorded: &Recorded, work: &Work) {
    let mut tunnel = client(proxy);
    tunnel.connect(origin::NAME, 443);
    tunnel.stream.set_nonblocking(true).unwrap();
    let stream = TcpStream::from_std(tunnel.stream).unwrap();
    let config = trusting(proxy.authority().certificate(), &[b"h2"]);
    let name = rustls::pki_types::ServerName::try_from(origin::NAME).unwrap();
    let stream = tokio_rustls::TlsConnector::from(config).connect(name, stream).await.unwrap();
    let (sender, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    let worker = || async {
        while let Some(item) = work.take(recorded) {
            let answer = ask_stream(&sender, "POST", "/ask", recorded.question(item)).await;
            work.note(item, answer);
        }
        assert_eq!(ask_stream(&sender, "GET", &work.end(), String::new()).await, "end");
    };
    all((0..recorded.workers).map(|_| worker())).await;
}

async fn ask_stream(
    sender: &h2::client::SendRequest<bytes::Bytes>,
    method: &str,
    target: &str,
    body: String,
) -> String {
    let uri = format!("https://{}{target}", origin::NAME);
    let request = http::Request::builder().method(method).uri(uri).header("content-type", "application/json");
    let mut ready = sender.clone().ready().await.unwrap();
    let (answer, mut send) = ready.send_request(request.body(()).unwrap(), body.is_empty()).unwrap();
    if !body.is_empty() {
        send.send_data(bytes::Bytes::from(body), true).unwrap();
    }
    let mut stream = answer.await.unwrap().into_body();
    let mut read = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece.unwrap();
        stream.flow_control().release_capacity(piece.len()).unwrap();
        read.extend_from_slice(&piece);
    }
    String::from_utf8(read).unwrap()
}

/// A folder with a cassette and an authority, which all seeds share.
struct Stage(Folder);

impl Stage {
    fn cassette(&self) -> PathBuf {
        self.0.path("concurrent.cassette")
    }

    fn replay(&self, recorded: &Recorded) -> (Vec<Noted>, Report) {
        let options = ProxyOptions::new(Traffic::cassette(self.cassette(), Mode::None));
        let options = options.data_directory(self.0.path("data")).latency(Latency::None).threads(2);
        let proxy = Proxy::start(options).unwrap();
        let work = Work::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        match recorded.kind {
            ClientKind::Threads => threads(&proxy, recorded, &work),
            ClientKind::Tasks => runtime.block_on(tasks(&proxy, recorded, &work)),
            ClientKind::Http2 => runtime.block_on(http2(&proxy, recorded, &work)),
        }
        drop(runtime);
        (work.noted.into_inner().unwrap(), proxy.stop().unwrap())
    }

    /// A replay for which the machine let the program be as fast as when it was recorded.
    fn replay_in_time(&self, recorded: &Recorded) -> (Vec<Noted>, Report) {
        let replays = std::iter::repeat_with(|| self.replay(recorded)).take(20);
        replays.into_iter().find(|(_, report)| report.late == 0).expect("the machine is too slow for a program")
    }
}

#[test]
fn concurrent_cassettes_are_replayed_in_their_order() {
    let stage = Stage(Folder::new());
    let (mut seen, mut named_ever, mut moved_ever) = (0, 0, 0);
    for seed in generate::seeds(0..60) {
        let recorded = Recorded::of(seed);
        write_cassette(stage.cassette(), &recorded.exchanges, &[], SealOptions::default()).unwrap();
        let (order, answers) = recorded.compared(&recorded.noted());
        let must: HashSet<_> = recorded.questions.iter().filter(|&&question| recorded.must_name(question)).collect();
        for _ in 0..2 {
            let (noted, report) = stage.replay_in_time(&recorded);
            let (replayed_order, replayed) = recorded.compared(&noted);
            assert_eq!((report.missed, report.unused, report.untimed), (0, 0, 0), "seed {seed}");
            assert_eq!(replayed_order, order, "seed {seed}, {:?}", recorded.kind);
            let numbers: HashSet<u64> =
                report.ambiguous_answers.iter().flat_map(|named| &named.exchanges).copied().collect();
            let asks = |exchange: &Exchange<'_>, question: usize| {
                exchange.request.body_bytes() == format!(r#"{{"question": {question}}}"#).as_bytes()
            };
            let is_named = |question: usize| {
                recorded.exchanges.iter().any(|exchange| numbers.contains(&exchange.number) && asks(exchange, question))
            };
            for (item, question) in recorded.questions.iter().enumerate() {
                assert!(!must.contains(question) || is_named(*question), "seed {seed}: {question} is not named");
                let is_moved = replayed[item] != answers[item];
                assert!(!is_moved || is_named(*question), "seed {seed}: item {item} has another's answer, silently");
                moved_ever += u64::from(is_moved);
            }
            assert_eq!(report.differs(), report.ambiguous > 0, "seed {seed}");
            named_ever += u64::from(report.ambiguous > 0);
            seen += 1;
        }
    }
    crate::fixture::say(format_args!("{seen} replays, {named_ever} of them ambiguous, {moved_ever} answers of others"));
    assert!(seen < 20 || (named_ever > 0 && named_ever < seen), "the seeds have both kinds");
}
