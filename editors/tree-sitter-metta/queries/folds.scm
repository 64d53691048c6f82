(source_file (list) @fold)
(evaluation (list) @fold)
