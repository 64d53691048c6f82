% The side of SWI-Prolog: reads commands, a line each, and answers with nanoseconds and a checksum.
%
% The checksum is the sum of the lengths of the names that were found.

:- dynamic edge/2.

stride(7368787).

main :-
    read_term(user_input, Command, []),
    (   Command == end_of_file
    ->  halt
    ;   call(Command, Nanoseconds, Checksum),
        format("~w ~w~n", [Nanoseconds, Checksum]),
        flush_output,
        main
    ).

% Reads a file of facts and asserts each.
load(Path, Nanoseconds, Count) :-
    retractall(edge(_, _)),
    timed(read_all(Path), Nanoseconds),
    predicate_property(edge(_, _), number_of_clauses(Count)).

read_all(Path) :-
    setup_call_cleanup(open(Path, read, Stream), read_from(Stream), close(Stream)).

read_from(Stream) :-
    repeat,
    read_term(Stream, Fact, []),
    (   Fact == end_of_file
    ->  !
    ;   assertz(Fact),
        fail
    ).

point(Facts, Count, Nanoseconds, Checksum) :-
    stride(Stride),
    findall(Name, (above(Count, Position), Number is Position * Stride mod Facts, atom_concat(a, Number, Name)), Names),
    nb_setval(sum, 0),
    timed(forall((member(Name, Names), edge(Name, Found)), note(Found)), Nanoseconds),
    nb_getval(sum, Checksum).

second(_, Count, Nanoseconds, Checksum) :-
    findall(Name, (above(Count, Number), atom_concat(b, Number, Name)), Names),
    nb_setval(sum, 0),
    timed(forall((member(Name, Names), edge(Found, Name)), note(Found)), Nanoseconds),
    nb_getval(sum, Checksum).

scan(_, Count, Nanoseconds, Checksum) :-
    nb_setval(sum, 0),
    timed(forall((above(Count, _), edge(Left, Right)), (note(Left), note(Right))), Nanoseconds),
    nb_getval(sum, Checksum).

above(Count, Number) :-
    Last is Count - 1,
    between(0, Last, Number).

note(Name) :-
    atom_length(Name, Length),
    nb_getval(sum, Before),
    Sum is Before + Length,
    nb_setval(sum, Sum).

timed(Goal, Nanoseconds) :-
    get_time(Began),
    call(Goal),
    get_time(Ended),
    Nanoseconds is round((Ended - Began) * 1000000000).
