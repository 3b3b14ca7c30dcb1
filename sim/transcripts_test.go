package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/commitlog"
	"orrery/sim/plan"
	"orrery/traces"
)

var update = flag.Bool("update", false, "rewrite the logs of the transcripts")

// TestTranscripts replays the small stories of testdata/transcripts. Each file tells in
// its first lines what it shows, has the text that goes in, and the whole log that comes
// out. A changed decision is a changed log, and is read as a difference between two texts;
// -update rewrites the logs.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 30)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			a := txtar.Parse(text)
			s, err := readStory(a)
			require.NoError(t, err)
			require.Greater(t, len(a.Comment), 80, "the first lines say what the story shows")
			made := s.log(t)
			require.LessOrEqual(t, bytes.Count(made, []byte("\n")), 80, "a story is short enough to read")
			if bytes.Equal(made, s.logged) {
				return
			}
			if !*update {
				t.Fatalf("%s\nRead what changed. If it is right: go test ./sim -run TestTranscripts -update",
					diff.Diff("log in "+file, s.logged, "log now", made))
			}
			a.Files = append(slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "log" }), txtar.File{Name: "log", Data: made})
			require.NoError(t, os.WriteFile(file, txtar.Format(a), 0o644))
		})
	}
}

// Every kind of fact is in one of the stories at least.
func TestTranscriptsShowEveryKindOfFact(t *testing.T) {
	if *update {
		t.Skip("the logs are being rewritten")
	}
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	require.NoError(t, err)
	var logs strings.Builder
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		require.NoError(t, err)
		s, err := readStory(a)
		require.NoError(t, err)
		logs.Write(s.logged)
	}
	for k := model.FactSubmitted; k <= model.LastFact; k++ {
		require.True(t, regexp.MustCompile(`(?m)^  `+k.String()+`\b`).MatchString(logs.String()), "no story has the fact %s", k)
	}
}

// TestTranscriptsAreReadStrictly: what is misspelled in a story is refused, and not left out.
func TestTranscriptsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"-- job --\n":                                            `unknown part "job"`,
		"-- settings --\nprocs\n":                                `"procs": want KEY VALUE`,
		"-- settings --\nproc 4\n":                               `unknown key "proc"`,
		"-- jobs --\n1 0s 10s 10s\n":                             "want ID SUBMIT RUNTIME WALLTIME NODES",
		"-- jobs --\n1 0s 10s 10s 1 colour=red\n":                `unknown key "colour"`,
		"-- jobs --\n1 0s 10s 10s 1\n1 0s 10s 10s 1\n":           "id 1 is used twice",
		"-- jobs --\n1 0s 10s ten 1\n":                           "not a duration",
		"-- deps --\n1 2\n":                                      "want JOB ON CONDITION",
		"-- events --\n0s down\n":                                "want TIME KIND SUBJECT",
		"-- settings --\nprocs 4\n-- cluster.yaml --\nname: x\n": "procs: the cluster file says it",
	} {
		_, err := readStory(txtar.Parse([]byte(text)))
		require.ErrorContains(t, err, want, "%s", text)
	}
}

// story is a transcript as it was read.
type story struct {
	spec   plan.Spec
	site   string // cluster.yaml, "" for a plain cluster
	meta   traces.Meta
	tables traces.Tables
	logged []byte
}

// log replays the story, watched and held against a fresh core, and writes its log.
func (s *story) log(t *testing.T) []byte {
	t.Helper()
	spec := s.spec
	if s.site != "" {
		spec.Site = siteOf(t, s.site).Site
	}
	m, err := traces.NewMemory("transcript", s.meta, s.tables)
	require.NoError(t, err)
	var kept log
	res, err := Run(t.Context(), spec, m.Open, Options{Watch: true, Log: kept.recorder()})
	require.NoError(t, err)
	require.Empty(t, res.Watch.Breaches, "%v", res.Watch)
	require.True(t, res.dropped() == 0 || s.meta.History > 0, "a row of the story is not replayed")
	kept.same(t, spec, m.Open, res.Fingerprint)
	text := commitlog.NewText(s.names(t, spec, m))
	var out []byte
	for i := range kept.entries {
		out = text.Append(out, &kept.entries[i])
	}
	return out
}

// names are those of the cluster file. The nodes of a plain cluster are called n1, n2 and so on.
func (s *story) names(t *testing.T, spec plan.Spec, m *traces.Memory) commitlog.Names {
	t.Helper()
	prep, err := plan.Prepare(spec)
	require.NoError(t, err)
	src, err := m.Open()
	require.NoError(t, err)
	p, err := prep.Resolve(src)
	require.NoError(t, err)
	var names commitlog.Names
	if p.Site != nil {
		names = commitlog.NamesOf(p.Site.Core.Site)
	} else {
		for i := range p.World.Cluster.Units {
			names.Nodes = append(names.Nodes, fmt.Sprint("n", i+1))
		}
	}
	for i := range s.tables.Jobs {
		names.Jobs = append(names.Jobs, s.tables.Jobs[i].ID)
	}
	names.Users = src.Users()
	return names
}

// readStory reads the parts of a transcript, all of them strictly.
func readStory(a *txtar.Archive) (*story, error) {
	s := &story{spec: plan.DefaultSpec()}
	s.spec.AllowUnheeded = true // stories may be of what a cluster lacks
	readers := map[string]func(words []string) error{"settings": s.setting, "jobs": s.job, "deps": s.dep, "events": s.event}
	for _, f := range a.Files {
		switch read := readers[f.Name]; {
		case f.Name == "cluster.yaml":
			s.site = string(f.Data)
		case f.Name == "log":
			s.logged = f.Data
		case read == nil:
			return nil, fmt.Errorf("unknown part %q", f.Name)
		default:
			for line := range strings.Lines(string(f.Data)) {
				line, _, _ = strings.Cut(line, "#")
				words := strings.Fields(line)
				if len(words) == 0 {
					continue
				}
				if err := read(words); err != nil {
					return nil, fmt.Errorf("%s: %q: %w", f.Name, strings.TrimSpace(line), err)
				}
			}
		}
	}
	if s.site != "" && s.spec.Cluster.Procs != 0 {
		return nil, fmt.Errorf("procs: the cluster file says it")
	}
	return s, nil
}

// setting reads a line of settings, which are those of a spec and of a trace.
func (s *story) setting(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("want KEY VALUE")
	}
	set, ok := map[string]func(string) error{
		"procs":          whole32(func(n int32) { s.spec.Cluster.Procs = n }),
		"seed":           whole32(func(n int32) { s.spec.Seed = uint64(n) }),
		"order":          word(func(w string) { s.spec.Order = w }),
		"backfill":       word(func(w string) { s.spec.Backfill = w }),
		"depth":          whole32(func(n int32) { s.spec.Depth = int(n) }),
		"event_order":    word(func(w string) { s.spec.EventOrder = w }),
		"overrun":        word(func(w string) { s.spec.Overrun = w }),
		"cycle":          span(func(d model.Duration) { s.spec.Cycle = d }),
		"phase":          span(func(d model.Duration) { s.spec.Phase = d }),
		"quorum_latency": span(func(d model.Duration) { s.spec.QuorumLatency = d }),
		"warm_start":     span(func(d model.Duration) { s.meta.WarmStart = traces.Some(model.Time(d)) }),
		"history":        span(func(d model.Duration) { s.meta.History = d }),
	}[words[0]]
	if !ok {
		return fmt.Errorf("unknown key %q", words[0])
	}
	return set(words[1])
}

// job reads a line of jobs: five columns, and others of the jobs table by name.
func (s *story) job(words []string) error {
	if len(words) < 5 {
		return fmt.Errorf("want ID SUBMIT RUNTIME WALLTIME NODES")
	}
	var j traces.Job
	for i, key := range []string{"id", "submit", "runtime", "walltime", "nodes_min"} {
		words[i] = key + "=" + words[i]
	}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return fmt.Errorf("%q: want KEY=VALUE", w)
		}
		set := column(&j, key)
		if set == nil {
			return fmt.Errorf("unknown key %q", key)
		}
		if value == "-" { // null
			continue
		}
		if err := set(value); err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	if slices.ContainsFunc(s.tables.Jobs, func(other traces.Job) bool { return other.ID == j.ID }) {
		return fmt.Errorf("id %d is used twice", j.ID)
	}
	j.ProcsRequested = j.NodesMin
	s.tables.Jobs = append(s.tables.Jobs, j)
	return nil
}

// column reads a value into a column of the jobs table; nil when stories have no such column.
func column(j *traces.Job, key string) func(string) error {
	return map[string]func(string) error{
		"id":             func(w string) (err error) { j.ID, err = strconv.ParseInt(w, 10, 64); return err },
		"submit":         span(func(d model.Duration) { j.Submit = model.Time(d) }),
		"runtime":        span(func(d model.Duration) { j.Runtime = traces.Some(d) }),
		"walltime":       span(func(d model.Duration) { j.Walltime = traces.Some(d) }),
		"nodes_min":      whole32(func(n int32) { j.NodesMin = traces.Some(n) }),
		"nodes_max":      whole32(func(n int32) { j.NodesMax = traces.Some(n) }),
		"gpus_per_node":  whole32(func(n int32) { j.GPUsPerNode = traces.Some(n) }),
		"cpus_per_node":  whole32(func(n int32) { j.CPUsPerNode = traces.Some(n) }),
		"gpu_milli":      whole32(func(n int32) { j.GPUMilli = traces.Some(n) }),
		"gpu_types":      word(func(w string) { j.GPUTypes = w }),
		"mem_gib":        whole32(func(n int32) { j.MemPerNode = traces.Some(int64(n) << 30) }),
		"class":          whole32(func(n int32) { j.Class = traces.Some(n) }),
		"requeue_max":    whole32(func(n int32) { j.RequeueMax = traces.Some(n) }),
		"index":          whole32(func(n int32) { j.Index = traces.Some(n) }),
		"max_concurrent": whole32(func(n int32) { j.MaxConcurrent = traces.Some(n) }),
		"power":          whole32(func(n int32) { j.Power = traces.Some(int64(n)) }),
		"io_demand":      whole32(func(n int32) { j.IODemand = traces.Some(int64(n)) }),
		"ckpt_gib":       whole32(func(n int32) { j.CkptBytes = traces.Some(int64(n) << 30) }),
		"kind":           word(func(w string) { j.Kind = w }),
		"user":           word(func(w string) { j.User = w }),
		"tenant":         word(func(w string) { j.Tenant = w }),
		"vcluster":       word(func(w string) { j.VCluster = w }),
		"qos":            word(func(w string) { j.QOS = w }),
		"partition":      word(func(w string) { j.Partition = w }),
		"reservation":    word(func(w string) { j.Reservation = w }),
		"topology":       word(func(w string) { j.Topology = w }),
		"checkpoint":     word(func(w string) { j.Checkpoint = w }),
		"requeue":        word(func(w string) { j.Requeue = w }),
		"group":          word(func(w string) { j.Group = w }),
		"exit_state":     word(func(w string) { j.ExitState = w }),
		"recorded_nodes": word(func(w string) { j.RecordedNodes = w }),
		"start":          span(func(d model.Duration) { j.Start = traces.Some(model.Time(d)) }),
		"end":            span(func(d model.Duration) { j.End = traces.Some(model.Time(d)) }),
		"eligible":       span(func(d model.Duration) { j.Eligible = traces.Some(model.Time(d)) }),
		"cancelled_at":   span(func(d model.Duration) { j.CancelledAt = traces.Some(model.Time(d)) }),
		"released":       span(func(d model.Duration) { j.Released = traces.Some(model.Time(d)) }),
		"hold":           yes(func() { j.Hold = traces.Some(true) }),
		"sensitive":      yes(func() { j.Sensitive = traces.Some(true) }),
	}[key]
}

// dep reads a line of deps.
func (s *story) dep(words []string) error {
	if len(words) != 3 {
		return fmt.Errorf("want JOB ON CONDITION")
	}
	d := traces.Dep{Condition: words[2]}
	var err error
	if d.Job, err = strconv.ParseInt(words[0], 10, 64); err != nil {
		return err
	}
	if d.On, err = strconv.ParseInt(words[1], 10, 64); err != nil {
		return err
	}
	s.tables.Deps = append(s.tables.Deps, d)
	return nil
}

// event reads a line of events; a subject of - is none.
func (s *story) event(words []string) error {
	if len(words) < 3 {
		return fmt.Errorf("want TIME KIND SUBJECT and mostly VALUE")
	}
	at, err := model.ParseDuration(words[0])
	if err != nil {
		return err
	}
	if words[2] == "-" {
		words[2] = ""
	}
	s.tables.Events = append(s.tables.Events, traces.Event{
		Time: model.Time(at), Kind: words[1], Subject: words[2], Value: strings.Join(words[3:], " "),
	})
	return nil
}

func word(set func(string)) func(string) error {
	return func(w string) error { set(w); return nil }
}

func whole32(set func(int32)) func(string) error {
	return func(w string) error {
		n, err := strconv.ParseInt(w, 10, 32)
		set(int32(n))
		return err
	}
}

func span(set func(model.Duration)) func(string) error {
	return func(w string) error {
		d, err := model.ParseDuration(w)
		set(d)
		return err
	}
}

func yes(set func()) func(string) error {
	return func(w string) error {
		if set(); w != "true" {
			return fmt.Errorf("want true, or leave it out")
		}
		return nil
	}
}
