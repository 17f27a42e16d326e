// Command patches runs the tests of the libraries that kube-apiserver patches objects with, in copies that write down each
// call with its outcome. Nothing of the libraries is kept: the copies stand in a temporary folder.
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
	"strings"
)

//go:embed hooks
var hooks embed.FS

// A library: its module, the tests that are run, and what is told of.
type library struct {
	module, out string
	tests       []string
	hooked      []hooked
	// Whether the tests read the description of the built-in types.
	swagger bool
}

// A package: where it is, the file that tells, and the functions that are told of, by file.
type hooked struct {
	folder, hook string
	told         map[string][]string
}

// The version of Kubernetes whose libraries these are.
const kubernetes = "v1.37.2"

const managed = "pkg/util/managedfields"

var libraries = []library{
	{
		module: "k8s.io/apimachinery", out: "strategic", tests: []string{"./pkg/util/strategicpatch"},
		hooked: []hooked{{
			folder: "pkg/util/strategicpatch", hook: "strategicpatch.go.txt",
			told: map[string][]string{"patch.go": {"StrategicMergeMapPatchUsingLookupPatchMeta"}},
		}},
	},
	{
		module: "k8s.io/apimachinery", out: "managed", swagger: true, tests: []string{"./" + managed, "./" + managed + "/internal"},
		hooked: []hooked{
			{folder: managed, hook: "managedfields.go.txt", told: map[string][]string{
				"scalehandler.go": {"(h *ScaleHandler) ToSubresource", "(h *ScaleHandler) ToParent"},
			}},
			{folder: managed + "/internal", hook: "managedfields_internal.go.txt", told: map[string][]string{
				"fieldmanager.go":  {"(f *FieldManager) Update", "(f *FieldManager) Apply"},
				"managedfields.go": {"DecodeManagedFields"},
			}},
		},
	},
	{
		module: "gopkg.in/evanphx/json-patch.v4", out: "json", tests: []string{"."},
		hooked: []hooked{{
			hook: "jsonpatch.go.txt",
			told: map[string][]string{"patch.go": {"DecodePatch", "(p Patch) Apply"}, "merge.go": {"MergePatch"}},
		}},
	},
}

// Calls that are longer than this are not kept.
const longest = 20_000

func main() {
	out := flag.String("out", "", "the folder for the records")
	flag.Parse()
	if *out == "" {
		log.Fatal("-out is required")
	}
	for _, library := range libraries {
		library.record(*out)
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (l library) record(out string) {
	top, root := l.copied()
	defer os.RemoveAll(top)
	for _, pkg := range l.hooked {
		folder := filepath.Join(root, pkg.folder)
		for file, names := range pkg.told {
			path := filepath.Join(folder, file)
			content, err := os.ReadFile(path)
			must(err)
			for _, name := range names {
				pattern := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
				if !pattern.Match(content) {
					log.Fatalf("%s has no %s", file, name)
				}
				content = pattern.ReplaceAll(content, []byte("func "+name+"__("))
			}
			must(os.WriteFile(path, content, 0o644))
		}
		hook, err := hooks.ReadFile("hooks/" + pkg.hook)
		must(err)
		must(os.WriteFile(filepath.Join(folder, "zz_hook.go"), hook, 0o644))
	}
	module := filepath.Join(root, "go.mod")
	if _, err := os.Stat(module); err != nil {
		must(os.WriteFile(module, []byte("module "+l.module+"\n\ngo 1.25\n"), 0o644))
	}
	// What the library needs comes from where this program's needs come from.
	records := filepath.Join(root, "records.jsonl")
	test := exec.Command("go", append([]string{"test", "-count=1", "-parallel=1", "-p=1", "-vet=off"}, l.tests...)...)
	test.Dir = root
	test.Env = append(os.Environ(), "RECORD_OUT="+records, "GOFLAGS=-mod=mod")
	if output, err := test.CombinedOutput(); err != nil {
		log.Printf("%s: %v\n%s", l.module, err, output)
	}
	content, err := os.ReadFile(records)
	must(err)
	seen, types := map[string]bool{}, map[string]json.RawMessage{}
	lines := []string{}
	scanner := bufio.NewScanner(bytes.NewReader(content))
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		var call map[string]json.RawMessage
		must(json.Unmarshal(scanner.Bytes(), &call))
		var own map[string]json.RawMessage
		if call["types"] != nil {
			must(json.Unmarshal(call["types"], &own))
		}
		for name, fields := range own {
			types[name] = fields
		}
		delete(call, "types")
		line, err := json.Marshal(call)
		must(err)
		if seen[string(line)] || len(line) > longest {
			continue
		}
		seen[string(line)] = true
		lines = append(lines, string(line))
	}
	if len(types) > 0 {
		text, err := json.Marshal(map[string]any{"op": "types", "types": types})
		must(err)
		lines = append([]string{string(text)}, lines...)
	}
	fmt.Println(l.out, len(lines), "calls")
	must(os.WriteFile(filepath.Join(out, l.out+".json"), []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644))
}

// copied is a folder, and in it a copy of the library's module, where it stands in Kubernetes.
func (l library) copied() (string, string) {
	listed, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", l.module).Output()
	must(err)
	source := strings.TrimSpace(string(listed))
	top, err := os.MkdirTemp("", "patches")
	must(err)
	target := filepath.Join(top, "staging/src", l.module)
	if l.swagger {
		placeSwagger(filepath.Join(top, "api/openapi-spec"))
	}
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
	return top, target
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
