// Command smd runs the tests of structured-merge-diff in a copy of the library that tells of its calls, and writes down
// each call with its outcome. Nothing of the library is kept: the copy stands in a temporary folder.
package main

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

//go:embed hooks record
var files embed.FS

const module = "sigs.k8s.io/structured-merge-diff/v6"

// The functions that are told of, by file.
var told = map[string][]string{
	"fieldpath/set.go":          {"Union", "Intersection", "Difference", "RecursiveDifference", "Leaves", "EnsureNamedFieldsAreMembers", "FilterIncludeMatches", "Has", "Size", "Empty", "Equals", "String"},
	"fieldpath/serialize.go":    {"ToJSON", "FromJSON"},
	"fieldpath/serialize-pe.go": {"SerializePathElement", "DeserializePathElement"},
	"fieldpath/element.go":      {"Compare", "String"},
	"fieldpath/path.go":         {"String"},
	"value/value.go":            {"Compare"},
	"typed/typed.go":            {"AsTyped", "ToFieldSet", "Merge", "Compare", "RemoveItems", "ExtractItems"},
	"typed/reconcile_schema.go": {"ReconcileFieldSetWithSchema"},
	"merge/update.go":           {"Update", "Apply"},
}

// The types whose methods are told of.
var receivers = `(\((?:s \*Set|e PathElement|fp Path|tv TypedValue|s \*Updater)\) )?`

// Calls that are longer than this are not kept: whole objects of big clusters, which repeat what small ones show.
const longest = 40_000

// Tests of random sets, and how many of their calls are kept.
var random = map[string]int{"TestSerializeV1": 40}

var packages = []string{"fieldpath", "value", "typed", "merge", "internal/cli"}

func main() {
	out := flag.String("out", "", "the folder for the records")
	flag.Parse()
	if *out == "" {
		log.Fatal("-out is required")
	}
	copied := copyModule()
	defer os.RemoveAll(copied)
	instrument(copied)
	counts := []string{}
	for _, pkg := range packages {
		counts = append(counts, recordPackage(copied, pkg, *out)...)
	}
	sort.Strings(counts)
	must(os.WriteFile(filepath.Join(*out, "tests.txt"), []byte(strings.Join(counts, "\n")+"\n"), 0o644))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func copyModule() string {
	listed, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	must(err)
	source := strings.TrimSpace(string(listed))
	target, err := os.MkdirTemp("", "smd")
	must(err)
	must(filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(source, path)
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(target, relative), 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(target, relative), content, 0o644)
	}))
	return target
}

// instrument gives the functions that are told of another name, and puts functions of the old name in their place.
func instrument(root string) {
	for file, names := range told {
		path := filepath.Join(root, file)
		content, err := os.ReadFile(path)
		must(err)
		for _, name := range names {
			pattern := regexp.MustCompile(`(?m)^func ` + receivers + name + `\(`)
			if !pattern.Match(content) {
				log.Fatalf("%s has no %s", file, name)
			}
			content = pattern.ReplaceAll(content, []byte("func ${1}"+name+"__("))
		}
		must(os.WriteFile(path, content, 0o644))
	}
	// Go's maps have no order, and what the converter is asked depends on it.
	path := filepath.Join(root, "merge/update.go")
	content, err := os.ReadFile(path)
	must(err)
	const unordered = "for version, managed := range managedAtVersion {"
	if !bytes.Contains(content, []byte(unordered)) {
		log.Fatal("merge/update.go has another loop over versions")
	}
	text := strings.Replace(string(content), unordered,
		"for _, version := range slices.Sorted(maps.Keys(managedAtVersion)) {\n\t\tmanaged := managedAtVersion[version]", 1)
	text = strings.Replace(text, "import (", "import (\n\t\"maps\"\n\t\"slices\"", 1)
	must(os.WriteFile(path, []byte(text), 0o644))
	place := func(name, target string, replace ...string) {
		content, err := files.ReadFile(name)
		must(err)
		text := strings.NewReplacer(replace...).Replace(string(content))
		must(os.MkdirAll(filepath.Dir(filepath.Join(root, target)), 0o755))
		must(os.WriteFile(filepath.Join(root, target), []byte(text), 0o644))
	}
	place("hooks/hook.go.txt", "internal/hook/hook.go")
	for _, name := range []string{"encode.go", "calls.go", "updating.go"} {
		place("record/"+name, "internal/record/"+name)
	}
	for _, pkg := range packages {
		if !strings.Contains(pkg, "/") {
			place("hooks/"+pkg+".go.txt", pkg+"/zz_hook.go")
		}
		place("hooks/test.go.txt", pkg+"/zz_hook_test.go", "PACKAGE", filepath.Base(pkg))
	}
}

// recordPackage runs each test of a package by itself, and says how many calls it made and how many of them were kept: none
// twice.
func recordPackage(root, pkg, out string) []string {
	binary := filepath.Join(root, filepath.Base(pkg)+".test")
	build := exec.Command("go", "test", "-c", "-o", binary, "./"+pkg)
	build.Dir = root
	build.Stderr = os.Stderr
	must(build.Run())
	list := exec.Command(binary, "-test.list", ".*")
	list.Dir = filepath.Join(root, pkg)
	names, err := list.Output()
	must(err)
	seen := map[string]bool{}
	schemas, calls, counts := []string{}, []string{}, []string{}
	for _, name := range strings.Fields(string(names)) {
		if !strings.HasPrefix(name, "Test") {
			continue
		}
		records := filepath.Join(root, "records.jsonl")
		os.Remove(records)
		// One after the other, so that each call is told of whole.
		run := exec.Command(binary, "-test.parallel", "1", "-test.run", "^"+name+"$")
		run.Dir = filepath.Join(root, pkg)
		run.Env = append(os.Environ(), "RECORD_OUT="+records)
		if output, err := run.CombinedOutput(); err != nil {
			log.Fatalf("%s: %v\n%s", name, err, output)
		}
		content, _ := os.ReadFile(records)
		count, total := 0, 0
		scanner := bufio.NewScanner(bytes.NewReader(content))
		scanner.Buffer(nil, 64<<20)
		for scanner.Scan() {
			line := scanner.Text()
			var record struct{ Op string }
			must(json.Unmarshal([]byte(line), &record))
			if record.Op != "schema" {
				total++
			}
			if seen[line] || (record.Op != "schema" && len(line) > longest) {
				continue
			}
			seen[line] = true
			if record.Op == "schema" {
				schemas = append(schemas, line)
			} else if limit, limited := random[name]; !limited || count < limit {
				calls = append(calls, line)
				count++
			}
		}
		counts = append(counts, fmt.Sprintf("%s.%s: %d calls, %d kept", filepath.Base(pkg), name, total, count))
	}
	text := "[\n" + strings.Join(append(schemas, calls...), ",\n") + "\n]\n"
	must(os.WriteFile(filepath.Join(out, filepath.Base(pkg)+".json"), []byte(text), 0o644))
	return counts
}
