WITH RECURSIVE reach(node) AS (
    SELECT b FROM edge WHERE a = 0
    UNION
    SELECT edge.b FROM reach JOIN edge ON edge.a = reach.node
)
SELECT * FROM reach
