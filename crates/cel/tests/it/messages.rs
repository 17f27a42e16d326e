//! What is said of expressions that are wrong: the texts of a real server.

use pilothouse_cel::Env;

/// The messages without the lines that show the place: `line:column: message`.
fn messages(expression: &str) -> Vec<String> {
    let text = Env::kubernetes().build().compile(expression).unwrap_err().to_string();
    text.lines().filter_map(|line| line.strip_prefix("ERROR: <input>:")).map(str::to_owned).collect()
}

const START: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, \
                     BYTES, IDENTIFIER}";

#[test]
fn the_place_is_shown() {
    let issues = Env::kubernetes().build().compile("1 +\n\tself.é == x").unwrap_err();
    let expected = "ERROR: <input>:2:7: Syntax error: token recognition error at: 'é'\n |  self.é == x\n | ......＾\n\
                    ERROR: <input>:2:9: Syntax error: no viable alternative at input '. =='\n |  self.é == x\n | ......．.^";
    assert_eq!(issues.to_string(), expected);
}

#[test]
fn syntax_errors_are_those_of_antlr() {
    for (expression, expected) in [
        ("1 +", vec![format!("1:4: Syntax error: mismatched input '<EOF>' expecting {START}")]),
        ("== 1", vec![format!("1:1: Syntax error: extraneous input '==' expecting {START}")]),
        ("(1 + 2", vec!["1:7: Syntax error: missing ')' at '<EOF>'".to_owned()]),
        ("1 + 2)", vec!["1:6: Syntax error: extraneous input ')' expecting <EOF>".to_owned()]),
        ("a b c", vec!["1:3: Syntax error: mismatched input 'b' expecting <EOF>".to_owned()]),
        ("[1, 2", vec!["1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}".to_owned()]),
        ("a.true", vec!["1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER".to_owned()]),
        ("a.", vec!["1:3: Syntax error: no viable alternative at input '.'".to_owned()]),
        ("{1 2}", vec!["1:4: Syntax error: missing ':' at '2'".to_owned()]),
        (
            "a = b",
            vec![
                "1:3: Syntax error: token recognition error at: '= '".to_owned(),
                "1:5: Syntax error: extraneous input 'b' expecting <EOF>".to_owned(),
            ],
        ),
        (
            "'abc",
            vec![
                "1:1: Syntax error: token recognition error at: ''abc'".to_owned(),
                format!("1:5: Syntax error: mismatched input '<EOF>' expecting {START}"),
            ],
        ),
        ("", vec![format!("1:0: Syntax error: mismatched input '<EOF>' expecting {START}")]),
        ("namespace", vec!["1:1: reserved identifier: namespace".to_owned()]),
        ("9223372036854775808", vec!["1:1: invalid int literal".to_owned()]),
    ] {
        assert_eq!(messages(expression), expected, "{expression}");
    }
}

#[test]
fn macros_say_what_they_want() {
    for (expression, expected) in [
        ("[1].all(1, true)", "1:9: argument must be a simple name"),
        ("[1].map(1, 2)", "1:9: argument is not an identifier"),
        ("has(1)", "1:5: invalid argument to has() macro"),
        ("[1].all(i, i, true)", "1:12: duplicate variable name: i"),
        ("[1].map(__result__, 1)", "1:9: iteration variable overwrites accumulator variable"),
        ("optional.of(1).optMap(1, 2)", "1:23: optMap() variable name must be a simple identifier"),
    ] {
        assert_eq!(messages(expression).first().map(String::as_str), Some(expected), "{expression}");
    }
}

#[test]
fn types_that_do_not_agree_are_refused() {
    for (expression, expected) in [
        ("'a' + 1", "1:5: found no matching overload for '_+_' applied to '(string, int)'"),
        ("1.size()", "1:7: found no matching overload for 'size' applied to 'int.()'"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
        ("{1: 1, 2: 'a'}", "1:11: expected type 'int' but found 'string'"),
        ("'a'.b", "1:4: type 'string' does not support field selection"),
        ("1 && true", "1:1: expected type 'bool' but found 'int'"),
        ("nobody(1)", "1:7: undeclared reference to 'nobody' (in container '')"),
        ("duration('1d') > duration('1h')", "1:10: invalid duration argument"),
        ("timestamp('x')", "1:11: invalid timestamp argument"),
        ("'a'.matches(')')", "1:13: invalid matches argument"),
        (
            "'%d'.format(['a'])",
            "1:14: error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%s %s'.format(['a'])", "1:15: index 1 out of range"),
        (
            "'a'.map(x, x)",
            "1:1: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
    ] {
        assert_eq!(messages(expression).first().map(String::as_str), Some(expected), "{expression}");
    }
}
