package main

import "reflect"

// nameOf is what Go calls the type of a field in its messages, if there is a name in it that is not of a struct: a text that
// has a type of its own, a list or a map of such. Pointers do not show.
func nameOf(t reflect.Type) string {
	if name, named := goName(t); named {
		return name
	}
	return ""
}

func goName(t reflect.Type) (string, bool) {
	switch {
	case t.Kind() == reflect.Pointer:
		return goName(t.Elem())
	case t.Kind() == reflect.Struct || t.PkgPath() != "":
		return t.String(), t.Kind() != reflect.Struct
	case t.Kind() == reflect.Slice:
		item, named := goName(t.Elem())
		return "[]" + item, named
	case t.Kind() == reflect.Map:
		key, keyNamed := goName(t.Key())
		item, named := goName(t.Elem())
		return "map[" + key + "]" + item, keyNamed || named
	}
	return t.String(), false
}
