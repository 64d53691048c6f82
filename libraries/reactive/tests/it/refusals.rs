//! Every reason for which a transaction is refused, and that it leaves everything as it was.

use crate::board::{create, derive, functions, logged, no_zero, sum, write};
use reactive::{
    CommitError, Function, FunctionError, FunctionName, Functions, Inputs, Mask, Merge, NewPage, Options, PageId,
    State, Transaction,
};
use std::sync::atomic::{AtomicU8, Ordering};

/// A state with a page of eight bytes, one derived from it, and one derived from that.
struct Board {
    state: State,
    source: PageId,
    middle: PageId,
    last: PageId,
}

fn board() -> Board {
    let (mut state, _) = logged();
    let source = create(&mut state, &[1; 8]);
    let middle = derive(&mut state, 8, sum(), &[source]);
    let last = derive(&mut state, 8, no_zero(), &[middle]);
    Board { state, source, middle, last }
}

impl Board {
    /// What is said of a transaction that first does something that can be done.
    fn refuses(&mut self, step: impl FnOnce(&mut Transaction, &Self)) -> String {
        let (hash, epoch, pages) = (self.state.state_hash(), self.state.epoch(), self.state.pages().count());
        let mut transaction = Transaction::new();
        transaction.write(self.source, 0, &[7; 8]);
        let made = transaction.create(b"new");
        transaction.derive(3, sum(), [made]);
        step(&mut transaction, self);
        let said = self.state.commit(&transaction).expect_err("it is refused").to_string();
        let now = (self.state.state_hash(), self.state.epoch(), self.state.pages().count());
        assert_eq!(now, (hash, epoch, pages));
        said
    }
}

#[test]
fn unknown_page_in_batch_is_error() {
    let mut board = board();
    let gone = create(&mut board.state, b"gone");
    let mut transaction = Transaction::new();
    transaction.delete(gone);
    board.state.commit(&transaction).unwrap();
    let said = board.refuses(|transaction, _| transaction.write(gone, 0, b"x"));
    assert_eq!(said, "step 3: there is no page 3; it was deleted, or belongs to another state");
    let said = board.refuses(|transaction, _| {
        let page = Transaction::new().create(b"");
        let _: NewPage = page;
        let made = transaction.create(b"a");
        transaction.delete(made);
        transaction.write(made, 0, b"b");
    });
    assert!(said.starts_with("step 5: there is no page"), "{said}");
}

#[test]
fn a_page_that_another_transaction_makes_is_not_known() {
    let mut other = Transaction::new();
    let page = (0..9).map(|_| other.create(b"")).last().unwrap();
    let said = board().refuses(|transaction, _| transaction.write(page, 0, b"x"));
    assert!(said.starts_with("step 3: the transaction has made no page number 8 before"), "{said}");
}

#[test]
fn a_cause_is_a_commit_that_there_is() {
    let mut state = crate::board::state();
    create(&mut state, &[1]);
    for cause in [0, 2] {
        let mut transaction = Transaction::new().caused_by(cause);
        transaction.create(&[2]);
        let said = state.commit(&transaction).unwrap_err().to_string();
        assert!(said.contains(&format!("follows from commit {cause}, and the last one is 1")), "{said}");
        assert_eq!((state.epoch(), state.pages().count()), (1, 1));
    }
}

#[test]
fn mask_length_checked() {
    let mut mask = Mask::new(7);
    mask.set_range(0..3);
    let said = board().refuses(|transaction, board| transaction.write_masked(board.source, mask, b"abc"));
    assert!(said.starts_with("step 3: page 0 has 8 bytes, the mask is for 7 and names 3, and 3 are given"), "{said}");
    let mut mask = Mask::new(8);
    mask.set_range(0..3);
    let said = board().refuses(|transaction, board| transaction.write_masked(board.source, mask, b"ab"));
    assert!(said.contains("names 3, and 2 are given"), "{said}");
}

#[test]
fn writes_stay_inside_a_page() {
    let said = board().refuses(|transaction, board| transaction.write(board.source, 6, b"abc"));
    assert_eq!(said, "step 3: page 0 has 8 bytes, and the step goes up to byte 9; make a longer page");
    let said = board().refuses(|transaction, board| transaction.write(board.source, usize::MAX, b"abc"));
    assert!(said.contains("goes up to byte 18446744073709551615"), "{said}");
    let said = board().refuses(|transaction, board| transaction.merge(board.source, 0, Merge::Add, b"abc"));
    assert_eq!(said, "step 3: 3 bytes are merged with page 0; this merge takes multiples of 8");
}

#[test]
fn derived_pages_are_written_by_their_functions_alone() {
    let said = board().refuses(|transaction, board| transaction.write(board.middle, 0, b"x"));
    assert_eq!(said, "step 3: page 1 is derived; write to the pages that it is derived from");
    let said = board().refuses(|transaction, board| transaction.rederive(board.source, sum(), [board.last]));
    assert_eq!(said, "step 3: page 0 is not derived; delete it and derive another page");
    let said = board().refuses(|transaction, _| _ = transaction.derive::<PageId>(1, sum(), []));
    assert!(said.starts_with("step 3: a derived page depends on at least one page"), "{said}");
    let unknown = FunctionName::new("summ", 1);
    let said = board().refuses(|transaction, board| _ = transaction.derive(1, unknown, [board.source]));
    assert_eq!(said, "step 3: there is no function summ version 1; add it to the functions of the state");
    let long = FunctionName::new(&"x".repeat(2_000), 1);
    let said = board().refuses(|transaction, board| _ = transaction.derive(1, long, [board.source]));
    assert_eq!(said, "step 3: the name of the function is longer than 1024 bytes");
}

#[test]
fn a_cycle_is_refused_with_the_names_of_its_pages() {
    let said = board().refuses(|transaction, board| transaction.rederive(board.middle, sum(), [board.last]));
    assert_eq!(said, "pages would be derived from themselves: page 2 from page 1 from page 2");
    let said = board().refuses(|transaction, board| transaction.rederive(board.last, sum(), [board.last]));
    assert_eq!(said, "pages would be derived from themselves: page 2 from page 2");
}

#[test]
fn what_others_are_derived_from_is_not_deleted() {
    let said = board().refuses(|transaction, board| transaction.delete(board.middle));
    assert_eq!(said, "step 3: page 2 is derived from page 1; delete it first, or derive it from other pages");
}

#[test]
fn rollback_restores_bytes() {
    let mut board = board();
    let said = board.refuses(|transaction, board| transaction.write(board.source, 0, &[0; 8]));
    assert_eq!(said, "no-zero version 1 cannot derive page 2: the first byte is zero");
    let Board { state, source, middle, .. } = &mut board;
    assert_eq!((state.read(*source), state.read(*middle)), (Some(&[1; 8][..]), Some(&[1; 8][..])));
    write(state, *source, &[9; 8]);
    assert_eq!(state.read(*middle), Some(&[9; 8][..]), "and goes on as if it had not been");
}

#[test]
fn a_panic_of_a_function_refuses_its_transaction() {
    let mut functions = functions();
    let name = FunctionName::new("panics", 1);
    functions.add(name.clone(), |inputs: &Inputs<'_>, _: &mut [u8]| -> Result<(), FunctionError> {
        assert!(inputs.get(0)[0] < 5, "five is too much");
        Ok(())
    });
    let mut state = State::new(functions, Options::default());
    let source = create(&mut state, &[1]);
    derive(&mut state, 1, name, &[source]);
    let mut transaction = Transaction::new();
    transaction.write(source, 0, &[5]);
    let said = state.commit(&transaction).unwrap_err().to_string();
    assert_eq!(said, "panics version 1 cannot derive page 1: it panicked: five is too much");
    assert_eq!(state.read(source), Some(&[1][..]));
}

#[test]
fn deps_and_edges_agree() {
    let mut state = crate::board::state();
    let (seen, unseen) = (create(&mut state, &[1]), create(&mut state, &[2]));
    let name = FunctionName::new("reads too much", 1);
    state.functions().add(name.clone(), move |inputs: &Inputs<'_>, page: &mut [u8]| {
        // That it goes on as if nothing had happened does not help it.
        page[0] = inputs.page(seen)?[0] + inputs.page(unseen).map_or(0, |bytes| bytes[0]);
        Ok(())
    });
    let mut transaction = Transaction::new();
    transaction.derive(1, name.clone(), [seen]);
    let refused = state.commit(&transaction).unwrap_err();
    assert!(matches!(refused, CommitError::UndeclaredRead { read, .. } if read == unseen));
    let expected = "reads too much version 1, which derives page 2, reads page 1, which is not among its dependencies; name it when page 2 is derived";
    assert_eq!(refused.to_string(), expected);
    let both = derive(&mut state, 1, name, &[seen, unseen]);
    write(&mut state, unseen, &[40]);
    assert_eq!(state.read(both), Some(&[41][..]));
}

#[test]
fn a_function_that_is_not_pure_is_found_out_where_that_is_asked_for() {
    static CALLS: AtomicU8 = AtomicU8::new(0);
    let mut functions = Functions::new();
    let name = FunctionName::new("counts its calls", 1);
    functions.add(name.clone(), |_: &Inputs<'_>, page: &mut [u8]| {
        page[0] = CALLS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let mut state = State::new(functions, Options::default().check_functions(true));
    let source = create(&mut state, &[1]);
    let mut transaction = Transaction::new();
    transaction.derive(1, name, [source]);
    let said = state.commit(&transaction).unwrap_err().to_string();
    assert!(said.contains("was run twice for page 1 with the same input and wrote two things"), "{said}");
}

/// A function says that it needs no zeros, and leaves a byte.
#[test]
fn a_function_that_leaves_bytes_it_said_it_writes_is_found_out_where_that_is_asked_for() {
    struct Half;
    impl Function for Half {
        fn derive(&self, inputs: &Inputs<'_>, page: &mut [u8]) -> Result<(), FunctionError> {
            page[0] = inputs.get(0)[0];
            Ok(())
        }

        fn writes_all(&self, _: &Inputs<'_>, _: usize) -> bool {
            true
        }
    }
    let mut functions = functions();
    let half = FunctionName::new("half", 1);
    functions.add(half.clone(), Half);
    let mut state = State::new(functions, Options::default().check_functions(true));
    let page = create(&mut state, &[7]);
    let mut transaction = Transaction::new();
    transaction.derive(1, half.clone(), [page]);
    assert!(state.commit(&transaction).is_ok(), "it writes all of a page of one byte");
    let mut transaction = Transaction::new();
    transaction.derive(2, half, [page]);
    let said = state.commit(&transaction).unwrap_err().to_string();
    assert!(said.contains("half version 1 was run twice"), "{said}");
}

#[test]
fn equal_epoch_batch_reaches_child() {
    let mut board = board();
    let mut transaction = Transaction::new();
    transaction.write(board.source, 0, &[2]);
    transaction.write(board.source, 1, &[3]);
    let one = board.state.commit(&transaction).unwrap();
    let two = write(&mut board.state, board.source, &[4]);
    assert_eq!((one.statistics.ran, two.epoch), (2, one.epoch + 1), "two writes of one transaction are one change");
    assert_eq!(&board.state.read(board.middle).unwrap()[..3], [4, 3, 1]);
}

#[test]
fn epoch_never_goes_back() {
    let mut board = board();
    let mut last = board.state.epoch();
    for value in [1, 2, 2, 3, 0, 4] {
        let mut transaction = Transaction::new();
        transaction.write(board.source, 0, &[value; 8]);
        let epoch = board.state.commit(&transaction).map_or(board.state.epoch(), |commit| commit.epoch);
        assert!(epoch == last || epoch == last + 1);
        last = epoch;
    }
    assert_eq!(board.state.epoch(), 6, "unchanged and refused ones are not counted");
}
