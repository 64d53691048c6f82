% Multiplication of numbers that are written z, s(z), s(s(z)) …
add(z, Y, Y).
add(s(X), Y, s(Z)) :- add(X, Y, Z).
mul(z, _, z).
mul(s(X), Y, Z) :- mul(X, Y, Z1), add(Y, Z1, Z).

from_integer(0, z) :- !.
from_integer(N, s(X)) :- N1 is N - 1, from_integer(N1, X).
to_integer(z, 0).
to_integer(s(X), N) :- to_integer(X, N1), N is N1 + 1.

% Squares a number so many times; the answer is the sum of the squares.
repeat(0, _, Sum, Sum) :- !.
repeat(Times, N, Sum0, Sum) :-
    from_integer(N, A),
    from_integer(N, B),
    mul(A, B, C),
    to_integer(C, Square),
    Sum1 is Sum0 + Square,
    Times1 is Times - 1,
    repeat(Times1, N, Sum1, Sum).
run(N, Times, Sum) :- repeat(Times, N, 0, Sum).
