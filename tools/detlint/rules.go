package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// rule is one promise of the deterministic packages.
type rule struct {
	name   string
	hatch  string // the word of the annotation that silences it, "" when nothing does
	bans   string // what it forbids, as docs/DETERMINISM.md prints it
	reason string
	check  func(*pass)
}

// rules is the table behind docs/DETERMINISM.md.
var rules = []rule{
	{
		name:   "clock",
		bans:   "`time.Now`, `Since`, `Until`, `Sleep`, `After`, `Tick` and timers, contexts with deadlines, `time.Local`, `time.Unix…` that is not put in UTC at once",
		reason: "time is an argument: an answer that depends on when or in which time zone it was computed cannot be replayed",
		check:  checkClock,
	},
	{
		name:   "random",
		bans:   "imports of `math/rand`, `math/rand/v2`, `crypto/rand`, `hash/maphash`",
		reason: "draws are keyed by (seed, stream, entity, attempt, k); a shared generator makes every draw depend on all the draws before it",
		check: func(p *pass) {
			p.banImports("draw through orrery/scheduler/model/draw", "math/rand", "math/rand/v2", "crypto/rand", "hash/maphash")
		},
	},
	{
		name:   "outside",
		bans:   "imports of `os`, `net`, `syscall`, `runtime`, `plugin`, `flag`, `io/ioutil`, `golang.org/x/sys` and what lies below them; functions of `path/filepath` that look at the disk; `time.LoadLocation`",
		reason: "files, network, environment and the size of the computer are inputs that the spec does not name; shells read them and pass values",
		check:  checkOutside,
	},
	{
		name:   "concurrency",
		bans:   "`go` statements, channels and `select`, imports of `sync` and `sync/atomic`",
		reason: "the order in which goroutines run is not an input; parallelism belongs to the shells, which merge results by index",
		check:  checkConcurrency,
	},
	{
		name:   "maporder",
		hatch:  "ordered",
		bans:   "`range` over a map; `maps.Keys`, `Values`, `All` outside `slices.Sorted`; `MapRange`, `MapKeys` of reflect",
		reason: "Go starts each walk over a map at a random place, and sooner or later the order reaches a decision, a sum of floats or a file",
		check:  checkMapOrder,
	},
	{
		name:   "unstable",
		hatch:  "total",
		bans:   "`sort.Sort`, `sort.Slice`, `slices.SortFunc`, `slices.SortedFunc`",
		reason: "they leave equal elements in an order that is the algorithm's own and may change with the toolchain; name the dense id that ends the comparison, or sort stably",
		check:  checkUnstable,
	},
	{
		name:   "float",
		hatch:  "inexact",
		bans:   "a product of floats that is not converted at once, as in `float64(x*y)`; functions of `math` that are not exactly rounded (`Log`, `Exp`, `Pow`, …)",
		reason: "arm64 fuses x*y+z into one rounding where amd64 makes two, and approximations differ between ports; a conversion forbids the fusing",
		check:  checkFloat,
	},
	{
		name:   "processor",
		hatch:  "processor",
		bans:   "`Exp`, `Pow`, `Erf`, `Erfc`, `Gamma`, `Sinh`, `Cosh`, `Tanh` of `math`; `math/cmplx`; `NormFloat64` and `ExpFloat64` of `math/rand`; `distuv`, `mathext` and `optimize` of gonum, and its functions that call those of `math`",
		reason: "their last bit depends on whether the processor multiplies and adds in one rounding; `internal/libm` has them with the same bits on every processor",
		check:  checkProcessor,
	},
	{
		name:   "global",
		bans:   "assignments to package-level variables",
		reason: "all runs of a sweep share the process: state that outlives a run lets one run change another",
		check:  checkGlobal,
	},
	{
		name:   "address",
		bans:   "imports of `unsafe` and `weak`, the verb `%p`",
		reason: "addresses differ from run to run, and so does the moment of collection",
		check:  checkAddress,
	},
	{
		name:   "quiet",
		bans:   "printing to standard output or error, imports of `log` and `log/slog`",
		reason: "a result is returned, not printed: text on the side is neither recorded nor compared, and costs time per decision",
		check:  checkQuiet,
	},
}

func hatchWords() []string {
	var words []string
	for _, r := range rules {
		if r.hatch != "" {
			words = append(words, r.hatch)
		}
	}
	return words
}

// selected returns the package path and the name of the package-level object
// that id refers to, wherever it was imported from and under whatever name.
func (p *pass) selected(id *ast.Ident) (path, name string) {
	obj := p.info.Uses[id]
	if obj == nil || obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
		return "", ""
	}
	return obj.Pkg().Path(), obj.Name()
}

// banNames reports every use of the named package-level objects.
func (p *pass) banNames(mend, path string, names ...string) {
	p.each(func(n ast.Node, _ []ast.Node) {
		id, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		if from, name := p.selected(id); from == path && slices.Contains(names, name) {
			p.report(id, "%s.%s: %s", path, name, mend)
		}
	})
}

// banImports reports imports of the paths; "x/..." means all below x.
func (p *pass) banImports(mend string, paths ...string) {
	for _, file := range p.files {
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if slices.ContainsFunc(paths, func(pattern string) bool { return matches(pattern, path) }) {
				p.report(spec, "import of %s: %s", path, mend)
			}
		}
	}
}

// matches says whether path is pattern or, when pattern ends in "/...", lies
// below it.
func matches(pattern, path string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(path, below+"/")
	}
	return path == pattern
}

func checkOutside(p *pass) {
	const mend = "take the value as an argument"
	p.banImports(mend, "os", "os/...", "net", "net/...", "syscall", "syscall/...", "runtime", "runtime/...",
		"plugin", "flag", "io/ioutil", "golang.org/x/sys/...")
	p.banNames(mend, "path/filepath", "Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir")
	p.banNames("the machine's time zone database may differ: "+mend, "time", "LoadLocation")
}

func checkClock(p *pass) {
	const mend = "take the instant as an argument of type model.Time"
	p.banNames(mend, "time", "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker")
	p.banNames(mend, "context", "WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause")
	p.banNames("name the zone, it is the machine's otherwise", "time", "Local")
	p.each(func(n ast.Node, stack []ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		fn := p.callee(call)
		if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "time" {
			return
		}
		switch fn.Name() {
		case "Local":
			p.report(call, "Time.Local: name the zone, it is the machine's otherwise")
		case "Unix", "UnixMilli", "UnixMicro":
			if fn.Signature().Recv() == nil && !movedToZone(stack) {
				p.report(call, "time.%s gives the machine's time zone: append .UTC()", fn.Name())
			}
		}
	})
}

// movedToZone says whether the innermost enclosing expression is x.UTC or x.In.
func movedToZone(stack []ast.Node) bool {
	if len(stack) == 0 {
		return false
	}
	sel, ok := stack[len(stack)-1].(*ast.SelectorExpr)
	return ok && (sel.Sel.Name == "UTC" || sel.Sel.Name == "In")
}

func checkConcurrency(p *pass) {
	const mend = "leave parallelism to the shells"
	p.banImports(mend, "sync", "sync/...")
	p.each(func(n ast.Node, _ []ast.Node) {
		switch n := n.(type) {
		case *ast.GoStmt:
			p.report(n, "go statement: %s", mend)
		case *ast.SelectStmt:
			p.report(n, "select: %s", mend)
		case *ast.SendStmt:
			p.report(n, "send on a channel: %s", mend)
		case *ast.ChanType:
			p.report(n, "channel: %s", mend)
		case *ast.RangeStmt:
			if _, ok := p.underlying(n.X).(*types.Chan); ok {
				p.report(n, "range over a channel: %s", mend)
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				p.report(n, "receive from a channel: %s", mend)
			}
		}
	})
}

func checkMapOrder(p *pass) {
	p.each(func(n ast.Node, stack []ast.Node) {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if p.isMap(n.X) {
				p.report(n, "range over a map: walk slices.Sorted(maps.Keys(m)), or say %sordered and why", annotationPrefix)
			}
		case *ast.CallExpr:
			fn := p.callee(n)
			if fn == nil || fn.Pkg() == nil {
				return
			}
			switch fn.Pkg().Path() + "." + fn.Name() {
			case "maps.Keys", "maps.Values", "maps.All":
				if !p.sortedAtOnce(stack) {
					p.report(n, "maps.%s yields in random order: wrap it in slices.Sorted, or say %sordered and why", fn.Name(), annotationPrefix)
				}
			case "reflect.MapRange", "reflect.MapKeys":
				p.report(n, "reflect's %s yields in random order: sort first, or say %sordered and why", fn.Name(), annotationPrefix)
			}
		}
	})
}

// isMap says whether e is a map, or of a type parameter that may be one.
func (p *pass) isMap(e ast.Expr) bool {
	param, ok := types.Unalias(p.info.TypeOf(e)).(*types.TypeParam)
	if !ok {
		_, ok = p.underlying(e).(*types.Map)
		return ok
	}
	bound := param.Underlying().(*types.Interface)
	for i := range bound.NumEmbeddeds() {
		union, ok := bound.EmbeddedType(i).(*types.Union)
		if !ok {
			continue
		}
		for term := range union.Terms() {
			if _, ok := term.Type().Underlying().(*types.Map); ok {
				return true
			}
		}
	}
	return false
}

// sortedAtOnce says whether the expression is the argument of slices.Sorted.
func (p *pass) sortedAtOnce(stack []ast.Node) bool {
	if len(stack) == 0 {
		return false
	}
	call, ok := stack[len(stack)-1].(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := p.callee(call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "slices" && strings.HasPrefix(fn.Name(), "Sorted")
}

func checkUnstable(p *pass) {
	const mend = "sort stably, or say " + annotationPrefix + "total and which dense id ends the comparison"
	p.banNames(mend, "sort", "Sort", "Slice")
	p.banNames(mend, "slices", "SortFunc", "SortedFunc")
}

func checkGlobal(p *pass) {
	write := func(target ast.Expr) {
		if id := root(target); id != nil {
			if v, ok := p.info.Uses[id].(*types.Var); ok && v.Parent() == p.types.Scope() {
				p.report(target, "write to the package-level variable %s: keep the state in a value that the run owns", id.Name)
			}
		}
	}
	p.each(func(n ast.Node, _ []ast.Node) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				write(left)
			}
		case *ast.IncDecStmt:
			write(n.X)
		case *ast.RangeStmt:
			write(n.Key)
			write(n.Value)
		}
	})
}

// root is the variable that an assignment to e writes into, nil when it is not
// named in e itself.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

func checkAddress(p *pass) {
	p.banImports("addresses differ from run to run", "unsafe", "weak")
	p.each(func(n ast.Node, _ []ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		if fn := p.callee(call); fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "fmt" {
			return
		}
		for _, arg := range call.Args {
			if v := p.info.Types[arg].Value; v != nil && strings.Contains(v.ExactString(), "%p") {
				p.report(arg, "%%p prints an address: print an id")
			}
		}
	})
}

func checkQuiet(p *pass) {
	const mend = "return a value and let the shell print it"
	p.banImports(mend, "log", "log/...")
	p.banNames(mend, "fmt", "Print", "Printf", "Println")
	p.each(func(n ast.Node, _ []ast.Node) {
		id, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		if b, ok := p.info.Uses[id].(*types.Builtin); ok && (b.Name() == "print" || b.Name() == "println") {
			p.report(id, "builtin %s: %s", b.Name(), mend)
		}
	})
}
