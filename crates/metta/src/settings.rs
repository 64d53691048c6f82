//! The settings of `pragma!`, and what was probably meant by one that has no effect.

use crate::check::nearest_of_all;

/// The settings that mean something; others are kept and do nothing.
const NAMES: [&str; 7] = ["max-stack-depth", "type-check", "interpreter", "semantics", "table", "untable", "memoise"];

/// Settings with the one value that turns them on. Any other turns them off.
const SWITCHES: [(&str, &str); 3] = [("type-check", "auto"), ("interpreter", "bare-minimal"), ("semantics", "strict")];

/// Why a setting has no effect.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// There is none of this name; this one is near.
    Name(Option<&'static str>),
    /// Its value is nearly the one that turns it on.
    Value(&'static str),
}

impl Idle {
    /// What to do about it.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Name(Some(near)) | Self::Value(near) => format!("did you mean `{near}`?"),
            Self::Name(None) => format!("known settings: {}", NAMES.join(", ")),
        }
    }
}

/// Why `(pragma! key value)` has no effect, if it has none.
pub(crate) fn idle(key: &str, value: &str) -> Option<Idle> {
    if !NAMES.contains(&key) {
        return Some(Idle::Name(nearest_of_all(key, NAMES.into_iter())));
    }
    let (_, on) = SWITCHES.into_iter().find(|(name, _)| *name == key)?;
    nearest_of_all(value, std::iter::once(on)).map(Idle::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_that_are_nearly_right_are_told() {
        assert_eq!(idle("typecheck", "auto"), Some(Idle::Name(Some("type-check"))));
        assert_eq!(idle("colour", "red"), Some(Idle::Name(None)));
        assert_eq!(idle("type-check", "atuo"), Some(Idle::Value("auto")));
        assert_eq!(idle("interpreter", "bare-mininal"), Some(Idle::Value("bare-minimal")));
        for (key, value) in
            [("type-check", "auto"), ("type-check", "off"), ("max-stack-depth", "7"), ("table", "autos")]
        {
            assert_eq!(idle(key, value), None, "{key} {value}");
        }
    }
}
