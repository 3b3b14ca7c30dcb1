package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world"
	"orrery/sim/world/translate"
)

// worldOf is the configuration of the simulated world of a site amid what the trace
// says happens to it. cap is what it may draw, 0 for any power.
func (p *Resolved) worldOf(res *profiles.Site, cap int64, announced translate.SiteEvents, src Tables) (world.SiteConfig, error) {
	a := &res.Agents
	w := world.SiteConfig{
		Site: &res.Site, Seed: p.Spec.Seed, Expected: p.World.Expected, Latency: res.Quorum.Latency, Jitter: res.Quorum.Jitter,
		Rows: translate.Rows{File: src.Info().Name, GPUTypes: knownTypes(res.GPUTypes), Policy: p.World.Policy, Shared: res.Shared, CPUs: res.JobCPUs, Memory: res.JobMemory, Warm: p.Warm, IgnoreUnknownTenants: true},
		Exit: preemptionOf(&profiles.Preemption{}, a), StartDelay: a.StartDelay, BootDelay: a.BootDelay, ReadBandwidth: int64(a.RestoreBandwidth), Wipe: a.Wipe,
		Visible: a.CompletionDelay, Faults: faultsOf(res),
	}
	for i := range res.Profiles { // all that preempt agree
		if res.Profiles[i].Preemption.Enabled {
			w.Exit = preemptionOf(&res.Profiles[i].Preemption, a)
		}
	}
	p.hardwareOf(&w, res, cap, src)
	w.Checkpoints = checkpointsOf(res)
	w.Rows.Unstated = &translate.Unstated{Checkpoint: res.JobCheckpoint, Requeue: res.JobRequeue, MaxRequeue: res.JobRequeueMax}
	w.Rows.TellCheckpoint = w.Checkpoints != nil || slices.ContainsFunc(res.Profiles, func(p profiles.Profile) bool { return p.Preemption.Enabled })
	if own := &res.Profiles[0]; own.Backfill == "slurm" {
		w.Rows.SpreadTasks, w.Rows.NoMemory = true, !own.Slurm.ConsumableMemory
	}
	var err error
	for i := range res.Changes {
		if w.Changes, err = appendChange(w.Changes, &res.Changes[i], len(res.Nodes)); err != nil {
			return w, err
		}
	}
	w.Changes = append(w.Changes, announced.Changes...) // those of the file come first at one instant
	slices.SortStableFunc(w.Changes, func(a, b translate.Change) int { return cmp.Compare(a.At, b.At) })
	w.Outages = announced.Outages
	if res.Profiles[0].Backfill == "slurm" {
		for i := range w.Changes {
			if c := &w.Changes[i]; c.Kind == translate.PowerChange || c.Kind == translate.BandwidthChange || c.Kind == translate.PoolChange {
				return w, usagef("at %s the cap on power, bandwidth or sensitive nodes changes, and backfill: slurm knows none of these: leave the event out, or use another backfill", c.At)
			}
		}
	}
	if err := w.Validate(); err != nil {
		return w, &UsageError{err.Error()}
	}
	return w, nil
}

// knownTypes are the GPU models that jobs may ask for, none where it is not known what the
// nodes have.
func knownTypes(types []string) []string {
	if len(types) == 1 && types[0] == profiles.AnyGPU {
		return nil
	}
	return types
}

// checkpointsOf says when running jobs write checkpoints, nil for never. One of
// no size is written at once and costs nothing.
func checkpointsOf(res *profiles.Site) *preempt.CheckpointConfig {
	i := slices.Index([]string{"value", "young", "daly"}, res.Agents.Checkpoints)
	if i < 0 {
		return nil
	}
	c := preempt.DefaultCheckpointConfig()
	c.Strategy, c.Bandwidth, c.Bytes = preempt.Strategy(i), int64(res.Agents.CheckpointBandwidth), 0
	if res.Failures.MTBF > 0 {
		c.MTBF = res.Failures.MTBF
	}
	return &c
}

// happenings is what the trace says of a site. Prices in money are put on the scale from
// the lowest to the highest of the trace.
func happenings(site *model.Site, src Tables) (translate.SiteEvents, error) {
	if len(src.Events()) == 0 && len(src.Prices()) == 0 {
		return translate.SiteEvents{}, nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	span := func(x float64) { low, high = min(low, x), max(high, x) }
	for _, p := range src.Prices() {
		span(p.Price)
	}
	for _, e := range src.Events() {
		if x, err := strconv.ParseFloat(e.Value, 64); e.Kind == "price" && err == nil {
			span(x)
		}
	}
	if !(low < high) { // one price, or none
		high = low + 1
	}
	return translate.ReadEvents(src.Info().Name, site, src.Events(), src.Prices(), translate.PriceScale{Low: low, High: high})
}

// nodeChanges are the events that are about nodes.
var nodeChanges = map[string]translate.ChangeKind{
	"drain": translate.NodeDrains, "undrain": translate.NodeUndrained, "degraded": translate.NodeDegrades, "down": translate.NodeFails, "up": translate.NodeRepaired,
}

// appendChange turns an event of the cluster file into changes of the world.
func appendChange(dst []translate.Change, c *profiles.Change, nodes int) ([]translate.Change, error) {
	if kind, ok := nodeChanges[c.Kind]; ok {
		for n := c.Nodes.Next(0); n >= 0 && int(n) < nodes; n = c.Nodes.Next(n + 1) {
			dst = append(dst, translate.Change{At: c.At, Kind: kind, Node: n})
		}
		return dst, nil
	}
	out := translate.Change{At: c.At}
	switch c.Kind {
	case "quota":
		out.Kind, out.Tenant, out.Limits = translate.LimitsChange, c.Tenant, c.Limits
	case "price":
		out.Kind, out.Value = translate.PriceChange, int64(c.Price)
	case "power_cap":
		out.Kind, out.Value = translate.PowerChange, c.Amount
	case "storage_bandwidth":
		out.Kind, out.Value = translate.BandwidthChange, c.Amount
	case "sensitive_pool":
		out.Kind, out.Value = translate.PoolChange, c.Amount
	default:
		return dst, siteError{&profiles.Error{Problems: []profiles.Problem{{
			Key: c.Key + ".kind", Text: fmt.Sprintf("found %s, which no replay can change yet: leave the event out", c.Kind),
		}}}}
	}
	return append(dst, out), nil
}
