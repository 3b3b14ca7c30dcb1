package record

import (
	"fmt"
	"strings"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// stateCodes and reasonCodes are the words of the files, in the order of the
// constants.
var stateCodes = wordsOf(model.Pending, model.Failed)
var reasonCodes = wordsOf(model.ReasonNone, model.LastReason)
var kindCodes = wordsOf(model.Bounded, model.Session)
var sourceCodes = wordsOf(model.NoPowerSource, model.PowerUnknown)

func wordsOf[T interface {
	~uint8
	String() string
}](first, last T) []string {
	var out []string
	for c := first; c <= last; c++ {
		out = append(out, c.String())
	}
	return out
}

// Places of columns of names in siteJobRow.
const (
	colUser     = 2
	colVCluster = 15
	colTenant   = 16
)

// know numbers the names of a site by their ids.
func (t *tableFile) know(vclusters, tenants []string) {
	if len(t.fields) <= colVCluster {
		return
	}
	for _, name := range vclusters {
		t.words[colVCluster].code(name)
	}
	for _, name := range tenants {
		t.words[colTenant].code(name)
	}
}

// users lists the user names met so far.
func (t *tableFile) users() []string { return t.words[colUser].list }

// Scan implements Scanner for the table jobs. Memory is that of one row group.
func (t *tableFile) Scan(fn func(*Columns) error) error {
	return t.ScanOnly(column.Every, fn)
}

// ScanOnly implements column.Selector for the table jobs.
func (t *tableFile) ScanOnly(want column.Set, fn func(*Columns) error) error {
	has := func(i int) bool { return i < len(t.fields) && want>>i&1 != 0 }
	return t.scan(has, func(v []vector, _ int) error {
		c := &t.cols
		*c = Columns{State: c.State[:0], Reason: c.Reason[:0], OfSite: len(t.fields) > colVCluster, Site: column.Site{Kind: c.Kind[:0], Source: c.Source[:0]}}
		for i, set := range t.fillers(c) {
			if has(i) {
				if err := set(i, &v[i]); err != nil {
					return err
				}
			}
		}
		return fn(c)
	})
}

// fillers set the columns of c, in the order of siteJobRow and column.Set.
func (t *tableFile) fillers(c *Columns) [37]func(i int, v *vector) error {
	i32 := func(dst *[]int32) func(int, *vector) error {
		return func(_ int, v *vector) error { *dst = v.i32; return nil }
	}
	i64 := func(dst *[]int64) func(int, *vector) error {
		return func(_ int, v *vector) error { *dst = v.i64; return nil }
	}
	instant := func(dst *[]int64) func(int, *vector) error {
		return func(_ int, v *vector) error { t.relative(v.i64); *dst = v.i64; return nil }
	}
	code := func(dst *[]uint8, list []string) func(int, *vector) error {
		return func(i int, v *vector) error { return t.codes(dst, i, v, list) }
	}
	return [...]func(int, *vector) error{
		i32(&c.Job), i64(&c.ID), i32(&c.User),
		instant(&c.Submit), instant(&c.Eligible), instant(&c.Start), instant(&c.End),
		i64(&c.Runtime), i64(&c.Walltime), i32(&c.Procs), i32(&c.Nodes), i64(&c.Wait),
		code(&c.State, stateCodes), i32(&c.Attempts), code(&c.Reason, reasonCodes),
		i32(&c.VCluster), i32(&c.Tenant), i32(&c.Class), code(&c.Kind, kindCodes), i32(&c.GPUs), i32(&c.Requeues), i32(&c.Preemptions),
		i64(&c.NodeUS), i64(&c.GPUUS), i64(&c.BorrowedUS), i64(&c.KeptUS), i64(&c.LostUS),
		i64(&c.EnergyLow), i64(&c.Energy), i64(&c.EnergyHigh), code(&c.Source, sourceCodes),
		i64(&c.CostLow), i64(&c.Cost), i64(&c.CostHigh), i64(&c.CarbonLow), i64(&c.Carbon), i64(&c.CarbonHigh),
	}
}

// relative turns absolute times into times since the epoch, in place.
func (t *tableFile) relative(times []int64) {
	for i, at := range times {
		if at != Absent {
			times[i] = at - int64(t.epoch)
		}
	}
}

// codes translates the words of field i into the constants that list spells.
func (t *tableFile) codes(dst *[]uint8, i int, v *vector, list []string) error {
	trans := make([]uint8, len(t.words[i].list))
	for k, word := range t.words[i].list {
		code := -1
		for c, s := range list {
			if s == word {
				code = c
			}
		}
		if code < 0 {
			return &DataError{
				File: t.path, Column: t.fields[i].name, Row: -1, Found: fmt.Sprintf("%q", word),
				Expected: "one of " + strings.TrimPrefix(strings.Join(list, ", "), ", "), Mend: mendReplay,
			}
		}
		trans[k] = uint8(code)
	}
	*dst = (*dst)[:0]
	for _, c := range v.i32 {
		if c < 0 {
			*dst = append(*dst, 0)
			continue
		}
		*dst = append(*dst, trans[c])
	}
	return nil
}
