package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/tunedir"
	"orrery/internal/seal"
	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/sweep"
	"orrery/traces"
)

// earlier are the files of each format by version, relative to testdata/formats, and what
// says which version one is of.
var earlier = map[*fileFormat]struct {
	path    string // with the version
	version func(t *testing.T, path string) int
}{
	runFormat:       {"run-schema-%d/run.json", schemaIn("schema")},
	tableFormat:     {"run-schema-%d/jobs.parquet", versionOfTable},
	semanticsFormat: {"run-semantics-%d/run.json", schemaIn("spec", "semantics")},
	factsFormat:     {"facts-%d/facts.parquet", versionOfTable},
	metricsFormat:   {"run-semantics-%d/metrics.json", schemaIn("schema")},
	traceFormat:     {"trace-%d.trace", func(*testing.T, string) int { return traces.SchemaVersion }},
	studyFormat:     {"study-tasks-%d/study.json", schemaIn("format")},
	tasksFormat:     {"study-tasks-%d/study.json", schemaIn("about", "tasks")},
	planFormat:      {"study-tasks-%d/experiment.json", schemaIn("schema")},
	baselineFormat:  {"baseline-%d.json", schemaIn("schema")},
	tuneFormat:      {"tune-%d.json", schemaIn("schema")},
	pageFormat:      {"report-%d.json", schemaIn("schema")},
}

// schemaIn reads the version of a JSON file at a path of keys: a number, or a name that
// ends with one.
func schemaIn(keys ...string) func(*testing.T, string) int {
	return func(t *testing.T, path string) int {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var v any
		require.NoError(t, json.Unmarshal(text, &v))
		for _, key := range keys {
			v = v.(map[string]any)[key]
		}
		if n, ok := v.(float64); ok {
			return int(n)
		}
		return versionIn(v.(string))
	}
}

// versionOfTable reads the version of a table of a run.
func versionOfTable(t *testing.T, path string) int {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	st, err := f.Stat()
	require.NoError(t, err)
	table, err := parquet.OpenFile(f, st.Size())
	require.NoError(t, err)
	text, _ := table.Lookup("orrery.schema")
	return versionIn(text)
}

// TestEveryVersionHasAFile: when a version is raised, a file of the one before is wanted.
func TestEveryVersionHasAFile(t *testing.T) {
	require.Len(t, earlier, len(allFormats))
	for _, f := range allFormats {
		require.Positive(t, f.oldest, f.name)
		require.LessOrEqual(t, f.oldest, f.now, f.name)
		for v := 1; v < max(f.now, 2); v++ {
			path := filepath.Join("testdata", "formats", fmt.Sprintf(earlier[f].path, v))
			_, err := os.Stat(path)
			require.NoError(t, err, "%s %d: no file of it; make one with the program before the version was raised", f.name, v)
			require.Equal(t, v, earlier[f].version(t, path), path)
		}
	}
}

// formatsHere copies the files of earlier versions into a folder of the test, and goes
// there.
func formatsHere(t *testing.T) {
	t.Helper()
	from, err := filepath.Abs("testdata/formats")
	require.NoError(t, err)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	require.NoError(t, os.CopyFS(".", os.DirFS(from)))
	studies, err := filepath.Glob("study-*")
	require.NoError(t, err)
	for _, s := range studies {
		for _, folder := range []string{"journal", "claims", "failures", "faults"} {
			require.NoError(t, os.MkdirAll(filepath.Join(s, folder), 0o700))
		}
	}
}

// TestRunsOfOtherSemantics: they are read with a warning that says what changed and how
// to write them anew, and are refused where they would be replayed.
func TestRunsOfOtherSemantics(t *testing.T) {
	if underRace {
		t.Skip("one goroutine at a time: the tests without the race detector run it")
	}
	formatsHere(t)
	dirs, err := filepath.Glob("run-semantics-*")
	require.NoError(t, err)
	for _, dir := range dirs {
		v, err := strconv.Atoi(strings.TrimPrefix(dir, "run-semantics-"))
		require.NoError(t, err)
		warns := fmt.Sprintf("orrery: warning: %s: found semantics %d, this program writes %d", filepath.Join(dir, record.FileRun), v, plan.Semantics)
		log := "log"
		if v > 5 {
			log = "its log" // whose name has left run.json for host.json, which is not kept here
		}
		anew := fmt.Sprintf(". To write it anew: orrery replay LOG --procs 4 --order sjf --backfill conservative:5 --out %s --force (LOG is %s, with the hash 4ad0102baa0f)", dir, log)
		for _, args := range [][]string{{"report", dir}, {"export", dir}, {"explain", dir, "2"}, {"compare", dir, dir}} {
			got := inProcess(t, args...)
			require.Zero(t, got.code, "%v: %s", args, got.stderr)
			if v == plan.Semantics {
				require.NotContains(t, got.stderr, "warning", "%v", args)
				continue
			}
			require.Contains(t, got.stderr, warns, "%v", args)
			require.Contains(t, got.stderr, anew, "%v", args)
		}
		got := inProcess(t, "verify", "--invariants", dir, "log.swf")
		if v == plan.Semantics {
			require.Zero(t, got.code, got.stderr)
			continue
		}
		require.Equal(t, exitInput, got.code, got.stderr)
		require.Contains(t, got.stderr, fmt.Sprintf("found semantics %d, want %d", v, plan.Semantics))
		require.Contains(t, got.stderr, anew)
		require.Equal(t, exitInput, inProcess(t, "compare", dir, dir, "--noise", "log.swf").code)
	}
	require.NotEqual(t, 1, plan.Semantics)
	got := inProcess(t, "compare", "run-semantics-1", "run-semantics-2")
	require.Contains(t, got.stderr, "the runs are of semantics 1 and 2: what differs between them may be the program's doing")
	require.Contains(t, got.stderr, "changed since then: ranges of nodes in the as-coded mode")

	// A newer one says so, and there is no command for it.
	newer(t, "run-semantics-1/run.json", `"semantics": 1`, `"semantics": 99`)
	got = inProcess(t, "export", "run-semantics-1")
	require.Zero(t, got.code)
	require.Contains(t, got.stderr, "found semantics 99")
	require.Contains(t, got.stderr, "a newer version of this program wrote it; read it with that one\n")
}

// newer replaces a text in a file.
func newer(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), from)
	changed := strings.Replace(string(text), from, to, 1)
	if body, err := seal.CutObject(text); err == nil { // as the other version would have sealed it
		changed = string(seal.Object([]byte(strings.Replace(string(body), from, to, 1))))
	}
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
}

// TestTheCommandWritesARunAnew runs the command that the warning names.
func TestTheCommandWritesARunAnew(t *testing.T) {
	formatsHere(t)
	warning := inProcess(t, "export", "run-semantics-1").stderr
	_, command, found := strings.Cut(warning, "To write it anew: orrery ")
	require.True(t, found, warning)
	command, _, _ = strings.Cut(command, " (LOG is")
	got := inProcess(t, strings.Fields(strings.Replace(command, "LOG", "log.swf", 1))...)
	require.Zero(t, got.code, got.stderr)
	got = inProcess(t, "export", "run-semantics-1")
	require.Zero(t, got.code)
	require.Empty(t, got.stderr)
	r, ok := recorded("run-semantics-1")
	require.True(t, ok)
	require.Equal(t, plan.Semantics, r.Spec.Semantics)
	require.Equal(t, 5, r.Spec.Depth)
}

// TestTheCommandThatWasGiven: host.json says by which command a run was made. It is
// named when its log is still there, and its flags still are.
func TestTheCommandThatWasGiven(t *testing.T) {
	formatsHere(t)
	r, ok := recorded("run-semantics-1")
	require.True(t, ok)
	for arguments, want := range map[string]string{
		`["replay", "log.swf", "--order", "sjf", "--profile=a=default", "--profile", "b=./x y", "-q", "--out", "elsewhere"]`: "orrery replay log.swf --order=sjf --profile=a=default '--profile=b=./x y' --out run-semantics-1 --force",
		`["replay", "gone.swf", "-q", "--out", "elsewhere"]`:                                                                 "orrery replay LOG --procs 4 --order sjf",
		`["replay", "log.swf", "--of-that-time"]`:                                                                            "orrery replay LOG --procs 4 --order sjf",
		`["verify", "log.swf"]`: "orrery replay LOG --procs 4 --order sjf",
	} {
		require.NoError(t, os.WriteFile("run-semantics-1/host.json", []byte(`{"arguments": `+arguments+`}`), 0o600))
		require.Contains(t, replayAnew("run-semantics-1", &r), want)
	}
}

// TestRunsOfOtherSchemas: tables and metrics of another schema are refused with the
// command.
func TestRunsOfOtherSchemas(t *testing.T) {
	formatsHere(t)
	for dir, v := range map[string]string{"run-semantics-2": "0", "run-semantics-4": "77"} {
		newer(t, dir+"/run.json", `"schema": 1`, `"schema": `+v)
		got := inProcess(t, "report", dir)
		require.Equal(t, exitInput, got.code, got.stderr)
		require.Contains(t, got.stderr, dir+"/run.json: found run schema "+v+", this program reads "+runFormat.reads())
	}
	newer(t, "run-semantics-3/metrics.json", `"schema":1`, `"schema":99`)
	got := inProcess(t, "compare", "run-semantics-3", "run-semantics-3")
	require.Equal(t, exitInput, got.code)
	require.Contains(t, got.stderr, "run-semantics-3/metrics.json: found metrics schema 99")
	require.NoError(t, os.Remove("run-semantics-1/attempts.parquet"))
	require.NoError(t, os.WriteFile("run-semantics-1/attempts.parquet", []byte("PAR1 and no more"), 0o600))
	got = inProcess(t, "report", "run-semantics-1")
	require.Equal(t, exitInput, got.code)
	require.Contains(t, got.stderr, "replay the trace again to write it anew: orrery replay LOG --procs 4")
	newer(t, "report-1.json", `"schema": 1`, `"schema": 99`)
	got = inProcess(t, "report", "report-1.json")
	require.Equal(t, exitInput, got.code)
	require.Contains(t, got.stderr, "report-1.json: found study report 99, this program reads 1 and 2: a newer version")
}

// TestFactsOfOtherVersions: a log of facts of another schema is refused with the command,
// and the other tables of the run are read.
func TestFactsOfOtherVersions(t *testing.T) {
	formatsHere(t)
	for v := 1; v < factsFormat.oldest; v++ {
		dir := fmt.Sprintf("facts-%d", v)
		got := inProcess(t, "export", dir, "--table", "facts")
		require.Equal(t, exitInput, got.code, got.stderr)
		require.Contains(t, got.stderr, fmt.Sprintf("%s/facts.parquet: found facts schema %d, this program reads %s; changed since then: %s", dir, v, factsFormat.reads(), factsFormat.news[v+1]))
		require.Contains(t, got.stderr, ". To write it anew: orrery replay LOG --procs 4 --order sjf --backfill conservative:5 --facts --out "+dir+" --force")
		got = inProcess(t, "export", dir, "--table", "jobs")
		require.Zero(t, got.code, got.stderr)
	}
}

// TestEarlierFacts: earlier logs are read as they were. A core of today plans as they say if its
// semantics are theirs.
func TestEarlierFacts(t *testing.T) {
	formatsHere(t)
	for v := factsFormat.oldest; v < factsFormat.now; v++ {
		got := inProcess(t, "export", fmt.Sprintf("facts-%d", v), "--table", "facts")
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, "assigned")
	}
	for dir, found := range map[string]string{"facts-2": "found semantics 5, want 7", "facts-3": "found semantics 6, want 7"} {
		got := inProcess(t, "verify", "--facts", dir, "log.swf")
		require.Equal(t, exitInput, got.code)
		require.Contains(t, got.stderr, found)
	}
	require.Zero(t, inProcess(t, "replay", "log.swf", "--procs", "4", "--facts", "--out", "now").code)
	for _, dir := range []string{"facts-4", "now"} {
		got := inProcess(t, "verify", "--facts", dir, "log.swf")
		require.Zero(t, got.code, got.stderr)
	}
}

// TestSitesOfOtherSemantics: explain would work out scores anew, and refuses.
func TestSitesOfOtherSemantics(t *testing.T) {
	formatsHere(t)
	got := inProcess(t, "explain", "site-semantics-1", "2")
	require.Equal(t, exitInput, got.code)
	require.Contains(t, got.stderr, "one kill grace for the whole site")
	require.Contains(t, got.stderr, "orrery replay LOG --cluster CLUSTER --out site-semantics-1 --force")
	require.Contains(t, got.stderr, "(CLUSTER is its cluster file, in site-semantics-1/run.json the key spec.site)")
	got = inProcess(t, "export", "site-semantics-1", "--table", "tenants")
	require.Zero(t, got.code)
	require.Contains(t, got.stderr, "warning")
	require.Contains(t, got.stdout, "name,window,jobs")
}

// TestStudiesOfOtherVersions: tables of plans that are read come with a warning; nothing
// is computed in one.
func TestStudiesOfOtherVersions(t *testing.T) {
	formatsHere(t)
	experiment := "traces: [log.swf]\ndesign: listed\nlisted: [{set: [order=fcfs]}]\nobjectives: [{metric: wait_mean}]\n"
	require.NoError(t, os.WriteFile("exp.yaml", []byte(experiment), 0o600))
	for v := 1; v <= tasksFormat.now; v++ {
		dir := fmt.Sprintf("study-tasks-%d", v)
		anew := "To write it anew: orrery sweep exp.yaml --out " + dir + "-new (the key experiment of " + dir + "/experiment.json holds the experiment)"
		got := inProcess(t, "study", "table", dir)
		plan, known := schemaOf(filepath.Join(dir, planFile))
		require.True(t, known)
		if plan < planFormat.oldest {
			require.Equal(t, exitInput, got.code)
			require.Contains(t, got.stderr, fmt.Sprintf("%s/experiment.json: found study plan %d, this program reads %s; changed since then: ", dir, plan, planFormat.reads()))
			require.Contains(t, got.stderr, anew)
		} else {
			require.Zero(t, got.code, got.stderr)
			require.Contains(t, got.stdout, "00:03:00")
		}
		for _, verb := range []string{"materialize", "profile"} {
			if v >= sameTasks {
				break
			}
			got := inProcess(t, "study", verb, dir, "0")
			require.Equal(t, exitInput, got.code, got.stderr)
			require.Contains(t, got.stderr, fmt.Sprintf("%s/study.json: found study tasks %d, want %d; changed since then: ", dir, v, tasksFormat.now))
			require.Contains(t, got.stderr, anew)
		}
		if got := inProcess(t, "study", "status", dir); v < tasksFormat.now {
			require.Contains(t, got.stderr, fmt.Sprintf("warning: %s/study.json: found study tasks %d", dir, v))
		} else {
			require.Zero(t, got.code, got.stderr)
		}
		got = inProcess(t, "worker", dir)
		require.Equal(t, exitUsage, got.code, "another build began it")
		require.Contains(t, got.stderr, "To compute it anew: orrery sweep exp.yaml --out "+dir+"-new")
		got = inProcess(t, "sweep", "exp.yaml", "--out", dir)
		require.Equal(t, exitUsage, got.code, got.stderr)
		require.Contains(t, got.stderr, "To compute it anew: orrery sweep exp.yaml --out "+dir+"-new\n")
	}
}

// TestTasksThatAreTheSame: tasks of a version that only says them otherwise are replayed as
// those of today.
func TestTasksThatAreTheSame(t *testing.T) {
	formatsHere(t)
	require.Zero(t, inProcess(t, "import", "log.swf", "--out", "log.trace").code)
	b, err := traces.Open("log.trace")
	require.NoError(t, err)
	hash := b.Info().Hash
	require.NoError(t, b.Close())
	materialized := func(tasks int, key string) string {
		dir := fmt.Sprintf("tasks-%d-%s", tasks, key)
		s, err := sweep.Create(dir, sweep.Options{Binary: "b", About: json.RawMessage(fmt.Sprintf(`{"tasks":"orrery-tasks-%d"}`, tasks))})
		require.NoError(t, err)
		spec := fmt.Sprintf(`{"spec":{"semantics":%d,"trace":%q,"cluster":{"procs":4}},%q:{"by_us":60000000,"seed":1}}`, plan.Semantics, hash, key)
		_, _, err = s.Add([][]byte{[]byte(spec)})
		require.NoError(t, err)
		require.NoError(t, os.CopyFS(filepath.Join(dir, "traces", hash+".trace"), os.DirFS("log.trace")))
		got := inProcess(t, "study", "materialize", dir, "0", "--out", dir+"-run")
		require.Zero(t, got.code, got.stderr)
		_, fingerprint, ok := strings.Cut(got.stdout, "fingerprint: ")
		require.True(t, ok, got.stdout)
		return fingerprint
	}
	now := materialized(tasksFormat.now, "jitter")
	require.Equal(t, now, materialized(sameTasks, "shake"))
	logged := inProcess(t, "replay", "log.trace", "--procs", "4", "--out", "run", "-o", "json")
	require.Zero(t, logged.code, logged.stderr)
	require.NotContains(t, logged.stdout, strings.TrimSpace(now), "the jitter has moved arrivals")
}

// TestStudyOfOtherSemantics: its table is shown with a warning, its tasks are not
// replayed.
func TestStudyOfOtherSemantics(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := sweep.Create("study", sweep.Options{Binary: "b", About: studyAbout()})
	require.NoError(t, err)
	_, _, err = s.Add([][]byte{[]byte(`{"spec":{"semantics":1,"trace":"t","cluster":{}}}`)})
	require.NoError(t, err)
	got := inProcess(t, "study", "status", "study")
	require.Contains(t, got.stderr, fmt.Sprintf("warning: study: found semantics 1, this program writes %d", plan.Semantics))
	got = inProcess(t, "study", "materialize", "study", "0")
	require.Equal(t, exitInput, got.code)
	require.Contains(t, got.stderr, fmt.Sprintf("study: found semantics 1, want %d", plan.Semantics))
	require.Contains(t, got.stderr, "To write it anew: the command that made it, with --out study-new")
}

// TestBaselinesOfOtherVersions: those that are read come with a warning, the others are
// refused, and the command that both name stores one that is neither.
func TestBaselinesOfOtherVersions(t *testing.T) {
	formatsHere(t)
	for v := 1; v < baselineFormat.now; v++ {
		file := fmt.Sprintf("baseline-%d.json", v)
		got := inProcess(t, "gate", "gate.yaml", "--baseline", file)
		require.Contains(t, got.stderr, fmt.Sprintf("%s: found baseline schema %d, this program ", file, v))
		if v < baselineFormat.oldest {
			require.Equal(t, exitInput, got.code, got.stderr)
			require.Equal(t, exitInput, inProcess(t, "gate", "gate.yaml", "--baseline", file, "--update-baseline", "--reason", "x").code, "without --force nothing is replaced")
		} else {
			require.Contains(t, []int{exitOK, exitMismatch}, got.code, "it is judged: %s", got.stderr)
		}
		_, command, found := strings.Cut(got.stderr, "To write it anew: orrery ")
		require.True(t, found, got.stderr)
		command, _, _ = strings.Cut(command, "\n")
		require.Equal(t, fmt.Sprintf("gate gate.yaml --baseline %s --update-baseline --reason 'schema %d, semantics %d' --force", file, baselineFormat.now, plan.Semantics), command)
		words := strings.Fields(strings.Replace(command, fmt.Sprintf("'schema %d, semantics %d'", baselineFormat.now, plan.Semantics), "anew", 1))
		got = inProcess(t, words...)
		require.Zero(t, got.code, got.stderr)
		got = inProcess(t, "gate", "gate.yaml", "--baseline", file)
		require.Zero(t, got.code)
		require.NotContains(t, got.stderr, "warning")
	}
	newer(t, "baseline-1.json", fmt.Sprintf(`"semantics": %d`, plan.Semantics), `"semantics": 1`)
	got := inProcess(t, "gate", "gate.yaml", "--baseline", "baseline-1.json")
	require.Contains(t, got.stderr, fmt.Sprintf("warning: baseline-1.json: found semantics 1, this program writes %d", plan.Semantics))
}

// TestTunesOfOtherVersions: the directory is refused with the same command for another.
func TestTunesOfOtherVersions(t *testing.T) {
	formatsHere(t)
	settings := filepath.Join("tuned", tunedir.File)
	try := func(file, says string) {
		require.NoError(t, os.MkdirAll("tuned", 0o700))
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(settings, text, 0o600))
		for _, out := range [][]string{{"--out", "tuned"}, {"--out=tuned"}} {
			got := inProcess(t, append([]string{"tune", "--windows", "3+8", "-q"}, out...)...)
			require.Equal(t, exitUsage, got.code, got.stderr)
			require.Contains(t, got.stderr, settings+": found "+says)
			require.Contains(t, got.stderr, "To write it anew: orrery tune --windows 3+8 -q "+strings.Join(out, " ")+"-new\n")
		}
	}
	for v := 1; v < tuneFormat.now; v++ {
		try(fmt.Sprintf("tune-%d.json", v), fmt.Sprintf("tune settings %d, want %d; changed since then: ", v, tuneFormat.now))
	}
	newer(t, "tune-3.json", `"schema"`, `"semantics": 1, "schema"`)
	try("tune-3.json", fmt.Sprintf("semantics 1, want %d", plan.Semantics))
}

// TestTracesOfVersions: a bundle of each version is read, one of a newer program is not,
// and an import that another version kept is made anew.
func TestTracesOfVersions(t *testing.T) {
	formatsHere(t)
	for v := traceFormat.oldest; v < max(traceFormat.now, 2); v++ {
		got := inProcess(t, "trace", "info", fmt.Sprintf("trace-%d.trace", v), "-o", "json")
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, "4ad0102baa0f")
	}
	require.NotContains(t, inProcess(t, "replay", "log.swf").stderr, "was imported before")
	require.Contains(t, inProcess(t, "replay", "log.swf").stderr, "was imported before")
	imports := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "orrery", "imports")
	entries, err := os.ReadDir(imports)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	name := entries[0].Name()
	old := strings.Replace(name, fmt.Sprintf("schema%d", traces.SchemaVersion), "schema0", 1)
	require.NotEqual(t, name, old)
	require.NoError(t, os.Rename(filepath.Join(imports, name), filepath.Join(imports, old)))
	require.NotContains(t, inProcess(t, "replay", "log.swf").stderr, "was imported before")
}

// TestFlagsOfASpec: the flags of the command are those that make the spec.
func TestFlagsOfASpec(t *testing.T) {
	for _, flags := range []string{
		"", "--procs 8", "--nodes 2 --cores-per-node 4 --exclusive", "--order wfp3 --backfill none", "--backfill conservative:7",
		"--event-order sequential", "--cycle 30s --phase 10s", "--overrun extend --missing-request default:12h --infeasible error",
		"--missing-request recorded --feedback", "--quorum-latency 20ms --quorum-jitter 10ms --seed 7", "--warmup 0", "--warmup 6h --cooldown 90m", "--warmup 12",
	} {
		want := specOf(t, strings.Fields(flags))
		require.Equal(t, want, specOf(t, flagsOf(&want)), flags)
	}
	windowed := recordedRun{Spec: plan.Spec{Measure: &plan.Measure{To: model.Time(1)}}}
	require.Contains(t, replayAnew("run", &windowed), "orrery study materialize STUDY TASK --out run --force")
}

// specOf is the spec that flags of replay make of a trace of 100 rows, in its canonical
// form.
func specOf(t *testing.T, flags []string) plan.Spec {
	t.Helper()
	v := &settings{}
	v.register(&cobra.Command{})
	require.NoError(t, v.flags.Parse(flags))
	v.warmup.enter(&v.spec, traces.Info{Rows: 100})
	var out plan.Spec
	require.NoError(t, json.Unmarshal(v.spec.JSON(), &out))
	return out
}

// TestChangesOfEveryVersion: CHANGELOG.md says of each version what changed. That of the
// present semantics may still stand under the head of what is not released.
func TestChangesOfEveryVersion(t *testing.T) {
	text, err := os.ReadFile("../../../../CHANGELOG.md")
	require.NoError(t, err)
	for _, f := range allFormats {
		for v := 1; v <= f.now; v++ {
			want := fmt.Sprintf("\n| %s %d ", f.name, v)
			if f == semanticsFormat {
				want = fmt.Sprintf("\n## Semantics %d\n", v)
			}
			if f == semanticsFormat && v == f.now && strings.Contains(string(text), "\n## Unreleased\n") {
				continue
			}
			require.Contains(t, string(text), want)
		}
	}
}

// TestTracesOfEarlierBuilds: tables and columns have joined since, and the content of an
// old bundle is what it was, whether it is read or its log is imported again.
func TestTracesOfEarlierBuilds(t *testing.T) {
	const hash = "4ad0102baa0f27aab8078f6a32b28c38f3218d0976fed393c65f8496e3036d05"
	formatsHere(t)
	_, err := traces.Validate("trace-1.trace")
	require.NoError(t, err)
	for _, path := range []string{"trace-1.trace", "log.swf"} {
		got := inProcess(t, "trace", "info", path)
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, hash)
	}
}
