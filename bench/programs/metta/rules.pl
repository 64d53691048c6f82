% As many clauses as the size says stand before this. The answer is what the one in the middle of them says.
run(N, Number) :- M is N // 2, rule(M, result(Number)).
