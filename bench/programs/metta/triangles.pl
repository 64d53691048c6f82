% Edges, as facts, stand before this. The answer is how many closed walks of three steps so many searches found.
triangle(t(X, Y, Z)) :- edge(X, Y), edge(Y, Z), edge(Z, X).

repeat(0, Sum, Sum) :- !.
repeat(Times, Sum0, Sum) :-
    findall(Triangle, triangle(Triangle), Triangles),
    length(Triangles, Count),
    Sum1 is Sum0 + Count,
    Times1 is Times - 1,
    repeat(Times1, Sum1, Sum).
run(Times, Sum) :- repeat(Times, 0, Sum).
