package sim

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/drive"
	"orrery/scheduler/drive/conform"
	"orrery/scheduler/model"
	"orrery/sim/commitlog"
	"orrery/sim/metric"
	"orrery/sim/record"
	"orrery/sim/watch"
)

// TestRecorders runs the contract of a recorder against all that a replay tells its log.
func TestRecorders(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) (drive.Recorder, func() any){
		"fingerprint": func(*testing.T) (drive.Recorder, func() any) {
			r := &run{}
			return r, func() any { return r.print.String() }
		},
		"entries": func(*testing.T) (drive.Recorder, func() any) {
			var l log
			return l.recorder(), func() any { return l.entries }
		},
		"facts.parquet": func(t *testing.T) (drive.Recorder, func() any) {
			dir := filepath.Join(t.TempDir(), "run")
			w, err := record.Create(dir, record.Meta{Facts: true, Users: func() []string { return nil }})
			require.NoError(t, err)
			return w.Log(), func() any {
				_, err := w.Seal()
				require.NoError(t, err)
				require.NoError(t, w.WriteJSON(record.FileRun, map[string]any{}))
				require.NoError(t, w.WriteJSON(record.FileMetrics, map[string]any{}))
				require.NoError(t, w.Close())
				var entries []commitlog.Entry
				for e, err := range record.ReadLog(dir) {
					require.NoError(t, err)
					entries = append(entries, *e)
				}
				require.NotEmpty(t, entries)
				return entries
			}
		},
		"invariants of a plain cluster": func(*testing.T) (drive.Recorder, func() any) {
			w := watch.NewPlain(watch.PlainConfig{Units: []int32{1, 1, 1, 1}, Backfill: "easy", Prompt: true, FCFS: true})
			return w, func() any { return *w.Seen() }
		},
		"invariants of a site": func(*testing.T) (drive.Recorder, func() any) {
			site := &model.Site{Constraints: []model.Constraint{{GPUType: -1}}, VClusters: []model.VCluster{{Name: "v"}}, Tenants: []model.Tenant{{Name: "t"}}, Fingerprints: 1, Groups: []model.Group{{Name: "g"}}}
			for range 4 {
				site.Nodes = append(site.Nodes, model.Node{GPUType: -1, Topology: -1})
			}
			w := watch.New(watch.Config{Site: site, Policies: []watch.Policy{{Easy: true}}})
			return w, func() any { return *w.Seen() }
		},
		"metrics of a site": func(t *testing.T) (drive.Recorder, func() any) {
			series, err := metric.NewSeries(metric.Config{Units: 4, Site: &metric.SiteConfig{VClusters: []string{"v"}}})
			require.NoError(t, err)
			r := &run{site: &siteResults{series: series}, watched: true}
			return r, func() any { return r.site.jobs }
		},
	} {
		t.Run(name, func(t *testing.T) { conform.Recorder(t, make) })
	}
}
