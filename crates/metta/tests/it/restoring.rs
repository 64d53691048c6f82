//! Facts that come back as bytes: what adding their atoms one by one would have come to.

use metta::{MemoryWorld, Session};
use space::{Atom, EncodedRoom, SharedSpace, Space, VariableSource, canonical};

/// Facts of every kind that matters: flat, nested, twice, with numbers of both kinds, texts, values that are not interned, and code.
const FACTS: &str = r#"
(edge a 1) (edge a 1.0) (edge (q b) "x\u{0}y") (edge a 1) (edge) (big 123456789012345678901234567890) (nested (((deep)) ()))
(open $x $y $x) (holds &self) (operation +) (code (function (return 1))) (code NotReducible) (code (remove-atom &self a))
(edge a 2) (edge True)
"#;

fn session() -> Session {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.program_mut().keep_hashes();
    session
}

/// What a space holds and which classes of changes it counts.
fn state(space: &SharedSpace) -> (Vec<String>, Option<u128>, Vec<bool>) {
    let atoms = space.atoms(&mut VariableSource::default());
    let bytes = atoms.iter().map(|atom| format!("{atom} {:?}", canonical::encode(atom))).collect();
    (bytes, space.read(Space::hash), space.changes().map(|count| count > 0).into())
}

#[test]
fn facts_as_bytes_come_to_what_their_atoms_do() {
    let mut origin = session();
    origin.run(FACTS, &mut |_, _| Ok(()));
    let atoms: Vec<Atom> = origin.top_space().atoms(&mut VariableSource::default());
    let encoded: Vec<Vec<u8>> = atoms.iter().map(canonical::encode).collect();
    assert_eq!(encoded.len(), 15);
    assert!(encoded.iter().all(|bytes| Session::is_fact(bytes)));
    // However many are added at once, and whatever was there before.
    for count in [1, 2, 5, encoded.len()] {
        let (mut one, mut many) = (session(), session());
        let mut room = EncodedRoom::default();
        for facts in encoded.chunks(count) {
            let space = many.top_space();
            many.add_facts(&space, facts.iter().map(Vec::as_slice), &mut room).expect("they are facts");
            for bytes in facts {
                let atom = one.program_mut().decode(bytes, &[]).expect("it is an atom");
                one.top_space().add(&atom);
            }
        }
        assert_eq!(state(&many.top_space()), state(&one.top_space()), "{count} at once");
    }
}

#[test]
fn what_the_head_does_not_say_is_no_fact() {
    for text in ["(= (f) 1)", "(: a B)", "(:< A B)", "lone", "()", "((f) 1)", "($x 1)", "(\"a\" b)", "7"] {
        let mut session = session();
        session.run(text, &mut |_, _| Ok(()));
        let atoms = session.top_space().atoms(&mut VariableSource::default());
        assert!(!Session::is_fact(&canonical::encode(&atoms[0])), "{text}");
    }
}

/// Bytes that are cut off, or go on, are errors wherever that is; none of them panics.
#[test]
fn damaged_facts_are_errors() {
    let fact = Atom::expression([Atom::symbol("edge"), Atom::expression([Atom::from(7_i64)]), Atom::from("text")]);
    let bytes = canonical::encode(&fact);
    let mut room = EncodedRoom::default();
    let mut add = |bytes: &[u8]| {
        let mut session = session();
        let space = session.top_space();
        session.add_facts(&space, [bytes], &mut room).map(|()| space.len())
    };
    assert_eq!(add(&bytes), Ok(1));
    let head = canonical::encode(&Atom::expression([Atom::symbol("edge")])).len() - 1;
    assert!((head..bytes.len()).all(|length| add(&bytes[..length]).is_err()));
    assert!(add(&[&bytes[..], &[0]].concat()).is_err());
    assert!(add(&[&bytes[..], &bytes[..]].concat()).is_err());
}
