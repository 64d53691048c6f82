/**
 * The grammar of MeTTa, as the parser of Metroon reads it (crates/metta/src/syntax).
 *
 * - White space is that of Unicode. A comment goes from `;` to the end of the line.
 * - A word goes up to white space, a bracket or `;`; quotes, `$` and `!` mean nothing within it.
 * - A variable goes up to white space or a bracket: `;` does not end it.
 * - `!` asks at the top level for the next atom to be evaluated; elsewhere it is a word. It can stand several times.
 */

const BLANK = '\\t\\n\\u000b\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const NAME_END = `${BLANK}()`;

module.exports = grammar({
  name: 'metta',

  extras: $ => [new RegExp(`[${BLANK}]`), $.comment],

  word: $ => $.symbol,

  rules: {
    source_file: $ => repeat(choice($.evaluation, $._atom)),

    evaluation: $ => seq(repeat1('!'), field('atom', $._atom)),

    _atom: $ => choice($.list, $.variable, $.string, $.number, $.boolean, $.symbol),

    list: $ => seq('(', repeat($._atom), ')'),

    comment: _ => token(/;[^\n]*/),

    variable: _ => new RegExp(`\\$[^${NAME_END}]*`),

    string: $ => seq('"', repeat(choice($.escape_sequence, $._characters)), token.immediate('"')),

    _characters: _ => token.immediate(prec(1, /[^"\\]+/)),

    escape_sequence: _ => token.immediate(choice(
      /\\['"\\nrt]/,
      /\\x[0-7][0-9a-fA-F]/,
      // As in Hyperon, a further `{` among the digits is overlooked.
      /\\u\{\{*([0-9a-fA-F]\{*){0,8}\}/,
    )),

    // Of two tokens of one length the one that stands first here is taken: a word that is a number is one.
    number: _ => token(choice(
      /[-+]?[0-9]+(\.[0-9]+)?/,
      /[-+]?[0-9]+(\.[0-9]+)?[eE][-+]?[0-9]+/,
    )),

    boolean: _ => choice('True', 'False'),

    symbol: _ => new RegExp(`[^${NAME_END};"$][^${NAME_END};]*`),
  },
});
