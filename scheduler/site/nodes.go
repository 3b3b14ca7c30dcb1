package site

import (
	"math"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// nodeState is the nodes of the site as the committed log leaves them, and which of them
// jobs may use. free has the nodes that are ready and that no running job holds; ready
// and readyCount agree; lent counts, for each vCluster, the home nodes that jobs of
// others hold or have been proposed.
type nodeState struct {
	site        *model.Site
	space       *place.Space
	nodeClasses *model.NodeClasses
	kinds       []*nodeChoice       // distinct (vCluster, constraint, partition, reservation)
	constraints []*model.Constraint // by id, as submissions have named them

	free       *place.Free
	idle       *place.Free // all nodes are free, for questions
	ready      model.NodeSet
	readyCount int32
	home       []model.NodeSet // nodes at home in each vCluster
	homes      []int32         // so many
	lent       []int32
	sharers    []int32 // by node, the running jobs that hold a share of it

	prefer        model.JobID // that of the Config, -1 for none
	preemptsByQOS bool        // some quality of service preempts others
	unhomed       bool        // there are nodes of no vCluster
}

func newNodeState(site *model.Site) nodeState {
	n, vclusters := len(site.Nodes), len(site.VClusters)
	s := nodeState{
		site: site, space: place.NewSpace(site), nodeClasses: model.NewNodeClasses(site), ready: model.NewNodeSet(n),
		home: make([]model.NodeSet, vclusters), homes: make([]int32, vclusters), lent: make([]int32, vclusters), sharers: make([]int32, n), prefer: -1,
	}
	s.preemptsByQOS = slices.ContainsFunc(site.QOS, func(q model.QOS) bool { return len(q.PreemptsQOS) > 0 })
	s.free, s.idle = s.space.NewFree(), s.space.NewFree()
	s.idle.SetAllAvailable()
	for i := range s.home {
		s.home[i] = model.NewNodeSet(n)
	}
	for i := range site.Constraints {
		s.constraints = append(s.constraints, &site.Constraints[i])
	}
	for i := range site.Nodes {
		node := &site.Nodes[i]
		if node.Home >= 0 {
			s.home[node.Home].Add(model.NodeID(i))
			s.homes[node.Home]++
		}
		s.unhomed = s.unhomed || node.Home < 0
		if node.State == model.Ready {
			s.ready.Add(model.NodeID(i))
		}
	}
	s.readyCount = s.ready.Len()
	return s
}

// setReady takes in that a node takes work from now on, or does not.
func (s *nodeState) setReady(n model.NodeID, up bool) {
	if up {
		s.ready.Add(n)
	} else {
		s.ready.Remove(n)
	}
	s.readyCount = s.ready.Len()
	s.free.SetAvailable(n, up)
}

// nodeChoice is a distinct set of nodes that jobs may use.
type nodeChoice struct {
	vcluster    model.VClusterID
	constraint  model.ConstraintID
	partition   model.PartitionID
	reservation model.ReservationID

	mask    model.NodeSet // nodes of the vCluster or of none
	class   place.ClassID
	foreign model.NodeSet // nodes of others that could be borrowed, nil for none
	gpus    int32         // of the largest node, at least 1
	fewest  int32         // GPUs of the smallest node
	// leastGPUs is that with borrowed nodes included, and gpusDiffer says that not all have
	// as many.
	leastGPUs  int32
	gpusDiffer bool
	watts      int64 // of the node at work that draws most
	least      int64 // W of the node at work that draws least, borrowed ones included
	part       int64 // likewise of one GPU, rounded down
	leastIdle  int64 // W of the node that draws least without a job, 0 where that does not count
	// leastGrowth is by how much a node draws more with a job than without at least, and mostIdle
	// the most that one draws without, W; borrowed ones included, 0 where that does not count.
	leastGrowth, mostIdle int64

	all  bool  // every node of the site
	held *held // nil until it is asked for
}

// kindOf is the row of s.kinds for a, made when it is new. Distinct kinds are
// few, so they are searched one by one.
func (s *nodeState) kindOf(a *model.Allocation) *nodeChoice {
	for _, k := range s.kinds {
		if k.vcluster == a.VCluster && k.constraint == a.Constraint && k.partition == a.Partition && k.reservation == a.Reservation {
			return k
		}
	}
	return s.newKind(a)
}

func (s *nodeState) newKind(a *model.Allocation) *nodeChoice {
	k := &nodeChoice{vcluster: a.VCluster, constraint: a.Constraint, partition: a.Partition, reservation: a.Reservation, gpus: 1}
	may := s.space.Eligible(s.constraints[a.Constraint])
	if a.Partition >= 0 {
		may.And(s.site.Partitions[a.Partition].Nodes)
	}
	if a.Reservation >= 0 {
		may.And(s.site.Reservations[a.Reservation].Nodes)
	}
	k.mask = append(model.NodeSet(nil), may...)
	for v := range s.home {
		if model.VClusterID(v) == a.VCluster {
			continue
		}
		k.mask.AndNot(s.home[v])
		if s.site.VClusters[a.VCluster].Borrow && s.site.VClusters[v].Lend {
			if k.foreign == nil {
				k.foreign = model.NewNodeSet(len(s.site.Nodes))
			}
			k.foreign.Or(s.home[v])
		}
	}
	if k.foreign != nil {
		k.foreign.And(may)
	}
	k.class = s.space.Class(k.mask)
	k.all = int(k.mask.Len()) == len(s.site.Nodes)
	first := k.mask.Next(0)
	for n := first; n >= 0; n = k.mask.Next(n + 1) {
		if g := s.site.Nodes[n].GPUs; n == first || g < k.fewest {
			k.fewest = g
		}
		k.gpus = max(k.gpus, s.site.Nodes[n].GPUs)
		k.watts = max(k.watts, s.site.Nodes[n].BusyPower)
	}
	var most int32
	k.leastGPUs, most = s.gpusWithin(k)
	k.gpusDiffer = most > k.leastGPUs
	k.least, k.part = s.leastPower(k)
	if s.site.CountIdle {
		k.leastIdle = k.idlest(s.site.Nodes)
		k.leastGrowth, k.mostIdle = growthOf(s.site, k)
	}
	s.kinds = append(s.kinds, k)
	return k
}

// gpusWithin are the fewest and the most GPUs of the nodes of k, borrowed ones included; 0
// and 0 without any node.
func (s *nodeState) gpusWithin(k *nodeChoice) (least, most int32) {
	none := true
	for _, mask := range [...]model.NodeSet{k.mask, k.foreign} {
		if mask == nil {
			continue
		}
		for n := mask.Next(0); n >= 0; n = mask.Next(n + 1) {
			g := s.site.Nodes[n].GPUs
			if none || g < least {
				least = g
			}
			most, none = max(most, g), false
		}
	}
	return least, most
}

// leastPower is what the nodes of a kind draw at least, and one GPU of them.
func (s *nodeState) leastPower(k *nodeChoice) (node, gpu int64) {
	node, gpu = math.MaxInt64, math.MaxInt64
	for _, mask := range [...]model.NodeSet{k.mask, k.foreign} {
		if mask == nil {
			continue
		}
		for n := mask.Next(0); n >= 0; n = mask.Next(n + 1) {
			w := s.site.Nodes[n].BusyPower
			node, gpu = min(node, w), min(gpu, w/max(int64(s.site.Nodes[n].GPUs), 1))
		}
	}
	if node == math.MaxInt64 {
		return 0, 0
	}
	return node, gpu
}

// idlest is the least that a node of the kind draws without a job.
func (k *nodeChoice) idlest(nodes []model.Node) (least int64) {
	first := k.mask.Next(0)
	for n := first; n >= 0; n = k.mask.Next(n + 1) {
		if w := nodes[n].IdlePower; n == first || w < least {
			least = w
		}
	}
	return least
}

// growthOf is by how much more a node of a kind draws at least with a job than without one, and
// the most that one draws without.
func growthOf(site *model.Site, k *nodeChoice) (growth, idle int64) {
	growth = math.MaxInt64
	for _, mask := range [...]model.NodeSet{k.mask, k.foreign} {
		if mask == nil {
			continue
		}
		for n := mask.Next(0); n >= 0; n = mask.Next(n + 1) {
			w := &site.Nodes[n]
			growth, idle = min(growth, w.BusyPower-w.IdlePower), max(idle, w.IdlePower)
		}
	}
	if growth == math.MaxInt64 {
		return 0, 0
	}
	return growth, idle
}

// boundary says whether an advance reservation begins or ends at now, which may
// open nodes; nextBoundary is the next such instant.
func (s *nodeState) boundary(now model.Time) bool {
	for i := range s.site.Reservations {
		if r := &s.site.Reservations[i]; r.End == now || r.Start == now {
			return true
		}
	}
	return false
}

func (s *nodeState) nextBoundary(now model.Time) model.Time {
	at := model.Never
	for i := range s.site.Reservations {
		r := &s.site.Reservations[i]
		if r.Start > now {
			at = min(at, r.Start)
		}
		if r.End > now {
			at = min(at, r.End)
		}
	}
	return at
}

// define takes in what the constraint of a stands for, when it is named first. Ids that
// are skipped belong to rows that were never submitted; a nil constraint is known, or of
// the site.
func (s *nodeState) define(a *model.Allocation, c *model.Constraint) {
	for int(a.Constraint) >= len(s.constraints) {
		s.constraints = append(s.constraints, nil)
	}
	if c == nil || s.constraints[a.Constraint] != nil {
		return
	}
	own := *c
	own.Features, own.Include, own.Exclude = slices.Clone(c.Features), slices.Clone(c.Include), slices.Clone(c.Exclude)
	s.constraints[a.Constraint] = &own
}
