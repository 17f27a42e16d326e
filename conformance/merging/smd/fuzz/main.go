// Command fuzz makes random types, documents, updates and applies, has structured-merge-diff answer, and writes the calls to
// the file that RECORD_OUT names.
package main

import (
	"flag"
	"fmt"
	"math/rand"

	"conformance/merging/smd/record"
	yaml "go.yaml.in/yaml/v2"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

type same struct{}

func (same) Convert(v *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return v, nil
}
func (same) IsMissingVersionError(error) bool { return false }

type generator struct {
	*rand.Rand
	types *schema.Schema
}

func pick[T any](g *generator, list ...T) T { return list[g.Intn(len(list))] }

func ptr[T any](v T) *T { return &v }

var names = []string{"a", "b", "c", "d"}

// typeNames are the types of a schema; any may refer to any.
var typeNames = []string{"t0", "t1", "t2", "t3"}

func (g *generator) ref(depth int) schema.TypeRef {
	switch g.Intn(6) {
	case 0:
		return schema.TypeRef{NamedType: ptr("__untyped_deduced_")}
	case 1, 2:
		tr := schema.TypeRef{NamedType: ptr(pick(g, typeNames...))}
		return tr
	}
	return schema.TypeRef{Inlined: g.atom(depth + 1)}
}

func (g *generator) scalar() *schema.Scalar {
	return ptr(pick(g, schema.Numeric, schema.String, schema.Boolean, schema.Untyped))
}

func (g *generator) keyed(depth int) *schema.List {
	keys := []string{"a"}
	if g.Intn(2) == 0 {
		keys = append(keys, "b")
	}
	item := schema.Map{}
	for i, key := range keys {
		field := schema.StructField{Name: key, Type: schema.TypeRef{Inlined: schema.Atom{Scalar: ptr(pick(g, schema.String, schema.Numeric))}}}
		if i > 0 && g.Intn(2) == 0 {
			field.Default = pick[any](g, "x", int64(1))
			if *field.Type.Inlined.Scalar == schema.String {
				field.Default = "x"
			} else {
				field.Default = 1
			}
		}
		item.Fields = append(item.Fields, field)
	}
	for _, name := range []string{"c", "d"} {
		if g.Intn(2) == 0 {
			item.Fields = append(item.Fields, schema.StructField{Name: name, Type: g.ref(depth + 1)})
		}
	}
	return &schema.List{ElementRelationship: schema.Associative, Keys: keys, ElementType: schema.TypeRef{Inlined: schema.Atom{Map: &item}}}
}

func (g *generator) list(depth int) *schema.List {
	switch g.Intn(4) {
	case 0:
		return &schema.List{ElementRelationship: schema.Atomic, ElementType: g.ref(depth + 1)}
	case 1:
		return &schema.List{ElementRelationship: schema.Associative, ElementType: schema.TypeRef{Inlined: schema.Atom{Scalar: g.scalar()}}}
	}
	return g.keyed(depth)
}

func (g *generator) mapType(depth int) *schema.Map {
	m := &schema.Map{ElementRelationship: pick(g, schema.ElementRelationship(""), schema.Separable, schema.Separable, schema.Atomic)}
	for _, name := range names {
		if g.Intn(3) > 0 {
			m.Fields = append(m.Fields, schema.StructField{Name: name, Type: g.ref(depth + 1)})
		}
	}
	if len(m.Fields) == 0 || g.Intn(3) == 0 {
		m.ElementType = g.ref(depth + 1)
	}
	return m
}

func (g *generator) atom(depth int) schema.Atom {
	if depth > 4 {
		return schema.Atom{Scalar: g.scalar()}
	}
	switch g.Intn(8) {
	case 0, 1:
		return schema.Atom{Scalar: g.scalar()}
	case 2, 3, 4:
		return schema.Atom{List: g.list(depth)}
	case 5, 6:
		return schema.Atom{Map: g.mapType(depth)}
	}
	return schema.Atom{Scalar: ptr(schema.Untyped), List: g.list(depth), Map: g.mapType(depth)}
}

func (g *generator) schema() *schema.Schema {
	s := &schema.Schema{}
	for i, name := range typeNames {
		a := g.atom(0)
		if i == 0 {
			a = schema.Atom{Map: g.mapType(0)}
			a.Map.ElementRelationship = schema.Separable
			for len(a.Map.Fields) < 2 {
				a = schema.Atom{Map: g.mapType(0)}
				a.Map.ElementRelationship = schema.Separable
			}
		}
		s.Types = append(s.Types, schema.TypeDef{Name: name, Atom: a})
	}
	s.Types = append(s.Types, typed.DeducedParseableType.Schema.Types...)
	return s
}

func (g *generator) anything(depth int) any {
	switch n := g.Intn(9); {
	case n == 0:
		return nil
	case n == 1:
		return g.Intn(2) == 0
	case n < 4:
		return int64(g.Intn(3))
	case n < 6 || depth > 5:
		return pick(g, "x", "y", "z")
	case n == 6:
		list := []any{}
		for range g.Intn(3) {
			list = append(list, g.anything(depth+1))
		}
		return list
	}
	m := map[string]any{}
	for range g.Intn(3) {
		m[pick(g, names...)] = g.anything(depth + 1)
	}
	return m
}

func (g *generator) scalarOf(s schema.Scalar) any {
	switch s {
	case schema.Numeric:
		return pick[any](g, int64(0), int64(1), int64(2), 1.5, 1.0)
	case schema.String:
		return pick(g, "x", "y", "z", "<&>")
	case schema.Boolean:
		return g.Intn(2) == 0
	}
	return pick[any](g, int64(1), "x", true, 2.5)
}

// document makes a value of a type; of another one now and then.
func (g *generator) document(tr schema.TypeRef, depth int, wrong int) any {
	if wrong > 0 && g.Intn(wrong) == 0 {
		return g.anything(depth)
	}
	if g.Intn(25) == 0 {
		return nil
	}
	a, ok := g.types.Resolve(tr)
	if !ok || depth > 7 {
		return nil
	}
	kinds := []int{}
	if a.Scalar != nil {
		kinds = append(kinds, 0)
	}
	if a.List != nil {
		kinds = append(kinds, 1)
	}
	if a.Map != nil {
		kinds = append(kinds, 2)
	}
	if len(kinds) == 0 {
		return nil
	}
	switch pick(g, kinds...) {
	case 0:
		return g.scalarOf(*a.Scalar)
	case 1:
		list := []any{}
		seen := map[string]bool{}
		for range g.Intn(4) {
			item := g.document(a.List.ElementType, depth+1, wrong)
			if a.List.ElementRelationship == schema.Associative {
				if item == nil && g.Intn(20) > 0 {
					continue
				}
				key := fmt.Sprint(item)
				if m, ok := item.(map[string]any); ok {
					key = ""
					if len(a.List.Keys) > 0 && g.Intn(30) > 0 && m["a"] == nil {
						continue
					}
					for _, k := range a.List.Keys {
						key += fmt.Sprint(m[k], ",")
					}
				}
				if seen[key] && g.Intn(8) > 0 {
					continue
				}
				seen[key] = true
			}
			list = append(list, item)
		}
		return list
	}
	m := map[string]any{}
	for _, name := range names {
		if g.Intn(2) == 0 {
			continue
		}
		tr := a.Map.ElementType
		if field, ok := a.Map.FindField(name); ok {
			tr = field.Type
		} else if tr == (schema.TypeRef{}) {
			if wrong == 0 || g.Intn(10*wrong) > 0 {
				continue
			}
		}
		m[name] = g.document(tr, depth+1, wrong)
	}
	return m
}

func (g *generator) typed(wrong int) (*typed.TypedValue, *typed.TypedValue) {
	tr := schema.TypeRef{NamedType: ptr("t0")}
	v := value.NewValueInterface(g.document(tr, 0, wrong))
	strict, errStrict := typed.AsTyped(v, g.types, tr)
	record.Call("validate", v, g.types, tr, false, errStrict)
	loose, err := typed.AsTyped(v, g.types, tr, typed.AllowDuplicates)
	record.Call("validate", v, g.types, tr, true, err)
	if err != nil {
		loose = nil
	}
	if errStrict != nil {
		strict = nil
	}
	return strict, loose
}

// walks makes the calls on documents themselves.
func (g *generator) walks() {
	_, left := g.typed(60)
	strict, right := g.typed(60)
	if left == nil || right == nil {
		return
	}
	if strict != nil {
		out, err := left.Merge(strict)
		record.Call("merge", left, strict, out, err)
	}
	changes, err := left.Compare(right)
	record.Call("compare", left, right, changes, err)
	a, errA := left.ToFieldSet()
	record.Call("fields", left, a, errA)
	b, errB := right.ToFieldSet()
	record.Call("fields", right, b, errB)
	if errA != nil || errB != nil {
		return
	}
	for op, out := range map[string]*fieldpath.Set{
		"union": a.Union(b), "intersection": a.Intersection(b), "difference": a.Difference(b),
		"recursive_difference": a.RecursiveDifference(b),
	} {
		record.Call(op, a, b, out)
	}
	tr := left.TypeRef()
	record.Call("named", a, g.types, tr, a.EnsureNamedFieldsAreMembers(g.types, tr))
	record.Call("remove", left, b, left.RemoveItems(b))
	record.Call("extract", left, b.Leaves(), left.ExtractItems(b.Leaves()))
	record.Call("extract_with_keys", left, b.Leaves(), left.ExtractItems(b.Leaves(), typed.WithAppendKeyFields()))
	other := *g
	other.types = g.schema()
	moved := typed.AsTypedUnvalidated(value.NewValueInterface(nil), other.types, tr)
	out, err := typed.ReconcileFieldSetWithSchema(a, moved)
	record.Call("reconcile", a, moved, out, err)
}

// story makes updates and applies of one object by several managers.
func (g *generator) story() {
	tr := schema.TypeRef{NamedType: ptr("t0")}
	live, _ := typed.AsTyped(value.NewValueInterface(nil), g.types, tr)
	managers := fieldpath.ManagedFields{}
	updater := &merge.Updater{Converter: same{}}
	if g.Intn(4) == 0 {
		reset := fieldpath.NewSet(fieldpath.MakePathOrDie(pick(g, names...)))
		updater.IgnoredFields = map[fieldpath.APIVersion]*fieldpath.Set{"v1": reset}
	}
	for range 4 + g.Intn(5) {
		strict, loose := g.typed(0)
		manager := pick(g, "m1", "m2", "m3")
		version := fieldpath.APIVersion("v1")
		if g.Intn(3) == 0 {
			if loose == nil {
				continue
			}
			object, settled, err := record.Updating(updater, "update", live, loose, version, managers, manager, false, false, func(u *merge.Updater) (*typed.TypedValue, fieldpath.ManagedFields, error) {
				return u.Update(live, loose, version, managers.Copy(), manager)
			})
			if err == nil {
				live, managers = object, settled
			}
			continue
		}
		if strict == nil {
			continue
		}
		force := g.Intn(2) == 0
		object, settled, err := record.Updating(updater, "apply", live, strict, version, managers, manager, force, false, func(u *merge.Updater) (*typed.TypedValue, fieldpath.ManagedFields, error) {
			return u.Apply(live, strict, version, managers.Copy(), manager, force)
		})
		if err == nil {
			managers = settled
			if object != nil {
				live = object
			}
		}
	}
}

func main() {
	seed := flag.Int64("seed", 1, "the seed")
	rounds := flag.Int("rounds", 100, "how many schemas to make")
	flag.Parse()
	for round := range *rounds {
		g := &generator{Rand: rand.New(rand.NewSource(*seed*1_000_000 + int64(round)))}
		made := g.schema()
		// As a server has it: read from text.
		text, err := yaml.Marshal(map[string]any{"types": made.Types})
		if err != nil {
			panic(err)
		}
		g.types = &schema.Schema{}
		if err := yaml.Unmarshal(text, g.types); err != nil {
			panic(err)
		}
		for range 3 {
			g.walks()
		}
		for range 2 {
			g.story()
		}
	}
}
