package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// importText imports a text and answers its jobs.
func importText(t *testing.T, text string, o Options) ([]traces.Job, traces.Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	out := filepath.Join(t.TempDir(), "x.trace")
	report, err := Import([]string{path}, out, o)
	require.NoError(t, err)
	require.True(t, report.Balanced())
	b, err := traces.Open(out)
	require.NoError(t, err)
	defer b.Close()
	return jobsOf(t, b), report
}

const sacctHeader = "JobID|JobIDRaw|Submit|Start|End|Elapsed|State|NNodes|NCPUS|Timelimit|NodeList|JobName"

// sacctText imports rows of sacct.
func sacctText(t *testing.T, rows ...string) ([]traces.Job, traces.Report) {
	t.Helper()
	return importText(t, sacctHeader+"\n"+strings.Join(rows, "\n")+"\n", Options{Zone: time.UTC})
}

const ran = "2031-03-01T08:00:00|2031-03-01T09:00:00|2031-03-01T10:00:00|01:00:00|COMPLETED"

func TestListOfTasksThatWasCut(t *testing.T) {
	jobs, report := sacctText(t,
		"70_[2,5-6,8,11,13-14,...]|70|2031-03-01T08:00:00|Unknown|2031-03-01T08:30:00|00:00:00|CANCELLED by 7|1|1|01:00:00|None assigned|a",
		"70_[2,5-6,1...%4]|70|2031-03-01T08:00:00|Unknown|2031-03-01T08:30:00|00:00:00|CANCELLED|1|1|01:00:00|None assigned|a",
		"71|71|"+ran+"|1|4|01:00:00|n1|b", "71.0|71.0|"+ran+"|1|4||n1|b", "70_3.batch|72.batch|"+ran+"|1|4||n1|b", "70_[4-5]|70|2031-03-01T08:00:00|Unknown|2031-03-01T08:30:00|00:00:00|CANCELLED|1|1|01:00:00|None assigned|a")
	require.Len(t, jobs, 3)
	require.Equal(t, "array-list-cut-by-sacct-without-SLURM_BITSTR_LEN=0=2 job-step=2", counts(report.Dropped))
}

// Bars are put into the text that leaves the allocation in its columns.
func TestBarsInSeveralTexts(t *testing.T) {
	jobs, report := importText(t, "AdminComment|AllocCPUS|AllocNodes|AllocTRES|AssocID|Comment|"+sacctHeader+"\n"+
		"|2|1|cpu=2,mem=4000M,node=1|1384||group-1|x|90|90|"+ran+"|1|2|01:00:00|n1|a\n"+
		"|0|0||1384||group-1||91|91|2031-03-01T08:00:00|Unknown|2031-03-01T08:30:00|00:00:00|CANCELLED|1|2|01:00:00|None assigned|a\n"+
		"at|noon|4|2|cpu=4,mem=4000M,node=2|1384||92|92|"+ran+"|2|4|01:00:00|n[1-2]|a|b\n", Options{Zone: time.UTC})
	require.Contains(t, counts(report.Repaired), "bars-in-a-text=3")
	require.Len(t, jobs, 3)
	require.Equal(t, []int32{1, 2, 2}, []int32{jobs[0].NodesAllocated.V, jobs[0].ProcsAllocated.V, jobs[0].CPUsPerNode.V})
	require.Equal(t, []int32{0, 0, 2}, []int32{jobs[1].NodesAllocated.V, jobs[1].ProcsAllocated.V, jobs[1].CPUsPerNode.V})
	require.Equal(t, []int32{2, 4, 2}, []int32{jobs[2].NodesAllocated.V, jobs[2].ProcsAllocated.V, jobs[2].CPUsPerNode.V})
	require.Equal(t, "a|b", jobs[2].Name)
}

func TestHeterogeneousJobs(t *testing.T) {
	jobs, report := sacctText(t,
		"80+0|80|"+ran+"|1|2|01:00:00|n1|a", "80+0.batch|80.batch|"+ran+"|1|2||n1|batch", "80+1|81|"+ran+"|2|32|01:00:00|n[2-3]|a", "80+2|82|"+ran+"|1|1|02:00:00|n4|a",
		"83|83|"+ran+"|1|2|01:00:00|n9|b", "84+1|85|"+ran+"|1|2|01:00:00|n1|c")
	require.Equal(t, "job-step=1 heterogeneous-job-component=2", counts(report.Dropped))
	require.Contains(t, counts(report.Repaired), "heterogeneous-job-joined=1 uneven-nodes-rounded-up=1 heterogeneous-job-taken-apart=1")
	require.Len(t, jobs, 3)
	j := jobs[0]
	require.Equal(t, []int64{80, 4, 16, 35}, []int64{j.ID, int64(j.NodesMin.V), int64(j.CPUsPerNode.V), int64(j.ProcsAllocated.V)})
	require.Equal(t, "n1,n[2-3],n4", j.RecordedNodes)
	require.Equal(t, traces.Some(2*model.Hour), j.Walltime)
	require.Equal(t, []int64{83, 85}, []int64{jobs[1].ID, jobs[2].ID})

	header := strings.Replace(sacctHeader, "|JobName", "|Partition", 1)
	jobs, report = importText(t, header+"\n80+0|80|"+ran+"|1|2|01:00:00|n1|cpu\n80+1|81|"+ran+"|1|2|01:00:00|n2|gpu\n", Options{Zone: time.UTC})
	require.Len(t, jobs, 2)
	require.Contains(t, counts(report.Repaired), "heterogeneous-job-taken-apart=1")
	require.Empty(t, report.Dropped)
}

func TestCountsInUnits(t *testing.T) {
	jobs, report := sacctText(t, "90|90|"+ran+"|2K|64K|01:00:00|n1|a", "91|91|"+ran+"|1.50K|24576|01:00:00|n1|a", "92|92|"+ran+"|1.01K|4M|01:00:00|n1|a", "93|93|"+ran+"|999|999|01:00:00|n1|a")
	var nodes, cpus []int32
	for i := range jobs {
		nodes, cpus = append(nodes, jobs[i].NodesAllocated.V), append(cpus, jobs[i].ProcsAllocated.V)
	}
	require.Equal(t, []int32{2048, 1536, 1034, 999}, nodes)
	require.Equal(t, []int32{65536, 24576, 4 << 20, 999}, cpus)
	require.Contains(t, counts(report.Repaired), "count-with-a-fraction-rounded=1")
}

// TestNodesThatAJobGotAreNoRequest: where requested processors tell what a job asked for, the number of nodes that it got does not bind it to as many; it does
// where it held more than its processors, where GPUs or memory are counted by node, and where it never ran.
func TestNodesThatAJobGotAreNoRequest(t *testing.T) {
	const never = "2031-03-01T08:00:00|Unknown|2031-03-01T08:30:00|00:00:00|CANCELLED"
	for _, c := range []struct {
		name, columns, cells string
		times                string
		nodes                int32
		rule                 bool
	}{
		{"only the allocation", "NNodes|NCPUS", "3|16", ran, 3, true},
		{"as many processors as it asked for", "NNodes|NCPUS|ReqCPUS", "3|16|16", ran, 0, false},
		{"whole nodes", "NNodes|NCPUS|ReqCPUS", "3|24|16", ran, 3, true},
		{"no processors", "NNodes", "3", ran, 3, true},
		{"GPUs", "NNodes|NCPUS|AllocTRES", "3|16|cpu=16,node=3,gres/gpu=3", ran, 3, true},
		{"no GPUs", "NNodes|NCPUS|ReqCPUS|AllocTRES", "3|16|16|cpu=16,node=3", ran, 0, false},
		{"GPUs of each node", "NNodes|NCPUS|ReqGRES", "3|16|gpu:1", ran, 3, true},
		{"memory of each node", "NNodes|NCPUS|ReqMem", "3|16|4000Mn", ran, 3, true},
		{"memory of each processor", "NNodes|NCPUS|ReqCPUS|ReqMem", "3|16|16|4000Mc", ran, 0, false},
		{"exclusive", "NNodes|NCPUS|SubmitLine", "3|16|sbatch --exclusive x", ran, 3, true},
		{"a request", "NNodes|NCPUS|ReqTRES", "3|16|cpu=16,node=3", ran, 3, false},
		{"more nodes than it asked for at least", "NNodes|NCPUS|ReqTRES", "3|16|cpu=16,node=1", ran, 0, false},
		{"it never ran", "NNodes|NCPUS", "3|16", never, 3, false},
	} {
		jobs, report := importText(t, "JobID|Submit|Start|End|Elapsed|State|"+c.columns+"\n7|"+c.times+"|"+c.cells+"\n", Options{Zone: time.UTC})
		require.Len(t, jobs, 1, c.name)
		require.Equal(t, c.nodes, jobs[0].NodesMin.V, c.name)
		require.Equal(t, c.nodes > 0, jobs[0].NodesMin.OK, c.name)
		require.Equal(t, c.rule, strings.Contains(counts(report.Repaired), "nodes-as-allocated"), c.name)
		if c.times == ran {
			require.Equal(t, int32(3), jobs[0].NodesAllocated.V, c.name)
		}
	}
}

// TestRawIDAlone: JobIDRaw is the id where JobID was not asked for.
func TestRawIDAlone(t *testing.T) {
	jobs, report := importText(t, "JobIDRaw|Submit|Start|End|Elapsed|State|NNodes|NCPUS\n12|"+ran+"|1|4\n12.batch|"+ran+"|1|4\n13|"+ran+"|1|2\n", Options{Zone: time.UTC})
	require.Equal(t, "job-step=1", counts(report.Dropped))
	require.Len(t, jobs, 2)
	require.Equal(t, []int64{12, 13}, []int64{jobs[0].ID, jobs[1].ID})
}

// A row of sacct that was cut, or a line that is none, costs no other row.
func TestRowsOfSacctCutShort(t *testing.T) {
	good := func(id string) string { return id + "|" + id + "|" + ran + "|1|4|01:00:00|n1|a" }
	text := strings.Join([]string{sacctHeader, good("1"), "2|2|2031-03-01T08:00:00|2031", good("3"), "slurmdbd: error: lost the connection | retrying", good("4"),
		good("5") + "\nsecond line of the name", "6|6|" + ran + "|1|4|01:00:00|n1|a|b", good("7"), "8|8|2031"}, "\n")
	jobs, report := importText(t, text, Options{Zone: time.UTC, BadRows: atMost(t, "3")})
	require.Equal(t, "unreadable-row=3", counts(report.Dropped))
	require.Len(t, jobs, 6)
	require.Equal(t, "a\nsecond line of the name", jobs[3].Name)
	require.Equal(t, "a|b", jobs[4].Name)
}

func TestLSFIndexBelowZero(t *testing.T) {
	record := func(id, start, index string) string {
		return `"JOB_FINISH" "10.1" 1930009000 ` + id + ` 7 3 2 1930000000 0 0 ` + start + ` "u" "normal" "" "" "" "h" "d" "" "" "" "f" 0 0 64 1.0 "a[1-9]" "c" ` +
			strings.Repeat("-1 ", 19) + `"" "default" 0 2 "" "" ` + index + ` 0 0 "" "" "" "" 0 "" 15 "" -1 "" "" "" "" -1 "" "" 5136 "" 0 "" "" 0 0 -1 0 0 "" "" -1 "" -1 0 "" 0 0 "" 0` + "\n"
	}
	jobs, report := importText(t, record("5", "1930000500", "4")+record("5", "0", "-1")+record("6", "0", "0"), Options{})
	require.Len(t, jobs, 2)
	require.Equal(t, []any{"5", int32(4)}, []any{jobs[0].Group, jobs[0].Index.V})
	require.Equal(t, "CANCELLED", jobs[1].ExitState)
	require.Equal(t, "array-elements-never-ran=1", counts(report.Dropped))
}

func TestArrayOfPBSIsNoJob(t *testing.T) {
	record := func(id, more string) string {
		return "03/01/2031 10:00:00;E;" + id + ".s;user=u group=g jobname=a queue=q ctime=1930000000 qtime=1930000000 etime=1930000000 start=1930000100 " + more +
			" Resource_List.ncpus=2 Resource_List.select=1:ncpus=2 Resource_List.walltime=01:00:00 end=1930001000 Exit_status=0\n"
	}
	jobs, report := importText(t, record("7[3]", "exec_host=n1/0*2 run_count=1")+record("7[]", "array_indices=3-4 run_count=0")+record("7[4]", "exec_host=n1/0*2 run_count=1"), Options{})
	require.Len(t, jobs, 2)
	require.Equal(t, "array-parent=1", counts(report.Dropped))
}

func TestCategoryWithColons(t *testing.T) {
	row := func(category, behind string) string {
		return "q:h:g:o:n:5:a:0:1930000000:1930000100:1930000200:0:0:1:1:1:1:0:0:0:0:0:0:0:0:0:0:0:0:0:0:p:d:smp:4:0:1.0:1.0:1.0:" + category + ":" + behind + "\n"
	}
	const modern = "0.0:NONE:1.0:0:0"
	for _, c := range []struct {
		category, behind string
		limit            int64 // s
		joined           bool
	}{
		{"-l h_rt=600", modern, 600, false}, {"-l h_rt=00:10:00 -pe smp 4", modern, 600, true}, {"-l h=a:8,h_rt=7:0", modern, 420, true}, {"-q a@b:c -l h_rt=1:00:00", modern, 3600, true},
		{"NONE", modern, 0, false}, {"-l h_rt=00:10:00", modern + ":defjob:NONE:1.0:0:host:/home/x:qsub -l h_rt=1 x:y", 600, true}, {"-l h_rt=00:10:00", "0.0:NONE:1.0", 600, true},
	} {
		jobs, report := importText(t, row(c.category, c.behind), Options{})
		require.Len(t, jobs, 1, c.category)
		require.EqualValues(t, c.limit*1e6, jobs[0].Walltime.V, c.category)
		require.Equal(t, c.joined, strings.Contains(counts(report.Repaired), "colons-in-the-category=1"), c.category)
		require.Equal(t, "n", jobs[0].Name)
	}
	_, report := importText(t, row("-l h_rt=600", modern)+row("-l h_rt=01:00:00 -pe smp 8", "0.0:1.node7:1.0:0:0"), Options{})
	require.Equal(t, "parallel-task=1", counts(report.Dropped))
}

// The long names of sbatch, and other ways of writing a value, say what the short ones say.
func TestOptionsOfSbatch(t *testing.T) {
	line := func(options string) string {
		return "-dt 1 -e submit_batch_job | -sim-walltime 100 " + options + " pseudo.job\n"
	}
	want, _ := importText(t, line("-J a -t 00:20:00 -N 2 -n 8 -p p -q q -A acc -C x|y -c 2 --gres=gpu:a100:2 --mem=4G --exclusive"), Options{})
	for _, options := range []string{
		"--job-name=a --time=00:20:00 --nodes=2 --ntasks=8 --partition=p --qos=q --account=acc --constraint=x|y --cpus-per-task=2 --gres=gpu:a100:2 --mem=4096M --exclusive",
		"--exclusive --job-name a --time 20 --nodes 2 --ntasks 8 --partition p --qos q --account acc --constraint x|y --cpus-per-task 2 --gpus-per-node a100:2 --mem 4096 --requeue",
		"-Ja -t20 -N2 -n8 -pp -qq -Aacc -Cx|y -c2 --gpus=a100:4 --mem=4G --exclusive -n 8",
	} {
		got, _ := importText(t, line(options), Options{})
		require.Len(t, got, 1)
		got[0].Extra, want[0].Extra = "", ""
		require.Equal(t, want, got, options)
	}
	jobs, _ := importText(t, line("--hold -N 2-4 -n 8"), Options{})
	require.Equal(t, []int32{2, 4, 8}, []int32{jobs[0].NodesMin.V, jobs[0].NodesMax.V, jobs[0].ProcsRequested.V})
}

func TestExpectedTimesOfChronus(t *testing.T) {
	const header = "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type\n"
	jobs, report := importText(t, header+"0,v,1,100,5,m,10,1,150,9,0,strict\n1,v,1,100,5,m,10,1,150-180-220,9-5-1,0,soft\n2,v,1,100,5,m,10,1,160-180,9-5,0,strict\n", Options{})
	require.Len(t, jobs, 3)
	require.Equal(t, "first-of-several-expected-times=2", counts(report.Repaired))
	require.Equal(t, traces.Some(model.Time(250*model.Second)), jobs[0].Deadline)
	require.False(t, jobs[1].Deadline.OK)
	require.Contains(t, jobs[1].Extra, `"expect_time_list":"150-180-220"`)
	require.Equal(t, traces.Some(model.Time(260*model.Second)), jobs[2].Deadline)
}

func TestPodsInSequence(t *testing.T) {
	text := "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,4000,1024,1,500\np1,8000,2048,2,1000\n"
	jobs, report := importText(t, text, Options{Sequence: true})
	require.Len(t, jobs, 2)
	require.Equal(t, []model.Time{0, model.Time(model.Second)}, []model.Time{jobs[0].Submit, jobs[1].Submit})
	require.Equal(t, "service", jobs[0].Kind)
	require.Equal(t, int32(500), jobs[0].GPUMilli.V)
	require.Len(t, report.Assumed, 2)
	path := save(t, "pods.csv", text)
	_, err := Import([]string{path}, filepath.Join(t.TempDir(), "x.trace"), Options{})
	require.ErrorContains(t, err, "pods without times")
	require.ErrorContains(t, err, "--arrival sequence")
	_, err = Import([]string{save(t, "log.swf", tiny)}, filepath.Join(t.TempDir(), "x.trace"), Options{Sequence: true})
	var option *OptionError
	require.ErrorAs(t, err, &option)
}

// A text of very many lines, none of them a row, takes time that grows with its length, not with the square of it.
func TestManyLinesThatAreNoRows(t *testing.T) {
	text := sacctHeader + "\n" + strings.Repeat("x\n", 400_000) + "1|1|" + ran + "|1|4|01:00:00|n1|a\n"
	jobs, report := importText(t, text, Options{Zone: time.UTC, BadRows: atMost(t, "50%")})
	require.Len(t, jobs, 1)
	require.Equal(t, "unreadable-row=1", counts(report.Dropped))
}
