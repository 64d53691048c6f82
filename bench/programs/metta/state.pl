% A global variable read and changed again and again. The answer is what it holds in the end.
count(0) :- !.
count(N) :- nb_getval(counter, C), C1 is C + 1, nb_setval(counter, C1), M is N - 1, count(M).

run(N, Answer) :- nb_setval(counter, 0), count(N), nb_getval(counter, Answer).
