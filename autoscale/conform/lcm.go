package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"

	"orrery/autoscale"
	"orrery/autoscale/lcm"
	"orrery/scheduler/model"
)

func lcmSchemas() []schema {
	return []schema{
		cases("lcm-placement", checkLCMPlacement),
		cases("lcm-template", checkLCMTemplate),
		cases("lcm-scale-down-guards", checkLCMGuards),
		cases("lcm-commands", checkLCMCommand),
		cases("lcm-scheduler", checkLCMRetry),
		cases("lcm-scale-up-storm", checkLCMStorm),
	}
}

type lcmCapacity struct {
	CPU     int64 `json:"cpu_cores"`
	Memory  int64 `json:"memory_gb"`
	Storage int64 `json:"storage_gb"`
	Ports   int64 `json:"max_ports,omitempty"`
}

func (c lcmCapacity) capacity() lcm.Capacity {
	return lcm.Capacity{CPU: c.CPU, Memory: c.Memory, Storage: c.Storage}
}

type lcmHardware struct {
	CPUs   int64 `json:"cpu_count,omitempty"`
	Memory int64 `json:"memory_total,omitempty"`
	Disk   int64 `json:"disk_total,omitempty"`
}

func (h *lcmHardware) hardware() lcm.Hardware {
	if h == nil {
		return lcm.Hardware{}
	}
	return lcm.Hardware{CPUs: h.CPUs, Memory: h.Memory, Disk: h.Disk}
}

// effective is the capacity of a worker, none when it is not known.
func (c *lcmCapacity) effective(h *lcmHardware) (lcm.Capacity, bool) {
	if c == nil {
		return lcm.Effective(nil, h.hardware())
	}
	d := c.capacity()
	return lcm.Effective(&d, h.hardware())
}

type lcmWorker struct {
	ID        string       `json:"id"`
	Status    string       `json:"status"`
	Declared  *lcmCapacity `json:"declared_capacity"`
	Allocated lcmCapacity  `json:"allocated_capacity"`
	Sessions  []string     `json:"session_ids"`
	Ports     []struct {
		Ports map[string]int64 `json:"ports"`
	} `json:"port_allocations"`
	Licence struct {
		Product    string `json:"product,omitempty"`
		Enterprise bool   `json:"is_enterprise,omitempty"`
	} `json:"cml_license_info"`
	Metrics struct {
		Version string `json:"version"`
	} `json:"metrics"`
	Definitions []string     `json:"node_definitions,omitempty"`
	Hardware    *lcmHardware `json:"cml_system_info,omitempty"`
}

type lcmCached struct {
	Declared  lcmCapacity  `json:"declared_capacity,omitempty"`
	Allocated lcmCapacity  `json:"allocated_capacity,omitempty"`
	Available *lcmCapacity `json:"available_capacity,omitempty"`
	Sessions  *int64       `json:"assigned_session_count,omitempty"`
	Instances *int64       `json:"assigned_instance_count,omitempty"` // is not read
}

func (w *lcmWorker) worker(cache map[string]lcmCached) lcm.Worker {
	declared, _ := w.Declared.effective(w.Hardware)
	out := lcm.Worker{
		Running: w.Status == "running", Declared: declared, Allocated: w.Allocated.capacity(), Sessions: int64(len(w.Sessions)),
		Licence: lcm.LicenceOf(w.Licence.Product, "", w.Licence.Enterprise), Version: w.Metrics.Version, Definitions: w.Definitions,
	}
	if w.Declared != nil {
		out.MaxPorts = w.Declared.Ports
	}
	for _, a := range w.Ports {
		out.Ports += int64(len(a.Ports))
	}
	if e, ok := cache[w.ID]; ok {
		out.Cached = &lcm.Cached{Declared: e.Declared.capacity(), Allocated: e.Allocated.capacity(), Sessions: -1}
		if e.Available != nil {
			c := e.Available.capacity()
			out.Cached.Available = &c
		}
		if e.Sessions != nil {
			out.Cached.Sessions = *e.Sessions
		}
	}
	return out
}

type lcmPlacement struct {
	ID         string `json:"id"`
	Definition struct {
		Need struct {
			lcmCapacity
			Images []struct {
				Min         string   `json:"cml_version_min,omitempty"`
				Max         string   `json:"cml_version_max,omitempty"`
				Definitions []string `json:"node_definitions_required,omitempty"`
			} `json:"ami_requirements,omitempty"`
		} `json:"resource_requirements"`
		Licences []string `json:"license_affinity"`
		Ports    struct {
			Entries []struct {
				Name string `json:"name"`
			} `json:"port_entries"`
		} `json:"port_template,omitempty"`
	} `json:"definition"`
	Workers []lcmWorker          `json:"workers"`
	Cache   map[string]lcmCached `json:"etcd_capacities"`
	Want    struct {
		Action     string           `json:"action"`
		Worker     *string          `json:"worker_id,omitempty"`
		Reason     string           `json:"reason_class,omitempty"`
		Rejections map[string]int64 `json:"rejections,omitempty"`
		Template   *string          `json:"template,omitempty"`
		Score      *float64         `json:"score,omitempty"`
		Candidates []lcmCandidate   `json:"candidates,omitempty"`
	} `json:"expected"`
}

// lcmCandidate is a worker with its score, written as a list of both.
type lcmCandidate struct {
	ID    string
	Score float64
}

func (c *lcmCandidate) UnmarshalJSON(b []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return errors.New("a candidate is a worker and its score")
	}
	return errors.Join(json.Unmarshal(pair[0], &c.ID), json.Unmarshal(pair[1], &c.Score))
}

func (c *lcmPlacement) session() lcm.Session {
	d := &c.Definition
	s := lcm.Session{Need: d.Need.capacity(), Licences: licences(d.Licences), Ports: int64(len(d.Ports.Entries))}
	for _, m := range d.Need.Images {
		s.Images = append(s.Images, lcm.Image{MinVersion: m.Min, MaxVersion: m.Max, Definitions: m.Definitions})
	}
	return s
}

func licences(names []string) (list []lcm.Licence) {
	for _, n := range names {
		list = append(list, lcm.ParseLicence(n))
	}
	return list
}

func checkLCMPlacement(c *lcmPlacement, t *tally) {
	t.whole()
	var e lcm.Engine
	var workers []lcm.Worker
	for i := range c.Workers {
		workers = append(workers, c.Workers[i].worker(c.Cache))
	}
	s := c.session()
	list := e.Place(&s, workers)
	w := &c.Want
	action, reason, worker := "scale_up", "no_worker_meets_requirements", ""
	switch {
	case len(list) > 0:
		action, reason, worker = "assign", "best_fit", c.Workers[list[0].Worker].ID
	case len(workers) == 0:
		reason = "no_workers"
	case e.AtCapacity():
		reason = "all_running_at_capacity"
	}
	expect(t, "expected.action", action, w.Action)
	if w.Reason != "" {
		expect(t, "expected.reason_class", reason, w.Reason)
	}
	if w.Worker != nil {
		expect(t, "expected.worker_id", worker, *w.Worker)
	}
	if w.Template != nil {
		expect(t, "expected.template", lcm.ChooseCoded(s.Licences), *w.Template)
	}
	switch {
	case w.Score == nil:
	case len(list) == 0:
		t.fault("expected.score", nil, *w.Score)
	default:
		sameScore(t, "expected.score", list[0].Score, *w.Score)
	}
	if w.Rejections != nil {
		names := [lcm.Predicates]string{"status", "license", "capacity", "ami", "ports"}
		for i, n := range e.Rejected() {
			expect(t, "expected.rejections."+names[i], n, w.Rejections[names[i]])
		}
	}
	if w.Candidates != nil {
		expect(t, "number of expected.candidates", len(list), len(w.Candidates))
		for i := range min(len(list), len(w.Candidates)) {
			expect(t, "expected.candidates", c.Workers[list[i].Worker].ID, w.Candidates[i].ID)
			sameScore(t, "expected.candidates score", list[i].Score, w.Candidates[i].Score)
		}
	}
}

// sameScore compares scores, which were recorded with four decimals.
func sameScore(t *tally, field string, got, want float64) {
	if math.Abs(got-want) > 0.00005+1e-9 || math.IsNaN(got) {
		expect(t, field, got, want)
	}
}

type lcmTemplate struct {
	ID        string       `json:"id"`
	Op        string       `json:"op"`
	Need      *lcmCapacity `json:"requirements,omitempty"`
	Licences  []string     `json:"license_affinity,omitempty"`
	Tier      int          `json:"expected_tier,omitempty"`
	Templates []struct {
		Name     string      `json:"name"`
		Enabled  bool        `json:"enabled"`
		Capacity lcmCapacity `json:"capacity"`
		Cost     float64     `json:"cost_per_hour_usd"`
	} `json:"templates,omitempty"`
	Worker *struct {
		Declared *lcmCapacity `json:"declared_capacity,omitempty"`
		Hardware *lcmHardware `json:"cml_system_info,omitempty"`
	} `json:"worker,omitempty"`
	Want json.RawMessage `json:"expected"`
}

func checkLCMTemplate(c *lcmTemplate, t *tally) {
	t.whole()
	switch {
	case c.Op == "effective_capacity" && c.Worker != nil:
		c.effective(t)
	case c.Op == "template_code":
		c.expectName(t, lcm.ChooseCoded(licences(c.Licences)))
	case c.Op == "template_seed" && c.Need != nil:
		var list []lcm.Template
		for _, x := range c.Templates {
			list = append(list, lcm.Template{Name: x.Name, Enabled: x.Enabled, Capacity: x.Capacity.capacity(), Cost: x.Cost})
		}
		_, name, tier := lcm.Choose(c.Need.capacity(), list)
		c.expectName(t, name)
		expect(t, "expected_tier", int(tier), c.Tier)
	default:
		t.fault("op", c.Op, "effective_capacity, template_code or template_seed, with what belongs to it")
	}
}

func (c *lcmTemplate) expectName(t *tally, got string) {
	var want *string
	if err := json.Unmarshal(c.Want, &want); err != nil {
		t.fault("expected", got, string(c.Want))
		return
	}
	expectMaybe(t, "expected", &got, want)
}

// effective compares a capacity, which is empty when it is not known.
func (c *lcmTemplate) effective(t *tally) {
	var want struct {
		CPU     *int64 `json:"cpu_cores"`
		Memory  *int64 `json:"memory_gb"`
		Storage *int64 `json:"storage_gb"`
		Nodes   *int64 `json:"max_nodes"` // no worker here declares a limit
	}
	d := json.NewDecoder(bytes.NewReader(c.Want))
	d.DisallowUnknownFields()
	if err := d.Decode(&want); err != nil {
		t.fault("expected", err.Error(), "a capacity")
		return
	}
	expectMaybe(t, "expected.max_nodes", nil, want.Nodes)
	got, ok := c.Worker.Declared.effective(c.Worker.Hardware)
	if want.CPU == nil || want.Memory == nil || want.Storage == nil {
		expect(t, "expected is known", ok, false)
		return
	}
	expect(t, "expected", got, lcm.Capacity{CPU: *want.CPU, Memory: *want.Memory, Storage: *want.Storage})
}

type lcmGuards struct {
	ID       string   `json:"id"`
	Running  int64    `json:"running"`
	Min      int64    `json:"min_workers"`
	Cooldown float64  `json:"cooldown_s"`
	Last     *float64 `json:"last_scale_down_t"`
	Steps    []struct {
		T        float64 `json:"t"`
		Paused   bool    `json:"auto_pause_triggered"`
		Idle     bool    `json:"is_idle"`
		Eligible bool    `json:"eligible_for_pause"`
		OK       bool    `json:"drain_api_ok"`
		Drained  bool    `json:"expected_drained"`
		Event    string  `json:"expected_event"`
	} `json:"steps"`
	After int64 `json:"expected_running_after"`
	Count int64 `json:"expected_scale_down_count"`
}

func checkLCMGuards(c *lcmGuards, t *tally) {
	cfg := lcm.ReconcilerDefaults()
	cfg.Enabled, cfg.MinWorkers, cfg.Cooldown = true, c.Min, span(c.Cooldown)
	r, err := lcm.NewReconciler(cfg)
	if err != nil {
		t.whole()
		t.fault("config", err.Error(), "valid")
		return
	}
	last := model.Never
	if c.Last != nil {
		last = seconds(*c.Last)
	}
	r.Restore(c.Running, last)
	for i := range c.Steps {
		s := &c.Steps[i]
		t.check(i)
		now := seconds(s.T)
		guard, event := r.Guards(now, lcm.Idleness{AutoPaused: s.Paused, Idle: s.Idle, Eligible: s.Eligible})
		drained := guard == autoscale.GuardNone && s.OK
		if guard == autoscale.GuardNone {
			event = r.Finish(now, s.OK)
		}
		expect(t, "expected_drained", drained, s.Drained)
		expect(t, "expected_event", event.String(), s.Event)
	}
	expect(t, "expected_running_after", r.Running(), c.After)
	expect(t, "expected_scale_down_count", r.Drains(), c.Count)
}

type lcmCommand struct {
	ID    string `json:"id"`
	Op    string `json:"op"`
	Input struct {
		Template   string  `json:"template,omitempty"`
		Enabled    bool    `json:"enabled,omitempty"`
		Active     int64   `json:"active_workers,omitempty"` // all but those that are terminated
		Stopped    int64   `json:"of_which_stopped,omitempty"`
		Terminated int64   `json:"of_which_terminated,omitempty"`
		Pending    int64   `json:"pending_workers,omitempty"`
		Limit      int64   `json:"limit,omitempty"`
		Status     *string `json:"status,omitempty"`
	} `json:"input"`
	Want struct {
		Status  int    `json:"status"`
		Worker  string `json:"worker_status,omitempty"`
		Desired string `json:"desired_status,omitempty"`
		Event   string `json:"event,omitempty"`
		Note    string `json:"note,omitempty"` // a remark
	} `json:"expected"`
}

func checkLCMCommand(c *lcmCommand, t *tally) {
	t.whole()
	in, w := &c.Input, &c.Want
	var status lcm.Status
	event, worker, desired := "", "", ""
	switch c.Op {
	case "request_scale_up":
		var e lcm.Event
		status, e = lcm.Grow(lcm.Growth{Known: in.Template != "missing", Enabled: in.Enabled, Active: in.Active - in.Terminated, Limit: in.Limit})
		if event = e.String(); status == lcm.Created {
			worker, desired = "pending", "running"
		}
	case "drain_worker":
		if status = lcm.Drain(in.Status != nil, in.Status != nil && *in.Status == "running"); status == lcm.OK {
			worker, desired = "draining", "stopped"
		}
	default:
		t.fault("op", c.Op, "request_scale_up or drain_worker")
		return
	}
	expect(t, "expected.status", int(status), w.Status)
	for _, f := range [][3]string{{"event", event, w.Event}, {"worker_status", worker, w.Worker}, {"desired_status", desired, w.Desired}} {
		if f[2] != "" {
			expect(t, "expected."+f[0], f[1], f[2])
		}
	}
}

type lcmRetry struct {
	ID       string   `json:"id"`
	Decision string   `json:"decision"`
	Before   int64    `json:"retry_before"`
	Want     string   `json:"expected"`
	After    *int64   `json:"retry_after,omitempty"`
	Calls    *int64   `json:"scale_up_requests,omitempty"`
	Requeue  *float64 `json:"requeue_after_s,omitempty"`
}

// checkLCMRetry compares what becomes of a session after a decision about it.
func checkLCMRetry(c *lcmRetry, t *tally) {
	t.whole()
	cfg := lcm.SchedulerCoded()
	got, after, calls, requeue := "success", int64(0), int64(0), model.Duration(0)
	switch c.Decision {
	case "assign":
	case "scale_up": // comes again in the next cycle, and is no failure
		got, after, calls = "requeue", c.Before, 1
	case "error":
		got = "failed"
		if after, requeue, _ = cfg.Retry(c.Before); requeue > 0 {
			got = "requeue"
		}
	default:
		t.fault("decision", c.Decision, "assign, scale_up or error")
		return
	}
	expect(t, "expected", got, c.Want)
	if c.After != nil {
		expect(t, "retry_after", after, *c.After)
	}
	if c.Calls != nil {
		expect(t, "scale_up_requests", calls, *c.Calls)
	}
	if c.Requeue != nil {
		expect(t, "requeue_after_s", requeue, span(*c.Requeue))
	}
}
