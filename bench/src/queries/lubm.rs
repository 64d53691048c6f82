//! A knowledge graph of universities, and fourteen questions about it, beside a database with one table of triples.
//!
//! 1. [`Universities`] makes the graph: departments, teachers, students, courses, publications and research groups in the numbers that the
//!    Lehigh University Benchmark has, until there are `TRIPLES`. Ours has a fact `(PREDICATE SUBJECT OBJECT)` for each.
//! 2. Subclasses are facts on both sides, closed and reflexive; questions name the class that they ask about, and go through these facts
//!    where it has subclasses. Subproperties are few, and spelled out: ours asks for each, SQL for any of them.
//! 3. A question is a conjunction of patterns. The SQL of the peer has the table once for each of them.
//!
//! Source of the numbers and the questions: Y. Guo, Z. Pan, J. Heflin, LUBM: A benchmark for OWL knowledge base systems (2005).

use super::facts::Facts;
use super::graphs::Form;
use super::peers::Peer;
use super::rivals::{Answer, Rival};
use super::{Contest, Ours, with_cores};
use crate::random::Random;
use crate::{Plan, Rows};

/// How many triples are made, or some more: the last department is whole.
const TRIPLES: usize = 1_000_000;
const TRIPLES_QUICK: usize = 20_000;
/// From how many universities people may have their degrees.
const UNIVERSITIES_OF_DEGREES: usize = 1_000;

/// A class, and all that are below it.
type Below = (&'static str, &'static [&'static str]);

const SUBCLASSES: &[Below] = &[
    (
        "Person",
        &[
            "UndergraduateStudent",
            "GraduateStudent",
            "FullProfessor",
            "AssociateProfessor",
            "AssistantProfessor",
            "Lecturer",
        ],
    ),
    ("Student", &["UndergraduateStudent", "GraduateStudent"]),
    ("Faculty", &["FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer"]),
    ("Professor", &["FullProfessor", "AssociateProfessor", "AssistantProfessor"]),
    ("Course", &["Course", "GraduateCourse"]),
];

/// What is asked: the variables of an answer, and the patterns. One of them may have several heads, with `|` between them.
struct Question {
    number: u32,
    variables: &'static str,
    patterns: &'static [&'static str],
}

const QUESTIONS: &[Question] = &[
    Question {
        number: 1,
        variables: "$x",
        patterns: &["type $x GraduateStudent", "takesCourse $x GraduateCourse0.Department0.University0"],
    },
    Question {
        number: 2,
        variables: "$x $y $z",
        patterns: &[
            "type $x GraduateStudent",
            "type $y University",
            "type $z Department",
            "memberOf $x $z",
            "subOrganizationOf $z $y",
            "undergraduateDegreeFrom $x $y",
        ],
    },
    Question {
        number: 3,
        variables: "$x",
        patterns: &["type $x Publication", "publicationAuthor $x AssistantProfessor0.Department0.University0"],
    },
    Question {
        number: 4,
        variables: "$x $name $email $telephone",
        patterns: &[
            "subclass $class Professor",
            "type $x $class",
            "worksFor $x Department0.University0",
            "name $x $name",
            "emailAddress $x $email",
            "telephone $x $telephone",
        ],
    },
    Question {
        number: 5,
        variables: "$x",
        patterns: &["subclass $class Person", "type $x $class", "memberOf|worksFor $x Department0.University0"],
    },
    Question { number: 6, variables: "$x", patterns: &["subclass $class Student", "type $x $class"] },
    Question {
        number: 7,
        variables: "$x $y",
        patterns: &[
            "subclass $class Student",
            "type $x $class",
            "subclass $kind Course",
            "type $y $kind",
            "takesCourse $x $y",
            "teacherOf AssociateProfessor0.Department0.University0 $y",
        ],
    },
    Question {
        number: 8,
        variables: "$x $y $email",
        patterns: &[
            "subclass $class Student",
            "type $x $class",
            "type $y Department",
            "memberOf $x $y",
            "subOrganizationOf $y University0",
            "emailAddress $x $email",
        ],
    },
    Question {
        number: 9,
        variables: "$x $y $z",
        patterns: &[
            "subclass $class Student",
            "type $x $class",
            "subclass $rank Faculty",
            "type $y $rank",
            "subclass $kind Course",
            "type $z $kind",
            "advisor $x $y",
            "takesCourse $x $z",
            "teacherOf $y $z",
        ],
    },
    Question {
        number: 10,
        variables: "$x",
        patterns: &[
            "subclass $class Student",
            "type $x $class",
            "takesCourse $x GraduateCourse0.Department0.University0",
        ],
    },
    Question {
        number: 11,
        variables: "$x",
        patterns: &[
            "type $x ResearchGroup",
            "subOrganizationOf $x $department",
            "subOrganizationOf $department University0",
        ],
    },
    Question {
        number: 12,
        variables: "$x $y",
        patterns: &["type $y Department", "headOf $x $y", "subOrganizationOf $y University0"],
    },
    Question {
        number: 13,
        variables: "$x",
        patterns: &[
            "subclass $class Person",
            "type $x $class",
            "undergraduateDegreeFrom|mastersDegreeFrom|doctoralDegreeFrom $x University0",
        ],
    },
    Question { number: 14, variables: "$x", patterns: &["type $x UndergraduateStudent"] },
];

pub(super) fn rows(plan: &Plan) -> Rows {
    let facts = facts(if plan.is_quick { TRIPLES_QUICK } else { TRIPLES });
    let rival = Rival::DuckdbTable;
    let file = plan.scratch.join("triples").with_extension(rival.form().extension());
    std::fs::write(&file, facts.text(rival.form()))?;
    let mut ours = Ours::of(&facts.text(Form::Metta))?;
    let mut peer = Peer::start(rival, plan)?;
    peer.load(&file, facts.relation, facts.count)?;
    let row = |question: &Question| {
        ours.state_query(|name| question.rule(name))?;
        peer.state(&question.sql())?;
        let patterns = question.patterns.join(", ");
        let does = rival.note(Answer::Tuple);
        let note = format!("{}: {patterns}; ours gathers answers, {does}", facts.note);
        let name = format!("university question {}", question.number);
        let contest = Contest { name, n: 1, peer: rival.name(), must: Some(1.0), note };
        with_cores(rival, || contest.run(plan, &mut || ours.ask(), &mut || peer.ask_program()))
    };
    QUESTIONS.iter().map(row).collect()
}

impl Question {
    /// The rule that asks it, and answers with the number of answers.
    fn rule(&self, name: &str) -> String {
        let heads =
            self.patterns.iter().find_map(|pattern| pattern.split(' ').next().filter(|head| head.contains('|')));
        let of_head = |head: &str| {
            let one =
                |pattern: &&str| format!("({})", heads.map_or((*pattern).to_owned(), |all| pattern.replace(all, head)));
            let patterns: Vec<String> = self.patterns.iter().map(one).collect();
            format!("(match &self (, {}) ({}))", patterns.join(" "), self.variables)
        };
        let asked = match heads {
            None => of_head(""),
            Some(heads) => format!("(superpose ({}))", heads.split('|').map(of_head).collect::<Vec<_>>().join(" ")),
        };
        format!("(= ({name}) (let $found (collapse {asked}) (size-atom $found)))\n")
    }

    /// The query that asks it over a table of triples.
    fn sql(&self) -> String {
        // The columns in which a variable is.
        let mut columns: Vec<(&str, Vec<String>)> = Vec::new();
        let mut conditions = Vec::new();
        for (number, pattern) in self.patterns.iter().enumerate() {
            for (word, column) in pattern.split(' ').zip(["p", "s", "o"]) {
                let column = format!("t{number}.{column}");
                match columns.iter_mut().find(|(variable, _)| *variable == word) {
                    Some((_, others)) => {
                        conditions.push(format!("{} = {column}", others[0]));
                        others.push(column);
                    }
                    None if word.starts_with('$') => columns.push((word, vec![column])),
                    None if word.contains('|') => {
                        conditions.push(format!("{column} IN ('{}')", word.replace('|', "', '")))
                    }
                    None => conditions.push(format!("{column} = '{word}'")),
                }
            }
        }
        let column = |variable: &str| columns.iter().find(|(other, _)| *other == variable).map(|(_, own)| &*own[0]);
        let shown: Vec<String> = self
            .variables
            .split(' ')
            .filter_map(|variable| Some(format!("{} AS {}", column(variable)?, variable.trim_start_matches('$'))))
            .collect();
        let tables: Vec<String> = (0..self.patterns.len()).map(|number| format!("triple t{number}")).collect();
        format!("SELECT {} FROM {} WHERE {}", shown.join(", "), tables.join(", "), conditions.join(" AND "))
    }
}

/// The graph, with what is below each class.
fn facts(triples: usize) -> Facts {
    let mut made = Universities { random: Random::new(33), lines: Vec::new() };
    let pairs = SUBCLASSES.iter().flat_map(|(above, below)| below.iter().map(move |below| (below, above)));
    pairs.for_each(|(below, above)| made.say("subclass", below, above));
    let mut universities = 0;
    while made.lines.len() < triples {
        made.university(&format!("University{universities}"), triples);
        universities += 1;
    }
    let count = made.lines.len();
    let note = format!("{count} triples about {universities} universities");
    Facts::of_lines("triple/3", count, note, made.lines)
}

/// A graph to be.
struct Universities {
    random: Random,
    lines: Vec<String>,
}

/// Those who teach in a department, and what they teach.
#[derive(Default)]
struct Teaching {
    professors: Vec<String>,
    faculty: usize,
    courses: Vec<String>,
    graduate_courses: Vec<String>,
    publications: Vec<String>,
}

impl Universities {
    fn say(&mut self, predicate: &str, subject: &str, object: &str) {
        self.lines.push(format!("{predicate} {subject} {object}"));
    }

    /// A number between two, both included.
    fn between(&mut self, [least, most]: [usize; 2]) -> usize {
        least + self.random.below(most - least + 1)
    }

    fn is_one_of(&mut self, count: usize) -> bool {
        self.random.below(count) == 0
    }

    fn one_of<'a>(&mut self, all: &'a [String]) -> &'a str {
        &all[self.random.below(all.len())]
    }

    /// Departments, until there are enough triples.
    fn university(&mut self, university: &str, triples: usize) {
        self.say("type", university, "University");
        for number in 0..self.between([15, 25]) {
            if self.lines.len() >= triples {
                return;
            }
            let department = format!("Department{number}.{university}");
            self.say("type", &department, "Department");
            self.say("subOrganizationOf", &department, university);
            self.department(&department);
        }
    }

    fn department(&mut self, department: &str) {
        let mut teaching = Teaching::default();
        let ranks = [
            ("FullProfessor", [7, 10], [15, 20]),
            ("AssociateProfessor", [10, 14], [10, 18]),
            ("AssistantProfessor", [8, 11], [5, 10]),
            ("Lecturer", [5, 7], [0, 5]),
        ];
        for (rank, members, publications) in ranks {
            for number in 0..self.between(members) {
                let teacher = format!("{rank}{number}.{department}");
                self.person(&teacher, rank, "worksFor", department);
                self.teacher(&teacher, department, &mut teaching);
                for number in 0..self.between(publications) {
                    let publication = format!("Publication{number}.{teacher}");
                    self.say("type", &publication, "Publication");
                    self.say("publicationAuthor", &publication, &teacher);
                    teaching.publications.push(publication);
                }
                if rank != "Lecturer" {
                    teaching.professors.push(teacher);
                }
            }
        }
        self.say("headOf", &format!("FullProfessor0.{department}"), department);
        self.students(department, &teaching);
        for number in 0..self.between([10, 20]) {
            let group = format!("ResearchGroup{number}.{department}");
            self.say("type", &group, "ResearchGroup");
            self.say("subOrganizationOf", &group, department);
        }
    }

    /// Somebody with a class, who belongs to a department.
    fn person(&mut self, person: &str, class: &str, belongs: &str, department: &str) {
        let name = person.split('.').next().unwrap_or(person);
        let telephone = self.between([1_000_000, 9_999_999]);
        self.say("type", person, class);
        self.say(belongs, person, department);
        self.say("name", person, &format!("\"{name}\""));
        self.say("emailAddress", person, &format!("\"{name}@{department}.edu\""));
        self.say("telephone", person, &format!("\"{telephone}\""));
    }

    fn degree(&mut self, predicate: &str, person: &str) {
        let university = self.random.below(UNIVERSITIES_OF_DEGREES);
        self.say(predicate, person, &format!("University{university}"));
    }

    /// What a teacher studied and teaches.
    fn teacher(&mut self, teacher: &str, department: &str, teaching: &mut Teaching) {
        teaching.faculty += 1;
        for predicate in ["undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom"] {
            self.degree(predicate, teacher);
        }
        let interest = self.random.below(30);
        self.say("researchInterest", teacher, &format!("\"Research{interest}\""));
        for (class, courses) in [("Course", &mut teaching.courses), ("GraduateCourse", &mut teaching.graduate_courses)]
        {
            for _ in 0..self.between([1, 2]) {
                let course = format!("{class}{}.{department}", courses.len());
                self.say("type", &course, class);
                self.say("name", &course, &format!("\"{class}{}\"", courses.len()));
                self.say("teacherOf", teacher, &course);
                courses.push(course);
            }
        }
    }

    fn students(&mut self, department: &str, teaching: &Teaching) {
        for number in 0..teaching.faculty * self.between([8, 14]) {
            let student = format!("UndergraduateStudent{number}.{department}");
            self.person(&student, "UndergraduateStudent", "memberOf", department);
            self.courses(&student, &teaching.courses, [2, 4]);
            if self.is_one_of(5) {
                let advisor = self.one_of(&teaching.professors);
                self.say("advisor", &student, advisor);
            }
        }
        for number in 0..teaching.faculty * self.between([3, 4]) {
            let student = format!("GraduateStudent{number}.{department}");
            self.person(&student, "GraduateStudent", "memberOf", department);
            self.degree("undergraduateDegreeFrom", &student);
            self.courses(&student, &teaching.graduate_courses, [1, 3]);
            let advisor = self.one_of(&teaching.professors);
            self.say("advisor", &student, advisor);
            if self.is_one_of(5) {
                let course = self.one_of(&teaching.courses);
                self.say("teachingAssistantOf", &student, course);
            }
            for _ in 0..self.between([0, 5]) {
                let publication = self.one_of(&teaching.publications);
                self.say("publicationAuthor", publication, &student);
            }
        }
    }

    /// A student takes different courses.
    fn courses(&mut self, student: &str, courses: &[String], bounds: [usize; 2]) {
        let count = self.between(bounds);
        let first = self.random.below(courses.len());
        for number in 0..count {
            // Steps of a quarter of all courses lead to different ones.
            let course = &courses[(first + number * (courses.len() / 4)) % courses.len()];
            self.say("takesCourse", student, course);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_question_is_a_rule_and_a_query_over_triples() {
        let question = &QUESTIONS[10];
        let rule = question.rule("ask");
        assert!(rule.contains("(match &self (, (type $x ResearchGroup) (subOrganizationOf $x $department) "), "{rule}");
        assert_eq!(
            question.sql(),
            "SELECT t0.s AS x FROM triple t0, triple t1, triple t2 WHERE t0.p = 'type' AND t0.o = 'ResearchGroup' AND \
             t1.p = 'subOrganizationOf' AND t0.s = t1.s AND t2.p = 'subOrganizationOf' AND t1.o = t2.s AND t2.o = 'University0'"
        );
        let rule = QUESTIONS[4].rule("ask");
        assert!(
            rule.contains("(collapse (superpose ((match &self (, (subclass $class Person) (type $x $class) (memberOf "),
            "{rule}"
        );
        assert!(QUESTIONS[4].sql().contains("t2.p IN ('memberOf', 'worksFor') AND "), "{}", QUESTIONS[4].sql());
        let numbers: Vec<u32> = QUESTIONS.iter().map(|question| question.number).collect();
        assert_eq!(numbers, (1..=14).collect::<Vec<_>>());
    }

    #[test]
    fn each_question_has_an_answer_in_ours() {
        let facts = facts(40_000);
        let text = facts.text(Form::Metta);
        let mut ours = Ours::of(&text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), facts.count);
        let count = |start: &str, end: &str| {
            lines.iter().filter(|line| line.starts_with(start) && line.ends_with(end)).count() as u64
        };
        for question in QUESTIONS {
            ours.state_query(|name| question.rule(name)).unwrap();
            let answers = ours.ask().unwrap().checksum;
            match question.number {
                // So few students have a degree of the only university that there may be none.
                2 | 13 => {}
                6 => {
                    assert_eq!(answers, count("(type ", "UndergraduateStudent)") + count("(type ", " GraduateStudent)"))
                }
                12 => assert_eq!(answers, count("(headOf ", ".University0)")),
                14 => assert_eq!(answers, count("(type ", " UndergraduateStudent)")),
                number => assert!(answers > 0, "question {number}"),
            }
        }
    }

    #[test]
    fn no_triple_comes_twice_except_where_publications_are_drawn() {
        let facts = facts(40_000);
        let text = facts.text(Form::Csv);
        let others: Vec<&str> = text.lines().filter(|line| !line.contains(",publicationAuthor,")).collect();
        let different: HashSet<&&str> = others.iter().collect();
        assert_eq!(different.len(), others.len());
    }
}
