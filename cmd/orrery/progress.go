package main

import (
	"fmt"
	"io"
	"time"

	"orrery/reports/plot"
	"orrery/scheduler/model"
	"orrery/sim"
)

// progressEvery is the time between two lines: ten a second.
const progressEvery = 100 * time.Millisecond

// progress is the one line on a terminal that says how far a replay is. A nil
// progress is silent: in a pipe, on a dumb terminal, under --quiet.
type progress struct {
	w     io.Writer
	verb  string
	unit  string // of what is counted
	width int
	clock func() time.Time
	begin time.Time
	drawn time.Time // zero when nothing is on the screen
}

// progress returns nil unless standard error is a terminal.
func (m *Main) progress(verb, unit string, quiet bool) *progress {
	s := m.screen(m.Stderr)
	if quiet || !s.terminal || s.ascii {
		return nil
	}
	now := time.Now()
	return &progress{w: m.Stderr, verb: verb, unit: unit, width: s.width, clock: time.Now, begin: now, drawn: now}
}

// replay draws the state of a replay.
func (p *progress) replay(s sim.Progress) {
	p.draw(s.Submitted, s.Rows, "at "+(model.Duration(s.Now)/model.Second*model.Second).String())
}

// draw shows done of all (0 when not known), the rate and the time left,
// at most every progressEvery.
func (p *progress) draw(done, all int64, where string) {
	if p == nil {
		return
	}
	now := p.clock()
	if now.Sub(p.drawn) < progressEvery {
		return
	}
	p.drawn = now
	line := progressLine(p.verb, p.unit, done, all, now.Sub(p.begin), where)
	if p.width > 0 && len(line) >= p.width {
		line = line[:p.width-1]
	}
	fmt.Fprintf(p.w, "\r%s\x1b[K", line)
}

// progressLine spells the state after a time.
func progressLine(verb, unit string, done, all int64, took time.Duration, where string) string {
	line := verb
	if all > 0 {
		line += fmt.Sprintf(" %3d %%  %s of %s %s", 100*done/all, plot.Count(done), plot.Count(all), unit)
	} else {
		line += fmt.Sprintf(" %s %s", plot.Count(done), unit)
	}
	if s := took.Seconds(); s > 0 && done > 0 {
		rate := float64(done) / s
		line += fmt.Sprintf("  %s/s", plot.Count(int64(rate)))
		if all > done {
			left := time.Duration(float64(all-done) / rate * float64(time.Second))
			line += fmt.Sprintf("  %d:%02d left", int(left.Minutes()), int(left.Seconds())%60)
		}
	}
	if where != "" {
		line += "  " + where
	}
	return line
}

// done takes the line off the screen.
func (p *progress) done() {
	if p != nil && p.drawn != p.begin {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
