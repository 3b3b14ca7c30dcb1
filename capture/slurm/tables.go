package slurm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/hostlist"
)

// mostNodes bounds the names of a reservation.
const mostNodes = 1 << 20

// conditions are those that the table of dependencies has.
var conditions = map[string]string{"afterok": "success", "afternotok": "failure", "afterany": "any", "aftercorr": "corresponding"}

// writeDeps writes each dependency once.
func (a *assembly) writeDeps() error {
	t := traces.TableReport{Table: "deps"}
	done := map[traces.Dep]bool{}
	for _, e := range a.edges {
		on := []int64{}
		if array, all := strings.CutSuffix(e.on, "_*"); all {
			on = a.members[array]
		} else if id, err := strconv.ParseInt(e.on, 10, 64); err == nil && a.ids[id] {
			on = append(on, id)
		}
		condition, known := conditions[e.condition]
		if len(on) == 0 || !known {
			t.Read++
			if !known {
				t.Drop("no-such-condition", e.condition+" of job "+strconv.FormatInt(e.job, 10))
			} else {
				t.Drop("unknown-job", e.on+" of job "+strconv.FormatInt(e.job, 10))
			}
			continue
		}
		for _, id := range on {
			d := traces.Dep{Job: e.job, On: id, Condition: condition}
			if done[d] || d.Job == d.On {
				continue // told again of another attempt
			}
			done[d] = true
			t.Read++
			t.Kept++
			if err := a.w.WriteDep(d); err != nil {
				return err
			}
		}
	}
	a.table(&t)
	return nil
}

func (a *assembly) writeNodes() error {
	t := traces.TableReport{Table: "nodes"}
	away := map[string]bool{} // at the epoch
	for i := range a.events {
		e := &a.events[i].value
		if wordOf(e.State) != "" && a.at(e.Start) <= 0 && (e.End == "" || a.at(e.End) > 0) {
			away[e.Node] = true
		}
	}
	for i := range a.nodes {
		n := &a.nodes[i]
		gpus, kind := gpusOf(n.value.Gres)
		t.Read++
		t.Kept++
		row := traces.Node{Name: n.key, CPUs: int32(min(n.value.CPUs, 1<<30)), Memory: n.value.Memory << 20, GPUs: gpus, GPUModel: kind, Up: !away[n.key]}
		if err := a.w.WriteNode(row); err != nil {
			return err
		}
	}
	a.table(&t)
	return nil
}

// gpusOf reads gpu:h100:8(S:0-1),gpu:2.
func gpusOf(gres string) (n int32, kind string) {
	for _, term := range hostlist.Terms(strings.NewReplacer("(", "[", ")", "]").Replace(gres), ",") {
		term, _, _ = strings.Cut(term, "[")
		words := strings.Split(term, ":")
		if words[0] != "gpu" || len(words) < 2 {
			continue
		}
		if len(words) > 2 {
			kind = words[1]
		}
		n += int32(min(whole(words[len(words)-1]), 1<<20))
	}
	return n, kind
}

// at is an instant of the bundle.
func (a *assembly) at(text string) model.Time { return model.Time(seconds(text).Sub(a.meta.Epoch)) }

// wordOf is what a state of sacctmgr show event means to the scheduler: down, drain or "".
func wordOf(state string) string {
	switch {
	case strings.Contains(state, "POWER"), strings.Contains(state, "UNK"): // switched off while it is not needed; not asked yet
		return ""
	case strings.Contains(state, "DOWN"), strings.Contains(state, "ERROR"), strings.HasPrefix(state, "FAIL"):
		return "down"
	case strings.Contains(state, "DRAIN"), strings.Contains(state, "DRNG"):
		return "drain"
	}
	return ""
}

// writeEvents writes what happened to nodes, reservations and limits, by time.
func (a *assembly) writeEvents() error {
	t := traces.TableReport{Table: "events"}
	var list []traces.Event
	known := map[string]bool{}
	for i := range a.nodes {
		known[a.nodes[i].key] = true
	}
	for i := range a.events {
		e := &a.events[i].value
		word := wordOf(e.State)
		if word == "" || !known[e.Node] {
			t.Read++
			if !known[e.Node] {
				t.Drop("unknown-node", e.Node)
			} else {
				t.Drop("state-without-effect", e.Node+" "+e.State)
			}
			continue
		}
		if at := a.at(e.Start); at > 0 {
			list = append(list, traces.Event{Time: at, Kind: word, Subject: e.Node})
		}
		if e.End != "" && a.at(e.End) > 0 {
			list = append(list, traces.Event{Time: a.at(e.End), Kind: map[string]string{"down": "up", "drain": "undrain"}[word], Subject: e.Node})
		}
	}
	list = append(list, a.boots()...)
	list = append(list, a.reserved(&t)...)
	list = append(list, a.quotas()...)
	slices.SortStableFunc(list, func(x, y traces.Event) int { return cmp.Compare(x.Time, y.Time) })
	for i := range list {
		t.Read++
		t.Kept++
		if err := a.w.WriteEvent(list[i]); err != nil {
			return err
		}
	}
	a.table(&t)
	return nil
}

// reserved are the reservations, each from the poll on that found it.
func (a *assembly) reserved(t *traces.TableReport) (list []traces.Event) {
	for i := range a.reservations {
		b := &a.reservations[i]
		end := seconds(b.value.End)
		if b.value.gone != 0 {
			end = min(end, b.value.gone)
		}
		r := traces.Reserved{Start: a.at(b.value.Start), End: model.Time(end.Sub(a.meta.Epoch)), Maintenance: b.value.Maintenance}
		for _, term := range hostlist.Terms(b.value.Nodes, ",") {
			names, err := hostlist.Expand(term, mostNodes)
			if err != nil {
				names = []string{term}
			}
			r.Nodes = append(r.Nodes, names...)
		}
		text, err := json.Marshal(r)
		if _, ok := traces.ParseReserved(string(text)); err != nil || !ok {
			t.Read++
			t.Drop("reservation-without-nodes-or-time", b.key)
			continue
		}
		list = append(list, traces.Event{Time: max(0, model.Time(b.value.seen.Sub(a.meta.Epoch))), Kind: "reservation", Subject: b.key, Value: string(text)})
	}
	return list
}

// writeTenants writes the accounts as they first were; what they became are events.
func (a *assembly) writeTenants() error {
	t := traces.TableReport{Table: "tenants"}
	seen := map[string]bool{}
	for i := range a.accounts {
		for _, tenant := range tenantsOf(a.accounts[i].Value) {
			if seen[tenant.Name] {
				continue
			}
			seen[tenant.Name] = true
			t.Read++
			t.Kept++
			if err := a.w.WriteTenant(tenant); err != nil {
				return err
			}
		}
	}
	a.table(&t)
	return nil
}

// quotas are the limits that changed from one poll to another.
func (a *assembly) quotas() (list []traces.Event) {
	before := map[string]traces.Tenant{}
	for i := range a.accounts {
		for _, tenant := range tenantsOf(a.accounts[i].Value) {
			old, known := before[tenant.Name]
			before[tenant.Name] = tenant
			if !known {
				continue
			}
			if text := changes(&old, &tenant); text != "{}" {
				list = append(list, traces.Event{Time: max(0, model.Time(a.accounts[i].At.Sub(a.meta.Epoch))), Kind: "quota", Subject: tenant.Name, Value: text})
			}
		}
	}
	return list
}

// changes is a JSON object of the columns that changed, null where a limit was lifted.
func changes(old, now *traces.Tenant) string {
	set := map[string]any{}
	diff(set, "max_nodes", old.MaxNodes, now.MaxNodes)
	diff(set, "max_concurrent", old.MaxConcurrent, now.MaxConcurrent)
	diff(set, "fair_share", old.FairShare, now.FairShare)
	diff(set, "gpu_hours", old.GPUHours, now.GPUHours)
	diff(set, "node_hours", old.NodeHours, now.NodeHours)
	text, err := json.Marshal(set)
	if err != nil {
		panic(err) // numbers alone
	}
	return string(text)
}

func diff[T comparable](set map[string]any, name string, old, now traces.Opt[T]) {
	if old == now {
		return
	}
	if set[name] = nil; now.OK {
		set[name] = now.V
	}
}

// account is a row of sacctmgr show assoc.
type account struct {
	name, parent string
	shares       int64 // 0 for those of its parent
	tenant       traces.Tenant
}

// tenantsOf reads the table of associations: each account is a tenant. Its share is that of
// its shares among all below the same parent, times the share of that.
func tenantsOf(text string) (out []traces.Tenant) {
	lines := strings.Split(text, "\n")
	header := strings.Split(lines[0], "|")
	column := func(f []string, name string) string {
		if i := slices.Index(header, name); i >= 0 && i < len(f) {
			return strings.TrimSpace(f[i])
		}
		return ""
	}
	var all []account
	children := map[string]int64{}
	for _, line := range lines[1:] {
		f := strings.Split(line, "|")
		name, parent, shares := column(f, "Account"), column(f, "ParentName"), whole(column(f, "Share"))
		if name == "" {
			continue
		}
		if column(f, "User") != "" {
			children[name] += shares
			continue
		}
		children[parent] += shares
		a := account{name: name, parent: parent, shares: shares, tenant: traces.Tenant{Name: name}}
		a.limits(column(f, "GrpJobs"), column(f, "GrpTRES"), column(f, "GrpTRESMins"))
		all = append(all, a)
	}
	share := map[string]float64{"root": 1}
	for range all { // parents may stand behind
		for i := range all {
			a := &all[i]
			above, known := share[a.parent]
			if !known || a.parent == "" || children[a.parent] == 0 || a.shares == 0 {
				continue
			}
			share[a.name] = float64(above * float64(a.shares) / float64(children[a.parent]))
			a.tenant.FairShare = traces.Some(share[a.name])
		}
	}
	for i := range all {
		out = append(out, all[i].tenant)
	}
	return out
}

// limits takes those that the table of tenants has.
func (a *account) limits(jobs, tres, minutes string) {
	if n := whole(jobs); n > 0 {
		a.tenant.MaxConcurrent = traces.Some(int32(min(n, 1<<30)))
	}
	if n, ok := term(tres, "node"); ok {
		a.tenant.MaxNodes = traces.Some(int32(min(n, 1<<30)))
	}
	if n, ok := term(minutes, "gres/gpu"); ok {
		a.tenant.GPUHours = traces.Some(float64(n) / 60)
	}
	if n, ok := term(minutes, "node"); ok {
		a.tenant.NodeHours = traces.Some(float64(n) / 60)
	}
}

// term is a number of a list such as cpu=4,node=2.
func term(list, name string) (int64, bool) {
	for one := range strings.SplitSeq(list, ",") {
		if key, value, ok := strings.Cut(one, "="); ok && key == name {
			return whole(value), true
		}
	}
	return 0, false
}
