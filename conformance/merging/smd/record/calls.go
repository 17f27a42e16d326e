package record

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

func text(err error) any {
	if err == nil {
		return nil
	}
	return err.Error()
}

func outcome(record M, key string, result any, err error) M {
	if err != nil {
		record["error"] = err.Error()
	} else {
		record[key] = result
	}
	return record
}

// isJSON says whether a value is of a kind that JSON has; the library's tests also make others.
func isJSON(v any) bool {
	switch v.(type) {
	case nil, bool, string, int, int64, float64, []any, M:
		return true
	}
	return false
}

// Call writes down a call that an instrumented function tells of: its arguments, then its results.
func Call(op string, args ...any) {
	set := func(i int) any { return Set(args[i].(*fieldpath.Set)) }
	err := func(i int) error {
		e, _ := args[i].(error)
		return e
	}
	switch op {
	case "union", "intersection", "difference", "recursive_difference":
		Emit(M{"op": op, "a": set(0), "b": set(1), "out": set(2)})
	case "leaves":
		Emit(M{"op": op, "a": set(0), "out": set(1)})
	case "named":
		Emit(M{"op": op, "a": set(0), "schema": Schema(args[1].(*schema.Schema)), "type": TypeRef(args[2].(schema.TypeRef)), "out": set(3)})
	case "include":
		Emit(M{"op": op, "a": set(0), "patterns": args[1], "out": set(2)})
	case "has":
		Emit(M{"op": op, "a": set(0), "path": Path(args[1].(fieldpath.Path)), "out": args[2]})
	case "size", "empty", "print_set":
		Emit(M{"op": op, "a": set(0), "out": args[1]})
	case "equals":
		Emit(M{"op": op, "a": set(0), "b": set(1), "out": args[2]})
	case "write_set":
		Emit(outcome(M{"op": op, "a": set(0)}, "out", args[1], err(2)))
	case "read_set":
		Emit(outcome(M{"op": op, "text": args[0]}, "out", set(1), err(2)))
	case "write_element":
		Emit(outcome(M{"op": op, "a": Element(args[0].(fieldpath.PathElement))}, "out", args[1], err(2)))
	case "read_element":
		Emit(outcome(M{"op": op, "text": args[0]}, "out", Element(args[1].(fieldpath.PathElement)), err(2)))
	case "compare_elements":
		Emit(M{"op": op, "a": Element(args[0].(fieldpath.PathElement)), "b": Element(args[1].(fieldpath.PathElement)), "out": args[2]})
	case "print_element":
		Emit(M{"op": op, "a": Element(args[0].(fieldpath.PathElement)), "out": args[1]})
	case "print_path":
		Emit(M{"op": op, "a": Path(args[0].(fieldpath.Path)), "out": args[1]})
	case "compare_values":
		if !isJSON(Value(args[0].(value.Value))) || !isJSON(Value(args[1].(value.Value))) {
			return
		}
		Emit(M{"op": op, "a": Value(args[0].(value.Value)), "b": Value(args[1].(value.Value)), "out": args[2]})
	case "validate":
		tv := typed.AsTypedUnvalidated(args[0].(value.Value), args[1].(*schema.Schema), args[2].(schema.TypeRef))
		record := Typed(tv)
		record["op"], record["duplicates"], record["error"] = op, args[3], text(err(4))
		Emit(record)
	case "merge":
		a, b := args[0].(*typed.TypedValue), args[1].(*typed.TypedValue)
		record := Typed(a)
		record["op"], record["other"] = op, Value(b.AsValue())
		var result any
		if out, ok := args[2].(*typed.TypedValue); ok && out != nil {
			result = Value(out.AsValue())
		}
		Emit(outcome(record, "out", result, err(3)))
	case "compare":
		a, b := args[0].(*typed.TypedValue), args[1].(*typed.TypedValue)
		record := Typed(a)
		record["op"], record["other"] = op, Value(b.AsValue())
		var result any
		if out, ok := args[2].(*typed.Comparison); ok && out != nil {
			result = M{"removed": Set(out.Removed), "modified": Set(out.Modified), "added": Set(out.Added)}
		}
		Emit(outcome(record, "out", result, err(3)))
	case "fields":
		record := Typed(args[0].(*typed.TypedValue))
		record["op"] = op
		var result any
		if out, ok := args[1].(*fieldpath.Set); ok {
			result = Set(out)
		}
		Emit(outcome(record, "out", result, err(2)))
	case "remove", "extract", "extract_with_keys":
		record := Typed(args[0].(*typed.TypedValue))
		record["op"], record["fields"] = op, set(1)
		record["out"] = Value(args[2].(*typed.TypedValue).AsValue())
		Emit(record)
	case "reconcile":
		record := Typed(args[1].(*typed.TypedValue))
		record["op"], record["fields"] = op, set(0)
		Emit(outcome(record, "out", set(2), err(3)))
	default:
		panic("unknown op " + op)
	}
}
