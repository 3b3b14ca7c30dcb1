package main

import (
	"fmt"
	"io"
	"time"

	"orrery/reports/plot"
	"orrery/scheduler/model"
	"orrery/sim"
)

// Time between two states: on a terminal one line is drawn anew ten times a second;
// elsewhere, as in the log of a batch job, there is a line every half minute.
const (
	progressEvery = 100 * time.Millisecond
	loggedEvery   = 30 * time.Second
)

// progress says how far a piece of work is: by one line that changes on a terminal, and
// by lines that follow each other elsewhere and on a dumb terminal. A nil progress is
// silent: under --quiet.
type progress struct {
	w     io.Writer
	lines bool // one after the other
	every time.Duration
	verb  string
	unit  string // of what is counted
	width int
	clock func() time.Time
	begin time.Time
	drawn time.Time // zero when nothing is on the screen
}

// progress returns nil under --quiet.
func (m *Main) progress(verb, unit string, quiet bool) *progress {
	if quiet {
		return nil
	}
	now := time.Now()
	p := &progress{w: m.Stderr, verb: verb, unit: unit, every: progressEvery, clock: time.Now, begin: now, drawn: now}
	if s := m.screen(m.Stderr); s.terminal && !s.ascii {
		p.width = s.width
	} else {
		p.lines, p.every = true, loggedEvery
	}
	return p
}

// replay draws the state of a replay.
func (p *progress) replay(s sim.Progress) {
	p.draw(s.Submitted, s.Rows, "at "+(model.Duration(s.Now)/model.Second*model.Second).String())
}

// draw shows done of all (0 when not known), the rate and the time left,
// at most as often as lines are wanted.
func (p *progress) draw(done, all int64, where string) {
	if p == nil {
		return
	}
	now := p.clock()
	if now.Sub(p.drawn) < p.every {
		return
	}
	p.drawn = now
	line := progressLine(p.verb, p.unit, done, all, now.Sub(p.begin), where)
	if p.lines {
		fmt.Fprintf(p.w, "orrery: %s\n", line)
		return
	}
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
	if p != nil && !p.lines && p.drawn != p.begin {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
