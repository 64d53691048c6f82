WITH RECURSIVE path(a, b) AS (
    SELECT a, b FROM edge
    UNION
    SELECT path.a, edge.b FROM path JOIN edge ON edge.a = path.b
)
SELECT * FROM path
