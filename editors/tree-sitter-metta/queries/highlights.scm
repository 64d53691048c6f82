; The later of two patterns for a node decides.

(comment) @comment
(string) @string
(escape_sequence) @string.escape
(number) @number
(boolean) @boolean
(variable) @variable
["(" ")"] @punctuation.bracket
(evaluation "!" @operator)

; What stands first in a list is called.
(list . (symbol) @function.call)

((list . (symbol) @operator)
  (#any-of? @operator "+" "-" "*" "/" "%" "<" ">" "<=" ">=" "==" "!=" "," "->"))

((list . (symbol) @keyword)
  (#any-of? @keyword
    "=" ":" ":<" "@doc" "@desc" "@param" "@params" "@return"
    "if" "if-equal" "if-error" "case" "switch" "let" "let*" "chain" "unify" "function" "return" "eval" "evalc"
    "match" "superpose" "collapse" "quote" "unquote" "sealed" "transaction" "once" "limit" "par" "race"))

((list . (symbol) @keyword.import)
  (#any-of? @keyword.import "import!" "include" "register-module!" "bind!" "pragma!"))

; What a rule defines, and what a type is stated of.
(source_file
  (list . (symbol) @keyword . (list . (symbol) @function) (#eq? @keyword "=")))
(source_file
  (list . (symbol) @keyword . (symbol) @function (#any-of? @keyword ":" ":<" "@doc")))
