% Everything that a noun is a kind of, for every noun of WordNet.
:- table above/2.
above(Noun, Above) :- hypernym(Noun, Above).
above(Noun, Above) :- hypernym(Noun, Up), above(Up, Above).

answers(Count) :- aggregate_all(count, above(_, _), Count).
