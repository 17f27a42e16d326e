//! Mail addresses as Go's `net/mail` reads them: RFC 5322 without routes.

/// Whether this is one address, with or without a name and comments: `a@b.c`, `Name <a@b.c>`; or a group of one.
pub(super) fn is_address(text: &str) -> bool {
    let mut reader = Reader { rest: text };
    reader.address(true) && reader.skip_space_and_comments() && reader.rest.is_empty()
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// False if a comment does not end.
    fn skip_space_and_comments(&mut self) -> bool {
        loop {
            self.skip_space();
            if !self.rest.starts_with('(') {
                return true;
            }
            let mut depth = 0_usize;
            let mut escaped = false;
            let mut end = None;
            for (at, c) in self.rest.char_indices() {
                match c {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    '(' => depth += 1,
                    ')' => {
                        depth -= 1;
                        if depth == 0 {
                            end = Some(at + 1);
                            break;
                        }
                    }
                    _ => {}
                }
            }
            match end.and_then(|end| self.rest.get(end..)) {
                Some(rest) => self.rest = rest,
                None => return false,
            }
        }
    }

    fn address(&mut self, may_be_group: bool) -> bool {
        self.skip_space();
        let start = self.rest;
        if self.specification() {
            return true;
        }
        self.rest = start;
        // A name, then the address in angle brackets.
        while !self.rest.starts_with('<') {
            let is_word = if self.rest.starts_with('"') { self.quoted() } else { self.atom(true) };
            if !is_word || !self.skip_space_and_comments() {
                return false;
            }
            if may_be_group && self.eat(':') {
                return self.address(false) && self.skip_space_and_comments() && self.eat(';');
            }
        }
        self.eat('<') && self.specification() && self.eat('>')
    }

    /// `local@domain`
    fn specification(&mut self) -> bool {
        self.skip_space();
        let is_local = if self.rest.starts_with('"') { self.quoted() } else { self.dotted() };
        if !is_local || !self.eat('@') {
            return false;
        }
        self.skip_space();
        if self.rest.starts_with('[') {
            return self.literal();
        }
        self.dotted()
    }

    fn dotted(&mut self) -> bool {
        let start = self.rest;
        if !self.atom(true) {
            return false;
        }
        let taken = start.get(..start.len() - self.rest.len()).unwrap_or_default();
        !taken.starts_with('.') && !taken.ends_with('.') && !taken.contains("..")
    }

    fn atom(&mut self, dots: bool) -> bool {
        let is_atom = |c: char| {
            !c.is_ascii()
                || c.is_ascii_alphanumeric()
                || "!#$%&'*+-/=?^_`{|}~".contains(c)
                || (dots && c == '.')
        };
        let length = self.rest.find(|c| !is_atom(c)).unwrap_or(self.rest.len());
        self.rest = self.rest.get(length..).unwrap_or_default();
        length > 0
    }

    fn quoted(&mut self) -> bool {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    let is_empty = at == 1;
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    return !is_empty;
                }
                c if c != ' ' && c != '\t' && c.is_ascii_control() => return false,
                _ => {}
            }
        }
        false
    }

    /// `[1.2.3.4]`, `[::1]`
    fn literal(&mut self) -> bool {
        let Some((inside, rest)) = self.rest.get(1..).and_then(|body| body.split_once(']')) else {
            return false;
        };
        self.rest = rest;
        inside.parse::<std::net::IpAddr>().is_ok()
    }
}
