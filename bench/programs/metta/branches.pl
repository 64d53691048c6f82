% A database branches: each term is stored inside of three others, two of which go on, so many levels deep. Then all are found
% and counted.
:- dynamic term/1.
grow(_, 0) :- !.
grow(T, Levels) :-
    assertz(term(a(T))),
    assertz(term(b(T))),
    assertz(term(c(T))),
    Levels1 is Levels - 1,
    grow(a(T), Levels1),
    grow(b(T), Levels1).

run(Levels, Count) :- assertz(term(root)), grow(root, Levels), findall(term(T), term(T), All), length(All, Count).
