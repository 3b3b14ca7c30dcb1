package profiles

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"orrery/internal/spelling"
	"orrery/scheduler/model"
)

// DefaultCluster is a cluster file without a line in it.
func DefaultCluster() Cluster {
	var c Cluster
	setDefaults(reflect.ValueOf(&c).Elem())
	return c
}

// FlagsName is the name of the cluster files that flags make, and plainName of those that
// plain_cluster of an experiment makes.
const (
	FlagsName = "flags"
	plainName = "plain"
)

// OfSizes says whether a cluster file was made of sizes alone: it could not say which features
// its nodes have, nor their names unless a trace does. One that was written since says more.
func (c *Cluster) OfSizes() bool {
	if c.Name != FlagsName && c.Name != plainName || slices.ContainsFunc(c.NodeTypes, func(t NodeType) bool { return len(t.Features) > 0 }) {
		return false
	}
	switch len(c.Groups) {
	case 0: // a trace has the nodes
		return len(c.NodeTypes) == 0
	case 1:
		return c.Groups[0].Name == "n" && c.Groups[0].Type == "node" && c.Groups[0].Fingerprint == "alike"
	}
	return false
}

// AnyGPU is the model of GPUs of which the model is not known.
const AnyGPU = "any"

// ClusterNames lists the cluster files that are part of the program.
func ClusterNames() []string { return []string{"month", "month-power"} }

// LoadCluster reads the cluster file that is part of the program under this
// name, or else the one at this path, with the profiles that it names: paths are
// relative to its folder. The cluster then depends on no other file.
func LoadCluster(path string) (*Cluster, error) {
	text, err := []byte(nil), error(nil)
	if slices.Contains(ClusterNames(), path) {
		text, err = library.ReadFile("library/clusters/" + path + ".yaml")
	} else {
		text, err = read(path)
	}
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(path, `./\`) {
		return nil, fmt.Errorf("there is no cluster file %q%s: want %s, or the path of a file", path, spelling.Hint(path, ClusterNames()), oneOf(ClusterNames()))
	}
	if err != nil {
		return nil, err
	}
	c, err := ParseCluster(path, text)
	if err != nil {
		return nil, err
	}
	return c, c.Inline(filepath.Dir(path))
}

// ParseCluster reads a cluster file; file is what errors call it, and names the
// cluster when the text does not. The error is an *Error that lists every
// problem of the file, but those that only show once its nodes are counted:
// Resolve finds these.
func ParseCluster(file string, text []byte) (*Cluster, error) {
	c := new(Cluster)
	src, err := decode(file, text, c)
	if err != nil {
		return nil, cmp.Or(otherKind(file, text, KindCluster), err)
	}
	c.src = src
	if err := c.filled(); err != nil {
		return nil, err
	}
	if c.Name == "" {
		c.Name = nameOf(file)
	}
	for i := range c.VClusters {
		if p := c.VClusters[i].Profile.Inline; p != nil && p.Name == "" {
			p.Name = c.VClusters[i].Name
		}
	}
	return c, c.validate()
}

// ParseSite is ParseCluster for the cluster in a spec: what JSON wrote, and a document that
// holds it may have indented.
func ParseSite(name string, raw json.RawMessage) (*Cluster, error) {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) == nil {
		raw = compact.Bytes()
	}
	return ParseCluster(name, raw)
}

// Inline replaces the names and paths of profiles by the profiles. dir is the
// folder that paths are relative to.
func (c *Cluster) Inline(dir string) error {
	all := problems{src: c.src}
	var wrong *Error
	for i := range c.VClusters {
		ref := &c.VClusters[i].Profile
		if ref.Inline != nil {
			continue
		}
		name := ref.Name
		if !slices.Contains(Names(), name) && strings.ContainsAny(name, `./\`) && !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		p, err := Load(name)
		path := fmt.Sprintf("vclusters[%d].profile", i)
		switch {
		case errors.As(err, &wrong): // told of the file of the profile
			all.list = append(all.list, wrong.Problems...)
		case errors.Is(err, fs.ErrNotExist):
			all.add(path, "there is no file %s: want %s, or the path of a file from the folder of this one", name, oneOf(Names()))
		case err != nil:
			all.add(path, "%v", err)
		default:
			*ref = ProfileRef{Inline: &p}
		}
	}
	return all.err()
}

// JSON is the canonical form for inlining in a spec: defaults and remarks left
// out, keys in their documented order, each value in its one spelling.
// ParseCluster reads it back. Profiles that are still named stay names: call
// Inline first where the result must stand alone.
func (c *Cluster) JSON() []byte { return canonical(reflect.ValueOf(c).Elem()) }

// FullJSON holds every key that applies, defaults included.
func (c *Cluster) FullJSON() []byte {
	w := jsonWriter{applies: c.applies()}
	w.object(reflect.ValueOf(c).Elem())
	return w.b.Bytes()
}

// YAML prints every key that applies, defaults included. ParseCluster reads it
// back.
func (c *Cluster) YAML() []byte {
	w := yamlWriter{applies: c.applies()}
	w.block(reflect.ValueOf(c).Elem(), "", false)
	return []byte(w.b.String())
}

// BriefYAML is YAML without the keys that are at their default.
func (c *Cluster) BriefYAML() []byte {
	w := yamlWriter{applies: c.applies(), brief: true}
	w.block(reflect.ValueOf(c).Elem(), "", false)
	return []byte(w.b.String())
}

func (c *Cluster) applies() func(field) bool {
	k := c.checker()
	return func(f field) bool { return k.inert(f) == "" }
}

func (c *Cluster) checker() *checker {
	return &checker{problems{src: c.src, place: c.place}, reflect.ValueOf(c).Elem(), ""}
}

// validate says what is wrong with c as one *Error, nil when nothing is. It
// brings the values of events into their one spelling.
func (c *Cluster) validate() error {
	k := c.checker()
	k.check()
	if c.Name != "" {
		k.name("name", c.Name)
	}
	for _, l := range c.lists() {
		k.names(l.key, l.names, l.most)
	}
	for i := range c.VClusters {
		if p := c.VClusters[i].Profile.Inline; p != nil {
			sub := p.checker()
			sub.check()
			p.rules(sub)
			k.problems.list = append(k.problems.list, sub.problems.list...)
		}
	}
	for i := range c.NodeTypes {
		c.nodeType(k, i)
	}
	if a := &c.Agents; (a.Checkpoints == "young" || a.Checkpoints == "daly") && c.Failures.MTBF == 0 {
		k.add("agents.checkpoints", "found %s, whose interval comes of failures.mtbf, which is never: give it, or use value", a.Checkpoints)
	}
	c.checkFailures(k)
	c.references(k)
	c.checkHardware(k)
	c.checkServices(k)
	for i := range c.Events {
		c.event(k, i)
	}
	return k.err()
}

// names holds the names of one list, and how many there may be.
type nameList struct {
	key   string
	names []string
	most  int
}

func (c *Cluster) lists() []nameList {
	return []nameList{
		{"node_types", namesOf(c.NodeTypes, func(x NodeType) string { return x.Name }), 4096},
		{"vclusters", namesOf(c.VClusters, func(x VCluster) string { return x.Name }), 1024},
		{"tenants", namesOf(c.Tenants, func(x Tenant) string { return x.Name }), 65536},
		{"qos", namesOf(c.QOS, func(x QOS) string { return x.Name }), 4096},
		{"partitions", namesOf(c.Partitions, func(x Partition) string { return x.Name }), 4096},
		{"reservations", namesOf(c.Reservations, func(x Reservation) string { return x.Name }), 4096},
		{"workloads", namesOf(c.Workloads, func(x Workload) string { return x.Name }), 4096},
		{"services", namesOf(c.Services, func(x Service) string { return x.Name }), 4096},
		{"file_systems", c.fileSystemNames(), 64},
	}
}

// name notes a name that cannot stand in results.
func (c *checker) name(path, name string) {
	if why := goodName(name); why != "" {
		c.add(path, "%s", why)
	}
}

// names notes what is wrong with the names of a list.
func (c *checker) names(key string, names []string, most int) {
	if len(names) > most {
		c.add(key, "found %d entries, want at most %d", len(names), most)
		return
	}
	seen := map[string]int{}
	for i, name := range names {
		path := fmt.Sprintf("%s[%d].name", key, i)
		c.name(path, name)
		if j, twice := seen[name]; twice && name != "" {
			c.add(path, "found %q, which %s[%d] is called already: give each a name of its own", name, key, j)
		}
		seen[name] = i
	}
}

// known notes a reference to a name that does not exist.
func (c *checker) known(path, what, name string, names []string) {
	if name == "" || slices.Contains(names, name) {
		return
	}
	hint := "there is none in this file"
	if len(names) > 0 {
		hint = "want " + oneOf(names[:min(len(names), 20)])
	}
	c.add(path, "found %q, which is no %s%s: %s", name, what, spelling.Hint(name, names), hint)
}

// references holds names against what they refer to, and keys against each
// other.
func (c *Cluster) references(k *checker) {
	types, qos := c.lists()[0].names, c.lists()[3].names
	var groups []string
	for i, g := range c.Groups {
		path := fmt.Sprintf("groups[%d]", i)
		k.name(path+".name", g.Name)
		if len(g.Nodes) == 0 {
			k.add(path, "has no key nodes: give a number of nodes, or names like n[001-256]")
		}
		if k.known(path+".type", "node type", g.Type, types); g.Type == "" && len(types) > 1 {
			k.add(path, "has no key type: want %s", oneOf(types))
		}
		if g.Fingerprint != "" {
			k.name(path+".fingerprint", g.Fingerprint)
		}
		if !slices.Contains(groups, g.Name) {
			groups = append(groups, g.Name)
		}
	}
	if len(groups) > maxGroups {
		k.add("groups", "found %d dragonfly groups, want at most %d", len(groups), maxGroups)
		return
	}
	for i, g := range c.Groups {
		for j, other := range g.Adjacent {
			k.known(fmt.Sprintf("groups[%d].adjacent[%d]", i, j), "group", other, groups)
		}
	}
	for i, q := range c.QOS {
		for j, other := range q.Preempts {
			k.known(fmt.Sprintf("qos[%d].preempts[%d]", i, j), "quality of service", other, qos)
		}
	}
	c.promises(k)
	c.routes(k)
	for i, r := range c.Reservations {
		if r.End <= r.Start {
			k.add(fmt.Sprintf("reservations[%d].end", i), "found %s, want an instant after start, %s", formatSpan(r.End), formatSpan(r.Start))
		}
	}
	for i, p := range c.Partitions {
		if p.MaxNodes > 0 && p.MinNodes > p.MaxNodes {
			k.add(fmt.Sprintf("partitions[%d].min_nodes", i), "found %d, want at most max_nodes, %d", p.MinNodes, p.MaxNodes)
		}
	}
}

// routes holds the routing against the vClusters.
func (c *Cluster) routes(k *checker) {
	names := c.lists()[1].names
	k.known("routing.otherwise", "vCluster", c.Routing.Otherwise, names)
	values, vclusters := c.Routing.Routes()
	for i, text := range c.Routing.To {
		at := fmt.Sprintf("routing.to[%d]", i)
		switch j := slices.Index(values[:i], values[i]); {
		case !strings.Contains(text, "=") || vclusters[i] == "":
			k.add(at, "found %q, want VALUE=VCLUSTER, for example batch=%s", text, cmp.Or(strings.Join(names[:min(1, len(names))], ""), "hpc"))
		case j >= 0:
			k.add(at, "found %s a second time: leave one of them out", values[i])
		default:
			k.known(at, "vCluster", vclusters[i], names)
		}
	}
}

// promises holds what is promised to classes against each other.
func (c *Cluster) promises(k *checker) {
	for i, x := range c.Classes {
		path := fmt.Sprintf("classes[%d]", i)
		j := slices.IndexFunc(c.Classes[:i], func(o ClassTarget) bool { return o.Class == x.Class })
		switch {
		case x.Class < 0:
			k.add(path, "has no key class: want a number from 0 to %d", model.SensitiveClass)
		case j >= 0:
			k.add(path+".class", "found %d, which classes[%d] is about already: leave one of them out", x.Class, j)
		case x.TargetWait == 0:
			k.add(path, "has no key target_wait, for example 15m")
		}
	}
}

// maxGroups bounds the dragonfly groups: each holds a list of its neighbours.
const maxGroups = 4096

// nodeType holds the keys of a node type against each other.
func (c *Cluster) nodeType(k *checker, i int) {
	t, path := &c.NodeTypes[i], fmt.Sprintf("node_types[%d]", i)
	if t.GPU == "" && t.GPUs > 0 {
		k.add(path, "has %d gpus and no key gpu: name their model", t.GPUs)
	}
	if t.GPU != "" {
		if k.name(path+".gpu", t.GPU); t.GPUs == 0 {
			k.add(path+".gpu", "found %s, but gpus is 0: say how many there are", t.GPU)
		}
	}
	if t.BusyPower < t.IdlePower {
		k.add(path+".busy_power", "found %dW, want at least idle_power, %dW", t.BusyPower, t.IdlePower)
	}
	for j, f := range t.Features {
		k.name(fmt.Sprintf("%s.features[%d]", path, j), f)
	}
	t.GPUTopology.check(k, path+".gpu_topology", t.GPUs)
}

// empty says that nothing is known of the GPUs.
func (g *GPUTopology) empty() bool {
	return len(g.Islands) == 0 && len(g.NUMA) == 0 && len(g.Bandwidth) == 0
}

// check holds the parts of a topology against the number of GPUs.
func (g *GPUTopology) check(k *checker, path string, gpus int32) {
	if len(g.Islands) > 0 && len(g.Bandwidth) > 0 {
		k.add(path+".bandwidth", "is there beside islands: leave one of them out")
	}
	seen := map[int32]bool{}
	for i, island := range g.Islands {
		for j, n := range island {
			at := fmt.Sprintf("%s.islands[%d][%d]", path, i, j)
			switch {
			case n < 0 || n >= gpus:
				k.add(at, "found GPU %d, but the node has %d: they count from 0", n, gpus)
			case seen[n]:
				k.add(at, "found GPU %d a second time: each is in one island", n)
			}
			seen[n] = true
		}
	}
	if n := len(g.NUMA); n > 0 && n != int(gpus) {
		k.add(path+".numa", "found %d domains, want one for each of %d GPUs", n, gpus)
	}
	for i, domain := range g.NUMA {
		if domain < 0 || domain > 63 {
			k.add(fmt.Sprintf("%s.numa[%d]", path, i), "found %d, want 0 to 63", domain)
		}
	}
	if n := len(g.Bandwidth); n > 0 && n != int(gpus) {
		k.add(path+".bandwidth", "found %d rows, want one for each of %d GPUs", n, gpus)
		return
	}
	for i, row := range g.Bandwidth {
		if len(row) != int(gpus) {
			k.add(fmt.Sprintf("%s.bandwidth[%d]", path, i), "found %d values, want one for each of %d GPUs", len(row), gpus)
			return
		}
	}
	for i, row := range g.Bandwidth {
		for j, v := range row {
			if v < 0 || v > 1_000_000 || v != g.Bandwidth[j][i] {
				k.add(fmt.Sprintf("%s.bandwidth[%d][%d]", path, i, j), "found %d, want 0 to 1000000, and the same both ways", v)
				return
			}
		}
	}
}

// Kinds of events whose subject is nodes.
var nodeEvents = []string{"drain", "undrain", "degraded", "down", "up"}

// event holds one event against its kind and brings its value into its one
// spelling.
func (c *Cluster) event(k *checker, i int) {
	e, path := &c.Events[i], fmt.Sprintf("events[%d]", i)
	if e.Kind == "" {
		k.add(path, "has no key kind: say what changes")
		return
	}
	onNodes, quota := slices.Contains(nodeEvents, e.Kind), e.Kind == "quota"
	for _, key := range []struct {
		name          string
		there, wanted bool
	}{{"subject", len(e.Subject) > 0, onNodes || quota}, {"limit", e.Limit != "", quota}, {"value", e.Value != "", !onNodes}} {
		switch {
		case key.wanted && !key.there:
			k.add(path, "is of kind %s and has no key %s", e.Kind, key.name)
			return
		case key.there && !key.wanted:
			k.add(path+"."+key.name, "does not apply with kind: %s: leave it out", e.Kind)
			return
		}
	}
	if onNodes {
		return
	}
	if quota {
		k.known(path+".subject", "tenant", strings.Join(e.Subject, ", "), c.lists()[2].names)
		limits := keysIn(fieldsOf(reflect.TypeFor[Tenant]()))[1:]
		if k.known(path+".limit", "limit of a tenant", e.Limit, limits); !slices.Contains(limits, e.Limit) {
			return
		}
	}
	v, f, err := e.read()
	if err != nil {
		k.add(path+".value", "%v", err)
		return
	}
	bound := checker{problems: problems{src: k.src, place: k.place}, root: k.root}
	bound.within(path+".value", v, f)
	k.problems.list = append(k.problems.list, bound.problems.list...)
	e.Value = formatScalar(v, f)
}

// read is the value of an event as the key that it changes.
func (e *Event) read() (reflect.Value, field, error) {
	in, key := reflect.TypeFor[Cluster](), e.Kind
	switch e.Kind {
	case "quota":
		in, key = reflect.TypeFor[Tenant](), e.Limit
	case "price":
		in, key = reflect.TypeFor[struct {
			Price float64 `yaml:"price" min:"0" max:"1"`
		}](), "price"
	}
	f, _ := findField(fieldsOf(in), key)
	v := reflect.New(f.Type).Elem()
	return v, f, parseScalar(e.Value, v, f)
}

// hours is a budget as a span; it is below 2^63 by the range of the key.
func hours(h float64) model.Duration {
	return model.Duration(nearest(decimal(float64(h * float64(model.Hour)))))
}
