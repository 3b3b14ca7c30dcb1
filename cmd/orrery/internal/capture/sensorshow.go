package capture

import (
	"fmt"
	"math"
	"strings"

	"orrery/capture/sensor"
	"orrery/internal/doc"
)

// show prints what was found, a row for each column of power.
func (v *sensorVerb) show(columns []sensed, metered bool) error {
	if v.print.ForPrograms() {
		return v.print.Table(sensorFigures(columns))
	}
	many := false
	for i := range columns {
		many = many || columns[i].node != columns[0].node || columns[i].gpu != columns[0].gpu
	}
	t := sensorSummary(columns, many)
	if err := v.print.Table(t); err != nil {
		return err
	}
	for i := range columns {
		for _, w := range columns[i].result.Warnings {
			v.app.Say("%s: %s.", columns[i].name(many), w)
		}
	}
	if !metered {
		v.app.Say("Without a meter the gain of a card is not known: energy may be off by %.0f %%, of unknown sign.", 100*sensor.CardBand)
	}
	return nil
}

func (c *sensed) name(many bool) string {
	if !many {
		return c.column
	}
	return strings.TrimPrefix(fmt.Sprintf("%s/%d %s", c.node, c.gpu, c.column), "/")
}

// sensorSummary is for people.
func sensorSummary(columns []sensed, many bool) *doc.Table {
	t := doc.New("column", "reading", "period (ms)", "window (ms)", "range (ms)", "window", "gain", "offset (W)", "energy (J)", "from (J)", "to (J)", "meter (J)", "error raw (%)", "error corrected (%)")
	t.Optional("reading", "from (J)", "to (J)")
	for i := range columns {
		c := &columns[i]
		r := c.result
		e := &r.Energy
		t.Row(c.name(many), string(c.kind.Reading), doc.Float(thousandth(r.Period), 1), doc.Float(thousandth(r.Window), 1), rangeText(r.WindowRange), windowWord(r), doc.Float(r.Gain, 4), doc.Float(r.Offset, 1),
			doc.Float(e.Best(), 0), doc.Float(e.Band.Low, 0), doc.Float(e.Band.High, 0), doc.Float(e.Meter, 0), doc.Float(100*ratio(e.Raw, e.Meter), 2), doc.Float(100*ratio(e.Corrected, e.Meter), 2))
	}
	return t
}

func rangeText(r sensor.Range) any {
	if math.IsNaN(r.Low) {
		return nil
	}
	return fmt.Sprintf("%.1f-%.1f", thousandth(r.Low), thousandth(r.High))
}

// windowWord says how far a window is known.
func windowWord(r *sensor.Result) string {
	switch {
	case r.WindowFrom == sensor.ByMeter && r.Identified:
		return "identified"
	case r.WindowFrom == sensor.ByMeter:
		return "ambiguous"
	case r.WindowFrom == sensor.ByLoad:
		return "hint"
	}
	return string(r.WindowFrom)
}

// sensorFigures is for programs.
func sensorFigures(columns []sensed) *doc.Table {
	t := doc.New("column", "node", "gpu", "generation", "reading", "taken", "zone", "readings", "interval_ms", "changes", "period_ms", "window_ms", "window_low_ms", "window_high_ms", "window", "window_identified", "window_from", "lag_ms",
		"gain", "gain_low", "gain_high", "offset_w", "offset_low_w", "offset_high_w", "levels", "seconds", "energy_raw_j", "energy_j", "energy_low_j", "energy_high_j", "meter_j", "band_low", "band_high", "energy_error_raw", "energy_error_corrected",
		"overlap_s", "overlap_error_raw", "overlap_error_corrected", "aliasing", "load_period_ms", "scatter", "warnings")
	for i := range columns {
		c := &columns[i]
		r := c.result
		e := &r.Energy
		warnings := r.Warnings
		if warnings == nil {
			warnings = []string{}
		}
		all := func(v float64) doc.Cell { return doc.Float(v, 6) }
		t.Row(c.column, wordOrNone(c.node), int64(c.gpu), wordOrNone(c.kind.Generation), string(c.kind.Reading), c.taken, wordOrNone(c.zone), int64(r.Readings), all(thousandth(r.Interval)), int64(r.Renewed), all(thousandth(r.Period)),
			all(thousandth(r.Window)), all(thousandth(r.WindowRange.Low)), all(thousandth(r.WindowRange.High)), windowWord(r), r.Identified, string(r.WindowFrom), all(thousandth(r.Lag)),
			all(r.Gain), all(r.GainRange.Low), all(r.GainRange.High), all(r.Offset), all(r.OffsetRange.Low), all(r.OffsetRange.High), int64(r.Levels), all(e.Seconds), all(e.Raw), all(e.Best()), all(e.Band.Low), all(e.Band.High), all(e.Meter),
			all(ratio(e.Band.Low, e.Best())), all(ratio(e.Band.High, e.Best())), all(ratio(e.Raw, e.Meter)), all(ratio(e.Corrected, e.Meter)), all(r.Overlap), all(ratio(r.All.Raw, r.All.Meter)), all(ratio(r.All.Corrected, r.All.Meter)),
			all(r.Aliasing), all(thousandth(r.LoadPeriod)), all(r.Scatter), doc.Cell{Text: strings.Join(warnings, "; "), JSON: warnings})
	}
	return t
}

func wordOrNone(word string) any {
	if word == "" {
		return nil
	}
	return word
}
