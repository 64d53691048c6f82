% The whole closure: all pairs of nodes with a path from one to the other.
:- table path/2.
path(From, To) :- edge(From, To).
path(From, To) :- path(From, Middle), edge(Middle, To).

answers(Count) :- aggregate_all(count, path(_, _), Count).
