package world

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/drive"
	"orrery/scheduler/drive/conform"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world/internal/worldtest"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// TestContracts runs the contracts of the ports against both worlds, with a quorum that
// answers at once, late, and after an outage.
func TestContracts(t *testing.T) {
	for _, c := range []struct {
		name string
		make conform.Make
	}{
		{"plain", plainShell(Config{})},
		{"plain, late", plainShell(Config{Latency: 5 * sec, Jitter: 3 * sec, Seed: 7})},
		{"site", siteShell(SiteConfig{})},
		{"site, late", siteShell(SiteConfig{Latency: 5 * sec, Jitter: 3 * sec, Seed: 7, StartDelay: 2 * sec, Visible: 4 * sec})},
		{"site, outage", siteShell(SiteConfig{Outages: []translate.Outage{{From: 0, Until: model.Time(40 * sec)}}})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Run("quorum", func(t *testing.T) { conform.Quorum(t, c.make) })
			t.Run("agents", func(t *testing.T) { conform.NodeAgents(t, c.make) })
		})
	}
}

// simulated is what both worlds have.
type simulated interface {
	drive.Quorum
	drive.NodeAgents
	Next() model.Time
	Take(t model.Time, dst []model.Fact) []model.Fact
	Close()
}

// shell runs a world.
func shell(w simulated, submit func(now model.Time, job conform.Job) model.Fact) *conform.Shell {
	return &conform.Shell{Quorum: w, Agents: w, Submit: submit, Until: func(now model.Time) (facts []model.Fact) {
		for w.Next() <= now {
			for _, f := range w.Take(w.Next(), nil) {
				if f.Placement != nil {
					var p model.Placement
					p.Set(f.Placement)
					f.Placement = &p
				}
				facts = append(facts, f)
			}
			w.Close()
		}
		return facts
	}}
}

// runtime is how long a job of the contract runs: for ever, if its owner withdraws it
// before it does.
func runtime(job conform.Job) model.Duration {
	if job.Long || job.Most > 0 {
		return model.Day
	}
	return model.Minute
}

func plainShell(cfg Config) conform.Make {
	return func(t *testing.T, _ ...conform.Failure) *conform.Shell {
		cfg.Cluster = model.UniformCluster(4, 1, true)
		w, rows := New(cfg, &keep{}), model.JobID(0)
		s := shell(w, func(now model.Time, job conform.Job) model.Fact {
			b := one(func(b *traces.Batch) {
				b.First, b.ID[0], b.Submit[0], b.CancelledAt[0] = rows, int64(rows)+1, now, job.Withdrawn
				b.Runtime[0], b.Walltime[0], b.ProcsRequested[0] = runtime(job), 2*model.Day, job.Nodes
				if job.Withdrawn != model.AbsentTime {
					b.Runtime[0] = model.AbsentDuration // which a job that never ran has
				}
			})
			rows++
			f, ok := w.submission(b, 0, atMost(4))
			require.True(t, ok)
			return f
		})
		s.Fixed = true
		return s
	}
}

func siteShell(cfg SiteConfig) conform.Make {
	return func(t *testing.T, failures ...conform.Failure) *conform.Shell {
		cfg.Site = worldtest.Site(4)
		cfg.Exit = preempt.DefaultConfig()
		cfg.Exit.Bandwidth, cfg.ReadBandwidth = 10, 10
		cfg.Rows, cfg.Changes = translate.Rows{}, nil
		for _, f := range failures {
			cfg.Changes = append(cfg.Changes, translate.Change{At: f.At, Kind: translate.NodeFails, Node: f.Node})
		}
		require.NoError(t, cfg.Validate())
		w, rows := NewSite(cfg, &keep{}), model.JobID(0)
		s := shell(w, func(now model.Time, job conform.Job) (f model.Fact) {
			r := worldtest.Row(int64(rows)+1, now, func(j *traces.Job) {
				j.Runtime, j.Walltime, j.NodesMin = traces.Some(runtime(job)), traces.Some(2*model.Day), traces.Some(job.Nodes)
				if job.Withdrawn != model.AbsentTime {
					j.Runtime, j.CancelledAt = traces.Opt[model.Duration]{}, traces.Some(job.Withdrawn)
				}
				if job.Urgent {
					j.Class = traces.Some(int32(9))
				}
				if job.Most > 0 {
					j.Kind, j.NodesMax = "reactive", traces.Some(job.Most)
				}
			})
			b := worldtest.Batch(r)
			b.First = rows
			rows++
			ok, err := w.Submission(b, 0, func(*model.Allocation) model.Reason { return model.ReasonNone }, &f)
			require.NoError(t, err)
			require.True(t, ok)
			return f
		})
		for _, o := range cfg.Outages {
			s.Unreachable = max(s.Unreachable, o.Until)
		}
		return s
	}
}
