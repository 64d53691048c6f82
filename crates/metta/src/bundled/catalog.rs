//! The module `catalog`: which modules there are to import.
//!
//! A catalog is a place in which modules are looked for by name: `bundled` has those that come with the program, `package` those that the package of the
//! program lists, and the folders in which it looks. Hyperon's catalogs keep copies of modules that they fetched; a program of
//! Metroon fetches nothing, so to update and to clear a catalog check its name, and find nothing to do.

use super::{BUNDLES, Bundle};
use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, Native, OperationSpec as Spec, Outcome};
use crate::program::ModuleSearch;
use crate::stdlib;

/// All catalogs, where the name of one is asked for.
const ALL: &str = "all";

type Catalog = (&'static str, fn(&ModuleSearch) -> Vec<String>);

const CATALOGS: [Catalog; 2] = [("bundled", |_| bundled()), ("package", package)];

const fn of_catalogs(name: &'static str, native: Native, effects: Effects) -> Spec {
    Spec::typed(name, "(-> Symbol (->))", native).with(effects)
}

const NAME: &[&str] = &["Raw: the name of a catalog, bundled or package, or all"];
const NOTHING_KEPT: Compatibility =
    Compatibility::Differs("finds nothing to do: no catalog keeps copies of modules, since a program fetches no code");

pub(super) const MODULE: Bundle = Bundle {
    name: "catalog",
    operations: &[
        of_catalogs("catalog-list!", list, Effects::READS.and(Effects::TELLS))
            .documented(
                "Prints which modules a catalog has, one a line.",
                NAME,
                "(); an error if there is no such catalog",
            )
            .compared(Compatibility::Differs(
                "the catalogs are `bundled` and `package`, in Hyperon those that it was built with",
            )),
        of_catalogs("catalog-update!", check_name, Effects::NONE)
            .documented(
                "Fetches newer modules of a catalog: none, since nothing is fetched.",
                NAME,
                "(); an error if there is no such catalog",
            )
            .compared(NOTHING_KEPT),
        of_catalogs("catalog-clear!", check_name, Effects::NONE)
            .documented(
                "Removes what a catalog has fetched: nothing, since nothing is fetched.",
                NAME,
                "(); an error if there is no such catalog",
            )
            .compared(NOTHING_KEPT),
    ],
    values: &[],
    source: "",
    yields: false,
};

/// The modules that come with the program.
fn bundled() -> Vec<String> {
    let mut names: Vec<String> = BUNDLES.iter().map(|bundle| bundle.name.to_owned()).collect();
    names.sort_unstable();
    names
}

/// What the package of the program lists, and the folders in which it looks, each in the order of the package.
fn package(search: &ModuleSearch) -> Vec<String> {
    let folders = search.folders().iter().map(|folder| format!("each file of {folder}"));
    search.names().map(str::to_owned).chain(folders).collect()
}

/// The catalogs that a call names.
fn named(call: &Call<'_>) -> Result<Vec<Catalog>, Outcome> {
    let name = call.name(0).unwrap_or_default();
    let found: Vec<Catalog> = CATALOGS.into_iter().filter(|(catalog, _)| name == ALL || name == *catalog).collect();
    if found.is_empty() {
        let known = CATALOGS.map(|(catalog, _)| catalog).join(", ");
        let wanted = call.argument(0).map(names::brief).unwrap_or_default();
        return Err(Outcome::failure(format!(
            "there is no catalog {wanted}; there are {known}, and {ALL} for all of them"
        )));
    }
    Ok(found)
}

fn list(call: &mut Call<'_>) -> Outcome {
    let catalogs = match named(call) {
        Ok(catalogs) => catalogs,
        Err(refused) => return refused,
    };
    let mut lines = Vec::new();
    for (name, modules) in catalogs {
        lines.push(format!("{name}:"));
        lines.extend(modules(call.environment.module_search()).into_iter().map(|module| format!("   {module}")));
    }
    stdlib::text::print(call, &lines)
}

fn check_name(call: &mut Call<'_>) -> Outcome {
    named(call).map_or_else(|refused| refused, |_| Outcome::unit())
}
