% Many results gathered into one. The answer is how many.
down(N, N).
down(N, M) :- N > 1, N1 is N - 1, down(N1, M).

run(N, Count) :- findall(M, down(N, M), All), length(All, Count).
