% The side of SWI-Prolog: reads commands, a line each, and answers with nanoseconds and a checksum.
%
% The checksum is the sum of the lengths of the names that were found.

:- dynamic edge/2, taken/2.

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

% Reads the names that questions of a kind are about.
take(Kind, Path, 0, Count) :-
    retractall(taken(_, _)),
    setup_call_cleanup(open(Path, read, Stream), names(Stream, Names), close(Stream)),
    length(Names, Count),
    assertz(taken(Kind, Names)).

names(Stream, Names) :-
    read_string(Stream, _, Text),
    split_string(Text, "\n", "\n", Lines),
    findall(Name, (member(Line, Lines), Line \== "", atom_string(Name, Line)), Names).

% Asks the questions that were taken.
ask(Nanoseconds, Checksum) :-
    taken(Kind, Names),
    nb_setval(sum, 0),
    timed(asked(Kind, Names), Nanoseconds),
    nb_getval(sum, Checksum).

asked(point, Names) :-
    forall((member(Name, Names), edge(Name, Found)), note(Found)).
asked(second, Names) :-
    forall((member(Name, Names), edge(Found, Name)), note(Found)).
asked(scan, _) :-
    forall(edge(Left, Right), (note(Left), note(Right))).

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
