% Who keeps the zebra, and who drinks water? The hints are those of examples/zebra.metta, in its order.
% A house is house(Colour, Owner, Pet, Drink, Smoke).
left_of(L, R, [L,R|_]).
left_of(L, R, [_|Rest]) :- left_of(L, R, Rest).

next_to(A, B, Street) :- left_of(A, B, Street).
next_to(A, B, Street) :- left_of(B, A, Street).

hinted_street(Street) :-
    Street = [house(_, norwegian, _, _, _), _, house(_, _, _, milk, _), _, _],
    next_to(house(_, norwegian, _, _, _), house(blue, _, _, _, _), Street),
    left_of(house(ivory, _, _, _, _), house(green, _, _, _, _), Street),
    member(house(red, englishman, _, _, _), Street),
    member(house(yellow, _, _, _, kools), Street),
    next_to(house(_, _, _, _, kools), house(_, _, horse, _, _), Street),
    member(house(green, _, _, coffee, _), Street),
    member(house(_, ukrainian, _, tea, _), Street),
    member(house(_, _, _, juice, lucky_strike), Street),
    member(house(_, _, snails, _, old_gold), Street),
    member(house(_, spaniard, dog, _, _), Street),
    member(house(_, japanese, _, _, parliaments), Street),
    next_to(house(_, _, _, _, chesterfields), house(_, _, fox, _, _), Street).

solution(answer(ZebraOwner, WaterDrinker)) :-
    hinted_street(Street),
    member(house(_, ZebraOwner, zebra, _, _), Street),
    member(house(_, WaterDrinker, _, water, _), Street).

% The answer is how often so many searches found that the Japanese keeps it and the Norwegian drinks water.
repeat(0, Sum, Sum) :- !.
repeat(Times, Sum0, Sum) :-
    findall(found, (solution(Found), Found = answer(japanese, norwegian)), Solutions),
    length(Solutions, Count),
    Sum1 is Sum0 + Count,
    Times1 is Times - 1,
    repeat(Times1, Sum1, Sum).
run(Times, Sum) :- repeat(Times, 0, Sum).
