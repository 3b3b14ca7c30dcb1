package sim

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// siteTimes is where a replay of a site put its jobs: by row, when each attempt
// began and ended and on how many nodes, and how the job left.
type siteTimes struct {
	lines map[model.JobID][]string
	shift model.Time // taken off every instant
	ratio int32      // by which numbers of nodes are divided

}

func (s *siteTimes) Flush() error { return nil }
func (s *siteTimes) Attempt(r *model.AttemptRecord) {
	s.lines[r.Job] = append(s.lines[r.Job], fmt.Sprintf("%s-%s %s %d +%s -%s", r.Start-s.shift, r.End-s.shift, r.Outcome, r.Nodes/s.ratio, r.Kept, r.Lost))
}
func (s *siteTimes) Job(r *model.JobRecord) {
	s.lines[r.Job] = append(s.lines[r.Job], fmt.Sprintf("%s at %s %s", r.State, r.End-s.shift, r.Reason))
}

func siteTimesOf(t *testing.T, w *siteWorld, shift model.Time, ratio int32) map[model.JobID][]string {
	t.Helper()
	sink := &siteTimes{lines: map[model.JobID][]string{}, shift: shift, ratio: ratio}
	m := w.memory()
	_, err := Run(context.Background(), w.spec(t), m.open, Options{Sink: sink})
	require.NoError(t, err, w)
	return sink.lines
}

// siteRelation changes a world in a way that must not matter but for the instants,
// which all move by shift, and the numbers of nodes, which all grow by ratio.
type siteRelation struct {
	name   string
	holds  func(text string) bool
	change func(w *siteWorld)
	shift  model.Time
	ratio  int32
}

// sevenHours is a multiple of every cycle that is drawn (2 to 7 s) and of the
// accounting ticks (10 s and 300 s).
const sevenHours = 4 * 7 * 300 * model.Time(model.Second) * 3

var (
	eventTime = regexp.MustCompile(`\{time: (\d+)s`)
	spanOf    = regexp.MustCompile(`(start|end): (\d+)s`)
	watts     = regexp.MustCompile(`(\d+)W`)
	rates     = regexp.MustCompile(`(\d+)B/s`)
	groupName = regexp.MustCompile(`\bg(\d)\b`)
)

// rewritten multiplies or adds to the numbers that a pattern finds in a text.
func rewritten(text string, what *regexp.Regexp, f func(n int64) int64) string {
	return what.ReplaceAllStringFunc(text, func(s string) string {
		number := regexp.MustCompile(`\d+`).FindString(s)
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			panic(err)
		}
		return strings.Replace(s, number, fmt.Sprint(f(n)), 1)
	})
}

// each changes all lines of the cluster file.
func (w *siteWorld) each(f func(string) string) {
	for _, list := range [][]string{w.head, w.vclusters, w.events} {
		for i := range list {
			list[i] = f(list[i])
		}
	}
}

func siteRelations() []siteRelation {
	always := func(string) bool { return true }
	return []siteRelation{
		{"seven hours later is seven hours later", always, func(w *siteWorld) {
			add := func(n int64) int64 { return n + int64(sevenHours)/1_000_000 }
			w.each(func(s string) string { return rewritten(s, eventTime, add) })
			for i := range w.head {
				if strings.HasPrefix(w.head[i], "reservations+") {
					w.head[i] = rewritten(w.head[i], spanOf, add)
				}
			}
			for i := range w.jobs {
				j := &w.jobs[i]
				j.Submit += sevenHours
				j.Eligible.V += sevenHours
				j.CancelledAt.V += sevenHours
			}
			for i := range w.demands {
				w.demands[i].Time += sevenHours
			}
		}, sevenHours, 1},
		{"what tenants, nodes and vClusters are called", always, func(w *siteWorld) {
			names := strings.NewReplacer("name: ada", "name: zoe", "name: bob", "name: abe", "subject: ada", "subject: zoe", "name: v", "name: queue-")
			w.each(func(s string) string {
				return groupName.ReplaceAllString(strings.ReplaceAll(names.Replace(s), "[g", "[rack-"), "rack-$1")
			})
			for i := range w.groups {
				w.groups[i].name = "rack-" + w.groups[i].name[1:]
			}
			for i := range w.jobs {
				j := &w.jobs[i]
				j.Tenant = map[string]string{"ada": "zoe", "bob": "abe"}[j.Tenant]
				j.VCluster = "queue-" + j.VCluster[1:]
			}
		}, 0, 1},
		{"a thousand times the watts and bytes", always, func(w *siteWorld) {
			times := func(n int64) int64 { return 1000 * n }
			w.each(func(s string) string {
				s = rewritten(rewritten(s, watts, times), rates, times)
				return strings.NewReplacer("GB/s", "TB/s", "memory: 10GB", "memory: 10TB", "memory: 20GB", "memory: 20TB", "memory: 4GB", "memory: 4TB", "job_memory: 1GB", "job_memory: 1TB", "job_memory: 2GB", "job_memory: 2TB").Replace(s)
			})
			for i := range w.jobs {
				j := &w.jobs[i]
				j.Power.V *= 1000
				j.IODemand.V *= 1000
				j.CkptBytes.V *= 1000
				j.MemPerNode.V *= 1000
			}
		}, 0, 1},
		{
			// f4 counts the groups of the site and shares count its nodes, so the relation
			// holds for other orders; a job without a GPU type says so. What keeps jobs off the
			// group is their memory, which must not be what divides nodes.
			"an idle group that no job may use", func(text string) bool {
				// an idle node counts against the cap where that is of the site
				return !strings.Contains(text, "order: score") && !strings.Contains(text, "sharing: resources") && !strings.Contains(text, "power_cap_scope: site")
			},
			func(w *siteWorld) {
				w.each(func(s string) string {
					return strings.Replace(s, "node_types: [", "node_types: [{name: c, cpus: 1, memory: 1GB, idle_power: 0W, busy_power: 0W}, ", 1)
				})
				w.groups = append(w.groups, siteGroup{"idle", "c", "z", 3})
				for i := range w.vclusters { // what was home to all nodes is so still
					w.vclusters[i] = strings.Replace(w.vclusters[i], "home: all", "home: "+w.all(), 1)
				}
				for i := range w.jobs {
					w.jobs[i].MemPerNode = traces.Some[int64](2_000_000_000)
				}
			}, 0, 1,
		},
		{"how many rows a batch has", always, func(w *siteWorld) { w.size = 100 }, 0, 1},
	}
}

// all names the groups of the world but the idle one.
func (w *siteWorld) all() string {
	var names []string
	for _, g := range w.groups {
		if g.name != "idle" {
			names = append(names, g.name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// clone is a world that can be changed by itself.
func (w *siteWorld) clone() *siteWorld {
	c := *w
	c.head, c.groups, c.vclusters = slices.Clone(w.head), slices.Clone(w.groups), slices.Clone(w.vclusters)
	c.events, c.jobs, c.edges = slices.Clone(w.events), slices.Clone(w.jobs), slices.Clone(w.edges)
	c.demands = slices.Clone(w.demands)
	return &c
}

// TestSiteRelations holds each relation on random worlds.
func TestSiteRelations(t *testing.T) {
	t.Parallel()
	worlds := worldsOf(20, 60, 150)                // of each relation
	plain := map[uint64]map[model.JobID][]string{} // of the unchanged world, by its number
	for _, r := range siteRelations() {
		t.Run(r.name, func(t *testing.T) {
			tried := 0
			for i := uint64(0); tried < worlds; i++ {
				w := drawSite(longBytes(i))
				if !r.holds(w.cluster()) {
					continue
				}
				tried++
				if plain[i] == nil {
					plain[i] = siteTimesOf(t, w, 0, 1)
				}
				c := w.clone()
				r.change(c)
				require.Equal(t, plain[i], siteTimesOf(t, c, r.shift, r.ratio), "world %d\n%s\nchanged\n%s", i, w, c)
			}
		})
	}
}

// TestSiteDoubled: twice the nodes for jobs twice as large changes nothing on
// nodes that are all alike, without sharing, vClusters, limits or caps, under
// none, first-fit and easy with an order that does not look at sizes.
func TestSiteDoubled(t *testing.T) {
	t.Parallel()
	worlds := 300
	if testing.Short() {
		worlds = 20
	}
	for i := range worlds {
		d := drawSite(longBytes(uint64(i)))
		w := &siteWorld{
			head:   []string{"agents: {kill_grace: 1s, wipe: 0s, boot_delay: 0s}", "node_types: [{name: a, cpus: 1, idle_power: 50W, busy_power: 100W}]"},
			groups: []siteGroup{{"g0", "a", "x", 1 + i%9}}, jobs: d.jobs, edges: d.edges, size: d.size, seed: d.seed,
			vclusters: []string{"{name: v0, home: all, profile: {order: fcfs, backfill: " + []string{"none", "first-fit", "easy"}[i%3] + "}}"},
		}
		for k := range w.jobs {
			j := &w.jobs[k]
			j.GPUsPerNode, j.GPUType, j.NodesMax = traces.Opt[int32]{}, "", traces.Opt[int32]{}
			j.Tenant, j.QOS, j.Partition, j.Reservation = "", "", "", ""
		}
		want := siteTimesOf(t, w, 0, 1)
		c := w.clone()
		c.groups[0].nodes *= 2
		for k := range c.jobs {
			c.jobs[k].NodesMin.V *= 2
		}
		require.Equal(t, want, siteTimesOf(t, c, 0, 2), "world %d\n%s", i, w)
	}
}
