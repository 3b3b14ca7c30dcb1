// Package calibration shows what a calibration has found: tables, and a page with each fit and
// what it rests on. It must not know telemetry or how figures are fitted.
package calibration

import (
	"fmt"
	"slices"

	"orrery/capture/calibrate"
	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/reports/plot"
)

// Table has a row for each figure, put into the file or not.
func Table(list []calibrate.Outcome) *doc.Table {
	t := doc.New("key", "value", "low", "high", "unit", "range", "n", "of", "rows", "days", "off by (%)", "put in", "why not")
	t.Key("off by (%)", "residual_percent")
	for _, o := range list {
		f := o.Finding
		if o.Value == "" {
			t.Row(o.Key, nothing, nothing, nothing, "", "", nothing, "", nothing, nothing, nothing, false, o.Why)
			continue
		}
		low, high := f.Ends()
		t.Row(o.Key, figure(o.Value, f.Figure.Value), figure(o.Low, low), figure(o.High, high), f.Unit, f.Range(), f.Figure.N, f.Figure.Units, f.Rows, doc.Float(f.Days(), 3), doc.Float(100*f.Figure.Residual, 1), o.Applied, o.Why)
	}
	return t
}

// nothing is a cell of a figure that is not there.
var nothing = doc.Cell{Number: true}

// figure is a number as the file has it for people, and in its unit for programs.
func figure(text string, value float64) doc.Cell {
	return doc.Cell{Text: text, JSON: value, Number: true}
}

// Write writes the page of a calibration into dir, which is made when it is missing: report.html,
// which opens without a network, and figures/*.svg and *.png, replacing older ones.
func Write(dir, name string, list []calibrate.Outcome, counts []calibrate.Count, made page.Made) error {
	applied := slices.Clone(list)
	applied = slices.DeleteFunc(applied, func(o calibrate.Outcome) bool { return !o.Applied })
	fitted, refused, read := doc.New("key", "value", "low", "high", "range", "n", "of", "rows", "usually off by (%)", "holds for"), doc.New("key", "value", "why not"), doc.New("what", "number")
	for _, o := range list {
		if f := o.Finding; o.Applied {
			fitted.Row(o.Key, o.Value, o.Low, o.High, f.Range(), f.Figure.N, f.Figure.Units, f.Rows, doc.Float(100*f.Figure.Residual, 1), f.Valid)
		} else {
			refused.Row(o.Key, o.Value, o.Why)
		}
	}
	for _, c := range counts {
		read.Row(c.What, c.N)
	}
	var drawn []*plot.Figure
	if rows := fitRows(list); len(rows) > 0 {
		drawn = append(drawn, plot.Fits(rows))
	}
	p := page.Page{Made: made, Figures: drawn, Document: doc.Document{Title: name + ": what was measured of its hardware", By: "orrery calibrate", Head: []doc.Part{
		doc.Say("%s of the cluster file %s fitted to what was measured; %s refused or left out.",
			page.Count(int64(len(applied)), "key", "keys"), was(len(applied)), page.Count(int64(len(list)-len(applied)), "was", "were")),
	}}}
	p.Add("figures", "Fits", doc.Part{Figures: page.Names(drawn)})
	p.Add("fitted", "Figures", doc.Say("Each with its range, how many independent measurements it rests on, how far these usually lie from it, and where it holds."), doc.Show(fitted))
	p.Add("refused", "Refused, or not put into the file", doc.Say("The file keeps what it had for these."), doc.Show(refused))
	p.Add("read", "What was read", doc.Show(read))
	return p.Write(dir)
}

func was(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// fitRows are the figures that rest on measurements, relative to themselves.
func fitRows(list []calibrate.Outcome) (out []plot.FitRow) {
	for _, o := range list {
		f := o.Finding
		v := f.Figure.Value
		if o.Value == "" || v <= 0 || len(f.Measured()) == 0 {
			continue
		}
		low, high := f.Ends()
		row := plot.FitRow{Name: o.Key, Low: low / v, High: high / v, Says: fmt.Sprintf("%s, %d %s", o.Value, f.Figure.N, f.Figure.Units)}
		for _, x := range f.Measured() {
			row.Points = append(row.Points, x/v)
		}
		out = append(out, row)
	}
	return out
}
