// Command fuzz makes random patches, has the libraries of kube-apiserver apply them, and prints the calls.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

type m = map[string]any

var kinds = []struct {
	version, kind string
	object        any
}{
	{"v1", "Pod", &corev1.Pod{}}, {"v1", "Service", &corev1.Service{}}, {"v1", "ConfigMap", &corev1.ConfigMap{}},
	{"v1", "ServiceAccount", &corev1.ServiceAccount{}}, {"v1", "Node", &corev1.Node{}}, {"v1", "PersistentVolume", &corev1.PersistentVolume{}},
	{"apps/v1", "Deployment", &appsv1.Deployment{}}, {"apps/v1", "StatefulSet", &appsv1.StatefulSet{}}, {"batch/v1", "CronJob", &batchv1.CronJob{}},
	{"networking.k8s.io/v1", "Ingress", &networkingv1.Ingress{}},
}

type generator struct{ *rand.Rand }

func pick[T any](g generator, list ...T) T { return list[g.Intn(len(list))] }

// fill sets random fields of a value, few and small ones.
func (g generator) fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if depth < 12 {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem(), depth+1)
		}
	case reflect.Struct:
		switch v.Type().Name() {
		case "Time", "MicroTime", "Quantity", "FieldsV1", "RawExtension", "ManagedFieldsEntry", "TypeMeta":
			return
		case "IntOrString":
			v.FieldByName("Type").SetInt(0)
			v.FieldByName("IntVal").SetInt(int64(g.Intn(3)))
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			always := field.Name == "Spec" || field.Name == "Template" || field.Name == "Containers" || field.Name == "ObjectMeta" ||
				field.Name == "Name" || strings.Contains(field.Tag.Get("patchStrategy"), "merge") && g.Intn(3) == 0
			if field.IsExported() && (field.Anonymous || always || g.Intn(6) == 0) {
				g.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		n := g.Intn(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			g.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if v.Type().Elem().Kind() != reflect.String {
			return
		}
		for range g.Intn(3) {
			v.SetMapIndex(reflect.ValueOf(pick(g, "a", "b", "c")).Convert(v.Type().Key()), reflect.ValueOf(pick(g, "x", "y")).Convert(v.Type().Elem()))
		}
	case reflect.String:
		v.SetString(pick(g, "x", "y", "z", "w"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(g.Intn(4)))
	case reflect.Bool:
		v.SetBool(g.Intn(2) == 0)
	}
}

func (g generator) object(kind int) m {
	made := reflect.New(reflect.TypeOf(kinds[kind].object).Elem())
	g.fill(made.Elem(), 0)
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made.Interface())
	if err != nil {
		panic(err)
	}
	out["apiVersion"], out["kind"] = kinds[kind].version, kinds[kind].kind
	return out
}

// disturb makes a patch of an object: it takes things away, and adds nulls and directives.
func (g generator) disturb(object m) {
	for key, value := range object {
		switch g.Intn(8) {
		case 0:
			delete(object, key)
			continue
		case 1:
			object[key] = nil
			continue
		case 2:
			if g.Intn(15) == 0 {
				object[key] = pick[any](g, int64(1), "x", m{}, []any{}, true, []any{m{"name": "x"}})
				continue
			}
		}
		switch t := value.(type) {
		case m:
			g.disturb(t)
			switch g.Intn(40) {
			case 0:
				t["$patch"] = pick[any](g, "replace", "delete", "merge", "nonsense", int64(1))
			case 1:
				keys := []any{}
				for key := range t {
					if g.Intn(5) > 0 {
						keys = append(keys, key)
					}
				}
				t["$retainKeys"] = keys
			}
		case []any:
			g.disturbList(object, key, t)
		}
	}
	if g.Intn(60) == 0 {
		object[pick(g, "nothing", "$setElementOrder/nothing", "$setElementOrder", "$deleteFromPrimitiveList")] = []any{"x"}
	}
}

func (g generator) disturbList(object m, key string, list []any) {
	mergeKey := map[string]string{
		"containers": "name", "initContainers": "name", "env": "name", "ports": "containerPort", "volumeMounts": "mountPath", "volumes": "name",
		"imagePullSecrets": "name", "ownerReferences": "uid", "conditions": "type", "hostAliases": "ip", "secrets": "name", "addresses": "type",
		"volumeDevices": "devicePath", "ephemeralContainers": "name", "topologySpreadConstraints": "topologyKey", "resourceClaims": "name",
	}[key]
	order := []any{}
	for i, item := range list {
		item, ok := item.(m)
		if !ok {
			if g.Intn(20) > 0 {
				order = append(order, list[i])
			}
			continue
		}
		name, found := item[mergeKey]
		if found && g.Intn(20) > 0 {
			order = append(order, m{mergeKey: name})
		}
		if found && g.Intn(5) == 0 {
			list[i] = m{"$patch": "delete", mergeKey: name}
			continue
		}
		g.disturb(item)
		if found && g.Intn(20) > 0 {
			item[mergeKey] = name
		}
	}
	if len(list) > 0 && g.Intn(40) == 0 {
		list = append(list, m{"$patch": pick(g, "replace", "merge", "delete")})
	}
	if g.Intn(3) == 0 {
		for range g.Intn(2) {
			if mergeKey != "" {
				order = append(order, m{mergeKey: pick[any](g, "x", "y", int64(1))})
			} else {
				order = append(order, "y")
			}
		}
		object["$setElementOrder/"+key] = order
	}
	object[key] = list
	if mergeKey == "" && g.Intn(5) == 0 {
		// Both for one list come in the order of a map.
		delete(object, key)
		delete(object, "$setElementOrder/"+key)
		object["$deleteFromPrimitiveList/"+key] = []any{"x"}
	}
}

func text(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

func tell(call m) { fmt.Fprintln(os.Stdout, string(text(call))) }

func (g generator) strategic() {
	kind := g.Intn(len(kinds))
	original, patch := g.object(kind), g.object(kind)
	g.disturb(patch)
	delete(patch, "$patch")
	strategic(original, patch, kinds[kind].object)
}

func strategic(original, patch m, object any) {
	call := m{"op": "builtin", "original": text(original), "patch": text(patch)}
	defer func() {
		// What makes the library panic is no answer.
		_ = recover()
	}()
	out, err := strategicpatch.StrategicMergeMapPatch(original, patch, object)
	if err != nil {
		call["error"] = err.Error()
	} else {
		call["out"] = out
	}
	tell(call)
}

func (g generator) value(depth int) any {
	switch n := g.Intn(8); {
	case n == 0:
		return nil
	case n < 5 || depth > 3:
		return pick[any](g, 1, 2, "x", "y", true)
	case n == 5:
		list := []any{}
		for range g.Intn(4) {
			list = append(list, g.value(depth+1))
		}
		return list
	}
	object := m{}
	for range g.Intn(4) {
		object[pick(g, "a", "b", "c", "d/e", "f~g", "0", "1")] = g.value(depth + 1)
	}
	return object
}

func (g generator) document() m {
	for {
		if object, ok := g.value(0).(m); ok {
			return object
		}
	}
}

func (g generator) path() string {
	path := ""
	for range pick(g, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3) {
		path += "/" + pick(g, "a", "b", "c", "a", "b", "c", "a", "b", "c", "a", "b", "c", "d~1e", "f~0g", "0", "1", "-1", "-", "2", "00", "x", "")
	}
	return path
}

func outcome(call m, out []byte, err error) {
	if err != nil {
		call["error"] = err.Error()
	} else {
		call["out"] = string(out)
	}
	tell(call)
}

func (g generator) json() {
	doc := string(text(g.document()))
	operations := []any{}
	for range 1 + g.Intn(4) {
		operation := m{"op": pick(g, "add", "add", "add", "remove", "replace", "move", "copy", "test"), "path": g.path(), "from": g.path()}
		// The library tells a null of the document from one that an operation has set; nobody tests without a value.
		if g.Intn(8) > 0 || operation["op"] == "test" {
			operation["value"] = g.value(1)
		}
		switch g.Intn(60) {
		case 0:
			delete(operation, pick(g, "path", "from", "op"))
		case 1:
			operation["op"] = "nonsense"
		}
		operations = append(operations, operation)
	}
	patch := string(text(operations))
	call := m{"op": "json", "original": doc, "patch": patch}
	defer func() { _ = recover() }()
	decoded, err := jsonpatch.DecodePatch([]byte(patch))
	if err != nil {
		panic(err)
	}
	out, err := decoded.Apply([]byte(doc))
	outcome(call, out, err)
}

func (g generator) merge() {
	doc, patch := string(text(g.document())), string(text(g.document()))
	out, err := jsonpatch.MergePatch([]byte(doc), []byte(patch))
	outcome(m{"op": "merge", "original": doc, "patch": patch}, out, err)
}

// answer has the libraries answer one call, given as a line.
func answer(line []byte) {
	var call struct {
		Op              string
		Original, Patch json.RawMessage
	}
	if err := json.Unmarshal(line, &call); err != nil {
		panic(err)
	}
	if call.Op == "builtin" {
		var original, patch m
		for _, kind := range kinds {
			original, patch = m{}, m{}
			if err := utiljson.Unmarshal(call.Original, &original); err != nil {
				panic(err)
			}
			if err := utiljson.Unmarshal(call.Patch, &patch); err != nil {
				panic(err)
			}
			if kind.kind == original["kind"] {
				strategic(original, patch, kind.object)
			}
		}
		return
	}
	var original, patch string
	_ = json.Unmarshal(call.Original, &original)
	_ = json.Unmarshal(call.Patch, &patch)
	told := m{"op": call.Op, "original": original, "patch": patch}
	if call.Op == "merge" {
		out, err := jsonpatch.MergePatch([]byte(original), []byte(patch))
		outcome(told, out, err)
		return
	}
	decoded, err := jsonpatch.DecodePatch([]byte(patch))
	if err != nil {
		panic(err)
	}
	out, err := decoded.Apply([]byte(original))
	outcome(told, out, err)
}

func main() {
	seed := flag.Int64("seed", 1, "the seed")
	rounds := flag.Int("rounds", 1000, "how many patches of each kind")
	cases := flag.Bool("cases", false, "answer the calls that are read, one a line")
	flag.Parse()
	if *cases {
		scanner := bufio.NewScanner(os.Stdin)
		scanner.Buffer(nil, 16<<20)
		for scanner.Scan() {
			answer(scanner.Bytes())
		}
		return
	}
	for round := range *rounds {
		g := generator{rand.New(rand.NewSource(*seed*1_000_000 + int64(round)))}
		g.strategic()
		g.json()
		g.merge()
	}
}
