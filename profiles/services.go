package profiles

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// Service is a reactive service of a cluster file: what comes to it, what it does with that,
// and the policy that says how many replicas it is to have. Conditions on its keys are on
// other keys of the same service.
type Service struct {
	Name     string `yaml:"name" unit:"name" doc:"that results name"`
	VCluster string `yaml:"vcluster" unit:"name" doc:"in whose queue it is, and whose home nodes it has its minimum on; needed where there are several"`
	Tenant   string `yaml:"tenant" unit:"name" doc:"whose limits it counts against"`
	QOS      string `yaml:"qos" unit:"name" doc:"quality of service"`
	Class    int32  `yaml:"class" default:"5" min:"0" max:"9" unit:"class" doc:"preemption class"`

	Nodes  int32 `yaml:"nodes" default:"1" min:"1" max:"65536" unit:"nodes" doc:"of each replica"`
	GPUs   int32 `yaml:"gpus" default:"0" min:"0" max:"64" unit:"GPUs" doc:"on each of them; 0 takes whole nodes where jobs share GPUs"`
	CPUs   int32 `yaml:"cpus" default:"0" min:"0" max:"16384" unit:"cores" doc:"likewise"`
	Memory Bytes `yaml:"memory" default:"0" min:"0" unit:"size" doc:"likewise"`

	Min   int64          `yaml:"min" default:"1" min:"1" max:"65536" unit:"replicas" doc:"least size, on nodes that are not borrowed; a service that runs has one at least"`
	Max   int64          `yaml:"max" default:"100" min:"1" max:"65536" unit:"replicas" doc:"largest size; those above min may be on borrowed nodes"`
	Start model.Duration `yaml:"start" default:"0s" min:"0s" unit:"span" doc:"since the epoch of the trace, of the submission and of the demand"`

	Demand  ScalingDemand  `yaml:"demand" doc:"what comes from outside, as in scaling.yaml: a shape, or the load table of the trace that is replayed; the service ends with it"`
	Service ScalingService `yaml:"service" doc:"what it does with the demand, as in scaling.yaml; start, limit and latency are for the cluster to say"`
	Faults  ScalingFaults  `yaml:"faults" doc:"what fails, as in scaling.yaml, apart from nodes"`
	Policy  ScalingPolicy  `yaml:"policy" doc:"as in scaling.yaml; its bounds are min and max of the service"`
	Step    model.Duration `yaml:"step" default:"1m" min:"1s" unit:"span" doc:"of the timeline and of the elasticity metrics, which depend on it"`
}

// elsewhere are the keys of a comparison that a service of a cluster does not have, and why.
var elsewhere = []struct{ key, why string }{
	{"demand.trace", "the load table is that of the trace that is replayed: name one of its services with demand.service"},
	{"demand.invert", "a replay reads no telemetry: invert it beforehand"},
	{"service.start", "the service starts with its min: leave it out"},
	{"service.limit", "the cluster says how many there are: leave it out"},
	{"service.latency", "quorum.latency says it: leave it out"},
	{"policy.min", "the service has it: give min there"},
	{"policy.max", "the service has it: give max there"},
}

// applies says whether a key below s has an effect.
func (s *Service) applies(f field) bool {
	c := checker{root: reflect.ValueOf(s).Elem()}
	if c.inert(f) != "" {
		return false
	}
	for _, block := range []struct {
		name string
		of   reflect.Type
	}{{"demand", reflect.TypeFor[ScalingDemand]()}, {"service", reflect.TypeFor[ScalingService]()}, {"policy", reflect.TypeFor[ScalingPolicy]()}} {
		own, there := findField(fieldsOf(block.of), f.key)
		if !there || own.Tag != f.Tag {
			continue
		}
		for _, x := range elsewhere {
			if x.key == block.name+"."+f.key {
				return false
			}
		}
		kinds, some := policyKeys[f.key]
		return block.name != "policy" || !some || slices.Contains(strings.Fields(kinds), s.Policy.Kind)
	}
	return true
}

// idle says why the key at a path below s has no effect beside its policy or in a cluster, ""
// where it has one. Conditions of its tags are not looked at.
func (s *Service) idle(path string) string {
	for _, x := range elsewhere {
		if x.key == path {
			return "in a cluster (" + x.why + ")"
		}
	}
	rest, ofPolicy := strings.CutPrefix(path, "policy.")
	key, _, _ := strings.Cut(rest, ".")
	if kinds, some := policyKeys[key]; ofPolicy && some && !slices.Contains(strings.Fields(kinds), s.Policy.Kind) {
		return "with policy.kind: " + s.Policy.Kind
	}
	return ""
}

// forgetIdle takes from what the file is known to say the keys of services that have no
// effect any more: another policy is no reason to refuse a file that says what goes with the old.
func (c *Cluster) forgetIdle() {
	if c.src == nil || len(c.Services) == 0 {
		return
	}
	at := maps.Clone(c.src.at)
	for i := range c.Services {
		t := target{root: reflect.ValueOf(&c.Services[i]).Elem()}
		visit(t.root, "", func(path string, v reflect.Value, f field) bool {
			idle := t.idle(path, f) != "" && isDefault(v, f)
			if key := fmt.Sprintf("services[%d].%s", i, path); idle && c.src.has(key) {
				maps.DeleteFunc(at, func(k string, _ place) bool {
					return k == key || strings.HasPrefix(k, key+".") || strings.HasPrefix(k, key+"[")
				})
			}
			return !idle && f.kind == aBlock
		})
	}
	if len(at) < len(c.src.at) {
		src := *c.src
		src.at = at
		c.src = &src
	}
}

// DiffServices lists the keys in which services of two cluster files differ, by their paths
// (services.NAME.KEY), in the order of a and of the documents; a service that one of them
// does not have is passed over.
func DiffServices(a, b *Cluster) []Difference {
	var out []Difference
	for i := range a.Services {
		j := slices.IndexFunc(b.Services, func(s Service) bool { return s.Name == a.Services[i].Name })
		if j < 0 {
			continue
		}
		before, after := a.Services[i].leaves(), b.Services[j].leaves()
		for k, x := range before {
			if y := after[k]; x.text != y.text {
				out = append(out, Difference{"services." + a.Services[i].Name + "." + x.key, x.text, y.text, x.value, y.value, x.unit})
			}
		}
	}
	return out
}

// leaves lists all keys of every service, in the same order.
func (s *Service) leaves() (out []leaf) {
	t := target{root: reflect.ValueOf(s).Elem()}
	blocks := map[string]bool{} // that do not apply
	visit(t.root, "", func(path string, v reflect.Value, f field) bool {
		idle := blocks[parent(path)] || t.idle(path, f) != ""
		if f.kind == aBlock {
			blocks[path] = idle
			return true
		}
		if f.kind >= aNodes { // no single value
			return false
		}
		one := leaf{path, formatScalar(v, f), unitOf(f), valueOf(v, f)}
		if idle {
			one.text, one.value = "", nil
		}
		out = append(out, one)
		return false
	})
	return out
}

// Scaling is the service as a comparison with one policy has it.
func (s *Service) Scaling() *Scaling {
	out := &Scaling{Name: s.Name, Demand: s.Demand, Service: s.Service, Faults: s.Faults, Policies: []ScalingPolicy{s.Policy}, Seeds: 1, Step: s.Step}
	p := &out.Policies[0]
	p.Name = cmp.Or(p.Name, p.Kind)
	p.Min, p.Max = s.Min, s.Max
	return out
}

// checkServices holds each service against the keys that it depends on, and against the
// rest of the file.
func (c *Cluster) checkServices(k *checker) {
	vclusters, tenants, qos := c.lists()[1].names, c.lists()[2].names, c.lists()[3].names
	for i := range c.Services {
		s, at := &c.Services[i], fmt.Sprintf("services[%d]", i)
		sub := &checker{problems{src: k.src, place: k.place}, reflect.ValueOf(s).Elem(), at}
		sub.check()
		sub.known(at+".vcluster", "vCluster", s.VCluster, vclusters)
		if s.VCluster == "" && len(vclusters) > 1 {
			sub.add(at, "has no key vcluster: want %s", oneOf(vclusters))
		}
		if len(tenants) > 0 { // else those of the trace
			sub.known(at+".tenant", "tenant", s.Tenant, tenants)
		}
		sub.known(at+".qos", "quality of service", s.QOS, qos)
		s.check(sub, at)
		k.problems.list = append(k.problems.list, sub.problems.list...)
	}
}

// check holds the keys of a service against each other.
func (s *Service) check(c *checker, at string) {
	said := func(key string) bool { return c.src.has(at + "." + key) }
	if s.Max < s.Min {
		c.add(at+".max", "found %d, less than the min of %d", s.Max, s.Min)
	}
	if int64(s.Nodes)*s.Max > 1<<22 {
		c.add(at+".max", "found %d replicas of %d nodes, more nodes than any site has", s.Max, s.Nodes)
	}
	for _, x := range elsewhere {
		if said(x.key) {
			c.add(at+"."+x.key, "%s", x.why)
		}
	}
	x := s.Scaling()
	x.source = c.src
	if s.Demand.Shape == "recorded" { // the trace that is replayed
		x.Demand.Trace = "of the replay"
	}
	x.demandAt(c, at+".")
	if s.Service.Kind == "machines" {
		c.add(at+".service.kind", "found machines, which have nodes of their own: compare their policies by orrery scale")
	}
	switch s.Policy.Kind {
	case "neon":
		c.add(at+".policy.kind", "found neon, whose replicas are compute units of one machine and not nodes: compare it with others by orrery scale, on service.kind: queue")
	case "lcm", "lcm-coded":
		c.add(at+".policy.kind", "found %s, which brings the workers that it places sessions on: compare it with others by orrery scale, on service.kind: rooms", s.Policy.Kind)
	default:
		x.policyAt(c, 0, at+".policy")
	}
	if p := &s.Policy; p.Kind == "fixed" && (p.Size < s.Min || p.Size > s.Max) {
		c.add(at+".policy.size", "found %d, want %d to %d, the bounds of the service", p.Size, s.Min, s.Max)
	}
}
