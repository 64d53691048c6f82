//! The top of a program: declarations, questions, and what changes at run time.
//!
//! What reads after a write stands where there is one alternative: the parts of a change are joined by `let*`, and what
//! may have many results is collapsed before the next part. So no alternative sees what another one did, and an
//! evaluator may try them in any order.

use crate::features::Feature;
use crate::functions::Function;
use crate::kinds::Kind;
use crate::writer::{DEPTH, Writer};

type Change = fn(&mut Writer);

const CHANGES: &[(Feature, Change)] = &[
    (Feature::Core, Writer::plain_rule),
    (Feature::RuleChanges, Writer::changed_rule),
    (Feature::RuleChanges, Writer::changed_inside),
    (Feature::RuleChanges, Writer::changed_while_entered),
    (Feature::RuleChanges, Writer::constructor_rule),
    (Feature::TypeChanges, Writer::changed_type),
    (Feature::TypeChanges, Writer::changed_type_inside),
    (Feature::Match, Writer::changed_fact),
    (Feature::States, Writer::changed_state),
    (Feature::States, Writer::counting_loop),
    (Feature::Spaces, Writer::space_change),
    (Feature::Spaces, Writer::space_question),
    (Feature::Assertions, Writer::assertion),
    (Feature::VariableHeads, Writer::variable_headed_rule),
    (Feature::Transactions, Writer::transaction),
];

impl Writer {
    /// What the functions to come may use.
    pub(crate) fn declarations(&mut self) {
        if self.has(Feature::Types) {
            self.declare_types();
        }
        for (feature, lines) in LIBRARY {
            if self.has(*feature) {
                lines.iter().for_each(|line| self.line(*line));
            }
        }
        self.declare_functionals();
        if self.has(Feature::Match) {
            for _ in 0..3 + self.dice.below(4) {
                let fact = self.fact();
                self.line(fact);
            }
        }
    }

    fn declare_types(&mut self) {
        let groups: [&[&str]; 4] = [
            &["(: Z Nat)", "(: S (-> Nat Nat))"],
            &["(: red Color)", "(: green Color)", "(: blue Color)"],
            &["(: None Data)", "(: Box (-> Number Data))", "(: Pair (-> Color Number Data))"],
            &["(: Nil (List Number))", "(: Cons (-> Number (List Number) (List Number)))"],
        ];
        for group in groups {
            let is_parametric = group[0].contains("List") && self.has(Feature::Parametric);
            if !self.dice.one_in(4) {
                for line in group {
                    let line = if is_parametric { line.replace("Number", "$t") } else { (*line).to_owned() };
                    self.types.push(line.clone());
                    self.line(line);
                }
            }
        }
        if self.has(Feature::Subtypes) {
            self.types.push("(:< Tiny Color)".to_owned());
            self.line("(:< Tiny Color)");
            self.line("(: tiny Tiny)");
        }
    }

    fn fact(&mut self) -> String {
        let color = self.value(Kind::Color);
        match self.dice.below(3) {
            0 => format!("(edge {color} {})", self.value(Kind::Color)),
            1 => format!("(age {color} {})", self.value(Kind::Number)),
            _ => format!("(item {})", self.value(Kind::Data)),
        }
    }

    /// A question: anything, mostly with its errors kept from ending the run.
    pub(crate) fn question(&mut self) {
        let asked = match self.callee(|_| true) {
            // Something calls each function, and most questions are about one.
            Some(function) if !self.dice.one_in(3) => {
                let arguments = self.arguments(&function, DEPTH - 1);
                crate::functions::call(&function.name, &arguments)
            }
            _ => {
                let kind = self.kind();
                self.asked(kind)
            }
        };
        let line = match self.dice.below(5) {
            0 => format!("!{asked}"),
            1 if self.has(Feature::Quoting) => format!("!(bag (collapse (get-type {asked})))"),
            _ => format!("!(bag (collapse {asked}))"),
        };
        self.line(line);
    }

    /// An expression in brackets: a bare word after `!` would be a symbol.
    fn asked(&mut self, kind: Kind) -> String {
        let expression = match self.dice.below(3) {
            0 => self.call(kind, DEPTH),
            _ => self.expression(kind, DEPTH + 1),
        };
        if expression.starts_with('(') { expression } else { format!("(id {expression})") }
    }

    pub(crate) fn change(&mut self) {
        let change = self.choose(CHANGES);
        change(self);
    }

    fn any_function(&mut self) -> (usize, Function) {
        let index = self.dice.below(self.functions.len());
        (index, self.functions[index].clone())
    }

    /// A rule more for a function.
    fn new_rule(&mut self) -> (Function, String) {
        let (index, function) = self.any_function();
        let level = std::mem::replace(&mut self.level, index);
        let (head, body) = self.table_rule(&function.name, &function.parameters, function.result);
        self.level = level;
        let rule = format!("(= {head} {body})");
        self.rules.push(rule.clone());
        (function, rule)
    }

    /// All answers of a call, in an order that does not show.
    fn all_of(&mut self, function: &Function) -> String {
        let arguments: Vec<String> = function.parameters.iter().map(|kind| self.value(*kind)).collect();
        format!("(bag (collapse {}))", crate::functions::call(&function.name, &arguments))
    }

    fn plain_rule(&mut self) {
        let (function, rule) = self.new_rule();
        self.line(rule);
        let asked = self.all_of(&function);
        self.line(format!("!{asked}"));
    }

    /// Adds or removes a rule.
    fn changing(&mut self) -> (Function, String) {
        if self.rules.is_empty() || !self.has(Feature::RuleRemovals) || self.dice.one_in(2) {
            let (function, rule) = self.new_rule();
            return (function, format!("(add-atom &self {rule})"));
        }
        let rule = self.rules[self.dice.below(self.rules.len())].clone();
        let changed = self.functions.iter().find(|function| {
            let head = format!("(= ({}", function.name);
            rule.strip_prefix(&head).is_some_and(|rest| rest.starts_with([' ', ')']))
        });
        let function = changed.cloned().unwrap_or_else(|| self.any_function().1);
        (function, format!("(remove-atom &self {rule})"))
    }

    fn changed_rule(&mut self) {
        let (function, change) = self.changing();
        self.line(format!("!{change}"));
        let asked = self.all_of(&function);
        self.line(format!("!{asked}"));
    }

    /// A function is asked, changed and asked again in one evaluation.
    fn changed_inside(&mut self) {
        let (function, change) = self.changing();
        let (before, after) = (self.all_of(&function), self.all_of(&function));
        // Evaluated again, the first of several errors would be the result.
        let kept = if self.has(Feature::Order) { "$b" } else { "(quote $b)" };
        let other = self.functions.last().expect("there are functions").clone();
        let above = self.all_of(&other);
        let line = match self.dice.below(4) {
            0 => format!("!({before} {change} {after})"),
            1 => format!("!(let* (($b {before}) ($c {change}) ($d {after})) ({kept} $c (quote $d) {above}))"),
            2 => format!("!(let $b {before} (let $c {change} ({kept} {after} {above})))"),
            _ => format!("!(chain (metta {change} %Undefined% &self) $c ($c {after} {above}))"),
        };
        self.line(line);
    }

    /// A function that changes another one, or itself, between its own calls.
    fn changed_while_entered(&mut self) {
        let name = self.fresh("grow");
        let changes_type = self.has(Feature::TypeChanges) && self.dice.one_in(3);
        let (function, change) = if changes_type { self.type_change() } else { self.changing() };
        let asked = self.all_of(&function);
        let rest = format!("({name} (- $n 1))");
        let (end, wrapped) = match self.dice.below(3) {
            0 => (asked.clone(), format!("(step {asked} {rest})")),
            1 => ("end".to_owned(), format!("(step {rest} {asked})")),
            _ => (asked.clone(), rest),
        };
        let change = match self.dice.below(3) {
            0 => format!("(add-atom &self (= ({name} 0) more))"),
            1 => format!("(remove-atom &self (= ({name} 0) never))"),
            _ => change,
        };
        if self.dice.one_in(3) {
            self.line(format!("(= ({name} 0) never)"));
        }
        self.line(format!("(= ({name} $n) (if (< $n 1) {end} (let $c {change} {wrapped})))"));
        let times = 1 + self.dice.below(3);
        self.line(format!("!(bag (collapse ({name} {times})))"));
        self.line(format!("!(bag (collapse ({name} 1)))"));
    }

    /// A constructor becomes a function, and perhaps data again.
    fn constructor_rule(&mut self) {
        let (pattern, body) = self.dice.pick(&[
            ("(Box $x)", "None"),
            ("(Pair $c $x)", "(Box $x)"),
            ("(S (S Z))", "two"),
            ("(Cons $x Nil)", "(one $x)"),
            ("None", "nothing"),
        ]);
        let rule = format!("(= {pattern} {body})");
        self.line(format!("!(add-atom &self {rule})"));
        self.question();
        if self.dice.one_in(2) && self.has(Feature::RuleRemovals) {
            self.line(format!("!(remove-atom &self {rule})"));
            self.question();
        }
    }

    fn type_change(&mut self) -> (Function, String) {
        let (index, function) = self.any_function();
        let removes = self.has(Feature::RuleRemovals);
        let known = |types: &[String]| {
            let name = format!("(: {} ", function.name);
            types.iter().position(|line| line.starts_with(&name) && (removes || !line.contains('$')))
        };
        let has_many = self.has(Feature::SeveralTypes);
        let change = match (self.dice.below(8), known(&self.types)) {
            (0..4, Some(at)) => format!("(remove-atom &self {})", self.types.remove(at)),
            (4, _) if self.has(Feature::Subtypes) => self.subtype_change(),
            (5, _) if has_many => "(add-atom &self (: red Number))".to_owned(),
            (6, _) if has_many => "(add-atom &self (: Box (-> Color Data)))".to_owned(),
            (_, Some(at)) if !has_many => format!("(remove-atom &self {})", self.types.remove(at)),
            _ => {
                let declaration = self.type_declaration(index);
                self.types.push(declaration.clone());
                format!("(add-atom &self {declaration})")
            }
        };
        (function, change)
    }

    /// Removes a fact about subtypes, or adds it once: how often it is known is seen only in the number of errors.
    fn subtype_change(&mut self) -> String {
        let fact = self.dice.pick(&["(:< Tiny Color)", "(:< Color Number)"]);
        if let Some(at) = self.types.iter().position(|known| known == fact) {
            return format!("(remove-atom &self {})", self.types.remove(at));
        }
        self.types.push(fact.to_owned());
        format!("(add-atom &self {fact})")
    }

    fn changed_type(&mut self) {
        let (function, change) = self.type_change();
        self.line(format!("!{change}"));
        let asked = self.all_of(&function);
        self.line(format!("!{asked}"));
        self.question();
    }

    fn changed_type_inside(&mut self) {
        let (function, change) = self.type_change();
        let (before, after) = (self.all_of(&function), self.all_of(&function));
        self.line(format!("!(let* (($b {before}) ($c {change})) ((quote $b) {after}))"));
    }

    fn changed_fact(&mut self) {
        let fact = self.fact();
        let verb = self.dice.pick(&["add-atom", "remove-atom"]);
        self.line(format!("!({verb} &self {fact})"));
        let kind = self.kind();
        let asked = self.query(kind, 2);
        self.line(format!("!(bag (collapse {asked}))"));
    }

    fn changed_state(&mut self) {
        if self.states.is_empty() || self.dice.one_in(4) {
            let (name, kind) = (self.fresh("&st"), self.state_kind());
            let value = self.value(kind);
            self.line(format!("!(bind! {name} (new-state {value}))"));
            self.states.push(name);
        }
        let state = self.states[self.dice.below(self.states.len())].clone();
        let kind = self.state_kind();
        let value = match self.dice.below(3) {
            0 => format!("(get-state {state})"),
            1 => self.value(kind),
            _ => self.size_of_all(),
        };
        self.line(format!("!(bag (collapse (change-state! {state} {value})))"));
        let asked = self.asked(kind);
        self.line(format!("!(bag (collapse ((get-state {state}) {asked})))"));
    }

    fn state_kind(&mut self) -> Kind {
        if self.has(Feature::UntypedStates) { self.kind() } else { Kind::Number }
    }

    /// A number that has one value, whatever it counts.
    fn size_of_all(&mut self) -> String {
        let kind = self.kind();
        format!("(let $all (collapse {}) (size-atom $all))", self.expression(kind, 2))
    }

    fn counting_loop(&mut self) {
        let (name, state) = (self.fresh("count"), self.fresh("&st"));
        let step = self.size_of_all();
        self.line(format!("!(bind! {state} (new-state 0))"));
        self.line(format!(
            "(= ({name} $n) (if (< $n 1) (get-state {state}) \
             (let $_ (change-state! {state} (+ {step} (get-state {state}))) ({name} (- $n 1)))))"
        ));
        let times = self.dice.below(5);
        self.line(format!("!({name} {times})"));
    }

    fn space(&mut self) -> String {
        if self.spaces.is_empty() || self.dice.one_in(4) {
            let name = self.fresh("&sp");
            self.line(format!("!(bind! {name} (new-space))"));
            self.spaces.push(name);
        }
        self.spaces[self.dice.below(self.spaces.len())].clone()
    }

    fn space_change(&mut self) {
        let (space, fact) = (self.space(), self.fact());
        let kind = self.kind();
        let line = match self.dice.below(4) {
            0 => format!("!(remove-atom {space} {fact})"),
            1 => format!("!(bag (collapse (let $v {} (add-atom {space} (item $v)))))", self.expression(kind, 2)),
            2 => format!("!(add-atom {space} (= (own $x) (seen $x)))"),
            _ => format!("!(add-atom {space} {fact})"),
        };
        self.line(line);
    }

    fn space_question(&mut self) {
        let (space, kind) = (self.space(), self.kind());
        let line = match self.dice.below(4) {
            0 => format!("!(get-atoms {space})"),
            1 => format!("!(bag (collapse (evalc (own {}) {space})))", self.value(kind)),
            2 => format!("!(bag (collapse (match {space} (item $v) (found $v))))"),
            _ => format!("!(bag (collapse {}))", self.query(kind, 2).replacen("&self", &space, 1)),
        };
        self.line(line);
    }

    fn assertion(&mut self) {
        let kind = self.kind();
        let (asked, value) = (self.asked(kind), self.value(kind));
        let line = match self.dice.below(5) {
            0 => format!("!(assertEqual {asked} {asked})"),
            1 => format!("!(assertAlphaEqual {asked} {asked})"),
            2 => format!("!(assertEqual {} {})", self.size_of_all(), self.dice.below(3)),
            3 => format!("!(bag (collapse (assertEqualToResult {value} ({value}))))"),
            _ => format!("!(assertEqualToResult {value} ({value}))"),
        };
        self.line(line);
    }

    fn transaction(&mut self) {
        let (function, change) = self.changing();
        let asked = self.all_of(&function);
        let line = match self.dice.below(4) {
            0 => format!("!(bag (collapse (transaction (let $c {change} {asked}))))"),
            1 => format!("!(bag (collapse (transaction (let $c {change} (Error {asked} undone)))))"),
            2 => format!("!(let* (($c {change}) ($d (commit!))) {asked})"),
            _ => format!(
                "!(bag (collapse (transaction (let $c {change} (transaction (let $d {asked} (Error $d undone)))))))"
            ),
        };
        self.line(line);
        let after = self.all_of(&function);
        self.line(format!("!{after}"));
    }

    fn variable_headed_rule(&mut self) {
        let kind = self.kind();
        let rule = match self.dice.below(3) {
            0 => "(= ($f (Key $x)) (opened $f $x))".to_owned(),
            1 => format!("(= ($f (Key {})) plain)", self.value(kind)),
            _ => "(= ($f (Key $x)) $x)".to_owned(),
        };
        let line = if self.dice.one_in(2) { format!("!(add-atom &self {rule})") } else { rule };
        self.line(line);
        let asked = self.value(kind);
        self.line(format!("!(bag (collapse (any (Key {asked}))))"));
    }
}

/// What some features need.
const LIBRARY: &[(Feature, &[&str])] = &[
    (
        Feature::Relational,
        &[
            "(= (add (F $k) Z $y) $y)",
            "(= (add (F $k) (S $x) $y) (S (add $k $x $y)))",
            "(= (append (F $k) Nil $l) $l)",
            "(= (append (F $k) (Cons $h $t) $l) (Cons $h (append $k $t $l)))",
        ],
    ),
    (Feature::Curried, &["(= ((plus $a) $b) (+ $a $b))"]),
    (Feature::HigherOrder, &["(= (double $x) (+ $x $x))", "(= (twice $f $x) ($f ($f $x)))"]),
    (
        Feature::Dependent,
        &[
            "(: VNil (Vec $t Z))",
            "(: VCons (-> $t (Vec $t $n) (Vec $t (S $n))))",
            "(: vhead (-> (Vec $t (S $n)) $t))",
            "(= (vhead (VCons $x $xs)) $x)",
        ],
    ),
];
