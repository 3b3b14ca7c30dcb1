package record

import (
	"fmt"
	"strings"

	"orrery/scheduler/model"
)

// stateCodes and reasonCodes are the words of the files, in the order of the
// constants.
var stateCodes = wordsOf(model.Pending, model.Rejected)
var reasonCodes = wordsOf(model.ReasonNone, model.ReasonEndOfRun)

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

// Places of the columns in jobSchema.
const (
	colJob = iota
	colID
	colUser
	colSubmit
	colEligible
	colStart
	colEnd
	colRuntime
	colWalltime
	colProcs
	colNodes
	colWait
	colState
	colAttempts
	colReason
)

// users lists the user names met so far.
func (t *tableFile) users() []string { return t.words[colUser].list }

// Scan implements Scanner for the table jobs. Memory is that of one row group.
func (t *tableFile) Scan(fn func(*Columns) error) error {
	c := &t.cols
	return t.scan(nil, func(v []vector, n int) error {
		c.Job, c.ID, c.User = v[colJob].i32, v[colID].i64, v[colUser].i32
		c.Submit, c.Eligible = v[colSubmit].i64, v[colEligible].i64
		c.Start, c.End = v[colStart].i64, v[colEnd].i64
		c.Runtime, c.Walltime, c.Wait = v[colRuntime].i64, v[colWalltime].i64, v[colWait].i64
		c.Procs, c.Nodes, c.Attempts = v[colProcs].i32, v[colNodes].i32, v[colAttempts].i32
		for _, times := range [...][]int64{c.Submit, c.Eligible, c.Start, c.End} {
			t.relative(times)
		}
		if err := t.codes(&c.State, colState, &v[colState], stateCodes); err != nil {
			return err
		}
		if err := t.codes(&c.Reason, colReason, &v[colReason], reasonCodes); err != nil {
			return err
		}
		return fn(c)
	})
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
