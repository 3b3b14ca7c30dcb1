package importer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/tools/refdata"
	"orrery/traces"
)

// expected reads a file of what XDMoD makes of a log: a list of jobs, or an object of them by
// what they show. Values are text or numbers.
func expected(t *testing.T, path string) (out []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	if err := json.Unmarshal(text, &out); err == nil {
		return out
	}
	var named map[string]map[string]any
	require.NoError(t, json.Unmarshal(text, &named))
	dec := json.NewDecoder(strings.NewReader(string(text))) // in the order of the file
	_, err = dec.Token()
	require.NoError(t, err)
	for dec.More() {
		_, err := dec.Token()
		require.NoError(t, err)
		var one map[string]any
		require.NoError(t, dec.Decode(&one))
		out = append(out, one)
	}
	return out
}

func textOf(v any) string {
	if x, ok := v.(float64); ok {
		return strconv.FormatInt(int64(x), 10)
	}
	return fmt.Sprint(v)
}

// shredded imports a log of XDMoD's tests and answers its jobs in the order of the file, with the
// epoch added to their instants.
func shredded(t *testing.T, name string) []traces.Job {
	t.Helper()
	b, _ := imported(t, zoneFor(name), refdata.Path(t, "traces", "slurm", "xdmod-shredder-unit", name))
	jobs := jobsOf(t, b)
	for i := range jobs {
		j := &jobs[i]
		for _, at := range []*traces.Opt[model.Time]{&j.Start, &j.End, &j.Eligible, &j.CancelledAt} {
			at.V += b.Info().Epoch
		}
		j.Submit += b.Info().Epoch
	}
	return jobs
}

func zoneFor(name string) Options {
	if strings.HasPrefix(name, "slurm") {
		return Options{Zone: time.UTC}
	}
	return Options{}
}

func seconds(n int64) string { return strconv.FormatInt(n/1_000_000, 10) }

// same compares what both say; an empty text there is none.
func same(t *testing.T, want map[string]any, got map[string]string) {
	t.Helper()
	for key, value := range got {
		w, ok := want[key]
		require.True(t, ok, "%s is not in %v", key, want)
		if w == nil {
			require.Contains(t, []string{"", "0"}, value)
			continue
		}
		require.Equal(t, textOf(w), value, "%s of %v", key, want)
	}
}

// TestXDMoDSlurm holds jobs of sacct to what XDMoD makes of them.
func TestXDMoDSlurm(t *testing.T) {
	dir := refdata.Path(t, "traces", "slurm", "xdmod-shredder-unit", "slurm")
	want := expected(t, filepath.Join(dir, "output", "accounting-logs.json"))
	got := shredded(t, "slurm/input/accounting-logs.log")
	require.Len(t, got, len(want))
	byID := map[int64]*traces.Job{}
	for i := range got {
		byID[got[i].ID] = &got[i]
	}
	for _, w := range want {
		id, err := strconv.ParseInt(textOf(w["job_id"]), 10, 64)
		require.NoError(t, err)
		j := byID[id]
		require.NotNil(t, j)
		same(t, w, map[string]string{
			"partition_name": j.Partition, "qos_name": j.QOS, "account_name": j.Account, "user_name": j.User, "job_name": j.Name, "submit_time": seconds(int64(j.Submit)),
			"node_list": j.RecordedNodes,
		})
		state, _, _ := strings.Cut(textOf(w["state"]), " ")
		require.Equal(t, state, j.ExitState)
		if j.Start.OK {
			same(t, w, map[string]string{"start_time": seconds(int64(j.Start.V)), "end_time": seconds(int64(j.End.V)), "elapsed": seconds(int64(j.Runtime.V))})
		}
		if j.NodesMin.OK {
			same(t, w, map[string]string{"nnodes": strconv.Itoa(int(j.NodesMin.V)), "ncpus": strconv.Itoa(int(j.ProcsAllocated.V)), "req_cpus": strconv.Itoa(int(j.ProcsRequested.V))})
		}
		same(t, w, map[string]string{"timelimit": seconds(int64(j.Walltime.V)), "exit_code": strconv.Itoa(int(j.ExitCode.V)) + ":0"})
	}
	var arrays [][]int32
	text, err := os.ReadFile(filepath.Join(dir, "output", "accounting-logs-with-job-arrays.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &arrays))
	var indices []int32
	for _, j := range shredded(t, "slurm/input/accounting-logs-with-job-arrays.log") {
		require.Equal(t, "4103947", j.Group)
		indices = append(indices, j.Index.V)
	}
	require.Equal(t, slices.Concat(arrays...), indices)
	require.Equal(t, "aàb", shredded(t, "slurm/input/utf8-multibyte-chars.log")[0].Name)
	for file, rule := range map[string]string{"non-ended-job-state.log": "not-ended: 2", "unknown-job-state.log": "unknown-state: 2"} {
		_, err := Import([]string{filepath.Join(dir, "input", file)}, filepath.Join(t.TempDir(), "x.trace"), Options{Zone: time.UTC})
		require.ErrorContains(t, err, "found 2 rows, all dropped; "+rule)
	}
}

// The logs with GPUs say in their nth line how many there are, over the spellings of GRES and TRES: the lines of
// the older file have the GRES of each node alone.
func TestXDMoDSlurmGPUs(t *testing.T) {
	for _, name := range []string{"accounting-logs-with-gpu-gres.log", "accounting-logs-with-gpu-gres-older.log"} {
		path := refdata.Path(t, "traces", "slurm", "xdmod-shredder-unit", "slurm", "input", name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		jobs := shredded(t, "slurm/input/"+name)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		require.Len(t, jobs, len(lines))
		for i, line := range lines {
			require.Equal(t, naiveGPUs(t, line), int(jobs[i].GPUsTotal.V), line)
		}
	}
}

// naiveGPUs reads a line with regular text functions: gres/gpu of a TRES, else the GRES times the nodes.
func naiveGPUs(t *testing.T, line string) int {
	t.Helper()
	fields := strings.Split(line, "|")
	for _, f := range fields {
		if _, rest, ok := strings.Cut(f, "gres/gpu="); ok {
			number, _, _ := strings.Cut(rest, ",")
			return int(whole(t, number))
		}
	}
	sum := 0
	for _, term := range strings.Split(fields[20], ",") {
		words := strings.Split(strings.SplitN(term, "(", 2)[0], ":")
		if words[0] != "gpu" {
			continue
		}
		if len(words) == 1 {
			sum++
			continue
		}
		sum += int(whole(t, words[len(words)-1]))
	}
	return sum * int(whole(t, fields[16]))
}

// TestXDMoDPBS holds jobs of PBS and Torque to what XDMoD makes of them.
func TestXDMoDPBS(t *testing.T) {
	want := expected(t, refdata.Path(t, "traces", "slurm", "xdmod-shredder-unit", "pbs", "output", "accounting-logs.json"))
	got := shredded(t, "pbs/input/accounting-logs.log")
	slices.SortStableFunc(got, func(a, b traces.Job) int { return int(a.End.V/1_000_000 - b.End.V/1_000_000) })
	slices.SortStableFunc(want, func(a, b map[string]any) int { return strings.Compare(textOf(a["end"]), textOf(b["end"])) })
	require.Len(t, got, len(want))
	for i, w := range want {
		j := &got[i]
		cpus := j.ProcsAllocated // those of exec_host, where the record has it
		if !cpus.OK {
			cpus = j.ProcsRequested
		}
		same(t, w, map[string]string{
			"job_id": strconv.FormatInt(j.ID, 10), "user": j.User, "queue": j.QOS, "jobname": j.Name, "start": seconds(int64(j.Start.V)), "end": seconds(int64(j.End.V)),
			"exit_status": strconv.Itoa(int(j.ExitCode.V)), "resources_used_gpus": strconv.Itoa(int(j.GPUsTotal.V)),
		})
		if j.ID == 3073070 { // n/0*0 says nothing of cores, of which XDMoD counts two and the request has 48
			require.EqualValues(t, 48, cpus.V)
			delete(w, "resources_used_cpus")
		}
		for key, value := range map[string]string{"qtime": seconds(int64(j.Submit)), "resource_list_walltime": seconds(int64(j.Walltime.V)), "resources_used_cpus": strconv.Itoa(int(cpus.V)),
			"resources_used_nodes": strconv.Itoa(int(j.NodesMin.V)), "account": j.Account, "node_list": j.RecordedNodes} {
			if _, there := w[key]; there {
				same(t, w, map[string]string{key: value})
			}
		}
	}
}

// TestXDMoDSGE holds jobs of SGE to what XDMoD makes of them.
func TestXDMoDSGE(t *testing.T) {
	want := expected(t, refdata.Path(t, "traces", "slurm", "xdmod-shredder-unit", "sge", "output", "accounting-logs.json"))
	got := shredded(t, "sge/input/accounting-logs.log")
	require.Len(t, got, 2)
	for i, j := range got {
		same(t, want[i], map[string]string{
			"job_number": strconv.FormatInt(j.ID, 10), "qname": j.QOS, "hostname": j.RecordedNodes, "owner": j.User, "job_name": j.Name, "account": j.Account, "slots": strconv.Itoa(int(j.ProcsAllocated.V)),
			"submission_time": seconds(int64(j.Submit)), "start_time": seconds(int64(j.Start.V)), "end_time": seconds(int64(j.End.V)), "ru_wallclock": seconds(int64(j.Runtime.V)),
			"exit_status": strconv.Itoa(int(j.ExitCode.V)), "resource_list_h_rt": seconds(int64(j.Walltime.V)),
		})
	}
}

// TestXDMoDLSF holds jobs of LSF to what XDMoD makes of them.
func TestXDMoDLSF(t *testing.T) {
	want := expected(t, refdata.Path(t, "traces", "slurm", "xdmod-shredder-unit", "lsf", "output", "accounting-logs.json"))
	got := shredded(t, "lsf/input/accounting-logs.log")
	require.Len(t, got, len(want))
	for i, j := range got {
		same(t, want[i], map[string]string{
			"job_id": strconv.FormatInt(j.ID, 10), "user_name": j.User, "queue": j.QOS, "job_name": j.Name, "project_name": j.Account, "num_processors": strconv.Itoa(int(j.ProcsRequested.V)),
			"submit_time": seconds(int64(j.Submit)), "start_time": seconds(int64(j.Start.V)), "event_time": seconds(int64(j.End.V)), "exit_status": strconv.Itoa(int(j.ExitCode.V)),
		})
		var hosts []string
		for _, h := range want[i]["exec_hosts"].([]any) {
			if !slices.Contains(hosts, h.(string)) {
				hosts = append(hosts, h.(string))
			}
		}
		require.Equal(t, hosts, strings.Split(j.RecordedNodes, ","))
		require.Equal(t, traces.Some(12*model.Hour), j.Walltime, "-W 12:00 in the script")
	}
	require.Len(t, shredded(t, "lsf/input/utf8-multibyte-chars.log"), 1)
}
