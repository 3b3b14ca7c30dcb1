package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"orrery/capture/sample"
	"orrery/capture/slurm"
	"orrery/scheduler/model"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// outcome is what a run of the program in this process left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// inProcess runs Main as a user would, without a process.
func inProcess(t testing.TB, args ...string) outcome {
	t.Helper()
	program, err := exec.LookPath("orrery") // TestMain has put it there
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	m := &Main{Stdin: strings.NewReader(smallLog()), Stdout: &stdout, Stderr: &stderr, Getenv: os.Getenv, Executable: program}
	return outcome{m.Run(context.Background(), args), stdout.String(), stderr.String()}
}

// exampleFolder changes into a directory with the files that examples name.
func exampleFolder(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	f, err := os.Create("log.swf.gz")
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	_, err = io.WriteString(z, smallLog())
	require.NoError(t, errors.Join(err, z.Close(), f.Close()))
	for _, line := range []string{
		"import log.swf.gz --quiet --out month.trace",
		"replay log.swf.gz --procs 1000 --quiet --facts --out run",
		"replay log.swf.gz --procs 8 --quiet --out before",
		"replay log.swf.gz --procs 8 --order sjf --quiet --out after",
		"capture sample --out cap",
	} {
		require.Zero(t, inProcess(t, strings.Fields(line)...).code, line)
	}
	meterAt(t, sample.Make(&sample.Small, 1), "node.csv", 0)
	require.NoError(t, os.WriteFile("slurm.conf", []byte("NodeName=n[1-8] CPUs=16 Gres=gpu:4\nPartitionName=all Nodes=ALL\n"), 0o600))
	require.NoError(t, os.WriteFile("mine.yaml", []byte("node_types: [{name: n, cpus: 16, gpu: l4, gpus: 4}]\ngroups: [{name: g, nodes: 8, type: n}]\n"), 0o600))
	require.NoError(t, os.WriteFile("multifactor.yaml", []byte("order: multifactor\nmultifactor: {age: 1000}\n"), 0o600))
	require.NoError(t, os.WriteFile("schedule.csv", []byte(promptly()), 0o600))
	require.NoError(t, os.WriteFile("experiment.yaml", []byte("traces: [log.swf.gz]\nsettings: [{path: weights.wait_time, values: [1, 2, 3]}]\n"), 0o600))
	require.NoError(t, os.WriteFile("pods.csv", []byte(pods), 0o600))
	require.NoError(t, os.WriteFile("nodes.csv", []byte(nodes), 0o600))
	require.NoError(t, os.WriteFile("requests.csv", []byte("when,n\n2024-03-30 01:30:00,12\n2024-03-30 01:31:00,7\n"), 0o600))
	require.NoError(t, os.WriteFile("key", []byte("0123456789abcdef"), 0o600))
	telemetryFolder(t, "telemetry")
	capturedFolder(t, "captured")
	require.NoError(t, os.WriteFile("gpus.csv", []byte(gpusCSV), 0o600))
	sensorFiles(t, 0)
	require.NoError(t, os.WriteFile("scaling.yaml", []byte("demand: {shape: flash, base: 5, peak: 40, at: 20m, over: 10m, length: 1h}\npolicies: [{kind: fixed, size: 3}, {kind: hpa}]\nseeds: 2\n"), 0o600))
	require.NoError(t, os.WriteFile("scenario.yaml", []byte("events: [{time: 1h, kind: outage, value: 10m}]\n"), 0o600))
	require.NoError(t, os.Mkdir("cases", 0o700))
	require.NoError(t, os.WriteFile("cases/borrowing.json", []byte(borrowing), 0o600))
	require.Zero(t, inProcess(t, "sweep", "experiment.yaml", "--out", "study", "--report", "--quiet").code)
}

// capturedFolder is the capture of a Slurm whose database has one job and whose queue has none.
func capturedFolder(t *testing.T, dir string) {
	t.Helper()
	const begin = model.Time(1_795_000_000_000_000)
	r, err := slurm.Open(dir, func(_ context.Context, name string, args ...string) ([]byte, error) {
		if name != "sacct" {
			return []byte(map[string]string{"sdiag": "DBD Agent queue size: 0\n"}[name]), nil
		}
		row := map[string]string{
			"JobID": "7", "JobIDRaw": "7", "Submit": "1795000000", "Start": "1795000010", "End": "1795000040", "State": "COMPLETED", "ElapsedRaw": "30",
			"TimelimitRaw": "5", "NNodes": "1", "NCPUS": "4", "NodeList": "n1",
		}
		format, found := strings.CutPrefix(args[len(args)-1], "--format=")
		if !found { // which columns there are
			return []byte(strings.Join(slices.Sorted(maps.Keys(row)), " ")), nil
		}
		var values []string
		for field := range strings.SplitSeq(format, ",") {
			values = append(values, row[field])
		}
		return []byte(strings.ReplaceAll(format, ",", "|") + "\n" + strings.Join(values, "|") + "\n"), nil
	}, begin)
	require.NoError(t, err)
	_, err = r.Poll(t.Context(), begin.Add(model.Minute))
	require.NoError(t, errors.Join(err, r.Close()))
}

// pods and nodes are a trace of openb.
const (
	pods = `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,1500,64,1,500,T4,LS,Succeeded,5,90,6
p1,1000,64,0,0,,BE,Succeeded,7,60,8
p2,1000,64,0,0,,BE,Pending,8,,
`
	nodes = `sn,cpu_milli,memory_mib,gpu,model
n0,8000,1024,2,T4
n1,4000,1024,0,
`
)

// borrowing is a file of one recorded case.
const borrowing = `{"schema": "autoscale-conformance/1", "name": "lattice-borrowing", "system": "lattice", "count": 1, "cases": [{"id": "a",
	"lender_total": 20, "lender_idle": 8, "requested": 4, "max_borrow_pct": 0.2, "lending_enabled": true, "borrowing_enabled": true, "expected_granted": 4}]}`

// promptly is the schedule of smallLog on a machine that is large enough for
// all jobs to start at once.
func promptly() string {
	var b strings.Builder
	b.WriteString("job_id,start\n")
	for line := range strings.Lines(smallLog()) {
		if f := strings.Fields(line); f[0] != ";" {
			b.WriteString(f[0] + "," + f[1] + "\n")
		}
	}
	return b.String()
}

// TestExamplesOfHelp runs every example of every verb as it is written.
func TestExamplesOfHelp(t *testing.T) {
	if testing.Short() {
		t.Skip("makes hundreds of replays, with each verb as the scripts run it: the long tests do")
	}
	exampleFolder(t)
	root, _ := newMain().root()
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		lines := commands(cmd.Example)
		if cmd.Example == "" {
			return
		}
		require.GreaterOrEqual(t, len(lines), 2, "examples of %s", cmd.CommandPath())
		for _, line := range lines {
			t.Run(line, func(t *testing.T) {
				runExample(t, line)
			})
		}
	}
	visit(root)
}

// TestEveryVerbExplainsItself asks for the parts of a help text.
func TestEveryVerbExplainsItself(t *testing.T) {
	root, _ := newMain().root()
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Runnable() && cmd.HasParent() {
			require.NotEmpty(t, cmd.Short, cmd.CommandPath())
			require.Contains(t, cmd.Long, "Exit codes: 0 ", cmd.CommandPath())
			require.NotEmpty(t, cmd.Example, cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// logsOfReadme are the logs that a reader of README.md is taken to have: fixtures of the
// importers, by name.
var logsOfReadme = map[string]string{
	"sacct.txt": "sacct.named", "accounting.log": "pbs.log", "requests.csv": "azure-llm.csv", "workflow.json": "wfformat.15",
}

const scalingOfReadme = `demand: {trace: requests.trace}
service: {kind: inference, goal: {of: response, limit: 10s}, boot: 2m}
policies:
  - {kind: lattice, max: 12, target: 0.8}
  - {name: by-queue, kind: lattice, max: 12, metric: queue, target: 2}
`

// TestExamplesOfReadme runs the commands of README.md, one after the other in
// one directory, as a reader would.
func TestExamplesOfReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("replays months: the long tests do")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "README.md"))
	if os.IsNotExist(err) {
		t.Skip("there is no README.md")
	}
	require.NoError(t, err)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for name, fixture := range logsOfReadme {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "traces", "importer", "testdata", "formats", fixture))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scaling.yaml"), []byte(scalingOfReadme), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pods.csv"), []byte(pods), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nodes.csv"), []byte(nodes), 0o600))
	t.Chdir(dir)
	var lines []string
	for _, block := range fenced(string(text)) {
		lines = append(lines, commands(block)...)
	}
	require.NotEmpty(t, lines)
	for _, line := range lines {
		t.Run(line, func(t *testing.T) { runExample(t, line) })
	}
}

// fenced lists the contents of the blocks fenced as console or sh.
func fenced(markdown string) []string {
	var blocks []string
	inside := false
	for line := range strings.Lines(markdown) {
		switch fence := strings.TrimSpace(line); {
		case !inside && (fence == "```console" || fence == "```sh"):
			inside = true
			blocks = append(blocks, "")
		case inside && fence == "```":
			inside = false
		case inside:
			blocks[len(blocks)-1] += line
		}
	}
	return blocks
}

// commands are the lines that call orrery, with or without a prompt.
func commands(block string) []string {
	var lines []string
	for line := range strings.Lines(block) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		line, _, _ = strings.Cut(line, " #")
		if rest, ok := strings.CutPrefix(line, "go run ./cmd/orrery"); ok {
			line = "orrery" + rest
		}
		if line == "orrery" || strings.HasPrefix(line, "orrery ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// runExample runs a line without a shell: words, and double quotes around some.
func runExample(t *testing.T, line string) {
	words := wordsOf(line)[1:]
	live := strings.HasPrefix(line, "orrery capture nvml ")
	if strings.HasPrefix(line, "orrery capture slurm ") {
		if live = true; !slices.Contains(words, "--bundle-only") {
			words = append(words, "--once") // it goes on for as long as it is let
		}
	}
	got := inProcess(t, words...)
	if live && got.code == exitFailed {
		got.code = 0 // there need be no GPU, and no Slurm, here
	}
	if strings.HasPrefix(line, "orrery tune ") && got.code == exitEvidence {
		got.code = 0 // an answer too: a month may not suffice
	}
	require.Zero(t, got.code, got.stderr)
	require.NotContains(t, got.stderr, "\x1b")
}

// wordsOf divides a line into words; some stand in double quotes.
func wordsOf(line string) []string {
	var args []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			args = append(args, part)
			continue
		}
		args = append(args, strings.Fields(part)...)
	}
	return args
}
