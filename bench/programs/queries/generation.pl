% Same generation: siblings, and children of those of the same generation. An edge leads from a parent to a child.
:- table same/2.
same(One, Other) :- edge(Parent, One), edge(Parent, Other).
same(One, Other) :- edge(Parent, One), same(Parent, OtherParent), edge(OtherParent, Other).

answers(Count) :- aggregate_all(count, same(_, _), Count).
