package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type documented interface{ SwaggerDoc() map[string]string }

// parameters are the rows of parameters.txt: the query parameters that the fields of each options type stand for, as a
// server publishes them.
func parameters() []string {
	var rows []string
	for _, options := range []documented{
		metav1.GetOptions{}, metav1.ListOptions{}, metav1.CreateOptions{}, metav1.UpdateOptions{}, metav1.PatchOptions{}, metav1.DeleteOptions{},
		corev1.PodLogOptions{}, corev1.PodExecOptions{}, corev1.PodAttachOptions{}, corev1.PodPortForwardOptions{}, corev1.PodProxyOptions{},
		corev1.ServiceProxyOptions{}, corev1.NodeProxyOptions{},
	} {
		t := reflect.TypeOf(options)
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			kind := parameterType(f.Type)
			if name == "" || kind == "" {
				continue
			}
			rows = append(rows, t.Name()+"\t"+name+"\t"+kind+"\t"+describe(document{"description": options.SwaggerDoc()[name]}))
		}
	}
	return rows
}

// parameterType is the JSON type of a field in a query; a list is told as one of its elements. Fields that are objects, times
// among them, are no parameters.
func parameterType(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.String:
		return "string"
	}
	return ""
}

// optionVersions are the rows of options.txt: the group versions that know the options of requests, served or not. Behind
// those that only the server's own code has stands a dash: documents of custom resources do not name them.
func optionVersions(file string, client *runtime.Scheme) []string {
	var doc struct {
		Definitions map[string]struct {
			Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
	}
	data, err := os.ReadFile(file)
	check(err)
	check(json.Unmarshal(data, &doc))
	var rows []string
	for _, kind := range doc.Definitions["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"].Kinds {
		row := kind.GroupVersion().String()
		if !client.Recognizes(kind) {
			row += " -"
		}
		rows = append(rows, row)
	}
	return rows
}
