package profiles

import (
	"reflect"
	"slices"
	"strings"

	"orrery/internal/spelling"
	"orrery/scheduler/model"
)

// ScalingPolicy is one policy. Which keys go with which kind is in docs/SCALING-FORMAT.md.
type ScalingPolicy struct {
	Name     string          `yaml:"name" unit:"name" doc:"in tables; the kind where it is left out"`
	Kind     string          `yaml:"kind" of:"fixed,clairvoyant,lattice,lattice-coded,hpa,kpa,keda,maestro,maestro-10,neon,lcm,lcm-coded" default:"fixed" doc:"which policy of docs/AUTOSCALING.md"`
	Size     int64           `yaml:"size" default:"1" min:"0" max:"65536" unit:"replicas" doc:"of fixed"`
	Lead     *model.Duration `yaml:"lead" zero:"boot" default:"boot" min:"0s" unit:"span" doc:"of clairvoyant, a reference that knows what each step needs: how far it looks ahead; boot is that mean and three standard deviations"`
	Min      int64           `yaml:"min" default:"1" min:"0" max:"65536" unit:"replicas" doc:"least size"`
	Max      int64           `yaml:"max" default:"100" min:"1" max:"65536" unit:"replicas" doc:"largest size"`
	Metric   string          `yaml:"metric" default:"utilization" unit:"name" doc:"of lattice, hpa and keda: utilization, queue, concurrency, rate or wait; of lattice and of hpa the utilisation is a mean, the others are per replica"`
	Target   float64         `yaml:"target" default:"0.7" min:"0.000001" unit:"as the metric" doc:"of lattice, hpa, keda and kpa (concurrency per replica), of maestro the share of rooms that are occupied, and of neon the load average per CPU (its own is 0.9)"`
	Window   *model.Duration `yaml:"window" zero:"scrape" default:"scrape" min:"1ms" unit:"span" doc:"over which the metric is averaged"`
	Interval *model.Duration `yaml:"interval" zero:"usual" default:"usual" min:"1ms" unit:"span" doc:"between evaluations"`

	UpThreshold   float64         `yaml:"up_threshold" default:"0.8" min:"0" max:"1" unit:"1" doc:"of lattice-coded"`
	DownThreshold *float64        `yaml:"down_threshold" zero:"usual" default:"usual" min:"0" max:"1" unit:"1" doc:"of lattice a share of the target, usually 0.5; of lattice-coded a utilisation, usually 0.2; of maestro the share of rooms below which it shrinks, usually 0.5"`
	UpWindow      *model.Duration `yaml:"up_window" zero:"usual" default:"usual" min:"0s" unit:"span" doc:"of lattice and hpa"`
	DownWindow    *model.Duration `yaml:"down_window" zero:"usual" default:"usual" min:"0s" unit:"span" doc:"of lattice and hpa, and of kpa the delay on the way down"`
	Cooldown      *model.Duration `yaml:"cooldown" zero:"usual" default:"usual" min:"0s" unit:"span" doc:"between changes; of keda before it goes to zero; of maestro upwards; of lcm between two drains"`
	DownCooldown  *model.Duration `yaml:"down_cooldown" zero:"usual" default:"usual" min:"0s" unit:"span" doc:"of maestro and maestro-10"`
	Tolerance     *float64        `yaml:"tolerance" zero:"usual" default:"usual" min:"0" max:"1" unit:"1" doc:"of hpa and keda"`
	Panic         *float64        `yaml:"panic" zero:"usual" default:"usual" min:"1.01" unit:"times" doc:"of kpa: demand over size that begins a panic"`
	Time          model.Duration  `yaml:"time" default:"2m" min:"10s" unit:"span" doc:"of maestro: span of the points of a trigger"`
	Share         float64         `yaml:"share" default:"0.5" min:"0" max:"1" unit:"1" doc:"of maestro: of the points that must be beyond the target"`
	Limit         float64         `yaml:"limit" default:"0.9" min:"0.01" max:"1" unit:"1" doc:"of maestro: occupied share from which it grows at once"`
	ReadyTarget   float64         `yaml:"ready_target" default:"0.2" min:"0.01" max:"0.95" unit:"1" doc:"of maestro-10: share of the matches that are to be free"`
	Watch         bool            `yaml:"watch" default:"true" doc:"of lcm: also looks half a second behind each session that comes, beside its cycle"`
	PendingAware  bool            `yaml:"pending_aware" default:"false" doc:"of lcm: counts the room on workers that boot before it calls for another"`
	CountOwn      bool            `yaml:"count_own" default:"false" doc:"of lcm: takes what it has placed off the cached capacity"`
	IdleAfter     *model.Duration `yaml:"idle_after" zero:"never" default:"never" min:"0s" unit:"span" doc:"of lcm: idle workers are drained after it, down to min; never is the original's default"`

	MissingKeepsWindows   bool `yaml:"missing_keeps_windows" default:"false" doc:"of lattice: a missing sample is passed over and the windows go on; false begins both anew"`
	ChangeRestartsWindows bool `yaml:"change_restarts_windows" default:"false" doc:"of lattice: a change of size begins both windows anew; false lets them go on during the cooldown"`
	CooldownPerDirection  bool `yaml:"cooldown_per_direction" default:"false" doc:"of lattice: growth waits for the last growth alone, and shrinking for the last shrinking"`
	CooldownOnSuccess     bool `yaml:"cooldown_on_success" default:"false" doc:"of lattice-coded: a change that is made starts the cooldown; false is the original, where a decision does, whatever becomes of it"`

	MaxUpRate    float64        `yaml:"max_scale_up_rate" default:"1000" min:"1.01" unit:"times" doc:"of kpa: replicas that are ready to those of one evaluation later, at most"`
	MaxDownRate  float64        `yaml:"max_scale_down_rate" default:"2" min:"1.01" unit:"times" doc:"of kpa: likewise on the way down: 2 halves them at most"`
	Activation   int64          `yaml:"activation_scale" default:"1" min:"1" unit:"replicas" doc:"of kpa: least size while there is any demand, also with min: 0"`
	StableWindow model.Duration `yaml:"stable_window" default:"1m" min:"6s" max:"1h" unit:"span" doc:"of kpa: demand is averaged over it, and in a panic over a tenth of it; a panic lasts as long behind its cause"`
	ZeroGrace    model.Duration `yaml:"scale_to_zero_grace" default:"30s" min:"0s" unit:"span" doc:"of kpa with min: 0: the last replica stays for so long without demand"`

	Trigger      string          `yaml:"trigger" of:"room,legacy,cpu,memory" default:"room" doc:"of maestro: usage that its triggers go by: rooms that are occupied, the same with a fixed step, CPU, or memory; a session takes its slot's share of both"`
	Delta        int64           `yaml:"delta" default:"1" min:"1" max:"1000000" unit:"rooms" doc:"of maestro with trigger: legacy: step of a change"`
	DownTime     *model.Duration `yaml:"down_time" zero:"usual" default:"usual" min:"10s" unit:"span" doc:"of maestro: span of the points of the trigger that shrinks, usually that of both"`
	LargerWindow bool            `yaml:"larger_window" default:"false" doc:"of maestro: points are kept for the longer of time and down_time; false is the original, which goes by down_time"`
	PanicRooms   int64           `yaml:"panic_rooms" default:"0" min:"0" max:"1000000" unit:"rooms" doc:"of maestro: rooms that are added at once when one becomes occupied and the occupied share is above limit; 0 is no panic"`
	MaxScaleUp   int64           `yaml:"max_scale_up" default:"300" min:"1" max:"1000000" unit:"rooms" doc:"of maestro: most that one evaluation adds, but for a panic"`
	Buffer       *int64          `yaml:"buffer" zero:"none" default:"none" min:"0" max:"1000000" unit:"rooms" doc:"of maestro-10: free rooms beyond the occupied ones, in the place of ready_target; none goes by ready_target"`

	Polling    bool   `yaml:"polling" default:"true" doc:"of lcm: looks for sessions at each interval; false leaves it to watch"`
	AutoPause  bool   `yaml:"auto_pause" default:"false" doc:"of lcm: the control plane stops every worker that is idle_after idle by itself, as the sources do, and asks neither min nor cooldown"`
	MaxRetries *int64 `yaml:"max_retries" zero:"usual" default:"usual" min:"1" max:"1000000" unit:"attempts" doc:"of lcm: failures of one session in a row until it is given up, usually 35; of lcm-coded until it comes again after 5 min, usually 5"`

	ResizeRetry *model.Duration `yaml:"resize_retry" zero:"usual" default:"usual" min:"0s" unit:"span" doc:"of neon: wait after a change of size that failed; usual is 5s"`

	Agent  ScalingAgent  `yaml:"agent" doc:"of neon on machines: what an agent goes by beside the load"`
	Plugin ScalingPlugin `yaml:"plugin" doc:"of neon on machines: the scheduler, which grants permits and moves machines"`

	Behavior ScalingBehavior `yaml:"behavior" doc:"of hpa and keda: how fast the size may change, as the behavior of a HorizontalPodAutoscaler says it"`
}

// ScalingBehavior bounds the changes of an HPA.
type ScalingBehavior struct {
	Enabled   bool         `yaml:"enabled" default:"true" doc:"false is a controller without behaviours: down_window stabilises the way down, up_factor bounds a step up, and scale_up and scale_down are set aside"`
	UpFactor  float64      `yaml:"up_factor" default:"2" min:"1" max:"1000000" unit:"times" doc:"without behaviours: a step up ends at so many times the size, or at 4 replicas"`
	ScaleUp   ScalingRules `yaml:"scale_up" doc:"rules of growth"`
	ScaleDown ScalingRules `yaml:"scale_down" doc:"rules of shrinking"`
}

// ScalingRules are those of one direction.
type ScalingRules struct {
	Window    *model.Duration `yaml:"stabilization_window" zero:"usual" default:"usual" min:"0s" max:"1h" unit:"span" doc:"of the recommendations within it the least (of scale_down the largest) counts; usual is 0s up and 5m down; up_window and down_window say the same"`
	Select    string          `yaml:"select_policy" of:"max,min,disabled" default:"max" doc:"of several policies the one that counts: the largest change, the smallest, or no change in this direction"`
	Tolerance *float64        `yaml:"tolerance" zero:"usual" default:"usual" min:"0" max:"100" unit:"1" doc:"distance of the metric from the target, as a share of it, that calls for no change; usual is the tolerance of both directions"`
	Policies  []ScalingRate   `yaml:"policies" doc:"none are those of Kubernetes: up 4 pods or 100 percent in 15s, down 100 percent in 15s"`
}

// ScalingRate bounds the change of size within a period.
type ScalingRate struct {
	Type   string         `yaml:"type" of:"pods,percent" default:"pods" doc:"what value counts: replicas, or percent of the size at the beginning of the period"`
	Value  int64          `yaml:"value" default:"1" min:"1" max:"1000000" unit:"replicas or percent" doc:"most that the size changes by within the period"`
	Period model.Duration `yaml:"period" default:"15s" min:"1s" max:"30m" unit:"span" doc:"that is looked back over"`
}

// policyKeys are the keys that only some kinds of policies have.
var policyKeys = map[string]string{
	"size": "fixed", "lead": "clairvoyant", "metric": "lattice hpa keda", "target": "lattice hpa keda kpa maestro neon", "window": "lattice hpa keda lattice-coded",
	"interval":     "lattice lattice-coded hpa kpa keda maestro maestro-10 neon lcm lcm-coded",
	"up_threshold": "lattice-coded", "down_threshold": "lattice lattice-coded maestro", "up_window": "lattice hpa", "down_window": "lattice hpa kpa",
	"cooldown": "lattice lattice-coded keda maestro lcm lcm-coded", "down_cooldown": "maestro maestro-10", "tolerance": "hpa keda", "behavior": "hpa keda", "panic": "kpa", "time": "maestro",
	"share": "maestro", "limit": "maestro", "ready_target": "maestro-10",
	"missing_keeps_windows": "lattice", "change_restarts_windows": "lattice", "cooldown_per_direction": "lattice", "cooldown_on_success": "lattice-coded",
	"max_scale_up_rate": "kpa", "max_scale_down_rate": "kpa", "activation_scale": "kpa", "stable_window": "kpa", "scale_to_zero_grace": "kpa",
	"trigger": "maestro", "delta": "maestro", "down_time": "maestro", "larger_window": "maestro", "panic_rooms": "maestro", "max_scale_up": "maestro", "buffer": "maestro-10",
	"polling": "lcm lcm-coded", "auto_pause": "lcm lcm-coded", "max_retries": "lcm lcm-coded", "resize_retry": "neon", "agent": "neon", "plugin": "neon",
	"watch": "lcm lcm-coded", "pending_aware": "lcm lcm-coded", "count_own": "lcm lcm-coded", "idle_after": "lcm lcm-coded",
	"min": "lattice lattice-coded hpa kpa keda maestro maestro-10 neon lcm lcm-coded", "max": "lattice lattice-coded hpa kpa keda maestro maestro-10 neon lcm lcm-coded",
}

// policyAt checks the keys of policy i, which are below at.
func (s *Scaling) policyAt(c *checker, i int, at string) {
	p := &s.Policies[i]
	for _, f := range fieldsOf(reflect.TypeFor[ScalingPolicy]()) {
		kinds, some := policyKeys[f.key]
		if some && c.src.has(join(at, f.key)) && !slices.Contains(strings.Fields(kinds), p.Kind) {
			c.add(join(at, f.key), "does not apply to kind: %s, but to %s: leave it out", p.Kind, oneOf(strings.Fields(kinds)))
		}
	}
	p.behavior(c, at)
	s.goesBy(c, p, at)
	s.onMachines(c, p, at)
}

// behavior checks what is said twice about how fast an HPA may change the size.
func (p *ScalingPolicy) behavior(c *checker, at string) {
	for _, x := range []struct {
		rules *ScalingRules
		other *model.Duration
		key   string
		same  string
	}{{&p.Behavior.ScaleUp, p.UpWindow, "scale_up", "up_window"}, {&p.Behavior.ScaleDown, p.DownWindow, "scale_down", "down_window"}} {
		if x.rules.Window != nil && x.other != nil {
			c.add(at+".behavior."+x.key+".stabilization_window", "stands beside %s, which says the same: leave one of them out", x.same)
		}
		if list := at + ".behavior." + x.key + ".policies"; len(x.rules.Policies) == 0 && c.src.has(list) {
			c.add(list, "is an empty list, want one policy or more: leave the key out for those of Kubernetes, or forbid the change by select_policy: disabled")
		}
	}
}

// goesBy checks the metric of a policy.
func (s *Scaling) goesBy(c *checker, p *ScalingPolicy, at string) {
	rooms := s.Service.Kind == "rooms"
	switch {
	case strings.HasPrefix(p.Metric, "recorded"), strings.HasPrefix(p.Metric, "trace"), p.Metric == "sm_util":
		c.add(at+".metric", "found %s: a recorded utilisation was made by the size at the recording and does not answer to a policy; invert it to demand (demand.invert), and scale on utilization", p.Metric)
	case !slices.Contains(ScalingMetrics(), p.Metric):
		c.add(at+".metric", "found %s%s, want %s", p.Metric, spelling.Hint(p.Metric, ScalingMetrics()), oneOf(ScalingMetrics()))
	case strings.HasPrefix(p.Kind, "maestro") && !rooms:
		c.add(at+".kind", "found %s, which scales rooms: want service.kind: rooms", p.Kind)
	case p.Kind == "maestro" && p.Target >= 1:
		c.add(at+".target", "found %v, want a share of rooms below 1", p.Target)
	case p.Kind == "maestro" && c.src.has(at+".delta") && p.Trigger != "legacy":
		c.add(at+".delta", "does not apply with trigger: %s, whose usage says the step: use trigger: legacy, or leave it out", p.Trigger)
	case p.Kind == "maestro-10" && p.Buffer != nil && c.src.has(at+".ready_target"):
		c.add(at+".ready_target", "stands beside buffer, which takes its place: leave one of them out")
	case p.Kind == "hpa" && p.Min < 1:
		c.add(at+".min", "found 0, want 1 or more: an HPA keeps a replica; keda goes to zero")
	case p.Kind == "neon":
		s.neon(c, p, at)
	case p.Kind == "lcm", p.Kind == "lcm-coded":
		s.lcm(c, p, at)
	}
}

// neon checks a service that Neon's agent sizes as one machine, a compute unit for each replica.
func (s *Scaling) neon(c *checker, p *ScalingPolicy, at string) {
	machines, start := s.Service.Kind == "machines", s.Service.Start
	for _, key := range []string{"agent", "plugin"} {
		if !machines && c.src.has(at+"."+key) {
			c.add(at+"."+key, "goes with service.kind: machines: leave it out")
		}
	}
	switch {
	case s.Service.Kind != "queue" && !machines:
		c.add(at+".kind", "found neon, which resizes a machine of so many compute units: want service.kind: machines, or queue, where each replica stands for one")
	case p.Min < 1:
		c.add(at+".min", "found 0, want 1 or more: a machine has a compute unit at least")
	case start != nil && (*start < p.Min || *start > p.Max):
		c.add("service.start", "found %d, want %d to %d, the bounds of the policy %s", *start, p.Min, p.Max, p.Name)
	}
}

// lcm checks a service whose sessions LCM places itself, on workers of its own.
func (s *Scaling) lcm(c *checker, p *ScalingPolicy, at string) {
	x, f := &s.Service, &s.Faults
	switch {
	case !p.Polling && !p.Watch:
		c.add(at+".polling", "is off, and so is watch: no session would be placed; leave one of them on")
	case p.AutoPause && p.IdleAfter == nil:
		c.add(at+".auto_pause", "pauses idle workers, and idle_after is never: say after how long a worker is idle")
	case x.Kind != "rooms":
		c.add(at+".kind", "found %s, which places sessions on workers: want service.kind: rooms, where each replica stands for a worker of so many slots", p.Kind)
	case x.Line == nil || *x.Line != -1:
		c.add(at+".kind", "found %s, whose sessions wait for a worker: want service.line: -1, so that those of the other policies do so too", p.Kind)
	case x.Mode == "fluid" || x.Patience > 0 || x.Limit > 0 || x.Warm > 0:
		c.add(at+".kind", "found %s, which has its limit in max and sessions that wait without end: leave mode: fluid, patience, limit and warm of the service out", p.Kind)
	case f.GapLength > 0 || f.Gaps > 0 || f.Slow > 0 || f.Fail > 0 || f.MTBF > 0:
		c.add(at+".kind", "found %s, of which the faults but for error are not simulated: leave them out", p.Kind)
	}
}
