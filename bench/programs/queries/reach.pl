% The closure from one node: all nodes that some path leads to.
:- table reach/2.
reach(From, To) :- edge(From, To).
reach(From, To) :- reach(From, Middle), edge(Middle, To).

answers(Count) :- aggregate_all(count, reach(0, _), Count).
