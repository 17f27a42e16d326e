// Answers what the real validation of CustomResourceDefinitions 1.37.2 says of schemas, rules and objects. See README.md.
//
// Reads one JSON document a line, writes one a line:
//
//	{"schema":…, "object":…, "old":…}   a schema with its rules: what a definition with it is told, what the rules of its
//	                                    root may cost, and what all rules say of the object
//	{"crd":…, "oldCrd":…}               a definition, created or updated: what it is told
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/warning"
)

type question struct {
	Schema *apiextensionsv1.JSONSchemaProps `json:"schema"`
	Object json.RawMessage                  `json:"object"`
	Old    json.RawMessage                  `json:"old"`
	Crd    json.RawMessage                  `json:"crd"`
	OldCrd json.RawMessage                  `json:"oldCrd"`
}

type answer struct {
	Definition [][3]string `json:"definition,omitempty"`
	Costs      [][2]uint64 `json:"costs,omitempty"`
	Errors     [][3]string `json:"errors,omitempty"`
	Warnings   []string    `json:"warnings,omitempty"`
	Spent      int64       `json:"spent"`
	Failure    string      `json:"failure,omitempty"`
}

type warnings struct{ texts []string }

func (w *warnings) AddWarning(_, text string) { w.texts = append(w.texts, text) }

func list(errs field.ErrorList) [][3]string {
	var out [][3]string
	for _, err := range errs {
		out = append(out, [3]string{string(err.Type), err.Field, err.ErrorBody()})
	}
	return out
}

func value(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var out any
	err := utiljson.Unmarshal(raw, &out)
	return out, err
}

func crd(raw json.RawMessage) (*apiextensions.CustomResourceDefinition, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	if err := utiljson.Unmarshal(raw, v1); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(v1)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	out := &apiextensions.CustomResourceDefinition{}
	return out, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, out, nil)
}

func definition(q question) (answer, error) {
	now, err := crd(q.Crd)
	if err != nil {
		return answer{}, err
	}
	old, err := crd(q.OldCrd)
	if err != nil {
		return answer{}, err
	}
	if old != nil {
		return answer{Definition: list(validation.ValidateCustomResourceDefinitionUpdate(context.Background(), now, old))}, nil
	}
	return answer{Definition: list(validation.ValidateCustomResourceDefinition(context.Background(), now))}, nil
}

// around makes a definition with a schema.
func around(schema *apiextensionsv1.JSONSchemaProps) *apiextensions.CustomResourceDefinition {
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	v1.Name = "things.example.com"
	v1.Spec.Group, v1.Spec.Scope = "example.com", apiextensionsv1.ClusterScoped
	v1.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"}
	v1.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
	}}
	v1.Status.StoredVersions = []string{"v1"}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(v1)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	out := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, out, nil); err != nil {
		panic(err)
	}
	return out
}

func node(q question) (answer, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(q.Schema, internal, nil); err != nil {
		return answer{}, err
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return answer{}, err
	}
	var out answer
	out.Definition = list(validation.ValidateCustomResourceDefinition(context.Background(), around(q.Schema)))
	declared := model.SchemaDeclType(structural, true)
	compiled, err := cel.Compile(structural, declared, celconfig.PerCallLimit,
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.StoredExpressionsEnvLoader())
	if err != nil {
		return out, err
	}
	for _, one := range compiled {
		out.Costs = append(out.Costs, [2]uint64{one.MaxCost, one.MessageExpressionMaxCost})
	}
	object, err := value(q.Object)
	if err != nil || object == nil {
		return out, err
	}
	old, err := value(q.Old)
	if err != nil {
		return out, err
	}
	validator := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	heard := &warnings{}
	ctx := warning.WithWarningRecorder(context.Background(), heard)
	var options []cel.Option
	if old != nil {
		options = append(options, cel.WithRatcheting(common.NewCorrelatedObject(object, old, &model.Structural{Structural: structural})))
	}
	errs, left := validator.Validate(ctx, nil, structural, object, old, celconfig.RuntimeCELCostBudget, options...)
	out.Errors, out.Warnings = list(errs), heard.texts
	out.Spent = celconfig.RuntimeCELCostBudget - left
	return out, nil
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	for in.Scan() {
		var q question
		var said answer
		err := json.Unmarshal(in.Bytes(), &q)
		if err == nil {
			func() {
				defer func() {
					if problem := recover(); problem != nil {
						err = fmt.Errorf("panic: %v", problem)
					}
				}()
				if q.Crd != nil {
					said, err = definition(q)
				} else {
					said, err = node(q)
				}
			}()
		}
		if err != nil {
			said.Failure = err.Error()
		}
		line, _ := json.Marshal(said)
		out.Write(line)
		out.WriteByte('\n')
		if in.Err() == nil {
			out.Flush()
		}
	}
}
