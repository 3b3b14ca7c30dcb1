package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// site answers as the commands of a Slurm do whose database and queue it is.
type site struct {
	rows, queue, nodes, events, reservations []string
	accounts                                 string
	waiting                                  int // records that slurmctld has not handed to the database
	broken                                   map[string]error
	asked                                    []string
}

const begin = model.Time(1_795_000_000_000_000)

func (s *site) tool(_ context.Context, name string, args ...string) ([]byte, error) {
	line := name + " " + strings.Join(args, " ")
	s.asked = append(s.asked, line)
	for part, err := range s.broken {
		if strings.HasPrefix(line, part) {
			return nil, err
		}
	}
	switch {
	case name == "sdiag":
		return fmt.Appendf(nil, "Agent queue size:     7\nDBD Agent queue size: %d\n\nJobs submitted: 3\n", s.waiting), nil
	case line == "sacct -e":
		return []byte("JobID JobIDRaw Submit End State Eligible Start ElapsedRaw\nTimelimitRaw Account User NNodes NCPUS ReqCPUS ReqTRES AllocTRES NodeList JobName Priority\n"), nil
	case name == "sacct":
		return []byte("JobIDRaw|JobID|Submit|End|State|JobName|Eligible|Start|ElapsedRaw|TimelimitRaw|Account|User|NNodes|NCPUS|ReqCPUS|ReqTRES|AllocTRES|NodeList|Priority\n" + lines(s.rows)), nil
	case name == "squeue":
		return []byte(lines(s.queue)), nil
	case strings.HasPrefix(line, "scontrol show nodes"):
		return []byte(lines(s.nodes)), nil
	case strings.HasPrefix(line, "scontrol show reservations"):
		return []byte(lines(s.reservations)), nil
	case strings.Contains(line, "show event"):
		return []byte(lines(s.events)), nil
	case strings.Contains(line, "show assoc"):
		return []byte(s.accounts), nil
	}
	return nil, fmt.Errorf("not scripted: %s", line)
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}

// at is seconds since 1970, s after the beginning.
func at(s int) string { return fmt.Sprint(int64(begin)/1_000_000 + int64(s)) }

// ended is a row of a job that ran from one instant to another on n1.
func ended(id string, submit, start, end int, name string) string {
	raw, _, _ := strings.Cut(id, "_")
	return strings.Join([]string{raw, id, at(submit), at(end), "COMPLETED", name, at(submit), at(start), fmt.Sprint(end - start), "60", "physics", "ada", "1", "4", "4",
		"cpu=4,node=1", "cpu=4,node=1,gres/gpu=1", "n1", "77"}, "|")
}

func waits(id, tasks string, submit int, nice, reason, share, include, exclude, depends string) string {
	return strings.Join([]string{id, tasks, at(submit), "500", nice, "PENDING", reason, share, include, exclude, depends, id, "N/A"}, between)
}

func open(t *testing.T, dir string, s *site) *Recorder {
	t.Helper()
	r, err := Open(dir, s.tool, begin)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func polled(t *testing.T, r *Recorder, after int) Told {
	t.Helper()
	told, err := r.Poll(context.Background(), begin.Add(model.Duration(after)*model.Second))
	require.NoError(t, err)
	return told
}

// bundle makes one, which must be valid, and opens it.
func bundle(t *testing.T, r *Recorder) (*traces.Bundle, traces.Report, []traces.Job) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "slurm.trace")
	report, err := r.Bundle(out)
	require.NoError(t, err)
	require.True(t, report.Balanced())
	b, err := traces.Open(out)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	var jobs []traces.Job
	for j, err := range b.Rows() {
		require.NoError(t, err)
		jobs = append(jobs, *j)
	}
	return b, report, jobs
}

func TestOverlapsAreMerged(t *testing.T) {
	s := &site{rows: []string{ended("1", 0, 5, 20, "a")}}
	dir := t.TempDir()
	r := open(t, dir, s)
	polled(t, r, 30)
	s.rows = append(s.rows, ended("2", 1, 20, 40, "two|bars and\nlines"))
	polled(t, r, 60)
	require.Contains(t, s.asked[len(s.asked)-5], "-S "+clock(begin.Add(30*model.Second-overlap)), "from what is acknowledged, less the overlap")
	require.NoError(t, r.Close())

	r = open(t, dir, s)
	s.rows = []string{ended("2", 1, 20, 40, "two|bars and\nlines"), ended("1", 50, 51, 55, "again")} // 1 was purged, and is a number anew
	polled(t, r, 90)
	_, report, jobs := bundle(t, r)
	require.Len(t, jobs, 3)
	require.Equal(t, int64(3), report.Tables[0].Read)
	var names []string
	for i := range jobs {
		names = append(names, fmt.Sprint(jobs[i].ID, " ", jobs[i].Name, " ", jobs[i].Start.V, " ", jobs[i].Tenant))
	}
	require.Equal(t, []string{"1 a 00:00:05 physics", "2 two|bars and\nlines 00:00:20 physics", "1 again 00:00:51 physics"}, names)
	kept, err := files(dir)
	require.NoError(t, err)
	require.Len(t, kept, 3)
	polled(t, r, 120)
	kept, err = files(dir)
	require.NoError(t, err)
	require.Len(t, kept, 3, "a poll without news makes no file")
}

// TestKilledBetweenFileAndState ends a capture between the two, and begins anew.
func TestKilledBetweenFileAndState(t *testing.T) {
	s := &site{rows: []string{ended("1", 0, 5, 20, "a")}, queue: []string{waits("2", "N/A", 3, "0", "JobHeldUser", "OK", "", "", "")}}
	dir := t.TempDir()
	r := open(t, dir, s)
	polled(t, r, 30)
	before, err := os.ReadFile(filepath.Join(dir, stateFile))
	require.NoError(t, err)
	s.rows = append(s.rows, ended("3", 10, 11, 31, "c"))
	s.queue = []string{waits("2", "N/A", 3, "0", "Priority", "OK", "", "", "")}
	polled(t, r, 60)
	require.NoError(t, r.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, stateFile), before, 0o600)) // as if it had been killed behind the file
	require.NoError(t, os.WriteFile(filepath.Join(dir, newsFolder, ".0-1-1.jsonl"+partial+"7-1"), []byte("{"), 0o600))

	s.queue, s.rows = nil, append(s.rows, ended("2", 3, 70, 80, "b"))
	r = open(t, dir, s)
	polled(t, r, 90)
	_, _, jobs := bundle(t, r)
	require.Len(t, jobs, 3)
	require.Equal(t, "b", jobs[1].Name)
	require.Equal(t, traces.Some(true), jobs[1].Hold)
	require.Equal(t, traces.Some(model.Time(60*model.Second)), jobs[1].Released, "the poll that the killed process had finished told of it")
	all, err := files(dir)
	require.NoError(t, err)
	require.Len(t, all, 3)
	left, err := filepath.Glob(filepath.Join(dir, newsFolder, ".*"))
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, r.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, stateFile))) // all of it comes back from the files
	r = open(t, dir, s)
	polled(t, r, 120)
	_, _, again := bundle(t, r)
	require.Equal(t, jobs, again)
}

func TestNotAcknowledged(t *testing.T) {
	s := &site{waiting: 4}
	r := open(t, t.TempDir(), s)
	require.True(t, polled(t, r, 30).Behind)
	require.True(t, polled(t, r, 7200).Behind)
	s.waiting = 0
	s.broken = map[string]error{"sacct -D": errors.New("connection refused")}
	told := polled(t, r, 7230)
	require.True(t, told.Behind)
	require.Equal(t, []string{"sacct: connection refused"}, told.Failed)
	s.broken = nil
	s.rows = []string{ended("1", 0, 5, 20, "a")} // the database had it late
	require.False(t, polled(t, r, 7260).Behind)
	require.Contains(t, strings.Join(s.asked[len(s.asked)-6:], "\n"), "-S "+clock(begin.Add(-overlap)))
	_, _, jobs := bundle(t, r)
	require.Len(t, jobs, 1)

	s.rows = append(s.rows, "2|2|"+at(9)) // a table that was cut
	told = polled(t, r, 7290)
	require.True(t, told.Behind)
	require.Contains(t, told.Failed[0], "ends inside of the row")
	s.broken = map[string]error{"s": errors.New("no route")}
	_, err := r.Poll(context.Background(), begin.Add(7320*model.Second))
	require.ErrorContains(t, err, "no command of Slurm answered")
}

func TestManyPolls(t *testing.T) {
	s := &site{}
	dir := t.TempDir()
	r := open(t, dir, s)
	const n = together*together + 3*together + 5
	for i := range n {
		s.rows = []string{ended(fmt.Sprint(i+1), i, i+1, i+2, "j")}
		polled(t, r, i+3)
	}
	entries, err := os.ReadDir(filepath.Join(dir, newsFolder))
	require.NoError(t, err)
	require.Len(t, entries, 1+3+5)
	require.Less(t, len(r.state.Known), 2*int(overlap/model.Second)+20, "what no window reaches is forgotten")
	require.NoError(t, r.Close())

	first := entries[0].Name() // a file that a larger one covers, as a kill may leave it
	text, err := os.ReadFile(filepath.Join(dir, newsFolder, first))
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(text), "\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, newsFolder, file{first: 0, last: 0}.name()), []byte(line+"\n"), 0o600))
	r = open(t, dir, s)
	_, report, jobs := bundle(t, r)
	require.Len(t, jobs, n)
	require.Equal(t, int64(n), report.Read)
}

func TestQueueAndSite(t *testing.T) {
	const accounts = "Cluster|Account|ParentName|User|Share|GrpJobs|GrpTRES|GrpTRESMins\nc|root|||1|||\nc|root||root|1|||\nc|physics|root||3|%s|node=3|gres/gpu=600\nc|lasers|physics||1|||\nc|physics||ada|1|||\n"
	s := &site{
		queue: []string{waits("5", "N/A", 2, "50", "Dependency", "NO", "n1", "n2", "afterok:4(unfulfilled),afterany:8_*(unfulfilled),singleton(unfulfilled)"),
			waits("8", "0-1%1", 2, "0", "None", "OK", "", "", ""), waits("6", "N/A", 2, "0", "Dependency", "OK", "", "", "afternotok:99(unfulfilled)")},
		nodes: []string{"NodeName=n1 Arch=x86_64 CPUTot=64 Gres=gpu:h100:8(S:0-1) OS=Linux 6 State=IDLE RealMemory=1000 Partitions=main Reason=a State=b", "NodeName=n2 CPUTot=8 Gres=(null) RealMemory=2000 State=DOWN"},
		events: []string{"|" + at(-9) + "|Unknown|", "n1|" + at(10) + "|" + at(20) + "|DRAIN", "n2|" + at(-5) + "|" + at(30) + "|DOWN*", "n2|" + at(31) + "|" + at(32) + "|UNK",
			"n1|" + at(40) + "|Unknown|DOWN+DRAIN", "n7|" + at(40) + "|Unknown|DOWN"},
		reservations: []string{"ReservationName=maint StartTime=" + at(100) + " EndTime=" + at(200) + " Duration=x Nodes=n[1-2] NodeCnt=2 Flags=MAINT,SPEC_NODES"},
		accounts:     fmt.Sprintf(accounts, ""),
	}
	r := open(t, t.TempDir(), s)
	polled(t, r, 30)
	s.queue = nil
	s.rows = []string{ended("4", 2, 3, 9, "four"), ended("5", 2, 10, 15, "five"), ended("6", 2, 10, 15, "six"), ended("8_0", 2, 3, 4, "t"), strings.Replace(ended("8_1", 2, 4, 5, "t"), "8|", "9|", 1)}
	s.accounts = fmt.Sprintf(accounts, "7")
	s.reservations = []string{"ReservationName=maint StartTime=" + at(200) + " EndTime=" + at(300) + " Nodes=n1"}
	polled(t, r, 60)
	s.reservations = nil
	polled(t, r, 250)
	b, report, jobs := bundle(t, r)
	require.Len(t, jobs, 5)
	five := jobs[1]
	require.Equal(t, []any{"n1", "n2", traces.Some(true), traces.Some(int32(50))}, []any{five.NodeInclude, five.NodeExclude, five.Exclusive, five.Nice})
	require.Equal(t, traces.Some(int32(1)), jobs[3].MaxConcurrent)
	var deps []traces.Dep
	for d, err := range b.Deps() {
		require.NoError(t, err)
		deps = append(deps, *d)
	}
	require.Equal(t, []traces.Dep{{Job: 5, On: 4, Condition: "success"}, {Job: 5, On: 8, Condition: "any"}, {Job: 5, On: 9, Condition: "any"}}, deps)
	require.Equal(t, []traces.Node{{Name: "n1", GPUModel: "h100", GPUs: 8, CPUs: 64, Memory: 1000 << 20, Up: true}, {Name: "n2", CPUs: 8, Memory: 2000 << 20}}, b.Nodes())
	require.Equal(t, []traces.Tenant{{Name: "root"}, {Name: "physics", FairShare: traces.Some(0.75), MaxNodes: traces.Some(int32(3)), GPUHours: traces.Some(10.0)}, {Name: "lasers", FairShare: traces.Some(0.375)}}, b.Tenants())
	var events []string
	for _, e := range b.Events() {
		events = append(events, fmt.Sprint(int64(e.Time)/1_000_000, " ", e.Kind, " ", e.Subject, " ", e.Value))
	}
	require.Equal(t, []string{"8 drain n1 ", "18 undrain n1 ", "28 up n2 ", `28 reservation maint {"nodes":["n1","n2"],"start":98000000,"end":198000000,"maintenance":true}`, "38 down n1 ",
		`58 reservation maint#2 {"nodes":["n1"],"start":198000000,"end":248000000,"maintenance":false}`, `58 quota physics {"max_concurrent":7}`}, events)
	require.Equal(t, []traces.Rule{{Rule: "no-such-condition", Count: 1, Example: "singleton of job 5"}, {Rule: "unknown-job", Count: 1, Example: "99 of job 6"},
		{Rule: "state-without-effect", Count: 1, Example: "n2 UNK"}, {Rule: "unknown-node", Count: 1, Example: "n7"}}, report.Dropped)
}

func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, &site{})
	_, err := Open(dir, (&site{}).tool, 0)
	require.ErrorContains(t, err, "another capture writes to")
}

func TestNothingYet(t *testing.T) {
	r := open(t, t.TempDir(), &site{})
	polled(t, r, 1)
	_, err := r.Bundle(filepath.Join(t.TempDir(), "x.trace"))
	require.ErrorContains(t, err, "nothing was captured yet")
}
