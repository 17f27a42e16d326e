package record

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Updating runs an update or an apply and writes it down: what went in, what the converter said, what came out.
func Updating(s *merge.Updater, op string, live, other *typed.TypedValue, version fieldpath.APIVersion, managers fieldpath.ManagedFields, manager string, force, always bool, run func(*merge.Updater) (*typed.TypedValue, fieldpath.ManagedFields, error)) (*typed.TypedValue, fieldpath.ManagedFields, error) {
	record := M{
		"op": op, "live": Typed(live), "other": Typed(other), "version": version,
		"managers": Managers(managers), "manager": manager, "force": force, "always": always, "filters": Filters(s),
	}
	converter := &Converter{Inner: s.Converter}
	copied := *s
	copied.Converter = converter
	object, settled, err := run(&copied)
	record["conversions"] = converter.Calls
	record["out"] = Outcome(object, settled, err)
	Emit(record)
	return object, settled, err
}
