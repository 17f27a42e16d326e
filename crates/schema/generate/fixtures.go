package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// fixtures are objects as Go encodes them, one a line: the base64 of the protobuf body, a tab, the JSON body. Of each
// kind there are two: one with every field filled, and one with nothing set.
func fixtures(scheme *runtime.Scheme) []string {
	var lines []string
	serializer := protobuf.NewSerializer(scheme, scheme)
	for _, name := range served {
		gv, err := schema.ParseGroupVersion(name)
		check(err)
		kinds := scheme.KnownTypes(gv)
		var names []string
		for kind := range kinds {
			if _, ok := reflect.New(kinds[kind]).Interface().(protoMessage); !ok {
				continue
			}
			if kinds[kind].PkgPath() != reflect.TypeOf(metav1.Status{}).PkgPath() || kind == "DeleteOptions" {
				names = append(names, kind)
			}
		}
		sort.Strings(names)
		for _, kind := range names {
			for _, full := range []bool{true, false} {
				if strings.HasSuffix(kind, "List") && full {
					continue
				}
				value := reflect.New(kinds[kind])
				if full {
					(&filler{done: map[reflect.Type]int{}}).fill(value.Elem(), "x")
				}
				object := value.Interface().(runtime.Object)
				object.GetObjectKind().SetGroupVersionKind(gv.WithKind(kind))
				var body strings.Builder
				check(serializer.Encode(object, &body))
				text, err := json.Marshal(object)
				check(err)
				lines = append(lines, fmt.Sprintf("%s\t%s", base64.StdEncoding.EncodeToString([]byte(body.String())), text))
			}
		}
	}
	return lines
}

type protoMessage interface{ Unmarshal([]byte) error }

// filler sets every field to something that is not zero. A struct that was filled before is left with its scalars.
type filler struct {
	done map[reflect.Type]int
	next int64
}

func (f *filler) fill(v reflect.Value, name string) {
	f.next++
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		*p = metav1.NewTime(time.Unix(1_700_000_000+f.next, 0).UTC())
		return
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(time.Unix(1_700_000_000+f.next, 123_456_000).UTC())
		return
	case *metav1.Duration:
		p.Duration = time.Duration(f.next)*time.Second + 250*time.Millisecond
		return
	case *metav1.FieldsV1:
		check(p.UnmarshalJSON([]byte(`{"f:a":{}}`)))
		return
	case *resource.Quantity:
		*p = resource.MustParse(fmt.Sprintf("%dm", f.next))
		return
	case *intstr.IntOrString:
		if *p = intstr.FromInt32(int32(f.next)); f.next%2 == 0 {
			*p = intstr.FromString("25%")
		}
		return
	case *runtime.RawExtension:
		p.Raw = []byte(`{"a":[1,"b"]}`)
		return
	case *apiextensions.JSON:
		p.Raw = []byte(`{"c":1.5}`)
		return
	case *apiextensions.JSONSchemaPropsOrBool:
		p.Allows = true
		return
	case *apiextensions.JSONSchemaPropsOrArray:
		p.Schema = &apiextensions.JSONSchemaProps{Type: "string"}
		return
	case *apiextensions.JSONSchemaPropsOrStringArray:
		p.Property = []string{"p"}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s-%d", strings.ToLower(name), f.next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(f.next)
	case reflect.Float64:
		v.SetFloat(0.5 + float64(f.next))
	case reflect.Pointer:
		if f.done[v.Type().Elem()] > 0 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), name)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(name))
			return
		}
		if f.done[v.Type().Elem()] > 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), name)
	case reflect.Map:
		if f.done[v.Type().Elem()] > 0 {
			return
		}
		item := reflect.New(v.Type().Elem()).Elem()
		f.fill(item, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), item)
	case reflect.Struct:
		f.done[v.Type()]++
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Type != reflect.TypeOf(metav1.TypeMeta{}) {
				f.fill(v.Field(i), v.Type().Field(i).Name)
			}
		}
	}
}
