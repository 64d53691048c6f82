% The lowest common hypernyms of pairs of nouns: what both are a kind of, without what lies above another such noun.
:- table above/2.
above(Noun, Above) :- hypernym(Noun, Above).
above(Noun, Above) :- hypernym(Noun, Up), above(Up, Above).

% All that a noun is a kind of, in the standard order: itself, too.
kinds(Noun, Kinds) :-
    findall(Above, above(Noun, Above), All),
    sort([Noun|All], Kinds).

lowest(One, Other, Lowest) :-
    kinds(One, Kinds),
    kinds(Other, OtherKinds),
    ord_intersection(Kinds, OtherKinds, Common),
    findall(Above, (member(Kind, Common), above(Kind, Above)), All),
    sort(All, Higher),
    ord_subtract(Common, Higher, Lowest).

answers(Count) :- aggregate_all(count, (pair(One, Other), lowest(One, Other, Lowest), member(_, Lowest)), Count).
