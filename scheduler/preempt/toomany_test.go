package preempt

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// flats is a trial of nodes of which several jobs may hold parts: each comes free with the last of
// them, and all do equally well.
type flats struct {
	holders [][]model.JobID // by node
	gone    map[model.JobID]bool
	need    int
}

func (f *flats) Give(v *Victim) { f.gone[v.Job] = true }
func (f *flats) Take(v *Victim) { delete(f.gone, v.Job) }
func (f *flats) Fits() bool     { return f.free() >= f.need }

func (f *flats) free() (n int) {
	for _, jobs := range f.holders {
		left := false
		for _, j := range jobs {
			left = left || !f.gone[j]
		}
		if !left {
			n++
		}
	}
	return n
}

// Where TooMany says so, Select finds no victims, in whatever order it is told of the candidates; and it does say
// so.
func TestTooManyIsSure(t *testing.T) {
	said := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		f := &flats{gone: map[model.JobID]bool{}, need: rapid.IntRange(1, 20).Draw(t, "need")}
		victims := make([]Victim, rapid.IntRange(1, 12).Draw(t, "jobs"))
		now := model.Time(model.Day)
		for i := range victims {
			v := victim(model.JobID(i), rapid.SampledFrom([]int32{1, 1, 3}).Draw(t, "class"), 0)
			v.Elapsed = model.Duration(rapid.SampledFrom([]int{1, 2, 8, 15}).Draw(t, "elapsed")) * 10 * model.Minute
			v.Start = now - model.Time(v.Elapsed)
			for range rapid.IntRange(0, 5).Draw(t, "whole") {
				f.holders = append(f.holders, []model.JobID{v.Job})
				v.Usable, v.Sure, v.Nodes = v.Usable+1, v.Sure+1, v.Nodes+1
			}
			victims[i] = v
		}
		for range rapid.IntRange(0, 6).Draw(t, "shared") {
			a, b := rapid.IntRange(0, len(victims)-1).Draw(t, "a"), rapid.IntRange(0, len(victims)-1).Draw(t, "b")
			if a != b {
				f.holders = append(f.holders, []model.JobID{victims[a].Job, victims[b].Job})
				victims[a].Usable, victims[a].Nodes = victims[a].Usable+1, victims[a].Nodes+1
				victims[b].Usable, victims[b].Nodes = victims[b].Usable+1, victims[b].Nodes+1
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "idle") {
			f.holders = append(f.holders, nil)
		}
		cfg := DefaultConfig()
		cfg.MaxVictims = rapid.Int32Range(1, 5).Draw(t, "most")
		var admitted []Victim
		for i := range victims {
			if cfg.Admits(&victims[i], Priority, 5) {
				admitted = append(admitted, victims[i])
			}
		}
		lacks := f.need - f.free()
		if lacks <= 0 {
			return
		}
		tooMany := askTooMany(&cfg, now, admitted, int32(lacks))
		said[tooMany]++
		if _, ok := Select(&cfg, Priority, 5, now, victims, f, nil); tooMany {
			require.False(t, ok)
		}
	})
	require.Positive(t, said[true])
	require.Positive(t, said[false])
}

func askTooMany(cfg *Config, now model.Time, candidates []Victim, nodes int32) bool {
	q := cfg.TooMany(now, nodes)
	for class := range model.SensitiveClass {
		each := func(f func(*Victim)) {
			for i := range candidates {
				if v := &candidates[i]; v.Class == int32(class) {
					f(v)
				}
			}
		}
		each(func(v *Victim) {
			if q.Fair(v.Usable) {
				q.Large(v)
			}
		})
		enough := false
		each(func(v *Victim) {
			if !enough && !q.Fair(v.Usable) && (!q.Found() || q.Before(v)) {
				enough = q.Frees(v.Sure)
			}
		})
		if enough || q.Found() {
			return enough
		}
	}
	return true
}

// A large job is taken only when those before it do not free enough.
func TestTooMany(t *testing.T) {
	cfg := DefaultConfig() // at most three
	job := func(id model.JobID, class, nodes int32) Victim {
		v := victim(id, class, nodes)
		v.Sure = nodes
		return v
	}
	small := []Victim{job(0, 1, 1), job(1, 1, 1), job(2, 1, 1), job(3, 1, 1)}
	require.True(t, askTooMany(&cfg, 0, small, 4), "none holds a fair part of four nodes")
	require.False(t, askTooMany(&cfg, 0, small, 3))
	large := append([]Victim{job(4, 2, 4)}, small...)
	require.True(t, askTooMany(&cfg, 0, large, 4), "the four of a lower class come before it")
	require.False(t, askTooMany(&cfg, 0, large, 5), "they are not enough")
	large[0].Class = 1
	large[0].Job = -1
	require.False(t, askTooMany(&cfg, 0, large, 4), "it comes before them")
	large[0].Job, large[0].Class = 4, 2
	large[1].Sure = 0
	require.False(t, askTooMany(&cfg, 0, large, 4), "another holds a part of a node as well")
}
