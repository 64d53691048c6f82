% The Fibonacci numbers, by their definition.
fib(N, F) :-
    (   N < 2
    ->  F = N
    ;   N1 is N - 1, fib(N1, F1),
        N2 is N - 2, fib(N2, F2),
        F is F1 + F2
    ).

run(N, F) :- fib(N, F).
