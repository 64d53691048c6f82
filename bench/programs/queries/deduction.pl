% Deduction of probabilistic logic networks: from A to B and from B to C follows A to C, with a strength by the independence of A and C
% given B, and with the lower confidence. All conclusions of three statements or fewer are made; those that are likely are counted.
deduced(AB, BC, B, C, AC) :- AC is AB * BC + (1 - AB) * (C - B * BC) / (1 - B).

infers(From, _, To, Strength, Confidence) :- inherits(From, To, Strength, Confidence).
infers(From, Statements, To, AC, Confidence) :-
    Statements > 1,
    Fewer is Statements - 1,
    infers(From, Fewer, Middle, AB, ConfidenceAB),
    inherits(Middle, To, BC, ConfidenceBC),
    strength(Middle, B),
    strength(To, C),
    deduced(AB, BC, B, C, AC),
    Confidence is min(ConfidenceAB, ConfidenceBC).

answers(Count) :-
    aggregate_all(count, (strength(Concept, _), infers(Concept, 3, _, Strength, _), Strength > 0.5), Count).
