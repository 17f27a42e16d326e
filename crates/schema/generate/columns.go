package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// columns are the rows of columns.txt: how a server prints the objects of a kind. They stand in the source of the
// printers as literals, which are read here without compiling them.
func columns(module string) []string {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(module, "pkg/printers/internalversion/printers.go"), nil, 0)
	check(err)
	packages := map[string]string{}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		check(err)
		alias := path.Base(name)
		if spec.Name != nil {
			alias = spec.Name.Name
		}
		packages[alias] = name
	}
	kindOf := map[string]string{} // the kind that a print function is for
	literals := map[string][]string{}
	found := map[string]string{}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "print") || f.Type.Params == nil {
			continue
		}
		if star, ok := f.Type.Params.List[0].Type.(*ast.StarExpr); ok {
			if sel, ok := star.X.(*ast.SelectorExpr); ok {
				kindOf[f.Name.Name] = path.Base(packages[sel.X.(*ast.Ident).Name]) + "." + sel.Sel.Name
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			name, ok := n.Lhs[0].(*ast.Ident)
			if !ok || len(n.Rhs) != 1 {
				return true
			}
			literal := n.Rhs[0]
			if call, ok := literal.(*ast.CallExpr); ok && len(call.Args) == 2 { // append(those, more...)
				literal = call.Args[1]
			}
			if list, ok := literal.(*ast.CompositeLit); ok {
				if _, ok := list.Type.(*ast.ArrayType); !ok {
					return true
				}
				for _, one := range list.Elts {
					if fields, ok := one.(*ast.CompositeLit); ok {
						literals[name.Name] = append(literals[name.Name], column(fields, packages))
					}
				}
			}
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "TableHandler" {
				return true
			}
			kind := kindOf[n.Args[1].(*ast.Ident).Name]
			if !strings.HasSuffix(kind, "List") {
				found[kind] = strings.Join(literals[n.Args[0].(*ast.Ident).Name], "\t")
			}
		}
		return true
	})
	var rows []string
	for kind, columns := range found {
		rows = append(rows, kind+"\t"+columns)
	}
	sort.Strings(rows)
	return rows
}

// swagger reads the descriptions of a type's fields from the file that is generated beside it, with their lines escaped.
func swagger(pkg, name string) map[string]string {
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	check(err)
	file := filepath.Join(strings.TrimSpace(string(folder)), "types_swagger_doc_generated.go")
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	check(err)
	texts := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "map_"+name {
			return true
		}
		for _, one := range spec.Values[0].(*ast.CompositeLit).Elts {
			pair := one.(*ast.KeyValueExpr)
			key, err := strconv.Unquote(pair.Key.(*ast.BasicLit).Value)
			check(err)
			text, err := strconv.Unquote(pair.Value.(*ast.BasicLit).Value)
			check(err)
			texts[key] = strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\t", "\\t").Replace(text)
		}
		return false
	})
	return texts
}

// column is NAME|TYPE|FORMAT|PRIORITY|DESCRIPTION; a description `@TYPE FIELD` stands in the table of descriptions.
func column(fields *ast.CompositeLit, packages map[string]string) string {
	values := map[string]string{"Priority": "0"}
	for _, field := range fields.Elts {
		pair, ok := field.(*ast.KeyValueExpr)
		if !ok {
			return ""
		}
		key := pair.Key.(*ast.Ident).Name
		switch value := pair.Value.(type) {
		case *ast.BasicLit:
			values[key] = value.Value
			if value.Kind == token.STRING {
				text, err := strconv.Unquote(value.Value)
				check(err)
				values[key] = text
			}
		case *ast.IndexExpr: // pkg.Type{}.SwaggerDoc()["field"], or pkg.Type.SwaggerDoc(pkg.Type{})["field"]
			var of *ast.SelectorExpr
			member := ""
			ast.Inspect(value.X, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "InvolvedObject" {
					member = sel.Sel.Name
				}
				if sel, ok := n.(*ast.SelectorExpr); ok && of == nil {
					if name, ok := sel.X.(*ast.Ident); ok && packages[name.Name] != "" {
						of = sel
					}
				}
				return true
			})
			field, err := strconv.Unquote(value.Index.(*ast.BasicLit).Value)
			check(err)
			parts := strings.Split(packages[of.X.(*ast.Ident).Name], "/")
			name := of.Sel.Name
			if member == "InvolvedObject" { // the one description that is asked of a field's type
				name = "ObjectReference"
			}
			version := parts[len(parts)-1]
			if strings.HasPrefix(version, "v") && strings.Contains(version, "beta") {
				// Texts of types that are not served stand here.
				values[key] = swagger(packages[of.X.(*ast.Ident).Name], name)[field]
				continue
			}
			values[key] = fmt.Sprintf("@%s.%s %s", strings.Join(parts[len(parts)-2:], "."), name, field)
		}
	}
	return strings.Join([]string{values["Name"], values["Type"], values["Format"], values["Priority"], values["Description"]}, "|")
}
