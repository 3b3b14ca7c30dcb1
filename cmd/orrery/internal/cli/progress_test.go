package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim"
)

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		done, all int64
		took      time.Duration
		where     string
		want      string
	}{
		{0, 1000, 0, "", "replaying   0 %  0 of 1,000 jobs"},
		{250, 1000, time.Second, "at 01:00:00", "replaying  25 %  250 of 1,000 jobs  250/s  0:03 left  at 01:00:00"},
		{1_000_000, 100_000_000, 2 * time.Second, "", "replaying   1 %  1,000,000 of 100,000,000 jobs  500,000/s  3:18 left"},
		{1000, 1000, time.Second, "", "replaying 100 %  1,000 of 1,000 jobs  1,000/s"},
		{500, 0, time.Second, "", "replaying 500 jobs  500/s"},
	} {
		require.Equal(t, c.want, progressLine("replaying", "jobs", c.done, c.all, c.took, c.where))
	}
}

// TestProgressIsOneLineTenTimesASecond draws on a narrow screen with a clock of
// its own.
func TestProgressIsOneLineTenTimesASecond(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(1000, 0)
	p := &Progress{w: &b, verb: "replaying", unit: "jobs", width: 30, Every: progressEvery, clock: func() time.Time { return now }, begin: now, drawn: now}
	for range 1000 {
		now = now.Add(time.Millisecond)
		p.Replay(sim.Progress{Now: model.Time(90 * model.Second), Submitted: 10, Rows: 100})
	}
	p.Done()
	lines := strings.Split(b.String(), "\r")[1:]
	require.Len(t, lines, 11) // ten, and the one that clears
	for _, line := range lines {
		require.True(t, strings.HasSuffix(line, "\x1b[K"), "%q", line)
		require.Less(t, len(strings.TrimSuffix(line, "\x1b[K")), 30)
		require.NotContains(t, line, "\n")
	}
	require.Equal(t, "\x1b[K", lines[10])
}

func TestNoProgressIsSilent(t *testing.T) {
	var p *Progress
	p.Replay(sim.Progress{})
	p.Done()
	m := &App{Stderr: &bytes.Buffer{}, Getenv: func(string) string { return "" }}
	require.Nil(t, m.Progress("replaying", "jobs", true))
}

// TestProgressInALog: where there is no terminal a line comes every half minute, and
// none from what is shorter.
func TestProgressInALog(t *testing.T) {
	var b bytes.Buffer
	m := &App{Stderr: &b, Getenv: func(string) string { return "" }}
	p := m.Progress("replaying", "jobs", false)
	now := p.begin
	p.clock = func() time.Time { return now }
	for n := range int64(100) {
		now = p.begin.Add(time.Duration(n) * time.Second)
		p.Draw(n, 100, "")
	}
	p.Done()
	require.Equal(t, "orrery: replaying  30 %  30 of 100 jobs  1/s  1:10 left\n"+
		"orrery: replaying  60 %  60 of 100 jobs  1/s  0:40 left\n"+
		"orrery: replaying  90 %  90 of 100 jobs  1/s  0:10 left\n", b.String())
}
