% A bounded search for typed proofs. The base says what is of which type; a rule has premises, each of a type, and comes to a
% type. The answer is how many proofs were found of x = x, in so many searches.
:- op(700, xfx, of).
prove(_, Proof of Type) :- base(Proof, Type).
prove(s(Depth), [Rule, P] of Type) :-
    prove(Depth, Rule of (P of A -> Type)),
    prove(Depth, P of A).
prove(s(Depth), [Rule, P, Q, R] of Type) :-
    prove(Depth, Rule of (P of A, Q of B, R of C -> Type)),
    prove(Depth, P of A),
    prove(Depth, Q of B),
    prove(Depth, R of C).

base(zero, term).
base(x, term).
% y + 0 = y
base(right_zero, (Y of term -> equal(plus(Y, zero), Y))).
% If y = z and y = w then z = w.
base(euclid, (_ of equal(Y, Z), _ of equal(Y, W), _ of term -> equal(Z, W))).

found(Depth, Count) :- findall(Proof, prove(Depth, Proof of equal(x, x)), All), length(All, Count).
search(0, Found, Found) :- !.
search(Times, Found0, Found) :-
    found(s(s(s(z))), More),
    Found1 is Found0 + More,
    Times1 is Times - 1,
    search(Times1, Found1, Found).
run(Times, Found) :- search(Times, 0, Found).
