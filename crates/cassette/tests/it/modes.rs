//! What is done with a request, by mode, by whether there was a cassette, and by what it has.

use cassette::{Action, Expired, Expiry, Lookup, Mode};

const HAS: Lookup = Lookup::Has { age: 100 };

#[test]
fn every_mode_decides_as_its_name_says() {
    use Action::{Forward, Record, RefuseMissing, Replay};
    for (mode, with_cassette_has, with_cassette_lacks, without_cassette) in [
        (Mode::Once, Replay, RefuseMissing, Record),
        (Mode::New, Replay, Record, Record),
        (Mode::All, Record, Record, Record),
        (Mode::None, Replay, RefuseMissing, RefuseMissing),
        (Mode::Passthrough, Forward, Forward, Forward),
    ] {
        assert_eq!(mode.decide(true, HAS, None), with_cassette_has, "{mode}");
        assert_eq!(mode.decide(true, Lookup::Lacks, None), with_cassette_lacks, "{mode}");
        assert_eq!(mode.decide(false, Lookup::Lacks, None), without_cassette, "{mode}");
    }
}

#[test]
fn what_is_too_old_is_refused_and_not_recorded_by_itself() {
    let expiry = |then| Some(Expiry { max_age: 99, then });
    for (mode, then, expected) in [
        (Mode::None, Expired::Refuse, Action::RefuseExpired),
        (Mode::Once, Expired::Record, Action::RefuseExpired),
        (Mode::New, Expired::Refuse, Action::RefuseExpired),
        (Mode::New, Expired::Record, Action::Record),
        (Mode::New, Expired::Warn, Action::ReplayExpired),
        (Mode::None, Expired::Warn, Action::ReplayExpired),
        (Mode::All, Expired::Refuse, Action::Record),
    ] {
        assert_eq!(mode.decide(true, HAS, expiry(then)), expected, "{mode} {then:?}");
    }
    let young = Some(Expiry { max_age: 100, then: Expired::Refuse });
    assert_eq!(Mode::None.decide(true, HAS, young), Action::Replay);
    assert_eq!(Mode::None.decide(true, Lookup::Has { age: -5 }, young), Action::Replay);
}

#[test]
fn nothing_is_sent_where_nothing_may_be() {
    for mode in [Mode::Once, Mode::New, Mode::All, Mode::None, Mode::Passthrough] {
        for existed in [false, true] {
            for lookup in [HAS, Lookup::Lacks] {
                for then in [Expired::Refuse, Expired::Warn, Expired::Record] {
                    let action = mode.decide(existed, lookup, Some(Expiry { max_age: 1, then }));
                    let sends = matches!(action, Action::Record | Action::Forward);
                    assert!(!sends || mode.may_send(existed), "{mode} {existed} {lookup:?} {then:?}");
                }
            }
        }
    }
}

#[test]
fn modes_have_the_names_that_other_recorders_use() {
    for (name, mode) in
        [("ONCE", Mode::Once), ("new-episodes", Mode::New), ("Auto", Mode::Once), ("Replay", Mode::None)]
    {
        assert_eq!(name.parse(), Ok(mode));
    }
    for mode in [Mode::Once, Mode::New, Mode::All, Mode::None, Mode::Passthrough] {
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
    let error = "sometimes".parse::<Mode>().unwrap_err().to_string();
    assert_eq!(error, "`sometimes` is not a mode; the modes are once, new, all, none and passthrough");
}
