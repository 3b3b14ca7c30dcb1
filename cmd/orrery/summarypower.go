package main

import (
	"fmt"
	"math"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/sim/metric"
)

// powerRows say what the run drew, and how much of it was modelled.
func (s *summary) powerRows(t *doc.Table) {
	d := s.out.Document
	if h := d.Hardware; h != nil {
		t.Row("modelled", percentOf(h.ModelledUS, h.GPUUS), fmt.Sprintf("of GPU time at work; %s in a class of work. What is not known counts as recorded", percentOf(h.ClassedUS, h.GPUUS)))
		var lost []string
		for _, x := range h.LostUS {
			lost = append(lost, x.Term+" "+percentOf(x.US, h.GPUUS))
		}
		t.Row("run time lost", strings.Join(lost, ", "), "of GPU time at work, relative to the record; below 0 is a gain")
	}
	if d.Power == nil {
		return
	}
	for _, m := range []struct{ name, label, unit string }{
		{"energy", "energy", "kWh"}, {"energy_cost", "cost of energy", d.Power.Currency}, {"carbon", "carbon", "kg"},
	} {
		v, known := s.out.Table.Value(m.name, metric.All)
		if !known {
			continue
		}
		low, _ := s.out.Table.Value(m.name+"_low", metric.All)
		high, _ := s.out.Table.Value(m.name+"_high", metric.All)
		t.Row(m.label, doc.Quantity(amountWords(v)+" "+m.unit, v), amountWords(low)+" to "+amountWords(high))
	}
	if d.Power.OverCapUS > 0 {
		t.Row("above the cap", doc.Quantity(table.Span(float64(d.Power.OverCapUS)/1e6), d.Power.OverCapUS).In(doc.Bad), "that the nodes drew more than power_cap")
	}
}

// percentOf is a part of a whole, empty where there is none.
func percentOf(part, whole int64) string {
	if whole == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// amountWords writes an amount of energy, money or carbon to the whole unit, and a small one to
// its tenth.
func amountWords(x float64) string {
	if math.Abs(x) < 1000 {
		return fmt.Sprintf("%.1f", x)
	}
	return plot.Count(int64(math.Round(x)))
}
