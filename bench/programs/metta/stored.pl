% z, s(z), s(s(z)) … are stored, each when it is made of the one before; then all are found and counted. So many rows of such
% numbers, one after the other; the answer is how many there were.
:- dynamic num/2.
store(_, _, 0) :- !.
store(Row, N, K) :- assertz(num(Row, N)), K1 is K - 1, store(Row, s(N), K1).

rows(_, 0, Sum, Sum) :- !.
rows(K, Rows, Sum0, Sum) :-
    store(Rows, z, K),
    findall(N, num(Rows, N), All),
    length(All, Count),
    Sum1 is Sum0 + Count,
    Rows1 is Rows - 1,
    rows(K, Rows1, Sum1, Sum).
run(K, Rows, Count) :- rows(K, Rows, 0, Count).
