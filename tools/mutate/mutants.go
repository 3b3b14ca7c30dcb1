package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutated are the folders whose code is changed, each with the tests that ought to notice,
// the quickest first. A prefix ends in "/".
var mutated = []struct {
	folder string
	tests  []string
}{
	{"scheduler/drive", []string{"$own", "sim/world", "scheduler/site/naive", "sim"}},
	{"scheduler/plain", []string{"$own", "sim"}},
	{"scheduler/order", []string{"$own", "scheduler/plain", "sim", "scheduler/site/naive"}},
	{"scheduler/cluster", []string{"$own", "scheduler/plain", "sim"}},
	{"scheduler/backfill", []string{"$own", "scheduler/site/internal/future", "sim", "scheduler/site/naive"}},
	{"scheduler/quorum", []string{"$own", "sim/world", "scheduler/site/naive", "sim"}},
	{"scheduler/model", []string{"$own", "scheduler/quorum", "scheduler/place", "sim/world", "scheduler/site/naive", "sim"}},
	{"scheduler/", []string{"$own", "scheduler/site", "scheduler/site/naive", "sim/world", "sim"}},
	{"sim/world", []string{"$own", "sim/world", "sim"}},
	{"sim/metric", []string{"$own", "sim"}},
	{"autoscale/", []string{"$own", "autoscale/conform", "sim/service/session", "sim/service/vm", "sim/service"}},
}

// left are folders below those that hold no decisions.
var left = []string{"scheduler/model/draw", "scheduler/drive/conform", "scheduler/site/internal/notes", "sim/world/internal/worldtest", "autoscale/conform", "autoscale/internal/policytest", "autoscale/prometheus"}

// mutant is one change of one line.
type mutant struct {
	file   string // from the root of the module
	line   int
	start  int // bytes of the file that are replaced
	end    int
	before string
	after  string
	where  string // package and function, such as scheduler/score.(*Bounds).Overtake
	nth    int    // of the changes of this kind in the function
	tests  []string
	// What the function consists of, in bytes of the file: what is between the braces of its body, and
	// the types of its results.
	body, results [2]int
}

// key names m however the lines around it move.
func (m *mutant) key() string {
	return fmt.Sprintf("%s#%d: %s -> %s", m.where, m.nth, m.before, m.after)
}

func (m *mutant) String() string { return fmt.Sprintf("%s (%s:%d)", m.key(), m.file, m.line) }

// mutants are all there are, by file and place.
func mutants(root string) (out []*mutant, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != ".") {
			return filepath.SkipDir
		}
		tests := testsOf(filepath.ToSlash(filepath.Dir(rel)))
		if d.IsDir() || tests == nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		found, err := inFile(path, name, tests)
		out = append(out, found...)
		return err
	})
	return out, err
}

// testsOf are the tests of a folder, nil of one that is not changed.
func testsOf(folder string) []string {
	if slices.Contains(left, folder) {
		return nil
	}
	for _, m := range mutated {
		if folder == m.folder || strings.HasPrefix(folder, m.folder+"/") || strings.HasSuffix(m.folder, "/") && strings.HasPrefix(folder, m.folder) {
			tests := slices.Clone(m.tests)
			if i := slices.Index(tests, "$own"); i >= 0 {
				tests[i] = folder
			}
			return unique(tests)
		}
	}
	return nil
}

// unique leaves out what stands before.
func unique(list []string) (out []string) {
	for _, x := range list {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func inFile(path, name string, tests []string) (out []*mutant, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Name.Name == "String" || f.Name.Name == "Error" {
			continue
		}
		counts := map[string]int{}
		at := func(p token.Pos) int { return fset.Position(p).Offset }
		body, results := [2]int{at(f.Body.Lbrace) + 1, at(f.Body.Rbrace)}, [2]int{}
		if f.Type.Results != nil {
			results = [2]int{at(f.Type.Results.Pos()), at(f.Type.Results.End())}
		}
		for _, c := range changes(f.Body, text, fset) {
			kind := c.before + " -> " + c.after
			out = append(out, &mutant{
				file: name, line: fset.Position(token.Pos(fset.File(f.Pos()).Base() + c.start)).Line,
				start: c.start, end: c.end, before: c.before, after: c.after,
				where: filepath.ToSlash(filepath.Dir(name)) + "." + nameOf(f), nth: counts[kind], tests: tests,
				body: body, results: results,
			})
			counts[kind]++
		}
	}
	return out, nil
}

// nameOf is the name of a function with its receiver.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t, star := f.Recv.List[0].Type, ""
	if p, ok := t.(*ast.StarExpr); ok {
		t, star = p.X, "*"
	}
	if x, ok := t.(*ast.IndexExpr); ok {
		t = x.X
	}
	id, ok := t.(*ast.Ident)
	if !ok {
		return f.Name.Name
	}
	return "(" + star + id.Name + ")." + f.Name.Name
}

// change replaces bytes of a file.
type change struct {
	start, end    int
	before, after string
}

// swaps are the operators that become others.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.INC: {token.DEC}, token.DEC: {token.INC},
	token.AND_NOT: {token.AND}, token.SHR: {token.SHL}, token.OR_ASSIGN: {token.AND_NOT_ASSIGN}, token.AND_NOT_ASSIGN: {token.OR_ASSIGN},
}

// changes are those of a body. What a panic says is left as it is.
func changes(body *ast.BlockStmt, text []byte, fset *token.FileSet) (out []change) {
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	operator := func(p token.Pos, op token.Token) {
		for _, to := range swaps[op] {
			out = append(out, change{at(p), at(p) + len(op.String()), op.String(), to.String()})
		}
	}
	replace := func(n ast.Node, after string) {
		out = append(out, change{at(n.Pos()), at(n.End()), string(text[at(n.Pos()):at(n.End())]), after})
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok {
				switch f.Name {
				case "panic", "make", "append", "len", "cap":
					return f.Name == "append"
				case "min":
					replace(f, "max")
				case "max":
					replace(f, "min")
				}
			}
		case *ast.BinaryExpr:
			if !isText(n.X) && !isText(n.Y) {
				operator(n.OpPos, n.Op)
			}
		case *ast.AssignStmt:
			operator(n.TokPos, n.Tok)
		case *ast.IncDecStmt:
			operator(n.TokPos, n.Tok)
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				out = append(out, change{at(n.OpPos), at(n.OpPos) + 1, "!", ""})
			}
		case *ast.IfStmt:
			if single(text[at(n.Cond.Pos()):at(n.Cond.End())]) {
				replace(n.Cond, "true || "+string(text[at(n.Cond.Pos()):at(n.Cond.End())]))
				replace(n.Cond, "false && ("+string(text[at(n.Cond.Pos()):at(n.Cond.End())])+")")
			}
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok && single(text[at(call.Pos()):at(call.End())]) {
				if f, ok := call.Fun.(*ast.Ident); !ok || f.Name != "panic" {
					replace(n, "func() { if false { "+string(text[at(n.Pos()):at(n.End())])+" } }()")
				}
			}
		case *ast.BasicLit:
			if n.Kind == token.INT {
				if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil && v < 1<<40 {
					replace(n, strconv.FormatInt(v+1, 10))
				}
			}
		case *ast.BranchStmt:
			if n.Tok == token.CONTINUE && n.Label == nil {
				replace(n, "break")
			}
		}
		return true
	})
	return out
}

func isText(x ast.Expr) bool {
	l, ok := x.(*ast.BasicLit)
	return ok && l.Kind == token.STRING
}

// single says whether text is of one line: mutants are.
func single(text []byte) bool { return !strings.Contains(string(text), "\n") }

// mostOfOne function are drawn.
const mostOfOne = 3

// draw chooses mutants by a hash of what they are.
func draw(all []*mutant, o options) []*mutant {
	type ranked struct {
		*mutant
		rank uint64
	}
	var list []ranked
	for _, m := range all {
		if o.only == "" || strings.Contains(m.where, o.only) {
			h := fnv.New64a()
			fmt.Fprint(h, o.seed, " ", m.key())
			list = append(list, ranked{m, scramble(h.Sum64())})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.key(), b.key()))
	})
	var out []*mutant
	of := map[string]int{}
	for _, r := range list {
		if len(out) == o.n {
			break
		}
		if of[r.where]++; of[r.where] <= mostOfOne {
			out = append(out, r.mutant)
		}
	}
	return out
}

// conditions are all mutants that change when something is done.
func conditions(all []*mutant, only string) (out []*mutant) {
	for _, m := range all {
		if (only == "" || strings.Contains(m.where, only)) && m.ofCondition() {
			out = append(out, m)
		}
	}
	return out
}

func (m *mutant) ofCondition() bool {
	switch m.before {
	case "<", "<=", ">", ">=", "==", "!=", "&&", "||", "!":
		return true
	}
	return strings.HasPrefix(m.after, "true || ") || strings.HasPrefix(m.after, "false && ")
}

// scramble spreads the bits of an FNV hash, whose high ones hardly change with the last
// letters: the finaliser of MurmurHash3.
func scramble(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
