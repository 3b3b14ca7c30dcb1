package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/record"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/transform"
)

var (
	nw    = flag.Int("n", 30, "windows")
	lead  = flag.Float64("lead", 0, "lead as part of window length")
	tail  = flag.Float64("tail", 0, "tail as part of length; 0 none")
	warm  = flag.String("warm", "log", "log|replay|none")
	procs = flag.Int("procs", 0, "")
	orders = flag.String("orders", "fcfs,sjf,saf,wfp3,unicef", "")
	back = flag.String("back", "easy", "")
	maxlen = flag.Float64("maxlen", 14, "days")
)

type stats struct{ n float64; wait, bsld, max float64 }

func check(err error) { if err != nil { fmt.Println(err); os.Exit(1) } }

func runOn(spec sim.Spec, m *traces.Memory) *record.Memory {
	spec.Trace = m.Info().Hash
	sink := record.NewMemory()
	_, err := sim.Run(context.Background(), spec, m.Open, sim.Options{Sink: sink})
	check(err)
	return sink
}

func add(s *stats, c *record.Columns, i int) {
	if c.Start[i] == record.Absent { return }
	w := float64(c.Wait[i])/1e6
	r := float64(c.Runtime[i])/1e6
	s.n++; s.wait += w
	if w > s.max { s.max = w }
	b := (w+r)/max(r,10); if b<1 {b=1}
	s.bsld += b
}

func main() {
	flag.Parse()
	path := flag.Arg(0)
	_, op, err := importer.OpenAny(path, importer.Options{}); check(err)
	table, err := traces.Open(op.Table); check(err)
	set, err := transform.Open(table); check(err)
	set, err = set.Hold(); check(err)
	whole, err := set.Collect(); check(err)
	spec := sim.DefaultSpec()
	spec.Cluster.Procs = int32(*procs)
	if *procs==0 { spec.Cluster.Procs = whole.Info().MaxProcs }
	spec.WarmupJobs = sim.NoWarmup
	first, last, _, err := set.Bounds(); check(err)
	span := float64(last.Sub(first))
	L := span*4/float64(*nw*5+1)
	if m := *maxlen*86400e6; L > m { L = m }
	between := (span-L*float64(*nw))/float64(*nw+1)
	// warm by replay
	base := spec
	base.Backfill = *back
	wset := set
	if *warm == "replay" {
		sink := runOn(base, whole)
		type se struct{ s, e int64 }
		at := map[int64]se{}
		c := &sink.Jobs
		for i := range c.ID { at[c.ID[i]] = se{c.Start[i], c.End[i]} }
		copyset := *set
		rows := set.Rows
		copyset.Rows = func() iter.Seq2[*traces.Job, error] {
			return func(yield func(*traces.Job, error) bool) {
				for j, err := range rows() {
					if err != nil { yield(nil, err); return }
					row := *j
					x, ok := at[row.ID]
					row.Start, row.End = traces.Opt[model.Time]{}, traces.Opt[model.Time]{}
					if ok && x.s != record.Absent { row.Start = traces.Some(model.Time(x.s)); row.End = traces.Some(model.Time(x.e)) }
					if !yield(&row, nil) { return }
				}
			}
		}
		wset, err = copyset.Hold(); check(err)
	}
	fmt.Printf("%s jobs=%d procs=%d L=%.1fd between=%.1fd lead=%v tail=%v warm=%s\n", strings.TrimSuffix(path[strings.LastIndex(path,"/")+1:],".swf.gz"), whole.Info().Rows, spec.Cluster.Procs, L/86400e6, between/86400e6, *lead, *tail, *warm)
	type win struct{ b, e model.Time }
	var ws []win
	for i := range *nw {
		b := first.Add(model.Duration(between+float64(i)*(L+between)))
		ws = append(ws, win{b, b.Add(model.Duration(L))})
	}
	inW := func(t int64) int { for k, w := range ws { if t >= int64(w.b) && t < int64(w.e) { return k } }; return -1 }
	var f [3]stats
	for oi, o := range strings.Split(*orders, ",") {
		s := base; s.Order = o
		t0 := time.Now()
		sink := runOn(s, whole)
		var all, whin stats
		c := &sink.Jobs
		for i := range c.ID { add(&all, c, i); if inW(c.Submit[i]) >= 0 { add(&whin, c, i) } }
		tw := time.Since(t0); t0 = time.Now()
		var win stats
		for _, w := range ws {
			from := w.b.Add(-model.Duration(*lead*L))
			if from < first { from = first }
			to := w.e
			if *tail > 0 { to = w.e.Add(model.Duration(*tail*L)) }
			x, err := wset.Window(from, to, *warm != "none", 0); check(err)
			m, err := x.Collect(); check(err)
			sk := runOn(s, m)
			cc := &sk.Jobs
			for i := range cc.ID { if cc.Submit[i] >= int64(w.b) && cc.Submit[i] < int64(w.e) { add(&win, cc, i) } }
		}
		if oi == 0 { f = [3]stats{all, whin, win} }
		p := func(s stats, b stats) string { return fmt.Sprintf("bsld %8.2f (%+6.1f%%) wait %8.0f (%+6.1f%%) max %6.1fd", s.bsld/s.n, 100*(s.bsld/s.n/(b.bsld/b.n)-1), s.wait/s.n, 100*(s.wait/s.n/(b.wait/b.n)-1), s.max/86400) }
		fmt.Printf("%-8s whole %s\n         sameJ %s\n         wind  %s   [%.1fs %.1fs]\n", o, p(all, f[0]), p(whin, f[1]), p(win, f[2]), tw.Seconds(), time.Since(t0).Seconds())
	}
}
