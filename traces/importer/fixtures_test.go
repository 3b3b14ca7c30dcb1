package importer

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

const podHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"

// Pods of every kind: shared and whole GPUs, alternatives, withdrawn, impossible.
func TestOpenbPods(t *testing.T) {
	b, report := imported(t, Options{}, save(t, "p.csv", podHeader+
		"p0,1500,2,1,460,V100M16|V100M32,LS,Succeeded,10,30,12\n"+
		"p1,2000,0,8,1000,T4,Burstable,Running,5,90,5\n"+
		"p2,0,1,0,0,,BE,Pending,20,25,\n"+
		"p3,1000,1,2,500,,BE,Failed,21,29,22\n"+
		"p4,1000,1,0,0,,BE,Failed,22,21,23\n"+
		"p5,1000,1,0,0,,BE,Failed,22,30,21\n"+
		"p6,1000,1,0,0,,BE,Failed,22,,\n"))
	i32 := func(n int32) traces.Opt[int32] { return traces.Some(n) }
	at := func(s int64) model.Time { return model.Time(s * 1_000_000) }
	require.Equal(t, []traces.Job{
		{ID: 2, Name: "p1", Kind: "bounded", Tenant: "Burstable", QOS: "Burstable", NodesMin: i32(1), CPUsPerNode: i32(2), ProcsRequested: i32(2), GPUsPerNode: i32(8), GPUsTotal: i32(8),
			GPUType: "T4", Submit: at(5), Start: traces.Some(at(5)), End: traces.Some(at(90)), Runtime: traces.Some(85 * model.Second), ExitState: "RUNNING"},
		{ID: 1, Name: "p0", Kind: "bounded", Tenant: "LS", QOS: "LS", NodesMin: i32(1), CPUsPerNode: i32(2), ProcsRequested: i32(2), MemPerNode: traces.Some[int64](2 << 20),
			GPUsPerNode: i32(1), GPUsTotal: i32(1), GPUMilli: i32(460), GPUTypes: "V100M16|V100M32", Submit: at(10), Start: traces.Some(at(12)), End: traces.Some(at(30)),
			Runtime: traces.Some(18 * model.Second), ExitState: "COMPLETED", Extra: `{"cpu_milli":1500}`},
		{ID: 3, Name: "p2", Kind: "bounded", Tenant: "BE", QOS: "BE", NodesMin: i32(1), MemPerNode: traces.Some[int64](1 << 20), GPUsPerNode: i32(0), GPUsTotal: i32(0),
			Submit: at(20), CancelledAt: traces.Some(at(25)), ExitState: "CANCELLED"},
		{ID: 4, Name: "p3", Kind: "bounded", Tenant: "BE", QOS: "BE", NodesMin: i32(1), CPUsPerNode: i32(1), ProcsRequested: i32(1), MemPerNode: traces.Some[int64](1 << 20),
			GPUsPerNode: i32(2), GPUsTotal: i32(2), Submit: at(21), Start: traces.Some(at(22)), End: traces.Some(at(29)), Runtime: traces.Some(7 * model.Second), ExitState: "FAILED"},
	}, jobsOf(t, b))
	require.Equal(t, "deleted-before-scheduled=1 no-deletion-time=1 start-before-submission=1", counts(report.Dropped))
	require.Equal(t, "zero-memory=1 cpus-rounded-up=1 zero-cpus=1 gpu-share-left-out=1 sorted=1", counts(report.Repaired))
	require.False(t, b.Info().EpochKnown)
}

// Samples out of order, twice, negative and finer than a microsecond.
func TestSamplesThatNeedMending(t *testing.T) {
	b, report := imported(t, Options{}, save(t, "a.csv", "GeneratedTokens,TIMESTAMP,ContextTokens\n7,2023-11-16 18:00:01.0000009,5\n8,2023-11-16 18:00:00,6\n1,2023-11-16 18:00:02,-1\n"))
	require.Equal(t, []traces.Load{
		{Service: "llm", Time: 0, Arrivals: traces.Some(1.0), TokensIn: traces.Some(6.0), TokensOut: traces.Some(8.0)},
		{Service: "llm", Time: 1_000_000, Arrivals: traces.Some(1.0), TokensIn: traces.Some(5.0), TokensOut: traces.Some(7.0)},
	}, loadOf(t, b))
	require.Equal(t, "negative-number-of-tokens=1", counts(report.Dropped))
	require.Equal(t, "rounded-to-microsecond=1 sorted=1", counts(report.Repaired))

	b, report = imported(t, Options{Service: "cup"}, save(t, "w.csv", "period,count\n1998-05-01 00:00:00,4\n1998-05-01 00:01:00,5\n1998-05-01 00:01:00,6\n1998-05-01 00:04:00,7\n"))
	load := loadOf(t, b)
	require.Len(t, load, 3)
	require.Equal(t, traces.Load{Service: "cup", Time: 240_000_000, Width: model.Minute, Arrivals: traces.Some(7.0)}, load[2])
	require.Equal(t, "load-that-overlaps-the-sample-before-it-of-the-same-service=1", counts(report.Dropped))

	b, report = imported(t, Options{}, save(t, "s.csv", "\ufeff\"DateTime\",\"A, the game\",\"B\"\n\"2020-01-01 00:00:00\",5,\n\"2020-01-02 00:00:00\",,7\n\"2020-01-03 00:00:00\",,\n"))
	require.Equal(t, []traces.Load{
		{Service: "A, the game", Time: 0, Width: model.Day, Concurrent: traces.Some(5.0)},
		{Service: "B", Time: model.Time(model.Day), Width: model.Day, Concurrent: traces.Some(7.0)},
	}, loadOf(t, b))
	require.EqualValues(t, 2, report.Read)
}

// Errors name file, line, column, what was found and expected, and how to mend it.
func TestErrorsOfFormats(t *testing.T) {
	for text, want := range map[string]string{
		podHeader + "p0,x,1,0,0,,LS,Running,1,2,1\n":          `bad.csv: line 2, column cpu_milli: found "x", expected a whole number; correct the value, or leave the row out`,
		podHeader + "p0,1,1,0,0,,LS,Paused,1,2,1\n":           `line 2, column pod_phase: found "Paused", expected Running, Succeeded, Failed or Pending`,
		podHeader + "p0,1,1,0,0,,LS,Running,-1,2,1\n":         `line 2, column creation_time: found "-1", expected seconds from the start of the trace`,
		podHeader + "p0,1,1,0,0,,LS,Running,1,2\n":            "line 2: found 10 fields, expected 11, as the header has",
		podHeader + "p0,1,1,0,0,,L\xff,Running,1,2,1\n":       "expected text in UTF-8",
		podHeader + "p0,1,1,0,0,,LS,Running,9,2,9\n":          "found 1 rows, all dropped; deleted-before-scheduled: 1 (first on line 2: p0)",
		"sn,cpu_milli,memory_mib,gpu,model\nn,1000,1,-1,T4\n": `column gpu: found "-1"`,
		"TIMESTAMP,ContextTokens,GeneratedTokens\nnow,1,1\n":  `line 2, column TIMESTAMP: found "now", expected a date and time`,
		"TIMESTAMP,ContextTokens,GeneratedTokens\n":           "found a header without rows",
		"period,count\n1998-05-01 00:00:00,many\n":            `line 2, column count: found "many"`,
		`{"nb_res": 8, "jobs": [{"id": 0, "subtime": 1, "res": 2, "profile": "d"}, {"id": 1, "res": 2, "profile": "d"}], "profiles": {"d": {"type": "delay", "delay": 2}}}`: "row 2, column subtime: found nothing, expected seconds",
		"task_name,instance_num,job_name,task_type,status,start_time,end_time,plan_cpu,plan_mem\nM1,1,,1,Terminated,97,110,50.0,1\n":                                        `line 2, column job_name: found "", expected the name of a job`,
		"\"DateTime\",\"A\"\n\"2020-01-01 00:00:00\",5\n\"soon\",6\n":                                                                                                       `line 3, column DateTime: found "soon"`,
	} {
		dir := t.TempDir()
		_, err := Import([]string{save(t, "bad.csv", text)}, filepath.Join(dir, "x.trace"), Options{})
		var data *traces.DataError
		require.ErrorAs(t, err, &data, text)
		require.ErrorContains(t, err, want)
		require.Empty(t, inventory(t, dir))
	}
}

// Two days of invocations are no file and the one beside it: the first would be lost.
func TestSecondDayOfFunctions(t *testing.T) {
	day := filepath.Join("testdata", "formats", "azure-functions-2019.csv")
	out := filepath.Join(t.TempDir(), "x.trace")
	_, err := Import([]string{day, day}, out, Options{})
	var data *traces.DataError
	require.ErrorAs(t, err, &data)
	require.ErrorContains(t, err, "found a second file of invocations")
	b, report := imported(t, Options{}, day, save(t, "durations.csv", beside["azure-functions-2019"][0]))
	require.Equal(t, int64(5), report.Kept)
	var work []model.Duration
	for l, err := range b.Load() {
		require.NoError(t, err)
		work = append(work, l.Work.V)
	}
	require.Contains(t, work, 20500*model.Microsecond)
}

// A job that waits for an id that two jobs have: which of them is meant is not known.
func TestDependencyOnIDUsedTwice(t *testing.T) {
	_, report := imported(t, Options{}, save(t, "x.csv", `WorkflowID,JobID,SubmitTime,RunTime,NProcs,ReqNProcs,Dependencies
0,1,16,11,1,1,
0,1,40,11,1,1,
0,2,50,11,1,1,
0,3,64,11,1,1,1 2
`))
	require.Equal(t, "dependency-on-a-job-id-used-twice=1", counts(report.Dropped))
	require.EqualValues(t, 5, report.Kept)
}
