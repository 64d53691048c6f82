% Numbers that are written z, s(z), s(s(z)) … grow in the database: in each round the next of every number that is there is
% added, unless it is known. The answer is how many there are in the end.
:- dynamic num/1.
learn(N) :- num(N), !, fail.
learn(N) :- assertz(num(N)).
round :- findall(N, num(N), Ns), findall(x, (member(N, Ns), learn(s(N))), _).
rounds(0) :- !.
rounds(K) :- round, K1 is K - 1, rounds(K1).

run(K, Count) :- assertz(num(z)), rounds(K), findall(N, num(N), All), length(All, Count).
