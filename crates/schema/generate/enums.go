package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// enumeration is what a server says of a field with a fixed set of values, and no published document does.
type enumeration struct {
	values, elements, description string
}

// enumerations reads them from the source of the server's own schema definitions, by type and field.
func enumerations(module string) map[string]enumeration {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(module, "pkg/generated/openapi/zz_generated.openapi.go"), nil, 0)
	check(err)
	found := map[string]enumeration{}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name, ok := strings.CutPrefix(f.Name.Name, "schema_k8sio_api_")
		if !ok {
			name, ok = strings.CutPrefix(f.Name.Name, "schema_pkg_apis_")
		}
		if !ok {
			continue
		}
		name = strings.ReplaceAll(name, "_", ".")
		ast.Inspect(f, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, isName := pair.Key.(*ast.BasicLit)
			schema, isSchema := pair.Value.(*ast.CompositeLit)
			if !isName || !isSchema {
				return true
			}
			field, err := strconv.Unquote(key.Value)
			check(err)
			for _, part := range schema.Elts {
				props, ok := part.(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				if key, ok := props.Key.(*ast.Ident); !ok || key.Name != "SchemaProps" {
					continue
				}
				var one enumeration
				for _, part := range props.Value.(*ast.CompositeLit).Elts {
					part := part.(*ast.KeyValueExpr)
					switch part.Key.(*ast.Ident).Name {
					case "Description":
						if text, ok := part.Value.(*ast.BasicLit); ok {
							one.description, err = strconv.Unquote(text.Value)
							check(err)
						}
					case "Enum":
						one.values = literals(part.Value)
					case "Items", "AdditionalProperties":
						ast.Inspect(part.Value, func(n ast.Node) bool {
							if inner, ok := n.(*ast.KeyValueExpr); ok {
								if key, ok := inner.Key.(*ast.Ident); ok && key.Name == "Enum" {
									one.elements = literals(inner.Value)
								}
							}
							return true
						})
					}
				}
				if one.values != "" || one.elements != "" {
					found[name+" "+field] = one
				}
			}
			return true
		})
	}
	return found
}

// literals are the strings of a composite literal, separated by commas, their spaces escaped.
func literals(list ast.Expr) string {
	var values []string
	for _, value := range list.(*ast.CompositeLit).Elts {
		text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
		check(err)
		values = append(values, text)
	}
	return strings.ReplaceAll(strings.Join(values, ","), " ", "%20")
}
