package profiles

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/spelling"
	"orrery/scheduler/model"
)

// Assignment gives the key at a path a value, in the spelling of the files.
//
// A path is that of a key of the profile, weights.wait_time or depth, and then
// means the profiles of all vClusters; or vclusters.NAME.profile.KEY for one of
// them; or a key of the cluster file, in whose lists an entry goes by its name:
// tenants.alice.fair_share, quorum.latency.
type Assignment struct{ Path, Value string }

// String is PATH=VALUE.
func (a Assignment) String() string { return a.Path + "=" + a.Value }

// ParseAssignment reads PATH=VALUE.
func ParseAssignment(text string) (Assignment, error) {
	path, value, ok := strings.Cut(text, "=")
	a := Assignment{strings.TrimSpace(path), strings.TrimSpace(value)}
	if !ok || a.Path == "" || a.Value == "" {
		return a, fmt.Errorf("found %q, want PATH=VALUE, for example weights.wait_time=5", text)
	}
	return a, nil
}

// WithAll is a copy of c with keys changed, in order, and checked as a whole.
// Named profiles are read first. Keys that no longer apply go back to their
// default: with order=fcfs the weights have no effect. A key that is assigned and
// does not apply is an error, as everything is that a file may not have: an
// *Error.
func (c *Cluster) WithAll(list []Assignment) (*Cluster, error) {
	out, idle, err := c.WithApplying(list)
	if err != nil {
		return nil, err
	}
	if len(idle) > 0 {
		return nil, &Error{idle}
	}
	return out, nil
}

// WithApplying is WithAll, but passes over what does not apply and says what that
// was.
func (c *Cluster) WithApplying(list []Assignment) (out *Cluster, idle []Problem, err error) {
	if out, err = c.apart(); err != nil {
		return nil, nil, err
	}
	targets, err := out.assign(list)
	if err != nil {
		return nil, nil, err
	}
	idle = settle(targets)
	out.forgetIdle()
	if err := out.validate(); err != nil {
		return nil, nil, err
	}
	return out, idle, nil
}

// WithProfile is a copy of c in which the vCluster of that name, or with "" every
// one, is scheduled by p.
func (c *Cluster) WithProfile(vcluster string, p Profile) (*Cluster, error) {
	out, err := c.apart()
	if err != nil {
		return nil, err
	}
	found := false
	for i := range out.VClusters {
		if vcluster == "" || out.VClusters[i].Name == vcluster {
			own := p
			out.VClusters[i].Profile, found = ProfileRef{Inline: &own}, true
		}
	}
	if !found {
		names := out.lists()[1].names
		return nil, fmt.Errorf("there is no vCluster %q%s: want %s", vcluster, spelling.Hint(vcluster, names), oneOf(names))
	}
	return out, nil
}

// With is p with keys changed, as Cluster.WithAll.
func (p *Profile) With(list ...Assignment) (*Profile, error) {
	out := p.apart()
	var targets []target
	for _, a := range list {
		t := target{root: reflect.ValueOf(&out).Elem(), path: a.Path}
		if err := t.set(a); err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	if idle := settle(targets); len(idle) > 0 {
		return nil, &Error{idle}
	}
	return &out, out.Validate()
}

// apart is p without a file: its keys stand nowhere any more.
func (p *Profile) apart() Profile {
	out := *p
	out.src, out.base = nil, ""
	return out
}

// apart is a copy of c that shares nothing that assignments change.
func (c *Cluster) apart() (*Cluster, error) {
	out := *c
	out.VClusters = slices.Clone(c.VClusters)
	if len(out.VClusters) == 0 {
		out.VClusters = []VCluster{NewVCluster("default", Nodes{"all"})}
	}
	for i := range out.VClusters {
		ref := &out.VClusters[i].Profile
		var p Profile
		if ref.Inline != nil {
			p = ref.Inline.apart()
		} else {
			named, err := Load(ref.Name)
			if err != nil {
				return nil, err
			}
			p = named.apart()
		}
		*ref = ProfileRef{Inline: &p}
	}
	out.NodeTypes, out.Groups, out.Tenants = slices.Clone(c.NodeTypes), slices.Clone(c.Groups), slices.Clone(c.Tenants)
	out.QOS, out.Partitions, out.Reservations = slices.Clone(c.QOS), slices.Clone(c.Partitions), slices.Clone(c.Reservations)
	out.Classes, out.Services, out.Workloads = slices.Clone(c.Classes), slices.Clone(c.Services), slices.Clone(c.Workloads)
	out.FileSystems = slices.Clone(c.FileSystems)
	return &out, nil
}

// target is one struct that a path leads into: a profile, or the cluster.
type target struct {
	root reflect.Value
	path string // below root
	full string // as it is shown
}

// set assigns the value.
func (t *target) set(a Assignment) error {
	v, f, err := descend(t.root, t.path)
	if err == nil {
		err = parseScalar(a.Value, v, f)
	}
	if err != nil {
		return &Error{[]Problem{{Key: a.Path, Text: err.Error()}}}
	}
	t.full = a.Path
	return nil
}

func (c *Cluster) assign(list []Assignment) ([]target, error) {
	var all []target
	for _, a := range list {
		targets, err := c.targets(a.Path)
		if err != nil {
			return nil, &Error{[]Problem{{Key: a.Path, Text: err.Error()}}}
		}
		for i := range targets {
			if err := targets[i].set(a); err != nil {
				return nil, err
			}
		}
		all = append(all, targets...)
	}
	return all, nil
}

// idle says why a key of the struct has no effect, "" where it has one.
func (t *target) idle(path string, f field) string {
	c := checker{root: t.root}
	if why := c.inert(f); why != "" {
		return why
	}
	if s, ok := t.root.Addr().Interface().(*Service); ok {
		return s.idle(path)
	}
	return ""
}

// idleLeaf says why the assigned key has no effect: it, or a block around it.
func (t *target) idleLeaf() string {
	fields := fieldsOf(t.root.Type())
	for at, rest := "", t.path; ; {
		key, deeper, more := strings.Cut(rest, ".")
		f, _ := findField(fields, key)
		at, rest = join(at, key), deeper
		if why := t.idle(at, f); why != "" || !more {
			return why
		}
		fields = fieldsOf(f.Type)
	}
}

// settle puts what does not apply at its default: keys that the assignments have
// made idle, and assigned ones, which are returned as problems, each once.
func settle(targets []target) (idle []Problem) {
	var settled []any // roots, by address
	for i := range targets {
		t := &targets[i]
		if why := t.idleLeaf(); why != "" {
			p := Problem{Key: t.full, Text: "does not apply " + why + ": leave it out"}
			if !slices.Contains(idle, p) {
				idle = append(idle, p)
			}
		}
		if slices.Contains(settled, t.root.Addr().Interface()) {
			continue
		}
		changed := false
		visit(t.root, "", func(path string, v reflect.Value, f field) bool {
			if t.idle(path, f) == "" {
				return f.kind == aBlock
			}
			if !isDefault(v, f) {
				setDefault(v, f)
				changed = true
			}
			return false
		})
		if !changed { // nor would it be the next time
			settled = append(settled, t.root.Addr().Interface())
		}
	}
	return idle
}

// targets are what a path leads into.
func (c *Cluster) targets(path string) ([]target, error) {
	first, _, _ := strings.Cut(path, ".")
	if _, ok := findField(fieldsOf(reflect.TypeFor[Profile]()), first); ok {
		var all []target
		for i := range c.VClusters {
			all = append(all, target{root: reflect.ValueOf(c.VClusters[i].Profile.Inline).Elem(), path: path})
		}
		return all, nil
	}
	root := reflect.ValueOf(c).Elem()
	f, ok := findField(fieldsOf(root.Type()), first)
	if !ok {
		keys := append(keysIn(fieldsOf(reflect.TypeFor[Profile]())), keysIn(fieldsOf(root.Type()))...)
		return nil, fmt.Errorf("there is no such key%s in a profile or a cluster file", spelling.Hint(first, keys))
	}
	if f.kind != blocks {
		return []target{{root: root, path: path}}, nil
	}
	entry, rest, err := byName(root.FieldByIndex(f.Index), first, strings.TrimPrefix(path, first+"."))
	if err != nil {
		return nil, err
	}
	if inner, inside := strings.CutPrefix(rest, "profile."); inside && entry.Type() == reflect.TypeFor[VCluster]() {
		p := entry.Addr().Interface().(*VCluster).Profile.Inline
		return []target{{root: reflect.ValueOf(p).Elem(), path: inner}}, nil
	}
	return []target{{root: entry, path: rest}}, nil
}

// SettingPaths lists what paths there are: the keys of profiles, those of the cluster
// file, and in its lists those of each entry by its name. Keys of lists and the like are
// not among them: they hold no single value.
func (c *Cluster) SettingPaths() []string {
	ofProfile := leavesIn(reflect.TypeFor[Profile](), "")
	out := slices.Clone(ofProfile)
	root := reflect.ValueOf(c).Elem()
	for _, f := range fieldsOf(root.Type()) {
		if f.kind != blocks {
			out = append(out, leavesOf(f, "")...)
			continue
		}
		list := root.FieldByIndex(f.Index)
		for i := range list.Len() {
			name := list.Index(i).FieldByName("Name")
			if !name.IsValid() {
				break
			}
			at := f.key + "." + name.String()
			out = append(out, leavesIn(f.Type.Elem(), at)...)
			if f.Type.Elem() == reflect.TypeFor[VCluster]() {
				for _, key := range ofProfile {
					out = append(out, at+".profile."+key)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// leavesIn are the paths below a struct that hold one value each.
func leavesIn(t reflect.Type, path string) (out []string) {
	for _, f := range fieldsOf(t) {
		out = append(out, leavesOf(f, path)...)
	}
	return out
}

func leavesOf(f field, path string) []string {
	switch {
	case f.kind == aBlock:
		return leavesIn(f.Type, join(path, f.key))
	case f.kind < aNodes && f.key != "name" && f.tag("unit") != "text":
		return []string{join(path, f.key)}
	}
	return nil
}

// byName finds the entry of a list by the name that path begins with; names may
// have dots in them, and the longest that fits is meant.
func byName(list reflect.Value, key, path string) (entry reflect.Value, rest string, err error) {
	var names []string
	for i := range list.Len() {
		name := list.Index(i).FieldByName("Name")
		if !name.IsValid() {
			break
		}
		names = append(names, name.String())
		if r, ok := strings.CutPrefix(path, name.String()+"."); ok && (!entry.IsValid() || len(r) < len(rest)) {
			entry, rest = list.Index(i), r
		}
	}
	if entry.IsValid() {
		return entry, rest, nil
	}
	if len(names) == 0 {
		return entry, "", fmt.Errorf("%s has no entry with a name: nothing in it can be set", key)
	}
	return entry, "", fmt.Errorf("found %s.%s%s, want %s.NAME.KEY, NAME being %s", key, path, spelling.Hint(path[:max(strings.IndexByte(path, '.'), 0)], names), key, oneOf(names[:min(len(names), 20)]))
}

// descend is the value at a path below v.
func descend(v reflect.Value, path string) (reflect.Value, field, error) {
	key, rest, deeper := strings.Cut(path, ".")
	fields := fieldsOf(v.Type())
	f, ok := findField(fields, key)
	was := retirement(v.Type(), key, "SPAN")
	switch {
	case was != "":
		return v, f, errors.New(was)
	case !ok:
		return v, f, fmt.Errorf("there is no such key%s: want %s", spelling.Hint(key, keysIn(fields)), oneOf(keysIn(fields)))
	case f.kind == aBlock && deeper:
		return descend(v.FieldByIndex(f.Index), rest)
	case f.kind == aBlock:
		return v, f, fmt.Errorf("is a block: name one of its keys, %s", oneOf(keysIn(fieldsOf(f.Type))))
	case deeper:
		return v, f, fmt.Errorf("%s is %s, and has no keys", f.key, kindNames[f.kind])
	case f.kind >= aNodes:
		return v, f, fmt.Errorf("is %s, want a key of one value", kindNames[f.kind])
	}
	return v.FieldByIndex(f.Index), f, nil
}

// Setting says what a path leads to.
type Setting struct {
	Path  string
	Kind  string   // text, true or false, whole number, number, span, size
	Words []string // that a text may be, nil when any will do
	Zero  string   // word for none of it, "" where there is none
	Low   string   // range, "" where there is no bound
	High  string
	Unit  string
	Doc   string
	Value string // that it has, of the first vCluster where it is about several

	leaf field
}

// Setting describes the key at a path.
func (c *Cluster) Setting(path string) (Setting, error) {
	s := Setting{Path: path}
	own, err := c.apart()
	if err != nil {
		return s, err
	}
	targets, err := own.targets(path)
	if err != nil {
		return s, &Error{[]Problem{{Key: path, Text: err.Error()}}}
	}
	v, f, err := descend(targets[0].root, targets[0].path)
	if err != nil {
		return s, &Error{[]Problem{{Key: path, Text: err.Error()}}}
	}
	return Setting{
		Path: path, Kind: kindNames[f.kind], Words: f.words(), Zero: f.tag("zero"), Low: f.tag("min"), High: f.tag("max"),
		Unit: f.tag("unit"), Doc: f.tag("doc"), Value: formatScalar(v, f), leaf: f,
	}, nil
}

// Numeric says whether values of the setting are numbers, and may be searched in
// a range; whole whether they have no fractions.
func (s *Setting) Numeric() (yes, whole bool) {
	switch s.leaf.kind {
	case aWhole, aSize:
		return true, true
	case aNumber, aSpan:
		return true, false
	}
	return false, false
}

// Number is the value of a text as a number: spans in seconds, sizes in bytes and
// watts.
func (s *Setting) Number(text string) (float64, error) {
	v := reflect.New(s.leaf.Type).Elem()
	if err := parseScalar(text, v, s.leaf); err != nil {
		return 0, fmt.Errorf("%s: %w", s.Path, err)
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return 0, nil
		}
		v = v.Elem()
	}
	switch {
	case v.CanFloat():
		return v.Float(), nil
	case s.leaf.kind == aSpan:
		return float64(v.Int()) / float64(model.Second), nil
	case v.CanInt():
		return float64(v.Int()), nil
	}
	return 0, fmt.Errorf("%s: %s is no number", s.Path, s.Kind)
}

// Text is a number as the file has it, the contrary of Number: whole numbers are
// rounded, spans to the millisecond, others to six significant digits.
func (s *Setting) Text(x float64) string {
	of := s.leaf.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	v := reflect.New(of)
	switch s.leaf.kind {
	case aWhole, aSize:
		v.Elem().SetInt(int64(math.RoundToEven(x)))
	case aSpan:
		v.Elem().SetInt(int64(math.RoundToEven(float64(x*1e3))) * int64(model.Millisecond))
	default:
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	if s.leaf.Type.Kind() == reflect.Pointer {
		return formatScalar(v, s.leaf)
	}
	return formatScalar(v.Elem(), s.leaf)
}

// PlainCluster is the cluster file of a plain cluster: so many nodes, all alike,
// that jobs have for themselves, one vCluster, and agents that take no time. With
// nodes 0 the trace says what nodes there are.
func PlainCluster(nodes, cores, gpus int32) (*Cluster, error) {
	text := "name: " + plainName + "\nagents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}\n"
	if nodes > 0 {
		kind := fmt.Sprintf("name: node, cpus: %d", cores)
		if gpus > 0 {
			kind += fmt.Sprintf(", gpu: %s, gpus: %d", AnyGPU, gpus)
		}
		text += fmt.Sprintf("node_types: [{%s}]\ngroups: [{name: n, nodes: %d, type: node, fingerprint: alike}]\n", kind, nodes)
	}
	return ParseCluster("", []byte(text)) // errors name keys, for there is no file
}
