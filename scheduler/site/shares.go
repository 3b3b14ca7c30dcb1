package site

import (
	"fmt"

	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/quota"
)

// What Policy.Multifactor.TRES gives weights to, in this order.
const (
	TRESNode = iota
	TRESCPU
	TRESMemory
	TRESGPU
	NumTRES
)

// shares keeps the associations of a site: one account for each tenant and one
// user in it for each user who was met. Users of an account share equally, and
// so do those of jobs that name no tenant: below the root when the site has no
// tenants, else in an account without shares.
type shares struct {
	tree  *multifactor.Tree
	scale int64 // units for each GPU or node
	of    map[member]int32
	next  int32                     // association
	fresh []multifactor.Association // not in the tree yet
	most  int64                     // highest priority of an association
	tres  [][NumTRES]int64          // of all nodes, then of each partition, as they were asked for
	asked [NumTRES]multifactor.Part // scratch of one job
	least map[*nodeChoice]int32     // fewest GPUs of a node
}

// member is a user in an account.
type member struct {
	tenant model.TenantID
	user   int32
}

// newShares is nil when no policy orders by Slurm's priority. The sharing of
// the policies must be the same.
func newShares(c *Config) *shares {
	for i := range c.Policies {
		if c.Policies[i].Ranking != ByMultifactor {
			continue
		}
		x := &shares{of: map[member]int32{}}
		accounts := x.accounts(c.Site.Tenants)
		sharing := c.Policies[i].Multifactor.Sharing
		sharing.Period = c.Quota.Tick
		tree, err := multifactor.NewTree(accounts, &sharing)
		if err != nil {
			panic(err) // shares are fractions of the site
		}
		x.tree, x.next, x.scale = tree, int32(len(accounts)), scaleOf(c, sharing.HalfLife)
		for _, p := range c.AssocPriority {
			x.most = max(x.most, p)
		}
		return x
	}
	return nil
}

// oneSharing says which policies want the fair share computed in different ways.
func (c *Config) oneSharing() error {
	first := -1
	for i := range c.Policies {
		policy := &c.Policies[i]
		switch {
		case policy.Ranking != ByMultifactor:
		case first < 0:
			first = i
		case policy.Multifactor.Sharing != c.Policies[first].Multifactor.Sharing:
			return fmt.Errorf("vClusters %s and %s: their profiles count the caps.Usage of Slurm's fair share differently (half_life, fair_tree, dampening): make them equal", c.Site.VClusters[first].Name, c.Site.VClusters[i].Name)
		}
	}
	return nil
}

// accounts of the tenants, and of those who name none. Where no tenant has a
// share, all have the same.
func (x *shares) accounts(tenants []model.Tenant) []multifactor.Association {
	if len(tenants) == 0 {
		return nil
	}
	out := make([]multifactor.Association, len(tenants)+1)
	some := false
	for i := range tenants {
		// A share of the whole site is 2^30 of Slurm's.
		out[i] = multifactor.Association{Parent: -1, Shares: int64(tenants[i].FairShare >> 2)}
		some = some || out[i].Shares > 0
	}
	for i := range tenants {
		if !some {
			out[i].Shares = 1
		}
	}
	out[len(tenants)] = multifactor.Association{Parent: -1}
	return out
}

// scaleOf is how finely usage is counted, so that the factors of qualities of
// service show: as finely as the usage of ten years, or of three half-lives,
// stays below 2^62.
func scaleOf(c *Config, half model.Duration) int64 {
	const finest = 1 << 8
	span := 10 * 365 * model.Day
	if half <= 0 {
		half = multifactor.DefaultHalfLife
	}
	if half < span/3 {
		span = 3 * half
	}
	most := model.One
	for i := range c.Site.QOS {
		most = max(most, c.Site.QOS[i].UsageFactor)
	}
	room := int64(1<<62) / int64(span) / max(1, c.Quota.GPUs) / (int64(most>>model.FractionBits) + 1)
	return min(max(room, 1), finest)
}

// join is the association of a job; a user who is new is in the tree from the
// next settle on.
func (x *shares) join(t model.TenantID, user int32, tenants int) int32 {
	if t < 0 {
		t = model.TenantID(tenants)
	}
	m := member{t, user}
	if i, ok := x.of[m]; ok {
		return i
	}
	parent := int32(t)
	if tenants == 0 {
		parent = -1
	}
	i := x.next
	x.of[m] = i
	x.next++
	x.fresh = append(x.fresh, multifactor.Association{Parent: parent, Shares: 1, User: true})
	return i
}

// settle puts the users that are new into the tree.
func (x *shares) settle() {
	if len(x.fresh) == 0 {
		return
	}
	if err := x.tree.Extend(x.fresh); err != nil {
		panic(err) // accounts stand before their users
	}
	x.fresh = x.fresh[:0]
}

// uses says that j takes up its nodes, or with sign -1 gives them back.
func (s *Core) uses(j *job, sign int64) {
	if s.shares == nil {
		return
	}
	s.shares.settle()
	s.shares.tree.Use(j.assoc, sign*s.usageOf(&j.claim), s.now)
}

// usageOf is what a claim uses in Slurm's sense in each microsecond.
func (s *Core) usageOf(c *quota.Claim) int64 {
	units := int64(c.GPUs) * s.shares.scale
	if c.QOS >= 0 {
		units = int64(s.site.QOS[c.QOS].UsageFactor.Mul(model.Fixed(units)))
	}
	return units
}

// assocOf is the priority of the association of a job, of the highest of all.
func (s *Core) assocOf(j *job) multifactor.Part {
	if j.Tenant < 0 || int(j.Tenant) >= len(s.cfg.AssocPriority) {
		return multifactor.Part{}
	}
	return multifactor.Part{Amount: s.cfg.AssocPriority[j.Tenant], Whole: s.shares.most}
}

// tresOf are nodes, CPUs, memory and GPUs, as parts of what the nodes have that
// the job's partition lets it use: those that a request does not count are as
// many as its nodes, and GPUs count for who may use nodes with GPUs only.
func (s *Core) tresOf(j *job) (parts [NumTRES]multifactor.Part) {
	x := s.shares
	for int(j.Partition)+1 >= len(x.tres) {
		x.tres = append(x.tres, s.wholeOf(model.PartitionID(len(x.tres))-1))
	}
	whole := &x.tres[j.Partition+1]
	c, n := &s.site.Constraints[j.Constraint], int64(j.NodesMin)
	parts[TRESNode] = multifactor.Part{Amount: n, Whole: whole[TRESNode]}
	asked := [NumTRES]int64{TRESCPU: int64(c.CPUs), TRESMemory: c.Memory, TRESGPU: int64(s.gpusAskedBy(j))}
	for i := TRESCPU; i < NumTRES; i++ {
		switch {
		case asked[i] > 0:
			parts[i] = multifactor.Part{Amount: n * asked[i], Whole: whole[i]}
		case i != TRESGPU:
			parts[i] = parts[TRESNode]
		}
	}
	return parts
}

// gpusAskedBy is how many GPUs each node of j has at least, or its own part.
func (s *Core) gpusAskedBy(j *job) int32 {
	if j.GPUs > 0 {
		return j.GPUs
	}
	if x := s.shares; x.least == nil {
		x.least = map[*nodeChoice]int32{}
	}
	least, ok := s.shares.least[j.kind]
	if !ok {
		first := true
		for n := j.kind.mask.Next(0); n >= 0; n = j.kind.mask.Next(n + 1) {
			if g := s.site.Nodes[n].GPUs; first || g < least {
				least, first = g, false
			}
		}
		s.shares.least[j.kind] = least
	}
	return least
}

// wholeOf is what the nodes of a partition have, or all nodes for -1.
func (s *Core) wholeOf(p model.PartitionID) (whole [NumTRES]int64) {
	for i := range s.site.Nodes {
		if p >= 0 && !s.site.Partitions[p].Nodes.Has(model.NodeID(i)) {
			continue
		}
		n := &s.site.Nodes[i]
		whole[TRESNode]++
		whole[TRESCPU] += int64(n.CPUs)
		whole[TRESMemory] += n.Memory
		whole[TRESGPU] += int64(n.GPUs)
	}
	return whole
}
