// Ask go/types where every call of a repository leads, and print the pairs as JSON.
// For measuring alone: GO111MODULE=off GOPATH=... go run . REPOSITORY > OUT.json, the repository inside GOPATH.
package main

import (
	"encoding/json"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

type record struct {
	Path    string           `json:"path"`
	Line    int              `json:"line"`
	Name    string           `json:"name"`
	State   string           `json:"state"`
	Targets [][3]interface{} `json:"targets"`
}

type oracle struct {
	root    string
	files   *token.FileSet
	imports types.Importer
	records []record
}

func main() {
	root, err := filepath.EvalSymlinks(os.Args[1])
	if err != nil {
		panic(err)
	}
	files := token.NewFileSet()
	o := &oracle{root: root, files: files, imports: importer.ForCompiler(files, "source", nil), records: []record{}}
	err = filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.IsDir() && !strings.HasPrefix(info.Name(), ".") && info.Name() != "testdata" {
			o.folder(path)
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(o.records); err != nil {
		panic(err)
	}
}

func (o *oracle) folder(path string) {
	found, err := build.ImportDir(path, 0)
	if err != nil {
		return
	}
	o.check(path, append(append([]string{}, found.GoFiles...), found.TestGoFiles...))
	o.check(path, found.XTestGoFiles)
}

func (o *oracle) check(path string, names []string) {
	var parsed []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(o.files, filepath.Join(path, name), nil, 0)
		if err == nil {
			parsed = append(parsed, file)
		}
	}
	if len(parsed) == 0 {
		return
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: o.imports, Error: func(error) {}}
	_, _ = config.Check(path, o.files, parsed, info)
	for _, file := range parsed {
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				o.call(info, call)
			}
			return true
		})
	}
}

func (o *oracle) call(info *types.Info, call *ast.CallExpr) {
	var name *ast.Ident
	switch callee := bare(call.Fun).(type) {
	case *ast.Ident:
		name = callee
	case *ast.SelectorExpr:
		name = callee.Sel
	default:
		return
	}
	if info.Types[call.Fun].IsType() || info.Types[call.Fun].IsBuiltin() {
		return
	}
	place := o.files.Position(name.Pos())
	found := record{o.relative(place.Filename), place.Line, name.Name, "unknown", [][3]interface{}{}}
	if object := info.Uses[name]; object != nil {
		found.State = "foreign"
		target := o.files.Position(object.Pos())
		if strings.HasPrefix(target.Filename, o.root+"/") {
			found.State = "found"
			found.Targets = append(found.Targets, [3]interface{}{o.relative(target.Filename), target.Line, object.Name()})
		}
	}
	o.records = append(o.records, found)
}

func (o *oracle) relative(path string) string {
	relative, err := filepath.Rel(o.root, path)
	if err != nil {
		return path
	}
	return relative
}

// bare is an expression without parentheses around it.
func bare(expression ast.Expr) ast.Expr {
	for {
		inner, ok := expression.(*ast.ParenExpr)
		if !ok {
			return expression
		}
		expression = inner.X
	}
}
