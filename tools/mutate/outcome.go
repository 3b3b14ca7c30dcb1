package main

import (
	"fmt"
	"io"
	"time"

	"orrery/internal/doc"
	"orrery/reports/table"
)

// outcome is what became of all.
type outcome struct {
	began    time.Time
	took     time.Duration
	verdicts []verdict
}

func (o *outcome) count(f fate) (n int) {
	for _, v := range o.verdicts {
		if v.fate == f {
			n++
		}
	}
	return n
}

// part is how much of what can be noticed was.
func (o *outcome) part() float64 {
	dead, alive := o.count(killed), o.count(survived)
	if dead+alive == 0 {
		return 1
	}
	return float64(dead) / float64(dead+alive)
}

// print says what survived, and counts the rest.
func (o *outcome) print(w io.Writer) {
	t := doc.New("fate", "mutant", "where", "by")
	for _, f := range []fate{survived, equal, untried} {
		for _, v := range o.verdicts {
			if v.fate == f {
				t.Row(v.fate.String(), v.key(), fmt.Sprintf("%s:%d", v.file, v.line), v.by)
			}
		}
	}
	if t.Len() > 0 {
		if err := table.Write(w, t, table.Text, table.Options{}); err != nil {
			fmt.Fprintln(w, err)
		}
	}
	fmt.Fprintf(w, "\n%d mutants in %s: %d killed, %d survived (%.1f %% of those that can be noticed died), %d equivalent, %d do not compile, %d not tried\n",
		len(o.verdicts), o.took.Round(time.Second), o.count(killed), o.count(survived), 100*o.part(), o.count(equal), o.count(broken), o.count(untried))
}
