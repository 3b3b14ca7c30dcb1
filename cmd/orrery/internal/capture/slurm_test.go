package capture_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/clitest"
	"orrery/traces"
)

// accountedSlurm starts a Slurm with accounting and two GPUs on each node, which schedules as site says. It has the
// accounts physics, with three quarters of the shares, and chemistry.
func accountedSlurm(t *testing.T, site string, nodes int) (dir string) {
	t.Helper()
	if os.Getenv("ORRERY_REQUIRE_SLURM") == "" {
		t.Skip("starts the daemons of a Slurm with accounting on this machine: bash tools/slurm/ci.sh installs Slurm and runs this test")
	}
	for _, program := range []string{"slurmctld", "slurmdbd", "mariadbd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here: bash tools/slurm/ci.sh installs it where apt-get can", program)
		}
	}
	dir = t.TempDir()
	for _, folder := range []string{filepath.Dir(dir), dir} { // jobs of other users read their scripts below it
		require.NoError(t, os.Chmod(folder, 0o755))
	}
	file := filepath.Join(t.TempDir(), "site.conf")
	require.NoError(t, os.WriteFile(file, []byte(site), 0o600))
	scripts, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "tools", "slurm"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = exec.Command("bash", filepath.Join(scripts, "down.sh"), dir).Run() })
	out, err := exec.Command("bash", filepath.Join(scripts, "up.sh"), dir, strconv.Itoa(nodes), file).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	for _, args := range []string{"add account physics share=3 GrpTRES=node=4", "add account chemistry share=1 GrpTRESMins=gres/gpu=600",
		"add user root account=physics", "add user root account=chemistry"} {
		ofSlurm(t, "sacctmgr", append([]string{"--immediate", "--quiet"}, strings.Fields(args)...)...)
	}
	return dir
}

// preemptingSite has multifactor priority, backfilling, and a partition whose jobs preempt those of the other.
const preemptingSite = `SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=0,bf_resolution=1,bf_continue
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityMaxAge=0-1
PriorityWeightFairshare=10000
PriorityWeightJobSize=500
PriorityWeightPartition=2000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=60 State=UP PriorityTier=10 PriorityJobFactor=5
`

// ofSlurm runs a client command and answers what it printed.
func ofSlurm(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "SLURM_TIME_FORMAT=%s", "TZ=UTC")
	var says strings.Builder
	cmd.Stderr = &says
	out, err := cmd.Output()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), says.String())
	return strings.TrimSpace(string(out))
}

func submitted(t *testing.T, args ...string) string {
	t.Helper()
	return ofSlurm(t, "sbatch", append([]string{"--parsable", "--output=/dev/null", "--chdir=/"}, args...)...)
}

const everyEnd = "BF,CA,CD,DL,F,NF,OOM,PR,RQ,RV,TO"

// accounted are the jobs of sacct that have ended.
func accounted(t *testing.T) []string {
	t.Helper()
	text := ofSlurm(t, "sacct", "-D", "-X", "-a", "-P", "-n", "-S", "now-1day", "-E", "now+1minute", "-s", everyEnd, "--format=JobID,Submit,State")
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i], _, _ = strings.Cut(lines[i], " by ") // of CANCELLED
	}
	slices.Sort(lines)
	return lines
}

// TestRealSlurmCapture captures a Slurm in which jobs are held, withdrawn, requeued, preempted, fail and
// depend on one another, kills the capture at random instants, and finds in the bundle every job that sacct has, once.
func TestRealSlurmCapture(t *testing.T) {
	accountedSlurm(t, preemptingSite, 4)
	jobs, kills := 60, 5
	if os.Getenv("ORRERY_LONG") != "" {
		jobs, kills = 300, 20
	}
	dir := t.TempDir()
	program, captured := clitest.Built(t), filepath.Join(dir, "captured")

	stop := make(chan struct{})
	killed := make(chan int, 1)
	go func() { killed <- killedCaptures(program, captured, kills, stop) }()
	began := time.Now()
	marks := submitAll(t, jobs, captured)
	t.Logf("all submitted after %.0f s", time.Since(began).Seconds())
	deadline := time.Now().Add(10 * time.Minute)
	for time.Now().Before(deadline) && len(pendingOrRunning(t)) > 0 {
		time.Sleep(500 * time.Millisecond)
	}
	t.Logf("all ended after %.0f s", time.Since(began).Seconds())
	close(stop)
	require.GreaterOrEqual(t, <-killed, kills)
	require.Empty(t, pendingOrRunning(t))
	time.Sleep(2 * time.Second) // the database lags by about a second

	text, err := exec.Command(program, "capture", "slurm", "--out", captured, "--once").CombinedOutput()
	require.NoError(t, err, string(text))
	t.Logf("%s", text)
	trace := filepath.Join(captured, "slurm.trace")
	require.Zero(t, clitest.Run(t, "trace", "validate", trace).Code)
	b, err := traces.Open(trace)
	require.NoError(t, err)
	defer b.Close()
	var got []string
	byName := map[string]traces.Job{}
	for j, err := range b.Rows() {
		require.NoError(t, err)
		id := fmt.Sprint(j.ID)
		if j.Group != "" {
			id = fmt.Sprint(j.Group, "_", j.Index.V)
		}
		got = append(got, fmt.Sprint(id, "|", (int64(b.Meta().Epoch)+int64(j.Submit))/1e6, "|", j.ExitState))
		byName[j.Name+" "+j.ExitState] = *j
	}
	slices.Sort(got)
	want := accounted(t)
	require.Equal(t, want, got, "every end of a job that sacct has, once")
	t.Logf("%d ends of %d jobs, as sacct has them; the capture was killed %d times", len(got), jobs, kills)
	checkCaptured(t, b, byName, marks)
}

// submitAll submits jobs of all kinds, and does what happens to them, once a poll has told of those that wait.
func submitAll(t *testing.T, n int, captured string) (marks map[string]string) {
	t.Helper()
	marks = map[string]string{}
	seen := filepath.Join(t.TempDir(), "seen")
	short := func(args ...string) string { return submitted(t, append(args, "--wrap", "sleep 1")...) }
	marks["failed"] = submitted(t, "-J", "failed", "-A", "chemistry", "--wrap", "until [ -e "+seen+" ]; do sleep 0.2; done; exit 7")
	marks["after"] = short("-J", "after", "-d", "afternotok:"+marks["failed"], "-A", "physics", "--gres=gpu:1", "-x", "n1", "--nice=50")
	marks["held"] = short("-J", "held", "-H", "-A", "physics", "-t", "5")
	marks["withdrawn"] = short("-J", "withdrawn", "-H", "-A", "physics")
	marks["requeued"] = submitted(t, "-J", "requeued", "-A", "physics", "-t", "5", "--wrap", "until [ -e "+seen+" ]; do sleep 0.2; done; sleep 4")
	marks["array"] = short("-J", "array", "-A", "chemistry", "--array=0-5%2", "-t", "1")
	ofSlurm(t, "scontrol", "create", "reservation", "reservationname=exam", "starttime=now+2hours", "duration=60", "nodes=n1", "users=root", "flags=maint,ignore_jobs")
	for _, job := range []string{"after", "held", "withdrawn"} {
		awaitPolled(t, captured, marks[job])
	}
	require.NoError(t, os.WriteFile(seen, nil, 0o600))
	for deadline := time.Now().Add(time.Minute); ofSlurm(t, "squeue", "-h", "-j", marks["requeued"], "-o", "%T") != "RUNNING"; time.Sleep(200 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "the job to be requeued does not start")
	}
	ofSlurm(t, "scontrol", "requeue", marks["requeued"])
	startNow(t, marks["requeued"])
	ofSlurm(t, "scontrol", "update", "nodename=n4", "state=drain", "reason=disk is bad | really")
	left := n - 6 - 5 // 5 more of the array
	for i := range left - 2 {
		args := []string{"-J", fmt.Sprint("plain ", i), "-A", []string{"physics", "chemistry"}[i%2], "-n", fmt.Sprint(1 + i%8), "-t", "5"}
		short(args...)
		switch i {
		case left / 3:
			ofSlurm(t, "scontrol", "release", marks["held"])
			ofSlurm(t, "scancel", marks["withdrawn"])
		case left / 2:
			ofSlurm(t, "scontrol", "update", "nodename=n4", "state=resume")
		}
		if i%10 == 9 {
			time.Sleep(300 * time.Millisecond)
		}
	}
	preempted(t, marks)
	return marks
}

// awaitPolled waits until a poll has kept what the queue tells of a job.
func awaitPolled(t *testing.T, captured, id string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(captured, "polls", "[0-9]*.polls"))
		require.NoError(t, err)
		for _, path := range files {
			text, err := os.ReadFile(path) // it may have been put into a larger one meanwhile
			if err == nil && strings.Contains(string(text), `"kind":"queued","key":"`+id+"|") {
				return
			}
		}
		require.True(t, time.Now().Before(deadline), "no poll tells of job %s", id)
	}
}

// preempted has a job on all nodes take the place of one on all nodes.
func preempted(t *testing.T, marks map[string]string) {
	t.Helper()
	marks["victim"] = submitted(t, "-J", "victim", "-A", "physics", "-N", "4", "--exclusive", "-t", "10", "--nice=-100000", "--wrap", "sleep 8")
	for deadline := time.Now().Add(4 * time.Minute); ofSlurm(t, "squeue", "-h", "-j", marks["victim"], "-o", "%T") != "RUNNING"; time.Sleep(300 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "the job to be preempted does not start")
	}
	time.Sleep(time.Second) // a job of less than a second is not accounted twice
	submitted(t, "-J", "urgent", "-p", "urgent", "-A", "chemistry", "-N", "4", "--exclusive", "-t", "1", "--wrap", "sleep 1")
	startNow(t, marks["victim"])
}

// startNow waits until Slurm has put a job into the queue again, and lifts the two minutes for which it then is not started.
func startNow(t *testing.T, id string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ofSlurm(t, "squeue", "-h", "-j", id, "-o", "%T %r") != "PENDING BeginTime"; time.Sleep(200 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "job %s is not in the queue again", id)
	}
	ofSlurm(t, "scontrol", "update", "jobid="+id, "starttime=now")
}

func pendingOrRunning(t *testing.T) []string {
	t.Helper()
	return strings.Fields(ofSlurm(t, "squeue", "-h", "-o", "%A"))
}

// killedCaptures starts a capture again and again and kills it, until both is done: as many kills, and stop.
func killedCaptures(program, captured string, kills int, stop <-chan struct{}) (done int) {
	for {
		cmd := exec.Command(program, "capture", "slurm", "--out", captured, "--interval", "1s", "--since", "10m", "--bundle-every", "2s")
		if cmd.Start() != nil {
			return done
		}
		select { // at other points of a poll each time
		case <-stop:
		case <-time.After(time.Duration(300+(done*577)%2400) * time.Millisecond):
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		done++
		select {
		case <-stop:
			if done >= kills {
				return done
			}
		default:
		}
		if done >= kills { // from here on it only runs
			cmd := exec.Command(program, "capture", "slurm", "--out", captured, "--interval", "1s")
			if cmd.Start() != nil {
				return done
			}
			<-stop
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return done
		}
	}
}

// checkCaptured looks at what polls alone can tell.
func checkCaptured(t *testing.T, b *traces.Bundle, jobs map[string]traces.Job, marks map[string]string) {
	t.Helper()
	held := jobs["held COMPLETED"]
	require.Equal(t, traces.Some(true), held.Hold)
	require.True(t, held.Released.OK && held.Released.V > held.Submit && held.Released.V <= held.Start.V, "released at %v", held.Released)
	withdrawn := jobs["withdrawn CANCELLED"]
	require.True(t, withdrawn.CancelledAt.OK && withdrawn.Hold.V && !withdrawn.Start.OK)
	require.Equal(t, traces.Some(int32(7)), jobs["failed FAILED"].ExitCode)
	ends := slices.Sorted(maps.Keys(jobs))
	require.Subset(t, ends, []string{"requeued REQUEUED", "requeued COMPLETED", "victim PREEMPTED", "victim COMPLETED"})
	after := jobs["after COMPLETED"]
	require.Equal(t, []any{"n1", traces.Some(int32(50)), traces.Some(int32(1)), "physics"}, []any{after.NodeExclude, after.Nice, after.GPUsTotal, after.Tenant})
	require.Equal(t, traces.Some(true), jobs["victim COMPLETED"].Exclusive)
	require.Equal(t, traces.Some(int32(2)), jobs["array COMPLETED"].MaxConcurrent)
	var deps []string
	for d, err := range b.Deps() {
		require.NoError(t, err)
		deps = append(deps, fmt.Sprint(d.Job, " ", d.On, " ", d.Condition))
	}
	require.Equal(t, []string{marks["after"] + " " + marks["failed"] + " failure"}, deps)
	require.Len(t, b.Nodes(), 4)
	require.Equal(t, traces.Node{Name: "n4", CPUs: 8, Memory: 8000 << 20, GPUs: 2, GPUModel: "small", Up: true}, b.Nodes()[3])
	words := map[string]bool{}
	for _, e := range b.Events() {
		words[e.Kind+" "+e.Subject] = true
	}
	for _, want := range []string{"drain n4", "undrain n4", "reservation exam"} {
		require.True(t, words[want], "%s among %v", want, words)
	}
	for _, tenant := range b.Tenants() {
		if tenant.Name == "physics" {
			require.Equal(t, []any{traces.Some(int32(4)), traces.Some(0.6)}, []any{tenant.MaxNodes, tenant.FairShare})
		}
	}
}
