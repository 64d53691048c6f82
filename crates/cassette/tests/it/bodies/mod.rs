//! Three hundred bodies of all kinds, recorded: they are on the cassette byte for byte, or the cassette is not sealed and the reason is said.

mod kinds;

use crate::exchanges::Folder;
use cassette::{
    Body, Cassette, ExchangeEnd, Header, RecordError, Recorder, RecorderOptions, Request, Response, SealError,
};

/// Records a download and an upload of a body in pieces; gives what became of the cassette.
fn record(
    folder: &Folder,
    number: usize,
    headers: Vec<Header<'static>>,
    body: &[u8],
    piece: usize,
) -> Result<Cassette, RecordError> {
    let path = folder.join(&format!("{number}.cassette"));
    let options = RecorderOptions::default().sealing(journal::Durability::Os);
    let recorder = Recorder::open(&path, options).unwrap();
    let request = Request {
        method: "PUT".into(),
        target: "/".into(),
        headers: headers.clone(),
        body: Some(Body::default()),
        ..Request::default()
    };
    let call = recorder.begin(0, &request).unwrap();
    body.chunks(piece).for_each(|piece| call.request_chunk(1, piece).unwrap());
    call.response(&Response { status: 200, headers, body: Some(Body::default()), ..Response::default() }).unwrap();
    body.chunks(piece).for_each(|piece| call.response_chunk(2, piece).unwrap());
    call.end(ExchangeEnd::default()).unwrap();
    let findings = recorder.findings();
    recorder.finish()?;
    assert_eq!((findings.replaced, findings.kept), (0, 0), "{findings:?}");
    Ok(Cassette::open(&path).unwrap())
}

#[test]
fn three_hundred_bodies_are_as_they_were_or_refused() {
    let folder = Folder::new();
    let (mut sealed, mut refused) = (0, 0);
    for (number, sample) in kinds::three_hundred().enumerate() {
        let kinds::Sample { bytes, headers, piece, has_secret } = sample;
        let headers: Vec<_> = headers.into_iter().map(|(name, value)| Header::new(name, value)).collect();
        match record(&folder, number, headers.clone(), &bytes, piece) {
            Ok(cassette) => {
                assert!(!has_secret, "{number}: {headers:?}");
                let exchange = cassette.exchange(0).unwrap();
                let response = exchange.response.as_ref().unwrap();
                assert!(exchange.request.body_bytes() == bytes && response.body_bytes() == bytes, "{number}");
                assert_eq!((&exchange.request.headers, &response.headers), (&headers, &headers), "{number}");
                sealed += 1;
            }
            Err(RecordError::Seal(SealError::Secret(exposed))) => {
                assert!(has_secret && exposed.is_kept, "{number}: {exposed}");
                let message = exposed.to_string();
                assert!(message.contains("has a GitHub token in its request body, which is not text"), "{message}");
                refused += 1;
            }
            Err(error) => panic!("{number}: {error}"),
        }
    }
    assert_eq!((sealed, refused), (275, 25));
}
