//! What a byte or a character means between tokens: the one table of the lexer and of the loader, which cuts forms out of files.

/// What a byte means to the lexer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A part of a word, a variable or a string, or what begins one.
    Name,
    Blank,
    Newline,
    Open,
    Close,
    Semicolon,
    /// A part of a character that may be white space, or a NUL byte, which is an error.
    Unclear,
}

const CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut classes = [Class::Name; 256];
    classes[b' ' as usize] = Class::Blank;
    classes[b'\t' as usize] = Class::Blank;
    classes[b'\r' as usize] = Class::Blank;
    classes[0x0b] = Class::Blank;
    classes[0x0c] = Class::Blank;
    classes[b'\n' as usize] = Class::Newline;
    classes[b'(' as usize] = Class::Open;
    classes[b')' as usize] = Class::Close;
    classes[b';' as usize] = Class::Semicolon;
    classes[0] = Class::Unclear;
    let mut byte = 0x80;
    while byte < 256 {
        classes[byte] = Class::Unclear;
        byte += 1;
    }
    classes
}

impl Class {
    /// The class of a byte.
    #[inline]
    pub(crate) fn of_byte(byte: u8) -> Self {
        CLASSES[usize::from(byte)]
    }

    /// The class of a character: a NUL is part of a name, where it is reported.
    #[inline]
    pub(super) fn of(character: char) -> Self {
        match u8::try_from(character).map(Self::of_byte) {
            Ok(Self::Unclear) | Err(_) if character.is_whitespace() => Self::Blank,
            Ok(Self::Unclear) | Err(_) => Self::Name,
            Ok(class) => class,
        }
    }

    /// Whether it ends a variable, and a word, which `;` ends as well.
    #[inline]
    pub(super) fn ends_name(self) -> bool {
        matches!(self, Self::Blank | Self::Newline | Self::Open | Self::Close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_blank_as_unicode_has_it() {
        for character in char::MIN..=char::MAX {
            let is_blank = matches!(Class::of(character), Class::Blank | Class::Newline);
            assert_eq!(is_blank, character.is_whitespace(), "{character:?}");
            let ends_name = character.is_whitespace() || "()".contains(character);
            assert_eq!(Class::of(character).ends_name(), ends_name, "{character:?}");
        }
    }

    #[test]
    fn a_byte_means_what_its_character_means() {
        for byte in 1..0x80_u8 {
            assert!(Class::of_byte(byte) == Class::of(char::from(byte)), "{byte:#x}");
        }
        assert!((0x80..=0xff).chain([0]).all(|byte| Class::of_byte(byte) == Class::Unclear));
    }
}
