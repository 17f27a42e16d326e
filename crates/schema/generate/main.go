// Command generate writes the tables of built-in types that crates/schema embeds.
//
// It reads two public sources of one Kubernetes release: the published API documents in the module
// k8s.io/kubernetes (api/openapi-spec/v3 and api/discovery, and literals of its source), and the Go types themselves, by reflection,
// for what no document says: which fields are pointers, which are always written, in which order, and
// under which protobuf tags.
//
// Run it in this folder: `go run .`. It downloads the modules it needs and nothing else.
// The formats of the files are described where they are read: src/builtin/{types,descriptions,resources}.rs and src/table.rs.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const kubernetes = "k8s.io/kubernetes@v1.37.2"

// served are the group versions that a server of this release serves without any flag.
var served = []string{
	"v1", "apiregistration.k8s.io/v1", "apps/v1", "events.k8s.io/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1",
	"autoscaling/v2", "autoscaling/v1", "batch/v1", "certificates.k8s.io/v1", "networking.k8s.io/v1", "policy/v1",
	"rbac.authorization.k8s.io/v1", "storage.k8s.io/v1", "admissionregistration.k8s.io/v1", "apiextensions.k8s.io/v1",
	"scheduling.k8s.io/v1", "coordination.k8s.io/v1", "node.k8s.io/v1", "discovery.k8s.io/v1", "resource.k8s.io/v1",
	"flowcontrol.apiserver.k8s.io/v1", "storagemigration.k8s.io/v1",
}

// special are the types whose JSON form is not that of their Go struct, by the name the tables give them.
var special = map[string]string{
	"io.k8s.apimachinery.pkg.apis.meta.v1.Time":                                             "time",
	"io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime":                                        "micro",
	"io.k8s.apimachinery.pkg.apis.meta.v1.Duration":                                         "duration",
	"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1":                                         "fields",
	"io.k8s.apimachinery.pkg.api.resource.Quantity":                                         "quantity",
	"io.k8s.apimachinery.pkg.util.intstr.IntOrString":                                       "intstr",
	"io.k8s.apimachinery.pkg.runtime.RawExtension":                                          "raw",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON":                         "json",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool":        "props-or-bool",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray":       "props-or-array",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "props-or-strings",
}

type document = map[string]any

type generator struct {
	schemas map[string]document // OpenAPI component schemas by model name
	types   map[string]string   // finished lines by short name
	texts   map[string]string   // description lines by short name
	enums   map[string]enumeration
	names   map[string]string // lines of fields whose Go types have names, by short name
}

func main() {
	out := flag.String("out", "../src/tables", "folder to write the tables to")
	examples := flag.String("fixtures", "../tests/data", "folder to write encoded objects to, for the tests")
	flag.Parse()
	check(os.MkdirAll(*out, 0o755))
	check(os.MkdirAll(*examples, 0o755))
	module := moduleFolder()
	source := filepath.Join(module, "api")
	g := &generator{schemas: map[string]document{}, types: map[string]string{}, names: map[string]string{}, texts: map[string]string{}, enums: enumerations(module)}
	g.readOpenAPI(filepath.Join(source, "openapi-spec/v3"))

	scheme := clientscheme.Scheme
	write(*out, "options.txt", optionVersions(filepath.Join(source, "openapi-spec/swagger.json"), scheme))
	check(apiextensions.AddToScheme(scheme))
	check(apiregistration.AddToScheme(scheme))
	write(*examples, "go_objects.txt", fixtures(scheme))
	var kinds []string
	for _, name := range served {
		gv, err := schema.ParseGroupVersion(name)
		check(err)
		for kind, t := range scheme.KnownTypes(gv) {
			// Options and watch events are the same type in every group: the core group's row stands for all.
			if t.PkgPath() == reflect.TypeOf(metav1.Status{}).PkgPath() && name != "v1" {
				continue
			}
			if kind == "WatchEvent" {
				continue
			}
			kinds = append(kinds, fmt.Sprintf("%s %s %s", name, kind, strings.TrimPrefix(g.typeName(t), "@")))
		}
	}
	for _, t := range []reflect.Type{reflect.TypeOf(metav1.Status{}), reflect.TypeOf(metav1.PartialObjectMetadataList{}), reflect.TypeOf(apidiscovery.APIGroupDiscoveryList{}), reflect.TypeOf(metav1.LabelSelector{}),
		reflect.TypeOf(metav1.WatchEvent{}), reflect.TypeOf(version.Info{})} {
		g.typeName(t)
	}
	sort.Strings(kinds)
	write(*out, "kinds.txt", kinds)
	write(*out, "structs.txt", structs())
	write(*out, "zones.txt", zones())
	for model, name := range special {
		g.texts["@"+name] = "@" + name + "\t" + describe(g.schemas[model])
	}
	write(*out, "types.txt", sortedValues(g.types, func(string) bool { return true }))
	core := func(name string) bool {
		return strings.HasPrefix(name, "core.") || strings.HasPrefix(name, "meta.") || name[0] == '@'
	}
	write(*out, "descriptions_core.txt", sortedValues(g.texts, core))
	write(*out, "descriptions.txt", sortedValues(g.texts, func(n string) bool { return !core(n) }))
	write(*out, "names.txt", sortedValues(g.names, func(string) bool { return true }))
	write(*out, "columns.txt", columns(module))
	write(*out, "parameters.txt", parameters())
	write(*out, "resources.txt", resources(filepath.Join(source, "discovery")))
}

// moduleFolder downloads the release's module and returns the folder it was unpacked to.
func moduleFolder() string {
	cmd := exec.Command("go", "mod", "download", "-json", kubernetes)
	cmd.Stderr = os.Stderr
	data, err := cmd.Output()
	check(err)
	var module struct{ Dir string }
	check(json.Unmarshal(data, &module))
	return module.Dir
}

func (g *generator) readOpenAPI(folder string) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	check(err)
	for _, file := range files {
		var doc struct {
			Components struct{ Schemas map[string]document }
		}
		data, err := os.ReadFile(file)
		check(err)
		check(json.Unmarshal(data, &doc))
		for name, s := range doc.Components.Schemas {
			g.schemas[name] = s
		}
	}
}

type named interface{ OpenAPIModelName() string }

func modelName(t reflect.Type) string {
	if n, ok := reflect.Zero(t).Interface().(named); ok {
		return n.OpenAPIModelName()
	}
	return ""
}

// short is the model name without the prefix that its first word implies.
func short(model string) string {
	for _, prefix := range []string{"io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg.", "io.k8s.apiextensions-apiserver.pkg.apis.", "io.k8s.kube-aggregator.pkg.apis."} {
		if rest, ok := strings.CutPrefix(model, prefix); ok {
			return rest
		}
	}
	log.Fatalf("no short form of the type name %q is known", model)
	return ""
}

// typeName is the table's expression for a Go type; structs are added to the table on the way.
func (g *generator) typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	model := modelName(t)
	if s, ok := special[model]; ok {
		return s
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32, reflect.Uint32:
		return "int32"
	case reflect.Int64, reflect.Int, reflect.Uint64:
		return "int64"
	case reflect.Float64, reflect.Float32:
		return "double"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		item := "[]" + g.typeName(t.Elem())
		if _, message := reflect.PointerTo(t).MethodByName("Unmarshal"); message {
			return "items" + item // a list that protobuf wraps in a message
		}
		return item
	case reflect.Map:
		return "{}" + g.typeName(t.Elem())
	case reflect.Struct:
		name := short(model)
		if _, done := g.types[name]; !done {
			g.types[name] = "" // recursion ends here
			g.addStruct(name, model, t)
		}
		return "@" + name
	default:
		log.Fatalf("type %v has no form in the table", t)
		return ""
	}
}

func (g *generator) addStruct(name, model string, t reflect.Type) {
	s, ok := g.schemas[model]
	if !ok {
		s = document{}
	}
	line := []string{name + strings.TrimRight(" "+marks(s), " ")}
	texts := []string{name, describe(s)}
	g.addFields(t, s, name, "", "", &line, &texts)
	g.types[name] = strings.Join(line, "\t")
	g.texts[name] = strings.Join(texts, "\t")
}

// addFields adds the fields of a struct to a line of the table: outer are the protobuf tags, and within the Go names, of the structs
// that JSON flattens into the one the line is of.
func (g *generator) addFields(t reflect.Type, s document, name, outer, within string, line, texts *[]string) {
	properties, _ := s["properties"].(document)
	required, _ := s["required"].([]any)
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		tags := strings.Split(f.Tag.Get("json"), ",")
		tag := protoTag(f)
		if tags[0] == "-" {
			continue
		}
		if f.Anonymous && tags[0] == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			path := outer
			if tag != "" {
				path += tag + "."
			}
			if inner == reflect.TypeOf(metav1.TypeMeta{}) {
				path = "-"
			}
			through := strings.TrimPrefix(within+"."+f.Name, ".")
			if path == "-" {
				through = "" // what is known of every kind needs no mark
			}
			g.addFields(inner, s, name, path, through, line, texts)
			continue
		}
		if goType := nameOf(f.Type); goType != "" {
			if g.names[name] == "" {
				g.names[name] = name
			}
			g.names[name] += "\t" + tags[0] + " " + goType
		}
		property, _ := properties[tags[0]].(document)
		words := []string{tags[0], g.typeName(f.Type)}
		if tag != "" && outer != "-" {
			words = append(words, "#"+outer+tag)
		}
		if slices.Contains(required, any(tags[0])) {
			words = append(words, "!")
		}
		if f.Type.Kind() == reflect.Pointer {
			words = append(words, "*")
		}
		omit := slices.Contains(tags, "omitzero") || (slices.Contains(tags, "omitempty") && f.Type.Kind() != reflect.Struct)
		if !omit {
			words = append(words, "~")
		}
		if within != "" {
			words = append(words, "in="+within)
		}
		if m := marks(property); m != "" {
			words = append(words, m)
		}
		d, published := property["default"]
		if published && isZero(d) && (omit || f.Type.Kind() == reflect.Pointer) {
			words = append(words, "z")
		}
		if published && !isZero(d) {
			data, err := json.Marshal(d)
			check(err)
			words = append(words, "d="+strings.ReplaceAll(string(data), " ", "%20"))
		}
		description := describe(property)
		if enum, ok := g.enums[name+" "+tags[0]]; ok {
			if enum.values != "" {
				words = append(words, "e="+enum.values)
			}
			if enum.elements != "" {
				words = append(words, "ee="+enum.elements)
			}
			description = describe(document{"description": enum.description})
		}
		*line = append(*line, strings.Join(words, " "))
		*texts = append(*texts, description)
	}
}

func isZero(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case float64:
		return v == 0
	case bool:
		return !v
	case document:
		return len(v) == 0
	}
	return v == nil
}

func protoTag(f reflect.StructField) string {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return ""
	}
	_, err := strconv.Atoi(parts[1])
	check(err)
	return parts[1]
}

// marks are the OpenAPI extensions that merging needs.
func marks(s document) string {
	var words []string
	add := func(mark, extension string) {
		switch v := s[extension].(type) {
		case string:
			words = append(words, mark+"="+v)
		case []any:
			var all []string
			for _, one := range v {
				all = append(all, one.(string))
			}
			words = append(words, mark+"="+strings.Join(all, ","))
		}
	}
	add("lt", "x-kubernetes-list-type")
	add("lk", "x-kubernetes-list-map-keys")
	add("mt", "x-kubernetes-map-type")
	add("pk", "x-kubernetes-patch-merge-key")
	add("ps", "x-kubernetes-patch-strategy")
	unions, _ := s["x-kubernetes-unions"].([]any)
	for _, one := range unions {
		union := one.(document)
		discriminator, _ := union["discriminator"].(string)
		var fields []string
		for field, name := range union["fields-to-discriminateBy"].(document) {
			fields = append(fields, field+"="+name.(string))
		}
		sort.Strings(fields)
		words = append(words, "un="+discriminator+":"+strings.Join(fields, ","))
	}
	return strings.Join(words, " ")
}

func describe(s document) string {
	text, _ := s["description"].(string)
	return strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\t", "\\t").Replace(text)
}

// resources are the rows of resources.txt, in the order in which a server lists them.
func resources(folder string) []string {
	type resource struct {
		Name, SingularName, Group, Version, Kind, StorageVersionHash string
		Namespaced                                                   bool
		Verbs, ShortNames, Categories                                []string
	}
	var rows []string
	for _, gv := range served {
		file := "apis__" + strings.ReplaceAll(gv, "/", "__") + ".json"
		if gv == "v1" {
			file = "api__v1.json"
		}
		data, err := os.ReadFile(filepath.Join(folder, file))
		check(err)
		var list struct{ Resources []resource }
		check(json.Unmarshal(data, &list))
		sort.SliceStable(list.Resources, func(i, j int) bool { return list.Resources[i].Name < list.Resources[j].Name })
		rows = append(rows, "= "+gv)
		word := func(s string) string {
			if s == "" {
				return "-"
			}
			return s
		}
		for _, r := range list.Resources {
			verbs := word(strings.Join(r.Verbs, ","))
			if _, sub, ok := strings.Cut(r.Name, "/"); ok {
				rows = append(rows, strings.Join([]string{"/", sub, word(r.Group), word(r.Version), r.Kind, verbs}, " "))
				continue
			}
			scope := "Cluster"
			if r.Namespaced {
				scope = "Namespaced"
			}
			rows = append(rows, strings.Join([]string{r.Name, r.SingularName, r.Kind, scope, word(strings.Join(r.ShortNames, ",")),
				word(strings.Join(r.Categories, ",")), verbs, word(r.StorageVersionHash)}, " "))
		}
	}
	return rows
}

func sortedValues(m map[string]string, keep func(string) bool) []string {
	var keys []string
	for k := range m {
		if keep(k) {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	var values []string
	for _, k := range keys {
		values = append(values, m[k])
	}
	return values
}

func write(folder, name string, lines []string) {
	f, err := os.Create(filepath.Join(folder, name))
	check(err)
	w := bufio.NewWriter(f)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	check(w.Flush())
	check(f.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
