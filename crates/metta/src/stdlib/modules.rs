//! Modules, tokens and settings.

use super::text::print;
use crate::effects::Effects;
use crate::environment::Stop;
use crate::instructions;
use crate::live::named::{QUERIES, TOLD};
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::program::modules::{self, ModuleError, TOP_PATH};
use crate::settings;
use space::{Atom, canonical};

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("import!", "(-> Atom Atom (->))", import)
        .with(Effects::ANY)
        .documented(
            "Loads the module of a file, once, and imports it. a:b is the file a/b.metta or a/b/module.metta.",
            &[
                "Raw: &self to have its facts and rules here; a symbol &name to make that word its space",
                "Raw: the name of the module, words joined by a colon",
            ],
            "(); an error if there is no such file, or if it fails",
        )
        .compared(Compatibility::Differs(
            "errors name the files looked for and the place of a parse error; a circular import is an error, in \
             Hyperon it does not end; a name that ends in `.csv`, `.tsv`, `.tab`, `.nt`, `.jsonl` or `.ndjson` names \
             that file of [data](loading.md). See [modules](#modules)",
        )),
    Spec::typed("include", "(-> Atom %Undefined%)", include)
        .with(Effects::ANY)
        .documented(
            "Runs the forms of a file as if they stood here.",
            &["Raw: the name of the file, words joined by a colon"],
            "The results of its last ! form; an error if there is no such file",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("mod-space!", "(-> Atom SpaceType)", module_space)
        .with(Effects::ANY.without(Effects::DEFINES))
        .documented(
            "The space of a module, which is loaded first if need be.",
            &["Raw: the name of the module, words joined by a colon"],
            "The space; an error if there is no such module",
        )
        .compared(Compatibility::Differs(
            "the space of the library is printed as `ModuleSpace(GroundingSpace-corelib)`, in Hyperon with \
             `top:corelib`",
        )),
    Spec::typed("module-space-no-deps", "(-> SpaceType SpaceType)", space_without_imports)
        .with(Effects::READS)
        .documented(
            "The space of a module without what it imports.",
            &["The space"],
            "A view of the space: its own atoms, and nothing else",
        ),
    Spec::typed("print-mods!", "(-> (->))", print_modules)
        .with(Effects::READS.and(Effects::TELLS))
        .documented("Prints the names of the loaded modules, in alphabetical order.", &[], "()")
        .compared(Compatibility::Differs(
            "one path a line in alphabetical order; Hyperon draws a tree in no fixed order, bundled modules included",
        )),
    Spec::typed("register-module!", "(-> Atom (->))", register)
        .with(Effects::ANY)
        .documented(
            "Loads a file from any place as a module named like the file.",
            &["Raw: the path of the file, or of a folder with a module.metta; quoted if need be"],
            "(); an error if there is no such file, or if it fails",
        )
        .compared(Compatibility::Differs("a file that is registered already is not an error")),
    Spec::typed("git-module!", "(-> Atom (->))", refuse_git)
        .with(Effects::NONE)
        .documented(
            "Refused: a program does not fetch code. Clone the repository, and import it as a folder.",
            &["Raw: the address of the repository"],
            "An error that says what to do",
        )
        .compared(Compatibility::Differs(
            "an error that says to clone the repository and use `register-module!`: a program fetches no code, so that it means the same when it \
             is run or replayed again",
        )),
    Spec::untyped("pragma!", pragma)
        .with(Effects::CHANGES_RULES.and(Effects::DEFINES).and(Effects::TELLS))
        .documented(
            "Changes a setting. max-stack-depth n limits the depth of evaluation (0: no limit); type-check auto looks at the types of \
             each form; interpreter bare-minimal takes forms as minimal MeTTa; semantics strict keeps integers integers; table f \
             remembers what calls of a function f came to, and untable f ends that; memoise off evaluates calls of pure functions again \
             that were evaluated in the same form, and memoise on ends that.",
            &["The setting, a symbol", "Evaluated: its value"],
            "(); an error if the depth is no number, or if memoise is not on or off",
        )
        .compared(Compatibility::Differs(
            "`max-stack-depth` counts other frames, see [limits](#limits); `semantics strict` is new, and so are \
             `table` and `untable`, see [tabling](tabling.md), and `memoise`, which Hyperon accepts and ignores; a warning on the \
             standard error for a setting that means nothing",
        )),
    Spec::typed("bind!", "(-> Symbol %Undefined% (->))", bind)
        .with(Effects::DEFINES)
        .at_home()
        .documented(
            "Makes a word stand for an atom, from the next form of this module on.",
            &["Raw: the word; it may be a regular expression", "Evaluated: the atom"],
            "()",
        )
        .compared(Compatibility::Differs(
            "the word itself is always bound, also when it has a meaning as a regular expression, as `a+b` and \
             `foo*` have",
        )),
];

/// What a call comes to when a module could not be had: an error, or the end of the run.
fn failed(call: &mut Call<'_>, error: &ModuleError) -> Outcome {
    if let Some(stop) = call.environment.take_end_inside() {
        return Outcome::Stop(stop);
    }
    match error {
        ModuleError::World(error) => Outcome::Stop(Stop::World(error.clone())),
        error => Outcome::failure(error.to_string()),
    }
}

/// `(import! &self module)` makes a module's atoms answer queries here; `(import! name module)` makes `&name` its space.
fn import(call: &mut Call<'_>) -> Outcome {
    let (Some(destination), Some(name)) = (call.argument(0).cloned(), call.name(1)) else {
        return Outcome::failure("import! expects a destination &space and a module name argument");
    };
    let here = call.environment.current_module();
    let is_self = call.space(0).is_some_and(|space| space.is_same(&call.environment.module_space(here)));
    // A name that a knowledge base has bound to the module's space is that space by now.
    let named_before = call.space(0).filter(|_| !is_self);
    if !is_self && named_before.is_none() && destination.as_symbol().is_none() {
        let message = "import! destination argument must be a symbol atom naming a new space, or &self.  Found: ";
        return Outcome::failure(format!("{message}{}", names::brief(&destination)));
    }
    let module = match call.environment.load_module(&name) {
        Ok(module) => module,
        Err(error) => return failed(call, &error),
    };
    if let Some(space) = named_before {
        if space.is_same(&call.environment.module_space(module)) {
            return Outcome::unit();
        }
        let message = "import! destination argument must be a symbol atom naming a new space, or &self.  Found: ";
        return Outcome::failure(format!("{message}{}", names::brief(&destination)));
    }
    match destination.as_symbol() {
        None => call.environment.import_module(here, module),
        Some(name) => {
            let token = if name.starts_with('&') { name.to_owned() } else { format!("&{name}") };
            let space = Atom::from(call.environment.module_space(module));
            if let Err(reason) = call.environment.bind(here, &token, false, space) {
                return Outcome::failure(reason);
            }
        }
    }
    Outcome::unit()
}

fn include(call: &mut Call<'_>) -> Outcome {
    let Some(name) = call.name(0) else { return Outcome::failure("include expects a module name argument") };
    match call.environment.include(&name) {
        Ok(results) => call.environment.take_end_inside().map_or(Outcome::Results(results), Outcome::Stop),
        Err(error) => failed(call, &error),
    }
}

fn module_space(call: &mut Call<'_>) -> Outcome {
    let Some(name) = call.name(0) else { return Outcome::failure("mod-space! expects a module name argument") };
    match call.environment.load_module(&name) {
        Ok(module) => Outcome::one(call.environment.module_space(module)),
        Err(error) => failed(call, &error),
    }
}

/// A copy of a space's own atoms, without what it imports.
fn space_without_imports(call: &mut Call<'_>) -> Outcome {
    let Some(space) = call.space(0) else {
        return Outcome::failure("module-space-no-deps expects a space as an argument");
    };
    Outcome::one(space.without_imports())
}

fn print_modules(call: &mut Call<'_>) -> Outcome {
    let lines: Vec<String> = call.environment.module_paths();
    print(call, &lines)
}

fn refuse_git(call: &mut Call<'_>) -> Outcome {
    let address = call.name(0).unwrap_or_else(|| "URL".to_owned());
    Outcome::failure(format!(
        "git-module! is refused: a program fetches no code; run `git clone {address}` beside it and use (register-module! FOLDER)"
    ))
}

/// Loads a file, or the `module.metta` of a directory, as a module of the top level named like it.
fn register(call: &mut Call<'_>) -> Outcome {
    let Some(path) = call.name(0) else {
        return Outcome::failure("register-module! expects a file system path; use quotes if needed");
    };
    let directory = call.environment.module_directory(call.environment.current_module()).to_owned();
    let path = modules::join(&directory, path.trim_end_matches('/'));
    let tried = [path.clone(), format!("{path}.metta"), format!("{path}/module.metta")];
    let file = match call.environment.find_source(&path, tried.to_vec()) {
        Ok(file) => file,
        Err(ModuleError::NotFound { path, tried, refused: None }) => {
            return failed(call, &ModuleError::NotAPath { path, tried });
        }
        Err(error) => return failed(call, &error),
    };
    let name = path.rsplit('/').next().unwrap_or(&path);
    let module_path = format!("{TOP_PATH}:{}", name.strip_suffix(".metta").unwrap_or(name));
    match call.environment.load_file(module_path, file) {
        Ok(_) => Outcome::unit(),
        Err(error) => failed(call, &error),
    }
}

fn pragma(call: &mut Call<'_>) -> Outcome {
    let (Some(key), Some(value)) = (call.argument(0), call.argument(1)) else {
        return Outcome::failure("pragma! expects key and value as arguments");
    };
    let Some(key) = key.as_symbol() else { return Outcome::failure("pragma! expects symbol atom as a key") };
    if key == "max-stack-depth" && names::brief(value).parse::<usize>().is_err() {
        return Outcome::failure("UnsignedIntegerIsExpected");
    }
    if matches!(key, "table" | "untable") {
        return table(call, key, value);
    }
    if key == "memoise" && !["on", "off"].iter().any(|known| value.is_symbol(known)) {
        return Outcome::failure("pragma! memoise expects on or off");
    }
    if matches!(key, QUERIES | TOLD) {
        return Outcome::failure(format!(
            "{key} is no setting of pragma!; the module live-queries says which live queries there are: (import! &self live-queries)"
        ));
    }
    if call.environment.is_durable()
        && let Some(opaque) = canonical::find_opaque(value)
    {
        return Outcome::failure(names::not_durable(opaque));
    }
    if let Some(idle) = settings::idle(key, &names::brief(value)) {
        let told = match idle {
            settings::Idle::Name(_) => key.to_owned(),
            settings::Idle::Value(_) => format!("{key} {}", names::brief(value)),
        };
        warn_of_setting(call, &told, &idle.hint());
    }
    let (key, value) = (key.to_owned(), value.clone());
    call.environment.set_setting(key, value);
    Outcome::unit()
}

/// Tells the person who watches of a setting that means nothing.
fn warn_of_setting(call: &mut Call<'_>, told: &str, hint: &str) {
    let place = call.environment.form_place().map(|place| format!("{place}: ")).unwrap_or_default();
    call.environment.world().trace(&format!("warning: {place}pragma! {told} has no effect; {hint}"));
}

/// `table` makes the functions of a name remember what their calls came to; `untable` ends that.
fn table(call: &mut Call<'_>, key: &str, value: &Atom) -> Outcome {
    let Atom::Symbol(name) = value else {
        return Outcome::failure(format!("pragma! {key} expects the name of a function, a symbol"));
    };
    if instructions::is_instruction_name(name.as_str()) || call.environment.has_library_rules(name.as_str()) {
        return Outcome::failure(format!("{name} is part of the library: only functions of a program can be tabled"));
    }
    call.environment.set_tabled(name, key == "table");
    Outcome::unit()
}

fn bind(call: &mut Call<'_>) -> Outcome {
    let (Some(token), Some(atom)) = (call.argument(0), call.argument(1)) else {
        return Outcome::failure("bind! expects two arguments: token and atom");
    };
    let Some(token) = token.as_symbol() else { return Outcome::failure("bind! expects symbol atom as a token") };
    let (token, atom) = (token.to_owned(), atom.clone());
    match call.environment.bind(call.home, &token, true, atom) {
        Ok(()) => Outcome::unit(),
        Err(reason) => Outcome::failure(format!("{token} is not a regular expression: {reason}")),
    }
}
