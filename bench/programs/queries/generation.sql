WITH RECURSIVE same(a, b) AS (
    SELECT one.b, other.b FROM edge one JOIN edge other ON other.a = one.a
    UNION
    SELECT one.b, other.b FROM same JOIN edge one ON one.a = same.a JOIN edge other ON other.a = same.b
)
SELECT * FROM same
