% As many clauses as the first size says stand before this. Clauses are added to them, each is called; the answer is how many.
grow(_, 0, Sum, Sum) :- !.
grow(From, Times, Sum, Answer) :-
    assertz(rule(From, result(From))), rule(From, result(From)),
    Next is From + 1, Left is Times - 1, More is Sum + 1, grow(Next, Left, More, Answer).

run(N, Times, Answer) :- grow(N, Times, 0, Answer).
