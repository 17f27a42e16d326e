// Package record writes calls of structured-merge-diff as JSON, one call a line. It is compiled twice: for the programs of
// this folder, and (copied beside it) into an instrumented copy of the library that runs the library's own tests.
package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	yaml "go.yaml.in/yaml/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// M is a JSON object.
type M = map[string]any

// FilterParts tells what a filter is made of; only the instrumented library can look into one.
var FilterParts func(fieldpath.Filter) (exclude *fieldpath.Set, include [][]any)

// plain makes of YAML's maps what JSON can write.
func plain(v any) any {
	switch t := v.(type) {
	case map[any]any:
		out := M{}
		for k, v := range t {
			out[fmt.Sprint(k)] = plain(v)
		}
		return out
	case yaml.MapSlice:
		out := M{}
		for _, item := range t {
			out[fmt.Sprint(item.Key)] = plain(item.Value)
		}
		return out
	case M:
		out := M{}
		for k, v := range t {
			out[k] = plain(v)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, v := range t {
			out[i] = plain(v)
		}
		return out
	}
	return v
}

// Value is a value as JSON has it.
func Value(v value.Value) any {
	if v == nil {
		return nil
	}
	return plain(v.Unstructured())
}

func viaYAML(in any) any {
	text, err := yaml.Marshal(in)
	if err != nil {
		panic(err)
	}
	var out any
	if err := yaml.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return plain(out)
}

// TypeRef is a reference to a type.
func TypeRef(tr schema.TypeRef) any { return viaYAML(tr) }

var schemas = map[*schema.Schema]string{}

// Schema writes a schema down once, and names it.
func Schema(s *schema.Schema) string {
	if id, ok := schemas[s]; ok {
		return id
	}
	content := viaYAML(M{"types": s.Types})
	text, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	id := hex.EncodeToString(sum[:4])
	schemas[s] = id
	Emit(M{"op": "schema", "id": id, "schema": content})
	return id
}

// Typed is a document with its type.
func Typed(tv *typed.TypedValue) M {
	return M{"schema": Schema(tv.Schema()), "type": TypeRef(tv.TypeRef()), "value": Value(tv.AsValue())}
}

// Set is FieldsV1.
func Set(s *fieldpath.Set) any {
	if s == nil {
		return nil
	}
	text, err := s.ToJSON()
	if err != nil {
		return M{"unwritable": err.Error()}
	}
	return json.RawMessage(text)
}

// Element is a path element with its values as they are, where FieldsV1 has all numbers floating.
func Element(pe fieldpath.PathElement) any {
	switch {
	case pe.FieldName != nil:
		return M{"f": *pe.FieldName}
	case pe.Key != nil:
		keys := M{}
		for _, field := range *pe.Key {
			keys[field.Name] = Value(field.Value)
		}
		return M{"k": keys}
	case pe.Value != nil:
		return M{"v": Value(*pe.Value)}
	case pe.Index != nil:
		return M{"i": *pe.Index}
	}
	return nil
}

// Path is a list of elements.
func Path(p fieldpath.Path) []any {
	out := []any{}
	for _, pe := range p {
		out = append(out, Element(pe))
	}
	return out
}

// Managers are the managers of an object by name.
func Managers(managers fieldpath.ManagedFields) M {
	out := M{}
	for name, set := range managers {
		out[name] = M{"version": set.APIVersion(), "applied": set.Applied(), "fields": Set(set.Set())}
	}
	return out
}

func filter(f fieldpath.Filter) any {
	if f == nil || FilterParts == nil {
		return nil
	}
	exclude, include := FilterParts(f)
	if include == nil {
		return M{"exclude": Set(exclude)}
	}
	return M{"include": include}
}

// Filters are the filters of an updater by version.
func Filters(u *merge.Updater) M {
	out := M{}
	for version, set := range u.IgnoredFields {
		out[string(version)] = M{"exclude": Set(set)}
	}
	for version, f := range u.IgnoreFilter {
		out[string(version)] = filter(f)
	}
	return out
}

// Converter writes down what another converter says.
type Converter struct {
	Inner merge.Converter
	Calls []any
}

// Convert implements merge.Converter.
func (c *Converter) Convert(object *typed.TypedValue, version fieldpath.APIVersion) (*typed.TypedValue, error) {
	converted, err := c.Inner.Convert(object, version)
	call := M{"from": Typed(object), "version": version}
	switch {
	case err != nil && c.Inner.IsMissingVersionError(err):
		call["missing"] = true
	case err != nil:
		call["error"] = err.Error()
	case converted == object:
		return converted, nil
	default:
		call["to"] = Typed(converted)
	}
	c.Calls = append(c.Calls, call)
	return converted, err
}

// IsMissingVersionError implements merge.Converter.
func (c *Converter) IsMissingVersionError(err error) bool { return c.Inner.IsMissingVersionError(err) }

// Outcome is what an update or an apply came to.
func Outcome(object *typed.TypedValue, managers fieldpath.ManagedFields, err error) M {
	if conflicts, ok := err.(merge.Conflicts); ok {
		list := []any{}
		for _, c := range conflicts {
			list = append(list, M{"manager": c.Manager, "path": c.Path.String()})
		}
		return M{"conflicts": list}
	}
	if err != nil {
		return M{"error": err.Error()}
	}
	out := M{"managers": Managers(managers)}
	if object != nil {
		out["object"] = Value(object.AsValue())
	}
	return out
}

var (
	out  *os.File
	seen = map[string]bool{}
)

// Emit writes a record, unless it was written already.
func Emit(record M) {
	if out == nil {
		name := os.Getenv("RECORD_OUT")
		if name == "" {
			return
		}
		file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			panic(err)
		}
		out = file
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(record); err != nil {
		fmt.Fprintln(os.Stderr, "not recorded:", record["op"], err)
		return
	}
	if seen[text.String()] {
		return
	}
	seen[text.String()] = true
	if _, err := out.Write(text.Bytes()); err != nil {
		panic(err)
	}
}
