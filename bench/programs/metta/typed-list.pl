% All numbers up to one as a list of cons/2 and nil, and their sum.
upto(0, nil) :- !.
upto(N, cons(N, L)) :- M is N - 1, upto(M, L).
sum(nil, 0).
sum(cons(X, Xs), Sum) :- sum(Xs, Sum1), Sum is X + Sum1.

% So many times; the answer is the sum of the sums.
repeat(0, _, Total, Total) :- !.
repeat(Times, N, Total0, Total) :-
    upto(N, L),
    sum(L, Sum),
    Total1 is Total0 + Sum,
    Times1 is Times - 1,
    repeat(Times1, N, Total1, Total).
run(N, Times, Total) :- repeat(Times, N, 0, Total).
