package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/internal/rundata"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// site is what a report says more of the run of a site.
type site struct {
	doc    rundata.Document // the cluster file
	table  *metric.Table
	window string // steady where there is one: shares are shown over it
	bins   []record.VClusterBin
	names  []string // that bins index
	shared bool     // jobs share nodes: what they hold is counted in GPUs
	nodes  int64
	units  int64

	entries map[string]map[string]rundata.Document // of lists of the cluster file, by name; see named
}

// siteFigure names the figures that siteFigures draws.
var siteFigure = map[string]bool{"nodes-by-vcluster": true, "shares-by-tenant": true, "waits-by-group": true, "usage-by-tenant": true, "reasons": true, "power": true, "energy-by-group": true, "run-time": true}

// readSite reads what a run says of its site; nil when it is of none.
func readSite(f *record.Run, a *rundata.About, t *metric.Table) (*site, error) {
	if len(t.Groups) == 0 {
		return nil, nil
	}
	s := &site{doc: a.Site, table: t, window: metric.All, nodes: int64(len(a.Units)), units: a.TotalUnits(), shared: a.Shared}
	for i := range t.Groups {
		if t.Groups[i].Window == metric.Steady && t.Groups[i].Share != nil {
			s.window = metric.Steady
		}
	}
	var err error
	if s.bins, s.names, err = f.Shares(); err != nil {
		return nil, err
	}
	for i, b := range s.bins {
		if int(b.VCluster) != i%len(s.names) || len(s.bins)%len(s.names) != 0 {
			return nil, rundata.Damaged(f, record.TableShares+".parquet", fmt.Sprintf("row %d of vCluster %s, out of turn", i, s.names[b.VCluster]))
		}
	}
	if len(s.groups(metric.ByTenant, s.window)) != len(s.groups(metric.ByTenant, metric.All)) {
		return nil, rundata.Damaged(f, record.FileMetrics, "other tenants in one window than in the other")
	}
	return s, nil
}

// groups are the rows of a kind in a window.
func (s *site) groups(by, window string) []record.Group {
	var out []record.Group
	for _, g := range s.table.Groups {
		if g.By == by && g.Window == window {
			out = append(out, g)
		}
	}
	return out
}

// named finds the entry of a list of the cluster file by its name.
func (s *site) named(list, name string) rundata.Document {
	if s.entries[list] == nil {
		byName := map[string]rundata.Document{} // there may be 65,536 tenants
		all, _ := s.doc.At(list).([]any)
		for _, v := range all {
			m, ok := v.(map[string]any)
			if own := rundata.Document(m).Text("", "name"); ok && byName[own] == nil {
				byName[own] = m
			}
		}
		if s.entries == nil {
			s.entries = map[string]map[string]rundata.Document{}
		}
		s.entries[list] = byName
	}
	return s.entries[list][name]
}

func (r *run) siteFigures() []*plot.Figure {
	s := r.site
	if s == nil {
		return nil
	}
	var out []*plot.Figure
	if len(s.bins) > 0 {
		out = append(out, plot.NodesByVCluster(s.stack(), r.Clock(), r.steady(), r.shown()))
	}
	if f := r.tenants.figure(s, r.Clock()); f != nil {
		out = append(out, f)
	}
	out = append(out, plot.WaitsByGroup(s.waitRows()))
	if rows := s.shareRows(); len(rows) > 0 {
		window := "whole run"
		if s.window == metric.Steady {
			window = "steady window"
		}
		out = append(out, plot.Shares(rows, s.measure()+" time", window))
	}
	if rows := s.reasonRows(); len(rows) > 0 {
		out = append(out, plot.Reasons(rows))
	}
	return append(out, r.powerFigures()...)
}

// measure is in what the use of the site is counted.
func (s *site) measure() string {
	if s.shared {
		return "GPU"
	}
	return "node"
}

// stack turns the bins into layers. Where jobs share nodes, a node counts for
// each of them, so GPUs are shown, and of these as many as borrowed as of the
// nodes.
func (s *site) stack() plot.Stack {
	st := plot.Stack{StartUS: int64(s.bins[0].Time), WidthUS: int64(s.bins[0].Width), Unit: s.measure() + "s", Units: s.nodes, Layers: make([]plot.Layer, len(s.names))}
	for i, name := range s.names {
		st.Layers[i].Name = name
	}
	if s.shared {
		st.Units = s.units
	}
	for _, b := range s.bins {
		l, w := &st.Layers[b.VCluster], float64(max(1, b.Width))
		if !s.shared {
			l.Held = append(l.Held, float64(b.NodeUS)/w)
			l.Borrowed = append(l.Borrowed, float64(b.BorrowedUS)/w)
			continue
		}
		l.Held = append(l.Held, float64(b.GPUUS)/w)
		l.Borrowed = append(l.Borrowed, float64(b.GPUUS)/w*float64(b.BorrowedUS)/float64(max(1, b.NodeUS)))
	}
	return st
}

// waitRows are the vClusters, and under them the classes.
func (s *site) waitRows() []plot.WaitRow {
	var out []plot.WaitRow
	for _, by := range []struct{ by, prefix string }{{metric.ByVCluster, ""}, {metric.ByClass, "class "}} {
		if len(out) > 0 {
			out = append(out, plot.WaitRow{})
		}
		for _, g := range s.groups(by.by, metric.All) {
			if g.WaitP50 != nil {
				out = append(out, plot.WaitRow{Name: by.prefix + g.Name, Jobs: g.Started, P50: *g.WaitP50, P95: *g.WaitP95, Max: *g.WaitMax})
			}
		}
	}
	return out
}

// mostRows bounds the tenants of the figure; the table has all.
const mostRows = 30

func (s *site) shareRows() []plot.BarRow {
	var out []plot.BarRow
	for _, g := range s.groups(metric.ByTenant, s.window) {
		if g.Share == nil {
			continue
		}
		row := plot.BarRow{Name: g.Name, Value: *g.Share, Target: -1, Says: percent(*g.Share)}
		if g.Target != nil {
			row.Target = *g.Target
			row.Says += ", due " + percent(*g.Target)
		}
		out = append(out, row)
	}
	slices.SortStableFunc(out, func(a, b plot.BarRow) int { return cmp.Compare(b.Value, a.Value) })
	return out[:min(len(out), mostRows)]
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

const hourUS = 3_600_000_000

func hours(us int64) float64 { return float64(us) / hourUS }

func (s *site) reasonRows() []plot.BarRow {
	var out []plot.BarRow
	all := int64(0)
	for _, t := range s.table.Reasons {
		all += t.JobUS
	}
	for _, t := range s.table.Reasons {
		if t.JobUS > 0 {
			says := percent(float64(t.JobUS)/float64(all)) + ", " + page.Count(t.Begun, "time", "times")
			out = append(out, plot.BarRow{Name: reasonWords(t.Reason), Value: hours(t.JobUS), Target: -1, Says: says})
		}
	}
	slices.SortStableFunc(out, func(a, b plot.BarRow) int { return cmp.Compare(b.Value, a.Value) })
	return out
}

// waitsFor says in a few words what a job waits for.
var waitsFor = map[string]string{
	"QUOTA_NODES": "tenant's node limit", "QUOTA_GPUS": "tenant's GPU limit", "QUOTA_CONCURRENT": "tenant's job limit", "QOS_LIMIT": "limit of its QOS",
	"PARTITION_LIMIT": "partition", "GROUP_LIMIT": "limit of its task group", "MUTEX": "mutex", "DEPENDENCY": "a predecessor",
	"HELD": "its release", "NOT_ELIGIBLE": "its eligible time", "MIN_SCORE": "a higher score", "RESOURCES": "free nodes",
	"POWER": "power cap", "BANDWIDTH": "storage bandwidth", "CONFORMANCE": "nodes of one kind", "RESERVED": "a reservation's end",
	"PRIORITY": "jobs before it", "SENSITIVE_POOL": "the sensitive pool", "SESSION_LIMIT": "sessions of its user",
}

func reasonWords(code string) string {
	if w, ok := waitsFor[code]; ok {
		return w + " (" + code + ")"
	}
	return code
}

// titled is a table of the report with its heading.
type titled struct {
	id, title string
	table     *doc.Table
}

// siteTables are what was run and what came of it, group by group.
func (r *run) siteTables() []titled {
	if r.site == nil {
		return nil
	}
	out := []titled{
		{"vclusters", "vClusters", r.site.vclusterTable()},
		{"tenants", "Tenants", r.site.tenantTable()},
		{"classes", "Preemption classes", r.site.classTable()},
	}
	if len(r.About.Served) > 0 {
		out = append(out, titled{"services", "Services", serviceTable(r.About.Served)})
	}
	if len(r.About.Taken) > 0 {
		out = append(out, titled{"takings", "Who took what from whom", takingTable(r.About.Taken)})
	}
	if len(r.About.TakenOfTenants) > 0 {
		out = append(out, titled{"tenant-takings", "What services and tenants took from each other", takingTable(r.About.TakenOfTenants)})
	}
	if t := r.energyTable(); t.Len() > 0 {
		out = append(out, titled{"energy", "Energy and cost", t})
	}
	if t := r.timeTable(); t.Len() > 0 {
		out = append(out, titled{"run-time", "Where GPU time went", t})
	}
	return out
}

// serviceTable is what came of the services of the cluster file.
func serviceTable(services []rundata.Document) *doc.Table {
	out := doc.New("service", "policy", "requests", "missed %", "bad steps %", "node-hours", "demands", "not met", "reasons", "replicas sent home", "preempted", "theta under %", "theta over %")
	decimals := func(x float64) doc.Cell { return doc.Quantity(doc.Digits(x, 3), x) }
	for _, s := range services {
		reasons, unmet := "", int64(0)
		if m, ok := s.At("unmet").(map[string]any); ok {
			for _, reason := range slices.Sorted(maps.Keys(m)) {
				n := s.Integer("unmet." + reason)
				unmet += n
				reasons += fmt.Sprintf(", %s %s", reason, plot.Count(n))
			}
		}
		bad := 0.0
		if steps := s.Number("steps"); steps > 0 {
			bad = float64(100*s.Number("bad_steps")) / steps
		}
		out.Row(s.Text("", "name"), s.Text("", "policy"), page.CountCell(int64(s.Number("requests"))), decimals(float64(100*s.Number("missed"))), decimals(bad),
			hourCell(s.Integer("node_us")), page.CountCell(s.Integer("demands")), page.CountCell(unmet), strings.TrimPrefix(reasons, ", "),
			page.CountCell(s.Integer("reclaimed_replicas")), page.CountCell(s.Integer("preempted")), decimals(s.Number("elasticity.theta_under_pct")), decimals(s.Number("elasticity.theta_over_pct")))
	}
	return out
}

// takingTable is what services, and the jobs of vClusters or tenants, took from each other.
func takingTable(takings []rundata.Document) *doc.Table {
	out := doc.New("from", "to", "preemptions", "nodes taken", "node-hours taken", "node-hours borrowed", "hours of delay", "GPU-hours lost")
	party := func(t rundata.Document, side string) string {
		switch service, vcluster, tenant := t.Text("", side+".service"), t.Text("", side+".vcluster"), t.Text("", side+".tenant"); {
		case service != "":
			return "service " + service
		case vcluster != "":
			return "jobs of " + vcluster
		case tenant != "":
			return "jobs of " + tenant
		}
		return "jobs without a tenant"
	}
	for _, t := range takings {
		out.Row(party(t, "from"), party(t, "to"), page.CountCell(t.Integer("preemptions")), page.CountCell(t.Integer("nodes")), hourCell(t.Integer("node_us")),
			hourCell(t.Integer("borrowed_us")), hourCell(t.Integer("delay_us")), hourCell(t.Integer("lost_gpu_us")))
	}
	return out
}

// spanCell is a number of seconds in words.
func spanCell(x *float64) doc.Cell {
	if x == nil {
		return doc.Cell{}
	}
	return doc.Quantity(plot.Span(*x), *x)
}

func percentCell(x *float64) doc.Cell {
	if x == nil {
		return doc.Cell{}
	}
	return doc.Quantity(percent(*x), *x)
}

func hourCell(us int64) doc.Cell { return doc.Quantity(page.Number(tidy(hours(us))), hours(us)) }

// tidy leaves a tenth of an hour where that is enough.
func tidy(h float64) float64 {
	if h < 10 {
		return float64(int64(h*100+0.5)) / 100
	}
	return float64(int64(h + 0.5))
}

func (s *site) vclusterTable() *doc.Table {
	out := doc.New("vCluster", "profile", "lends", "borrows", "jobs", "started", "median wait", "p95 wait", "longest wait",
		"node-hours", "borrowed", "lent", "preemptions", "requeues", "GPU-hours lost")
	for _, g := range s.groups(metric.ByVCluster, metric.All) {
		d := s.named("vclusters", g.Name)
		lent := doc.Cell{}
		if g.LentUS != nil {
			lent = hourCell(*g.LentUS)
		}
		out.Row(g.Name, d.Text("default", "profile", "profile.name", "profile.base"), yes(d, "lend"), yes(d, "borrow"), page.CountCell(g.Jobs), page.CountCell(g.Started),
			spanCell(g.WaitP50), spanCell(g.WaitP95), spanCell(g.WaitMax), hourCell(g.NodeUS), hourCell(g.BorrowedUS), lent,
			page.CountCell(g.Preemptions), page.CountCell(g.Requeues), hourCell(g.LostUS))
	}
	return out
}

// yes says a switch that is on unless the cluster file turns it off.
func yes(d rundata.Document, key string) string {
	if on, ok := d.At(key).(bool); ok && !on {
		return "no"
	}
	return "yes"
}

func (s *site) tenantTable() *doc.Table {
	out := doc.New("tenant", "most nodes", "most running", "fair share", "usage", "off by", "jobs", "started", "median wait", "p95 wait",
		"longest wait", "held by limits (h)", "preemptions", "GPU-hours lost")
	shares := s.groups(metric.ByTenant, s.window)
	for i, g := range s.groups(metric.ByTenant, metric.All) {
		d := s.named("tenants", g.Name)
		held, off := doc.Cell{}, doc.Cell{}
		if g.HeldUS != nil {
			held = hourCell(*g.HeldUS)
		}
		if v := shares[i].Deviation; v != nil {
			off = doc.Quantity(fmt.Sprintf("%+.1f points", 100**v), *v)
		}
		out.Row(g.Name, limit(d, "max_nodes"), limit(d, "max_concurrent"), percentCell(g.Target), percentCell(shares[i].Share), off,
			page.CountCell(g.Jobs), page.CountCell(g.Started), spanCell(g.WaitP50), spanCell(g.WaitP95), spanCell(g.WaitMax), held,
			page.CountCell(g.Preemptions), hourCell(g.LostUS))
	}
	return out
}

// limit of a tenant; 0 and a missing one are none.
func limit(d rundata.Document, key string) doc.Cell {
	if n := d.Integer(key); n > 0 {
		return page.CountCell(n)
	}
	return doc.Cell{}
}

func (s *site) classTable() *doc.Table {
	out := doc.New("class", "jobs", "started", "median wait", "p95 wait", "longest wait", "started in time", "starved",
		"preemptions", "requeues", "GPU-hours lost")
	for _, g := range s.groups(metric.ByClass, metric.All) {
		out.Row(g.Name, page.CountCell(g.Jobs), page.CountCell(g.Started), spanCell(g.WaitP50), spanCell(g.WaitP95), spanCell(g.WaitMax),
			percentCell(g.Within), percentCell(g.Starved), page.CountCell(g.Preemptions), page.CountCell(g.Requeues), hourCell(g.LostUS))
	}
	return out
}

// orAllows adds to a warning what only a site refuses.
func (r *run) orAllows() string {
	if r.site == nil {
		return ""
	}
	return ", or than its limits ever allow"
}

// withdrawnBecause says why jobs left the queue.
func (r *run) withdrawnBecause() string {
	if r.site == nil {
		return "as recorded in the log"
	}
	return "as recorded in the log, or because what they depend on can come no more"
}
