% As many clauses as the size says stand before this. Each is called once; the answer is how often.
all(0, Sum, Sum) :- !.
all(Number, Sum, Answer) :-
    Left is Number - 1, rule(Left, result(Found)), Next is Sum + Number - Found, all(Left, Next, Answer).

run(Rules, Answer) :- all(Rules, 0, Answer).
