package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// variable is where a test binary finds the number of the mutant that is switched on.
const variable = "ORRERY_MUTANT"

// visits is where it finds the name of a file to which it adds the numbers of the mutants to whose
// functions it came, when the number is seeking.
const (
	visits  = "ORRERY_MUTANT_VISITS"
	seeking = -1
)

// selector is the file of each changed package that reads them.
const selector = `package %s

import (
	"os"
	"strconv"
)

var orreryMutant = func() int { n, _ := strconv.Atoi(os.Getenv("` + variable + `")); return n }()

var orreryVisited [%d]bool

func orreryVisit(n int) {
	if orreryMutant != -1 || orreryVisited[n] {
		return
	}
	orreryVisited[n] = true
	if f, err := os.OpenFile(os.Getenv("` + visits + `"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		f.WriteString(strconv.Itoa(n) + "\n")
		f.Close()
	}
}
`

// lines of a file in which a mutant stands.
type extent struct {
	first, last int
	mutant      *mutant
}

// compiled writes an overlay with all mutants that compile, and returns it. Packages are those
// that are changed.
func (r *runner) compiled(ctx context.Context, list []*mutant, packages []string, unable map[*mutant]string) (overlay string, err error) {
	for {
		overlay, where, err := r.written(list, unable)
		if err != nil {
			return "", err
		}
		text, err := r.goTool(ctx, append([]string{"build", "-pgo=off", "-gcflags=-e", "-overlay", overlay}, packages...)...)
		if err == nil {
			return overlay, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		before := len(unable)
		r.refused(text, where, unable)
		if len(unable) == before {
			return "", fmt.Errorf("the code does not compile: %s", text)
		}
	}
}

var atLine = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (.*)$`)

// refused notes the mutants that the compiler complains of.
func (r *runner) refused(text string, where map[string][]extent, unable map[*mutant]string) {
	for _, m := range atLine.FindAllStringSubmatch(text, -1) {
		line, _ := strconv.Atoi(m[2])
		for _, e := range where[filepath.Base(m[1])] {
			if e.first <= line && line <= e.last {
				unable[e.mutant] = m[3]
			}
		}
	}
}

// written writes the files with mutants in them, and the file that tells the go command of them.
func (r *runner) written(list []*mutant, unable map[*mutant]string) (path string, where map[string][]extent, err error) {
	byFile := map[string][]int{}
	var files []string
	for i, m := range list {
		if _, ok := unable[m]; ok {
			continue
		}
		if byFile[m.file] == nil {
			files = append(files, m.file)
		}
		byFile[m.file] = append(byFile[m.file], i)
	}
	where = map[string][]extent{}
	replace := map[string]string{}
	for n, file := range files {
		text, err := os.ReadFile(filepath.Join(r.root, file))
		if err != nil {
			return "", nil, err
		}
		changed, extents, err := switched(text, list, byFile[file])
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", file, err)
		}
		base := fmt.Sprintf("mutated%d.go", n)
		to := filepath.Join(r.dir, base)
		where[base] = extents // the compiler names that file
		replace[filepath.Join(r.root, file)] = to
		if err := os.WriteFile(to, changed, 0o600); err != nil {
			return "", nil, err
		}
		name, err := packageOf(text)
		if err != nil {
			return "", nil, err
		}
		to = filepath.Join(r.dir, fmt.Sprintf("selector%d.go", n))
		replace[filepath.Join(r.root, filepath.Dir(file), "orrery_mutant.go")] = to
		if err := os.WriteFile(to, fmt.Appendf(nil, selector, name, len(list)+1), 0o600); err != nil {
			return "", nil, err
		}
	}
	all, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(r.dir, "overlay.json")
	return path, where, os.WriteFile(path, all, 0o600)
}

func packageOf(text []byte) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return "", err
	}
	return f.Name.Name, nil
}

// switched puts the mutants of numbers into the functions of a file. A function begins with its
// mutants, each a function in itself of the same results, which is called when it is the one that is
// switched on.
func switched(text []byte, list []*mutant, numbers []int) (out []byte, where []extent, err error) {
	numbers = slices.Clone(numbers)
	slices.SortStableFunc(numbers, func(a, b int) int { return cmp.Compare(list[a].body[0], list[b].body[0]) })
	at, line := 0, 1
	add := func(s string) {
		out = append(out, s...)
		line += strings.Count(s, "\n")
	}
	for k, i := range numbers {
		m := list[i]
		if m.end > m.body[1] || string(text[m.start:m.end]) != m.before {
			return nil, nil, errors.New("the file changed meanwhile")
		}
		if k == 0 || list[numbers[k-1]].body[0] != m.body[0] {
			add(string(text[at:m.body[0]]))
			at = m.body[0]
		}
		results := string(text[m.results[0]:m.results[1]])
		mutated := string(text[m.body[0]:m.start]) + m.after + string(text[m.end:m.body[1]])
		first := line
		add(fmt.Sprintf("\nif orreryMutant < 0 { orreryVisit(%d) }\n", i+1))
		if results == "" {
			add(fmt.Sprintf("if orreryMutant == %d {\nfunc() {%s}()\nreturn\n}\n", i+1, mutated))
		} else {
			add(fmt.Sprintf("if orreryMutant == %d {\nreturn func() %s {%s}()\n}\n", i+1, results, mutated))
		}
		where = append(where, extent{first, line, m})
	}
	add(string(text[at:]))
	return out, where, nil
}
