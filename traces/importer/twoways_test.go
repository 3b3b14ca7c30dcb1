package importer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slurmJob is a job that both forms of sacct's output can be printed of.
type slurmJob struct {
	id, array, task, het, offset int
	tasks                        string // of an array, never split
	submit, eligible, start, end int64
	elapsed                      int64
	limit                        int64 // min, -1 for none
	state, killer                string
	nodes, asked, held           int
	memory                       string // of ReqMem: 4000Mc or 8000Mn
	gpus                         int
	kind                         string // of the GPUs
	code, signal                 int
	list                         string
}

// randomJob is a job of every kind in turn.
func randomJob(r *rand.Rand, id int) slurmJob {
	submit := int64(1930000000 + 100*id)
	j := slurmJob{id: id, offset: -1, task: -1, submit: submit, eligible: submit, start: submit + int64(r.IntN(500)), limit: int64(1 + r.IntN(3000)), nodes: 1 + r.IntN(4), state: "COMPLETED",
		memory: fmt.Sprintf("%d000M%s", 1+r.IntN(9), []string{"c", "n"}[r.IntN(2)])}
	j.end = j.start + int64(r.IntN(4000))
	j.elapsed, j.asked = j.end-j.start, j.nodes*(1+r.IntN(32))
	j.held, j.list = j.asked, fmt.Sprintf("n[1-%d]", j.nodes)
	if r.IntN(3) == 0 {
		j.gpus = j.nodes * (1 + r.IntN(8))
		j.kind = []string{"", "a100", "h100"}[r.IntN(3)]
	}
	switch id % 8 {
	case 1:
		j.array, j.task = 1000*id, r.IntN(9)
	case 2:
		j.array, j.tasks = id, "1-3,7"
		fallthrough
	case 3: // withdrawn while it waited
		j.state, j.killer, j.start, j.elapsed, j.held, j.list = "CANCELLED", "1001", 0, 0, 0, "None assigned"
	case 4:
		j.state, j.signal = "FAILED", 9
	case 5:
		j.state, j.limit = "TIMEOUT", -1
	case 6:
		j.state, j.end, j.elapsed = "RUNNING", 0, 5
	case 7:
		j.state, j.code = "FAILED", 2
	}
	return j
}

const twoWaysHeader = "JobID|JobIDRaw|Cluster|Partition|QOS|Account|User|Submit|Eligible|Start|End|Elapsed|ExitCode|State|NNodes|NCPUS|ReqCPUS|ReqMem|ReqTRES|AllocTRES|Timelimit|NodeList|JobName"

// text is the job as sacct --parsable2 prints it.
func (j *slurmJob) text() string {
	id := strconv.Itoa(j.id)
	switch {
	case j.offset >= 0:
		id = fmt.Sprintf("%d+%d", j.het, j.offset)
	case j.tasks != "":
		id = fmt.Sprintf("%d_[%s%%2]", j.array, j.tasks)
	case j.array > 0:
		id = fmt.Sprintf("%d_%d", j.array, j.task)
	}
	at := func(s int64) string {
		if s == 0 {
			return "Unknown"
		}
		return time.Unix(s, 0).UTC().Format("2006-01-02T15:04:05")
	}
	limit := "UNLIMITED"
	if j.limit >= 0 {
		limit = fmt.Sprintf("%d-%02d:%02d:00", j.limit/1440, j.limit/60%24, j.limit%60)
	}
	state := j.state
	if j.killer != "" {
		state += " by " + j.killer
	}
	tres := func(cpus int) string {
		if cpus == 0 {
			return ""
		}
		text := fmt.Sprintf("cpu=%d,node=%d", cpus, j.nodes)
		if j.gpus > 0 {
			text += fmt.Sprintf(",gres/gpu=%d", j.gpus)
			if j.kind != "" {
				text += fmt.Sprintf(",gres/gpu:%s=%d", j.kind, j.gpus)
			}
		}
		return text
	}
	return strings.Join([]string{id, strconv.Itoa(j.id), "c1", "gpu", "normal", "acc", "ana", at(j.submit), at(j.eligible), at(j.start), at(j.end),
		fmt.Sprintf("%02d:%02d:%02d", j.elapsed/3600, j.elapsed/60%60, j.elapsed%60), fmt.Sprintf("%d:%d", j.code, j.signal), state, strconv.Itoa(j.nodes), strconv.Itoa(j.held), strconv.Itoa(j.asked),
		j.memory, tres(j.asked), tres(j.held), limit, j.list, "job"}, "|")
}

// json is the job as sacct --json prints it: plain numbers, or those that say whether they are set.
func (j *slurmJob) json(long bool) any {
	type object = map[string]any
	number := func(n int64) any {
		if long {
			return object{"set": true, "infinite": false, "number": n}
		}
		return n
	}
	none := object{"set": false, "infinite": false, "number": 0}
	limit := number(j.limit)
	if j.limit < 0 {
		limit = object{"set": false, "infinite": true, "number": 0}
	}
	tres := func(cpus int) []object {
		if cpus == 0 {
			return []object{}
		}
		out := []object{{"type": "cpu", "name": "", "id": 1, "count": cpus}, {"type": "node", "name": "", "id": 4, "count": j.nodes}}
		if j.gpus > 0 {
			out = append(out, object{"type": "gres", "name": "gpu", "id": 1001, "count": j.gpus})
			if j.kind != "" {
				out = append(out, object{"type": "gres", "name": "gpu:" + j.kind, "id": 1002, "count": j.gpus})
			}
		}
		return out
	}
	array := object{"job_id": j.array, "task_id": none, "task": j.tasks, "limits": object{"max": object{"running": object{"tasks": 0}}}}
	if j.tasks != "" {
		array["limits"] = object{"max": object{"running": object{"tasks": number(2)}}}
	}
	if j.task >= 0 {
		array["task_id"] = object{"set": true, "infinite": false, "number": j.task}
	}
	het := object{"job_id": 0, "job_offset": none}
	if j.offset >= 0 {
		het = object{"job_id": j.het, "job_offset": object{"set": true, "infinite": false, "number": j.offset}}
	}
	megabytes, _ := strconv.Atoi(strings.TrimRight(j.memory, "Mcn"))
	required := object{"CPUs": j.asked, "memory_per_cpu": none, "memory_per_node": none}
	if strings.HasSuffix(j.memory, "c") {
		required["memory_per_cpu"] = number(int64(megabytes))
	} else {
		required["memory_per_node"] = number(int64(megabytes))
	}
	return object{"job_id": j.id, "array": array, "het": het, "name": "job", "user": "ana", "account": "acc", "cluster": "c1", "partition": "gpu", "qos": "normal", "nodes": j.list,
		"allocation_nodes": j.nodes, "kill_request_user": j.killer, "state": object{"current": []string{j.state}, "reason": "None"},
		"exit_code": object{"status": []string{}, "return_code": number(int64(j.code)), "signal": object{"id": number(int64(j.signal)), "name": ""}},
		"time":      object{"submission": j.submit, "eligible": j.eligible, "start": j.start, "end": j.end, "elapsed": j.elapsed, "limit": limit}, "required": required,
		"tres": object{"requested": tres(j.asked), "allocated": tres(j.held)}, "steps": []object{}, "hidden_detail": "x"}
}

// The same jobs from sacct -P and from sacct --json are the same rows, column by column.
func TestTextAndJSONOfSacctAreTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 8))
	var jobs []slurmJob
	for id := 10; id < 210; id++ {
		jobs = append(jobs, randomJob(r, id))
	}
	for k := range 3 { // a heterogeneous job
		j := randomJob(r, 216)
		j.id, j.het, j.offset, j.start, j.gpus = 216+k, 216, k, jobs[199].submit+900, 0
		j.end = j.start + j.elapsed
		jobs = append(jobs, j)
	}
	lines := []string{twoWaysHeader}
	for i := range jobs {
		lines = append(lines, jobs[i].text())
	}
	text, said := importText(t, strings.Join(lines, "\n")+"\n", Options{Zone: time.UTC})
	require.Greater(t, len(text), 180)
	for _, long := range []bool{true, false} {
		var records []any
		for i := range jobs {
			records = append(records, jobs[i].json(long))
		}
		printed, err := json.Marshal(map[string]any{"meta": map[string]any{}, "jobs": records})
		require.NoError(t, err)
		got, report := importText(t, string(printed), Options{})
		require.Len(t, got, len(text))
		for i := range text {
			require.Equal(t, text[i], got[i], "%+v", text[i].ID)
		}
		require.Equal(t, []string{counts(said.Dropped), counts(said.Repaired)}, []string{counts(report.Dropped), counts(report.Repaired)})
		require.Len(t, report.Assumed, 1)
		require.Equal(t, "hidden_detail", report.Assumed[0].Value) // the only member that is passed over
	}
}
