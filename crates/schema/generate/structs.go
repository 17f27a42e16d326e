package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	autoscaling "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	legacy "k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// structs describes the unversioned Go structs that errors of a server show, one a line: the name, then each field in
// the order of the struct: its Go name, the name it has in JSON documents (`-` if there is none of its own), and its form.
func structs() []string {
	lines := map[string]string{}
	seen := map[reflect.Type]bool{}
	for _, name := range served {
		gv, err := schema.ParseGroupVersion(name)
		check(err)
		for _, t := range clientscheme.Scheme.KnownTypes(gv) {
			spell(t, seen)
		}
	}
	for _, group := range []string{"", "apps", "autoscaling", "batch", "certificates.k8s.io", "discovery.k8s.io", "flowcontrol.apiserver.k8s.io",
		"networking.k8s.io", "policy", "rbac.authorization.k8s.io", "resource.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io"} {
		internal := legacy.Scheme.KnownTypes(schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal})
		for kind, t := range internal {
			if strings.HasSuffix(kind, "List") || strings.HasSuffix(kind, "Options") {
				continue
			}
			internalStruct(t, lines)
		}
	}
	// The first version of autoscalers carries structs in annotations.
	for _, one := range []any{autoscaling.MetricSpec{}, autoscaling.MetricStatus{}, autoscaling.HorizontalPodAutoscalerCondition{}} {
		internalStruct(reflect.TypeOf(one), lines)
	}
	result := make([]string, 0, len(lines))
	for _, line := range lines {
		result = append(result, line)
	}
	sort.Strings(result)
	return result
}

// spelled has what documents call the fields of internal structs where it is another word: by the name of a struct, then of a field.
var spelled = map[string]map[string]string{}

// spell reads it from a versioned struct and all that it holds: fields of both sides have the same Go names.
func spell(t reflect.Type, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		field := t.Field(i)
		spell(field.Type, seen)
		name := strings.Split(field.Tag.Get("json"), ",")[0]
		parts := strings.Split(t.PkgPath(), "/")
		if name == "" || strings.EqualFold(name, field.Name) || len(parts) < 3 || parts[len(parts)-3] != "api" {
			continue
		}
		holder := parts[len(parts)-2] + "." + t.Name()
		if spelled[holder] == nil {
			spelled[holder] = map[string]string{}
		}
		spelled[holder][field.Name] = name
	}
}

func internalStruct(t reflect.Type, lines map[string]string) {
	name := structName(t)
	if _, seen := lines[name]; seen {
		return
	}
	lines[name] = ""
	line := name
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		if tag := strings.Split(field.Tag.Get("json"), ","); field.Anonymous && (tag[0] == "" || len(tag) > 1 && tag[1] == "inline") {
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			line += "\t+ " + "@" + structName(inner)
			internalStruct(inner, lines)
			continue
		}
		shown, omit := field.Name, ""
		if tag := strings.Split(field.Tag.Get("json"), ","); tag[0] != "" {
			shown = tag[0]
			// A time is a struct, which is left out only where that is asked for.
			if len(tag) > 1 && (field.Type.String() != "v1.Time" || tag[len(tag)-1] == "omitzero") {
				omit = " o"
			}
		}
		other := ""
		if word := spelled[name][field.Name]; word != "" && shown == field.Name {
			other = " =" + word
		}
		line += "\t" + shown + " " + internalForm(field.Type, lines) + omit + other
	}
	lines[name] = line
}

func structName(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return fmt.Sprintf("%s.%s", parts[len(parts)-1], t.Name())
}

func internalForm(t reflect.Type, lines map[string]string) string {
	switch t.String() {
	case "resource.Quantity", "intstr.IntOrString", "v1.Time", "v1.MicroTime", "v1.Duration", "runtime.RawExtension", "runtime.Object", "v1.FieldsV1":
		return "any"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + internalForm(t.Elem(), lines)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + internalForm(t.Elem(), lines)
	case reflect.Map:
		return "{}" + internalForm(t.Elem(), lines)
	case reflect.Struct:
		internalStruct(t, lines)
		return "@" + structName(t)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Interface:
		return "any"
	default:
		return "int"
	}
}
