% All ways to place queens, a row at a time: a column is chosen, and fails if a queen below attacks it.
safe(_, _, []).
safe(Q, D, [X|Xs]) :-
    Q =\= X,
    Q =\= X + D,
    Q =\= X - D,
    D1 is D + 1,
    safe(Q, D1, Xs).

queens(0, _, []) :- !.
queens(Rows, N, [Q|Board]) :-
    Rows1 is Rows - 1,
    queens(Rows1, N, Board),
    between(1, N, Q),
    safe(Q, 1, Board).

% Finds all boards so many times; the answer is how many there were.
repeat(0, _, Sum, Sum) :- !.
repeat(Times, N, Sum0, Sum) :-
    findall(Board, queens(N, N, Board), Boards),
    length(Boards, Count),
    Sum1 is Sum0 + Count,
    Times1 is Times - 1,
    repeat(Times1, N, Sum1, Sum).
run(N, Times, Sum) :- repeat(Times, N, 0, Sum).
