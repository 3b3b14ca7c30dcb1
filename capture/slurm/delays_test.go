package slurm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

func completes(id string, submit, end int) string {
	return strings.Join([]string{id, "N/A", at(submit), "500", "0", "COMPLETING", "None", "OK", "", "", "", id, at(end)}, between)
}

func nodeIs(name, state string, boot int) string {
	return "NodeName=" + name + " CPUTot=8 RealMemory=8000 Gres=gpu:small:2 State=" + state + " BootTime=" + at(boot)
}

func held(t *testing.T, j *traces.Job) (least, most int64) {
	t.Helper()
	if j.Extra == "" {
		return -1, -1
	}
	extra := map[string]int64{}
	require.NoError(t, json.Unmarshal([]byte(j.Extra), &extra))
	return extra[capture.CompletingLeast] / 1e6, extra[capture.CompletingMost] / 1e6
}

// How long a job completes lies between the polls that saw it last and the first that did not; of one that none saw it is less than
// the time until the poll that had its end.
func TestCompletionsLieBetweenPolls(t *testing.T) {
	s := &site{rows: []string{ended("1", -90, -80, -50, "before the first poll")}, nodes: []string{nodeIs("n1", "IDLE", -500)}}
	r := open(t, t.TempDir(), s)
	polled(t, r, 0)
	s.rows = append(s.rows, ended("2", 1, 2, 8, "seen twice"), ended("3", 1, 2, 9, "not seen"))
	s.queue = []string{completes("2", 1, 8)}
	polled(t, r, 10)
	polled(t, r, 20)
	s.queue = []string{completes("4", 1, 25)}
	s.rows = append(s.rows, ended("4", 1, 2, 25, "not over"))
	polled(t, r, 30)
	_, _, jobs := bundle(t, r)
	got := map[string][2]int64{}
	for i := range jobs {
		least, most := held(t, &jobs[i])
		got[jobs[i].Name] = [2]int64{least, most}
	}
	require.Equal(t, map[string][2]int64{"before the first poll": {-1, -1}, "seen twice": {12, 22}, "not seen": {0, 1}, "not over": {-1, -1}}, got)

	s.queue = nil
	s.broken = map[string]error{"squeue": errSilent}
	_, err := r.Poll(t.Context(), begin.Add(40*model.Second))
	require.NoError(t, err)
	s.broken = nil
	polled(t, r, 50)
	_, _, jobs = bundle(t, r)
	for i := range jobs {
		if jobs[i].Name == "not over" {
			least, most := held(t, &jobs[i])
			require.Equal(t, [2]int64{5, 25}, [2]int64{least, most}, "a poll that squeue did not answer says nothing")
		}
	}
}

var errSilent = errors.New("it does not answer")

// A boot lies between the polls around its beginning and its end. One that was on its way at the first poll has none, one that has not ended a
// least alone, and one that was given up is told.
func TestBootsLieBetweenPolls(t *testing.T) {
	s := &site{}
	nodes := func(a, b, c, d string) {
		s.nodes = []string{nodeIs("a", a, -500), nodeIs("b", b, -500), nodeIs("c", c, -500), nodeIs("d", d, -500)}
	}
	r := open(t, t.TempDir(), s)
	nodes("IDLE+CLOUD+POWERED_DOWN", "MIXED+CLOUD+POWERING_UP", "IDLE+POWERED_DOWN", "IDLE")
	polled(t, r, 0)
	nodes("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP", "IDLE+CLOUD", "IDLE+POWERED_DOWN", "IDLE")
	polled(t, r, 10)
	nodes("ALLOCATED+CLOUD+POWERING_UP", "IDLE+CLOUD", "MIXED+POWERING_UP", "DOWN+REBOOT_ISSUED")
	polled(t, r, 20)
	s.broken = map[string]error{"scontrol show nodes": errSilent}
	_, err := r.Poll(t.Context(), begin.Add(30*model.Second))
	require.NoError(t, err)
	s.broken = nil
	nodes("ALLOCATED+CLOUD", "IDLE+CLOUD", "DOWN", "DOWN+REBOOT_ISSUED")
	s.nodes[1] = nodeIs("b", "IDLE", 15)
	s.events = []string{"b|" + at(12) + "|" + at(19) + "|DOWN*"}
	polled(t, r, 40)
	b, _, _ := bundle(t, r)
	var got []string
	for _, e := range b.Events() {
		if e.Kind != capture.EventKind {
			continue
		}
		rec, err := capture.ReadRecord(&e)
		require.NoError(t, err)
		require.Equal(t, capture.RecordBoot, rec.Record)
		got = append(got, strings.Join([]string{e.Subject, rec.Reason, rec.Least.String(), rec.Most.String()}, " "))
	}
	require.ElementsMatch(t, []string{"a powering_up 00:00:10 00:00:40", "b kernel 00:00:04 00:00:04", "c failed 00:00:00 00:00:00", "d powering_up 00:00:20 00:00:00"}, got)
}
