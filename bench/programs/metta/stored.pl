% z, s(z), s(s(z)) … are stored, each when it is made of the one before; then all are found and counted.
:- dynamic num/1.
store(_, 0) :- !.
store(N, K) :- assertz(num(N)), K1 is K - 1, store(s(N), K1).

run(K, Count) :- store(z, K), findall(N, num(N), All), length(All, Count).
