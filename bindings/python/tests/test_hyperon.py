"""The names of hyperon, in the ways in which its users have them."""

import subprocess
import sys
import threading

import pytest

from metroon import hyperon
from metroon.hyperon import AbstractSpace, BindingsSet, E, Environment, G, MeTTa, OperationAtom, S, SpaceRef, V, ValueAtom


def test_every_public_name_is_there():
    names = """
        AbstractSpace Atom AtomKind AtomType Atoms Bindings BindingsSet E Environment ExpressionAtom G GroundedAtom GroundedObject
        GroundingSpace GroundingSpaceRef IncorrectArgumentError Interpreter MatchableAtom MatchableObject MeTTa MettaError
        ModuleDescriptor NoReduceError OperationAtom OperationObject PrimitiveAtom RunContext RunnerState S SExprParser SpaceRef
        SymbolAtom SyntaxNode SyntaxNodeType Tokenizer V ValueAtom ValueObject VariableAtom atom_is_error atoms_are_equivalent
        check_type get_atom_types get_string_value interpret unwrap_args validate_atom SerialResult Serializer
    """.split()
    assert [name for name in names if not hasattr(hyperon, name)] == []


def test_import_hyperon_means_this_after_install(tmp_path):
    program = "import metroon.hyperon as h; h.install(); from hyperon import MeTTa; import hyperonpy; from hyperon.ext import register_atoms\n"
    program += "import hyperon.stdlib; from hyperon.exts.agents import AgentObject, EventAgent\n"
    program += "from hyperon.exts.agents.agent_base import StreamMethod; assert issubclass(EventAgent, AgentObject); print(MeTTa().run('!(+ 1 2)'))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert found.stdout == "[[3]]\n", found.stderr


def test_a_module_of_python_is_imported_and_gets_the_runner(tmp_path):
    (tmp_path / "extension_of_test.py").write_text(
        "from metroon.hyperon import *\n"
        "from metroon.hyperon.ext import register_atoms\n"
        "@register_atoms(pass_metta=True)\n"
        "def words(metta):\n"
        "    ask = OperationAtom('ask', lambda text: metta.run(text.content if hasattr(text, 'content') else text)[0][0], unwrap=True)\n"
        "    again = OperationAtom('again', lambda atom: metta.evaluate_atom(atom), ['Atom', 'Atom'], unwrap=False)\n"
        "    return {'ask': ask, 'again': again, '&own': G(metta.space())}\n"
    )
    metta = MeTTa(env_builder=Environment.custom_env(working_dir=str(tmp_path)))
    assert repr(metta.run("!(import! &self extension_of_test) (fact 1) !(again (match &self (fact $x) $x)) !(match &own (fact $x) $x)")) == (
        "[[()], [1], [1]]"
    )


def test_a_module_that_cannot_be_imported_is_an_error_atom(tmp_path):
    (tmp_path / "broken_of_test.py").write_text("1 / 0")
    metta = MeTTa(env_builder=Environment.custom_env(working_dir=str(tmp_path)))
    (found,) = metta.run("!(import! &self broken_of_test)")
    assert hyperon.atom_is_error(found[0]) and "ZeroDivisionError" in repr(found[0])
    (found,) = metta.run("!(import! &self not_there_at_all)")
    assert hyperon.atom_is_error(found[0])


class Listed(AbstractSpace):
    def __init__(self):
        self.atoms = []

    def query(self, query_atom):
        found = BindingsSet.empty()
        for atom in self.atoms:
            for bindings in atom.match_atom(query_atom).iterator():
                found.push(bindings)
        return found

    def add(self, atom):
        self.atoms.append(atom)

    def remove(self, atom):
        if atom in self.atoms:
            self.atoms.remove(atom)
            return True
        return False

    def atoms_iter(self):
        return iter(self.atoms)


def test_a_space_written_in_python_is_asked_and_changed_by_programs():
    space = SpaceRef(Listed())
    metta = MeTTa()
    metta.register_atom("&listed", G(space))
    assert repr(metta.run("!(add-atom &listed (edge a b)) !(match &listed (edge $x b) $x) !(get-atoms &listed)")) == (
        "[[()], [a], [(edge a b)]]"
    )
    assert space.get_atoms() == [E(S("edge"), S("a"), S("b"))]
    metta.run("!(remove-atom &listed (edge a b))")
    assert space.get_atoms() == []


def test_what_an_operation_raises_is_an_error_with_its_place():
    metta = MeTTa()
    metta.register_atom("fails", OperationAtom("fails", lambda: 1 / 0))
    (found,) = metta.run("!(fails)")
    assert hyperon.atom_is_error(found[0]) and "ZeroDivisionError" in repr(found[0]) and "test_hyperon.py" in repr(found[0])
    with pytest.raises(RuntimeError, match="Unexpected end of expression"):
        metta.run("!(fails")


def test_operations_and_values_keep_their_objects():
    metta = MeTTa()
    marker = object()
    metta.register_atom("marker", ValueAtom(marker))
    metta.register_atom("same", OperationAtom("same", lambda value: value is marker))
    assert metta.run("!marker ! marker !(same marker)")[-1] == [ValueAtom(True)]
    assert metta.run("! marker")[0][0].get_object().value is marker
    for number in range(3):
        metta.register_atom("made", OperationAtom("made", lambda number=number: number))
        assert metta.run("!(made)") == [[ValueAtom(number)]]


def test_runners_are_used_by_several_threads():
    metta, wrong = MeTTa(), []

    def work(name):
        for number in range(20):
            metta.space().add_atom(E(S(name), ValueAtom(number)))
            if metta.run(f"!(collapse (match &self ({name} $x) $x))")[0][0].get_children() == []:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and metta.space().atom_count() == 80


def test_the_command_runs_a_file(tmp_path):
    (tmp_path / "program.metta").write_text('(= (double $x) (* 2 $x))\n!(double 21)\n!(py-dot (py-atom math) pi)')
    command = [sys.executable, "-m", "metroon.hyperon.metta"]
    found = subprocess.run([*command, "program.metta"], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert found.stdout == "[42]\n[3.141592653589793]\n" and found.returncode == 0, found.stderr
    found = subprocess.run([*command, "none.metta"], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert found.returncode == 2 and "none.metta" in found.stderr


def test_variables_of_answers_are_variables():
    space = MeTTa().space()
    space.add_atom(E(S("rule"), V("x"), V("x")))
    (bindings,) = space.query(E(S("rule"), S("a"), V("y"))).iterator()
    assert bindings.resolve(V("y")) == S("a")


class Near(hyperon.MatchableObject):
    """Matches numbers within a distance, and says what it has found."""

    def match_(self, atom):
        value = atom.get_object().content if isinstance(atom, hyperon.GroundedAtom) else None
        if not isinstance(value, (int, float)) or abs(value - self.content) > 1:
            return []
        return [{"found": ValueAtom(value)}]


@pytest.fixture(params=["the machine", "the interpreter"])
def runner(request):
    """Both evaluators: a limit of the stack lets the interpreter run a form."""
    made = MeTTa()
    if request.param == "the interpreter":
        made.run("!(pragma! max-stack-depth 100000)")
    return made


def test_an_object_says_itself_what_it_matches(runner):
    near = G(Near(5))
    runner.register_atom("near5", near)
    runner.run("(= (kind near5) close) (= (kind -1) minus) (= (kind (far near5)) inner) (= (kind $x) (other $x))")
    assert repr(runner.run("!(kind 5.5)")) == "[[close, (other 5.5)]]"
    assert repr(runner.run("!(kind 7) !(kind -1) !(kind word) !(kind (far 4)) !(kind (far 9))")) == (
        "[[(other 7)], [minus, (other -1)], [(other word)], [inner, (other (far 4))], [(other (far 9))]]"
    )
    assert repr(runner.run("!(let near5 6 yes) !(case 4 ((near5 yes) ($x no))) !(case 9 ((near5 yes) ($x no)))")) == "[[yes], [yes], [no]]"
    assert repr(runner.run("!(unify near5 9 yes no) !(unify (a near5) (a 5) yes no)")) == "[[no], [yes]]"
    runner.run("(entry 4 a) (entry 9 b) (entry 6 c) (entry near5 itself)")
    assert repr(runner.run("!(collapse (match &self (entry near5 $x) $x))")) in ("[[(a c)]]", "[[(a c itself)]]")
    assert repr(runner.run("!(collapse (match &self (entry 5 $x) $x))")) == "[[(itself)]]"
    assert runner.run("! near5")[0][0] == near and runner.run("!(get-type near5)")[0][0] == S("%Undefined%")


def test_what_an_object_binds_is_in_the_answer():
    space = MeTTa().space()
    space.add_atom(E(S("entry"), G(Near(5)), S("a")))
    assert space.query(E(S("entry"), ValueAtom(6), V("x")))[0] == {"x": S("a"), "found": ValueAtom(6)}
    assert space.query(E(S("entry"), ValueAtom(7), V("x"))).is_empty()

    class Any(hyperon.MatchableObject):
        def match_(self, atom):
            return [{"kind": S(type(atom).__name__)}]

    itself, space = G(Any(None)), hyperon.GroundingSpaceRef()
    space.add_atom(itself)
    assert space.query(itself)[0]["kind"] == S("GroundedAtom")


def test_an_object_that_fails_matches_nothing_and_is_told_of(capfd):
    class Fails(hyperon.MatchableObject):
        def match_(self, atom):
            raise ValueError("no idea")

    metta = MeTTa()
    metta.register_atom("fails", G(Fails(1)))
    assert repr(metta.run("(= (f fails) 1) (= (f $x) 2) !(f 7)")) == "[[2]]"
    assert "ValueError: no idea" in capfd.readouterr().err


def test_regular_expressions_are_patterns(runner):
    runner.run('(= (intent regex:"^Hello[[\\\\.|!]]?$") greeting) (= (intent regex:"Good~morning.*") greeting) (= (intent $x) (empty))')
    assert [repr(runner.run(f'!(intent "{text}")')) for text in ("hello", "Good morning, Sam", "Hi")] == [
        "[[greeting]]",
        "[[greeting]]",
        "[[]]",
    ]
