package formats_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	parquet "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/tunedir"
	"orrery/internal/seal"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/sweep"
	"orrery/traces"
)

// earlier are the files of each format by version, relative to testdata/formats, and what
// says which version one is of.
var earlier = map[*formats.Format]struct {
	path    string // with the version
	version func(t *testing.T, path string) int
}{
	formats.RunFormat:       {"run-schema-%d/run.json", schemaIn("schema")},
	formats.TableFormat:     {"run-schema-%d/jobs.parquet", versionOfTable},
	formats.SemanticsFormat: {"run-semantics-%d/run.json", schemaIn("spec", "semantics")},
	formats.FactsFormat:     {"facts-%d/facts.parquet", versionOfTable},
	formats.MetricsFormat:   {"run-semantics-%d/metrics.json", schemaIn("schema")},
	formats.TraceFormat:     {"trace-%d.trace", func(*testing.T, string) int { return traces.SchemaVersion }},
	formats.StudyFormat:     {"study-tasks-%d/study.json", schemaIn("format")},
	formats.TasksFormat:     {"study-tasks-%d/study.json", schemaIn("about", "tasks")},
	formats.PlanFormat:      {"study-tasks-%d/experiment.json", schemaIn("schema")},
	formats.BaselineFormat:  {"baseline-%d.json", schemaIn("schema")},
	formats.TuneFormat:      {"tune-%d.json", schemaIn("schema")},
	formats.PageFormat:      {"report-%d.json", schemaIn("schema")},
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
		return formats.VersionIn(v.(string))
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
	return formats.VersionIn(text)
}

// TestEveryVersionHasAFile: when a version is raised, a file of the one before is wanted.
func TestEveryVersionHasAFile(t *testing.T) {
	require.Len(t, earlier, len(formats.AllFormats))
	for _, f := range formats.AllFormats {
		require.Positive(t, f.Oldest, f.Name)
		require.LessOrEqual(t, f.Oldest, f.Now, f.Name)
		for v := 1; v < max(f.Now, 2); v++ {
			path := filepath.Join("testdata", "formats", fmt.Sprintf(earlier[f].path, v))
			_, err := os.Stat(path)
			require.NoError(t, err, "%s %d: no file of it; make one with the program before the version was raised", f.Name, v)
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
	if clitest.UnderRace {
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
			got := clitest.Run(t, args...)
			require.Zero(t, got.Code, "%v: %s", args, got.Stderr)
			if v == plan.Semantics {
				require.NotContains(t, got.Stderr, "warning", "%v", args)
				continue
			}
			require.Contains(t, got.Stderr, warns, "%v", args)
			require.Contains(t, got.Stderr, anew, "%v", args)
		}
		got := clitest.Run(t, "verify", "--invariants", dir, "log.swf")
		if v == plan.Semantics {
			require.Zero(t, got.Code, got.Stderr)
			continue
		}
		require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, fmt.Sprintf("found semantics %d, want %d", v, plan.Semantics))
		require.Contains(t, got.Stderr, anew)
		require.Equal(t, cli.ExitInput, clitest.Run(t, "compare", dir, dir, "--noise", "log.swf").Code)
	}
	require.NotEqual(t, 1, plan.Semantics)
	got := clitest.Run(t, "compare", "run-semantics-1", "run-semantics-2")
	require.Contains(t, got.Stderr, "the runs are of semantics 1 and 2: what differs between them may be the program's doing")
	require.Contains(t, got.Stderr, "changed since then: ranges of nodes in the as-coded mode")

	// A newer one says so, and there is no command for it.
	newer(t, "run-semantics-1/run.json", `"semantics": 1`, `"semantics": 99`)
	got = clitest.Run(t, "export", "run-semantics-1")
	require.Zero(t, got.Code)
	require.Contains(t, got.Stderr, "found semantics 99")
	require.Contains(t, got.Stderr, "a newer version of this program wrote it; read it with that one\n")
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
	warning := clitest.Run(t, "export", "run-semantics-1").Stderr
	_, command, found := strings.Cut(warning, "To write it anew: orrery ")
	require.True(t, found, warning)
	command, _, _ = strings.Cut(command, " (LOG is")
	got := clitest.Run(t, strings.Fields(strings.Replace(command, "LOG", "log.swf", 1))...)
	require.Zero(t, got.Code, got.Stderr)
	got = clitest.Run(t, "export", "run-semantics-1")
	require.Zero(t, got.Code)
	require.Empty(t, got.Stderr)
	r, ok := formats.Recorded("run-semantics-1")
	require.True(t, ok)
	require.Equal(t, plan.Semantics, r.Spec.Semantics)
	require.Equal(t, 5, r.Spec.Depth)
}

// TestTheCommandThatWasGiven: host.json says by which command a run was made. It is
// named when its log is still there, and its flags still are.
func TestTheCommandThatWasGiven(t *testing.T) {
	formatsHere(t)
	r, ok := formats.Recorded("run-semantics-1")
	require.True(t, ok)
	for arguments, want := range map[string]string{
		`["replay", "log.swf", "--order", "sjf", "--profile=a=default", "--profile", "b=./x y", "-q", "--out", "elsewhere"]`: "orrery replay log.swf --order=sjf --profile=a=default '--profile=b=./x y' --out run-semantics-1 --force",
		`["replay", "gone.swf", "-q", "--out", "elsewhere"]`:                                                                 "orrery replay LOG --procs 4 --order sjf",
		`["replay", "log.swf", "--of-that-time"]`:                                                                            "orrery replay LOG --procs 4 --order sjf",
		`["verify", "log.swf"]`: "orrery replay LOG --procs 4 --order sjf",
	} {
		require.NoError(t, os.WriteFile("run-semantics-1/host.json", []byte(`{"arguments": `+arguments+`}`), 0o600))
		require.Contains(t, formats.ReplayAnew("run-semantics-1", &r), want)
	}
}

// TestRunsOfOtherSchemas: tables and metrics of another schema are refused with the
// command.
func TestRunsOfOtherSchemas(t *testing.T) {
	formatsHere(t)
	for dir, v := range map[string]string{"run-semantics-2": "0", "run-semantics-4": "77"} {
		newer(t, dir+"/run.json", `"schema": 1`, `"schema": `+v)
		got := clitest.Run(t, "report", dir)
		require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, dir+"/run.json: found run schema "+v+", this program reads "+formats.RunFormat.Reads())
	}
	newer(t, "run-semantics-3/metrics.json", `"schema":1`, `"schema":99`)
	got := clitest.Run(t, "compare", "run-semantics-3", "run-semantics-3")
	require.Equal(t, cli.ExitInput, got.Code)
	require.Contains(t, got.Stderr, "run-semantics-3/metrics.json: found metrics schema 99")
	require.NoError(t, os.Remove("run-semantics-1/attempts.parquet"))
	require.NoError(t, os.WriteFile("run-semantics-1/attempts.parquet", []byte("PAR1 and no more"), 0o600))
	got = clitest.Run(t, "report", "run-semantics-1")
	require.Equal(t, cli.ExitInput, got.Code)
	require.Contains(t, got.Stderr, "replay the trace again to write it anew: orrery replay LOG --procs 4")
	newer(t, "report-1.json", `"schema": 1`, `"schema": 99`)
	got = clitest.Run(t, "report", "report-1.json")
	require.Equal(t, cli.ExitInput, got.Code)
	require.Contains(t, got.Stderr, "report-1.json: found study report 99, this program reads 1 and 2: a newer version")
}

// TestFactsOfOtherVersions: a log of facts of another schema is refused with the command,
// and the other tables of the run are read.
func TestFactsOfOtherVersions(t *testing.T) {
	formatsHere(t)
	for v := 1; v < formats.FactsFormat.Oldest; v++ {
		dir := fmt.Sprintf("facts-%d", v)
		got := clitest.Run(t, "export", dir, "--table", "facts")
		require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, fmt.Sprintf("%s/facts.parquet: found facts schema %d, this program reads %s; changed since then: %s", dir, v, formats.FactsFormat.Reads(), formats.FactsFormat.News[v+1]))
		require.Contains(t, got.Stderr, ". To write it anew: orrery replay LOG --procs 4 --order sjf --backfill conservative:5 --facts --out "+dir+" --force")
		got = clitest.Run(t, "export", dir, "--table", "jobs")
		require.Zero(t, got.Code, got.Stderr)
	}
}

// TestEarlierFacts: earlier logs are read as they were. A core of today plans as they say if its
// semantics are theirs.
func TestEarlierFacts(t *testing.T) {
	formatsHere(t)
	for v := formats.FactsFormat.Oldest; v < formats.FactsFormat.Now; v++ {
		got := clitest.Run(t, "export", fmt.Sprintf("facts-%d", v), "--table", "facts")
		require.Zero(t, got.Code, got.Stderr)
		require.Contains(t, got.Stdout, "assigned")
	}
	for dir, found := range map[string]string{"facts-2": "found semantics 5, want 7", "facts-3": "found semantics 6, want 7"} {
		got := clitest.Run(t, "verify", "--facts", dir, "log.swf")
		require.Equal(t, cli.ExitInput, got.Code)
		require.Contains(t, got.Stderr, found)
	}
	require.Zero(t, clitest.Run(t, "replay", "log.swf", "--procs", "4", "--facts", "--out", "now").Code)
	for _, dir := range []string{"facts-4", "now"} {
		got := clitest.Run(t, "verify", "--facts", dir, "log.swf")
		require.Zero(t, got.Code, got.Stderr)
	}
}

// TestSitesOfOtherSemantics: explain would work out scores anew, and refuses.
func TestSitesOfOtherSemantics(t *testing.T) {
	formatsHere(t)
	got := clitest.Run(t, "explain", "site-semantics-1", "2")
	require.Equal(t, cli.ExitInput, got.Code)
	require.Contains(t, got.Stderr, "one kill grace for the whole site")
	require.Contains(t, got.Stderr, "orrery replay LOG --cluster CLUSTER --out site-semantics-1 --force")
	require.Contains(t, got.Stderr, "(CLUSTER is its cluster file, in site-semantics-1/run.json the key spec.site)")
	got = clitest.Run(t, "export", "site-semantics-1", "--table", "tenants")
	require.Zero(t, got.Code)
	require.Contains(t, got.Stderr, "warning")
	require.Contains(t, got.Stdout, "name,window,jobs")
}

// TestStudiesOfOtherVersions: tables of plans that are read come with a warning; nothing
// is computed in one.
func TestStudiesOfOtherVersions(t *testing.T) {
	formatsHere(t)
	experiment := "traces: [log.swf]\ndesign: listed\nlisted: [{set: [order=fcfs]}]\nobjectives: [{metric: wait_mean}]\n"
	require.NoError(t, os.WriteFile("exp.yaml", []byte(experiment), 0o600))
	for v := 1; v <= formats.TasksFormat.Now; v++ {
		dir := fmt.Sprintf("study-tasks-%d", v)
		anew := "To write it anew: orrery sweep exp.yaml --out " + dir + "-new (the key experiment of " + dir + "/experiment.json holds the experiment)"
		got := clitest.Run(t, "study", "table", dir)
		plan, known := formats.SchemaOf(filepath.Join(dir, formats.PlanFile))
		require.True(t, known)
		if plan < formats.PlanFormat.Oldest {
			require.Equal(t, cli.ExitInput, got.Code)
			require.Contains(t, got.Stderr, fmt.Sprintf("%s/experiment.json: found study plan %d, this program reads %s; changed since then: ", dir, plan, formats.PlanFormat.Reads()))
			require.Contains(t, got.Stderr, anew)
		} else {
			require.Zero(t, got.Code, got.Stderr)
			require.Contains(t, got.Stdout, "00:03:00")
		}
		for _, verb := range []string{"materialize", "profile"} {
			if v >= formats.SameTasks {
				break
			}
			got := clitest.Run(t, "study", verb, dir, "0")
			require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
			require.Contains(t, got.Stderr, fmt.Sprintf("%s/study.json: found study tasks %d, want %d; changed since then: ", dir, v, formats.TasksFormat.Now))
			require.Contains(t, got.Stderr, anew)
		}
		if got := clitest.Run(t, "study", "status", dir); v < formats.TasksFormat.Now {
			require.Contains(t, got.Stderr, fmt.Sprintf("warning: %s/study.json: found study tasks %d", dir, v))
		} else {
			require.Zero(t, got.Code, got.Stderr)
		}
		got = clitest.Run(t, "worker", dir)
		require.Equal(t, cli.ExitUsage, got.Code, "another build began it")
		require.Contains(t, got.Stderr, "To compute it anew: orrery sweep exp.yaml --out "+dir+"-new")
		got = clitest.Run(t, "sweep", "exp.yaml", "--out", dir)
		require.Equal(t, cli.ExitUsage, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, "To compute it anew: orrery sweep exp.yaml --out "+dir+"-new\n")
	}
}

// TestTasksThatAreTheSame: tasks of a version that only says them otherwise are replayed as
// those of today.
func TestTasksThatAreTheSame(t *testing.T) {
	formatsHere(t)
	require.Zero(t, clitest.Run(t, "import", "log.swf", "--out", "log.trace").Code)
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
		got := clitest.Run(t, "study", "materialize", dir, "0", "--out", dir+"-run")
		require.Zero(t, got.Code, got.Stderr)
		_, fingerprint, ok := strings.Cut(got.Stdout, "fingerprint: ")
		require.True(t, ok, got.Stdout)
		return fingerprint
	}
	now := materialized(formats.TasksFormat.Now, "jitter")
	require.Equal(t, now, materialized(formats.SameTasks, "shake"))
	logged := clitest.Run(t, "replay", "log.trace", "--procs", "4", "--out", "run", "-o", "json")
	require.Zero(t, logged.Code, logged.Stderr)
	require.NotContains(t, logged.Stdout, strings.TrimSpace(now), "the jitter has moved arrivals")
}

// TestStudyOfOtherSemantics: its table is shown with a warning, its tasks are not
// replayed.
func TestStudyOfOtherSemantics(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := sweep.Create("study", sweep.Options{Binary: "b", About: formats.StudyAbout()})
	require.NoError(t, err)
	_, _, err = s.Add([][]byte{[]byte(`{"spec":{"semantics":1,"trace":"t","cluster":{}}}`)})
	require.NoError(t, err)
	got := clitest.Run(t, "study", "status", "study")
	require.Contains(t, got.Stderr, fmt.Sprintf("warning: study: found semantics 1, this program writes %d", plan.Semantics))
	got = clitest.Run(t, "study", "materialize", "study", "0")
	require.Equal(t, cli.ExitInput, got.Code)
	require.Contains(t, got.Stderr, fmt.Sprintf("study: found semantics 1, want %d", plan.Semantics))
	require.Contains(t, got.Stderr, "To write it anew: the command that made it, with --out study-new")
}

// TestBaselinesOfOtherVersions: those that are read come with a warning, the others are
// refused, and the command that both name stores one that is neither.
func TestBaselinesOfOtherVersions(t *testing.T) {
	formatsHere(t)
	for v := 1; v < formats.BaselineFormat.Now; v++ {
		file := fmt.Sprintf("baseline-%d.json", v)
		got := clitest.Run(t, "gate", "gate.yaml", "--baseline", file)
		require.Contains(t, got.Stderr, fmt.Sprintf("%s: found baseline schema %d, this program ", file, v))
		if v < formats.BaselineFormat.Oldest {
			require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
			require.Equal(t, cli.ExitInput, clitest.Run(t, "gate", "gate.yaml", "--baseline", file, "--update-baseline", "--reason", "x").Code, "without --force nothing is replaced")
		} else {
			require.Contains(t, []int{cli.ExitOK, cli.ExitMismatch}, got.Code, "it is judged: %s", got.Stderr)
		}
		_, command, found := strings.Cut(got.Stderr, "To write it anew: orrery ")
		require.True(t, found, got.Stderr)
		command, _, _ = strings.Cut(command, "\n")
		require.Equal(t, fmt.Sprintf("gate gate.yaml --baseline %s --update-baseline --reason 'schema %d, semantics %d' --force", file, formats.BaselineFormat.Now, plan.Semantics), command)
		words := strings.Fields(strings.Replace(command, fmt.Sprintf("'schema %d, semantics %d'", formats.BaselineFormat.Now, plan.Semantics), "anew", 1))
		got = clitest.Run(t, words...)
		require.Zero(t, got.Code, got.Stderr)
		got = clitest.Run(t, "gate", "gate.yaml", "--baseline", file)
		require.Zero(t, got.Code)
		require.NotContains(t, got.Stderr, "warning")
	}
	newer(t, "baseline-1.json", fmt.Sprintf(`"semantics": %d`, plan.Semantics), `"semantics": 1`)
	got := clitest.Run(t, "gate", "gate.yaml", "--baseline", "baseline-1.json")
	require.Contains(t, got.Stderr, fmt.Sprintf("warning: baseline-1.json: found semantics 1, this program writes %d", plan.Semantics))
}

// TestTunesOfOtherVersions: the directory is refused with the same command for another.
func TestTunesOfOtherVersions(t *testing.T) {
	formatsHere(t)
	Flags := filepath.Join("tuned", tunedir.File)
	try := func(file, says string) {
		require.NoError(t, os.MkdirAll("tuned", 0o700))
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(Flags, text, 0o600))
		for _, out := range [][]string{{"--out", "tuned"}, {"--out=tuned"}} {
			got := clitest.Run(t, append([]string{"tune", "--windows", "3+8", "-q"}, out...)...)
			require.Equal(t, cli.ExitUsage, got.Code, got.Stderr)
			require.Contains(t, got.Stderr, Flags+": found "+says)
			require.Contains(t, got.Stderr, "To write it anew: orrery tune --windows 3+8 -q "+strings.Join(out, " ")+"-new\n")
		}
	}
	for v := 1; v < formats.TuneFormat.Now; v++ {
		try(fmt.Sprintf("tune-%d.json", v), fmt.Sprintf("tune settings %d, want %d; changed since then: ", v, formats.TuneFormat.Now))
	}
	newer(t, "tune-3.json", `"schema"`, `"semantics": 1, "schema"`)
	try("tune-3.json", fmt.Sprintf("semantics 1, want %d", plan.Semantics))
}

// TestTracesOfVersions: a bundle of each version is read, one of a newer program is not,
// and an import that another version kept is made anew.
func TestTracesOfVersions(t *testing.T) {
	formatsHere(t)
	for v := formats.TraceFormat.Oldest; v < max(formats.TraceFormat.Now, 2); v++ {
		got := clitest.Run(t, "trace", "info", fmt.Sprintf("trace-%d.trace", v), "-o", "json")
		require.Zero(t, got.Code, got.Stderr)
		require.Contains(t, got.Stdout, "4ad0102baa0f")
	}
	require.NotContains(t, clitest.Run(t, "replay", "log.swf").Stderr, "was imported before")
	require.Contains(t, clitest.Run(t, "replay", "log.swf").Stderr, "was imported before")
	imports := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "orrery", "imports")
	entries, err := os.ReadDir(imports)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	name := entries[0].Name()
	old := strings.Replace(name, fmt.Sprintf("schema%d", traces.SchemaVersion), "schema0", 1)
	require.NotEqual(t, name, old)
	require.NoError(t, os.Rename(filepath.Join(imports, name), filepath.Join(imports, old)))
	require.NotContains(t, clitest.Run(t, "replay", "log.swf").Stderr, "was imported before")
}

// TestChangesOfEveryVersion: CHANGELOG.md says of each version what changed. That of the
// present semantics may still stand under the head of what is not released.
func TestChangesOfEveryVersion(t *testing.T) {
	text, err := os.ReadFile("../../../../CHANGELOG.md")
	require.NoError(t, err)
	for _, f := range formats.AllFormats {
		for v := 1; v <= f.Now; v++ {
			want := fmt.Sprintf("\n| %s %d ", f.Name, v)
			if f == formats.SemanticsFormat {
				want = fmt.Sprintf("\n## Semantics %d\n", v)
			}
			if f == formats.SemanticsFormat && v == f.Now && strings.Contains(string(text), "\n## Unreleased\n") {
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
		got := clitest.Run(t, "trace", "info", path)
		require.Zero(t, got.Code, got.Stderr)
		require.Contains(t, got.Stdout, hash)
	}
}
