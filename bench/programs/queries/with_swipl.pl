% The side of SWI-Prolog: reads commands, a line each, and answers with nanoseconds and a checksum, which is the number of answers.
%
% Answers are gathered by findall/3, or counted where ours does not keep them either.

main :-
    read_term(user_input, Command, []),
    (   Command == end_of_file
    ->  halt
    ;   call(Command, Nanoseconds, Checksum),
        format("~w ~w~n", [Nanoseconds, Checksum]),
        flush_output,
        main
    ).

% Loads a file of facts as a program that does not change; those of one predicate are counted.
load(Path, Name/Arity, Nanoseconds, Count) :-
    timed(load_files(Path, [silent(true)]), Nanoseconds),
    functor(Fact, Name, Arity),
    predicate_property(Fact, number_of_clauses(Count)).

% The program of a file is asked from now on: a number is its answer.
state(Path, 0, 1) :-
    load_files(Path, [silent(true)]).

:- dynamic found/1.

% The query that is asked from now on: a body such as [A-B, B-C, A-C], whose goals are called in this order, and the term of an answer.
take(Answer, Edges, 0, Count) :-
    length(Edges, Count),
    goals(Edges, Body),
    retractall(found(_)),
    assertz((found(Answer) :- Body)).

goals([X-Y], edge(X, Y)) :- !.
goals([X-Y|Edges], (edge(X, Y), Body)) :- goals(Edges, Body).

ask(gather, Nanoseconds, Count) :-
    timed(findall(Answer, found(Answer), Answers), Nanoseconds),
    length(Answers, Count).
ask(count, Nanoseconds, Count) :-
    timed(aggregate_all(count, found(_), Count), Nanoseconds).
ask(program, Nanoseconds, Number) :-
    abolish_all_tables,
    timed(answers(Number), Nanoseconds).

timed(Goal, Nanoseconds) :-
    get_time(Began),
    call(Goal),
    get_time(Ended),
    Nanoseconds is round((Ended - Began) * 1000000000).
