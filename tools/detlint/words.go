package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// retired are words that no declared name uses any more, since the field has a term
// of its own. The list is closed: prose may use them in their ordinary sense.
type retired struct {
	words []string // lower case; a phrase is several words with spaces
	say   string   // the terms to use
	whole bool     // only as a whole name: within longer names the word is ordinary
	in    []string // path prefixes where it is retired; none is everywhere
}

// schedulerCode is where words are retired that mean something else in reports and tools.
var schedulerCode = []string{"scheduler/", "sim/world/", "sim/plan/"}

var retiredWords = []retired{
	{words: []string{"lane", "lanes"}, say: "queueState or vclusterState"},
	{words: []string{"lots", "ceiling", "ceilings", "siteceiling"}, say: "index by score upper bound, or MaxLimits for limits"},
	{words: []string{"stir", "stirred", "rouse", "roused"}, say: "markDirty, requestPass or invalidateBound"},
	{words: []string{"vain"}, say: "failedPreemption"},
	{words: []string{"doom", "doomed"}, say: "unsatisfiable"},
	{words: []string{"swift"}, say: "fast path"},
	{words: []string{"hungry", "grower", "growers", "spares"}, say: "underProvisioned, scalingUp or lendable"},
	{words: []string{"figured"}, say: "fair-share cache"},
	{words: []string{"tenure", "resident", "abroad"}, say: "node state, job state or foreign nodes"},
	{words: []string{"adopt", "adopted", "recall", "remember", "out of turn"}, say: "restored, usage seeded or pass requested"},
	{words: []string{"crew", "crews"}, say: "workers or worker pool"},
	{words: []string{"bell", "overtaken"}, say: "broadcast, or fenced"},
	{words: []string{"luck", "lucky"}, say: "fault injection in a world, noise in statistics"},
	{words: []string{"stranger", "strangers"}, say: "unknown tenants"},
	{words: []string{"whom", "besides", "spell", "spells"}, say: "group effects, secondary metrics, wait interval"},
	{words: []string{"referee", "twin", "twins"}, say: "reference or naive implementation"},
	{words: []string{"shake", "shakes", "shaken"}, say: "jitter, jittered"},
	{words: []string{"nobody", "everybody", "somebody", "anybody", "whoever"}, say: "no job, each job, a job: jobs and nodes are things"},
	{words: []string{"who"}, say: "user, tenant or job: jobs and nodes are things", whole: true},
	{words: []string{"beat", "beats"}, say: "heartbeat, or dominates", whole: true},
	{words: []string{"book", "books"}, say: "ledger", whole: true},
	{words: []string{"ask", "asks"}, say: "request, requestSize", whole: true},
	{words: []string{"near"}, say: "contenders", whole: true},
	{words: []string{"makes"}, say: "node classes", whole: true},
	{words: []string{"claim", "figures", "happened", "heard", "never", "quiet", "settled", "shape", "trim"},
		say: "held nodes, fair-share cache, factSeq, lastFact, unsatisfiable, accountsStableAt, size index, prune, requestPass", whole: true, in: schedulerCode},
	{words: []string{"room", "rooms", "house", "wall", "walls"}, say: "package rule, package table, import rules", in: []string{"tools/detlint/"}},
}

// keptName is a name that may hold a retired word.
type keptName struct{ in, name, reason string }

var keptNames = []keptName{
	{"sim/search/", "Ask", "optimisers ask and tell, in the literature as well"},
	{"scheduler/model/", "Never", "the instant that does not come"},
	{"scheduler/model/draw/", "shape", "a parameter of the gamma distribution"},
}

var (
	namePart = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`) // a word of a name in camel case or with underscores
	acronym  = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)       // the end of one and the next word, as in GPULane
)

// wordsOf is a name as lower-case words with spaces.
func wordsOf(name string) string {
	return strings.ToLower(strings.Join(namePart.FindAllString(acronym.ReplaceAllString(name, "$1 $2"), -1), " "))
}

// says reports why a name in a file is retired; "" where it is not.
func says(file, name string) string {
	text := wordsOf(name)
	for _, r := range retiredWords {
		if len(r.in) > 0 && !slices.ContainsFunc(r.in, func(p string) bool { return strings.HasPrefix(file, p) }) {
			continue
		}
		for _, w := range r.words {
			if text == w || !r.whole && strings.Contains(" "+text+" ", " "+w+" ") {
				return fmt.Sprintf("the name %s has the retired word %q: say %s", name, w, r.say)
			}
		}
	}
	return ""
}

// retiredNames reports the declared names, packages and files that hold a retired
// word, tests included, and the kept names that nothing declares.
func (r *repository) retiredNames(kept []keptName) []Finding {
	var found []Finding
	used := make([]bool, len(kept))
	report := func(pos token.Position, name string) {
		text := says(pos.Filename, name)
		if text == "" {
			return
		}
		if i := slices.IndexFunc(kept, func(k keptName) bool { return k.name == name && strings.HasPrefix(pos.Filename, k.in) }); i >= 0 {
			used[i] = true
			return
		}
		found = append(found, Finding{pos, "words", text})
	}
	for _, dir := range slices.Sorted(maps.Keys(r.folders)) {
		for _, s := range r.folders[dir] {
			report(token.Position{Filename: s.path}, path.Base(dir))
			report(token.Position{Filename: s.path}, strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".go"), "_test"))
			for _, id := range declared(s.file) {
				report(r.fset.Position(id.Pos()), id.Name)
			}
		}
	}
	for i, k := range kept {
		if !used[i] {
			found = append(found, Finding{token.Position{Filename: k.in}, "words", "nothing declares " + k.name + ": remove it from the kept names"})
		}
	}
	return found
}

// declared lists the names that a file declares: packages it renames, types, functions,
// fields, parameters, constants and variables.
func declared(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	add := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok && id != nil {
				names = append(names, id)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if n.Name != nil {
				names = append(names, n.Name)
			}
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		case *ast.LabeledStmt:
			names = append(names, n.Label)
		}
		return true
	})
	return names
}
