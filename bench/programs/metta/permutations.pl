% All orders of so many numbers: one of them, then an order of the others. The answer is how many there are.
order([], []).
order(Items, [First | Rest]) :- select(First, Items, Others), order(Others, Rest).

run(Count, Found) :- numlist(1, Count, Items), findall(Order, order(Items, Order), All), length(All, Found).
