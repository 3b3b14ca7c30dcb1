package slurm

import (
	"slices"
	"strconv"

	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
)

// priorities are those of priority/multifactor: a job's is computed when it is submitted, and at the ticks. What associations
// have used is counted at the ticks too.
type priorities struct {
	cfg       *Config
	tree      *multifactor.Tree // nil without weights
	accounts  map[string]int32  // in the tree
	users     map[member]int32
	next      model.Time // tick, Never without any, AbsentTime before the first instant
	lastTick  model.Time
	ticked    bool  // the priorities of the queue are of the tick before
	mostAssoc int64 // of all accounts
	nodes     int64
	cpus      int64 // of the cluster
	factors   int64 // the highest of all partitions
	qos       int64 // and of all qualities of service
	tres      tresParts
}

// member is a user in an account, by index in the tree or -1 for the root.
type member struct {
	account int32
	user    string
}

func newPriorities(c *Config) *priorities {
	p := &priorities{cfg: c, next: model.Never, nodes: int64(len(c.Site.Nodes))}
	if c.Weights == nil {
		return p
	}
	t, err := newTree(c)
	if err != nil {
		panic(err) // Validate has made it
	}
	p.tree, p.accounts, p.users, p.next = t.tree, t.accounts, t.users, model.AbsentTime
	for i := range c.Site.Nodes {
		p.cpus += int64(max(c.Site.Nodes[i].CPUs, 1))
	}
	for _, x := range c.AssocPriority {
		p.mostAssoc = max(p.mostAssoc, x)
	}
	p.tres = newTRESParts(c.Site)
	for i := range c.Site.Partitions {
		p.factors = max(p.factors, c.Site.Partitions[i].Factor)
	}
	for i := range c.Site.QOS {
		p.qos = max(p.qos, c.Site.QOS[i].Priority)
	}
	return p
}

// treeOf is a tree of shares, and where its accounts and users are.
type treeOf struct {
	tree     *multifactor.Tree
	accounts map[string]int32
	users    map[member]int32
}

// newTree makes the tree of the associations, or where there are none of the tenants: accounts stand before those below them.
func newTree(c *Config) (t treeOf, err error) {
	list := c.Associations
	if len(list) == 0 {
		for i := range c.Site.Tenants {
			x := &c.Site.Tenants[i]
			list = append(list, Association{Account: x.Name, Shares: int64(x.FairShare) * sharesOfOne >> model.FractionBits})
		}
	}
	t.accounts, t.users = map[string]int32{"": -1}, map[member]int32{}
	nodes, rest := []multifactor.Association{}, slices.Clone(list)
	for len(rest) > 0 {
		before := len(rest)
		rest = slices.DeleteFunc(rest, func(a Association) bool {
			above := a.Parent
			if a.User != "" {
				above = a.Account
			}
			parent, ok := t.accounts[above]
			if !ok {
				return false
			}
			if a.User != "" {
				t.users[member{parent, a.User}] = int32(len(nodes))
			} else {
				t.accounts[a.Account] = int32(len(nodes))
			}
			nodes = append(nodes, multifactor.Association{Parent: parent, Shares: a.Shares, User: a.User != ""})
			return true
		})
		if len(rest) == before {
			return t, &UnknownParent{rest[0]}
		}
	}
	if c.Weights == nil {
		return t, nil
	}
	t.tree, err = multifactor.NewTree(nodes, &c.Weights.Sharing)
	return t, err
}

// sharesOfOne is what a fair share of 1 is in shares.
const sharesOfOne = 10_000

// UnknownParent is the error of an association whose account is not among them.
type UnknownParent struct{ Association }

// Error names what is missing.
func (e *UnknownParent) Error() string {
	if e.User != "" {
		return "user " + e.User + " is in the account " + e.Account + ", which is not among the associations: add it, or correct the name"
	}
	return "account " + e.Account + " is below the account " + e.Parent + ", which is not among the associations: add it, or correct the name"
}

// associate is the place in the tree of a job's user, -1 for a job without account. A user that is met for the first time has one share.
func (p *priorities) associate(a *model.Allocation) int32 {
	if p.tree == nil || a.Tenant < 0 {
		return -1
	}
	account, ok := p.accounts[p.cfg.Site.Tenants[a.Tenant].Name]
	if !ok {
		return -1
	}
	m := member{account, ""}
	if a.User >= 0 && int(a.User) < len(p.cfg.Users) {
		m.user = p.cfg.Users[a.User]
	} else {
		m.user = "#" + strconv.Itoa(int(a.User)) // without names they are told apart all the same
	}
	i, ok := p.users[m]
	if !ok {
		i = int32(p.tree.Len())
		p.users[m] = i
		if err := p.tree.Extend([]multifactor.Association{{Parent: account, Shares: 1, User: true}}); err != nil {
			panic(err) // its account stands before it
		}
	}
	return i
}

// advance makes the ticks up to now: each counts what the running jobs have used since the one before. What a job used that has ended since
// then is lost, unless limits are enforced: Slurm counts it nowhere. Ticks begin at the first instant that the core is told of.
func (p *priorities) advance(now model.Time, jobs *jobTable) {
	if p.tree == nil {
		return
	}
	period := p.cfg.Options.CalcPeriod
	if p.next == model.AbsentTime {
		p.next = gridAt(now, period, p.cfg.Options.CalcPhase)
		p.lastTick = p.next.Add(-period)
	}
	for p.next <= now {
		at := p.next
		if len(jobs.running) == 0 { // nothing but decay until the last of them
			at = at.Add(now.Sub(at) / period * period)
		}
		p.tree.Decay(at.Sub(p.lastTick))
		for _, ref := range jobs.running {
			if j := &jobs.list[ref]; j.phase == running {
				p.charge(j, at)
			}
		}
		p.lastTick, p.next, p.ticked = at, at.Add(period), true
	}
}

// rate computes the priorities of the queue anew, as of the last tick.
func (p *priorities) rate(jobs *jobTable) {
	p.ticked = false
	p.tree.Rate()
	for _, ref := range jobs.queue {
		j := &jobs.list[ref]
		j.priority = p.of(j, p.lastTick)
	}
}

// usedBefore counts what a job used before the scheduler began, until so long ago.
func (p *priorities) usedBefore(j *job, used, ago model.Duration) {
	p.count(j, used, max(ago, 0))
	p.ticked = p.tree != nil
}

// charge counts what a running job has used up to an instant since the last tick.
func (p *priorities) charge(j *job, at model.Time) {
	used := at.Sub(max(j.started, p.lastTick))
	p.count(j, used, used)
}

// count charges a job's association for so much time, less what decays of it in another.
func (p *priorities) count(j *job, used, decays model.Duration) {
	if p.tree == nil || j.assoc < 0 || used <= 0 {
		return
	}
	units := int64(used/model.Millisecond) * j.cpus
	if j.QOS >= 0 {
		if f := p.cfg.Site.QOS[j.QOS].UsageFactor; f != model.One {
			units = int64(f.Mul(model.Fixed(units)))
		}
	}
	p.tree.Charge(j.assoc, p.tree.Decayed(units, decays))
}

// ended counts the rest of what a job has used, where usage counts to the end.
func (p *priorities) ended(j *job, now model.Time) {
	if p.cfg.Options.UsageAtEnds {
		p.charge(j, now)
	}
}

// of is the priority of a waiting job at an instant: of those submitted first, first, without weights.
func (p *priorities) of(j *job, now model.Time) int64 {
	if p.tree == nil {
		return 0
	}
	in := p.inputs(j, now)
	return multifactor.Priority(p.cfg.Weights, &in)
}

// asOf is the instant that the priority of a waiting job was computed at: the last tick, or its submission since then.
func (p *priorities) asOf(j *job) model.Time { return max(p.lastTick, j.eligible) }

// inputs are those of the priority of a job at an instant.
func (p *priorities) inputs(j *job, now model.Time) multifactor.Inputs {
	in := multifactor.Inputs{
		Age: now.Sub(j.eligible), Site: j.Priority, Nice: j.Nice,
		Size: multifactor.Size{
			Nodes: multifactor.Part{Amount: int64(j.NodesMin), Whole: p.nodes},
			CPUs:  multifactor.Part{Amount: j.cpus, Whole: p.cpus},
			Limit: j.Walltime,
		},
	}
	if j.assoc >= 0 {
		in.FairShare = p.tree.Factor(j.assoc)
	}
	if j.Partition >= 0 {
		in.Partition = multifactor.Part{Amount: p.cfg.Site.Partitions[j.Partition].Factor, Whole: p.factors}
	}
	if j.QOS >= 0 {
		in.QOS = multifactor.Part{Amount: p.cfg.Site.QOS[j.QOS].Priority, Whole: p.qos}
	}
	if j.Tenant >= 0 && int(j.Tenant) < len(p.cfg.AssocPriority) {
		in.Assoc = multifactor.Part{Amount: p.cfg.AssocPriority[j.Tenant], Whole: p.mostAssoc}
	}
	if len(p.cfg.Weights.TRES) > 0 {
		in.TRES = p.tres.of(j)
	}
	return in
}
