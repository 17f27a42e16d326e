//! Formats that are codes: books, cards, colours, identifiers, names.

/// A UUID in any case, its dashes optional, of the given version if one is given.
pub(super) fn is_uuid(text: &str, version: Option<u8>) -> bool {
    let mut digits = Vec::with_capacity(32);
    let mut rest = text.as_bytes();
    for (at, length) in [8_usize, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((part, after)) = rest.split_at_checked(length) else { return false };
        digits.extend_from_slice(part);
        rest = after;
    }
    if !rest.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return false;
    }
    let is_version = |version: u8| digits.get(12) == Some(&(b'0' + version));
    let is_variant =
        digits.get(16).is_some_and(|digit| matches!(digit.to_ascii_lowercase(), b'8' | b'9' | b'a' | b'b'));
    match version {
        None => true,
        Some(3) => is_version(3),
        Some(version) => is_version(version) && is_variant,
    }
}

fn without_spaces_and_dashes(text: &str) -> Vec<u8> {
    text.bytes().filter(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\x0C' | b'\r' | b'-')).collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let code = without_spaces_and_dashes(text);
    let Some((last, digits)) = code.split_last().filter(|(_, digits)| digits.len() == 9) else {
        return false;
    };
    if !digits.iter().all(u8::is_ascii_digit) || !(last.is_ascii_digit() || *last == b'X') {
        return false;
    }
    let last = if *last == b'X' { 10 } else { u32::from(last - b'0') };
    let sum: u32 = (1..).zip(digits).map(|(weight, digit)| weight * u32::from(digit - b'0')).sum();
    (sum + 10 * last).is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let code = without_spaces_and_dashes(text);
    let Some((last, digits)) = code.split_last().filter(|(_, digits)| digits.len() == 12) else {
        return false;
    };
    if !code.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 =
        [1, 3].into_iter().cycle().zip(digits).map(|(weight, digit)| weight * u32::from(digit - b'0')).sum();
    u32::from(last - b'0') == (10 - sum % 10) % 10
}

pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let starts = |from: u32, to: u32, length: u32| {
        let prefix = digits.iter().take(length as usize).fold(0, |number, digit| number * 10 + digit);
        (from..=to).contains(&prefix)
    };
    let is_known = match digits.len() {
        13 => starts(4, 4, 1),
        14 => starts(300, 305, 3) || starts(36, 36, 2) || starts(38, 38, 2),
        15 => starts(34, 34, 2) || starts(37, 37, 2) || starts(2131, 2131, 4) || starts(1800, 1800, 4),
        16 => {
            starts(4, 4, 1)
                || starts(51, 55, 2)
                || starts(6011, 6011, 4)
                || starts(65, 65, 2)
                || starts(35, 35, 2)
        }
        _ => false,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match digit * 2 {
            _ if at % 2 == 0 => *digit,
            double if double > 9 => double - 9,
            double => double,
        })
        .sum();
    is_known && sum.is_multiple_of(10)
}

pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Base64 in the standard alphabet, padded, not empty.
pub(super) fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !body.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

/// Lower case letters, digits and dashes, with no dash at the ends.
pub(super) fn is_label(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}
