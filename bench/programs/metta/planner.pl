% Blocks on three piles: all plans of a bounded number of moves that bring them where they shall be.
% A pile is table, or on(Block, Pile). A move takes the top of one pile to another.
move(piles(on(X, A), B, C), a_to_b, piles(A, on(X, B), C)).
move(piles(on(X, A), B, C), a_to_c, piles(A, B, on(X, C))).
move(piles(A, on(X, B), C), b_to_a, piles(on(X, A), B, C)).
move(piles(A, on(X, B), C), b_to_c, piles(A, B, on(X, C))).
move(piles(A, B, on(X, C)), c_to_a, piles(on(X, A), B, C)).
move(piles(A, B, on(X, C)), c_to_b, piles(A, on(X, B), C)).

plan(_, Goal, Goal, done).
plan(Bound, Piles, Goal, then(Action, Rest)) :-
    Bound > 0,
    move(Piles, Action, Next),
    Bound1 is Bound - 1,
    plan(Bound1, Next, Goal, Rest).

% The answer is how many plans reverse a pile of four and move it.
run(Bound, Count) :-
    findall(Plan, plan(Bound, piles(on(1, on(2, on(3, on(4, table)))), table, table),
                       piles(table, table, on(4, on(3, on(2, on(1, table))))), Plan), Plans),
    length(Plans, Count).
