% Naive reverse: every element is appended at the end, one call an element passed.
app([], L, L).
app([H|T], L, [H|R]) :- app(T, L, R).
rev([], []).
rev([H|T], R) :- rev(T, S), app(S, [H], R).

% The list N, N-1 … 1.
down(0, []) :- !.
down(N, [N|T]) :- M is N - 1, down(M, T).

% Reverses a list of so many elements so many times; the answer is the sum of the first elements.
repeat(0, _, Sum, Sum) :- !.
repeat(Times, List, Sum0, Sum) :-
    rev(List, [First|_]),
    Sum1 is Sum0 + First,
    Times1 is Times - 1,
    repeat(Times1, List, Sum1, Sum).
run(Length, Times, Sum) :- down(Length, List), repeat(Times, List, 0, Sum).
