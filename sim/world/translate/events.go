package translate

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
)

// PriceScale turns prices of energy into what scores use: Low and below is 0,
// High and above is 1, linearly between. Low must be less than High.
type PriceScale struct{ Low, High float64 } // EUR/kWh

// of is a price on the scale.
func (s PriceScale) of(price float64) int64 {
	return int64(min(max(model.FixedOf((price-s.Low)/(s.High-s.Low)), 0), model.One))
}

// SiteEvents is what the events and prices of a trace state about a site.
type SiteEvents struct {
	// Changes ascend; those of one instant are in the order of the tables, events
	// first.
	Changes []Change
	// Outages of the quorum ascend by their begin.
	Outages []Outage
	// Reservations that are announced begin at their announcement at the earliest.
	Reservations []model.Reservation
}

// IgnoredEvents are the kinds of events that a replay does not follow, ascending, and what
// holds instead: they tell how the log was made, and a replay is there to try
// something else.
var IgnoredEvents = [...]struct{ Kind, Why string }{
	{"capture", "it tells how telemetry was measured"},
	{"metric_gap", "no series of the log is read"},
	{"weights", "a profile keeps its weights throughout"},
}

// IgnoredAt is the place of a kind among IgnoredEvents, -1 for those that are followed.
func IgnoredAt(kind string) int {
	for i := range IgnoredEvents {
		if IgnoredEvents[i].Kind == kind {
			return i
		}
	}
	return -1
}

// ReadEvents turns the events, which must ascend, and the prices of a trace into
// what happens to the site. A subject that the site does not have, and a kind that
// there is not, is a *traces.DataError.
func ReadEvents(file string, site *model.Site, events []traces.Event, prices []traces.Price, scale PriceScale) (SiteEvents, error) {
	r := eventReader{site: site, scale: scale}
	for _, t := range site.Tenants {
		r.limits = append(r.limits, t.Limits)
	}
	for i := range events {
		if why := r.event(&events[i]); why != nil {
			return SiteEvents{}, &traces.DataError{File: file + " (events)", Row: int64(i) + 1, Column: why.column, Found: why.found, Expected: why.expected, Mend: why.mend}
		}
	}
	out := r.out
	for _, p := range prices {
		out.Changes = append(out.Changes, Change{At: p.Time, Kind: PriceChange, Value: scale.of(p.Price)})
	}
	slices.SortStableFunc(out.Changes, func(a, b Change) int { return int(min(1, max(-1, a.At-b.At))) })
	return out, nil
}

// eventReader keeps the limits of the tenants as the events so far have left
// them: an event names the ones that change.
type eventReader struct {
	site   *model.Site
	scale  PriceScale
	limits []model.Limits
	out    SiteEvents
}

// badEvent says what is wrong with a row.
type badEvent struct{ column, found, expected, mend string }

const mendEvent = "correct the row, or leave it out"

var nodeEvents = map[string]ChangeKind{
	"down": NodeFails, "up": NodeRepaired, "drain": NodeDrains, "undrain": NodeUndrained, "degraded": NodeDegrades,
}

// event takes over an event.
func (r *eventReader) event(e *traces.Event) *badEvent {
	switch e.Kind {
	case "reservation":
		return r.reservation(e)
	case "quorum_outage":
		span, err := strconv.ParseInt(e.Value, 10, 64)
		if err != nil || span < 0 {
			return &badEvent{"value", strconv.Quote(e.Value), "whole µs, 0 or more", mendEvent}
		}
		r.out.Outages = append(r.out.Outages, Outage{e.Time, e.Time.Add(model.Duration(span))})
		return nil
	}
	if IgnoredAt(e.Kind) >= 0 {
		return nil
	}
	c, why := r.change(e)
	c.At = e.Time
	r.out.Changes = append(r.out.Changes, c)
	return why
}

// reservation reads nodes that are set aside for a time.
func (r *eventReader) reservation(e *traces.Event) *badEvent {
	same := func(v model.Reservation) bool { return v.Name == e.Subject }
	if e.Subject == "" || slices.ContainsFunc(r.site.Reservations, same) || slices.ContainsFunc(r.out.Reservations, same) {
		return &badEvent{"subject", strconv.Quote(e.Subject), "a name that no other reservation has: a replay cannot change one", mendEvent}
	}
	says, ok := traces.ParseReserved(e.Value)
	if !ok {
		return &badEvent{"value", strconv.Quote(e.Value), "a JSON object of nodes (a list of names), start and end (µs since the epoch, the end later) and perhaps maintenance", mendEvent}
	}
	out := model.Reservation{Name: e.Subject, Nodes: model.NewNodeSet(len(r.site.Nodes)), Start: max(says.Start, e.Time), End: says.End, Maintenance: says.Maintenance}
	if out.Start >= out.End {
		return &badEvent{"value", strconv.Quote(e.Value), "an end after the event", mendEvent}
	}
	for _, name := range says.Nodes {
		n := slices.IndexFunc(r.site.Nodes, func(n model.Node) bool { return n.Name == name })
		if n < 0 {
			return &badEvent{"value", strconv.Quote(name), "the name of a node of the site", mendEvent}
		}
		out.Nodes.Add(model.NodeID(n))
	}
	r.out.Reservations = append(r.out.Reservations, out)
	return nil
}

// change reads an event that changes the site at its instant.
func (r *eventReader) change(e *traces.Event) (Change, *badEvent) {
	if kind, ok := nodeEvents[e.Kind]; ok {
		n := slices.IndexFunc(r.site.Nodes, func(n model.Node) bool { return n.Name == e.Subject })
		if n < 0 {
			return Change{}, &badEvent{"subject", strconv.Quote(e.Subject), "the name of a node of the site", mendEvent}
		}
		return Change{Kind: kind, Node: model.NodeID(n)}, nil
	}
	switch e.Kind {
	case "quota":
		return r.quota(e)
	case "power_cap", "storage_bandwidth":
		limit, err := strconv.ParseInt(e.Value, 10, 64)
		if err != nil || limit < 0 {
			return Change{}, &badEvent{"value", strconv.Quote(e.Value), "whole W or B/s, 0 for no cap", mendEvent}
		}
		if e.Kind == "power_cap" {
			return Change{Kind: PowerChange, Value: limit}, nil
		}
		return Change{Kind: BandwidthChange, Value: limit}, nil
	case "sensitive_pool":
		pool, err := strconv.ParseInt(e.Value, 10, 32)
		if err != nil || pool < 0 {
			return Change{}, &badEvent{"value", strconv.Quote(e.Value), "whole nodes, 0 for no bound", mendEvent}
		}
		return Change{Kind: PoolChange, Value: pool}, nil
	case "demand":
		return demandOf(e)
	case "price":
		price, err := strconv.ParseFloat(e.Value, 64)
		if err != nil {
			return Change{}, &badEvent{"value", strconv.Quote(e.Value), "EUR/kWh", mendEvent}
		}
		return Change{Kind: PriceChange, Value: r.scale.of(price)}, nil
	}
	return Change{}, &badEvent{"kind", strconv.Quote(e.Kind), "down, up, degraded, drain, undrain, quota, power_cap, storage_bandwidth, sensitive_pool, demand, price, reservation or quorum_outage, the kinds that a replay follows", mendEvent}
}

// demandOf reads how many nodes a reactive service is to have.
func demandOf(e *traces.Event) (Change, *badEvent) {
	id, err := strconv.ParseInt(e.Subject, 10, 64)
	if err != nil {
		return Change{}, &badEvent{"subject", strconv.Quote(e.Subject), "the id of a job of kind reactive", mendEvent}
	}
	nodes, err := strconv.ParseInt(e.Value, 10, 64)
	if err != nil || nodes < 1 {
		return Change{}, &badEvent{"value", strconv.Quote(e.Value), "whole nodes, 1 or more", mendEvent}
	}
	return Change{Kind: DemandChange, ID: id, Value: min(nodes, math.MaxInt32)}, nil // no site has more nodes
}

// quota reads the limits that change; null lifts one.
func (r *eventReader) quota(e *traces.Event) (Change, *badEvent) {
	t := slices.IndexFunc(r.site.Tenants, func(t model.Tenant) bool { return t.Name == e.Subject })
	if t < 0 {
		return Change{}, &badEvent{"subject", strconv.Quote(e.Subject), "the name of a tenant of the site", mendEvent}
	}
	var set map[string]*float64
	if err := json.Unmarshal([]byte(e.Value), &set); err != nil {
		return Change{}, &badEvent{"value", strconv.Quote(e.Value), "a JSON object of columns of the tenants table and numbers", mendEvent}
	}
	l := &r.limits[t]
	columns := map[string]func(float64){
		"max_nodes":      func(x float64) { l.MaxNodes = int32(x) },
		"max_gpus":       func(x float64) { l.MaxGPUs = int32(x) },
		"max_concurrent": func(x float64) { l.MaxConcurrent = int32(x) },
		"fair_share":     func(x float64) { l.FairShare = model.FixedOf(x) },
		"burst":          func(x float64) { l.Burst = model.FixedOf(x) },
		"gpu_hours":      func(x float64) { l.GPUBudget = hours(x) },
		"node_hours":     func(x float64) { l.NodeBudget = hours(x) },
	}
	//detlint:ordered each column sets a limit of its own, and all bad ones give one error
	for name, x := range set {
		put, known := columns[name]
		if !known || x != nil && !(*x >= 0 && *x <= 1e9) {
			return Change{}, &badEvent{"value", e.Value, "columns of the tenants table, each with a number from 0 to 1e9, or null", mendEvent}
		}
		if x != nil && *x == 0 && name != "fair_share" { // which is no limit
			return Change{}, &badEvent{"value", e.Value, "limits of more than 0, or null for none: one of 0, which keeps all jobs out, cannot be replayed", mendEvent}
		}
		if x == nil {
			put(0)
		} else {
			put(*x)
		}
	}
	return Change{Kind: LimitsChange, Tenant: model.TenantID(t), Limits: *l}, nil
}

func hours(x float64) model.Duration { return model.Duration(float64(x * float64(model.Hour))) }
