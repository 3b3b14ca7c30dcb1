package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"orrery/reports/table"
)

// fate is what became of a mutant.
type fate int

const (
	survived fate = iota
	killed
	broken // it does not compile
	equal  // nothing that can be observed changes
	untried
)

func (f fate) String() string {
	return [...]string{"survived", "killed", "does not compile", "equivalent", "not tried"}[f]
}

// verdict is the fate of a mutant, and the tests that killed it or the reason why none can.
type verdict struct {
	*mutant
	fate fate
	by   string
}

// runner runs the tests of mutants.
type runner struct {
	o    options
	root string
	dir  string // of overlays
}

func newRunner(o options) (*runner, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "orrery-mutate-")
	return &runner{o, root, dir}, err
}

func (r *runner) close() { os.RemoveAll(r.dir) }

// try runs all, several at a time, and says what became of each in their order.
func (r *runner) try(ctx context.Context, list []*mutant, equivalent map[string]string) *outcome {
	out := &outcome{began: time.Now(), verdicts: make([]verdict, len(list))}
	next := make(chan int)
	var wait sync.WaitGroup
	var said sync.Mutex
	done := 0
	for range r.o.workers {
		wait.Go(func() {
			for i := range next {
				v := r.one(ctx, i, list[i], equivalent)
				out.verdicts[i] = v
				said.Lock()
				done++
				fmt.Fprintf(os.Stderr, "%d of %d: %s: %s %s\n", done, len(list), v.fate, v.mutant, v.by)
				said.Unlock()
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	wait.Wait()
	out.took = time.Since(out.began)
	return out
}

// one runs the tests of a mutant until one fails.
func (r *runner) one(ctx context.Context, i int, m *mutant, equivalent map[string]string) verdict {
	if why, ok := equivalent[m.key()]; ok {
		return verdict{m, equal, why}
	}
	overlay, err := r.overlay(i, m)
	if err != nil {
		return verdict{m, untried, err.Error()}
	}
	for _, tests := range m.tests {
		if ctx.Err() != nil {
			return verdict{m, untried, ""}
		}
		fails, compiles, text := r.tested(ctx, overlay, tests)
		switch {
		case !compiles:
			return verdict{m, broken, text}
		case fails && ctx.Err() == nil:
			return verdict{m, killed, strings.TrimSpace(tests + " " + text)}
		}
	}
	if ctx.Err() != nil {
		return verdict{m, untried, ""}
	}
	return verdict{m, survived, ""}
}

// overlay writes the changed file, and the file that tells the go command of it.
func (r *runner) overlay(i int, m *mutant) (string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, m.file))
	if err != nil {
		return "", err
	}
	if string(text[m.start:m.end]) != m.before {
		return "", errors.New("the file changed meanwhile")
	}
	changed := filepath.Join(r.dir, fmt.Sprintf("%d.go", i))
	mutated := string(text[:m.start]) + m.after + string(text[m.end:])
	if err := os.WriteFile(changed, []byte(mutated), 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(r.root, m.file): changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(r.dir, fmt.Sprintf("%d.json", i))
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// tested runs the short tests of packages. A test that does not end fails. text names the
// first test that failed, or says why the mutant does not compile.
func (r *runner) tested(ctx context.Context, overlay, tests string) (fails, compiles bool, text string) {
	ctx, cancel := context.WithTimeout(ctx, r.o.limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-pgo=off", "-short", "-failfast", "-vet=off", "-count=1", "-timeout", r.o.limit.String(), "-overlay", overlay, tests)
	cmd.Dir = r.root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err == nil {
		return false, true, ""
	}
	for line := range strings.Lines(out.String()) {
		switch line = strings.TrimSpace(line); {
		case strings.Contains(line, "[build failed]"):
			return true, false, ""
		case strings.HasPrefix(line, "--- FAIL: "):
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "--- FAIL: "), " ")
			return true, !strings.Contains(out.String(), "[build failed]"), name
		case strings.HasPrefix(line, "panic: test timed out"):
			return true, true, "does not end"
		case strings.HasPrefix(line, "panic: "):
			return true, true, "panics"
		}
	}
	return true, true, ""
}

// outcome is what became of all.
type outcome struct {
	began    time.Time
	took     time.Duration
	verdicts []verdict
}

func (o *outcome) count(f fate) (n int) {
	for _, v := range o.verdicts {
		if v.fate == f {
			n++
		}
	}
	return n
}

// part is how much of what can be noticed was.
func (o *outcome) part() float64 {
	dead, alive := o.count(killed), o.count(survived)
	if dead+alive == 0 {
		return 1
	}
	return float64(dead) / float64(dead+alive)
}

// print says what survived, and counts the rest.
func (o *outcome) print(w io.Writer) {
	t := table.New("fate", "mutant", "where", "by")
	for _, f := range []fate{survived, equal, untried} {
		for _, v := range o.verdicts {
			if v.fate == f {
				t.Row(v.fate.String(), v.key(), fmt.Sprintf("%s:%d", v.file, v.line), v.by)
			}
		}
	}
	if t.Len() > 0 {
		if err := t.Write(w, table.Text, table.Options{}); err != nil {
			fmt.Fprintln(w, err)
		}
	}
	fmt.Fprintf(w, "\n%d mutants in %s: %d killed, %d survived (%.1f %% of those that can be noticed died), %d equivalent, %d do not compile, %d not tried\n",
		len(o.verdicts), o.took.Round(time.Second), o.count(killed), o.count(survived), 100*o.part(), o.count(equal), o.count(broken), o.count(untried))
}
