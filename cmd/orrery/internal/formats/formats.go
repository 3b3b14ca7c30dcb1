// Package formats reads what earlier runs, studies and builds have left: which versions are read, what is said
// of others, and by which command a directory is written anew.
package formats

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/replay"
	"orrery/cmd/orrery/internal/settings"
	"orrery/cmd/orrery/internal/tunedir"
	"orrery/internal/disk"
	"orrery/reports/study"
	"orrery/sim/experiment"
	"orrery/sim/gate"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/sweep"
	"orrery/sim/task"
	"orrery/traces"
	"orrery/traces/synth"
)

// Format is a version that files carry. What becomes of a file of another version is
// decided here: it is read with a warning, or refused with the command that writes it
// anew. Both name the file, the version that was found and what changed since then.
type Format struct {
	Name   string // as warnings and errors call it
	Key    string // where it stands
	Now    int    // the version that is written
	Oldest int    // the first that is read
	// news says of a version what changed with it.
	News map[int]string
}

// The formats. CHANGELOG.md says more of each version, and the tests have a file of each
// that came before the present one.
var (
	RunFormat = &Format{"run schema", "schema of run.json", record.RunVersion, 1, map[int]string{
		2: "run.json has the SHA-256 of each file, which readers check",
	}}
	TableFormat = &Format{"run tables", "orrery.schema of the tables of a run", record.SchemaVersion, 1, nil}
	// Files of other semantics are read: their numbers are those of another scheduler.
	SemanticsFormat = &Format{"semantics", "spec.semantics of run.json and of tasks, semantics of baselines and settings.json", plan.Semantics, 1, map[int]string{
		2: "ranges of nodes in the as-coded mode, plans within Slurm's interval, services without a runtime, deferrals of checkpoints",
		3: "one kill grace for the whole site",
		4: "at a warm start, ledgers hold what was consumed before it, and jobs that ran then are placed at once",
		5: "fingerprints cover every field of facts and proposals, and the instants of rounds and passes; schedules are those of 4",
		6: "what a blocked job waits for is promised to it before other vClusters, vClusters propose one after another, preemption for every blocked job, advance reservations bind the jobs that name them; a job that ran before a warm start and is requeued has its whole request again; limits in nodes count a node once however many jobs share it; whole nodes are charged for the GPUs that they have; work that a QOS preempts does not preempt that work in return by its class",
		7: "rows that a later row may wait for are told when they are rejected, dropped or ended before the window; jobs without a checkpoint column have none",
	}}
	FactsFormat = &Format{"facts schema", "orrery.schema of facts.parquet", record.LogVersion, record.OldestLogVersion, map[int]string{
		2: "every round, fact, pass and proposal, with all fields",
		3: "promises to blocked jobs; CPUs, memory and thousandths of GPUs of the shares of nodes",
		4: "demands that could not be met, rounds of them, and services that a policy scales",
		5: "no passes of vClusters for which nothing has changed; until then verify compares all of a pass but when the next was due",
	}}
	MetricsFormat = &Format{"metrics schema", "schema of metrics.json", metric.TableSchema, 1, nil}
	TraceFormat   = &Format{"trace schema", "orrery.schema of its tables", traces.SchemaVersion, 1, nil}
	StudyFormat   = &Format{"study format", "format of study.json and of its packs", sweep.Format, 1, map[int]string{
		2: "results, failures, lines of journals and study.json have their SHA-256, which readers check",
	}}
	TasksFormat = &Format{"study tasks", "about.tasks of study.json", VersionIn(aboutTasks), 1, map[int]string{
		2: "numbers of all groups",
		3: "windows under the load that goes on behind them, and parts of windows",
		4: "the jitter of a task is its key jitter; tasks are those of 3",
	}}
	PlanFormat = &Format{"study plan", "schema of experiment.json", experiment.Schema, experiment.OldestSchema, map[int]string{
		2: "windows are parts of one replay, with a lead and a follow-up",
		3: "it has its SHA-256, which readers check",
		4: "the jitter of a scenario is its key jitter",
	}}
	BaselineFormat = &Format{"baseline schema", "schema of the baseline", gate.BaselineSchema, gate.OldestBaseline, map[int]string{
		2: "windows are parts of one replay, with replicas",
		3: "it says under which semantics its runs were scheduled",
		4: "it has its SHA-256, which readers check",
	}}
	TuneFormat = &Format{"tune settings", "schema of settings.json", VersionIn(tunedir.Schema), VersionIn(tunedir.Schema), map[int]string{
		2: "several logs, windows of one replay, bounds on the whole log",
		3: "one joint test on the whole log, a budget in jobs",
	}}
	PageFormat = &Format{"study report", "schema of report.json", study.Schema, 1, map[int]string{
		2: "it has its SHA-256, which readers check",
	}}
)

// AllFormats are those that the program reads again, for help and tests.
var AllFormats = []*Format{
	RunFormat, TableFormat, SemanticsFormat, FactsFormat, MetricsFormat, TraceFormat, StudyFormat, TasksFormat, PlanFormat, BaselineFormat, TuneFormat, PageFormat,
}

// VersionIn is the number at the end of a name such as orrery-tasks-3, 0 without one.
func VersionIn(name string) int {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil {
		return 0
	}
	return n
}

// Reads says which versions are read.
func (f *Format) Reads() string {
	switch {
	case f.Oldest == f.Now:
		return strconv.Itoa(f.Now)
	case f.Oldest+1 == f.Now:
		return fmt.Sprintf("%d and %d", f.Oldest, f.Now)
	}
	return fmt.Sprintf("%d to %d", f.Oldest, f.Now)
}

// found says what was found in place of what, what changed since then, and what to do.
func (f *Format) found(file string, version int, want, anew string) string {
	head := fmt.Sprintf("%s: found %s %d, %s", file, f.Name, version, want)
	if version > f.Now {
		return head + ": a newer version of this program wrote it; read it with that one"
	}
	var since []string
	for v := version + 1; v <= f.Now; v++ {
		if text := f.News[v]; text != "" {
			since = append(since, text)
		}
	}
	if len(since) > 0 {
		head += "; changed since then: " + strings.Join(since, "; ")
	}
	return head + ". To write it anew: " + anew
}

// Warning is what is said of a file of another version that is read; "" of the present
// one.
func (f *Format) Warning(file string, version int, anew string) string {
	if version == f.Now {
		return ""
	}
	return "orrery: warning: " + f.found(file, version, fmt.Sprintf("this program writes %d", f.Now), anew)
}

// Refusal is the error about a file of a version that is not read, nil of others. anew
// is the command that writes it anew.
func (f *Format) Refusal(file string, version int, anew string) error {
	if version >= f.Oldest && version <= f.Now {
		return nil
	}
	return cli.BadInput(errors.New(f.found(file, version, "this program reads "+f.Reads(), anew)))
}

// Only is refusal for what is done with the present version alone.
func (f *Format) Only(file string, version int, anew string) error {
	if version == f.Now {
		return nil
	}
	return cli.BadInput(errors.New(f.found(file, version, fmt.Sprintf("want %d", f.Now), anew)))
}

// RecordedRun is what run.json says of versions, and of how it was made.
type RecordedRun struct {
	Schema      int
	Spec        plan.Spec
	SpecID      string `json:"spec_id"`
	Fingerprint string
	Trace       struct{ Hash string }
}

// Recorded reads run.json; false where there is none that can be read, of which its
// readers say more.
func Recorded(dir string) (r RecordedRun, ok bool) {
	text, err := disk.ReadFile(filepath.Join(dir, record.FileRun))
	return r, err == nil && json.Unmarshal(text, &r) == nil && r.Spec.Semantics > 0
}

// MayRead refuses runs of formats that are not read, and warns of those that another
// version scheduled.
func MayRead(app *cli.App, quiet bool, dirs ...string) error {
	var semantics []int
	for _, dir := range dirs {
		r, ok := Recorded(dir)
		if !ok {
			continue
		}
		semantics = append(semantics, r.Spec.Semantics)
		document, numbers := filepath.Join(dir, record.FileRun), filepath.Join(dir, record.FileMetrics)
		measured, known := SchemaOf(numbers)
		if r.Schema == RunFormat.Now && r.Spec.Semantics == SemanticsFormat.Now && (!known || measured == MetricsFormat.Now) {
			continue
		}
		anew := ReplayAnew(dir, &r)
		if err := RunFormat.Refusal(document, r.Schema, anew); err != nil {
			return err
		}
		if known {
			if err := MetricsFormat.Refusal(numbers, measured, anew); err != nil {
				return err
			}
		}
		text := cmp.Or(SemanticsFormat.Warning(document, r.Spec.Semantics, anew), RunFormat.Warning(document, r.Schema, anew))
		if text != "" && !quiet {
			app.Say("%s", text)
		}
	}
	if !quiet {
		SeveralSemantics(app, semantics)
	}
	return nil
}

// SeveralSemantics says so of runs that are held against each other.
func SeveralSemantics(app *cli.App, of []int) {
	slices.Sort(of)
	var words []string
	for _, n := range slices.Compact(of) {
		words = append(words, strconv.Itoa(n))
	}
	if len(words) > 1 {
		app.Say("orrery: warning: the runs are of semantics %s: what differs between them may be the program's doing", strings.Join(words, " and "))
	}
}

// SameSemantics refuses a run that another version scheduled, for verbs that replay it.
func SameSemantics(dir string) error {
	r, ok := Recorded(dir)
	if !ok || r.Spec.Semantics == SemanticsFormat.Now {
		return nil
	}
	return SemanticsFormat.Only(filepath.Join(dir, record.FileRun), r.Spec.Semantics, ReplayAnew(dir, &r))
}

// SchemaOf reads the key schema of a JSON file; false where there is none.
func SchemaOf(path string) (int, bool) {
	text, err := disk.ReadFile(path)
	if err != nil {
		return 0, false
	}
	var head struct{ Schema *int }
	if json.Unmarshal(text, &head) != nil || head.Schema == nil {
		return 0, false
	}
	return *head.Schema, true
}

// ReplayAnew is the command that writes a run anew: by host.json where it names a log
// that is still there, else by the settings that the run has.
func ReplayAnew(dir string, r *RecordedRun) string {
	if r.Spec.Measure != nil {
		return fmt.Sprintf("orrery study materialize STUDY TASK --out %s --force, of a study that is swept anew", cli.Quoted(dir))
	}
	words, where := askedFor(dir), ""
	if words == nil {
		words = []string{"orrery", "replay"}
		if r.Trace.Hash != SampleHash() {
			words = append(words, "LOG")
			where = fmt.Sprintf(" (LOG is %s, with the hash %.12s)", cmp.Or(record.TraceName(dir), "its log"), r.Trace.Hash)
		}
		words = append(words, flagsOf(&r.Spec)...)
		if len(r.Spec.Site) > 0 {
			words = append(words, "--cluster", "CLUSTER")
			where += fmt.Sprintf(" (CLUSTER is its cluster file, in %s the key spec.site)", filepath.Join(dir, record.FileRun))
		}
		if len(r.Spec.Scenario) > 0 {
			words = append(words, "--scenario", "SCENARIO")
			where += fmt.Sprintf(" (SCENARIO is its scenario, in %s the key spec.scenario)", filepath.Join(dir, record.FileRun))
		}
	}
	for _, table := range []struct{ flag, name string }{{"--facts", record.TableFacts}, {"--decisions", record.TableDecisions}} {
		if cli.There(filepath.Join(dir, table.name+".parquet")) != nil {
			words = append(words, table.flag)
		}
	}
	return strings.Join(append(words, "--out", cli.Quoted(dir), "--force"), " ") + where
}

// askedFor is the command line that made a run, with the log and the flags that say what
// it is of; nil where host.json does not have it, or names files that are not there.
func askedFor(dir string) (words []string) {
	cmd, logs := ReplayOf(dir)
	if len(logs) == 0 {
		return nil
	}
	words = []string{"orrery", "replay", cli.QuotedAll(logs)}
	var known settings.Flags
	known.Register(&cobra.Command{})
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if known.Set.Lookup(f.Name) == nil {
			return
		}
		values := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		for _, v := range values {
			words = append(words, cli.Quoted("--"+f.Name+"="+v))
		}
	})
	return words
}

// ReplayOf is the command that made a run and the files of the log that it was of; none where
// host.json does not say, or one is not there.
func ReplayOf(dir string) (cmd *cobra.Command, logs []string) {
	text, err := disk.ReadFile(filepath.Join(dir, record.FileHost))
	var host struct{ Arguments []string }
	if err != nil || json.Unmarshal(text, &host) != nil || len(host.Arguments) < 2 || host.Arguments[0] != "replay" {
		return nil, nil
	}
	cmd = replay.Command(cli.New())
	if cmd.ParseFlags(host.Arguments[1:]) != nil { // flags of that time
		return nil, nil
	}
	logs = cmd.Flags().Args()
	for _, path := range logs {
		if cli.There(path) == nil {
			return nil, nil
		}
	}
	return cmd, logs
}

// flagsOf are the flags under which replay makes a spec; the cluster file of a site is
// not of them.
func flagsOf(s *plan.Spec) []string {
	var out []string
	add := func(given bool, flag, value string) {
		if given {
			out = append(out, "--"+flag, value)
		}
	}
	c := &s.Cluster
	add(c.Procs > 0, "procs", strconv.Itoa(int(c.Procs)))
	add(c.Nodes > 0, "nodes", strconv.Itoa(int(c.Nodes)))
	add(c.CoresPerNode > 0, "cores-per-node", strconv.Itoa(int(c.CoresPerNode)))
	add(c.GPUsPerNode > 0, "gpus-per-node", strconv.Itoa(int(c.GPUsPerNode)))
	if c.Exclusive {
		out = append(out, "--exclusive")
	}
	add(s.Order != "", "order", s.Order)
	backfill := s.Backfill
	if s.Depth > 0 {
		backfill += ":" + strconv.Itoa(s.Depth)
	}
	add(backfill != "", "backfill", backfill)
	add(s.EventOrder != "", "event-order", s.EventOrder)
	add(s.Cycle > 0, "cycle", s.Cycle.String())
	add(s.Phase > 0, "phase", s.Phase.String())
	add(s.Overrun != "", "overrun", s.Overrun)
	missing := s.MissingRequest
	if s.DefaultRequest > 0 {
		missing += ":" + s.DefaultRequest.String()
	}
	add(missing != "", "missing-request", missing)
	add(s.Infeasible != "", "infeasible", s.Infeasible)
	if s.AllowUnheeded {
		out = append(out, "--allow-unheeded")
	}
	add(s.QuorumLatency > 0, "quorum-latency", s.QuorumLatency.String())
	add(s.QuorumJitter > 0, "quorum-jitter", s.QuorumJitter.String())
	add(s.Seed > 0, "seed", strconv.FormatUint(s.Seed, 10))
	if s.Feedback {
		out = append(out, "--feedback")
	}
	add(s.WarmupJobs == plan.NoWarmup, "warmup", "0")
	add(s.WarmupJobs > 0, "warmup", strconv.FormatInt(s.WarmupJobs, 10))
	add(s.Warmup > 0, "warmup", s.Warmup.String())
	add(s.Cooldown > 0, "cooldown", s.Cooldown.String())
	return out
}

// TasksOf is the version of the tasks of a study, 0 where they are none of this program.
func TasksOf(s *sweep.Study) int {
	var about struct{ Tasks string }
	if json.Unmarshal(s.About(), &about) != nil || !strings.HasPrefix(about.Tasks, olderTasks) {
		return 0
	}
	return VersionIn(about.Tasks)
}

// sweepAnew is the command that computes a study anew, in another directory: a study
// does not mix versions.
func sweepAnew(dir string) string {
	dir = filepath.Clean(dir)
	var p struct{ Name string }
	text, err := disk.ReadFile(filepath.Join(dir, PlanFile))
	if err != nil || json.Unmarshal(text, &p) != nil { // tune keeps none
		return "the command that made it, with --out " + cli.Quoted(dir+"-new")
	}
	return fmt.Sprintf("orrery sweep %s --out %s (the key experiment of %s holds the experiment)",
		cli.Quoted(cmp.Or(p.Name, "experiment")+".yaml"), cli.Quoted(dir+"-new"), filepath.Join(dir, PlanFile))
}

// OtherOut is this command line with another directory for --out.
func OtherOut(app *cli.App, out string) string {
	words := []string{"orrery"}
	other := filepath.Clean(out) + "-new"
	for _, word := range app.Args {
		switch {
		case words[len(words)-1] == "--out":
			word = other
		case strings.HasPrefix(word, "--out="):
			word = "--out=" + other
		}
		words = append(words, cli.Quoted(word))
	}
	return strings.Join(words, " ")
}

// Mixed is StudyError, which for a study of another build names the command that begins
// one of this build.
func Mixed(err error, anew string) error {
	var other *sweep.MixedError
	if errors.As(err, &other) {
		return cli.Coded(cli.ExitUsage, fmt.Errorf("%w. To compute it anew: %s", err, anew))
	}
	return StudyError(err)
}

// WarnOfStudy says which versions of a study are not the present ones. Its numbers are
// shown as they are.
func WarnOfStudy(app *cli.App, s *sweep.Study, quiet bool) {
	if quiet {
		return
	}
	anew := sweepAnew(s.Dir())
	if v := TasksOf(s); v > 0 {
		if text := TasksFormat.Warning(filepath.Join(s.Dir(), "study.json"), v, anew); text != "" {
			app.Say("%s", text)
			return
		}
	}
	text := ""
	if v := semanticsOf(s); v > 0 {
		text = SemanticsFormat.Warning(s.Dir(), v, anew)
	}
	if text = cmp.Or(text, StudyFormat.Warning(filepath.Join(s.Dir(), "study.json"), s.Format(), anew)); text != "" {
		app.Say("%s", text)
	}
}

// semanticsOf are those of the first task of a study, 0 where it has none of ours.
func semanticsOf(s *sweep.Study) int {
	if s.Len() == 0 || TasksOf(s) == 0 {
		return 0
	}
	text, err := s.Spec(0)
	if err != nil {
		return 0
	}
	t, err := task.Parse(text)
	if err != nil {
		return 0
	}
	return t.Spec.Semantics
}

// SampleHash is the content hash of the sample that is part of the program, "" where it
// cannot be opened.
func SampleHash() string {
	f, err := os.CreateTemp("", "orrery-sample-*.parquet")
	if err != nil {
		return ""
	}
	disk.Temporary(f.Name())
	defer os.Remove(f.Name())
	_, err = f.Write(synth.Sample())
	if err := errors.Join(err, f.Close()); err != nil {
		return ""
	}
	b, err := traces.Open(f.Name())
	if err != nil {
		return ""
	}
	defer func() { _ = b.Close() }() // only read
	return b.Info().Hash
}
