% The sum of all values, asked for by their keys, the last one first.
sum(0, Sum, Sum) :- !.
sum(Key, Before, Sum) :- value(Key, Value), Fewer is Key - 1, After is Before + Value, sum(Fewer, After, Sum).

answers(Sum) :- facts(Facts), sum(Facts, 0, Sum).
