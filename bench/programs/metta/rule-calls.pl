% As many clauses as the first size says stand before this. One of them is called again and again; the answer is how often.
repeat(0, Sum, Sum) :- !.
repeat(Times, Sum, Answer) :-
    rule(77, result(Number)), Left is Times - 1, Next is Sum + Number // 77, repeat(Left, Next, Answer).

run(_, Times, Answer) :- repeat(Times, 0, Answer).
