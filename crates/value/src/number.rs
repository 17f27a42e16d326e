//! Numbers as they are spelled: what a literal of JSON means to Go, and documents that keep the literals until it is known what
//! they are read into.

use crate::stack::deeper;
use crate::{Value, go_json};

impl Value {
    /// What a literal of JSON is where nothing is known of it, as `sigs.k8s.io/json` reads it into an `interface{}`: a whole
    /// number if it says one that fits, otherwise a float. `None` if no float can hold it.
    pub fn number(literal: &str) -> Option<Self> {
        if let Ok(number) = literal.parse() {
            return Some(Self::Int(number));
        }
        literal.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Float)
    }

    /// A literal of JSON: the number it means if that would be written in the same letters, otherwise its spelling.
    pub fn spelled(literal: &str) -> Self {
        match Self::number(literal) {
            Some(number) if number.literal().as_deref() == Some(literal) => number,
            _ => Self::Spelled(literal.into()),
        }
    }

    /// How a number is spelled in JSON; `None` for what is none.
    pub fn literal(&self) -> Option<String> {
        if !matches!(self, Self::Int(_) | Self::Float(_) | Self::Spelled(_)) {
            return None;
        }
        let mut text = Vec::new();
        go_json::write(self, &mut text);
        String::from_utf8(text).ok()
    }

    /// The first number within that no float can hold, as it is spelled.
    pub fn too_large(&self) -> Option<&str> {
        match self {
            Self::Spelled(literal) => Self::number(literal).is_none().then_some(literal),
            Self::Array(items) => deeper(|| items.iter().find_map(Self::too_large)),
            Self::Object(map) => deeper(|| map.values().find_map(Self::too_large)),
            _ => None,
        }
    }

    /// Reads every number that is kept as it is spelled, as [`Value::number`] does.
    ///
    /// # Errors
    /// The first literal that no float can hold.
    pub fn read_numbers(&mut self) -> Result<(), String> {
        match self {
            Self::Spelled(literal) => {
                *self = Self::number(literal).ok_or_else(|| String::from(&**literal))?;
                Ok(())
            }
            Self::Array(items) => deeper(|| items.iter_mut().try_for_each(Self::read_numbers)),
            Self::Object(map) => deeper(|| map.values_mut().try_for_each(Self::read_numbers)),
            _ => Ok(()),
        }
    }
}
