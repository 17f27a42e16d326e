// Command merging runs the tests of the libraries that kube-apiserver merges and patches objects with, in copies that tell
// of their calls, and writes down each call with its outcome. Nothing of the libraries is kept: the copies stand in
// temporary folders.
package main

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

//go:embed smd/hooks smd/record patches/hooks
var files embed.FS

func main() {
	out := flag.String("out", "", "the folder for the records")
	flag.Parse()
	if *out == "" {
		fail("-out is required")
	}
	counts := map[string][]string{}
	for _, library := range libraries {
		folder, copied := library.copy()
		defer os.RemoveAll(folder)
		for _, record := range library.records {
			group := filepath.Dir(record.out)
			must(os.MkdirAll(filepath.Join(*out, group), 0o755))
			content, said := record.of(copied)
			must(os.WriteFile(filepath.Join(*out, record.out+".json"), content, 0o644))
			counts[group] = append(counts[group], said...)
		}
	}
	for group, said := range counts {
		sort.Strings(said)
		must(os.WriteFile(filepath.Join(*out, group, "tests.txt"), []byte(strings.Join(said, "\n")+"\n"), 0o644))
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		fail(err.Error())
	}
}

// copy makes a folder, and in it a copy of the library that tells of its calls.
func (l library) copy() (string, string) {
	listed, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", l.module).Output()
	must(err)
	folder, err := os.MkdirTemp("", "merging")
	must(err)
	copied := filepath.Join(folder, l.at)
	must(copyFiles(strings.TrimSpace(string(listed)), copied))
	for file, names := range l.told {
		tell(filepath.Join(copied, file), names)
	}
	for target, name := range l.placed {
		content, err := files.ReadFile(name)
		must(err)
		target = filepath.Join(copied, target)
		must(os.MkdirAll(filepath.Dir(target), 0o755))
		content = bytes.ReplaceAll(content, []byte("PACKAGE"), []byte(packageOf(filepath.Dir(target))))
		must(os.WriteFile(target, content, 0o644))
	}
	module := filepath.Join(copied, "go.mod")
	if _, err := os.Stat(module); err != nil {
		must(os.WriteFile(module, []byte("module "+l.module+"\n\ngo 1.25\n"), 0o644))
	}
	if l.prepare != nil {
		l.prepare(folder, copied)
	}
	return folder, copied
}

// copyFiles copies a folder; the copies can be written to.
func copyFiles(source, target string) error {
	return filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(target, relative), 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(target, relative), content, 0o644)
	})
}

// tell gives functions another name, so that functions of the old name can take their place.
func tell(file string, names []string) {
	content, err := os.ReadFile(file)
	must(err)
	for _, name := range names {
		pattern := regexp.MustCompile(`(?m)^func (` + name + `)\(`)
		if !pattern.Match(content) {
			fail(file + " has no " + name)
		}
		content = pattern.ReplaceAll(content, []byte("func ${1}__("))
	}
	must(os.WriteFile(file, content, 0o644))
}

// packageOf is the name of the package that a folder holds.
func packageOf(folder string) string {
	sources, err := filepath.Glob(filepath.Join(folder, "*.go"))
	must(err)
	for _, source := range sources {
		content, err := os.ReadFile(source)
		must(err)
		if found := regexp.MustCompile(`(?m)^package (\w+?)(_test)?$`).FindSubmatch(content); found != nil && string(found[1]) != "PACKAGE" {
			return string(found[1])
		}
	}
	return filepath.Base(folder)
}

// of is the file of the calls that tests make, none twice; and how many each test made, and how many of them were kept.
func (r record) of(copied string) ([]byte, []string) {
	seen, types := map[string]bool{}, map[string]json.RawMessage{}
	heads, calls, counts := []string{}, []string{}, []string{}
	for _, folder := range r.tested {
		binary, tests := build(copied, folder)
		for _, test := range tests {
			total, kept := 0, 0
			for _, line := range run(binary, filepath.Join(copied, folder), test) {
				line, isHead := told(line, types)
				if !isHead {
					total++
				}
				limit, limited := r.limits[test]
				if seen[line] || (!isHead && (len(line) > r.longest || limited && kept >= limit)) {
					continue
				}
				seen[line] = true
				if isHead {
					heads = append(heads, line)
				} else {
					calls = append(calls, line)
					kept++
				}
			}
			counts = append(counts, fmt.Sprintf("%s.%s: %d calls, %d kept", packageOf(filepath.Join(copied, folder)), test, total, kept))
		}
	}
	if len(types) > 0 {
		text, err := json.Marshal(map[string]any{"op": "types", "types": types})
		must(err)
		heads = append(heads, string(text))
	}
	return []byte("[\n" + strings.Join(append(heads, calls...), ",\n") + "\n]\n"), counts
}

// build makes the tests of a folder of a library, and lists them.
func build(copied, folder string) (string, []string) {
	binary := filepath.Join(copied, "tests.of."+strings.ReplaceAll(folder, "/", "."))
	build := exec.Command("go", "test", "-vet=off", "-c", "-o", binary, "./"+folder)
	// What the library needs comes from where this program's needs come from.
	build.Dir, build.Env, build.Stderr = copied, append(os.Environ(), "GOFLAGS=-mod=mod"), os.Stderr
	must(build.Run())
	list := exec.Command(binary, "-test.list", "^Test")
	list.Dir = filepath.Join(copied, folder)
	names, err := list.Output()
	must(err)
	return binary, strings.Fields(string(names))
}

// run runs one test by itself, one part after the other, so that each call is told of whole.
func run(binary, folder, test string) []string {
	records := binary + ".jsonl"
	os.Remove(records)
	command := exec.Command(binary, "-test.parallel", "1", "-test.run", "^"+test+"$")
	command.Dir, command.Env = folder, append(os.Environ(), "RECORD_OUT="+records)
	if output, err := command.CombinedOutput(); err != nil {
		fail(fmt.Sprintf("%s: %v\n%s", test, err, output))
	}
	content, err := os.ReadFile(records)
	if err != nil && !os.IsNotExist(err) {
		fail(err.Error())
	}
	lines := []string{}
	scanner := bufio.NewScanner(bytes.NewReader(content))
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	must(scanner.Err())
	return lines
}

// told takes the description of types out of a line, and says whether the line describes a schema, which calls refer to.
func told(line string, types map[string]json.RawMessage) (string, bool) {
	var call map[string]json.RawMessage
	must(json.Unmarshal([]byte(line), &call))
	if call["types"] != nil {
		must(json.Unmarshal(call["types"], &types))
		delete(call, "types")
		text, err := json.Marshal(call)
		must(err)
		line = string(text)
	}
	return line, string(call["op"]) == `"schema"`
}
