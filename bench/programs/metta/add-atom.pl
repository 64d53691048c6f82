% Facts added to the database one by one. The answer is the first of them, asked for in the end.
:- dynamic item/1.
fill(0) :- !.
fill(N) :- assertz(item(N)), M is N - 1, fill(M).

run(N, N) :- fill(N), item(N), !.
