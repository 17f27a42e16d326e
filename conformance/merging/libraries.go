package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A library: its module, what is told of in a copy of it, and the files that come of it.
type library struct {
	module string
	// Where the copy stands in a folder of its own.
	at string
	// The functions that are told of, as patterns, by file.
	told map[string][]string
	// What is put into the copy: a file, by where it goes.
	placed map[string]string
	// What else the copy needs.
	prepare func(folder, copied string)
	records []record
}

// A file of calls.
type record struct {
	out string
	// The folders whose tests make the calls.
	tested []string
	// Calls that are longer than this are not kept.
	longest int
	// Tests of random inputs, and how many of their calls are kept.
	limits map[string]int
}

const (
	// The version of Kubernetes whose libraries these are.
	kubernetes = "v1.37.2"

	managed   = "pkg/util/managedfields"
	strategic = "pkg/util/strategicpatch"
	receiver  = `(\((?:s \*Set|e PathElement|fp Path|tv TypedValue|s \*Updater)\) )?`
)

var libraries = []library{
	{
		module: "sigs.k8s.io/structured-merge-diff/v6",
		told: map[string][]string{
			"fieldpath/set.go":          methods("Union", "Intersection", "Difference", "RecursiveDifference", "Leaves", "EnsureNamedFieldsAreMembers", "FilterIncludeMatches", "Has", "Size", "Empty", "Equals", "String"),
			"fieldpath/serialize.go":    methods("ToJSON", "FromJSON"),
			"fieldpath/serialize-pe.go": methods("SerializePathElement", "DeserializePathElement"),
			"fieldpath/element.go":      methods("Compare", "String"),
			"fieldpath/path.go":         methods("String"),
			"value/value.go":            methods("Compare"),
			"typed/typed.go":            methods("AsTyped", "ToFieldSet", "Merge", "Compare", "RemoveItems", "ExtractItems"),
			"typed/reconcile_schema.go": methods("ReconcileFieldSetWithSchema"),
			"merge/update.go":           methods("Update", "Apply"),
		},
		placed: map[string]string{
			"internal/hook/hook.go":        "smd/hooks/hook.go.txt",
			"internal/record/encode.go":    "smd/record/encode.go",
			"internal/record/calls.go":     "smd/record/calls.go",
			"internal/record/updating.go":  "smd/record/updating.go",
			"fieldpath/zz_hook.go":         "smd/hooks/fieldpath.go.txt",
			"value/zz_hook.go":             "smd/hooks/value.go.txt",
			"typed/zz_hook.go":             "smd/hooks/typed.go.txt",
			"merge/zz_hook.go":             "smd/hooks/merge.go.txt",
			"fieldpath/zz_hook_test.go":    "smd/hooks/test.go.txt",
			"value/zz_hook_test.go":        "smd/hooks/test.go.txt",
			"typed/zz_hook_test.go":        "smd/hooks/test.go.txt",
			"merge/zz_hook_test.go":        "smd/hooks/test.go.txt",
			"internal/cli/zz_hook_test.go": "smd/hooks/test.go.txt",
		},
		prepare: func(_, copied string) { orderVersions(filepath.Join(copied, "merge/update.go")) },
		records: []record{
			{out: "smd/fieldpath", tested: []string{"fieldpath"}, longest: 40_000, limits: map[string]int{"TestSerializeV1": 40}},
			{out: "smd/value", tested: []string{"value"}, longest: 40_000},
			{out: "smd/typed", tested: []string{"typed"}, longest: 40_000},
			{out: "smd/merge", tested: []string{"merge"}, longest: 40_000},
			{out: "smd/cli", tested: []string{"internal/cli"}, longest: 40_000},
		},
	},
	{
		module: "k8s.io/apimachinery",
		at:     "staging/src/k8s.io/apimachinery",
		told: map[string][]string{
			strategic + "/patch.go":                {"StrategicMergeMapPatchUsingLookupPatchMeta"},
			managed + "/scalehandler.go":           {`\(h \*ScaleHandler\) ToSubresource`, `\(h \*ScaleHandler\) ToParent`},
			managed + "/internal/fieldmanager.go":  {`\(f \*FieldManager\) Update`, `\(f \*FieldManager\) Apply`},
			managed + "/internal/managedfields.go": {"DecodeManagedFields"},
		},
		placed: map[string]string{
			strategic + "/zz_hook.go":        "patches/hooks/strategicpatch.go.txt",
			strategic + "/zz_tell.go":        "patches/hooks/tell.go.txt",
			managed + "/zz_hook.go":          "patches/hooks/managedfields.go.txt",
			managed + "/internal/zz_hook.go": "patches/hooks/managedfields_internal.go.txt",
			managed + "/internal/zz_tell.go": "patches/hooks/tell.go.txt",
		},
		prepare: func(folder, _ string) { placeSwagger(filepath.Join(folder, "api/openapi-spec")) },
		records: []record{
			{out: "patches/strategic", tested: []string{strategic}, longest: 20_000},
			{out: "patches/managed", tested: []string{managed, managed + "/internal"}, longest: 20_000},
		},
	},
	{
		module:  "gopkg.in/evanphx/json-patch.v4",
		told:    map[string][]string{"patch.go": {"DecodePatch", `\(p Patch\) Apply`}, "merge.go": {"MergePatch"}},
		placed:  map[string]string{"zz_hook.go": "patches/hooks/jsonpatch.go.txt", "zz_tell.go": "patches/hooks/tell.go.txt"},
		records: []record{{out: "patches/json", tested: []string{"."}, longest: 20_000}},
	},
}

// methods are patterns of functions of these names, and of methods of the types that are told of.
func methods(names ...string) []string {
	patterns := []string{}
	for _, name := range names {
		patterns = append(patterns, receiver+name)
	}
	return patterns
}

// orderVersions makes the updater go through versions in order: Go's maps have none, and what the converter is asked
// depends on it.
func orderVersions(file string) {
	content, err := os.ReadFile(file)
	must(err)
	const unordered = "for version, managed := range managedAtVersion {"
	if !bytes.Contains(content, []byte(unordered)) {
		fail("merge/update.go has another loop over versions")
	}
	text := strings.Replace(string(content), unordered,
		"for _, version := range slices.Sorted(maps.Keys(managedAtVersion)) {\n\t\tmanaged := managedAtVersion[version]", 1)
	text = strings.Replace(text, "import (", "import (\n\t\"maps\"\n\t\"slices\"", 1)
	must(os.WriteFile(file, []byte(text), 0o644))
}

// placeSwagger places the description of the built-in types, which tests read.
func placeSwagger(folder string) {
	listed, err := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+kubernetes).Output()
	must(err)
	var module struct{ Dir string }
	must(json.Unmarshal(listed, &module))
	content, err := os.ReadFile(filepath.Join(module.Dir, "api/openapi-spec/swagger.json"))
	must(err)
	must(os.MkdirAll(folder, 0o755))
	must(os.WriteFile(filepath.Join(folder, "swagger.json"), content, 0o644))
}
