package world

import (
	"encoding/json"
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

// Changes turns the events and prices of a trace into changes of the site,
// ascending; those of one instant in the order of the tables, events first. A
// subject that the site does not have, and a kind that a site cannot follow, is a
// *traces.DataError.
func Changes(file string, site *model.Site, events []traces.Event, prices []traces.Price, scale PriceScale) ([]Change, error) {
	r := eventReader{site: site, scale: scale}
	for _, t := range site.Tenants {
		r.limits = append(r.limits, t.Limits)
	}
	out := make([]Change, 0, len(events)+len(prices))
	for i := range events {
		c, why := r.read(&events[i])
		if why != nil {
			return nil, &traces.DataError{File: file + " (events)", Row: int64(i) + 1, Column: why.column, Found: why.found, Expected: why.expected, Mend: why.mend}
		}
		c.At = events[i].Time
		out = append(out, c)
	}
	for _, p := range prices {
		out = append(out, Change{At: p.Time, Kind: PriceChange, Value: scale.of(p.Price)})
	}
	slices.SortStableFunc(out, func(a, b Change) int { return int(min(1, max(-1, a.At-b.At))) })
	return out, nil
}

// eventReader keeps the limits of the tenants as the events so far have left
// them: an event names the ones that change.
type eventReader struct {
	site   *model.Site
	scale  PriceScale
	limits []model.Limits
}

// badEvent says what is wrong with a row.
type badEvent struct{ column, found, expected, mend string }

const mendEvent = "correct the row, or leave it out"

var nodeEvents = map[string]ChangeKind{
	"down": NodeFails, "up": NodeRepaired, "drain": NodeDrains, "undrain": NodeUndrained, "degraded": NodeDegrades,
}

func (r *eventReader) read(e *traces.Event) (Change, *badEvent) {
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
	case "price":
		price, err := strconv.ParseFloat(e.Value, 64)
		if err != nil {
			return Change{}, &badEvent{"value", strconv.Quote(e.Value), "EUR/kWh", mendEvent}
		}
		return Change{Kind: PriceChange, Value: r.scale.of(price)}, nil
	}
	return Change{}, &badEvent{"kind", strconv.Quote(e.Kind), "down, up, degraded, drain, undrain, quota, power_cap, storage_bandwidth or price, the kinds that a replay follows", mendEvent}
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
		if x == nil {
			put(0)
		} else {
			put(*x)
		}
	}
	return Change{Kind: LimitsChange, Tenant: model.TenantID(t), Limits: *l}, nil
}

func hours(x float64) model.Duration { return model.Duration(float64(x * float64(model.Hour))) }
