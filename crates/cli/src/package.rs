//! Folders on the command line: packages, by the `metroon.toml` in them.

use crate::end::End;
use crate::output::fail;
use crate::render;
use metroon::run::Package;
use metroon::syntax::LineIndex;
use std::path::Path;

/// The files that the command line means: of a folder its `metroon.toml`.
///
/// # Errors
/// A folder has none.
pub(crate) fn files(named: &[String]) -> Result<Vec<String>, End> {
    named.iter().map(|file| if Path::new(file).is_dir() { file_of(file) } else { Ok(file.clone()) }).collect()
}

fn file_of(folder: &str) -> Result<String, End> {
    let trimmed = if folder == "/" { "" } else { folder.trim_end_matches('/') };
    let file = if folder == "." { Package::FILE.to_owned() } else { format!("{trimmed}/{}", Package::FILE) };
    if Path::new(&file).is_file() {
        return Ok(file);
    }
    let message = format!("{folder} is a folder, and there is no {} in it", Package::FILE);
    let help = format!("name a file of it, or write {file} with a line such as entry = \"main.metta\"");
    Err(fail(&message, &help, End::Usage))
}

/// Reads the file of a package.
///
/// # Errors
/// It cannot be read, or is not one; the user was told.
pub(crate) fn read(file: &str) -> Result<Package, End> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| fail(&format!("cannot read {file}: {error}"), "check the path", End::Usage))?;
    Package::parse(file, &text).map_err(|wrong| {
        render::diagnostics(file, &text, [&*wrong]);
        End::NotParsed
    })
}

/// The package that a file belongs to: that of the nearest folder above it which has one. For one that is no package, what is wrong with it.
pub(crate) fn around(file: &Path) -> Option<Result<Package, String>> {
    let found = file.ancestors().skip(1).map(|folder| folder.join(Package::FILE)).find(|path| path.is_file())?;
    let shown = found.to_string_lossy();
    let text = std::fs::read_to_string(&found).map_err(|error| format!("cannot read {shown}: {error}"));
    Some(text.and_then(|text| {
        Package::parse(&shown, &text).map_err(|wrong| {
            let place = LineIndex::new(&text).position(wrong.span.start);
            format!("{shown}:{}:{}: {}", place.line, place.column, wrong.message)
        })
    }))
}
