package waiting

import (
	"math"
	"math/bits"
	"slices"

	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/score"
)

// Most jobs cannot come first for quite a while. Upper bounds tell that at little cost:
// they leave out what tenants and the whole site bring into a score, which changes all
// the time, and hold for longer than a pass asks for. So the lists of a tenant, of each
// request size, say which of its jobs may come first before which.

// lifetime of upper bounds: the longer, the higher they are. Those of jobs that have all waited
// for long hold for longer, as waits count the less the longer they are.
const (
	lifetime = 4 * model.Hour
	ofWait   = 64
)

// boundOf is the upper bound on the own terms of a waiting job, all but f9, until an instant. How much f9 may add changes with what is free.
func (q *Queue) boundOf(j *QueueEntry, until model.Time) model.Fixed {
	if !q.cfg.Bounded {
		return 0
	}
	return j.Static + q.known.of(q, j.Submit, until)
}

// knownTerm is the weighted wait of jobs submitted at an instant, at another.
type knownTerm struct {
	submit, at model.Time
	term       model.Fixed
}

// of is Term, worked out anew where it was asked for other instants last.
func (k *knownTerm) of(q *Queue, submit, at model.Time) model.Fixed {
	if k.submit != submit || k.at != at {
		*k = knownTerm{submit, at, q.Term(submit, at)}
	}
	return k.term
}

// renew makes upper bounds that hold at the instant and longer, where they do not, or hold for long
// while many have joined. Its cost is a logarithm for each instant of submission, a look at each job and, where their order has
// changed, bringing them into it; where all were submitted at one instant it is two logarithms.
func (q *Queue) renew(l *list, now, until model.Time) {
	if until <= l.until && (l.until <= now.Add(lifetime) || int(l.newcomers)*16 <= l.jobs.Len()) {
		return
	}
	before := l.until
	l.until, l.newcomers = now.Add(max(lifetime, now.Sub(l.youngest)/ofWait)), 0
	if l.oldest == l.youngest { // the bounds of all rise alike, and their order stays
		l.rise += q.Term(l.youngest, l.until) - q.Term(l.youngest, before)
		return
	}
	l.rise = 0
	l.changes++
	last, inOrder := rank{bound: math.MaxInt64}, true
	for i := range l.jobs.Blocks() {
		block := l.jobs.Block(i)
		for k := range block {
			j := q.Row(block[k].Ref)
			j.bound = q.boundOf(j, l.until) - l.rise
			block[k].Key = int64(j.bound)
			r := rankOf(j)
			inOrder = inOrder && last.before(&r)
			last = r
		}
	}
	if !inOrder {
		q.reorder(l)
	}
	q.findTop(l)
}

const (
	// slack is more than what the rounding of two waits and of their terms can add up
	// to, for weights of at most 1.
	slack = 5
	// roundingMargin is more than what scores are rounded by, divided by the least penalty.
	roundingMargin = 1 << 6
)

// Bounds are upper bounds on the scores of the jobs of a queue up to an instant, under
// the terms and free groups of one pass.
type Bounds struct {
	q         *Queue
	sizes     []size
	fairShare []model.Fixed // of terms, as is penalty: score reads them for each job
	penalty   []model.Fixed
	terms     *Terms

	now    model.Time
	until  model.Time
	common model.Fixed // Terms.Common and the slack
	most   model.Fixed // weighted f9
}

// Set makes b the upper bounds of a bounded queue that hold from now until the instant, which is
// no further away than lifetime; group is the largest free conformance group of a class of
// nodes.
func (b *Bounds) Set(q *Queue, now, until model.Time, terms *Terms, group func(place.ClassID) int32) {
	for _, i := range q.used.live {
		q.sizes[i].group = group(q.sizes[i].class)
	}
	longest := now.Add(lifetime)
	for _, id := range q.lists.live {
		if l := &q.lists.all[id]; until > l.until || l.until > longest {
			q.renew(l, now, until)
		}
	}
	b.q, b.sizes, b.terms, b.fairShare, b.penalty = q, q.sizes, terms, terms.FairShare, terms.Penalty
	b.now, b.until, b.common, b.most = now, until, terms.Common+slack, q.cfg.Weights[score.Conformance]
}

// scoreAt is at least the score of a job in the queue at an instant, from when it was weighed: its wait has
// grown along the tangent. Its cost is three multiplications.
func (b *Bounds) scoreAt(j *QueueEntry, at model.Time) model.Fixed {
	hi, lo := bits.Mul64(j.rate, uint64(at-j.seen))
	if hi >= 1<<30 {
		return math.MaxInt64
	}
	return b.score(j.Tenant, j.Static+j.wait+model.Fixed(hi<<32|lo>>32)+b.f9Of(j))
}

// score is at least that of a job of a tenant whose own terms come to so much.
func (b *Bounds) score(tenant int32, own model.Fixed) model.Fixed {
	sum := own + b.fairShare[tenant] + b.common
	if p := b.penalty[tenant]; p != model.One {
		return reduced(sum, p)
	}
	return sum
}

// reduced is at least a sum times a penalty.
func reduced(sum, penalty model.Fixed) model.Fixed {
	hi, lo := bits.Mul64(uint64(penalty), uint64(sum))
	return model.Fixed(hi<<32|lo>>32) + 1
}

// f9 is the most that the weighted f9 of a job of a list comes to.
func (b *Bounds) f9(l *list) model.Fixed {
	return min(b.most, model.Fixed(b.sizes[l.size].group)*l.perNode)
}

// reach is the most that the upper bound of a job and f9 come to.
func (b *Bounds) reach(l *list, j *QueueEntry) model.Fixed {
	return l.rise + j.bound + b.f9Of(j)
}

// f9Of is the most that the weighted f9 of a job comes to.
func (b *Bounds) f9Of(j *QueueEntry) model.Fixed {
	return min(b.most, model.Fixed(b.sizes[j.Size].group)*j.perNode)
}

// floor is what these must come to for the score of a job of a tenant to reach a key.
func (b *Bounds) floor(tenant int32, key model.Fixed) model.Fixed {
	hi, lo := bits.Mul64(uint64(max(key, 0)), uint64(b.terms.Inverse[tenant]))
	return model.Fixed(hi<<32|lo>>32) - roundingMargin - b.fairShare[tenant] - b.terms.Common
}

// first is the first job of a list.
func (q *Queue) first(l *list) *QueueEntry { return q.Row(l.jobs.Job(l.jobs.First()).Ref) }

// Promising is the job of the highest tier whose score may be the highest by its upper
// bound, -1 for none. Its cost is a multiplication for each list.
func (b *Bounds) Promising() model.Ref {
	best, tier, most := model.Ref(-1), int32(math.MinInt32), model.Fixed(-1)
	for _, id := range b.q.lists.live {
		l := &b.q.lists.all[id]
		if sum := b.penalty[l.tenant].Mul(l.rise + l.top.bound + b.f9(l) + b.fairShare[l.tenant] + b.terms.Common); l.tier > tier || (l.tier == tier && sum > most) {
			best, tier, most = l.top.ref, l.tier, sum
		}
	}
	return best
}

// Leader is the best job so far of a search.
type Leader struct {
	At   int32 // in Jobs, -1 for none
	Tier int32
	Key  model.Fixed
}

// NoLeader is the beginning of a search.
var NoLeader = Leader{At: -1, Tier: math.MinInt32, Key: -1}

// Examine calls examine with every job that may come before the leader, except those of known, which have been
// examined already, and those that stay behind one that may. examine takes the score of the job at an index and makes it the leader if
// it is better; it says whether it is, but a limit holds it.
func (b *Bounds) Examine(lead *Leader, known []model.Ref, examine func(at int32) (held bool)) {
	b.search(lead, 0, b.now, func(at int32) (held bool) {
		if slices.Contains(known, b.q.Jobs[at].Ref) {
			return at != lead.At // or it would be the leader
		}
		return examine(at)
	})
}

// ExamineWithContenders is Examine and Contenders at once, which takes less where the leader is not about to start: it adds to known the
// jobs that come into question, some of which may be left out by Contenders.
func (b *Bounds) ExamineWithContenders(lead *Leader, known []model.Ref, margin model.Fixed, examine func(at int32) (held bool)) (contenders []model.Ref) {
	contenders = known
	b.search(lead, margin, b.until, func(at int32) (held bool) {
		j := &b.q.Jobs[at]
		if slices.Contains(known, j.Ref) {
			return at != lead.At // or it would be the leader
		}
		contenders = append(contenders, j.Ref)
		return (j.Tier > lead.Tier || b.scoreAt(j, b.now) >= lead.Key) && examine(at)
	})
	return contenders
}

// Contenders appends to dst the jobs that may come before the leader, the best that no limit holds, or within a margin behind it,
// within the time of the bounds: not those that come before it now, for a limit holds them, and of the lists not those that
// stay behind it or one of the others. before says of the job at an index, of the tier of the leader, whether it comes before it now.
func (b *Bounds) Contenders(dst []model.Ref, lead Leader, margin model.Fixed, before func(at int32) bool) []model.Ref {
	b.search(&lead, margin, b.until, func(at int32) (held bool) {
		if at == lead.At {
			return false
		}
		j := &b.q.Jobs[at]
		if j.Tier > lead.Tier || b.scoreAt(j, b.now) >= lead.Key && before(at) {
			return true
		}
		dst = append(dst, j.Ref)
		return false
	})
	return dst
}

// search calls look with every job that may come before the leader at an instant, or within a margin behind it, but of lists those
// that stay behind one for which look says that no limit holds it, as far as that matters.
func (b *Bounds) search(lead *Leader, margin model.Fixed, at model.Time, look func(at int32) (held bool)) {
	for _, id := range b.q.lists.live {
		b.searchList(&b.q.lists.all[id], lead, margin, at, look)
	}
}

// searchList is search for a list.
func (b *Bounds) searchList(l *list, lead *Leader, margin model.Fixed, at model.Time, look func(at int32) (held bool)) {
	floor, f9, even := b.floor(l.tenant, lead.Key-margin), b.f9(l), l.even()
	if l.tier < lead.Tier || (l.tier == lead.Tier && l.rise+l.top.bound+f9 < floor) {
		return
	}
	for place, ok := l.jobs.First(), true; ok; {
		e := l.jobs.Job(place)
		bound := l.rise + model.Fixed(e.Key)
		if l.tier == lead.Tier && bound+f9 < floor {
			return // and so are all below
		}
		row := b.q.at[e.Ref]
		j := &b.q.Jobs[row]
		held, next := false, place.Behind()
		if l.tier > lead.Tier || (b.reach(l, j) >= floor && b.scoreAt(j, at) >= lead.Key-margin) {
			held = look(row)
			floor = b.floor(l.tenant, lead.Key-margin)
		}
		if even && !held {
			below, all := l.standsFor(place, b.penalty[l.tenant] == model.One)
			if all {
				return
			}
			next = below
		}
		if place = next; l.jobs.Job(place) == nil {
			place, ok = l.jobs.Seek(place, queue.Room{Free: math.MaxInt32, Extra: math.MaxInt32})
		}
	}
}
