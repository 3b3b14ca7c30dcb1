package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
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

// runner runs the tests of mutants. Each package of tests is compiled once, with all mutants in
// it, and run with one of them switched on.
type runner struct {
	o        options
	root     string
	dir      string // of overlays and test binaries
	overlay  string // the file that tells the go command of the mutants
	binaries map[string]*binary
}

// binary is the tests of a package with all mutants in them, made when it is first needed.
type binary struct {
	folder string
	path   string        // "" where there are no tests
	cpu    time.Duration // that one run may use, 0 for any
	skip   string        // tests that fail without any mutant
	visits []int         // numbers of the mutants to whose functions the tests come, ascending
	made   sync.Once
	err    error
}

func newRunner(o options) (*runner, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "orrery-mutate-")
	return &runner{o: o, root: root, dir: dir, binaries: map[string]*binary{}}, err
}

func (r *runner) close() { os.RemoveAll(r.dir) }

// try runs all, several at a time, and says what became of each in their order.
func (r *runner) try(ctx context.Context, list []*mutant, equivalent map[string]string) (*outcome, error) {
	out := &outcome{began: time.Now(), verdicts: make([]verdict, len(list))}
	unable, err := r.prepare(ctx, list, equivalent)
	if err != nil {
		return nil, err
	}
	next := make(chan int)
	var wait sync.WaitGroup
	var said sync.Mutex
	done := 0
	for range r.o.workers {
		wait.Go(func() {
			for i := range next {
				v := r.one(ctx, i, list[i], equivalent, unable)
				out.verdicts[i] = v
				said.Lock()
				done++
				fmt.Fprintf(os.Stderr, "%d of %d: %s: %s %s\n", done, len(list), v.fate, v.mutant, v.by)
				if err := keep(r.o.keep, v); err != nil {
					fmt.Fprintln(os.Stderr, "mutate:", err)
				}
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
	return out, nil
}

// prepare compiles the tests with the mutants in them, and says what the compiler said of those
// that it refused.
func (r *runner) prepare(ctx context.Context, list []*mutant, equivalent map[string]string) (unable map[*mutant]string, err error) {
	unable = map[*mutant]string{}
	var folders, packages []string
	for _, m := range list {
		if _, ok := equivalent[m.key()]; ok {
			continue
		}
		for _, f := range m.tests {
			if !slices.Contains(folders, f) {
				folders = append(folders, f)
			}
		}
		if p := "./" + filepath.ToSlash(filepath.Dir(m.file)); !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
	}
	if len(packages) == 0 {
		return unable, nil
	}
	if r.overlay, err = r.compiled(ctx, list, packages, unable); err != nil {
		return nil, err
	}
	for i, f := range folders {
		r.binaries[f] = &binary{folder: f, path: filepath.Join(r.dir, fmt.Sprintf("%d.test", i))}
	}
	return unable, nil
}

// make compiles the tests of a package, and runs them without a mutant.
func (r *runner) make(ctx context.Context, b *binary) error {
	if text, err := r.goTool(ctx, "test", "-pgo=off", "-vet=off", "-c", "-o", b.path, "-overlay", r.overlay, "./"+b.folder); err != nil {
		return fmt.Errorf("the tests of %s do not compile: %s", b.folder, text)
	}
	if _, err := os.Stat(b.path); err != nil {
		b.path = ""
	}
	return r.baseline(ctx, b)
}

// leastCPU is what any run may use.
const leastCPU = 20 * time.Second

// baseline runs tests without a mutant: what fails then is left out, for it looks at what the
// mutants cost, and no run may use much more time of the CPU than this one: on a busy machine
// that is the same. It notes to which mutants they come.
func (r *runner) baseline(ctx context.Context, b *binary) (err error) {
	var skip []string
	for b.path != "" {
		name, why, used, ok := r.run(ctx, b, seeking)
		if ok {
			b.cpu = leastCPU + 5*used
			b.visits, err = numbersIn(b.path + visited)
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if name == "" {
			return fmt.Errorf("the tests of %s, without a mutant: %s; -limit gives them more time", b.folder, why)
		}
		fmt.Fprintf(os.Stderr, "%s: %s is left out, for it fails without a mutant\n", b.folder, name)
		skip = append(skip, "^"+name+"$")
		b.skip = strings.Join(skip, "|")
	}
	return nil
}

// visited is what the name of the file of visits ends in.
const visited = ".visits"

// numbersIn reads the numbers in a file, one a line, in ascending order; none where there is no file.
func numbersIn(path string) (out []int, err error) {
	err = lines(path, func(line string) error {
		n, err := strconv.Atoi(line)
		out = append(out, n)
		return err
	})
	slices.Sort(out)
	return out, err
}

// one runs the tests of a mutant until one fails. Those that do not come to its function cannot tell.
func (r *runner) one(ctx context.Context, i int, m *mutant, equivalent map[string]string, unable map[*mutant]string) verdict {
	if why, ok := equivalent[m.key()]; ok {
		return verdict{m, equal, why}
	}
	if why, ok := unable[m]; ok {
		return verdict{m, broken, why}
	}
	came := false
	for _, f := range m.tests {
		b := r.binaries[f]
		b.made.Do(func() { b.err = r.make(ctx, b) })
		if b.err != nil {
			return verdict{m, untried, b.err.Error()}
		}
		if _, comes := slices.BinarySearch(b.visits, i+1); b.path == "" || !comes {
			continue
		}
		came = true
		_, why, _, ok := r.run(ctx, b, i+1)
		if ctx.Err() != nil {
			return verdict{m, untried, ""}
		}
		if why == tooLong {
			return verdict{m, untried, f + " " + why + "; -limit gives them more time"}
		}
		if !ok {
			return verdict{m, killed, f + " " + why}
		}
	}
	if ctx.Err() != nil {
		return verdict{m, untried, ""}
	}
	if !came {
		return verdict{m, survived, "no test comes there"}
	}
	return verdict{m, survived, ""}
}

const (
	noEnd   = "does not end"
	tooLong = "waits or takes too long"
)

// limited runs a command that may use so many seconds of the CPU.
const limited = `ulimit -t "$1" && shift && exec "$@"`

// run runs the short tests of a package with a mutant switched on, seeking for none. name is the test
// that failed first, as a whole, and why says what it did.
func (r *runner) run(ctx context.Context, b *binary, number int) (name, why string, used time.Duration, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, r.o.limit+time.Minute)
	defer cancel()
	args := []string{"-test.short", "-test.failfast", "-test.timeout", r.o.limit.String()}
	if b.skip != "" {
		args = append(args, "-test.skip", b.skip)
	}
	if b.cpu > 0 {
		args = append([]string{"-c", limited, "sh", strconv.Itoa(int(b.cpu.Seconds())), b.path}, args...)
	} else {
		args = append([]string{"-c", `exec "$@"`, "sh", b.path}, args...)
	}
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = filepath.Join(r.root, b.folder)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, number), visits+"="+b.path+visited)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState != nil {
		used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if err == nil {
		return "", "", used, true
	}
	switch name, why = reasonOf(out.String()); {
	case ctx.Err() != nil:
		why = tooLong
	case b.cpu > 0 && used >= b.cpu/2 && cmd.ProcessState.ExitCode() < 0: // it was killed for what it used
		why = noEnd
	}
	return name, why, used, false
}

// reasonOf finds in what tests printed which failed first, and why.
func reasonOf(printed string) (name, why string) {
	why = "fails"
	for line := range strings.Lines(printed) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "--- FAIL: "):
			name, _, _ = strings.Cut(strings.TrimPrefix(line, "--- FAIL: "), " ")
			return name, name
		case strings.HasPrefix(line, "panic: test timed out"):
			return "", tooLong
		case strings.HasPrefix(line, "panic: "):
			why = "panics"
		}
	}
	return "", why
}

// goTool runs the go command in the root of the module, and returns what it says.
func (r *runner) goTool(ctx context.Context, args ...string) (text string, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.root
	out, err := cmd.CombinedOutput()
	return string(out), err
}
