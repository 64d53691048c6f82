% Backward chaining with types: the axioms and the prover of examples/chaining.metta.
axiom(socrates_is_greek, greek(socrates)).
axiom(plato_is_greek, greek(plato)).
axiom(socrates_taught, taught(socrates, plato)).
axiom(plato_taught, taught(plato, aristotle)).
axiom(greeks_are_human, arrow(greek(X), human(X))).
axiom(humans_are_mortal, arrow(human(X), mortal(X))).
axiom(pupils_are_human, arrow(taught(_, Y), human(Y))).
axiom(teaching_descends, arrow(taught(X, Y), taught(Y, Z), ancestor_in_thought(X, Z))).

prove(_, Proof, Theorem) :-
    axiom(Proof, Theorem).
prove(s(Fuel), app(Rule, Argument), Theorem) :-
    axiom(Rule, arrow(Premise, Theorem)),
    prove(Fuel, Argument, Premise).
prove(s(Fuel), app(Rule, First, Second), Theorem) :-
    axiom(Rule, arrow(Premise, Other, Theorem)),
    prove(Fuel, First, Premise),
    prove(Fuel, Second, Other).

% The answer is how many proofs so many searches found.
repeat(0, Sum, Sum) :- !.
repeat(Times, Sum0, Sum) :-
    findall(proof(Proof, Who), prove(s(s(s(z))), Proof, mortal(Who)), Proofs),
    length(Proofs, Count),
    Sum1 is Sum0 + Count,
    Times1 is Times - 1,
    repeat(Times1, Sum1, Sum).
run(Times, Sum) :- repeat(Times, 0, Sum).
